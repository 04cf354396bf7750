//! From costs to a verdict.

use crate::engine::cost_formula::{CostFormula, Costs};
use crate::engine::population::{Cost, StateCost, States};
use crate::stats::{self, LEAST_CHANGE, MIN_PAIRS};
use crate::units::significant_digits;
use crate::verdict::Growth;
use crate::{
    Check, Detail, Disturbance, Estimate, ExperimentError, Hertz, Interval, Level, Limit, Observation, Verdict,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// What a figure is computed from, besides the pairs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Basis {
    pub(crate) formula: CostFormula,
    /// Wider intervals (half-width relative to the point) are `Noisy`.
    pub(crate) noisy_above: f64,
    /// The fewest measurement blocks that the plan gives the case.
    pub(crate) fewest_blocks: u32,
    pub(crate) clock_tolerance: Option<f64>,
    /// The least cost that the hardware allows.
    pub(crate) limit: Option<Limit>,
    /// The experiment's remark.
    pub(crate) remark: Option<String>,
    /// When the machine was in another state.
    pub(crate) states: States,
}

/// The verdict on a case: whether this run determines the cost. It sees all pairs, excluded ones too, and the costs
/// of those that count.
pub(crate) fn verdict(check: &Check, observations: &[Observation], costs: &Costs, basis: &Basis) -> Verdict {
    if let Check::Failed(reason) = check {
        return Verdict::Failed(format!("check failed: {reason}"));
    }
    if costs.ns.as_ref().is_some_and(|ns| !ns.is_finite()) {
        return Verdict::Failed("both loops execute the same number of operations".to_owned());
    }
    let apart = observations.iter().filter(|o| o.excluded == Some(Disturbance::NotTogether)).count();
    if 2 * apart > observations.len() {
        return Verdict::NotTogether(summary(observations));
    }
    // What one thread does not get in a window, others do: the mean is the same.
    let (starved, of) = if basis.formula.window().is_some() { (0, 0) } else { starved_pairs(observations) };
    if starved > 0 && 2 * starved >= of {
        return Verdict::Noisy(
            "a thread usually completes no operation in a window, so the cost is at least the length of the \
             window"
                .to_owned(),
        );
    }
    if let Some(factor) = growth(observations) {
        return Verdict::NonAdditive(Growth { factor }.to_string());
    }
    match &costs.ns {
        Some(ns) if ns.count >= MIN_PAIRS as usize => match of_cost(ns, costs, basis) {
            Verdict::Resolved => {
                beyond_limit(costs, basis).unwrap_or_else(|| of_blocks(observations, basis.fewest_blocks))
            }
            Verdict::BelowResolution(_) if starved > 0 => Verdict::Noisy(
                "the cost has no upper bound, because a thread completed no operation in a \
                                window"
                    .to_owned(),
            ),
            other => other,
        },
        _ if observations.iter().all(|pair| pair.excluded.is_none()) => {
            Verdict::Noisy(format!("{} pairs are too few for an interval", observations.len()))
        }
        _ => Verdict::Interfered(summary(observations)),
    }
}

/// The median factor by which the loop grows from the first third of a measurement block to its last, if it grows in almost every
/// block. Each block begins anew. (It holds for none of the 9,700 cases of a standard run on a busy
/// H200 machine.)
fn growth(observations: &[Observation]) -> Option<f64> {
    const FEWEST_BLOCKS: usize = 10;
    const IN_MOST: f64 = 0.9;
    const FACTOR: f64 = 1.2;
    let mut blocks: BTreeMap<(u32, u32), Vec<f64>> = BTreeMap::new();
    for pair in observations.iter().filter(|pair| pair.excluded.is_none()) {
        blocks.entry((pair.process, pair.block)).or_default().push(pair.test.0 as f64);
    }
    // Single samples may differ by chance, and alike in every block.
    let factor_of = |ticks: &Vec<f64>| {
        let third = ticks.len().div_ceil(3);
        let (first, rest) = ticks.split_at(third);
        let (middle, last) = rest.split_at(rest.len().checked_sub(third)?);
        let [first, last] = [stats::median(first)?, stats::median(last)?];
        let is_between = stats::median(middle).is_none_or(|middle| first < middle && middle < last);
        Some(if is_between { last / first } else { 1.0 })
    };
    let factors: Vec<f64> = blocks.values().filter_map(factor_of).filter(|factor| factor.is_finite()).collect();
    let grown = factors.iter().filter(|factor| **factor > FACTOR).count();
    (factors.len() >= FEWEST_BLOCKS && grown as f64 >= IN_MOST * factors.len() as f64)
        .then(|| stats::median(&factors))?
}

/// A cost is certainly below a limit if its interval ends below this fraction of the limit. The margin allows for clocks
/// that differ.
const CERTAINLY_BELOW: f64 = 0.97;

/// The verdict on a narrow interval below what the hardware can do.
fn beyond_limit(costs: &Costs, basis: &Basis) -> Option<Verdict> {
    let Limit { least_cycles, name } = basis.limit.as_ref()?;
    let high = costs.cycles.as_ref()?.interval(Level::P95)?.high;
    (high < CERTAINLY_BELOW * least_cycles).then(|| {
        let found = format!(
            "at most {high:.2} cycles per operation, less than the {least_cycles:.2} that the \
                             hardware needs ({name})"
        );
        Verdict::NotTogether(format!(
            "{found}, so either the threads did not run at the same time or the loop hides part of the cost"
        ))
    })
}

/// The number of pairs that count and in which an actor completed no operation in its window, and the number that count.
fn starved_pairs(observations: &[Observation]) -> (usize, usize) {
    let counted = observations.iter().filter(|o| o.excluded.is_none());
    (counted.clone().filter(|o| o.is_starved).count(), counted.count())
}

/// Says how often an actor completed no operation in its window; `None` if never.
pub(crate) fn starved(observations: &[Observation]) -> Option<String> {
    let (starved, of) = starved_pairs(observations);
    let percent = 100.0 * starved as f64 / of as f64;
    (starved > 0).then(|| format!("in {percent:.1} % of the windows, some thread completed no operation"))
}

/// Threads are served unequally if the slowest pays this many times the mean.
const UNEQUAL: f64 = 1.5;

/// Says how unequally the threads of a window are served. Over longer windows the slowest comes nearer to the mean.
pub(crate) fn unequal_service(estimate: &Estimate, window: Duration) -> Option<String> {
    let (mean, slowest) = (estimate.ns.value(), estimate.slowest_ns.value());
    let window = humantime::format_duration(window);
    let slowest_in_digits = significant_digits(slowest);
    (mean > 0.0 && slowest > UNEQUAL * mean)
        .then(|| format!("served unequally: {slowest_in_digits} ns for the slowest thread in windows of {window}"))
}

/// Remarks that single operations, whose percentiles are shown next to the figure, belong to another state: their
/// median lies outside the figure's interval and the spread of its pairs.
pub(crate) fn single_operations(estimate: &Estimate, details: &[Detail]) -> Option<String> {
    let median = details.iter().find(|detail| detail.name == "p50_ns" && detail.actor.is_none())?.value;
    let known = [estimate.ns_within, estimate.ns_spread].into_iter().flatten();
    let is_outside = known.clone().count() > 0 && !known.clone().any(|interval| interval.contains(median));
    let digits = significant_digits(median);
    is_outside.then(|| {
        format!("single operations took a median of {digits} ns, so their percentiles belong to another state")
    })
}

/// Says by how much the costs of the whole class changed in the course of the run, without a change of state.
pub(crate) fn drift(drift: Option<f64>) -> Option<String> {
    drift.map(|drift| format!("all costs of its class drifted by {:.0} % during the run", 100.0 * drift))
}

/// The median actor and the mean may differ by this factor.
const MEDIAN_ALIKE: f64 = 1.5;

/// Says that a window serves its actors unequally, and names the figures; `None` where equal work and the median actor cost about
/// what the mean does.
pub(crate) fn unequal(estimate: &Estimate) -> Option<String> {
    let Estimate { ns, ns_within, median_ns, equal_work: Some(equal), .. } = estimate else { return None };
    let is_median_alike = (MEDIAN_ALIKE.recip()..MEDIAN_ALIKE).contains(&(median_ns.value() / ns.value()));
    let [mean, median, equal_ns] = [ns, median_ns, &equal.ns].map(|ns| significant_digits(ns.value()));
    (!is_median_alike || equal.differs_from(*ns, *ns_within)).then(|| {
        format!("threads are served unequally (mean {mean} ns, median thread {median} ns, equal work {equal_ns} ns)")
    })
}

/// Names the cost of the case in each state of the machine, except states with about the same cost: within its
/// interval, and closer than a state shifts a class. `None` if one state remains.
pub(crate) fn states(states: &[StateCost], within: Option<Interval>) -> Option<String> {
    let [first, others @ ..] = states else { return None };
    // States whose costs are written alike are the same.
    let is_alike = |ns: f64| significant_digits(ns) == significant_digits(first.ns);
    let is_same = |ns: f64| {
        (ns / first.ns).ln().abs() < LEAST_CHANGE && (is_alike(ns) || within.is_some_and(|within| within.contains(ns)))
    };
    let others: Vec<&StateCost> = others.iter().filter(|state| !is_same(state.ns)).collect();
    let percent = |state: &StateCost| 100.0 * state.share;
    let cost = |state: &StateCost| format!("{} ns for {:.0} %", significant_digits(state.ns), percent(state));
    let others: Vec<String> = others.into_iter().map(cost).collect();
    let count = if others.len() == 1 { "two states".to_owned() } else { format!("{} states", 1 + others.len()) };
    (!others.is_empty()).then(|| format!("{count}: {} of the run, {}", cost(first), others.join(", ")))
}

/// The largest fraction of measurement blocks that may have lost all their pairs to other processes.
const MOST_BLOCKS_LOST: f64 = 0.75;

/// The verdict on a narrow interval. The pairs of one block agree better than pairs of several blocks, so what other
/// processes left of a few blocks looks better than it is: with a busy process on each of 2 CPUs, 2 of 13 such figures were
/// off by a fifth and more. (Figures of threads that are alone on their cores leave out other pairs by design.)
///
/// A case that was interrupted before it had its fewest planned blocks does not show how blocks differ either: the first one
/// or two of 90 blocks gave the figure of all to a tenth for 56 to 92 % of the CPU cases (H200 and H100 machines).
fn of_blocks(observations: &[Observation], fewest: u32) -> Verdict {
    let blocks = lost_blocks(observations);
    if blocks.len() < fewest as usize {
        let taken = blocks.len();
        return Verdict::Noisy(format!("only {taken} of {fewest} required measurement blocks were taken"));
    }
    let lost = blocks.iter().filter(|is_lost| **is_lost).count();
    if lost as f64 <= MOST_BLOCKS_LOST * blocks.len() as f64 {
        return Verdict::Resolved;
    }
    let summary = summary(observations);
    Verdict::Interfered(format!("{summary}; {lost} of {} measurement blocks have no pair left", blocks.len()))
}

fn of_cost(ns: &Cost, costs: &Costs, basis: &Basis) -> Verdict {
    let (point, resolution) = (ns.point(), basis.formula.resolution_ns);
    let Some(interval) = ns.within(Level::P95, resolution) else {
        return Verdict::Noisy("too few pairs for an interval".to_owned());
    };
    if interval.contains(0.0) {
        return Verdict::BelowResolution(format!("at most {} ns", significant_digits(interval.high.max(resolution))));
    }
    let wide = ns.within(Level::P99, resolution).unwrap_or(interval);
    if wide.high < 0.0 {
        return Verdict::Overlapped(format!(
            "the loop with the operation takes {} ns less per operation than the loop without it, so \
             surrounding code hides its cost or runs faster next to it",
            significant_digits(-point)
        ));
    }
    let relative = interval.half_width() / point.abs();
    // One unit is enough: where the core's clock changes, nanoseconds change with it and cycles do not. The cycles must come
    // from the same pairs, or they show less than the nanoseconds do.
    let same_pairs = costs.cycles.as_ref().filter(|cycles| cycles.count == ns.count);
    let in_cycles =
        same_pairs.and_then(|cycles| Some(cycles.interval(Level::P95)?.half_width() / cycles.point().abs()));
    let narrower = in_cycles.filter(|width| width.is_finite()).map_or(relative, |width| width.min(relative));
    if narrower > basis.noisy_above || wide.contains(0.0) {
        let percent = relative * 100.0;
        let pairs = ns.count;
        return Verdict::Noisy(format!(
            "within the run, the 95 % interval was still ±{percent:.0} % after {pairs} pairs"
        ));
    }
    Verdict::Resolved
}

/// The verdict on a case that could not be measured.
pub(crate) fn of_error(error: ExperimentError) -> Verdict {
    match error {
        ExperimentError::TimedOut(_) => Verdict::TimedOut(error.to_string()),
        ExperimentError::Interfered(reason) | ExperimentError::Prevented(reason) => Verdict::Interfered(reason),
        ExperimentError::Unsupported(reason) => Verdict::Skipped(reason),
        ExperimentError::Elided(reason) => Verdict::Elided(reason),
        ExperimentError::Failed(reason) => Verdict::Failed(reason),
    }
}

// Which pairs are excluded from an estimate, and why. The causes are seen outside the measured value; the value itself
// never decides.

/// Excludes the pairs whose clock differs from the usual one by more than `tolerance` (relative). A clock that changed
/// between two pairs shows in neither of their differences, so the pair cannot show it itself.
pub(crate) fn exclude_other_clocks(observations: &mut [Observation], tolerance: Option<f64>) {
    let Some((usual, tolerance)) = usual_clock(observations.iter()).zip(tolerance) else { return };
    let is_other = |clock: Hertz| (clock.value() / usual.value() - 1.0).abs() > tolerance;
    for observation in observations.iter_mut().filter(|o| o.clock.is_some_and(is_other)) {
        observation.excluded.get_or_insert(Disturbance::ClockChange);
    }
}

/// The median clock of these pairs.
pub(crate) fn usual_clock<'a>(observations: impl Iterator<Item = &'a Observation>) -> Option<Hertz> {
    stats::median(&observations.filter_map(|o| o.clock).map(Hertz::value).collect::<Vec<_>>()).map(Hertz)
}

/// Whether a measurement block was lost to other processes, for each block: no pair counts, and one at least lost its CPU.
fn lost_blocks(observations: &[Observation]) -> Vec<bool> {
    let mut pairs: BTreeMap<u32, Vec<Option<Disturbance>>> = BTreeMap::new();
    for observation in observations {
        pairs.entry(observation.block).or_default().push(observation.excluded);
    }
    let is_of_others = |cause| matches!(cause, Disturbance::InvoluntarySwitch | Disturbance::Migration);
    let is_lost = |causes: &Vec<Option<Disturbance>>| {
        causes.iter().all(Option::is_some) && causes.iter().copied().flatten().any(is_of_others)
    };
    pairs.values().map(is_lost).collect()
}

/// How many pairs were excluded, and why.
fn summary(observations: &[Observation]) -> String {
    let mut causes: Vec<String> =
        observations.iter().filter_map(|o| o.excluded).map(|cause| cause.to_string()).collect();
    let count = causes.len();
    causes.sort();
    causes.dedup();
    format!("{count} of {} pairs excluded ({})", observations.len(), causes.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeExperiment;
    use crate::model::case::Population;
    use crate::units::{Cycles, Nanoseconds};

    fn estimate(ns: Interval, cycles: Interval) -> Estimate {
        let middle = Nanoseconds(10.0);
        Estimate {
            ns: middle,
            ns_within: Some(ns),
            cycles: Some(Cycles(20.0)),
            cycles_within: Some(cycles),
            ns_spread: None,
            fastest_ns: middle,
            median_ns: middle,
            slowest_ns: middle,
            rate_ns: None,
            population: Population::All,
            strata: None,
            equal_work: None,
        }
    }

    fn basis() -> Basis {
        let formula = CostFormula::new(&FakeExperiment::new(5.0, 1), 100);
        let (clock_tolerance, limit, remark, states) = (None, None, None, States::default());
        Basis { formula, noisy_above: 0.05, fewest_blocks: 1, clock_tolerance, limit, remark, states }
    }

    /// The verdict on pairs of these costs in nanoseconds and in cycles, five in each block.
    fn of(pairs: impl Iterator<Item = (f64, f64)>) -> (Verdict, Cost) {
        let pair = |(number, (ns, cycles)): (u32, (f64, f64))| Observation {
            block: 1 + number / 5,
            ns,
            cycles: Some(cycles),
            ..Observation::example()
        };
        let pairs: Vec<Observation> = (0..).zip(pairs).map(pair).collect();
        let costs = Costs::of(&pairs, &States::default());
        (verdict(&Check::Ok, &pairs, &costs, &basis()), costs.ns.unwrap())
    }

    #[test]
    fn a_case_has_the_fewest_pairs_and_is_narrow_in_one_unit() {
        let few = |count: u64| of((0..count).map(|_| (10.0, 20.0))).0.name();
        assert_eq!([MIN_PAIRS - 1, MIN_PAIRS].map(few), ["Noisy", "Resolved"]);
        let apart = |number: u64| if number.is_multiple_of(2) { 1.0 } else { -1.0 };
        let steady = (0..60).map(|number| (10.0 + 3.0 * apart(number / 2), 20.0 + 0.2 * apart(number)));
        assert_eq!(of(steady).0, Verdict::Resolved, "cycles are narrow where the clock changes");
        let neither = (0..60).map(|number| (10.0 + 3.0 * apart(number / 2), 20.0 + 6.0 * apart(number / 2)));
        assert_eq!(of(neither).0.name(), "Noisy");
    }

    /// State that grows has no cost of one operation, whatever the interval; a block of noise or a slow first sample is no growth.
    #[test]
    fn a_loop_that_grows_from_sample_to_sample_is_not_additive() {
        let of = |ticks: fn(u32, u64) -> u64| {
            let blocks = 1..=12;
            let pair = |block: u32, pair: u64| {
                let test = crate::Ticks(ticks(block, pair));
                Observation { pair, block, test, ..Observation::example() }
            };
            let pairs: Vec<Observation> = blocks.flat_map(|block| (0..3).map(move |at| pair(block, at))).collect();
            verdict(&Check::Ok, &pairs, &Costs::of(&pairs, &States::default()), &basis())
        };
        let grown = of(|_, pair| 100 + 50 * pair);
        assert_eq!(grown.growth(), Some(Growth { factor: 2.0 }), "{grown:?}");
        for steady in [
            of(|_, _| 150),
            of(|_, pair| 200 - 50 * pair),
            of(|block, pair| if block % 4 == 0 { 200 } else { 100 + 50 * pair }),
            of(|_, pair| 100 + 5 * pair),
            // The same order of long and short samples in each block.
            of(|_, pair| [100, 300, 200][pair as usize % 3]),
            // A machine that becomes slower during the run.
            of(|block, _| 100 * u64::from(block)),
        ] {
            assert_eq!(steady, Verdict::Resolved);
        }
    }

    #[test]
    fn a_cost_that_may_be_zero_is_not_resolved_by_narrow_cycles() {
        let basis = Basis { formula: CostFormula::new(&FakeExperiment::new(5.0, 1), 1), ..basis() };
        let resolution = basis.formula.resolution_ns;
        let pairs = vec![Observation { ns: -0.25 * resolution, ..Observation::example() }; 40];
        let below = verdict(&Check::Ok, &pairs, &Costs::of(&pairs, &States::default()), &basis);
        assert_eq!(below, Verdict::BelowResolution(format!("at most {} ns", significant_digits(resolution))));
        // Certainly above zero at 95 %, not at 99 %.
        let shifted = |step: u32| {
            let wave = |number: u32| f64::from(number * 37 % 60) - 29.5;
            of((0..60).map(move |number| (0.25 * f64::from(step) + wave(number), 20.0)))
        };
        let (verdict, _) = (1..120)
            .map(shifted)
            .find(|(_, ns)| {
                let [usual, wide] = [Level::P95, Level::P99].map(|level| ns.within(level, resolution).unwrap());
                !usual.contains(0.0) && wide.contains(0.0)
            })
            .unwrap();
        assert_eq!(verdict.name(), "Noisy");
    }

    #[test]
    fn more_than_half_of_the_pairs_have_to_be_together() {
        let basis = basis();
        let verdict = |apart: u64| {
            let pair = |number: u64| {
                let excluded = (number % 40 < apart).then_some(Disturbance::NotTogether);
                Observation { block: 1 + number as u32 / 5, excluded, ..Observation::example() }
            };
            let pairs: Vec<Observation> = (0..40).map(pair).collect();
            verdict(&Check::Ok, &pairs, &Costs::of(&pairs, &States::default()), &basis).name()
        };
        assert_eq!([20, 21].map(verdict), ["Resolved", "NotTogether"]);
    }

    /// Percentiles of single operations are next to the figure.
    #[test]
    fn single_operations_of_another_state_are_named() {
        let figure = Interval { low: 75.0, high: 80.0 };
        let estimate = Estimate { ns_spread: Some(Interval { low: 66.0, high: 104.0 }), ..estimate(figure, figure) };
        let of = |median: f64| single_operations(&estimate, &[Detail::of_case("p50_ns", median)]);
        assert_eq!([66.0, 77.5, 104.0].map(of), [None, None, None]);
        assert!(of(13.8).is_some_and(|text| text.contains("took a median of 13.8 ns,")));
        assert!(of(4540.0).is_some());
        assert_eq!(single_operations(&estimate, &[Detail::of_actor("p50_ns", 0, 13.8)]), None);
        assert_eq!(single_operations(&estimate, &[]), None);
    }

    /// Where windows of the baseline starve a thread, differences are far below zero.
    #[test]
    fn what_a_starved_thread_costs_has_no_bound() {
        let basis = basis();
        let verdict = |starves: bool| {
            let pair = |number: u32| {
                let ns = [20.0, -1.5e6, 22.0, -1.3e6, 21.0, -1.4e6, 19.0][number as usize % 7];
                Observation { ns, block: 1 + number, is_starved: starves && ns.abs() > 1e3, ..Observation::example() }
            };
            let observations: Vec<Observation> = (0..35).map(pair).collect();
            verdict(&Check::Ok, &observations, &Costs::of(&observations, &States::default()), &basis)
        };
        assert_eq!(verdict(false).name(), "BelowResolution");
        assert_eq!(verdict(true).name(), "Noisy");
    }
}
