//! What the intervals say about the cost of one row: its bounds, and whether it is below or above another row's.

use std::fmt;

use syncscope_core::run::rivals;
use syncscope_core::run::shown::ROUGH_UP_TO;
use syncscope_core::stats::Interval;
use syncscope_core::{Cycles, Row, Settings, Verdict};

use crate::RunData;
use crate::analysis::usual::short_name;
use crate::figure;
use crate::reading::{self, Reading, State, bounds};

/// The interval by which rows are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Basis {
    /// The interval within the run, for rows that were measured in the same way.
    Run,
    /// The interval for another run, which is the one to quote, for statements about the machine.
    Machine,
}

impl Basis {
    /// The word for these intervals in a sentence; empty for those within the run.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Run => "",
            Self::Machine => "run-to-run ",
        }
    }
}

/// A row whose cost is known to lie in an interval.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) index: usize,
    pub(crate) row: &'a Row,
    pub(crate) ns: f64,
    pub(crate) bounds: Interval,
    /// The interval that the bounds are.
    pub(crate) basis: Basis,
}

impl<'a> Known<'a> {
    /// Reads a row; `None` if it has no cost, or no interval to compare it by.
    pub(crate) fn of(data: &'a RunData, index: usize, basis: Basis) -> Option<Self> {
        Self::of_row(data.rows.get(index)?, index, basis)
    }

    pub(crate) fn of_row(row: &'a Row, index: usize, basis: Basis) -> Option<Self> {
        let within = bounds(row)?;
        let bounds = match basis {
            Basis::Run => within,
            Basis::Machine => row.ns_with_allowance().unwrap_or(within),
        };
        Some(Self { index, row, ns: row.ns?.value(), bounds, basis })
    }

    /// Reads a row whose cost a sentence writes; also `None` if the cost may not be written.
    pub(crate) fn written(data: &'a RunData, index: usize, basis: Basis) -> Option<Self> {
        Self::of(data, index, basis).filter(Self::is_written)
    }

    /// Whether the cost may be written as a number or as its interval, see [`reading::is_written`]. Other costs can still be
    /// compared.
    pub(crate) fn is_written(&self) -> bool {
        reading::is_written(self.row)
    }

    /// Whether the cost may be written as a number, see [`reading::has_figure`].
    pub(crate) fn has_figure(&self) -> bool {
        reading::has_figure(self.row)
    }

    /// The cycles, if they may be written, see [`Reading::cycles`]. A row has no cycles for its other threads.
    pub(crate) fn cycles_figure(&self) -> Option<Cycles> {
        self.row.cycles.filter(|_| Reading::of(self.row).cycles.is_some() && !self.is_of_another_actor())
    }

    /// The interval for another run.
    pub(crate) fn quoted(&self) -> Interval {
        let factor = self.row.ns.map_or(1.0, |own| self.ns / own.value());
        let scaled = |Interval { low, high }: Interval| Interval { low: factor * low, high: factor * high };
        self.row.ns_with_allowance().map_or(self.bounds, scaled)
    }

    /// Whether this cost is certainly lower than the other, which is alike. Published figures without intervals may differ
    /// by chance by less than a factor.
    pub(crate) fn is_below(&self, other: &Self) -> bool {
        const BY_POINTS: f64 = 2.0;
        let ratio = other.over(self);
        let is_point = |one: &Self| {
            matches!(one.row.verdict, Verdict::Imported(_)) && one.row.ns_within.or(one.row.ns_interval).is_none()
        };
        ratio.is_above_one() && (ratio.point >= BY_POINTS || !is_point(self) && !is_point(other))
    }

    /// The name of the primitive; the design of a rival is the name of its [`Entrant`].
    pub(crate) fn name(&self) -> String {
        short_name(&self.row.case.primitive).to_owned()
    }

    /// These costs with intervals of one kind: those for another run, unless both are known within the run.
    pub(crate) fn on_one_basis(self, other: Self) -> [Self; 2] {
        let for_another_run = |one: Self| Self { bounds: one.quoted(), basis: Basis::Machine, ..one };
        if self.basis == other.basis { [self, other] } else { [self, other].map(for_another_run) }
    }

    /// This cost over the cost of `other`, which is alike.
    pub(crate) fn over(&self, other: &Self) -> Ratio {
        let [own, other] = &self.on_one_basis(*other);
        own.over_on_one_basis(other)
    }

    fn over_on_one_basis(&self, other: &Self) -> Ratio {
        match self.ratio_within_run(other) {
            Some(Interval { low, high }) => Ratio { point: self.ns / other.ns, low: Some(low), high: Some(high) },
            None => Ratio::of((self.ns, self.bounds), (other.ns, other.bounds)),
        }
    }

    /// Whether the interval of the ratio decides which costs less, rather than the intervals of the costs.
    pub(super) fn is_ordered_by_ratio(&self, other: &Self) -> bool {
        self.ratio_within_run(other).is_some()
    }

    /// The interval of the ratio itself, if each process of the run measured both. It says more than the intervals of the
    /// costs, which include whatever slowed both alike.
    fn ratio_within_run(&self, other: &Self) -> Option<Interval> {
        let is_of_run = |known: &Self| known.basis == Basis::Run && !known.is_of_another_actor();
        if is_of_run(self) && is_of_run(other) { rivals::ratio(self.row, other.row) } else { None }
    }
}

impl fmt::Display for Known<'_> {
    /// `1.20 µs`, `~1.20 µs` where the row is noisy, and a range or `no figure` where it has no figure.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Interval { low, high } = self.quoted();
        // The text shows what decides: if the interval for another run is wide, it is written instead of the figure.
        let is_wide = self.basis == Basis::Machine && low > 0.0 && high - low > 2.0 * ROUGH_UP_TO * self.ns;
        match State::of(self.row) {
            state if is_wide && state.has_figure() => out.write_str(&figure::between(low, high)),
            _ if !self.is_of_another_actor() => out.write_str(&Reading::of(self.row).figure),
            State::Rough => out.write_str(&figure::rough_time(self.ns)),
            State::Open if self.is_written() => out.write_str(&figure::between(low, high)),
            state if state.has_figure() => out.write_str(&figure::time(self.ns)),
            _ => out.write_str(&Reading::of(self.row).figure),
        }
    }
}

/// One cost over another of the same run, with its interval.
///
/// The interval runs from the least of the one over the most of the other to the most over the least. It therefore lies
/// above 1 exactly if the intervals of the costs do not touch, which is what makes a comparison certain. Two independent 95
/// % intervals make one of at least 95 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    pub(crate) point: f64,
    /// `None`: no bound on that side, because a cost may be zero.
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
}

/// A ratio is written as a figure if its interval is within this factor; of a wider one, only the certain part is written.
const NARROW: f64 = 1.5;

impl Ratio {
    /// The first cost over the second one, each with its interval.
    pub fn of((ns, bounds): (f64, Interval), (other_ns, other): (f64, Interval)) -> Self {
        let quotient = |a: f64, b: f64| (a > 0.0 && b > 0.0).then(|| a / b);
        Self { point: ns / other_ns, low: quotient(bounds.low, other.high), high: quotient(bounds.high, other.low) }
    }

    /// Whether it is certainly above 1.
    pub(crate) fn is_above_one(self) -> bool {
        self.low.is_some_and(|low| low > 1.0)
    }
}

impl fmt::Display for Ratio {
    /// `2.2 times`, or `at least 1.6 times` where the ratio itself is uncertain. Close to 1, where one decimal would say that
    /// nothing differs, `1.04 times`, `1.04 to 1.7 times` and `up to 1.7 times`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: f64| match value {
            ..1.095 => format!("{value:.2}"),
            ..9.95 => format!("{value:.1}"),
            _ => figure::grouped(format!("{value:.0}")),
        };
        // As elsewhere, a rough figure has two digits.
        let is_rough = |high: f64, low: f64| high - low > 2.0 * Settings::NOISY_ABOVE * self.point;
        let kept = |high: f64, low: f64| {
            if self.point >= 100.0 && is_rough(high, low) { figure::rounded(self.point) } else { self.point }
        };
        // Round down, so that the statement stays certain.
        let floor = |value: f64, parts: f64| (value * parts).floor() / parts;
        let low = self.low.unwrap_or_default();
        match self.high {
            Some(high) if high <= NARROW * low => write!(out, "{} times", text(kept(high, low))),
            Some(high) if (1.0..1.01).contains(&low) => {
                write!(out, "up to {} times", text((high * 10.0).ceil() / 10.0))
            }
            Some(high) if low < 1.1 => {
                write!(out, "{:.2} to {} times", floor(low, 100.0), text((high * 10.0).ceil() / 10.0))
            }
            None if low < 1.1 => write!(out, "at least {:.2} times", floor(low, 100.0)),
            _ => write!(out, "at least {} times", text(floor(low, if low < 9.95 { 10.0 } else { 1.0 }))),
        }
    }
}

#[cfg(test)]
mod tests {
    use syncscope_core::run::row::{Parts, RunToRun};
    use syncscope_core::stats::Variance;
    use syncscope_core::{Case, Class, Nanoseconds};

    use super::*;
    use crate::analysis::questions::testing::{case, row};

    /// A row that each process of a run measured, at 1 %.
    fn in_processes(name: &str, ns: f64) -> Row {
        let variance = |value| Variance { value, degrees: 9.0 };
        let ns_parts = Parts { own: variance(1e-4), shared: variance(1e-2) };
        let run_to_run = Some(RunToRun { class: Class::Lines, ns: ns_parts, cycles: None });
        Row { run_to_run, median_ns: Some(Nanoseconds(2.0 * ns)), ..row(case(name, 4), ns, 0.3) }
    }

    fn known(row: &Row, basis: Basis) -> Known<'_> {
        Known::of_row(row, 0, basis).unwrap()
    }

    /// Whatever slows both alike in a process makes their costs less certain, but not their ratio.
    #[test]
    fn costs_of_the_same_processes_have_the_interval_of_their_ratio() {
        let (less, more) = (in_processes("cpu.lock.mcs", 100.0), in_processes("cpu.lock.ttas", 130.0));
        let ratio = |basis| known(&more, basis).over(&known(&less, basis));
        let (of_run, of_machine) = (ratio(Basis::Run), ratio(Basis::Machine));
        assert!((of_run.point - 1.3).abs() < 1e-12 && (of_machine.point - 1.3).abs() < 1e-12);
        assert_eq!((of_run.is_above_one(), of_machine.is_above_one()), (true, false));
        assert!(known(&more, Basis::Run).is_ordered_by_ratio(&known(&less, Basis::Run)));
        let of_median = known(&less, Basis::Run).with_cost(200.0);
        assert!(!known(&more, Basis::Run).is_ordered_by_ratio(&of_median), "processes measured another thread");
        assert!(!of_median.is_ordered_by_ratio(&known(&more, Basis::Run)));
    }

    #[test]
    fn a_published_figure_without_an_interval_is_lower_from_half_on() {
        let published = |ns| Row {
            verdict: Verdict::Imported("a paper".into()),
            ns: Some(Nanoseconds(ns)),
            ..Row::unmeasured(case("cpu.lock.mcs", 4), Verdict::Resolved)
        };
        let is_below = |one: &Row, other: &Row| known(one, Basis::Run).is_below(&known(other, Basis::Run));
        let measured = |ns| row(case("cpu.lock.ttas", 4), ns, 0.02);
        for less in [published(100.0), measured(100.0)] {
            assert!(!is_below(&less, &published(150.0)) && is_below(&less, &published(250.0)));
        }
        assert!(!is_below(&published(100.0), &measured(150.0)) && is_below(&published(100.0), &measured(250.0)));
        assert!(is_below(&measured(100.0), &measured(150.0)), "intervals decide");
    }

    /// Two barriers are ordered by what the run shows; a launch, which another clock times, stands against each of them by what
    /// another run may show.
    #[test]
    fn costs_of_two_bases_are_compared_for_another_run() {
        let of = |ns: f64| {
            let (middle, within) = (Some(Nanoseconds(ns)), Some(Interval { low: 0.99 * ns, high: 1.01 * ns }));
            let row = Row::unmeasured(Case::new("gpu.grid.counter"), Verdict::Resolved);
            Row { ns: middle, ns_within: within, ns_interval: within, allowance: Some(0.1), ..row }
        };
        let rows = [738.0, 756.0, 840.0, 1100.0].map(of);
        let [near, paused] = [&rows[0], &rows[1]].map(|row| known(row, Basis::Run));
        let [launch, dear] = [&rows[2], &rows[3]].map(|row| known(row, Basis::Machine));
        assert!(near.is_below(&paused) && !paused.is_below(&near));
        assert!(!near.is_below(&launch) && !launch.is_below(&near), "both are uncertain by 10 %");
        assert!(near.is_below(&dear));
    }

    #[test]
    fn a_cost_is_written_as_its_interval_where_that_is_wide() {
        let written = |row: &Row, basis: Basis| known(row, basis).to_string();
        let of =
            |low, high| Row { ns_interval: Some(Interval { low, high }), ..row(case("cpu.lock.mcs", 4), 100.0, 0.1) };
        assert_eq!(written(&of(90.0, 110.0), Basis::Machine), "100 ns");
        assert_eq!(written(&of(60.0, 160.0), Basis::Machine), "60 to 160 ns");
        assert_eq!(written(&of(60.0, 160.0), Basis::Run), "100 ns", "the interval within the run is narrow");
        assert_eq!(written(&of(0.0, 160.0), Basis::Machine), "100 ns", "zero is no end of a range");
        // The cost of another thread, whose interval has the same relative width.
        let of_other = |row: Row| known(&row, Basis::Run).with_cost(10.0).to_string();
        let noisy = |row: Row| Row { verdict: Verdict::Noisy("wide".into()), ns_within: None, ..row };
        assert_eq!(of_other(of(60.0, 160.0)), "10.0 ns");
        assert_eq!(of_other(noisy(of(85.0, 115.0))), "~10 ns");
        assert_eq!(of_other(noisy(of(60.0, 160.0))), "6.0 to 16 ns");
        assert_eq!(of_other(noisy(of(20.0, 400.0))), "no figure");
    }

    #[test]
    fn a_ratio_is_as_precise_as_it_is_certain() {
        let times = |point, low, high| Ratio { point, low: Some(low), high: Some(high) }.to_string();
        assert_eq!(times(2.24, 2.1, 2.4), "2.2 times");
        assert_eq!(times(21.7, 20.0, 24.0), "22 times");
        assert_eq!(times(1308.4, 1300.0, 1310.0), "1,308 times", "as other counts");
        assert_eq!(times(1308.4, 1200.0, 1420.0), "1,300 times", "a rough one");
        assert_eq!([times(137.4, 120.0, 150.0), times(137.4, 136.0, 138.0)], ["140 times", "137 times"]);
        assert_eq!(times(2.24, 1.69, 3.0), "at least 1.6 times", "rounded down");
        assert_eq!(times(1.04, 1.02, 1.06), "1.04 times");
        assert_eq!(times(1.3, 1.049, 1.61), "1.04 to 1.7 times", "rounded away from each other");
        assert_eq!(times(1.3, 1.004, 1.61), "up to 1.7 times", "a lower end of 1.00 would say that nothing differs");
        assert_eq!(times(1.3, 0.8, 1.61), "0.80 to 1.7 times", "it may be less");
        assert_eq!(times(1.4, 1.1, 2.0), "at least 1.1 times");
        assert_eq!(Ratio { point: 3.0, low: Some(1.049), high: None }.to_string(), "at least 1.04 times");
    }

    #[test]
    fn the_interval_of_a_ratio_is_above_one_where_the_intervals_do_not_touch() {
        let bounds = |low, high| Interval { low, high };
        let ratio = |low, high| Ratio::of((12.0, bounds(low, high)), (10.0, bounds(8.0, 11.0)));
        assert_eq!((ratio(11.1, 13.0).is_above_one(), ratio(10.9, 13.0).is_above_one()), (true, false));
        let zero = Ratio::of((12.0, bounds(11.0, 13.0)), (1.0, bounds(-0.5, 2.0)));
        assert_eq!((zero.low, zero.high), (Some(5.5), None), "a cost that may be zero has no upper end");
        let none = Ratio::of((12.0, bounds(0.0, 13.0)), (1.0, bounds(0.0, 2.0)));
        assert_eq!((none.low, none.high), (None, None), "nor a lower one");
    }
}
