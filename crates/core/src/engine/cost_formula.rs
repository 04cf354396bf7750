//! From two samples to a cost: the one formula, and the estimate over all pairs.

use std::time::Duration;

use crate::engine::population::{self, Cost, ProcessCost, States, mean_over_processes};
use crate::model::estimate::{EqualWork, Strata};
use crate::model::sample::ActorTime;
use crate::stats;
use crate::{
    Actor, Cycles, Disturbance, Estimate, Experiment, Hertz, Interval, Level, Nanoseconds, Observation, Population,
    Protocol, Ruler, Sample, Shot, Side,
};

/// cost = (t_test - t_baseline) / (operations_test - operations_baseline)
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CostFormula {
    /// The denominator, per actor.
    operations: f64,
    /// The cost, in nanoseconds, that one step of the clock amounts to.
    pub(crate) resolution_ns: f64,
    pub(crate) ns_per_tick: f64,
    /// Whose cost the figure is, and the samples it covers.
    protocol: Protocol,
}

impl CostFormula {
    pub(crate) fn new(experiment: &dyn Experiment, iterations: u64) -> Self {
        let Ruler { frequency, resolution, .. } = experiment.ruler();
        let count = |side| experiment.operations(side, iterations) as f64;
        let operations = count(Side::Test) - count(Side::Baseline);
        let ns_per_tick = 1e9 / frequency.value();
        let resolution_ns = resolution.0 as f64 / operations.abs() * ns_per_tick;
        Self { operations, resolution_ns, ns_per_tick, protocol: experiment.protocol() }
    }

    /// The length of the window in which the actors' operations are counted, if there is one.
    pub(crate) const fn counted_for(&self) -> Option<Duration> {
        self.protocol.counted_for
    }

    /// [`Self::counted_for`], only where the mean of the actors counts.
    pub(crate) fn window(&self) -> Option<Duration> {
        self.counted_for().filter(|_| self.protocol.actor == Actor::Mean)
    }

    /// This formula for the slowest actor, whatever else its core does.
    pub(crate) fn of_slowest(self) -> Self {
        let protocol = Protocol { actor: Actor::Slowest, population: Population::All, ..self.protocol };
        Self { protocol, ..self }
    }

    /// The observation that the two samples of a pair give.
    pub(crate) fn observe(&self, shots: &[Shot], samples: &[Sample], block: u32) -> Observation {
        let baseline_first = shots[0].side == Side::Baseline;
        let (baseline, test) = if baseline_first { (&samples[0], &samples[1]) } else { (&samples[1], &samples[0]) };
        let ns_per_tick = f64::midpoint(baseline.ns_per_tick, test.ns_per_tick);
        let difference = |of_test: f64, of_baseline: f64| (of_test - of_baseline) / self.operations * ns_per_tick;
        let ns = |actor| difference(test.ticks_of(actor), baseline.ticks_of(actor));
        let all_ns = ns(self.protocol.actor);
        let strata = self.strata(all_ns, ns_per_tick, baseline, test);
        let of_population = population::of_population(self.protocol.population, all_ns, strata.as_ref());
        let cycles_per_tick =
            baseline.cycles_per_tick.zip(test.cycles_per_tick).map(|(baseline, test)| f64::midpoint(baseline, test));
        let clock = cycles_per_tick.map(|cycles| cycles / ns_per_tick * 1e9).filter(|hertz| hertz.is_finite());
        let disturbance = baseline.disturbance.or(test.disturbance);
        let cost_ns = of_population.unwrap_or(all_ns);
        // Where the loops are served in different orders, the difference of the fastest actors is not the smallest one.
        let fastest_ns = difference(test.fastest.0 as f64, baseline.fastest.0 as f64);
        let mut in_order = [fastest_ns, ns(Actor::Median), ns(Actor::Slowest)];
        in_order.sort_unstable_by(f64::total_cmp);
        let [fastest_ns, median_ns, slowest_ns] = in_order;
        Observation {
            pair: shots[0].pair,
            block,
            process: 0,
            baseline_first,
            baseline: baseline.slowest,
            test: test.slowest,
            ns: cost_ns,
            cycles: cycles_per_tick.map(|cycles| cost_ns / ns_per_tick * cycles),
            fastest_ns,
            median_ns,
            slowest_ns,
            mean_rate_ns: ns(Actor::Mean),
            strata,
            clock: clock.map(Hertz),
            is_starved: baseline.is_starved || test.is_starved,
            excluded: disturbance.or_else(|| of_population.is_none().then_some(Disturbance::SmtInterference)),
        }
    }

    /// What a pair says about actors with and without SMT interference. Unless the median actor counts, a pair belongs
    /// to the one population or the other as a whole.
    fn strata(&self, all_ns: f64, ns_per_tick: f64, baseline: &Sample, test: &Sample) -> Option<Strata> {
        let of_actor = |(baseline, test): (&ActorTime, &ActorTime)| {
            let cost = test.elapsed.minus(baseline.elapsed) / self.operations * ns_per_tick;
            (baseline.smt_interference || test.smt_interference, cost)
        };
        let actors: Vec<(bool, f64)> = baseline.actors.iter().zip(&test.actors).map(of_actor).collect();
        let beside = actors.iter().filter(|(is_beside, _)| *is_beside).count();
        if actors.is_empty() {
            return None;
        }
        if self.protocol.actor != Actor::Median {
            return Some(Strata::of_whole(all_ns, f64::from(u8::from(beside > 0))));
        }
        let median_of = |population| {
            let costs = actors.iter().filter(|(is_beside, _)| *is_beside == population).map(|(_, cost)| *cost);
            stats::median(&costs.collect::<Vec<_>>())
        };
        let beside_share = beside as f64 / actors.len() as f64;
        Some(Strata { alone_ns: median_of(false), beside_ns: median_of(true), beside_share })
    }

    /// The estimate from the observations that count.
    pub(crate) fn estimate(&self, observations: &[Observation], costs: &Costs) -> Option<Estimate> {
        let counted: Vec<&Observation> = observations.iter().filter(|o| o.excluded.is_none()).collect();
        let values = |value: fn(&Observation) -> f64| counted.iter().map(|o| value(o)).collect::<Vec<_>>();
        let middle = |value: fn(&Observation) -> f64| stats::median(&values(value)).map(Nanoseconds);
        let point = Some(costs.ns.as_ref()?.point()).filter(|point| point.is_finite())?;
        let cycles = costs.cycles.as_ref().map(Cost::point);
        // One step of the clock in cycles, by the ratio of the two estimates.
        let cycles_margin = cycles.map_or(0.0, |cycles| (self.resolution_ns * cycles / point).abs());
        let ns_within = costs.ns.as_ref()?.within(Level::P95, self.resolution_ns);
        let cycles_margin = if cycles_margin.is_finite() { cycles_margin } else { 0.0 };
        let cycles_within = costs.cycles.as_ref().and_then(|cost| cost.within(Level::P95, cycles_margin));
        let ns = values(|o| o.ns);
        let strata = population::strata_of(observations);
        let spread = stats::percentile(&ns, 0.05).zip(stats::percentile(&ns, 0.95));
        let Protocol { actor, in_window, actors_run_together, population, .. } = self.protocol;
        let rate_ns = match actor {
            Actor::Slowest if !in_window => Nanoseconds(point),
            _ => middle(|o| o.mean_rate_ns)?,
        };
        Some(Estimate {
            ns: Nanoseconds(point),
            ns_within,
            cycles: cycles.map(Cycles),
            cycles_within,
            ns_spread: spread.map(|(low, high)| Interval { low, high }),
            fastest_ns: middle(|o| o.fastest_ns)?,
            median_ns: middle(|o| o.median_ns)?,
            slowest_ns: middle(|o| o.slowest_ns)?,
            rate_ns: Some(rate_ns).filter(|_| actors_run_together),
            population: if strata.is_some() { population } else { Population::All },
            strata,
            equal_work: None,
        })
    }
}

impl Estimate {
    /// The clock that relates the cost in cycles to the cost in nanoseconds; `None` unless both are above zero.
    pub(crate) fn clock(&self) -> Option<Hertz> {
        let (ns, cycles) = (self.ns.value(), self.cycles?.value());
        (ns > 0.0 && cycles > 0.0).then(|| Hertz(cycles / ns * 1e9))
    }

    /// Sets the cost to the mean over processes, where several measured the case. What the processes have in common with
    /// other cases then cancels between two runs; it would not between two medians.
    pub(crate) fn point_at_processes(&mut self, processes: &[ProcessCost], shares_nothing: bool) {
        let at = |interval: Option<Interval>, point: f64| interval.map(|interval| interval.at_least(point, 0.0));
        if let Some(ns) = mean_over_processes(processes, shares_nothing, |cost| Some(cost.ns)) {
            let of_pairs = std::mem::replace(&mut self.ns, Nanoseconds(ns)).value();
            self.ns_within = at(self.ns_within, ns);
            self.rate_ns = self.rate_ns.map(|rate| Nanoseconds(rate.value() * ns / of_pairs));
            let cycles = mean_over_processes(processes, shares_nothing, |cost| cost.cycles);
            if let Some((_, cycles)) = self.cycles.zip(cycles) {
                (self.cycles, self.cycles_within) = (Some(Cycles(cycles)), at(self.cycles_within, cycles));
            }
        }
    }
}

/// The costs over the pairs that count, in both units.
pub(crate) struct Costs {
    pub(crate) ns: Option<Cost>,
    /// In cycles, if most pairs have them: the clock of some pairs may be unknown.
    pub(crate) cycles: Option<Cost>,
}

impl Costs {
    /// Computes the costs relative to what all cases of a class have in common in `states`, which is quoted once for all of
    /// them.
    pub(crate) fn of(observations: &[Observation], states: &States) -> Self {
        let counted: Vec<&Observation> = observations.iter().filter(|o| o.excluded.is_none()).collect();
        let ns = Cost::of(&counted, |o| Some(o.ns / states.shared_in(o.block)));
        let in_cycles = |o: &Observation| if states.is_clock { 1.0 } else { states.shared_in(o.block) };
        let cycles =
            Cost::of(&counted, |o| Some(o.cycles? / in_cycles(o))).filter(|cycles| 2 * cycles.count > counted.len());
        Self { ns, cycles }
    }

    /// Half the width of the interval in nanoseconds, relative to the cost; infinite without an interval.
    pub(crate) fn width(&self) -> f64 {
        let relative = |ns: &Cost| Some(ns.interval(Level::P95)?.half_width() / ns.point().abs());
        self.ns.as_ref().and_then(relative).unwrap_or(f64::INFINITY)
    }
}

/// The cost of equal work over the pairs of all blocks; `None` if they are too few for an interval, or if it is not above
/// zero.
pub(super) fn of_equal_work(observations: &[Observation]) -> Option<EqualWork> {
    let Costs { ns, cycles } = Costs::of(observations, &States::default());
    let ns = ns?;
    let within = ns.interval(Level::P95).filter(|interval| interval.low > 0.0)?;
    Some(EqualWork { ns: Nanoseconds(ns.point()), within, cycles: cycles.as_ref().map(Cost::point).map(Cycles) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeExperiment;

    fn pair(number: u64, block: u32, factor: f64, of_cycles: f64) -> Observation {
        Observation { pair: number, block, ns: 10.0 * factor, cycles: Some(20.0 * of_cycles), ..Observation::example() }
    }

    #[test]
    fn what_a_class_has_in_common_is_taken_off() {
        let shared = [(1, 1.25), (2, 0.8), (3, 1.1)];
        let of = |is_clock: bool| {
            let states = States { shared: shared.into(), is_clock, ..States::default() };
            let in_cycles = |factor| if is_clock { 1.0 } else { factor };
            let pairs = (0..30).map(|number| {
                let (block, factor) = shared[number as usize % 3];
                pair(number, block, factor, in_cycles(factor))
            });
            let costs = Costs::of(&pairs.collect::<Vec<_>>(), &states);
            [costs.ns.unwrap().point(), costs.cycles.unwrap().point()]
        };
        for is_clock in [false, true] {
            let [ns, cycles] = of(is_clock);
            assert!((ns - 10.0).abs() < 1e-9 && (cycles - 20.0).abs() < 1e-9, "{is_clock}: {ns} ns, {cycles} cycles");
        }
    }

    /// Pairs that agree to the last digit are as certain as one step of the clock, which is two cycles for each nanosecond.
    #[test]
    fn cycles_are_as_uncertain_as_a_step_of_the_clock() {
        let formula = CostFormula::new(&FakeExperiment::new(5.0, 1), 100);
        let pairs: Vec<Observation> = (0..40).map(|number| pair(number, 1 + number as u32 / 5, 1.0, 1.0)).collect();
        let estimate = formula.estimate(&pairs, &Costs::of(&pairs, &States::default())).unwrap();
        let [ns, cycles] = [estimate.ns_within, estimate.cycles_within].map(|within| within.unwrap().half_width());
        assert!((ns / formula.resolution_ns - 1.0).abs() < 1e-9, "{ns}");
        assert!((cycles / ns - 2.0).abs() < 1e-9, "{cycles}");
        assert!((estimate.clock().unwrap().value() / 2e9 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_figure_is_the_mean_over_processes_and_stays_in_its_interval() {
        let formula = CostFormula::new(&FakeExperiment::new(5.0, 1), 100);
        let pairs: Vec<Observation> = (0..40).map(|number| pair(number, 1 + number as u32 / 5, 1.0, 1.0)).collect();
        let mut estimate = formula.estimate(&pairs, &Costs::of(&pairs, &States::default())).unwrap();
        estimate.rate_ns = Some(Nanoseconds(5.0));
        let cost = |(process, ns)| ProcessCost { process, ns, cycles: Some(3.0 * ns) };
        estimate.point_at_processes(&[(0, 10.0), (1, 20.0), (2, 40.0)].map(cost), false);
        assert!((estimate.ns.value() - 20.0).abs() < 1e-9 && (estimate.cycles.unwrap().value() - 60.0).abs() < 1e-9);
        assert!((estimate.rate_ns.unwrap().value() - 10.0).abs() < 1e-9, "the rate is that of the cost");
        let holds = |within: Option<Interval>, points: [f64; 2]| points.iter().all(|at| within.unwrap().contains(*at));
        assert!(holds(estimate.ns_within, [10.0, 20.0 - 1e-9]) && holds(estimate.cycles_within, [20.0, 60.0 - 1e-9]));
    }

    #[test]
    fn a_pair_is_timed_by_the_clocks_of_both_samples() {
        let formula = CostFormula::new(&FakeExperiment::new(5.0, 1), 100);
        let sample = |ticks: u64, ns_per_tick| Sample::of_actors(&mut [crate::Ticks(ticks)], ns_per_tick).unwrap();
        let shot = |side| Shot { side, iterations: 100, pair: 0 };
        let shots = [Side::Baseline, Side::Test].map(shot);
        let observation = formula.observe(&shots, &[sample(100, 1.0), sample(300, 3.0)], 1);
        assert!((observation.ns - 200.0 / formula.operations * 2.0).abs() < 1e-12, "{}", observation.ns);
        assert_eq!(observation.strata, None, "nobody looked for neighbours");
    }

    #[test]
    fn the_spread_and_the_rate_are_said_where_they_mean_something() {
        let mut formula = CostFormula::new(&FakeExperiment::new(5.0, 1), 100);
        let pairs: Vec<Observation> =
            (0..101).map(|number| pair(number, 1 + number as u32 / 5, 1.0 + number as f64 / 100.0, 1.0)).collect();
        let costs = Costs::of(&pairs, &States::default());
        let mut of = |together: bool| {
            formula.protocol.actors_run_together = together;
            formula.estimate(&pairs, &costs).unwrap()
        };
        let (together, apart) = (of(true), of(false));
        let Interval { low, high } = together.ns_spread.unwrap();
        assert!((low - 10.5).abs() < 1e-9 && (high - 19.5).abs() < 1e-9, "{low} {high}");
        assert_eq!((together.rate_ns.is_some(), apart.rate_ns), (true, None));
        for [ns, cycles] in [[-1.0, 20.0], [0.0, 20.0], [10.0, 0.0], [10.0, -1.0]] {
            let none = Estimate { ns: Nanoseconds(ns), cycles: Some(Cycles(cycles)), ..together.clone() };
            assert_eq!(none.clock(), None, "{ns} {cycles}");
        }
    }

    #[test]
    fn equal_work_has_a_cost_if_it_is_above_zero() {
        let of = |ns: f64| {
            let pairs: Vec<Observation> = (0..8).map(|number| pair(number, 1, ns / 10.0, 1.0)).collect();
            of_equal_work(&pairs).map(|equal| (equal.ns.value(), equal.cycles))
        };
        assert_eq!((of(10.0), of(0.0), of(-10.0)), (Some((10.0, Some(Cycles(20.0)))), None, None));
    }
}
