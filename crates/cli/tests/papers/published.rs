//! The experiments of papers from the outside, without a GPU.

#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{output, stderr};
use syncscope_core::run_directory::RunDirectory;
use syncscope_papers::crosscheck::findings::objections;
use syncscope_papers::crosscheck::{Crosscheck, CrosscheckRow, Operation, REPEAT_DIFFERENCES};

/// The directory of an experiment, from the `run.json` of a run with fakes.
fn experiment(folder: &Path, experiment: &str) -> RunDirectory {
    let fake = folder.join("fake");
    let run = output(&["run", "--only", "cpu.atomic.add", "--out", fake.to_str().unwrap()]);
    assert!(run.status.success(), "{}", stderr(&run));
    let mut run = RunDirectory::open(&fake).unwrap().read_run().unwrap();
    run.preset = experiment.to_string();
    let directory = RunDirectory::create_for_experiment(&folder.join("experiment")).unwrap();
    directory.write_run(&run).unwrap();
    directory
}

#[test]
fn without_a_gpu_an_experiment_says_what_it_needs_and_leaves_no_directory() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let output = output(&["paper", "crosscheck", "--out", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = stderr(&output);
    assert!(text.contains("`syncscope paper crosscheck` measures a CUDA device of compute capability 7.5"), "{text}");
    assert!(text.contains("`--on cpu`") && text.lines().count() == 1, "{text}");
    assert!(!out.exists());
}

/// There are chains for x86-64 and AArch64.
#[test]
fn the_clocks_of_the_cpu_are_compared_without_a_gpu() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut command = Command::new(env!("CARGO_BIN_EXE_syncscope"));
    let words = ["paper", "crosscheck", "--on", "cpu", "--out", out.to_str().unwrap()];
    // Fakes have no clocks.
    let output = command.args(words).env_remove("SYNCSCOPE_FAKE").stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows = Crosscheck::read(&RunDirectory::open(&out).unwrap(), &mut Vec::new()).unwrap().unwrap().rows;
    let of = |operation| {
        let mut differences: Vec<u64> =
            rows.iter().filter(|row| row.operation == operation).map(CrosscheckRow::difference).collect();
        differences.sort_unstable();
        differences
    };
    assert_eq!(of(Operation::IntegerAddition), REPEAT_DIFFERENCES);
    assert_eq!(of(Operation::IntegerMultiplication), REPEAT_DIFFERENCES);
    assert_eq!(rows.len(), 2 * REPEAT_DIFFERENCES.len(), "nothing of a GPU");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("integer multiplication (CPU)") && !text.contains("instruction cache"), "{text}");
    // Each row that disagrees is marked in the table, and named with its reason above it.
    let marked: Vec<&CrosscheckRow> = rows.iter().filter(|row| !objections(row).is_empty()).collect();
    let summary = text.lines().find(|line| line.starts_with("CPU: ")).unwrap();
    let expected =
        if marked.is_empty() { "all 18 rows".to_owned() } else { format!("{} of 18 rows", 18 - marked.len()) };
    assert!(summary.contains(&expected), "{text}");
    for row in marked {
        let reason = objections(row).join("; ");
        assert!(text.contains(&reason), "{reason}: {text}");
    }
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("Both clocks in loops") && page.contains("No GPU was measured"));
    assert!(!page.contains("inferred from the CPU clock equals"), "a statement about GPUs");
}

#[test]
fn the_directory_of_an_experiment_has_a_page_alone_and_beside_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let directory = experiment(folder.path(), "crosscheck");
    let stored = concat!(env!("CARGO_MANIFEST_DIR"), "/../../results/h200-paper/crosscheck.csv");
    fs::copy(stored, directory.path().join("crosscheck.csv")).unwrap();
    assert!(Crosscheck::read(&directory, &mut Vec::new()).unwrap().is_some());
    let alone = output(&["report", directory.path().to_str().unwrap()]);
    assert_eq!(alone.status.code(), Some(0), "{}", stderr(&alone));
    let page = fs::read_to_string(directory.report()).unwrap();
    assert!(page.contains("<section class=\"published\" id=\"crosscheck\""));
    let (both, run) = (folder.path().join("both.html"), folder.path().join("fake"));
    let words = ["report", run.to_str().unwrap(), directory.path().to_str().unwrap(), "-o", both.to_str().unwrap()];
    let several = output(&words);
    assert_eq!(several.status.code(), Some(0), "{}", stderr(&several));
    assert!(fs::read_to_string(both).unwrap().contains("class=\"published-run\""));
}

#[test]
fn an_experiment_cannot_be_resumed_as_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let directory = experiment(folder.path(), "timeline");
    let mut run = directory.read_run().unwrap();
    run.status = syncscope_core::run::Status::Interrupted;
    directory.write_run(&run).unwrap();
    let output = output(&["run", "--resume", directory.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("`syncscope paper timeline`"), "{}", stderr(&output));
}
