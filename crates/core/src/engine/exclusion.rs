//! Which pairs are excluded from an estimate, and why. The causes are seen outside the measured value; the value itself
//! never decides.

use std::collections::BTreeMap;

use crate::model::observation::Observation;
use crate::model::sample::Disturbance;
use crate::stats;
use crate::units::Hertz;

/// The median clock of the pairs.
pub(crate) fn usual_clock(observations: &[Observation]) -> Option<Hertz> {
    let clocks: Vec<f64> = observations.iter().filter_map(|o| o.clock).map(Hertz::value).collect();
    stats::median(&clocks).map(Hertz)
}

/// Excludes the pairs whose clock differs from the usual one by more than `tolerance` (relative). A clock that changed
/// between two pairs shows in neither of their differences, so the pair cannot show it itself.
pub(crate) fn exclude_other_clocks(observations: &mut [Observation], usual: Hertz, tolerance: f64) {
    for observation in observations {
        if observation.clock.is_some_and(|clock| (clock.value() / usual.value() - 1.0).abs() > tolerance) {
            observation.excluded.get_or_insert(Disturbance::ClockChange);
        }
    }
}

/// Whether a measurement block was lost to other processes, for each block: no pair counts, and one at least lost its CPU.
pub(crate) fn lost_blocks(observations: &[Observation]) -> Vec<bool> {
    let mut pairs: BTreeMap<u32, Vec<Option<&Disturbance>>> = BTreeMap::new();
    for observation in observations {
        pairs.entry(observation.block).or_default().push(observation.excluded.as_ref());
    }
    let is_of_others = |cause: &Disturbance| matches!(cause, Disturbance::InvoluntarySwitch | Disturbance::Migration);
    let is_lost = |causes: &Vec<Option<&Disturbance>>| {
        causes.iter().all(Option::is_some) && causes.iter().copied().flatten().any(is_of_others)
    };
    pairs.values().map(is_lost).collect()
}

/// Whether the actors ran apart in more than half of the pairs.
pub(crate) fn is_mostly_apart(observations: &[Observation]) -> bool {
    let apart = observations.iter().filter(|o| o.excluded == Some(Disturbance::NotTogether)).count();
    2 * apart > observations.len()
}

/// How many pairs were excluded, and why.
pub(crate) fn summary(observations: &[Observation]) -> String {
    let mut causes: Vec<String> =
        observations.iter().filter_map(|o| o.excluded.as_ref()).map(ToString::to_string).collect();
    let count = causes.len();
    causes.sort();
    causes.dedup();
    format!("{count} of {} pairs excluded: {}", observations.len(), causes.join(", "))
}
