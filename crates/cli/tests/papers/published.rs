//! The commands of published experiments from the outside, without a GPU.

#![cfg(unix)]

use std::fs;
use std::path::Path;

use crate::common::{output, stderr};
use syncscope_core::published::crosscheck::Crosscheck;
use syncscope_core::run_directory::RunDirectory;
use syncscope_core::{Published, PublishedExperiment};

/// The directory of an experiment, from the `run.json` of a run with fakes.
fn experiment(folder: &Path, experiment: PublishedExperiment) -> RunDirectory {
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
    let output = output(&["crosscheck", "--out", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = stderr(&output);
    assert!(text.contains("`syncscope crosscheck` measures a CUDA device of compute capability 7.5"), "{text}");
    assert!(!out.exists());
}

#[test]
fn the_directory_of_an_experiment_has_a_page_alone_and_beside_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let directory = experiment(folder.path(), PublishedExperiment::Crosscheck);
    Crosscheck::default().write(&directory).unwrap();
    assert!(Published::read(&directory).unwrap().crosscheck.is_some());
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
    let directory = experiment(folder.path(), PublishedExperiment::Timeline);
    let mut run = directory.read_run().unwrap();
    run.status = syncscope_core::run::Status::Interrupted;
    directory.write_run(&run).unwrap();
    let output = output(&["run", "--resume", directory.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("`syncscope timeline`"), "{}", stderr(&output));
}
