//! What several tests of runs need.

use syncscope_core::machine::{Environment, Machine};
use syncscope_core::run::{SCHEMA, Status};
use syncscope_core::{Preset, Run};

/// A run that begins.
pub(crate) fn run(preset: Preset, planned: u64) -> Run {
    Run {
        schema: SCHEMA,
        version: "0.0.0".to_owned(),
        command: Vec::new(),
        preset: preset.to_string(),
        only: Vec::new(),
        skip: Vec::new(),
        seed: 7,
        status: Status::Running,
        started: "2026-01-01T00:00:00Z".to_owned(),
        ended: None,
        planned,
        warnings: Vec::new(),
        machine: Machine::default(),
        environment: Environment::default(),
        measured_topology: None,
        tool: None,
        repeat: None,
        sessions: Vec::new(),
    }
}
