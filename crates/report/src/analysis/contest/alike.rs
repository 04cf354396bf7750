//! Compares like with like: before one cost is called lower than another, both must have the same actor, the same form in the
//! code and the same number of threads.
//!
//! - Actor: a row has the cost of the slowest thread, the median thread or the mean of all threads. Where two rows differ in
//!   that, [`of_one_actor`] compares the median threads of both.
//! - Form and width: [`is_alike`]. A statement about another width, such as one grid against several devices, says so with
//!   [`Known::across`].

use std::collections::HashSet;

use syncscope_core::stats::Interval;
use syncscope_core::{Actor, Case, Form, Nanoseconds, Population, Work};

use super::{Known, Ratio};

/// Two costs that can be compared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Comparison<'a> {
    /// The cost that may be the lower one.
    pub(crate) less: Known<'a>,
    pub(crate) more: Known<'a>,
    /// The ratio of `more` to `less`.
    pub(crate) ratio: Ratio,
}

impl Comparison<'_> {
    /// Whether `less` is certainly below `more`.
    pub(crate) fn is_certain(&self) -> bool {
        self.less.is_below(&self.more)
    }

    /// Whether one of the two, no matter which, certainly costs less.
    pub(crate) fn differs(&self) -> bool {
        self.is_certain() || self.more.is_below(&self.less)
    }

    /// The level of the ratio's interval.
    pub(crate) fn level(&self) -> &'static str {
        if self.more.is_ordered_by_ratio(&self.less) { "99 %" } else { "at least 95 %" }
    }

    pub(crate) fn rows(&self) -> [usize; 2] {
        [self.less.index, self.more.index]
    }
}

impl<'a> Known<'a> {
    /// Compares this cost with one of the same form and width.
    pub(crate) fn against(self, more: Self) -> Option<Comparison<'a>> {
        is_alike(&self.row.case, &more.row.case).then(|| self.across(more))?
    }

    /// Compares like [`against`](Self::against); `None` unless this cost is certainly lower.
    pub(crate) fn below(self, more: Self) -> Option<Comparison<'a>> {
        self.against(more).filter(Comparison::is_certain)
    }

    /// Compares this cost with one of the same form but of other threads, for statements about the number of threads or
    /// where they are.
    pub(crate) fn across(self, more: Self) -> Option<Comparison<'a>> {
        if form(&self.row.case) != form(&more.row.case) {
            return None;
        }
        let [less, more] = of_one_actor(vec![self, more])?.try_into().ok()?;
        Some(Comparison { less, more, ratio: more.over(&less) })
    }

    /// Replaces the cost by another one of the same row, with the same relative interval.
    pub(crate) fn with_cost(self, ns: f64) -> Self {
        let Interval { low, high } = self.bounds;
        let factor = ns / self.ns;
        Self { ns, bounds: Interval { low: factor * low, high: factor * high }, ..self }
    }

    /// Replaces the cost by another thread's. `None` if either is not above zero, since no factor then relates their
    /// intervals.
    fn of_thread(self, cost: Option<Nanoseconds>) -> Option<Self> {
        positive(cost).filter(|_| self.ns > 0.0).map(|ns| self.with_cost(ns))
    }

    /// The cost of the slowest thread, if the row has it.
    pub(crate) fn of_slowest(self) -> Self {
        self.of_thread(self.row.slowest_ns).unwrap_or(self)
    }

    /// Whether this is the cost of another thread than the row's own cost.
    pub(crate) fn is_of_another_actor(&self) -> bool {
        self.row.ns.map(Nanoseconds::value) != Some(self.ns)
    }

    /// The actor, if it is not the row's own.
    pub(crate) fn other_actor(&self) -> Option<Actor> {
        let is_median = positive(self.row.median_ns) == Some(self.ns);
        self.is_of_another_actor().then_some(if is_median { Actor::Median } else { Actor::Slowest })
    }
}

/// Whether two cases are of one form and one width.
pub(super) fn is_alike(one: &Case, other: &Case) -> bool {
    form(one) == form(other) && width(one) == width(other)
}

/// What is executed, and the work around it. A CPU's compiler never sums over a warp first, so the form that forbids it is
/// the default there.
fn form(case: &Case) -> (Option<Form>, [Option<Work>; 2]) {
    (case.form.filter(|form| *form != Form::NotAggregated), [case.inside, case.outside])
}

/// Who takes part: for a reduction, which chooses its threads itself, its elements; otherwise threads, blocks and devices.
fn width(case: &Case) -> (Option<u64>, [Option<u32>; 3]) {
    let threads = if case.elements.is_some() { [None; 3] } else { [case.threads, case.blocks, case.devices] };
    (case.elements, threads)
}

/// The costs of the same actor in each row: the rows' own costs or, where the rows differ in whose cost they hold, those of
/// the median threads over all samples. A row with one thread, or without a recorded actor, agrees with every other. `None`
/// if a row lacks the cost.
pub(crate) fn of_one_actor(rows: Vec<Known<'_>>) -> Option<Vec<Known<'_>>> {
    if has_one_actor(&rows) {
        return Some(rows);
    }
    rows.into_iter().map(of_median).collect()
}

/// The cost of the median thread.
pub(super) fn of_median(known: Known<'_>) -> Option<Known<'_>> {
    known.of_thread(known.row.median_ns)
}

/// Whether all rows hold the cost of the same actor.
pub(super) fn has_one_actor(rows: &[Known<'_>]) -> bool {
    let several = || rows.iter().map(|known| known.row).filter(|row| !row.case.has_one_thread());
    let actors: HashSet<Actor> = several().filter_map(|row| row.actor).collect();
    let populations: HashSet<Population> = several().filter_map(|row| row.population).collect();
    actors.len() < 2 && populations.len() < 2
}

/// Whether the middle one of three neighbouring figures is a dip or a peak: both others are beyond this factor on the same
/// side. Without an interval, a dip or peak may be noise.
pub(crate) fn stands_out([before, own, after]: [f64; 3]) -> bool {
    const FACTOR: f64 = 1.25;
    (before > FACTOR * own && after > FACTOR * own) || (own > FACTOR * before && own > FACTOR * after)
}

fn positive(cost: Option<Nanoseconds>) -> Option<f64> {
    cost.map(Nanoseconds::value).filter(|ns| *ns > 0.0)
}

#[cfg(test)]
mod tests {
    use syncscope_core::Row;

    use super::super::{Basis, Contest, Entrant};
    use super::*;
    use crate::analysis::questions::testing::{case, data, on_blocks, row};

    /// 16 threads: one variable costs 350 ns for the slowest thread and 300 ns for the median one; separate variables cost 6
    /// ns for the median undisturbed thread and 6.5 ns for the median of all.
    fn rows() -> Vec<Row> {
        let of = |ns, actor, population, median| Row {
            actor: Some(actor),
            population: Some(population),
            median_ns: Some(Nanoseconds(median)),
            ..row(case("cpu.atomic.add", 16), ns, 0.1)
        };
        vec![of(6.0, Actor::Median, Population::Alone, 6.5), of(350.0, Actor::Slowest, Population::All, 300.0)]
    }

    fn known(data: &crate::RunData, index: usize) -> Known<'_> {
        Known::of(data, index, Basis::Run).unwrap()
    }

    #[test]
    fn the_median_threads_are_compared_where_rows_are_of_other_threads() {
        let data = data(rows());
        let both = known(&data, 0).against(known(&data, 1)).unwrap();
        assert_eq!((both.less.ns, both.more.ns), (6.5, 300.0));
        assert!((both.less.bounds.high - 6.5 * 1.01).abs() < 1e-9 && both.is_certain());
        assert_eq!(both.ratio.to_string(), "46 times");
        let own = known(&data, 1).against(known(&data, 1)).unwrap();
        assert!(!own.less.is_of_another_actor() && both.less.is_of_another_actor());
        let slowest = known(&data, 0).with_cost(9.0);
        let actors = [both.less, own.less, slowest].map(|known| known.other_actor());
        assert_eq!(actors, [Some(Actor::Median), None, Some(Actor::Slowest)]);
    }

    #[test]
    fn rows_of_other_populations_are_compared_by_all_their_samples() {
        let mut rows = rows();
        rows[1].actor = rows[0].actor;
        let data = data(rows);
        let both = known(&data, 0).against(known(&data, 1)).unwrap();
        assert_eq!((both.less.ns, both.more.ns), (6.5, 300.0));
    }

    #[test]
    fn a_row_without_that_thread_is_not_compared() {
        for median in [None, Some(Nanoseconds(0.0))] {
            let mut rows = rows();
            rows[1].median_ns = median;
            let data = data(rows);
            assert!(known(&data, 0).against(known(&data, 1)).is_none(), "{median:?}");
        }
    }

    #[test]
    fn a_dip_or_a_peak_stands_out_and_a_slope_does_not() {
        assert!(stands_out([4.39, 2.06, 4.76]) && stands_out([1.0, 3.0, 1.2]));
        assert!(!stands_out([1.0, 3.0, 9.0]) && !stands_out([9.0, 3.0, 1.0]) && !stands_out([4.0, 3.5, 4.0]));
        for unit in [1.0 / 1024.0, 1.0, 1024.0] {
            let of = |figures: [f64; 3]| stands_out(figures.map(|figure| unit * figure));
            assert!(of([1.3, 1.0, 1.3]) && of([1.0, 1.3, 1.0]), "in any unit: {unit}");
            assert!(!of([1.25, 1.0, 1.3]) && !of([1.3, 1.0, 1.25]), "not beyond the factor: {unit}");
            assert!(!of([1.0, 1.25, 0.9]) && !of([0.9, 1.25, 1.0]), "{unit}");
            assert!(!of([1.2, 1.0, 1.3]) && !of([1.3, 1.0, 1.2]) && !of([1.0, 1.2, 1.0]), "{unit}");
        }
    }

    #[test]
    fn an_estimate_below_zero_gives_no_other_thread_an_interval() {
        let mut rows = rows();
        rows[1].slowest_ns = Some(Nanoseconds(20.0));
        let data = data(rows);
        let below = Known { ns: -5.0, bounds: Interval { low: -40.0, high: 9.0 }, ..known(&data, 1) };
        assert_eq!((below.of_slowest().ns, below.of_slowest().bounds), (below.ns, below.bounds));
        assert!(known(&data, 0).against(below).is_none(), "nor the median one");
    }

    #[test]
    fn other_widths_and_forms_are_no_rivals() {
        let wide = row(on_blocks("gpu.atomic.add", 132, 1024), 10.0, 0.01);
        let narrow = row(on_blocks("gpu.atomic.add", 1, 1024), 5.0, 0.01);
        let varying = Row { case: Case { form: Some(Form::Varying), ..wide.case.clone() }, ..narrow.clone() };
        let data = data(vec![wide, narrow, varying]);
        assert!(known(&data, 1).against(known(&data, 0)).is_none(), "one block against a grid");
        assert!(known(&data, 1).across(known(&data, 0)).is_some(), "where that is the statement");
        assert!(known(&data, 2).across(known(&data, 0)).is_none(), "another form");
        for other in [1, 2] {
            let named = |index, name: &str| Entrant { name: name.into(), ..Entrant::of(&data, index, Basis::Run) };
            let contest = Contest::of(vec![named(0, "grid"), named(other, "other")], Vec::new());
            let open = contest.outcome().unwrap().unwrap_err().to_string();
            assert_eq!(open, "grid and other were measured with different threads or in a different form");
        }
    }
}
