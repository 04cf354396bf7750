//! The engine: from an [`Experiment`] to an estimate and its verdict. `docs/METHOD.md` explains each step.

use std::time::{Duration, Instant};

use crate::cancel::Cancel;
use crate::detail::Detail;
use crate::evidence::Evidence;
use crate::experiment::{Check, Disturbance, Experiment, ExperimentError, Ruler, Sample, Shot, Side};
use crate::profile::{self, Phase};
use crate::stats::{self, Interval, Level};
use crate::stopping::{PrecisionRule, Progress, StoppingRule};
use crate::units::{Cycles, Hertz, Nanoseconds, Ticks};
use crate::verdict::Verdict;

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
    /// The cause for which this pair does not count, if there was one.
    pub set_aside: Option<Disturbance>,
}

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

/// The pairs of one case.
struct Pairs {
    iterations: u64,
    observations: Vec<Observation>,
    clock: Option<Hertz>,
}

/// A sample lasts at least this many steps of its clock, so that a step is 0.1 % of it.
const RESOLUTION_STEPS: f64 = 1000.0;

/// A loop of operations that does not fill a sample with this many iterations is empty.
const MOST_ITERATIONS: u64 = 1 << 32;

/// No interruption is as long as this many samples.
const FAR_BEHIND: f64 = 100.0;

/// Pairs are queued for at most about this long between two looks at the wish to stop.
const BATCH: Duration = Duration::from_millis(100);

/// Measures experiments.
#[derive(Debug)]
pub struct Engine {
    settings: Settings,
    cancel: Cancel,
}

/// What calibration found.
struct Calibration {
    iterations: u64,
    sample_ns: f64,
}

impl Engine {
    /// An engine with these settings that stops when `cancel` is raised.
    #[must_use]
    pub const fn new(settings: Settings, cancel: Cancel) -> Self {
        Self { settings, cancel }
    }

    /// Measures one case. `seed` decides the order within the pairs.
    ///
    /// # Errors
    /// When someone asked to stop; what was measured so far is no result.
    pub fn measure(&self, experiment: &mut dyn Experiment, seed: u64) -> Result<Measurement, Cancelled> {
        // Elided primitives have no cost to measure.
        let evidence = experiment.evidence();
        if let Evidence::Elided { summary, .. } = &evidence {
            let verdict = Verdict::Elided(summary.clone());
            return Ok(Measurement::without_figure(experiment, verdict, evidence));
        }
        match self.take_pairs(experiment, seed) {
            Ok(None) => Err(Cancelled),
            Ok(Some(pairs)) => Ok(self.conclude(experiment, pairs, evidence)),
            Err(error) => Ok(Measurement::without_figure(experiment, verdict_of(error), evidence)),
        }
    }

    /// Chooses the iterations: the smallest number, found by growing, with which a sample of the baseline is long
    /// enough. The shortest of three samples counts, so that an interruption is not taken for work: samples that are
    /// too short drown in noise, while samples that are too long (a contended one whose partner was interrupted looked
    /// shorter than it is) only take longer.
    fn calibrate(&self, experiment: &mut dyn Experiment) -> Result<Option<Calibration>, ExperimentError> {
        let ruler = experiment.ruler();
        let resolution_ns = ruler.resolution.0 as f64 * 1e9 / ruler.frequency.value();
        let sample = experiment.sample_length().unwrap_or(self.settings.sample);
        let target_ns = (sample.as_nanos() as f64).max(RESOLUTION_STEPS * resolution_ns);
        let most = experiment.max_iterations().clamp(1, MOST_ITERATIONS);
        let mut iterations = experiment.min_iterations().clamp(1, most);
        loop {
            let mut lengths_ns = Vec::new();
            // One is enough where the goal is far, or far behind.
            let near = target_ns / 4.0..target_ns * FAR_BEHIND;
            while lengths_ns.len() < 3 && lengths_ns.last().is_none_or(|ns| near.contains(ns)) {
                if self.cancel.is_cancelled() {
                    return Ok(None);
                }
                let shot = Shot { side: Side::Baseline, iterations, pair: lengths_ns.len() as u64 };
                lengths_ns.push(experiment.sample(shot)?.slowest_ns());
            }
            let sample_ns = lengths_ns.iter().copied().fold(f64::INFINITY, f64::min);
            if sample_ns >= target_ns * 0.8 || iterations >= most {
                if iterations >= MOST_ITERATIONS {
                    return Err(ExperimentError::Elided(format!("{iterations} iterations take {sample_ns:.0} ns")));
                }
                // The first run of the other side pays for its cold caches here.
                experiment.sample(Shot { side: Side::Test, iterations, pair: 0 })?;
                return Ok(Some(Calibration { iterations, sample_ns }));
            }
            // A short sample is mostly overhead: what it says about longer ones is trusted for a factor of 50.
            let factor = (target_ns / sample_ns.max(1.0)).clamp(1.1, 50.0);
            iterations = ((iterations as f64 * factor).ceil() as u64).min(most);
        }
    }

    /// Takes pairs until the rule says stop. `None` if someone asked to stop.
    fn take_pairs(&self, experiment: &mut dyn Experiment, seed: u64) -> Result<Option<Pairs>, ExperimentError> {
        let started = Instant::now();
        let calibration = profile::time(Phase::Calibrate, || self.calibrate(experiment))?;
        let Some(Calibration { iterations, sample_ns }) = calibration else { return Ok(None) };
        let costing = Costing::new(experiment, iterations);
        let batch_pairs = ((BATCH.as_nanos() as f64 / (3.0 * sample_ns)) as u64).max(1);
        let mut order = Order::new(seed, iterations);
        let mut observations = Vec::new();
        let mut clocks = Vec::new();
        let rule = self.settings.rule.with_share_of_time(experiment.share_of_time());
        for look in 0.. {
            let goal = rule.next_look(look);
            while (observations.len() as u64) < goal {
                if self.cancel.is_cancelled() {
                    return Ok(None);
                }
                let shots = order.shots(batch_pairs.min(goal - observations.len() as u64));
                let samples = profile::time(Phase::Pairs, || experiment.samples(&shots))?;
                clocks.extend(samples.chunks_exact(2).map(clock_of));
                observations.extend(
                    shots
                        .chunks_exact(2)
                        .zip(samples.chunks_exact(2))
                        .map(|(shots, samples)| costing.observe(shots, samples)),
                );
                if observations.len() as u64 >= MIN_PAIRS && started.elapsed() >= rule.max_time {
                    break;
                }
            }
            let progress = Progress {
                estimate: costing.ticks_estimate(&observations),
                resolution: costing.resolution,
                pairs: observations.len() as u64,
                elapsed: started.elapsed(),
            };
            if rule.judge(&progress).is_some() {
                break;
            }
        }
        let clock = stats::median(&clocks.iter().copied().flatten().collect::<Vec<_>>());
        if let (Some(clock), Some(tolerance)) = (clock, experiment.clock_tolerance()) {
            set_aside_other_clocks(&mut observations, &clocks, clock, tolerance);
        }
        Ok(Some(Pairs { iterations, observations, clock: clock.map(Hertz) }))
    }

    fn conclude(&self, experiment: &mut dyn Experiment, pairs: Pairs, evidence: Evidence) -> Measurement {
        let Pairs { iterations, observations, clock } = pairs;
        let costing = Costing::new(experiment, iterations);
        let check = profile::time(Phase::Check, || experiment.check());
        let used: Vec<&Observation> = observations.iter().filter(|o| o.set_aside.is_none()).collect();
        let ns: Vec<f64> = used.iter().map(|o| o.ns).collect();
        let set_aside = (observations.len() - used.len()) as u64;
        let verdict = match &check {
            Check::Failed(reason) => Verdict::Failed(format!("check failed: {reason}")),
            _ if ns.iter().any(|ns| !ns.is_finite()) => {
                Verdict::Failed("both loops execute the same number of operations".to_owned())
            }
            _ if ns.len() < MIN_PAIRS as usize => Verdict::Interfered(interference(&observations)),
            _ => self.judge(&ns, costing.resolution * costing.ns_per_tick),
        };
        Measurement {
            estimate: costing.estimate(&used),
            noise: stats::noise(&ns),
            pairs: used.len() as u64,
            set_aside,
            iterations,
            unroll: experiment.unroll(),
            verdict,
            remark: experiment.remark(),
            check,
            evidence,
            clock,
            details: profile::time(Phase::Details, || experiment.details())
                .into_iter()
                .filter(|detail| detail.value.is_finite())
                .collect(),
            observations,
        }
    }

    /// The verdict on costs in nanoseconds, of which one step of the clock is `resolution`.
    fn judge(&self, ns: &[f64], resolution: f64) -> Verdict {
        let (Some(point), Some(interval)) = (stats::median(ns), stats::median_interval(ns, Level::P95)) else {
            return Verdict::Noisy("too few pairs for an interval".to_owned());
        };
        let interval = interval.at_least(point, resolution);
        let sure = stats::median_interval(ns, Level::P99).unwrap_or(interval);
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
        if relative > self.settings.noisy_above || sure.low <= resolution {
            return Verdict::Noisy(format!(
                "the interval is still +/- {:.0} % wide after {} pairs",
                relative * 100.0,
                ns.len()
            ));
        }
        Verdict::Resolved
    }
}

/// Fewer pairs give no 95 % interval.
const MIN_PAIRS: u64 = 6;

fn verdict_of(error: ExperimentError) -> Verdict {
    match error {
        ExperimentError::TimedOut { .. } => Verdict::TimedOut(error.to_string()),
        ExperimentError::Unsupported(reason) => Verdict::Skipped(reason),
        ExperimentError::Elided(reason) => Verdict::Elided(reason),
        ExperimentError::Failed(reason) => Verdict::Failed(reason),
    }
}

/// The clock during the samples of a pair, in hertz.
fn clock_of(pair: &[Sample]) -> Option<f64> {
    let hertz = |sample: &Sample| Some(sample.cycles_per_tick? / sample.ns_per_tick * 1e9);
    let clocks: Option<Vec<f64>> = pair.iter().map(hertz).collect();
    stats::median(&clocks?).filter(|hertz| hertz.is_finite())
}

/// Sets aside the pairs whose clock is not the one that most pairs had. It is seen outside of the costs: a clock that
/// changed between two pairs is in neither of their differences.
fn set_aside_other_clocks(observations: &mut [Observation], clocks: &[Option<f64>], usual: f64, tolerance: f64) {
    for (observation, clock) in observations.iter_mut().zip(clocks) {
        if clock.is_some_and(|clock| (clock / usual - 1.0).abs() > tolerance) {
            observation.set_aside.get_or_insert(Disturbance::ClockChange);
        }
    }
}

fn interference(observations: &[Observation]) -> String {
    let mut causes: Vec<String> =
        observations.iter().filter_map(|o| o.set_aside.as_ref()).map(ToString::to_string).collect();
    let count = causes.len();
    causes.sort();
    causes.dedup();
    format!("{count} of {} pairs set aside: {}", observations.len(), causes.join(", "))
}

/// The random order of the shots: in each pair, a coin decides which side goes first.
///
/// Whatever the noise is, a drift, a wave, a resonance with the loop itself, it is then added to the difference of a
/// pair as often as it is subtracted, independently from pair to pair. A pattern (ABBA
/// cancels a linear drift) keeps step with some wave: with a period of four samples, simulated intervals around its
/// estimates cover the truth in only 63 to 87 % of runs, although a coin chose between ABBA and BAAB.
struct Order {
    random: fastrand::Rng,
    iterations: u64,
    next_pair: u64,
}

impl Order {
    fn new(seed: u64, iterations: u64) -> Self {
        Self { random: fastrand::Rng::with_seed(seed), iterations, next_pair: 0 }
    }

    /// The shots of the next `pairs` pairs, two by two.
    fn shots(&mut self, pairs: u64) -> Vec<Shot> {
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
struct Costing {
    /// The denominator, per actor.
    operations: f64,
    /// The cost, in ticks, that one step of the clock amounts to.
    resolution: f64,
    ns_per_tick: f64,
}

impl Costing {
    fn new(experiment: &dyn Experiment, iterations: u64) -> Self {
        let Ruler { frequency, resolution, .. } = experiment.ruler();
        let count = |side| experiment.operations(side, iterations) as f64;
        let operations = count(Side::Test) - count(Side::Baseline);
        Self { operations, resolution: resolution.0 as f64 / operations.abs(), ns_per_tick: 1e9 / frequency.value() }
    }

    fn observe(&self, shots: &[Shot], samples: &[Sample]) -> Observation {
        let baseline_first = shots[0].side == Side::Baseline;
        let (baseline, test) = if baseline_first { (&samples[0], &samples[1]) } else { (&samples[1], &samples[0]) };
        let ns_per_tick = f64::midpoint(baseline.ns_per_tick, test.ns_per_tick);
        let ticks = test.slowest.minus(baseline.slowest) / self.operations;
        let cycles_per_tick = baseline.cycles_per_tick.zip(test.cycles_per_tick);
        Observation {
            pair: shots[0].pair,
            baseline_first,
            baseline: baseline.slowest,
            test: test.slowest,
            ns: ticks * ns_per_tick,
            cycles: cycles_per_tick.map(|(baseline, test)| ticks * f64::midpoint(baseline, test)),
            fastest_ns: test.fastest.minus(baseline.fastest) / self.operations * ns_per_tick,
            median_ns: test.median.minus(baseline.median) / self.operations * ns_per_tick,
            set_aside: baseline.disturbance.clone().or_else(|| test.disturbance.clone()),
        }
    }

    /// Point and interval in ticks, for the stopping rule.
    fn ticks_estimate(&self, observations: &[Observation]) -> Option<(f64, Interval)> {
        let ticks: Vec<f64> = observations
            .iter()
            .filter(|o| o.set_aside.is_none())
            .map(|o| o.test.minus(o.baseline) / self.operations)
            .collect();
        let point = stats::median(&ticks)?;
        Some((point, stats::median_interval(&ticks, Level::P99)?.at_least(point, self.resolution)))
    }

    fn estimate(&self, used: &[&Observation]) -> Option<Estimate> {
        let column = |value: fn(&Observation) -> f64| used.iter().map(|o| value(o)).collect::<Vec<_>>();
        let ns = column(|o| o.ns);
        let point = stats::median(&ns).filter(|point| point.is_finite())?;
        let interval = |values: &[f64], margin: f64| {
            let point = stats::median(values)?;
            Some(stats::median_interval(values, Level::P95)?.at_least(point, margin))
        };
        let cycles: Option<Vec<f64>> = used.iter().map(|o| o.cycles).collect();
        let cycles_point = cycles.as_deref().and_then(stats::median);
        // One step of the clock in cycles, by the ratio of the two estimates.
        let cycles_margin =
            cycles_point.map_or(0.0, |cycles| (self.resolution * self.ns_per_tick * cycles / point).abs());
        Some(Estimate {
            ns: Nanoseconds(point),
            ns_interval: interval(&ns, self.resolution * self.ns_per_tick),
            cycles: cycles_point.map(Cycles),
            cycles_interval: cycles
                .and_then(|cycles| interval(&cycles, if cycles_margin.is_finite() { cycles_margin } else { 0.0 })),
            fastest_ns: Nanoseconds(stats::median(&column(|o| o.fastest_ns))?),
            median_ns: Nanoseconds(stats::median(&column(|o| o.median_ns))?),
        })
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
        }
    }
}
