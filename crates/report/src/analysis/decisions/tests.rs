//! The decisions of stored runs.

use std::path::PathBuf;

use super::spec::{Series, Spec};
use super::*;

/// A run that the repository holds.
fn stored(name: &str) -> RunData {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "results", name].iter().collect();
    RunData::load(&path).unwrap()
}

/// The series of a chart; a table has none.
fn series(chart: &Spec) -> &[Series] {
    match chart {
        Spec::Lines { series, .. } => series,
        Spec::Dots { rows, .. } => rows,
        Spec::Table { .. } => &[],
    }
}

#[test]
fn stored_runs_answer_every_question_that_their_machine_has() {
    let all = ["lock", "atomics", "barrier", "relaunch", "fences", "handoff", "placement", "false-sharing"];
    let without_gpu: Vec<&str> = all.into_iter().filter(|id| *id != "relaunch").collect();
    for (name, expected) in
        [("h200", all.as_slice()), ("h200-x4", all.as_slice()), ("xeon-16cpu-vm-paper", &without_gpu)]
    {
        let data = stored(name);
        let found = decisions(&data);
        let ids: Vec<&str> = found.iter().filter_map(|one| one.id.strip_prefix("decide-")).collect();
        assert_eq!(ids, expected, "{name}");
    }
}
