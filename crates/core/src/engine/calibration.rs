//! Calibration: how many iterations a sample has.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Cancel, Experiment, ExperimentError, Measurement, Sample, Shot, Side};

/// A sample lasts at least this many steps of its clock, so that a step is 0.1 % of it.
const RESOLUTION_STEPS: f64 = 1000.0;

/// A loop that does not fill a sample with this many iterations is empty.
const MOST_ITERATIONS: u64 = 1 << 32;

/// The two sides; every calibration begins with the first.
const BOTH: [Side; 2] = [Side::Baseline, Side::Test];

/// No interruption is as long as this many samples.
const FAR_TOO_LONG: f64 = 100.0;

/// The length of the samples of a case.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Calibration {
    pub(crate) iterations: u64,
    /// How long a pair takes.
    pub(crate) pair_ns: f64,
}

impl Calibration {
    /// The calibration of an earlier block.
    pub(crate) fn known(earlier: &Measurement) -> Option<Self> {
        let (last, formula) = (earlier.observations.last()?, &earlier.basis.as_ref()?.formula);
        // In windows, the ticks are what the slowest actor would have needed for its share, not time that passed.
        let in_windows = formula.counted_for().map(pair_of_windows);
        let pair_ns = in_windows.unwrap_or((last.baseline.0 + last.test.0) as f64 * formula.ns_per_tick);
        Some(Self { iterations: earlier.iterations, pair_ns })
    }

    /// Chooses the iterations by growing them. The result is the smallest number with which a sample of the baseline is
    /// long enough, or one of the test as long as it may be. Shorter samples drown in noise. Longer ones only take longer,
    /// because a contended sample whose partner was interrupted looked shorter than it is.
    ///
    /// `None` if someone asked to stop.
    pub(crate) fn of(
        experiment: &mut dyn Experiment,
        sample: Duration,
        cancel: &Cancel,
    ) -> Result<Option<Self>, ExperimentError> {
        let (ruler, protocol) = (experiment.ruler(), experiment.protocol());
        if let Some(window) = protocol.counted_for {
            return Self::of_window(experiment, window, cancel);
        }
        if let Some(iterations) = experiment.known_iterations()? {
            // The first runs pay for cold caches here.
            let shots = BOTH.map(|side| Shot { side, iterations, pair: 0 });
            let pair_ns = experiment.samples(&shots)?.iter().map(Sample::slowest_ns).sum();
            return Ok((!cancel.is_cancelled()).then_some(Self { iterations, pair_ns }));
        }
        let resolution_ns = ruler.resolution.0 as f64 * 1e9 / ruler.frequency.value();
        let sample = protocol.sample_length.unwrap_or(sample);
        let target_ns = (sample.as_nanos() as f64).max(RESOLUTION_STEPS * resolution_ns);
        let longest_ns = protocol.longest_sample.map_or(f64::INFINITY, |longest| longest.as_nanos() as f64);
        let most = protocol.max_iterations.clamp(1, MOST_ITERATIONS);
        let fewest = protocol.min_iterations.clamp(1, most);
        // The length of a test matters only where it is bounded.
        let sides = if longest_ns.is_finite() { &BOTH[..] } else { &BOTH[..1] };
        let mut iterations = fewest;
        loop {
            let Some(lengths_ns) = shortest(experiment, sides, iterations, target_ns, cancel)? else {
                return Ok(None);
            };
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
                return Ok(Some(Self { iterations: fitting, pair_ns }));
            }
            // A short sample is mostly overhead, so it predicts longer ones up to a factor of 50 only.
            let factor = (target_ns / baseline_ns.max(1.0)).clamp(1.1, 50.0);
            iterations = ((iterations as f64 * factor).ceil() as u64).min(most);
        }
    }

    /// The iterations that the median actor executes in a window of this length. `None` if someone asked to stop.
    fn of_window(
        experiment: &mut dyn Experiment,
        window: Duration,
        cancel: &Cancel,
    ) -> Result<Option<Self>, ExperimentError> {
        const SOME: u64 = 1000;
        if cancel.is_cancelled() {
            return Ok(None);
        }
        let shots = [0, 1, 2].map(|pair| Shot { side: Side::Test, iterations: SOME, pair });
        let ns = |sample: &Sample| sample.median.0 as f64 * sample.ns_per_tick;
        let shortest_ns = experiment.samples(&shots)?.iter().map(ns).fold(f64::INFINITY, f64::min);
        let iterations = SOME as f64 * window.as_nanos() as f64 / shortest_ns.max(1.0);
        let iterations = iterations.round().clamp(1.0, MOST_ITERATIONS as f64) as u64;
        Ok(Some(Self { iterations, pair_ns: pair_of_windows(window) }))
    }
}

/// How many nanoseconds a pair takes whose samples are windows of this length.
fn pair_of_windows(window: Duration) -> f64 {
    2.0 * window.as_nanos() as f64
}

/// The shortest of three samples of each side, so that an interruption is not taken for work. One sample is enough where
/// it is far from the goal. `None` if someone asked to stop.
fn shortest(
    experiment: &mut dyn Experiment,
    sides: &[Side],
    iterations: u64,
    goal_ns: f64,
    cancel: &Cancel,
) -> Result<Option<Vec<f64>>, ExperimentError> {
    let mut shortest_ns = vec![f64::INFINITY; sides.len()];
    for tries in [0..1, 1..3] {
        if cancel.is_cancelled() {
            return Ok(None);
        }
        let shots: Vec<Shot> =
            tries.flat_map(|pair| sides.iter().map(move |side| Shot { side: *side, iterations, pair })).collect();
        for of_sides in experiment.samples(&shots)?.chunks_exact(sides.len()) {
            for (shortest_ns, sample) in shortest_ns.iter_mut().zip(of_sides) {
                *shortest_ns = shortest_ns.min(sample.slowest_ns());
            }
        }
        if !(goal_ns / 4.0..goal_ns * FAR_TOO_LONG).contains(&shortest_ns[0]) {
            break;
        }
    }
    Ok(Some(shortest_ns))
}
