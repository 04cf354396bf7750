//! From two samples to a cost: the one formula, and the estimate over all pairs.

use crate::engine::experiment::{Experiment, Ruler};
use crate::model::estimate::Estimate;
use crate::model::observation::Observation;
use crate::model::sample::{Sample, Shot, Side};
use crate::model::units::{Cycles, Hertz, Nanoseconds};
use crate::stats::{self, Interval, Level, Ranked};

/// cost = (t_test - t_baseline) / (operations_test - operations_baseline)
pub(crate) struct CostFormula {
    /// The denominator, per actor.
    operations: f64,
    /// The cost, in ticks, that one step of the clock amounts to.
    pub(crate) resolution: f64,
    ns_per_tick: f64,
}

impl CostFormula {
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

    /// The observation that the two samples of a pair give.
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
            smt_interference: baseline.smt_interference || test.smt_interference,
            excluded: baseline.disturbance.clone().or_else(|| test.disturbance.clone()),
        }
    }

    /// Point and interval in ticks, for the stopping rule.
    pub(crate) fn ticks_estimate(&self, observations: &[Observation]) -> Option<(f64, Interval)> {
        let ticks: Vec<f64> = observations
            .iter()
            .filter(|o| o.excluded.is_none())
            .map(|o| o.test.minus(o.baseline) / self.operations)
            .collect();
        let ticks = Ranked::of(&ticks);
        let point = ticks.median()?;
        Some((point, ticks.interval(Level::P99)?.at_least(point, self.resolution)))
    }

    /// The estimate from the observations that count.
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

/// The costs of the pairs that count, ranked.
pub(crate) struct Costs {
    pub(crate) ns: Ranked,
    /// In cycles, if most pairs have them: the clock of some pairs may be unknown.
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
