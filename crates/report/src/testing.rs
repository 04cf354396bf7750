//! Helpers for the unit tests of this crate.

use std::collections::HashMap;

use syncscope_core::machine::{Environment, Machine};
use syncscope_core::run::{SCHEMA, Status};
use syncscope_core::{Published, Row, Run};

use crate::RunData;

/// A run on an unknown machine.
pub(crate) fn run() -> Run {
    Run {
        schema: SCHEMA,
        version: "0.1.0".into(),
        command: vec![],
        preset: "standard".into(),
        only: vec![],
        skip: vec![],
        seed: 0,
        status: Status::Done,
        started: "2026-11-21T07:00:00Z".into(),
        ended: None,
        planned: 0,
        warnings: vec![],
        machine: Machine::default(),
        environment: Environment::default(),
        measured_topology: None,
        tool: None,
        repeat: None,
        sessions: Vec::new(),
    }
}

/// These rows as a run on an unknown machine.
pub(crate) fn data(rows: Vec<Row>) -> RunData {
    let (details, published) = (HashMap::new(), Published::default());
    RunData { name: "run".to_owned(), run: run(), rows, details, published }
}
