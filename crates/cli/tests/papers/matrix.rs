//! The warnings about the core-to-core matrix, on a synthetic topology: the cases are planned, but not measured.

#![cfg(unix)]

use std::path::Path;
use std::process::{Command, Stdio};

use syncscope_core::run_directory::RunDirectory;

/// The warnings in `run.json` after a run of the compare-and-swap hand-off on the topology `description`.
fn warnings(description: &str, preset: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let output = Command::new(env!("CARGO_BIN_EXE_syncscope"))
        .args(["run", "--preset", preset, "--only", "cpu.handoff.cas_pingpong", "--out", out.to_str().unwrap()])
        .env("HWLOC_SYNTHETIC", description)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{messages}");
    let directory = RunDirectory::open(Path::new(&out)).unwrap();
    assert!(directory.read_rows().unwrap().iter().all(|row| row.verdict.name() == "Skipped"));
    let run = directory.read_run().unwrap();
    assert_eq!(run.measured_topology, None, "nothing was measured");
    let is_shown =
        |warning: &String| messages.split_whitespace().collect::<String>().contains(&warning.replace(' ', ""));
    assert!(run.warnings.iter().all(is_shown), "a warning of run.json was not shown: {messages}");
    run.warnings
}

#[test]
fn a_sample_of_the_pairs_has_a_warning() {
    let sampled = |description, preset| {
        warnings(description, preset).into_iter().filter(|text| text.contains("is a sample of")).collect::<Vec<_>>()
    };
    assert_eq!(sampled("pack:1 [numa] l3:1 core:32 pu:1", "quick"), Vec::<String>::new());
    let large = sampled("pack:2 [numa] l3:2 core:16 pu:2", "quick");
    assert!(large.len() == 1 && large[0].contains("256 of 8128 pairs"), "{large:?}");
}
