//! One measurement block of a case: pairs in random order, batch after batch, until the stopping rule ends the block.

use std::time::{Duration, Instant};

use crate::engine::calibration::Calibration;
use crate::engine::cost_formula::{CostFormula, Costs};
use crate::engine::population::States;
use crate::engine::profile::{self, Phase};
use crate::engine::stopping::{PrecisionRule, Progress, Stop};
use crate::stats::MIN_PAIRS;
use crate::{Cancel, Experiment, ExperimentError, Level, Observation, Shot, Side};

/// Pairs are queued for at most about this long between two checks for a request to stop.
const BATCH: Duration = Duration::from_millis(100);

/// Waking up threads for fewer pairs than this takes as long as the pairs do.
const FEWEST_IN_BATCH: u64 = 3;

/// A block in progress.
pub(crate) struct MeasurementBlock {
    pub(super) iterations: u64,
    rule: PrecisionRule,
    formula: CostFormula,
    order: PairOrder,
    batch_pairs: u64,
    /// Whether each side has yet to pay for its cold caches.
    pub(super) is_cold: bool,
    started: Instant,
    /// Observations, those of earlier blocks first.
    pub(super) observations: Vec<Observation>,
    /// Number of observations of earlier blocks.
    known: usize,
    /// Number of this block, from 1. The numbers of a case may have gaps.
    pub(super) number: u32,
    /// Whether the pairs of all blocks are judged at the end of this one. Otherwise they are not enough, whatever they say.
    pub(super) judges_all: bool,
}

impl MeasurementBlock {
    /// Begins a block after the blocks that took `known`.
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
            // In the first block, the sides paid while the iterations were chosen. Long samples do not notice cold caches.
            is_cold: !known.is_empty() && pairs_in(rule.max_time) >= rule.min_pairs,
            started: Instant::now(),
            known: known.len(),
            number: 1,
            judges_all: true,
            observations: known,
            rule,
        }
    }

    /// Takes pairs until the rule ends the block. Returns the block and why it ended, judged over the pairs of all blocks;
    /// `None` if someone asked to stop.
    pub(crate) fn take(
        mut self,
        experiment: &mut dyn Experiment,
        cancel: &Cancel,
    ) -> Result<Option<(Self, Stop)>, ExperimentError> {
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
                let of_all = if self.judges_all { self.rule.judge(&self.progress(0)) } else { None };
                return Ok(Some((self, of_all.unwrap_or(Stop::BudgetSpent))));
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
        // Reserve exactly: thousands of unfinished cases keep their pairs.
        self.observations.reserve_exact(pairs.len());
        self.observations.extend(pairs.map(|(shots, samples)| self.formula.observe(shots, samples, self.number)));
        Ok(())
    }

    /// What the rule sees of the pairs from number `first` on.
    fn progress(&self, first: usize) -> Progress {
        let observations = &self.observations[first..];
        let resolution_ns = self.formula.resolution_ns;
        let cost = Costs::of(observations, &States::default()).ns;
        let estimate = cost.and_then(|cost| Some((cost.point(), cost.within(Level::P99, resolution_ns)?)));
        Progress { estimate, resolution_ns, pairs: observations.len() as u64, elapsed: self.started.elapsed() }
    }
}

/// Draws, for each pair, which side is sampled first.
///
/// Whatever the noise is (a drift, a wave, a resonance with the loop itself), it is added to the difference of a pair as
/// often as it is subtracted, independently from pair to pair. A fixed pattern does not do that: ABBA cancels a linear
/// drift, but with a wave whose period is four samples, simulated intervals cover the truth in only 63 to 87 % of runs,
/// even when ABBA and BAAB alternate at random.
#[derive(Debug, Clone)]
pub struct PairOrder {
    random: fastrand::Rng,
    iterations: u64,
    next_pair: u64,
}

impl PairOrder {
    /// The order of the pairs from `first_pair` on, for samples with this many iterations.
    pub fn new(seed: u64, iterations: u64, first_pair: u64) -> Self {
        // A later block draws other orders than the first.
        let random = fastrand::Rng::with_seed(seed.wrapping_add(first_pair));
        Self { random, iterations, next_pair: first_pair }
    }

    /// The shots of the next `pairs` pairs, two by two.
    pub fn shots(&mut self, pairs: u64) -> Vec<Shot> {
        (0..pairs).flat_map(|_| self.next_pair()).collect()
    }

    /// The side that comes first in the next pair.
    pub fn first_side(&mut self) -> Side {
        if self.random.bool() { Side::Baseline } else { Side::Test }
    }

    fn next_pair(&mut self) -> [Shot; 2] {
        let first = self.first_side();
        let pair = self.next_pair;
        self.next_pair += 1;
        [first, first.other()].map(|side| Shot { side, iterations: self.iterations, pair })
    }
}
