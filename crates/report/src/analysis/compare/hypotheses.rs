//! Decides how the cost of each case changed.
//!
//! For each case two hypotheses are tested: that the cost changes by no more than the threshold, and that it changes by at
//! least as much. Rejecting the first makes a case slower or faster, rejecting the second makes it the same. Each set of
//! tests is corrected for the number of its cases.

use syncscope_core::stats::Level;
use syncscope_core::{Class, Detail, Row, pairs_of_a_block};

use super::case::{Change, ComparedCase, IN_RUNS, not_comparable};
use super::machine_state::MachineStates;
use super::ratio;
use super::ratio::UncertainCost;

/// A case before its verdict, which depends on all cases.
pub(super) struct Draft<'a> {
    pub(super) case: ComparedCase<'a>,
    /// The tests; `None` if the two rows cannot be compared.
    tests: Option<Tests>,
}

/// The p-values of a case.
#[derive(Debug, Clone, Copy)]
struct Tests {
    /// The p-value of "changes by no more than the threshold".
    different: f64,
    /// The change if that hypothesis is rejected.
    if_different: Change,
    /// The p-value of "changes by at least the threshold".
    same: f64,
    /// Whether runs differ so much that one run each cannot show sameness, however long they take.
    runs_differ_more: bool,
    /// The costs in A and in B.
    costs: [UncertainCost; 2],
}

impl<'a> Draft<'a> {
    pub(super) fn of(
        (a, a_blocks): (&'a Row, f64),
        (b, b_blocks): (&'a Row, f64),
        threshold: f64,
        (states, class): (&MachineStates, Option<Class>),
        in_turn: Option<[UncertainCost; 2]>,
    ) -> Self {
        let not = ComparedCase {
            a,
            b,
            change: Change::NotComparable,
            ratio: None,
            common_factor: 1.0,
            low: None,
            high: None,
            equal_work: None,
            p_value: None,
            least_change: None,
        };
        if not_comparable([a, b], IN_RUNS).is_some() {
            return Self { case: not, tests: None };
        }
        let whole = || Some((UncertainCost::of(a, a_blocks)?, UncertainCost::of(b, b_blocks)?, 1.0));
        let in_turn = in_turn.map(|[of_a, of_b]| (of_a, of_b, 1.0));
        let Some((of_a, of_b, common_factor)) = in_turn.or_else(|| states.costs(a, b)).or_else(whole) else {
            let both = a.ns.zip(b.ns).map(|(of_a, of_b)| of_b.value() / of_a.value());
            let ratio = both.filter(|ratio| ratio.is_finite() && *ratio > 0.0);
            return Self { case: ComparedCase { ratio, ..not }, tests: None };
        };
        let limit = 1.0 + threshold;
        let (slower, faster) = (ratio::p_at_most(&of_b, limit, &of_a), ratio::p_at_most(&of_a, limit, &of_b));
        // "At least the threshold" consists of "at least that much above" and "at least that much below".
        let same = ratio::p_at_most(&of_a, 1.0 / limit, &of_b).max(ratio::p_at_most(&of_b, 1.0 / limit, &of_a));
        let different = (2.0 * slower.min(faster)).min(1.0);
        let of_runs = Level::P95.z * of_a.run_deviation().hypot(of_b.run_deviation());
        let direction = if slower < faster { Change::Slower } else { Change::Faster };
        let if_different = if states.differ_for(class) { Change::AnotherState } else { direction };
        let tests = Tests { different, if_different, same, runs_differ_more: of_runs > threshold, costs: [of_a, of_b] };
        let both_above_zero = of_a.ns > 0.0 && of_b.ns > 0.0;
        let case = ComparedCase {
            ratio: both_above_zero.then(|| of_b.ns / of_a.ns),
            common_factor,
            low: ratio::lower_end(&of_b, &of_a),
            high: ratio::lower_end(&of_a, &of_b).map(f64::recip),
            p_value: Some(different),
            equal_work: equal_work((a, a_blocks), (b, b_blocks)),
            change: Change::Undecided,
            ..not
        };
        Self { case, tests: Some(tests) }
    }

    /// Whether the case is undecided and one run each cannot show that it is the same.
    pub(super) fn needs_repeats(&self) -> bool {
        self.case.change == Change::Undecided && self.tests.is_some_and(|tests| tests.runs_differ_more)
    }
}

/// Gives each comparable case its verdict.
pub(super) fn judge(drafts: &mut [Draft<'_>], threshold: f64) {
    let tested: Vec<(&mut ComparedCase<'_>, Tests)> =
        drafts.iter_mut().filter_map(|draft| Some((&mut draft.case, draft.tests?))).collect();
    let of = |p: fn(&Tests) -> f64| rejected(&tested.iter().map(|(_, tests)| p(tests)).collect::<Vec<_>>());
    let different = of(|tests| tests.different);
    // Count as if one more case were different.
    let count = 1 + different.iter().filter(|different| **different).count();
    let level = FALSE_DISCOVERIES * count as f64 / different.len() as f64;
    let same = of(|tests| tests.same);
    for ((case, tests), verdict) in tested.into_iter().zip(different.into_iter().zip(same)) {
        case.change = match verdict {
            (true, _) => tests.if_different,
            (false, true) => Change::Same,
            (false, false) => Change::Undecided,
        };
        let [of_a, of_b] = &tests.costs;
        if matches!(case.change, Change::Same | Change::Undecided) {
            case.least_change = ratio::least_seen(of_b, 1.0 + threshold, of_a, level / 2.0);
        }
    }
}

/// The ratio of the costs of equal work, and its ends; `None` if it is the ratio of the means.
fn equal_work(a: (&Row, f64), b: (&Row, f64)) -> Option<(f64, [Option<f64>; 2])> {
    let rows = [a, b].map(|(row, blocks)| (row.of_equal_work(), row, blocks));
    rows.iter().any(|(equal, ..)| equal.is_some()).then_some(())?;
    let [of_a, of_b] = rows.map(|(equal, row, blocks)| UncertainCost::of(equal.as_ref().unwrap_or(row), blocks));
    let (of_a, of_b) = (of_a?, of_b?);
    let ends = [ratio::lower_end(&of_b, &of_a), ratio::lower_end(&of_a, &of_b).map(f64::recip)];
    Some((of_b.ns / of_a.ns, ends))
}

/// The number of measurement blocks of a row; if the run does not record it, as many as its pairs make.
pub(crate) fn measurement_blocks(row: &Row, details: Option<&Vec<Detail>>) -> f64 {
    let is_count = |detail: &&Detail| detail.name == Detail::MEASUREMENT_BLOCKS;
    let said = details.and_then(|details| details.iter().find(is_count)).map(|detail| detail.value);
    said.unwrap_or_else(|| row.pairs.unwrap_or(0).div_ceil(pairs_of_a_block(&row.case)) as f64)
}

/// The share of wrong rejections, on average over comparisons.
const FALSE_DISCOVERIES: f64 = 0.05;

/// For each p-value, whether its hypothesis is rejected (Benjamini and Hochberg, *Controlling the false discovery rate*,
/// Journal of the Royal Statistical Society B 57, 1995). It holds for independent tests and for those that rise and fall
/// together, as the costs of a family do (Benjamini and Yekutieli, Annals of Statistics 29, 2001).
pub fn rejected(p_values: &[f64]) -> Vec<bool> {
    let mut ascending: Vec<f64> = p_values.to_vec();
    ascending.sort_by(f64::total_cmp);
    let allowed = |rank: usize| FALSE_DISCOVERIES * rank as f64 / p_values.len() as f64;
    let limit = (1..).zip(&ascending).filter(|(rank, p)| **p <= allowed(*rank)).map(|(_, p)| *p).last();
    p_values.iter().map(|p| limit.is_some_and(|limit| *p <= limit)).collect()
}

/// The error to allow in each interval, so that the intervals of the rejected hypotheses are together as often wrong as the
/// rejections are (Benjamini and Yekutieli, *False discovery rate-adjusted multiple confidence intervals for selected
/// parameters*, Journal of the American Statistical Association 100, 2005). A hypothesis is rejected if and only if its
/// p-value is at most this error, unless none is rejected.
pub fn error_of_intervals(rejected: &[bool]) -> f64 {
    let count = rejected.iter().filter(|rejected| **rejected).count();
    FALSE_DISCOVERIES * count.max(1) as f64 / rejected.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_rank_that_holds_decides() {
        // The example of Benjamini and Hochberg, table 1: the four smallest of 15.
        let paper = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
            0.7590, 1.000,
        ];
        let rejected_of_paper = rejected(&paper);
        assert_eq!(rejected_of_paper.iter().filter(|rejected| **rejected).count(), 4);
        assert!(rejected_of_paper[..4].iter().all(|rejected| *rejected));
        // The second alone would not pass at its rank, but the third does.
        assert_eq!(rejected(&[0.05, 0.04, 0.045]), [true, true, true]);
        assert_eq!(rejected(&[0.9, 0.02, 0.5]), [false, false, false]);
        assert!(rejected(&[]).is_empty());
    }

    #[test]
    fn the_error_of_the_intervals_separates_the_rejected_from_the_others() {
        let lists: [&[f64]; 4] = [&[0.001, 0.02, 0.03, 0.9, 0.04], &[0.5, 0.3, 0.9], &[1e-9, 0.026, 0.9], &[0.01; 3]];
        for p_values in lists {
            let rejected = rejected(p_values);
            let error = error_of_intervals(&rejected);
            for (p, is_rejected) in p_values.iter().zip(rejected) {
                assert_eq!(*p <= error, is_rejected, "{p} of {p_values:?}, {error}");
            }
        }
        assert!((error_of_intervals(&[false; 20]) - 0.05 / 20.0).abs() < 1e-12);
    }
}
