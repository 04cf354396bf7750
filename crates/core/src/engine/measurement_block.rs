//! One measurement block of a case: pairs, batch after batch, until the stopping rule ends the block.

use std::time::{Duration, Instant};

use crate::engine::calibration::Calibration;
use crate::engine::cancel::Cancel;
use crate::engine::cost_formula::CostFormula;
use crate::engine::exclusion;
use crate::engine::experiment::{Experiment, ExperimentError};
use crate::engine::pair_order::PairOrder;
use crate::engine::profile::{self, Phase};
use crate::engine::stopping::{PrecisionRule, Progress, Stop, StoppingRule};
use crate::model::observation::Observation;

/// Fewer pairs give no 95 % interval.
pub(crate) const MIN_PAIRS: u64 = 6;

/// Pairs are queued for at most about this long between two checks for a request to stop.
const BATCH: Duration = Duration::from_millis(100);

/// Waking up threads for fewer pairs than this takes as long as the pairs do.
const FEWEST_IN_BATCH: u64 = 3;

/// The pairs of all blocks so far.
pub(crate) struct Taken {
    pub(crate) iterations: u64,
    pub(crate) observations: Vec<Observation>,
    /// Why the block ended, judged over the pairs of all blocks.
    pub(crate) stop: Stop,
}

/// A block that goes on.
pub(crate) struct MeasurementBlock {
    iterations: u64,
    rule: PrecisionRule,
    formula: CostFormula,
    order: PairOrder,
    batch_pairs: u64,
    /// Whether each side has yet to pay for its cold caches.
    is_cold: bool,
    started: Instant,
    /// Those of earlier blocks first.
    observations: Vec<Observation>,
    /// How many are of earlier blocks.
    known: usize,
}

impl MeasurementBlock {
    /// Begins a block after those that took `known`.
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
            formula: CostFormula::new(experiment, iterations),
            order: PairOrder::new(seed, iterations, known.len() as u64),
            batch_pairs,
            // In the first block they paid while the iterations were chosen. Long samples do not notice.
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
            // A block ends by its own pairs. Whether another block is needed depends on the pairs of all.
            if self.rule.judge(&self.progress(self.known)).is_some() {
                let stop = self.rule.judge(&self.progress(0)).unwrap_or(Stop::BudgetSpent);
                return Ok(Some(Taken { iterations: self.iterations, observations: self.observations, stop }));
            }
        }
        // Unreachable: a rule stops long before u32 overflows.
        Ok(None)
    }

    fn is_time_to_look(&self, goal: u64) -> bool {
        let pairs = self.observations.len() as u64;
        let has_some = self.observations.len() > self.known && pairs >= MIN_PAIRS;
        pairs >= goal || (has_some && self.started.elapsed() >= self.rule.max_time)
    }

    fn take_batch(&mut self, experiment: &mut dyn Experiment, goal: u64) -> Result<(), ExperimentError> {
        let left = goal.saturating_sub(self.observations.len() as u64);
        let mut shots = self.order.shots(self.batch_pairs.min(left));
        let warm_up = if std::mem::take(&mut self.is_cold) { 2 } else { 0 };
        shots.splice(0..0, shots[..warm_up].to_vec());
        let samples = profile::time(Phase::Pairs, || experiment.samples(&shots))?;
        let pairs = shots.chunks_exact(2).zip(samples.chunks_exact(2)).skip(warm_up / 2);
        self.observations.extend(pairs.map(|(shots, samples)| self.formula.observe(shots, samples)));
        exclusion::exclude_smt_interference(&mut self.observations, experiment.has_one_actor());
        Ok(())
    }

    /// What the rule sees of the pairs from number `first` on. Costs with SMT interference are no estimate, however well they
    /// agree: a later block may be without.
    fn progress(&self, first: usize) -> Progress {
        let observations = &self.observations[first..];
        let is_estimate = exclusion::smt_interference_share(observations).is_none();
        Progress {
            estimate: self.formula.ticks_estimate(observations).filter(|_| is_estimate),
            resolution: self.formula.resolution,
            pairs: observations.len() as u64,
            elapsed: self.started.elapsed(),
        }
    }
}
