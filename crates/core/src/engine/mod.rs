//! The engine: from an [`Experiment`] to an estimate and its verdict. `docs/METHOD.md` explains each step.

pub mod cancel;
pub mod experiment;
pub mod measurement_block;
pub mod pairs;
pub mod profile;
pub mod stopping;

use std::time::Duration;

use crate::engine::cancel::Cancel;
use crate::model::detail::Detail;
use crate::model::evidence::Evidence;
use crate::engine::experiment::{Check, Experiment, ExperimentError, Shot, Side};
use crate::engine::pairs::{Costing, Costs, Observation};
use crate::engine::profile::Phase;
use crate::stats::{self, Interval, Level, Ranked};
use crate::engine::stopping::{PrecisionRule, Stop};
use crate::model::units::{Cycles, Hertz, Nanoseconds};
use crate::model::verdict::Verdict;
use crate::engine::measurement_block::{Calibration, MIN_PAIRS, Taken, Visit};

/// The cost of one operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Median of the observations.
    pub ns: Nanoseconds,
    /// 95 % interval of the median; `None` if there were too few pairs for one.
    pub ns_interval: Option<Interval>,
    /// The same in cycles, where they could be measured.
    pub cycles: Option<Cycles>,
    /// 95 % interval of `cycles`.
    pub cycles_interval: Option<Interval>,
    /// Cost as the fastest actor sees it.
    pub fastest_ns: Nanoseconds,
    /// Cost as the actor in the middle sees it.
    pub median_ns: Nanoseconds,
}

/// Everything the engine found out about one case.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// The cost; `None` if no pair could be used.
    pub estimate: Option<Estimate>,
    /// Relative median absolute deviation of the observations.
    pub noise: Option<f64>,
    /// Number of pairs the estimate stands on.
    pub pairs: u64,
    /// Number of pairs set aside.
    pub set_aside: u64,
    /// Iterations of each sample.
    pub iterations: u64,
    /// Operations in one iteration of the baseline.
    pub unroll: u32,
    /// What the figure is worth.
    pub verdict: Verdict,
    /// What a reader of the figure must know.
    pub remark: Option<String>,
    /// Whether the primitive did its work.
    pub check: Check,
    /// What was executed.
    pub evidence: Evidence,
    /// Clock of the core or multiprocessor during the case.
    pub clock: Option<Hertz>,
    /// What else was found out.
    pub details: Vec<Detail>,
    /// Every pair, those set aside included.
    pub observations: Vec<Observation>,
    /// How many visits the pairs were taken in.
    pub visits: u32,
    /// Why the last visit ended; `None` if the case gave no figure, and would give none another time.
    pub stop: Option<Stop>,
}

/// Someone asked to stop before the case was finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Cancelled;

/// How samples are sized and figures judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How long a sample should be: long against the clock's resolution, short against a scheduler tick (1 to
    /// 4 ms).
    pub sample: Duration,
    /// Wider intervals (half-width relative to the point) are `Noisy`.
    pub noisy_above: f64,
    /// When to stop.
    pub rule: PrecisionRule,
}

/// Into how many visits the measuring of a case is divided.
///
/// What a machine does for some tenths of a second (its clocks, its host, its neighbours) is the same for all pairs taken
/// meanwhile, and no number of pairs averages it out. Visits that are spread over a run meet different moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visits {
    /// A case is visited at least this often, however narrow its interval is: one moment looks steadier than it is.
    pub fewest: u32,
    /// The pairs and the time for a case are divided by this.
    pub most: u32,
}

impl Visits {
    /// All pairs are taken in one go.
    pub const ONCE: Self = Self { fewest: 1, most: 1 };
}

/// A sample lasts at least this many steps of its clock, so that a step is 0.1 % of it.
const RESOLUTION_STEPS: f64 = 1000.0;

/// A loop of operations that does not fill a sample with this many iterations is empty.
const MOST_ITERATIONS: u64 = 1 << 32;

/// The two sides, the one that every calibration looks at first.
const BOTH: [Side; 2] = [Side::Baseline, Side::Test];

/// No interruption is as long as this many samples.
const FAR_BEHIND: f64 = 100.0;

/// Measures experiments.
#[derive(Debug)]
pub struct Engine {
    settings: Settings,
    visits: Visits,
    is_last: bool,
    cancel: Cancel,
}

impl Engine {
    /// An engine with these settings that takes all pairs of a case in one go, and stops when `cancel` is raised.
    #[must_use]
    pub const fn new(settings: Settings, cancel: Cancel) -> Self {
        Self { settings, visits: Visits::ONCE, is_last: false, cancel }
    }

    /// The same, dividing the pairs of a case into visits.
    #[must_use]
    pub fn visiting(self, visits: Visits) -> Self {
        Self { visits, ..self }
    }

    /// The same, if there is no time for another visit: whatever it finds, the next is the last.
    #[must_use]
    pub fn for_the_last_time(self, is_last: bool) -> Self {
        Self { is_last, ..self }
    }

    /// Measures one case, all visits one after the other. `seed` decides the order within the pairs.
    ///
    /// # Errors
    /// When someone asked to stop; what was measured so far is no result.
    pub fn measure(&self, experiment: &mut dyn Experiment, seed: u64) -> Result<Measurement, Cancelled> {
        let mut measurement = self.visit(experiment, None, seed)?;
        while self.wants_more(&measurement) {
            measurement = self.visit(experiment, Some(measurement), seed)?;
        }
        Ok(measurement)
    }

    /// Visits one case, to go on with what was found at `earlier` visits. The experiment may be another one of the same
    /// case.
    ///
    /// # Errors
    /// When someone asked to stop; what was measured in this visit is no result.
    pub fn visit(
        &self,
        experiment: &mut dyn Experiment,
        earlier: Option<Measurement>,
        seed: u64,
    ) -> Result<Measurement, Cancelled> {
        // What is executed is the same at every visit.
        let known = earlier.as_ref().map(|earlier| earlier.evidence.clone());
        let evidence = known.unwrap_or_else(|| experiment.evidence());
        // Elided primitives have no cost to measure.
        if let Evidence::Elided { summary, .. } = &evidence {
            let verdict = Verdict::Elided(summary.clone());
            return Ok(Measurement::without_figure(experiment, verdict, evidence));
        }
        let visits = earlier.as_ref().map_or(0, |earlier| earlier.visits) + 1;
        match self.take_pairs(experiment, earlier, seed) {
            Ok(None) => Err(Cancelled),
            Ok(Some(taken)) => Ok(self.conclude(experiment, taken, visits, evidence)),
            Err(error) => {
                Ok(Measurement { visits, ..Measurement::without_figure(experiment, verdict_of(error), evidence) })
            }
        }
    }

    /// Whether another visit is due.
    #[must_use]
    pub fn wants_more(&self, measurement: &Measurement) -> bool {
        measurement.stop.is_some_and(|stop| self.is_unsettled(measurement.visits, stop))
    }

    const fn is_unsettled(&self, visits: u32, stop: Stop) -> bool {
        let may_improve = visits < self.visits.most && matches!(stop, Stop::BudgetSpent);
        !self.is_last && (visits < self.visits.fewest || may_improve)
    }

    /// Chooses the iterations: the smallest number, found by growing, with which a sample of the baseline is long
    /// enough, or one of the test as long as it may be. Samples that are too short drown in noise, while samples that are
    /// too long (a contended one whose partner was interrupted looked shorter than it is) only take longer.
    fn calibrate(&self, experiment: &mut dyn Experiment) -> Result<Option<Calibration>, ExperimentError> {
        let ruler = experiment.ruler();
        let resolution_ns = ruler.resolution.0 as f64 * 1e9 / ruler.frequency.value();
        let sample = experiment.sample_length().unwrap_or(self.settings.sample);
        let target_ns = (sample.as_nanos() as f64).max(RESOLUTION_STEPS * resolution_ns);
        let longest_ns = experiment.longest_sample().map_or(f64::INFINITY, |longest| longest.as_nanos() as f64);
        let most = experiment.max_iterations().clamp(1, MOST_ITERATIONS);
        let fewest = experiment.min_iterations().clamp(1, most);
        // The length of a test that may take as long as it likes is not asked for.
        let sides = if longest_ns.is_finite() { &BOTH[..] } else { &BOTH[..1] };
        let mut iterations = fewest;
        loop {
            let Some(lengths_ns) = self.shortest(experiment, sides, iterations, target_ns)? else { return Ok(None) };
            let (baseline_ns, test_ns) = (lengths_ns[0], lengths_ns.get(1).copied());
            let is_long = baseline_ns >= target_ns * 0.8 || iterations >= most;
            if is_long && iterations >= MOST_ITERATIONS {
                return Err(ExperimentError::Elided(format!("{iterations} iterations take {baseline_ns:.0} ns")));
            }
            let too_long = test_ns.map_or(1.0, |test_ns| (test_ns / longest_ns).max(1.0));
            if is_long || too_long > 1.0 {
                let test_ns = match test_ns {
                    Some(test_ns) => test_ns,
                    // The first run of the other side pays for its cold caches here.
                    None => experiment.sample(Shot { side: Side::Test, iterations, pair: 0 })?.slowest_ns(),
                };
                let fitting = ((iterations as f64 / too_long).ceil() as u64).max(fewest);
                let pair_ns = (baseline_ns + test_ns) * fitting as f64 / iterations as f64;
                return Ok(Some(Calibration { iterations: fitting, pair_ns }));
            }
            // A short sample is mostly overhead: what it says about longer ones is trusted for a factor of 50.
            let factor = (target_ns / baseline_ns.max(1.0)).clamp(1.1, 50.0);
            iterations = ((iterations as f64 * factor).ceil() as u64).min(most);
        }
    }

    /// The shortest of three samples of each side, so that an interruption is not taken for work; one is enough where the
    /// goal is far, or far behind. `None` if someone asked to stop.
    fn shortest(
        &self,
        experiment: &mut dyn Experiment,
        sides: &[Side],
        iterations: u64,
        goal_ns: f64,
    ) -> Result<Option<Vec<f64>>, ExperimentError> {
        let mut shortest_ns = vec![f64::INFINITY; sides.len()];
        for tries in [0..1, 1..3] {
            if self.cancel.is_cancelled() {
                return Ok(None);
            }
            let shots: Vec<Shot> =
                tries.flat_map(|pair| sides.iter().map(move |side| Shot { side: *side, iterations, pair })).collect();
            for of_sides in experiment.samples(&shots)?.chunks_exact(sides.len()) {
                for (shortest_ns, sample) in shortest_ns.iter_mut().zip(of_sides) {
                    *shortest_ns = shortest_ns.min(sample.slowest_ns());
                }
            }
            if !(goal_ns / 4.0..goal_ns * FAR_BEHIND).contains(&shortest_ns[0]) {
                break;
            }
        }
        Ok(Some(shortest_ns))
    }

    /// Takes the pairs of one visit. `None` if someone asked to stop.
    fn take_pairs(
        &self,
        experiment: &mut dyn Experiment,
        earlier: Option<Measurement>,
        seed: u64,
    ) -> Result<Option<Taken>, ExperimentError> {
        let ruler = experiment.ruler();
        let calibration = match earlier.as_ref().and_then(|earlier| Calibration::known(earlier, &ruler)) {
            None => profile::time(Phase::Calibrate, || self.calibrate(experiment))?,
            known => known,
        };
        let Some(calibration) = calibration else { return Ok(None) };
        let known = earlier.map_or_else(Vec::new, |earlier| earlier.observations);
        let rule = self.settings.rule.with_share_of_time(experiment.share_of_time()).divided_by(self.visits.most);
        Visit::new(experiment, rule, &calibration, known, seed).take(experiment, &self.cancel)
    }

    fn conclude(&self, experiment: &mut dyn Experiment, taken: Taken, visits: u32, evidence: Evidence) -> Measurement {
        let Taken { iterations, mut observations, stop } = taken;
        let clock = pairs::usual_clock(&observations);
        if let (Some(clock), Some(tolerance)) = (clock, experiment.clock_tolerance()) {
            pairs::set_aside_other_clocks(&mut observations, clock, tolerance);
        }
        let (check, details) = examine(experiment, self.is_unsettled(visits, stop));
        let costing = Costing::new(experiment, iterations);
        let used: Vec<&Observation> = observations.iter().filter(|o| o.set_aside.is_none()).collect();
        let costs = Costs::of(&used);
        let verdict = match &check {
            Check::Failed(reason) => Verdict::Failed(format!("check failed: {reason}")),
            _ if used.iter().any(|o| !o.ns.is_finite()) => {
                Verdict::Failed("both loops execute the same number of operations".to_owned())
            }
            _ if used.len() < MIN_PAIRS as usize => Verdict::Interfered(pairs::interference(&observations)),
            _ => self.judge(&costs, used.len(), costing.resolution_ns()),
        };
        let beside = pairs::beside_neighbours(&observations);
        let verdict = match beside {
            // Someone else's work is in most of these costs, however well they agree.
            Some(part) if part > 0.5 && verdict == Verdict::Resolved && experiment.has_one_actor() => {
                Verdict::Interfered(besides(part))
            }
            _ => verdict,
        };
        let estimate = costing.estimate(&used, &costs);
        let wandering = estimate.as_ref().filter(|_| verdict == Verdict::Resolved).and_then(|e| self.wandering(e));
        let is_to_be_told = experiment.has_one_actor() && !matches!(verdict, Verdict::Interfered(_));
        let beside = beside.filter(|_| is_to_be_told).map(besides);
        let remarks: Vec<String> = experiment.remark().into_iter().chain(wandering).chain(beside).collect();
        Measurement {
            estimate,
            noise: stats::noise(&used.iter().map(|o| o.ns).collect::<Vec<_>>()),
            pairs: used.len() as u64,
            set_aside: (observations.len() - used.len()) as u64,
            iterations,
            unroll: experiment.unroll(),
            stop: Some(stop).filter(|_| !verdict.is_failure()),
            verdict,
            remark: (!remarks.is_empty()).then(|| remarks.join("; ")),
            check,
            evidence,
            clock,
            details,
            observations,
            visits,
        }
    }

    /// The verdict on the costs that so many pairs tell, of which one step of the clock is `resolution` nanoseconds.
    fn judge(&self, costs: &Costs, pairs: usize, resolution: f64) -> Verdict {
        let ns = &costs.ns;
        let (Some(point), Some(interval)) = (ns.median(), ns.interval(Level::P95)) else {
            return Verdict::Noisy("too few pairs for an interval".to_owned());
        };
        let interval = interval.at_least(point, resolution);
        let sure = ns.interval(Level::P99).unwrap_or(interval);
        if interval.low <= resolution {
            return Verdict::BelowResolution(if sure.high < -resolution {
                format!(
                    "the test loop ran {:.3} ns per operation faster than the baseline: the operation hides in its context",
                    -point
                )
            } else {
                format!("at most {:.3} ns", interval.high.max(resolution))
            });
        }
        let relative = interval.half_width() / point;
        // One of the two is enough: where the core's clock moves, nanoseconds move with it and cycles do not.
        let in_cycles = costs.cycles.as_ref().and_then(Ranked::relative_half_width);
        let narrower = in_cycles.map_or(relative, |width| width.min(relative));
        if narrower > self.settings.noisy_above || sure.low <= resolution {
            return Verdict::Noisy(format!(
                "the interval is still +/- {:.0} % wide after {pairs} pairs",
                relative * 100.0
            ));
        }
        Verdict::Resolved
    }

    /// What a reader of a cost must know that is resolved in one of its units alone.
    fn wandering(&self, estimate: &Estimate) -> Option<String> {
        let percent = |width: f64, point: f64| width / point.abs() * 100.0;
        let ns = percent(estimate.ns_interval?.half_width(), estimate.ns.value());
        let cycles = percent(estimate.cycles_interval?.half_width(), estimate.cycles?.value());
        let told = |percent: f64| if percent < 0.1 { "below 0.1".to_owned() } else { format!("+/- {percent:.1}") };
        (ns > self.settings.noisy_above * 100.0)
            .then(|| format!("{} % in nanoseconds, {} % in cycles: the clock moved meanwhile", told(ns), told(cycles)))
    }
}

/// In which part of the pairs a neighbour was busy, for people.
fn besides(part: f64) -> String {
    format!("beside a busy hardware thread in {:.0} % of the pairs", part * 100.0)
}

/// Whether the primitive did its work, and, unless the case is `unsettled` and will be visited again, what else there is to
/// find out about it.
fn examine(experiment: &mut dyn Experiment, unsettled: bool) -> (Check, Vec<Detail>) {
    let check = profile::time(Phase::Check, || experiment.check());
    if unsettled || matches!(check, Check::Failed(_)) {
        return (check, Vec::new());
    }
    match profile::time(Phase::Details, || experiment.details()) {
        Ok(found) => (check, found.into_iter().filter(|detail| detail.value.is_finite()).collect()),
        Err(reason) => (Check::Failed(reason), Vec::new()),
    }
}

fn verdict_of(error: ExperimentError) -> Verdict {
    match error {
        ExperimentError::TimedOut { .. } => Verdict::TimedOut(error.to_string()),
        ExperimentError::Unsupported(reason) => Verdict::Skipped(reason),
        ExperimentError::Elided(reason) => Verdict::Elided(reason),
        ExperimentError::Failed(reason) => Verdict::Failed(reason),
    }
}

impl Measurement {
    /// What is known of a case that gave no figure.
    fn without_figure(experiment: &dyn Experiment, verdict: Verdict, evidence: Evidence) -> Self {
        Self {
            estimate: None,
            noise: None,
            pairs: 0,
            set_aside: 0,
            iterations: 0,
            unroll: experiment.unroll(),
            verdict,
            remark: experiment.remark(),
            check: Check::NotApplicable,
            evidence,
            clock: None,
            details: Vec::new(),
            observations: Vec::new(),
            visits: 1,
            stop: None,
        }
    }
}
