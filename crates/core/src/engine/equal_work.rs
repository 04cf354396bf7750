//! The second figure for actors that a window serves unequally: the cost to a program in which every actor does equal work.
//! The slowest actor ends the program, so the figure is its cost; the mean over a window is what all actors together get
//! done.

use crate::engine::cost_formula::CostFormula;
use crate::engine::measurement_block::{MeasurementBlock, PairOrder};
use crate::engine::profile::{self, Phase};
use crate::{Experiment, ExperimentError, Observation};

/// Pairs taken after the first measurement block, enough for an interval, and after each later block. Each pair uses another
/// address, which makes them differ. (Six and three pairs took 36 s of the 187 s of a peer's 9,460 cases.)
const PAIRS: [u64; 2] = [6, 1];

/// Returns the pairs of earlier blocks and the pairs taken after this one, which use the memory of its last pairs and of
/// earlier ones; empty where actors are served alike.
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
