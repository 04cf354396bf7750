//! Comparable rows: which of them is certainly the cheapest, and how many times.

use syncscope_core::stats::Interval;
use syncscope_core::{Case, Row, Verdict};

use crate::RunData;
use crate::analysis::ladder::LADDER;
use crate::analysis::row_query::{GRID_BARRIERS, Selected, bounds, design, is_relaxed_barrier};
use crate::figure;

/// By which interval rows are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::analysis) enum Basis {
    /// The one within the run: for rows that are measured in the same way.
    Run,
    /// The one for another run, the one to quote: for a statement about the machine.
    Machine,
}

/// A row whose cost is known to lie in an interval.
#[derive(Debug, Clone, Copy)]
pub(in crate::analysis) struct Known<'a> {
    pub(in crate::analysis) index: usize,
    pub(in crate::analysis) row: &'a Row,
    pub(in crate::analysis) ns: f64,
    pub(in crate::analysis) bounds: Interval,
}

impl<'a> Known<'a> {
    /// `None` where the row has no cost, or no interval to compare it by.
    pub(in crate::analysis) fn of(data: &'a RunData, index: usize, basis: Basis) -> Option<Self> {
        let row = data.rows.get(index)?;
        let within = bounds(row)?;
        let bounds = match basis {
            Basis::Run => within,
            Basis::Machine => row.ns_interval.unwrap_or(within),
        };
        Some(Self { index, row, ns: row.ns?.value(), bounds })
    }

    /// The row on a rung of the cost ladder.
    pub(in crate::analysis) fn on_rung(data: &'a RunData, level: &str, title: &str, basis: Basis) -> Option<Self> {
        Self::of(data, rung(data, level, title)?.row, basis)
    }

    /// Whether it certainly costs less than the other one.
    pub(in crate::analysis) fn is_below(&self, other: &Self) -> bool {
        self.bounds.high < other.bounds.low
    }

    /// `1.20 µs`, and `~1.20 µs` where the row is noisy.
    pub(in crate::analysis) fn time(&self) -> String {
        let doubt = if self.row.verdict == Verdict::Resolved { "" } else { "~" };
        format!("{doubt}{}", figure::time(self.ns))
    }

    pub(in crate::analysis) fn name(&self) -> String {
        design(&self.row.case)
    }

    /// How many times as much as `other` this one costs, see [`times`].
    pub(in crate::analysis) fn times(&self, other: &Self) -> String {
        times(self.ns / other.ns, self.bounds.low / other.bounds.high, self.bounds.high / other.bounds.low)
    }
}

/// What distinguishes the barriers of a grid that are compared from the relaxed ones of the run, which order no memory accesses and
/// may be cheaper: ` that orders memory`, and nothing where the run has no relaxed one of this shape.
pub(in crate::analysis) fn that_orders(data: &RunData, like: &Case) -> &'static str {
    let is_relaxed = |row: &Row| {
        is_relaxed_barrier(&row.case)
            && GRID_BARRIERS.contains(&row.case.primitive.as_str())
            && (row.case.blocks, row.case.threads) == (like.blocks, like.threads)
    };
    if data.rows.iter().any(is_relaxed) { " that orders memory" } else { "" }
}

/// The row on a rung of the cost ladder.
pub(in crate::analysis) fn rung(data: &RunData, level: &str, title: &str) -> Option<Selected> {
    LADDER.iter().find(|rung| rung.level == level && rung.title == title)?.find(data)
}

/// A ratio is written as a figure if its interval is within this factor; of a wider one, the certain part is written.
const NARROW: f64 = 1.5;

/// `2.2 times`, or `at least 1.6 times` where the ratio itself is uncertain. Close to 1, where one decimal would say that
/// nothing differs, `1.04 times` and `1.04 to 1.7 times`.
pub(in crate::analysis) fn times(ratio: f64, low: f64, high: f64) -> String {
    let text = |value: f64| match value {
        ..1.095 => format!("{value:.2}"),
        ..9.95 => format!("{value:.1}"),
        _ => figure::grouped(format!("{value:.0}")),
    };
    if high <= NARROW * low {
        return format!("{} times", text(ratio));
    }
    // Rounded down: it must stay certain.
    let floor = |value: f64, parts: f64| (value * parts).floor() / parts;
    match low {
        ..1.1 => format!("{:.2} to {} times", floor(low, 100.0), text((high * 10.0).ceil() / 10.0)),
        ..9.95 => format!("at least {} times", text(floor(low, 10.0))),
        _ => format!("at least {} times", text(floor(low, 1.0))),
    }
}

/// The rows of some primitives at one size.
#[derive(Debug)]
pub(in crate::analysis) struct Field<'a> {
    pub(in crate::analysis) known: Vec<Known<'a>>,
    /// Rows of unknown cost: one of them may be the cheapest.
    pub(in crate::analysis) unknown: usize,
}

/// The rows of these primitives in cases that differ from `like` in the primitive and its group only, in default forms.
/// Cases that do not exist, and primitives that the compiler removes, take no part.
pub(in crate::analysis) fn field<'a>(data: &'a RunData, primitives: &[&str], like: &Case, basis: Basis) -> Field<'a> {
    let same =
        |case: &Case| Case { primitive: like.primitive.clone(), group: like.group.clone(), ..case.clone() } == *like;
    let takes_part = |row: &Row| {
        primitives.contains(&row.case.primitive.as_str())
            && same(&row.case)
            && !matches!(row.verdict, Verdict::Skipped(_) | Verdict::Elided(_))
    };
    let rows: Vec<usize> = (0..data.rows.len()).filter(|index| takes_part(&data.rows[*index])).collect();
    let known: Vec<Known<'_>> = rows.iter().filter_map(|index| Known::of(data, *index, basis)).collect();
    Field { unknown: rows.len() - known.len(), known }
}

impl<'a> Field<'a> {
    /// The row with the least upper bound.
    pub(in crate::analysis) fn best(&self) -> Option<Known<'a>> {
        self.known.iter().copied().min_by(|a, b| a.bounds.high.total_cmp(&b.bounds.high))
    }

    /// The cheapest row with its rivals of other designs, the cheapest first, if it is certainly the cheapest; otherwise
    /// the reason why that is not certain. `None` without a rival.
    pub(in crate::analysis) fn winner(&self) -> Option<Result<(Known<'a>, Vec<Known<'a>>), String>> {
        let best = self.best()?;
        let mut rivals: Vec<Known<'a>> =
            self.known.iter().copied().filter(|other| other.name() != best.name()).collect();
        if rivals.is_empty() {
            return None;
        }
        rivals.sort_by(|a, b| a.ns.total_cmp(&b.ns));
        if self.unknown > 0 {
            return Some(Err(format!("{} of {} have no figure", self.unknown, self.unknown + self.known.len())));
        }
        match rivals.iter().find(|rival| !best.is_below(rival)) {
            Some(rival) => Some(Err(format!("the intervals of {} and {} overlap", best.name(), rival.name()))),
            None => Some(Ok((best, rivals))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{case, data, row, within};
    use super::*;

    #[test]
    fn a_ratio_is_as_precise_as_it_is_certain() {
        assert_eq!(times(2.24, 2.1, 2.4), "2.2 times");
        assert_eq!(times(21.7, 20.0, 24.0), "22 times");
        assert_eq!(times(1308.4, 1300.0, 1310.0), "1,308 times", "as other counts");
        assert_eq!(times(2.24, 1.69, 3.0), "at least 1.6 times", "rounded down");
        assert_eq!(times(1.04, 1.02, 1.06), "1.04 times");
        assert_eq!(times(1.3, 1.049, 1.61), "1.04 to 1.7 times", "rounded away from each other");
        assert_eq!(times(1.4, 1.1, 2.0), "at least 1.1 times");
    }

    #[test]
    fn a_row_without_a_figure_may_be_the_cheapest() {
        let lock = |name: &str, ns| row(case(&format!("cpu.lock.{name}"), 4), ns, 0.1);
        let locks = ["cpu.lock.ticket", "cpu.lock.mcs", "cpu.lock.ttas"];
        let mut rows = vec![lock("ticket", 100.0), lock("mcs", 200.0), lock("ttas", 300.0)];
        let like = rows[0].case.clone();
        let won = |rows: &[Row]| {
            let data = data(rows.to_vec());
            let result = field(&data, &locks, &like, Basis::Run).winner();
            result.map(|winner| winner.map(|(best, rivals)| (best.name(), rivals.len())))
        };
        assert_eq!(won(&rows), Some(Ok(("ticket".into(), 2))));
        rows[2].verdict = Verdict::Interfered("too many".into());
        assert_eq!(won(&rows), Some(Err("1 of 3 have no figure".into())));
        rows[2].verdict = Verdict::Skipped("no such lock".into());
        assert_eq!(won(&rows), Some(Ok(("ticket".into(), 1))));
        rows[1] = within(rows[1].clone(), 90.0, 300.0);
        assert_eq!(won(&rows), Some(Err("the intervals of ticket and mcs overlap".into())));
        assert_eq!(won(&rows[..1]), None, "no rival");
    }
}
