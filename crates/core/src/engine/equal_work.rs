//! The second figure of actors that a window serves unequally: what a program pays in which every actor does as much as the others.
//! It ends with the slowest, whose cost it is; the mean of a window is what all of them together get done.

use crate::engine::cost_formula::CostFormula;
use crate::engine::measurement_block::{MeasurementBlock, PairOrder};
use crate::engine::profile::{self, Phase};
use crate::{Experiment, ExperimentError, Observation};

/// Pairs taken after the first measurement block, enough for an interval, and after each later one. Each uses another address, which
/// makes them differ. (With six and three they took 36 s of the 187 s of a peer's 9,460 cases.)
const PAIRS: [u64; 2] = [6, 1];

/// The pairs of earlier blocks and those taken after this one, on the memory of its last pairs and of earlier ones;
/// empty where actors are served alike.
pub(super) fn with_block(
    mut earlier: Vec<Observation>,
    experiment: &mut dyn Experiment,
    block: &MeasurementBlock,
    seed: u64,
) -> Result<Vec<Observation>, ExperimentError> {
    let pairs = PAIRS[usize::from(!earlier.is_empty())];
    let first = (block.observations.len() as u64).saturating_sub(pairs);
    let shots = PairOrder::new(!seed, block.iterations, first).shots(pairs);
    let samples = profile::time(Phase::Pairs, || profile::time(Phase::EqualWork, || experiment.equal_work(&shots)))?;
    let formula = CostFormula::new(experiment, block.iterations).of_slowest();
    let pairs = shots.chunks_exact(2).zip(samples.chunks_exact(2));
    earlier.extend(pairs.map(|(shots, samples)| formula.observe(shots, samples, block.number)));
    Ok(earlier)
}
