//! What several tests of runs need.

use std::time::UNIX_EPOCH;

use syncscope_core::session::plan::Plan;
use syncscope_core::{Laboratory, Preset, Run};

/// A run that begins.
pub(crate) fn run(preset: Preset, planned: u64) -> Run {
    Run { seed: 7, planned, ..Run::new(preset.to_string(), UNIX_EPOCH) }
}

/// All cases of a preset, each laboratory's in a random order that `seed` decides.
pub(crate) fn plan(laboratories: &[&mut dyn Laboratory], preset: Preset, seed: u64) -> Plan {
    let parts = laboratories.iter().map(|laboratory| laboratory.plan(preset)).collect();
    let listings = laboratories.iter().flat_map(|laboratory| laboratory.listing());
    Plan::shuffled(parts, listings.map(|listing| *listing.primitive).collect(), seed)
}
