//! One visit to a case: pairs, batch after batch, until the rule says that its moment is seen well.

use std::time::{Duration, Instant};

use crate::engine::cancel::Cancel;
use crate::engine::Measurement;
use crate::engine::experiment::{Experiment, ExperimentError, Ruler};
use crate::engine::pairs::{self, Costing, Observation, Order};
use crate::engine::profile::{self, Phase};
use crate::engine::stopping::{PrecisionRule, Progress, Stop, StoppingRule};

/// Fewer pairs give no 95 % interval.
pub(crate) const MIN_PAIRS: u64 = 6;

/// Pairs are queued for at most about this long between two looks at the wish to stop.
const BATCH: Duration = Duration::from_millis(100);

/// Waking up threads for fewer pairs than this takes as long as the pairs do.
const FEWEST_IN_BATCH: u64 = 3;

/// How long the samples of a case are.
pub(crate) struct Calibration {
    pub(crate) iterations: u64,
    /// What a pair takes.
    pub(crate) pair_ns: f64,
}

impl Calibration {
    /// What an earlier visit knows.
    pub(crate) fn known(earlier: &Measurement, clock: &Ruler) -> Option<Self> {
        let last = earlier.observations.last()?;
        let pair_ns = (last.baseline.0 + last.test.0) as f64 / clock.frequency.value() * 1e9;
        Some(Self { iterations: earlier.iterations, pair_ns })
    }
}

/// What all visits so far have taken.
pub(crate) struct Taken {
    pub(crate) iterations: u64,
    pub(crate) observations: Vec<Observation>,
    /// Why it is enough, or that it is not.
    pub(crate) stop: Stop,
}

/// A visit that goes on.
pub(crate) struct Visit {
    iterations: u64,
    rule: PrecisionRule,
    costing: Costing,
    order: Order,
    batch_pairs: u64,
    /// Whether each side has yet to pay for its cold caches.
    is_cold: bool,
    started: Instant,
    /// Those of earlier visits first.
    observations: Vec<Observation>,
    /// How many are of earlier visits.
    known: usize,
}

impl Visit {
    /// Begins a visit after those that took `known`.
    pub(crate) fn new(
        experiment: &dyn Experiment,
        rule: PrecisionRule,
        calibration: &Calibration,
        known: Vec<Observation>,
        seed: u64,
    ) -> Self {
        let &Calibration { iterations, pair_ns } = calibration;
        let pairs_in = |time: Duration| (time.as_nanos() as f64 / pair_ns) as u64;
        let batch_pairs = pairs_in(BATCH.min(rule.max_time)).max(FEWEST_IN_BATCH.min(pairs_in(BATCH))).max(1);
        Self {
            iterations,
            costing: Costing::new(experiment, iterations),
            order: Order::new(seed, iterations, known.len() as u64),
            batch_pairs,
            // In a first visit they paid while the iterations were chosen, and long samples do not notice.
            is_cold: !known.is_empty() && pairs_in(rule.max_time) >= rule.min_pairs,
            started: Instant::now(),
            known: known.len(),
            observations: known,
            rule,
        }
    }

    /// Takes pairs until the rule says stop. `None` if someone asked to stop.
    pub(crate) fn take(
        mut self,
        experiment: &mut dyn Experiment,
        cancel: &Cancel,
    ) -> Result<Option<Taken>, ExperimentError> {
        for look in 0.. {
            let goal = self.known as u64 + self.rule.next_look(look);
            while !self.is_time_to_look(goal) {
                if cancel.is_cancelled() {
                    return Ok(None);
                }
                self.take_batch(experiment, goal)?;
            }
            // A visit ends when it has seen its own moment well; all visits together say whether there must be more.
            if self.rule.judge(&self.progress(self.known)).is_some() {
                let stop = self.rule.judge(&self.progress(0)).unwrap_or(Stop::BudgetSpent);
                return Ok(Some(Taken { iterations: self.iterations, observations: self.observations, stop }));
            }
        }
        // There are more looks than pairs that can be counted.
        Ok(None)
    }

    fn is_time_to_look(&self, goal: u64) -> bool {
        let pairs = self.observations.len() as u64;
        let is_visited = self.observations.len() > self.known && pairs >= MIN_PAIRS;
        pairs >= goal || (is_visited && self.started.elapsed() >= self.rule.max_time)
    }

    fn take_batch(&mut self, experiment: &mut dyn Experiment, goal: u64) -> Result<(), ExperimentError> {
        let left = goal.saturating_sub(self.observations.len() as u64);
        let mut shots = self.order.shots(self.batch_pairs.min(left));
        let warm_up = if std::mem::take(&mut self.is_cold) { 2 } else { 0 };
        shots.splice(0..0, shots[..warm_up].to_vec());
        let samples = profile::time(Phase::Pairs, || experiment.samples(&shots))?;
        let pairs = shots.chunks_exact(2).zip(samples.chunks_exact(2)).skip(warm_up / 2);
        self.observations.extend(pairs.map(|(shots, samples)| self.costing.observe(shots, samples)));
        pairs::set_aside_neighbours(&mut self.observations, experiment.has_one_actor());
        Ok(())
    }

    /// What the rule is shown of the pairs from number `first` on. Costs beside neighbours are no estimate, however well they
    /// agree: there may be a moment without.
    fn progress(&self, first: usize) -> Progress {
        let observations = &self.observations[first..];
        let is_estimate = pairs::beside_neighbours(observations).is_none();
        Progress {
            estimate: self.costing.ticks_estimate(observations).filter(|_| is_estimate),
            resolution: self.costing.resolution,
            pairs: observations.len() as u64,
            elapsed: self.started.elapsed(),
        }
    }
}
