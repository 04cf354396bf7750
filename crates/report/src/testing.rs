//! Helpers for the unit tests of this crate.

use std::collections::HashMap;
use std::time::UNIX_EPOCH;

use syncscope_core::run::Status;
use syncscope_core::{Row, Run};

#[path = "../tests/synthetic/catalogue.rs"]
mod catalogue;

pub(crate) use self::catalogue::catalogue;
use crate::RunData;

/// A run on an unknown machine.
pub(crate) fn run() -> Run {
    Run { status: Status::Done, started: "2026-11-21T07:00:00Z".into(), ..Run::new("standard", UNIX_EPOCH) }
}

/// A run on an unknown machine with these rows.
pub(crate) fn data(rows: Vec<Row>) -> RunData {
    let details = HashMap::new();
    RunData {
        name: "run".to_owned(),
        run: run(),
        rows,
        details,
        damage: crate::Damage::default(),
        catalogue: catalogue(),
    }
}
