//! Whether a machine differs from others of its model: the newest run against the others with the same parts.

use syncscope_core::Row;
use syncscope_core::stats::{Interval, median};
use syncscope_report::{LADDER, Rung, figure, has_figure, is_one_definition};

use super::machine::{Column, Machine};

/// A run's cost on a rung, its interval for another run, and its row.
fn cost<'a>(run: &'a Machine<'_>, rung: &Rung) -> Option<(f64, Interval, &'a Row)> {
    let row = run.data.rows.get(rung.find(run.data)?.row)?;
    Some((row.ns.filter(|_| has_figure(row))?.value(), row.ns_interval?, row))
}

/// The operations in which the newest run's interval lies apart from the intervals of all other runs. Overlap shows
/// nothing, because wide intervals overlap too. `None` with one run.
pub(super) fn sentence(column: &Column<'_, '_>) -> Option<String> {
    let [newest, others @ ..] = column.runs.as_slice() else { return None };
    let (mut compared, mut apart) = (0, Vec::new());
    for rung in LADDER {
        let Some((ns, own, row)) = cost(newest, rung) else { continue };
        let is_same = |other: &Row| other.case == row.case && is_one_definition(other, row);
        let known: Vec<_> = others.iter().filter_map(|run| cost(run, rung)).filter(|known| is_same(known.2)).collect();
        let Some(usual) = median(&known.iter().map(|known| known.0).collect::<Vec<_>>()) else { continue };
        compared += 1;
        if known.iter().all(|known| own.high < known.1.low || known.1.high < own.low) {
            apart.push(format!("{} ({} times the median of the others)", rung.full_title(), figure::ratio(ns / usual)));
        }
    }
    let (runs, count) = (column.runs.len(), apart.len());
    let which = if apart.is_empty() { String::new() } else { format!(": {}", apart.join(", ")) };
    let text = format!(
        "The newest of {runs} runs on machines of this model differs from all the others in {}{which}.",
        figure::share(count, compared, "operation").0
    );
    (compared > 0 && !column.is_published).then_some(text)
}

#[cfg(test)]
mod tests {
    use syncscope_core::{Case, Nanoseconds, Verdict};

    use super::*;
    use crate::gallery::Entry;
    use crate::gallery::machine::{columns, machines};

    fn said(costs: &[f64]) -> Option<String> {
        let entry = |(day, ns): (usize, &f64)| {
            let around = Some(Interval { low: ns * 0.95, high: ns * 1.05 });
            let case = Case { threads: Some(1), ..Case::new("cpu.atomic.add") };
            let row = Row {
                ns: Some(Nanoseconds(*ns)),
                ns_interval: around,
                ns_within: around,
                ..Row::unmeasured(case, Verdict::Resolved)
            };
            let mut data = crate::testing::data(vec![row]);
            data.run.started = format!("2026-11-1{day}T07:00:00Z");
            Entry { data, page: None, is_own: false }
        };
        let entries: Vec<Entry> = costs.iter().enumerate().map(entry).collect();
        let machines = machines(&entries);
        sentence(&columns(&machines)[0])
    }

    #[test]
    fn the_newest_run_is_held_against_the_others() {
        assert_eq!(said(&[10.0]), None, "alone");
        let alike = said(&[10.0, 11.0, 10.4]).unwrap();
        assert!(
            alike.ends_with("of 3 runs on machines of this model differs from all the others in no operation."),
            "{alike}"
        );
        let apart = said(&[10.0, 11.0, 21.0]).unwrap();
        assert!(apart.contains("in the only operation: ") && apart.contains("(2.00 times the median"), "{apart}");
    }
}
