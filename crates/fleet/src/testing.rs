//! Runs for the tests.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use syncscope_core::run::Status;
use syncscope_core::{Row, Run};
use syncscope_report::{Damage, RunData};

/// A run with these rows on an unknown machine.
pub(crate) fn data(rows: Vec<Row>) -> RunData {
    let all = [syncscope_cpu::catalogue(), syncscope_gpu::primitives()];
    RunData {
        name: "run".to_owned(),
        run: Run { status: Status::Done, started: "2026-11-21T07:00:00Z".into(), ..Run::new("standard", UNIX_EPOCH) },
        rows,
        details: HashMap::new(),
        damage: Damage::default(),
        catalogue: Arc::new(all.into_iter().flatten().copied().collect()),
    }
}
