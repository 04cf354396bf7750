//! Comparable rows: which of them is certainly the cheapest, and how many times.

use syncscope_core::stats::Interval;
use syncscope_core::{Case, Cycles, Row, Verdict};

use crate::RunData;
use crate::analysis::ladder::LADDER;
use crate::analysis::row_query::{GRID_BARRIERS, Selected, bounds, design, is_relaxed_barrier};
use crate::figure::{self, Cost};

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

    /// The same for a row whose cost a sentence writes: `None` where it may not be written, too.
    pub(in crate::analysis) fn with_figure(data: &'a RunData, index: usize, basis: Basis) -> Option<Self> {
        Self::of(data, index, basis).filter(Self::has_figure)
    }

    /// The row on a rung of the cost ladder, if its cost may be written.
    pub(in crate::analysis) fn on_rung(data: &'a RunData, level: &str, title: &str, basis: Basis) -> Option<Self> {
        Self::with_figure(data, rung(data, level, title)?.row, basis)
    }

    /// Whether its cost may be written, see [`figure::has_figure`]. Without a figure it can still be compared.
    pub(in crate::analysis) fn has_figure(&self) -> bool {
        figure::has_figure(self.row)
    }

    /// Its cycles, where they may be written: those of a noisy row may not, see [`Cost::cycles`].
    pub(in crate::analysis) fn cycles_figure(&self) -> Option<Cycles> {
        self.row.cycles.filter(|_| self.row.verdict == Verdict::Resolved)
    }

    /// Whether it certainly costs less than the other one.
    pub(in crate::analysis) fn is_below(&self, other: &Self) -> bool {
        self.bounds.high < other.bounds.low
    }

    /// `1.20 µs`, `~1.20 µs` where the row is noisy, and `not resolved` where it has no figure.
    pub(in crate::analysis) fn time(&self) -> String {
        Cost::of(self.row).figure
    }

    pub(in crate::analysis) fn name(&self) -> String {
        design(&self.row.case)
    }

    /// Its cost over that of `other`.
    pub(in crate::analysis) fn over(&self, other: &Self) -> Ratio {
        Ratio::of((self.ns, self.bounds), (other.ns, other.bounds))
    }

    /// How many times as much as `other` this one costs, see [`Ratio::times`].
    pub(in crate::analysis) fn times(&self, other: &Self) -> String {
        self.over(other).times()
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

/// One cost over another one of the same run, with its interval.
///
/// Its ends are the least of the one over the most of the other, and the most over the least. So the interval lies above 1
/// exactly where the intervals of the costs do not touch, which is what makes a comparison certain. Two independent intervals
/// of 95 % make one of at least 95 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::analysis) struct Ratio {
    pub(in crate::analysis) point: f64,
    /// `None`: no bound on that side, because a cost may be zero.
    pub(in crate::analysis) low: Option<f64>,
    pub(in crate::analysis) high: Option<f64>,
}

/// A ratio is written as a figure if its interval is within this factor; of a wider one, the certain part is written.
const NARROW: f64 = 1.5;

impl Ratio {
    /// The first cost over the second one, each with its interval.
    pub(in crate::analysis) fn of((ns, bounds): (f64, Interval), (other_ns, other): (f64, Interval)) -> Self {
        let quotient = |a: f64, b: f64| (a > 0.0 && b > 0.0).then(|| a / b);
        Self { point: ns / other_ns, low: quotient(bounds.low, other.high), high: quotient(bounds.high, other.low) }
    }

    /// The same ratio in another unit, such as that of rates instead of costs.
    pub(in crate::analysis) fn scaled(self, factor: f64) -> Self {
        let scaled = |end: Option<f64>| end.map(|end| end * factor);
        Self { point: self.point * factor, low: scaled(self.low), high: scaled(self.high) }
    }

    /// Whether it is certainly above 1.
    pub(in crate::analysis) fn is_above_one(self) -> bool {
        self.low.is_some_and(|low| low > 1.0)
    }

    /// `2.2 times`, or `at least 1.6 times` where the ratio itself is uncertain. Close to 1, where one decimal would say that
    /// nothing differs, `1.04 times` and `1.04 to 1.7 times`.
    pub(in crate::analysis) fn times(self) -> String {
        let text = |value: f64| match value {
            ..1.095 => format!("{value:.2}"),
            ..9.95 => format!("{value:.1}"),
            _ => figure::grouped(format!("{value:.0}")),
        };
        // Rounded down: it must stay certain.
        let floor = |value: f64, parts: f64| (value * parts).floor() / parts;
        let low = self.low.unwrap_or_default();
        match self.high {
            Some(high) if high <= NARROW * low => format!("{} times", text(self.point)),
            Some(high) if low < 1.1 => {
                format!("{:.2} to {} times", floor(low, 100.0), text((high * 10.0).ceil() / 10.0))
            }
            None if low < 1.1 => format!("at least {:.2} times", floor(low, 100.0)),
            _ => format!("at least {} times", text(floor(low, if low < 9.95 { 10.0 } else { 1.0 }))),
        }
    }
}

/// Which of some primitives have a row at one size. Those that the machine lacks are in neither number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::analysis) struct Coverage {
    /// Primitives with a row.
    pub(in crate::analysis) measured: usize,
    /// Primitives without a row that the run has yet to measure, see [`RunData::has_more_planned`].
    pub(in crate::analysis) pending: usize,
    /// Primitives without a row that the run was not to measure: its preset, its globs or its age leave them out.
    pub(in crate::analysis) left_out: usize,
}

impl Coverage {
    /// Counts these primitives by whether they have a row of a case that fits.
    pub(in crate::analysis) fn of(data: &RunData, primitives: &[&str], fits: impl Fn(&Case) -> bool) -> Self {
        let mut coverage = Self::default();
        for id in primitives {
            let own = || data.rows.iter().filter(|row| row.case.primitive == *id && fits(&row.case));
            match own().next() {
                Some(_) if own().all(is_absent) => {}
                Some(_) => coverage.measured += 1,
                None if data.has_more_planned(id) => coverage.pending += 1,
                None => coverage.left_out += 1,
            }
        }
        coverage
    }

    /// Why nothing is the cheapest yet: `7 of 9 are not measured yet`.
    pub(in crate::analysis) fn gap(self) -> Option<String> {
        let Self { measured, pending, .. } = self;
        let verb = if pending == 1 { "is" } else { "are" };
        (pending > 0).then(|| format!("{pending} of {} {verb} not measured yet", measured + pending))
    }

    /// What the cheapest one is: `cheapest lock`, or `cheapest of the 2 measured locks` where others have no row.
    pub(in crate::analysis) fn cheapest(self, noun: &str) -> String {
        match self.left_out {
            0 => format!("cheapest {noun}"),
            _ => format!("cheapest of the {} measured {noun}s", self.measured),
        }
    }
}

/// Whether a case does not exist on the machine, or the compiler removes its primitive.
fn is_absent(row: &Row) -> bool {
    matches!(row.verdict, Verdict::Skipped(_) | Verdict::Elided(_))
}

/// The rows of some primitives at one size.
#[derive(Debug, Default)]
pub(in crate::analysis) struct Field<'a> {
    pub(in crate::analysis) known: Vec<Known<'a>>,
    /// Rows of unknown cost: one of them may be the cheapest.
    pub(in crate::analysis) unknown: usize,
    pub(in crate::analysis) coverage: Coverage,
}

/// Whether two cases differ in nothing but the primitive and its group.
pub(in crate::analysis) fn like_but_primitive(case: &Case, like: &Case) -> bool {
    Case { primitive: like.primitive.clone(), group: like.group.clone(), ..case.clone() } == *like
}

/// The rows of these primitives in cases that differ from `like` in the primitive and its group only, in default forms.
/// Cases that do not exist, and primitives that the compiler removes, take no part.
pub(in crate::analysis) fn field<'a>(data: &'a RunData, primitives: &[&str], like: &Case, basis: Basis) -> Field<'a> {
    let same = |case: &Case| like_but_primitive(case, like);
    let takes_part =
        |row: &Row| primitives.contains(&row.case.primitive.as_str()) && same(&row.case) && !is_absent(row);
    let rows: Vec<usize> = (0..data.rows.len()).filter(|index| takes_part(&data.rows[*index])).collect();
    let known: Vec<Known<'_>> = rows.iter().filter_map(|index| Known::of(data, *index, basis)).collect();
    Field { unknown: rows.len() - known.len(), known, coverage: Coverage::of(data, primitives, same) }
}

impl<'a> Field<'a> {
    /// Whether each row has a cost, and none is yet to be measured: otherwise another one may be the cheapest.
    pub(in crate::analysis) fn is_complete(&self) -> bool {
        self.unknown == 0 && self.coverage.pending == 0
    }

    /// The row with the least upper bound.
    pub(in crate::analysis) fn best(&self) -> Option<Known<'a>> {
        self.known.iter().copied().min_by(|a, b| a.bounds.high.total_cmp(&b.bounds.high))
    }

    /// The cheapest row with its rivals of other designs, the cheapest first, if it is certainly the cheapest; otherwise
    /// the reason why that is not certain. `None` without a rival.
    pub(in crate::analysis) fn winner(&self) -> Option<Result<(Known<'a>, Vec<Known<'a>>), String>> {
        let best = self.best()?;
        if let Some(gap) = self.coverage.gap() {
            return Some(Err(gap));
        }
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
            None if !best.has_figure() => Some(Err(format!("the cost of {} is not resolved", best.name()))),
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
        let times = |point, low, high| Ratio { point, low: Some(low), high: Some(high) }.times();
        assert_eq!(times(2.24, 2.1, 2.4), "2.2 times");
        assert_eq!(times(21.7, 20.0, 24.0), "22 times");
        assert_eq!(times(1308.4, 1300.0, 1310.0), "1,308 times", "as other counts");
        assert_eq!(times(2.24, 1.69, 3.0), "at least 1.6 times", "rounded down");
        assert_eq!(times(1.04, 1.02, 1.06), "1.04 times");
        assert_eq!(times(1.3, 1.049, 1.61), "1.04 to 1.7 times", "rounded away from each other");
        assert_eq!(times(1.4, 1.1, 2.0), "at least 1.1 times");
        assert_eq!(Ratio { point: 3.0, low: Some(1.049), high: None }.times(), "at least 1.04 times");
    }

    #[test]
    fn the_interval_of_a_ratio_is_above_one_where_the_intervals_do_not_touch() {
        let bounds = |low, high| Interval { low, high };
        let ratio = |low, high| Ratio::of((12.0, bounds(low, high)), (10.0, bounds(8.0, 11.0)));
        assert_eq!((ratio(11.1, 13.0).is_above_one(), ratio(10.9, 13.0).is_above_one()), (true, false));
        let zero = Ratio::of((12.0, bounds(11.0, 13.0)), (1.0, bounds(-0.5, 2.0)));
        assert_eq!((zero.low, zero.high), (Some(5.5), None), "a cost that may be zero has no upper end");
        let rates = ratio(11.0, 16.0).scaled(2.0);
        assert_eq!((rates.point, rates.low, rates.high), (2.4, Some(2.0), Some(4.0)));
    }

    #[test]
    fn a_lock_that_the_machine_lacks_is_no_gap() {
        let row = |name: &str| row(case(&format!("cpu.lock.{name}"), 4), 100.0, 0.1);
        let lacking = Row { verdict: Verdict::Skipped("no such lock".into()), ..row("ttas") };
        let run = data(vec![row("ticket"), row("mcs"), lacking]);
        let of = |primitives| Coverage::of(&run, primitives, |case| case.threads == Some(4));
        let all = of(&["cpu.lock.ticket", "cpu.lock.mcs", "cpu.lock.ttas"]);
        assert_eq!((all.cheapest("lock"), all.gap()), ("cheapest lock".into(), None));
        assert_eq!(of(&["cpu.lock.ticket", "cpu.lock.clh"]), Coverage { measured: 1, pending: 0, left_out: 1 });
    }

    #[test]
    fn a_cost_that_the_table_does_not_show_stands_in_no_sentence() {
        let noisy = |row: Row, half: f64| {
            let ns = row.ns.map_or(0.0, syncscope_core::Nanoseconds::value);
            Row { verdict: Verdict::Noisy("wide".into()), ..within(row, ns - half, ns + half) }
        };
        let locks = ["cpu.lock.ticket", "cpu.lock.mcs"];
        let rows = |half| {
            let ticket = noisy(row(case("cpu.lock.ticket", 4), 100.0, 0.1), half);
            data(vec![ticket, row(case("cpu.lock.mcs", 4), 200.0, 0.1)])
        };
        let winner = |run: &RunData| {
            let found = field(run, &locks, &run.rows[0].case, Basis::Run).winner()?;
            Some(found.map(|(best, _)| (best.name(), best.time(), Cost::of(best.row).figure)))
        };
        assert_eq!(winner(&rows(24.0)), Some(Ok(("ticket".into(), "~100 ns".into(), "~100 ns".into()))));
        assert_eq!(winner(&rows(26.0)), Some(Err("the cost of ticket is not resolved".into())));
        let run = rows(26.0);
        assert_eq!(Known::of(&run, 0, Basis::Run).map(|known| known.time()), Some("not resolved".into()));
        assert!(Known::with_figure(&run, 0, Basis::Run).is_none());
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
