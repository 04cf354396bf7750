//! What a rung of the cost ladder costs on each machine, and where the cheapest is certain.

use syncscope_core::run::NO_INTERVAL;
use syncscope_core::stats::Interval;
use syncscope_core::{Nanoseconds, Row, Verdict};

use syncscope_report::{
    LADDER, OnMachine, Reading, Rung, Selected, State, beyond_one_socket, cheapest_machines, figure, has_figure,
    is_one_definition, naming, range,
};

use super::machine::{Column, Machine};

/// A machine's figure on a rung.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    /// `9.18 ns`, `~9.18 ns`, `no number`.
    pub(super) text: String,
    /// `±1.0 %`.
    pub(super) interval_text: Option<String>,
    /// The cost, if there is one, and its interval for another run; an interval without a cost is a range.
    pub(super) ns: Option<f64>,
    pub(super) interval: Option<Interval>,
    pub(super) is_rough: bool,
    /// The chosen primitive, if the rung has several, and the size if machines may differ in it.
    pub(super) note: String,
    /// The number of threads if machines may differ in it, otherwise 0.
    pub(super) threads: u64,
    /// The case in one line, with its run.
    pub(super) case: String,
    /// Whether the row times another loop than the newest run's, so that its figure is not comparable.
    pub(super) is_other: bool,
}

impl Figure {
    /// Whether the figure is compared with the others and has a place on a logarithmic axis.
    pub(super) fn is_compared(&self) -> bool {
        self.ns.is_some_and(|ns| ns > 0.0) && !self.is_other
    }

    /// Whether the axis shows anything of the figure: a dot or a range.
    pub(super) fn is_drawn(&self) -> bool {
        self.is_compared() || (self.ns.is_none() && self.interval.is_some() && !self.is_other)
    }
}

/// A rung with each machine's figure.
#[derive(Debug)]
pub(super) struct Ranking {
    pub(super) rung: &'static Rung,
    pub(super) figures: Vec<Option<Figure>>,
    /// The machines whose hardware is certainly the cheapest.
    pub(super) cheapest: Vec<usize>,
}

impl Ranking {
    /// Whether the machines measured the rung at different sizes.
    pub(super) fn differs_in_size(&self) -> bool {
        let mut sizes =
            self.figures.iter().flatten().filter(|figure| figure.is_compared()).map(|figure| figure.threads);
        sizes.next().is_some_and(|first| sizes.any(|other| other != first))
    }
}

/// Levels at which a case is as large as its machine.
const SIZED: [&str; 3] = ["All threads", "Device", "System"];

/// The rungs for which some machine has a row.
pub(super) fn lines(columns: &[Column<'_, '_>]) -> Vec<Ranking> {
    LADDER.iter().filter_map(|rung| line(rung, columns)).collect()
}

/// Takes each machine's newest row with a figure. The newest run of all says which loop the rung is about.
fn line(rung: &'static Rung, columns: &[Column<'_, '_>]) -> Option<Ranking> {
    let found_in = columns.iter().enumerate().flat_map(|(at, column)| column.runs.iter().map(move |run| (at, *run)));
    let all: Vec<(usize, &Machine<'_>, Selected)> =
        found_in.filter_map(|(at, run)| Some((at, run, rung.find(run.data)?))).collect();
    let row = |(_, machine, selected): &(usize, &Machine<'_>, Selected)| machine.data.rows.get(selected.row).cloned();
    let measured = all.iter().filter(|(_, machine, _)| !machine.is_published);
    let newest = measured.max_by(|a, b| a.1.data.run.started.cmp(&b.1.data.run.started)).and_then(row);
    let is_other = |row: &Row| newest.as_ref().is_some_and(|newest| !is_one_definition(row, newest));
    let mut figures: Vec<Option<Figure>> = columns.iter().map(|_| None).collect();
    let mut entrants = Vec::new();
    for (column, machine, selected) in &all {
        let Some(row) = machine.data.rows.get(selected.row) else { continue };
        let is_other = !machine.is_published && is_other(row);
        let found = Figure { is_other, ..figure_of(rung.level, machine, row, selected) };
        // Figures without an interval, or of another loop, take no part.
        if found.ns.is_some() && found.interval.is_some() && !is_other {
            entrants.extend(OnMachine::of(*column, machine.data, selected.row));
        }
        // Runs come newest first; a comparable figure takes precedence over one that is not.
        let worth = |figure: &Figure| (figure.ns.is_some(), !figure.is_other);
        if figures[*column].as_ref().is_none_or(|known| worth(&found) > worth(known)) {
            figures[*column] = Some(found);
        }
    }
    let is_there = figures.iter().any(Option::is_some);
    is_there.then(|| Ranking { rung, figures, cheapest: cheapest_machines(&entrants) })
}

fn figure_of(level: &str, machine: &Machine<'_>, row: &Row, selected: &Selected) -> Figure {
    let (cost, has_figure) = (Reading::of(row), has_figure(row));
    let is_sized = SIZED.contains(&level);
    let size = is_sized.then(|| naming::size(&row.case)).filter(|size| !size.is_empty());
    let on = beyond_one_socket(&machine.data.run, &row.case);
    let of_import =
        Some(row.verdict.reason()).filter(|why| matches!(row.verdict, Verdict::Imported(_)) && *why != NO_INTERVAL);
    let remark = row.remark.clone().or_else(|| of_import.map(str::to_owned));
    let note: Vec<String> = [selected.note.clone(), size, on, remark].into_iter().flatten().collect();
    let is_rough = cost.state == State::Rough;
    let own_ns = row.ns.map(Nanoseconds::value).filter(|_| has_figure);
    let known = if has_figure { row.ns_interval } else { range(row) };
    let (text, interval_text, ns, interval, is_rough) = match selected.median_ns {
        Some(median) => (figure::time(median), None, Some(median), None, false),
        None => (cost.figure, cost.interval, own_ns, known, is_rough),
    };
    Figure {
        text,
        interval_text,
        ns,
        interval,
        is_rough,
        note: note.join(", "),
        threads: if is_sized { row.case.actors() } else { 0 },
        case: format!("{}, {}", machine.name, row.case),
        is_other: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::machine::{columns, machines};
    use crate::gallery::{Entry, tables::operations, tests::with_rows};
    use syncscope_core::{Case, Verdict};

    fn add(ns: f64, share: f64) -> Row {
        let around = |share: f64| Some(Interval { low: ns * (1.0 - share), high: ns * (1.0 + share) });
        Row {
            ns: Some(Nanoseconds(ns)),
            ns_interval: around(share),
            ns_within: around(share / 2.0),
            pairs: Some(120),
            ..Row::unmeasured(Case { threads: Some(1), ..Case::new("cpu.atomic.add") }, Verdict::Resolved)
        }
    }

    fn of(rows: &[Row]) -> Option<usize> {
        let named = rows.iter().enumerate();
        of_entries(&named.map(|(at, row)| with_rows(&at.to_string(), vec![row.clone()])).collect::<Vec<_>>())
    }

    fn of_entries(entries: &[Entry]) -> Option<usize> {
        let machines = machines(entries);
        let lines = lines(&columns(&machines));
        assert_eq!(lines.len(), 1, "{lines:?}");
        lines[0].cheapest.first().copied()
    }

    #[test]
    fn the_cheapest_is_marked_where_it_is_certain() {
        assert_eq!(of(&[add(20.0, 0.02), add(10.0, 0.02), add(30.0, 0.02)]), Some(1));
        assert_eq!(of(&[add(10.2, 0.05), add(10.0, 0.05), add(30.0, 0.02)]), None, "two overlap");
        assert_eq!(of(&[add(10.0, 0.02)]), None, "no rival");
        let published = Row { ns_interval: None, ns_within: None, ..add(1.0, 0.0) };
        assert_eq!(of(&[published.clone(), add(10.0, 0.02), add(20.0, 0.02)]), Some(1), "no interval, no part");
        assert_eq!(of(&[published, add(10.0, 0.02)]), None, "and no rival");
        let failed = Row { verdict: Verdict::Failed("x".into()), ..add(1.0, 0.02) };
        assert_eq!(of(&[failed, add(10.0, 0.02), add(20.0, 0.02)]), Some(1), "no figure, no part");
    }

    #[test]
    fn runs_on_equal_hardware_are_no_rivals() {
        let run = |name: &str, ns| with_rows(name, vec![add(ns, 0.02)]);
        assert_eq!(of_entries(&[run("a", 10.0), run("a", 10.1), run("b", 20.0)]), Some(0));
        assert_eq!(of_entries(&[run("a", 10.0), run("a", 20.0)]), None, "one machine cannot be the cheapest");
        assert_eq!(of_entries(&[run("a", 10.0), run("a", 20.5), run("b", 10.1)]), None);
        assert_eq!(
            of_entries(&[run("a", 10.0), run("a", 30.0), run("b", 20.0)]),
            None,
            "its runs contradict each other"
        );
    }

    #[test]
    fn a_rival_more_needs_more_certainty() {
        // About 2.2 standard errors apart: enough against one rival, too little against ten.
        let near = |count: usize| [vec![add(10.0, 0.04)], vec![add(10.6, 0.04); count]].concat();
        assert_eq!((of(&near(1)), of(&near(10))), (Some(0), None));
    }

    #[test]
    fn a_range_is_drawn_without_a_dot_and_takes_no_part() {
        let noisy = Row { verdict: Verdict::Noisy("wide".into()), ..add(4.0, 0.5) };
        assert_eq!(of(&[noisy.clone(), add(10.0, 0.02), add(20.0, 0.02)]), Some(1));
        let entries = [with_rows("a", vec![noisy]), with_rows("b", vec![add(10.0, 0.02)])];
        let machines = machines(&entries);
        let columns = columns(&machines);
        let html = operations(&columns, &lines(&columns)).replace('\u{a0}', " ");
        let row = html.split("<tr ").find(|row| row.contains(">model a</a>")).unwrap();
        assert!(row.contains("2.0 to 6.0 ns") && row.contains("class=\"whisker\""), "{row}");
        assert!(!row.contains("class=\"dot"), "{row}");
        assert!(html.contains("2.00 ns to 10.2 ns, logarithmic"), "the axis holds it: {html}");
    }

    #[test]
    fn other_instructions_are_another_figure() {
        let with = |ns, name: &str| Row { evidence: Some(format!("{name} 64/96")), ..add(ns, 0.02) };
        assert_eq!(of(&[with(10.0, "RED"), with(20.0, "RED")]), Some(0));
        assert_eq!(of(&[with(10.0, "RED"), with(20.0, "ATOM")]), None);
        assert_eq!(of(&[with(10.0, "RED"), add(20.0, 0.02)]), Some(0), "of older runs nobody knows them");
    }

    #[test]
    fn cases_of_other_sizes_are_not_ranked() {
        let barrier = |threads, ns| {
            let case = Case { threads: Some(threads), ..Case::new("cpu.barrier.std") };
            Row { case, ..add(ns, 0.02) }
        };
        let entries = [with_rows("a", vec![barrier(16, 1000.0)]), with_rows("b", vec![barrier(64, 9000.0)])];
        let machines = machines(&entries);
        let columns = columns(&machines);
        let lines = lines(&columns);
        assert!(lines.iter().all(|line| line.cheapest.is_empty()), "{lines:?}");
        let html = operations(&columns, &lines);
        let places = [">model a</a>", ">model b</a>"].map(|name| html.find(name));
        assert!(places[1].is_some() && places[1] < places[0], "the larger team first, not the cheaper one: {html}");
        assert!(html.contains("sizes differ") && !html.contains("from 1.00 µs"), "{html}");
        let figure = lines.iter().find(|line| line.rung.level == "All threads").unwrap().figures[1].as_ref().unwrap();
        assert_eq!((figure.note.as_str(), figure.text.as_str()), ("std, 64 threads", "9.00 µs"));
    }
}
