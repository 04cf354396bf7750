//! Pairs: in which order their two samples are taken, and what they say about the cost.

use crate::engine::Estimate;
use crate::engine::experiment::{Disturbance, Experiment, Ruler, Sample, Shot, Side};
use crate::stats::{self, Interval, Level, Ranked};
use crate::model::units::{Cycles, Hertz, Nanoseconds, Ticks};

/// One pair, as it stands in `samples.csv`.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// Number of the pair, from 0.
    pub pair: u64,
    /// Whether the baseline ran before the test.
    pub baseline_first: bool,
    /// The slowest actor of the baseline.
    pub baseline: Ticks,
    /// The slowest actor of the test.
    pub test: Ticks,
    /// Cost of one operation in nanoseconds, of either sign.
    pub ns: f64,
    /// The same in cycles.
    pub cycles: Option<f64>,
    /// The same of the fastest actors, in nanoseconds.
    pub fastest_ns: f64,
    /// The same of the actors in the middle, in nanoseconds.
    pub median_ns: f64,
    /// Clock of the core or multiprocessor during the pair.
    pub clock: Option<Hertz>,
    /// Whether someone else used the core of an actor meanwhile.
    pub busy_neighbour: bool,
    /// The cause for which this pair does not count, if there was one.
    pub set_aside: Option<Disturbance>,
}

/// The random order of the shots: in each pair, a coin decides which side goes first.
///
/// Whatever the noise is, a drift, a wave, a resonance with the loop itself, it is then added to the difference of a
/// pair as often as it is subtracted, independently from pair to pair. A pattern (ABBA
/// cancels a linear drift) keeps step with some wave: with a period of four samples, simulated intervals around its
/// estimates cover the truth in only 63 to 87 % of runs, although a coin chose between ABBA and BAAB.
pub(crate) struct Order {
    random: fastrand::Rng,
    iterations: u64,
    next_pair: u64,
}

impl Order {
    /// The order of the pairs from number `first_pair` on.
    pub(crate) fn new(seed: u64, iterations: u64, first_pair: u64) -> Self {
        // The coin of a later visit is not that of the first one.
        let random = fastrand::Rng::with_seed(seed.wrapping_add(first_pair));
        Self { random, iterations, next_pair: first_pair }
    }

    /// The shots of the next `pairs` pairs, two by two.
    pub(crate) fn shots(&mut self, pairs: u64) -> Vec<Shot> {
        (0..pairs).flat_map(|_| self.next_pair()).collect()
    }

    fn next_pair(&mut self) -> [Shot; 2] {
        let first = if self.random.bool() { Side::Baseline } else { Side::Test };
        let pair = self.next_pair;
        self.next_pair += 1;
        [first, first.other()].map(|side| Shot { side, iterations: self.iterations, pair })
    }
}

/// cost = (t_test - t_baseline) / (operations_test - operations_baseline)
pub(crate) struct Costing {
    /// The denominator, per actor.
    operations: f64,
    /// The cost, in ticks, that one step of the clock amounts to.
    pub(crate) resolution: f64,
    ns_per_tick: f64,
}

impl Costing {
    pub(crate) fn new(experiment: &dyn Experiment, iterations: u64) -> Self {
        let Ruler { frequency, resolution, .. } = experiment.ruler();
        let count = |side| experiment.operations(side, iterations) as f64;
        let operations = count(Side::Test) - count(Side::Baseline);
        Self { operations, resolution: resolution.0 as f64 / operations.abs(), ns_per_tick: 1e9 / frequency.value() }
    }

    /// The cost, in nanoseconds, that one step of the clock amounts to.
    pub(crate) fn resolution_ns(&self) -> f64 {
        self.resolution * self.ns_per_tick
    }

    /// What the two samples of a pair say.
    pub(crate) fn observe(&self, shots: &[Shot], samples: &[Sample]) -> Observation {
        let baseline_first = shots[0].side == Side::Baseline;
        let (baseline, test) = if baseline_first { (&samples[0], &samples[1]) } else { (&samples[1], &samples[0]) };
        let ns_per_tick = f64::midpoint(baseline.ns_per_tick, test.ns_per_tick);
        let ticks = test.slowest.minus(baseline.slowest) / self.operations;
        let cycles_per_tick =
            baseline.cycles_per_tick.zip(test.cycles_per_tick).map(|(baseline, test)| f64::midpoint(baseline, test));
        let clock = cycles_per_tick.map(|cycles| cycles / ns_per_tick * 1e9).filter(|hertz| hertz.is_finite());
        Observation {
            pair: shots[0].pair,
            baseline_first,
            baseline: baseline.slowest,
            test: test.slowest,
            ns: ticks * ns_per_tick,
            cycles: cycles_per_tick.map(|cycles| ticks * cycles),
            fastest_ns: test.fastest.minus(baseline.fastest) / self.operations * ns_per_tick,
            median_ns: test.median.minus(baseline.median) / self.operations * ns_per_tick,
            clock: clock.map(Hertz),
            busy_neighbour: baseline.busy_neighbour || test.busy_neighbour,
            set_aside: baseline.disturbance.clone().or_else(|| test.disturbance.clone()),
        }
    }

    /// Point and interval in ticks, for the stopping rule.
    pub(crate) fn ticks_estimate(&self, observations: &[Observation]) -> Option<(f64, Interval)> {
        let ticks: Vec<f64> = observations
            .iter()
            .filter(|o| o.set_aside.is_none())
            .map(|o| o.test.minus(o.baseline) / self.operations)
            .collect();
        let ticks = Ranked::of(&ticks);
        let point = ticks.median()?;
        Some((point, ticks.interval(Level::P99)?.at_least(point, self.resolution)))
    }

    /// The cost that the observations tell.
    pub(crate) fn estimate(&self, used: &[&Observation], costs: &Costs) -> Option<Estimate> {
        let middle = |value: fn(&Observation) -> f64| stats::median(&used.iter().map(|o| value(o)).collect::<Vec<_>>());
        let point = costs.ns.median().filter(|point| point.is_finite())?;
        let interval = |costs: &Ranked, margin| Some(costs.interval(Level::P95)?.at_least(costs.median()?, margin));
        let cycles = costs.cycles.as_ref();
        let cycles_point = cycles.and_then(Ranked::median);
        // One step of the clock in cycles, by the ratio of the two estimates.
        let cycles_margin = cycles_point.map_or(0.0, |cycles| (self.resolution_ns() * cycles / point).abs());
        Some(Estimate {
            ns: Nanoseconds(point),
            ns_interval: interval(&costs.ns, self.resolution_ns()),
            cycles: cycles_point.map(Cycles),
            cycles_interval: cycles
                .and_then(|cycles| interval(cycles, if cycles_margin.is_finite() { cycles_margin } else { 0.0 })),
            fastest_ns: Nanoseconds(middle(|o| o.fastest_ns)?),
            median_ns: Nanoseconds(middle(|o| o.median_ns)?),
        })
    }
}

/// The costs that pairs tell, ranked.
pub(crate) struct Costs {
    pub(crate) ns: Ranked,
    /// In cycles, if most pairs tell them: the clock of some may have been impossible to tell.
    pub(crate) cycles: Option<Ranked>,
}

impl Costs {
    pub(crate) fn of(used: &[&Observation]) -> Self {
        let cycles: Vec<f64> = used.iter().filter_map(|o| o.cycles).collect();
        Self {
            ns: Ranked::of(&used.iter().map(|o| o.ns).collect::<Vec<_>>()),
            cycles: (2 * cycles.len() > used.len()).then(|| Ranked::of(&cycles)),
        }
    }
}

/// The clock that most pairs had.
pub(crate) fn usual_clock(observations: &[Observation]) -> Option<Hertz> {
    let clocks: Vec<f64> = observations.iter().filter_map(|o| o.clock).map(Hertz::value).collect();
    stats::median(&clocks).map(Hertz)
}

/// Sets aside the pairs whose clock is not the one that most pairs had. It is seen outside of the costs: a clock that
/// changed between two pairs is in neither of their differences.
pub(crate) fn set_aside_other_clocks(observations: &mut [Observation], usual: Hertz, tolerance: f64) {
    for observation in observations {
        if observation.clock.is_some_and(|clock| (clock.value() / usual.value() - 1.0).abs() > tolerance) {
            observation.set_aside.get_or_insert(Disturbance::ClockChange);
        }
    }
}

/// Sets aside the pairs in whose course someone else used the core of an actor, if enough others are left: a dozen, and a
/// twentieth of all where there is one actor, whose cost they say alone. What several actors cost each other depends far more
/// on where they are than on who is beside them, and few moments tell less of that than many: half of all must be left.
/// Where the neighbours are never at rest all count; the engine judges what that is worth.
pub(crate) fn set_aside_neighbours(observations: &mut [Observation], has_one_actor: bool) {
    const ENOUGH: usize = 12;
    let share = if has_one_actor { 20 } else { 2 };
    for observation in observations.iter_mut().filter(|o| o.set_aside == Some(Disturbance::BusyNeighbour)) {
        observation.set_aside = None;
    }
    let undisturbed = observations.iter().filter(|o| o.set_aside.is_none()).count();
    let alone = observations.iter().filter(|o| o.set_aside.is_none() && !o.busy_neighbour).count();
    if alone >= ENOUGH && alone * share >= undisturbed {
        for observation in observations.iter_mut().filter(|o| o.busy_neighbour) {
            observation.set_aside.get_or_insert(Disturbance::BusyNeighbour);
        }
    }
}

/// The part of the pairs that count, if more than a tenth, in whose course someone else used the core of an actor.
pub(crate) fn beside_neighbours(observations: &[Observation]) -> Option<f64> {
    let used = observations.iter().filter(|o| o.set_aside.is_none());
    let (count, beside) =
        used.fold((0_u64, 0_u64), |(count, beside), o| (count + 1, beside + u64::from(o.busy_neighbour)));
    Some(beside as f64 / count as f64).filter(|part| *part > 0.1)
}

/// How many pairs were set aside, and why.
pub(crate) fn interference(observations: &[Observation]) -> String {
    let mut causes: Vec<String> =
        observations.iter().filter_map(|o| o.set_aside.as_ref()).map(ToString::to_string).collect();
    let count = causes.len();
    causes.sort();
    causes.dedup();
    format!("{count} of {} pairs set aside: {}", observations.len(), causes.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observation(busy_neighbour: bool) -> Observation {
        Observation {
            pair: 0,
            baseline_first: true,
            baseline: Ticks(100),
            test: Ticks(200),
            ns: 1.0,
            cycles: None,
            fastest_ns: 1.0,
            median_ns: 1.0,
            clock: None,
            busy_neighbour,
            set_aside: None,
        }
    }

    fn aside(observations: &[Observation]) -> usize {
        observations.iter().filter(|o| o.set_aside == Some(Disturbance::BusyNeighbour)).count()
    }

    #[test]
    fn neighbours_do_not_count_where_there_is_enough_without_them() {
        let of = |alone: usize, beside: usize| -> Vec<Observation> {
            (0..alone + beside).map(|index| observation(index >= alone)).collect()
        };
        let mut few = of(11, 99);
        set_aside_neighbours(&mut few, true);
        assert_eq!((aside(&few), beside_neighbours(&few)), (0, Some(0.9)), "too few without");
        few.push(observation(false));
        set_aside_neighbours(&mut few, true);
        assert_eq!((aside(&few), beside_neighbours(&few)), (99, None));
        // What is enough at one time may be a small part later on: then all count again.
        few.extend(of(0, 150));
        set_aside_neighbours(&mut few, true);
        assert_eq!(aside(&few), 0);
        // Of several actors, half of the pairs must be left.
        let (mut half, mut less) = (of(50, 50), of(49, 51));
        set_aside_neighbours(&mut half, false);
        set_aside_neighbours(&mut less, false);
        assert_eq!((aside(&half), aside(&less)), (50, 0));
        assert_eq!(beside_neighbours(&of(9, 1)), None, "seldom is never");
    }

    #[test]
    fn another_cause_stays() {
        let mut observations: Vec<Observation> = (0..60).map(|index| observation(index < 20)).collect();
        observations[0].set_aside = Some(Disturbance::Migration);
        observations[59].set_aside = Some(Disturbance::InvoluntarySwitch);
        set_aside_neighbours(&mut observations, true);
        assert_eq!(aside(&observations), 19);
        assert_eq!(observations[0].set_aside, Some(Disturbance::Migration));
        assert!(observations[20..59].iter().all(|o| o.set_aside.is_none()));
    }
}
