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
    /// What may be the cheaper one.
    pub(crate) less: Known<'a>,
    pub(crate) more: Known<'a>,
    /// How many times as much the other one costs.
    pub(crate) ratio: Ratio,
}

impl Comparison<'_> {
    /// Whether the one is certainly below the other.
    pub(crate) fn is_certain(&self) -> bool {
        self.less.is_below(&self.more)
    }

    /// Whether one of the two certainly costs less, whichever it is.
    pub(crate) fn differs(&self) -> bool {
        self.is_certain() || self.more.is_below(&self.less)
    }

    pub(crate) fn rows(&self) -> [usize; 2] {
        [self.less.index, self.more.index]
    }
}

impl<'a> Known<'a> {
    /// This cost against one of the same form and width.
    pub(crate) fn against(self, more: Self) -> Option<Comparison<'a>> {
        is_alike(&self.row.case, &more.row.case).then(|| self.across(more))?
    }

    /// The same where it is certainly the cheaper one.
    pub(crate) fn below(self, more: Self) -> Option<Comparison<'a>> {
        self.against(more).filter(Comparison::is_certain)
    }

    /// This cost against one of the same form, by other threads: the statement is about their number, or about where they are.
    pub(crate) fn across(self, more: Self) -> Option<Comparison<'a>> {
        if form(&self.row.case) != form(&more.row.case) {
            return None;
        }
        let [less, more] = of_one_actor(vec![self, more])?.try_into().ok()?;
        Some(Comparison { less, more, ratio: more.over(&less) })
    }

    /// Another cost of the same row, as uncertain as that of the row.
    pub(crate) fn with_cost(self, ns: f64) -> Self {
        let Interval { low, high } = self.bounds;
        let factor = ns / self.ns;
        Self { ns, bounds: Interval { low: factor * low, high: factor * high }, ..self }
    }

    /// This cost of another thread. `None` where one of both is not above zero: no factor relates their intervals.
    fn of_thread(self, cost: Option<Nanoseconds>) -> Option<Self> {
        positive(cost).filter(|_| self.ns > 0.0).map(|ns| self.with_cost(ns))
    }

    /// The cost of its slowest thread, where the row has it.
    pub(crate) fn of_slowest(self) -> Self {
        self.of_thread(self.row.slowest_ns).unwrap_or(self)
    }

    /// Whether it is the cost of another thread than that of its row.
    pub(crate) fn is_of_another_actor(&self) -> bool {
        self.row.ns.map(Nanoseconds::value) != Some(self.ns)
    }

    /// Of which thread, where that is another one than its row says.
    pub(crate) fn other_actor(&self) -> Option<Actor> {
        let is_median = positive(self.row.median_ns) == Some(self.ns);
        self.is_of_another_actor().then_some(if is_median { Actor::Median } else { Actor::Slowest })
    }
}

/// Whether two cases are of one form and one width.
pub(super) fn is_alike(one: &Case, other: &Case) -> bool {
    form(one) == form(other) && width(one) == width(other)
}

/// What is executed, and the work around it. A CPU's compiler sums no warp first, so there the form that forbids it is the
/// default.
fn form(case: &Case) -> (Option<Form>, [Option<Work>; 2]) {
    (case.form.filter(|form| *form != Form::NotAggregated), [case.inside, case.outside])
}

/// Who takes part: the elements of a reduction, which chooses its threads itself; elsewhere threads, blocks and devices.
fn width(case: &Case) -> (Option<u64>, [Option<u32>; 3]) {
    let threads = if case.elements.is_some() { [None; 3] } else { [case.threads, case.blocks, case.devices] };
    (case.elements, threads)
}

/// The costs of the same kind of thread in each row: its own, or those of the median threads over all samples, where the rows
/// differ in whose cost they are. A row of one thread agrees
/// with every other one, as does one that does not say it. `None` where a row lacks that cost.
pub(crate) fn of_one_actor(rows: Vec<Known<'_>>) -> Option<Vec<Known<'_>>> {
    if has_one_actor(&rows) {
        return Some(rows);
    }
    rows.into_iter().map(of_median).collect()
}

/// The cost of its median thread.
pub(super) fn of_median(known: Known<'_>) -> Option<Known<'_>> {
    known.of_thread(known.row.median_ns)
}

/// Whether the rows do not differ in whose cost they are.
pub(super) fn has_one_actor(rows: &[Known<'_>]) -> bool {
    let several = || rows.iter().map(|known| known.row).filter(|row| !row.case.has_one_thread());
    let actors: HashSet<Actor> = several().filter_map(|row| row.actor).collect();
    let populations: HashSet<Population> = several().filter_map(|row| row.population).collect();
    actors.len() < 2 && populations.len() < 2
}

/// Whether the middle one of three neighbouring figures is a dip or a peak: both others are beyond this factor on one side of it. A
/// figure without an interval that stands out so may be noise.
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

    /// 16 threads: one variable costs its slowest thread 350 ns and its median one 300 ns; variables apart cost the median
    /// undisturbed thread 6 ns, the median of all 6.5 ns.
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
