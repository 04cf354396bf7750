//! What several tests of runs need.

use std::time::UNIX_EPOCH;

use syncscope_core::{Preset, Run};

/// A run that begins.
pub(crate) fn run(preset: Preset, planned: u64) -> Run {
    Run { seed: 7, planned, ..Run::new(preset.to_string(), UNIX_EPOCH) }
}
