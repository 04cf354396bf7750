//! Whether a second copy of the primitive costs what the first one does.
//!
//! The cost of a primitive is the time that a loop takes longer with it than without it. That is the primitive's own cost
//! only if the rest of the loop takes the same time in both. A third loop, with two more copies, tests it: the second copy
//! must cost what the first one did.

use std::time::{Duration, Instant};

use crate::stats::{self, Ranked};
use crate::units::significant_digits;
use crate::{Cancel, Detail, Experiment, ExperimentError, Interval, Level, Protocol, Sample, Shot, Side, Verdict};

/// Samples of each of the three loops, at most.
const TRIPLES: u64 = 20;

/// The fewest samples of each loop that give an interval.
const FEWEST_TRIPLES: u64 = 8;

/// Sampling ends after this time, once there are [`FEWEST_TRIPLES`].
const LONGEST: Duration = Duration::from_millis(40);

/// The tolerated difference between the costs of two copies, relative to the first: copies share the queues and ports of the
/// hardware.
const TOLERANCE: f64 = 0.05;

/// The result of the third loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Additivity {
    first_ns: f64,
    second_ns: f64,
    /// 95 % interval of the second minus the first, relative to the first.
    difference: Option<Interval>,
}

impl Additivity {
    /// Runs the three loops in turns, each turn in a random order. `None` if someone asked to stop, or if the samples were
    /// disturbed.
    pub(crate) fn of(
        experiment: &mut dyn Experiment,
        iterations: u64,
        seed: u64,
        cancel: &Cancel,
    ) -> Result<Option<Self>, ExperimentError> {
        const SIDES: [Side; 3] = [Side::Baseline, Side::Test, Side::Double];
        let (Protocol { actor, counted_for, .. }, started) = (experiment.protocol(), Instant::now());
        // A window has a fixed length, and the third loop runs for every case in windows.
        let triples = if counted_for.is_some() { FEWEST_TRIPLES } else { TRIPLES };
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        // The first turn pays for the cold caches of the third loop.
        for turn in 0..=triples {
            if cancel.is_cancelled() {
                return Ok(None);
            }
            if turn > FEWEST_TRIPLES && started.elapsed() > LONGEST {
                break;
            }
            let mut sides = SIDES;
            random.shuffle(&mut sides);
            let samples = experiment.samples(&sides.map(|side| Shot { side, iterations, pair: turn }))?;
            if turn == 0 || samples.iter().any(|sample| sample.disturbance.is_some()) {
                continue;
            }
            let per_copy = |side: Side, before: Side| {
                let sample = |side| sides.iter().position(|other| *other == side).and_then(|index| samples.get(index));
                let operations = |side| experiment.operations(side, iterations) as f64;
                let ns = |sample: &Sample| sample.ticks_of(actor) * sample.ns_per_tick;
                Some((ns(sample(side)?) - ns(sample(before)?)) / (operations(side) - operations(before)))
            };
            first.extend(per_copy(Side::Test, Side::Baseline));
            second.extend(per_copy(Side::Double, Side::Test));
        }
        Ok(Self::between(&first, &second))
    }

    fn between(first: &[f64], second: &[f64]) -> Option<Self> {
        let (first_ns, second_ns) = (stats::median(first)?, stats::median(second)?);
        let differences: Vec<f64> =
            first.iter().zip(second).map(|(first, second)| (second - first) / first_ns).collect();
        let difference = Ranked::of(&differences).interval(Level::P95);
        Some(Self { first_ns, second_ns, difference })
    }

    /// The verdict on a cost that is otherwise resolved.
    pub(crate) fn verdict(&self) -> Verdict {
        let differs = |interval: &Interval| interval.low > TOLERANCE || interval.high < -TOLERANCE;
        if self.difference.as_ref().is_some_and(differs) {
            return Verdict::NonAdditive(format!(
                "the first copy costs {} ns and a second adds {} ns, so the figure holds only in this context",
                significant_digits(self.first_ns),
                significant_digits(self.second_ns)
            ));
        }
        Verdict::Resolved
    }

    /// The figures behind the verdict.
    pub(crate) fn details(&self) -> [Detail; 2] {
        [Detail::of_case("first_copy_ns", self.first_ns), Detail::of_case("second_copy_ns", self.second_ns)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(centre: f64) -> Vec<f64> {
        (0..24).map(|i| centre * (1.0 + 0.01 * (f64::from(i * 7 % 24) / 12.0 - 1.0))).collect()
    }

    #[test]
    fn only_a_certain_and_large_difference_is_one() {
        let verdict = |second: f64| Additivity::between(&costs(10.0), &costs(second)).unwrap().verdict();
        assert_eq!(verdict(10.0), Verdict::Resolved);
        assert_eq!(verdict(10.4), Verdict::Resolved, "4 % are within the tolerance");
        assert_eq!(verdict(12.0).name(), "NonAdditive");
        assert_eq!(verdict(2.0).name(), "NonAdditive");
        assert_eq!(Additivity::between(&[], &[]), None);
        let wild: Vec<f64> = (0..24).map(|i| f64::from(i % 5) * 10.0).collect();
        assert_eq!(Additivity::between(&costs(10.0), &wild).unwrap().verdict(), Verdict::Resolved, "not certain");
    }
}
