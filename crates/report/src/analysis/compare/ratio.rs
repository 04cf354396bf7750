//! The ratio of two costs from two runs, and its uncertainty.
//!
//! # What is uncertain
//!
//! A row that several processes of its run measured has the variance of its figure (`run/another_run.rs` in core), divided
//! into its own part and the part it shares with its class. A comparison removes the shared part first where it can, and
//! counts each run's own variance once.
//!
//! Other rows have the half-width w within the run, and q including what is assumed about other runs: q² = w² + 2 s², where
//! s = 1.96 × the standard deviation of a run. Each run brings its own w and its own s, and the four are independent:
//!
//! ```text
//! w_a² + s_a² + w_b² + s_b²  =  (w_a² + q_a²) / 2  +  (w_b² + q_b²) / 2
//! ```
//!
//! A row that joins N runs has q = t s √(1 + 1/N), with s the standard deviation of a run and t for N + 3 degrees of freedom
//! (`run/repeats.rs` in core). The mean of its runs is uncertain by s / √N = q / (t √(N + 1)).
//!
//! # The interval of the ratio
//!
//! The interval holds the ratios r that the data do not contradict: those for which b - r a is not certainly above or below
//! zero (Fieller, *Some problems in interval estimation*, Journal of the Royal Statistical Society B 16, 1954). It needs no
//! logarithm of a cost, so it works for a cost that may be zero; the interval then has no upper end.

use crate::reading::has_cost_of_case;
use syncscope_core::Row;
use syncscope_core::run::row::Parts;
use syncscope_core::stats::{Clustered, Interval, Level, student};

/// The relative standard deviation of one code's cost over its places in memory: comparisons of an operation with itself
/// gave ratios of 1.001 to 1.005, certainly above 1 where the noise was smaller.
const PLACE: f64 = 0.004;

/// The largest ratio of two costs of one case.
const LARGEST_RATIO: f64 = 1e9;

/// The largest change of a cost that might be missed.
const LARGEST_CHANGE: f64 = 1e3;

/// A cost, and its uncertainty on either side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct UncertainCost {
    pub(crate) ns: f64,
    below: Uncertainty,
    above: Uncertainty,
}

/// Variances in ns².
#[derive(Debug, Clone, Copy, PartialEq)]
struct Uncertainty {
    /// The variance of the measurement, estimated with `degrees` degrees of freedom.
    measured: f64,
    degrees: f64,
    /// The variance between runs, taken as known.
    run: f64,
}

impl UncertainCost {
    /// `blocks` is the number of measurement blocks behind the row.
    pub(crate) fn of(row: &Row, blocks: f64) -> Option<Self> {
        let ns = row.ns?.value();
        if let Some(between) = row.run_to_run.filter(|_| has_cost_of_case(row)) {
            return Self::of_parts(ns, between.ns, true);
        }
        let (quoted, within) = (row.ns_with_allowance()?, row.ns_within?);
        let degrees = runs_of_row(row).map_or((blocks - 1.0).max(1.0), |runs| runs + 3.0);
        let quantile = student::quantile_95(degrees);
        let side = |end: fn(&Interval) -> f64| {
            let distance = |interval: &Interval| (end(interval) - ns).abs();
            let quoted_half = distance(&quoted);
            if let Some(runs) = runs_of_row(row) {
                let error = quoted_half / quantile / (runs + 1.0).sqrt();
                return Uncertainty { measured: error.powi(2), degrees, run: 0.0 };
            }
            let within_half = distance(&within);
            let run = (quoted_half.powi(2) - within_half.powi(2)).max(0.0) / 2.0 / Level::P95.z.powi(2);
            Uncertainty { measured: (within_half / quantile).powi(2), degrees, run }
        };
        let is_finite = quoted.low.is_finite() && quoted.high.is_finite();
        Self::finite(ns, side(|interval| interval.low), side(|interval| interval.high)).filter(|_| is_finite)
    }

    fn finite(ns: f64, below: Uncertainty, above: Uncertainty) -> Option<Self> {
        let numbers = [ns, below.measured, below.run, above.measured, above.run];
        numbers.into_iter().all(f64::is_finite).then_some(Self { ns, below, above })
    }

    /// A cost whose logarithm has these variances, with or without the part that its class shares. `None` for a cost of zero
    /// or less.
    pub(super) fn of_parts(cost: f64, parts: Parts, with_shared: bool) -> Option<Self> {
        if cost <= 0.0 {
            return None;
        }
        let square = cost.powi(2);
        // The shared variance counts as known, so it must make up for its few degrees of freedom.
        let tails = (student::quantile_95(parts.shared.degrees) / Level::P95.z).powi(2);
        let run = if with_shared { tails * parts.shared.value * square } else { 0.0 };
        let all = Uncertainty { measured: parts.own.value * square, degrees: parts.own.degrees, run };
        Self::finite(cost, all, all)
    }

    /// A cost whose whole uncertainty is this interval, from this many measurement blocks.
    pub(in crate::analysis) fn of_interval(ns: f64, interval: Interval, blocks: f64) -> Option<Self> {
        let degrees = (blocks - 1.0).max(1.0);
        let error = |end: f64| (end - ns).abs() / student::quantile_95(degrees);
        let side = |end: f64| Uncertainty { measured: error(end).powi(2), degrees, run: 0.0 };
        Self::finite(ns, side(interval.low), side(interval.high))
    }

    /// The reference cost of 1 and the ratio of two costs measured in turn, from one ratio for each pass over the cases or
    /// each layout of the code. Whatever both have in common in a pass, such as the state of the machine, cancels out.
    /// `None` if there are too few passes.
    pub(super) fn in_turn(ratios: &[f64]) -> Option<[Self; 2]> {
        let logarithms: Vec<(u32, f64)> = (0..).zip(ratios.iter().map(|ratio| ratio.ln())).collect();
        let found = Clustered::of(&logarithms)?;
        let Interval { low, high } = found.interval(Level::P95)?;
        let ratio = found.median()?.exp();
        let interval = Interval { low: low.exp(), high: high.exp() };
        let mut of_ratio = Self::of_interval(ratio, interval, ratios.len() as f64)?;
        for side in [&mut of_ratio.below, &mut of_ratio.above] {
            side.run = 2.0 * (PLACE * ratio).powi(2);
        }
        let none = Uncertainty { measured: 0.0, degrees: f64::INFINITY, run: 0.0 };
        Some([Self { ns: 1.0, below: none, above: none }, of_ratio])
    }

    /// Another cost with the same relative uncertainty.
    fn moved_to(&self, ns: f64) -> Self {
        let square = (ns / self.ns).powi(2);
        let side = |of: Uncertainty| Uncertainty { measured: square * of.measured, run: square * of.run, ..of };
        Self { ns, below: side(self.below), above: side(self.above) }
    }

    /// The standard deviation of the run, relative to the cost.
    pub(super) fn run_deviation(&self) -> f64 {
        self.below.run.max(self.above.run).sqrt() / self.ns.abs()
    }
}

/// The number of runs that a row joins; `None` for the row of a single run.
fn runs_of_row(row: &Row) -> Option<f64> {
    row.runs.filter(|runs| *runs > 1).map(|runs| runs as f64)
}

/// The p-value of "`x` is at most `ratio` times `y`": small where `x` is certainly above.
pub(crate) fn p_at_most(x: &UncertainCost, ratio: f64, y: &UncertainCost) -> f64 {
    let (of_x, of_y, square) = (x.below, y.above, ratio * ratio);
    let measured = [(of_x.measured, of_x.degrees), (square * of_y.measured, of_y.degrees)];
    let variance = measured.iter().map(|(variance, _)| variance).sum::<f64>() + of_x.run + square * of_y.run;
    let difference = x.ns - ratio * y.ns;
    if variance <= 0.0 {
        return if difference > 0.0 { 0.0 } else { 1.0 };
    }
    // Welch and Satterthwaite; known variances do not enter the denominator.
    let denominator: f64 = measured.iter().map(|(variance, degrees)| variance.powi(2) / degrees).sum();
    let degrees = if denominator > 0.0 { variance.powi(2) / denominator } else { f64::INFINITY };
    student::upper_tail(difference / variance.sqrt(), degrees)
}

/// The lower end of the 95 % interval of `x` / `y`: the largest ratio that `x` is certainly above. `None` where `x` is not
/// certainly above zero.
pub(in crate::analysis) fn lower_end(x: &UncertainCost, y: &UncertainCost) -> Option<f64> {
    let is_above = |ratio: f64| p_at_most(x, ratio, y) <= 0.025;
    if !is_above(0.0) || is_above(LARGEST_RATIO) {
        return None;
    }
    // The test statistic crosses its limit once: it falls with the ratio, or rises from a value above the limit first.
    let (mut low, mut high) = (1.0 / LARGEST_RATIO, LARGEST_RATIO);
    for _ in 0..32 {
        let middle = (low * high).sqrt();
        if is_above(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(low)
}

/// The smallest multiple of `y` from which a cost with the relative uncertainty of `x` is certainly above `limit` times `y`,
/// at this level. `None` if no cost is.
pub(super) fn least_seen(x: &UncertainCost, limit: f64, y: &UncertainCost, level: f64) -> Option<f64> {
    let is_seen = |factor: f64| p_at_most(&x.moved_to(factor * y.ns), limit, y) <= level;
    let is_cost = x.ns > 0.0 && y.ns > 0.0;
    if !is_cost || !is_seen(LARGEST_CHANGE) {
        return None;
    }
    let (mut low, mut high) = (limit, LARGEST_CHANGE);
    for _ in 0..24 {
        let middle = (low * high).sqrt();
        if is_seen(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use syncscope_core::stats::{Variance, layouts};
    use syncscope_core::{Case, Nanoseconds, Verdict};

    const MANY: f64 = 1e6;

    fn row(ns: f64, within: f64, run: f64) -> Row {
        let quoted = (within.powi(2) + 2.0 * (Level::P95.z * run * ns).powi(2)).sqrt();
        Row {
            ns: Some(Nanoseconds(ns)),
            ns_interval: Some(Interval { low: ns - quoted, high: ns + quoted }),
            ns_within: Some(Interval { low: ns - within, high: ns + within }),
            ..Row::unmeasured(Case::new("cpu.atomic.add"), Verdict::Resolved)
        }
    }

    fn cost(ns: f64, within: f64, run: f64) -> UncertainCost {
        UncertainCost::of(&row(ns, within, run), MANY).unwrap()
    }

    #[test]
    fn what_has_no_cost_has_no_logarithm() {
        let parts =
            Parts { own: Variance { value: 1e-4, degrees: 6.0 }, shared: Variance { value: 1e-4, degrees: 6.0 } };
        let of = |cost| UncertainCost::of_parts(cost, parts, true).is_some();
        assert_eq!([5.0, 0.0, -1.0].map(of), [true, false, false]);
    }

    #[test]
    fn each_run_counts_once() {
        // Without noise inside the runs, two runs of the same cost differ by 1.96 √2 s in one of twenty comparisons.
        let run = 0.02;
        let factor = 1.0 + Level::P95.z * 2.0_f64.sqrt() * run;
        let p = |ratio: f64| p_at_most(&cost(ratio, 0.0, run), 1.0, &cost(1.0, 0.0, run));
        assert!(p(factor * 0.998) > 0.025 && p(factor * 1.005) < 0.025, "{} {}", p(factor * 0.998), p(factor * 1.005));
        assert!((cost(5.0, 0.1, run).run_deviation() - run).abs() < 1e-9);
    }

    #[test]
    fn what_both_have_in_common_cancels_out() {
        // The machine's state changes the cost by half from pass to pass; the operations differ by 2 % or not at all.
        let mut random = fastrand::Rng::with_seed(7);
        let ratios = |factor: f64, random: &mut fastrand::Rng| -> Vec<f64> {
            (0..100).map(|_| factor * (1.0 + 0.04 * (random.f64() - 0.5))).collect()
        };
        let p = |factor: f64, random: &mut fastrand::Rng| {
            let [one, ratio] = UncertainCost::in_turn(&ratios(factor, random)).unwrap();
            p_at_most(&ratio, 1.0, &one)
        };
        assert!(p(1.02, &mut random) < 0.01 && p(1.0, &mut random) > 0.025 && p(1.005, &mut random) > 0.025);
        assert_eq!(UncertainCost::in_turn(&[1.0; 3]), None, "too few");
    }

    /// Runs of `measure` on a machine whose state changes from pass to pass and whose blocks have heavy tails, with a cost
    /// that the layout changes by up to 17 %. Each library also has its own effect. Counts how many of 100 are called
    /// different, with equal code and with 2 % more.
    #[test]
    fn layouts_make_no_difference_and_hide_none() {
        const PASSES: u32 = 480;
        let mut random = fastrand::Rng::with_seed(65);
        let mut normal = move || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        let mut different = |factor: f64| {
            let effects: Vec<f64> =
                (0..layouts::LAYOUTS).map(|_| 0.085 * (1.0 + normal() / 2.0).clamp(0.0, 2.0)).collect();
            let own: Vec<[f64; 2]> = effects.iter().map(|effect| [(); 2].map(|()| effect + 0.005 * normal())).collect();
            let mut costs = [BTreeMap::new(), BTreeMap::new()];
            for pass in 1..=PASSES {
                let state = 1.0 + 0.3 * normal().abs();
                for (which, of) in costs.iter_mut().enumerate() {
                    let disturbed = if normal() > 2.0 { 1.2 } else { 1.0 };
                    let cost = 10.0 * state * (1.0 + own[layouts::of_pass(pass) as usize][which]);
                    of.insert(pass, cost * disturbed * (1.0 + 0.01 * normal()) * if which == 0 { factor } else { 1.0 });
                }
            }
            let ratios = layouts::ratios(&costs[0], &costs[1]);
            let [one, ratio] = UncertainCost::in_turn(&ratios).unwrap();
            p_at_most(&ratio, 1.0, &one) <= 0.025 || p_at_most(&one, 1.0, &ratio) <= 0.025
        };
        let equal = (0..100).filter(|_| different(1.0)).count();
        let planted = (0..100).filter(|_| different(1.02)).count();
        assert!(equal <= 5 && planted >= 90, "{equal} of 100 equal ones, {planted} of 100 with 2 % more");
    }

    #[test]
    fn few_blocks_have_heavy_tails() {
        let p = |blocks: f64| {
            let [a, b] = [row(10.0, 0.1, 0.0), row(10.3, 0.1, 0.0)].map(|row| UncertainCost::of(&row, blocks).unwrap());
            p_at_most(&b, 1.0, &a)
        };
        assert!(p(3.0) > 10.0 * p(100.0), "{} {}", p(3.0), p(100.0));
    }

    #[test]
    fn the_mean_of_several_runs_is_known_better_than_one_run() {
        // Half-width to quote for another run: t(8) s √(1 + 1/5).
        let s = 0.3;
        let half = 2.306 * s * 1.2_f64.sqrt();
        let row = Row {
            ns_interval: Some(Interval { low: 10.0 - half, high: 10.0 + half }),
            runs: Some(5),
            ..row(10.0, 0.1, 0.0)
        };
        let cost = UncertainCost::of(&row, MANY).unwrap();
        assert!((cost.below.measured.sqrt() - s / 5.0_f64.sqrt()).abs() < 1e-3, "{cost:?}");
        assert_eq!((cost.below.run, cost.below.degrees), (0.0, 8.0));
    }

    #[test]
    fn the_interval_is_that_of_fieller() {
        let (a, b) = (cost(10.0, 1.0, 0.0), cost(12.0, 0.6, 0.0));
        let (low, high) = (lower_end(&b, &a).unwrap(), 1.0 / lower_end(&a, &b).unwrap());
        // The roots of (12 - r 10)² = 0.6² + r² 1.0².
        let (square, linear, constant): (f64, f64, f64) = (100.0 - 1.0, -240.0, 144.0 - 0.36);
        let root = |sign: f64| (-linear + sign * (linear * linear - 4.0 * square * constant).sqrt()) / (2.0 * square);
        assert!((low / root(-1.0) - 1.0).abs() < 1e-3 && (high / root(1.0) - 1.0).abs() < 1e-3, "{low} {high}");
        assert!(low < 1.2 && high > 1.2 && high - 1.2 > 1.2 - low, "the upper side is wider");
    }

    #[test]
    fn a_cost_that_may_be_zero_bounds_the_ratio_on_one_side() {
        let (nothing, something) = (cost(0.02, 0.05, 0.0), cost(3.0, 0.1, 0.0));
        let low = lower_end(&something, &nothing).unwrap();
        assert!((35.0..45.0).contains(&low), "3.0 / 0.07, less its own uncertainty: {low}");
        assert_eq!(lower_end(&nothing, &something), None);
        let below_zero = cost(-0.02, 0.05, 0.0);
        assert!(lower_end(&something, &below_zero).unwrap() > low);
    }

    #[test]
    fn the_least_change_that_is_seen_grows_with_the_uncertainty() {
        let seen = |within: f64, run: f64| least_seen(&cost(10.0, within, run), 1.05, &cost(8.0, within, run), 0.025);
        let of = [seen(0.0, 0.0), seen(0.1, 0.0), seen(0.1, 0.02), seen(0.1, 0.1)].map(Option::unwrap);
        assert!((of[0] - 1.05).abs() < 1e-6 && of.is_sorted() && of[3] > 1.3, "{of:?}");
        // A change is found from this factor on, and not below it.
        let p = |factor: f64| p_at_most(&cost(10.0, 0.1, 0.02).moved_to(8.0 * factor), 1.05, &cost(8.0, 0.1, 0.02));
        assert!(p(of[2] * 1.001) <= 0.025 && p(of[2] * 0.999) > 0.025);
        assert_eq!(least_seen(&cost(1.0, 3.0, 0.0), 1.05, &cost(1.0, 0.1, 0.0), 0.025), None, "it may be zero");
    }

    #[test]
    fn without_an_interval_nothing_is_known() {
        assert_eq!(UncertainCost::of(&Row { ns_interval: None, ..row(1.0, 0.1, 0.0) }, MANY), None);
        assert_eq!(UncertainCost::of(&Row { ns: None, ..row(1.0, 0.1, 0.0) }, MANY), None);
        assert_eq!(UncertainCost::of(&row(f64::NAN, 0.1, 0.0), MANY), None);
    }
}
