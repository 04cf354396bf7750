//! The experiments in `results/` are read and drawn by this version.

#![allow(clippy::unwrap_used, reason = "what a test needs and does not get fails the test")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use syncscope_core::run::Status;
use syncscope_core::run_directory::RunDirectory;
use syncscope_core::stored_run::{stored_experiments, stored_runs};
use syncscope_core::{Row, Run, Verdict};
use syncscope_papers::crosscheck::findings::most_certain;
use syncscope_papers::crosscheck::{Crosscheck, Executor, Form, Operation};
use syncscope_papers::{EXPERIMENTS, load, load_with_sections};
use syncscope_report::{Truth, findings};

fn results() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results")
}

#[test]
fn every_stored_experiment_is_read_and_drawn() {
    let mut names = BTreeSet::new();
    for directory in [stored_runs(&results()).unwrap(), stored_experiments(&results()).unwrap()].concat() {
        let (data, sections) = load_with_sections(directory.path(), Arc::default()).unwrap();
        if sections.is_empty() {
            continue;
        }
        let name = directory.path().display();
        assert_eq!(data.run.status, Status::Done, "{name}");
        assert_eq!(data.damage.warnings().collect::<Vec<_>>(), [] as [String; 0], "{name}");
        let claims = findings(&data, sections.iter().flat_map(|section| section.claims.clone()))
            .into_iter()
            .filter(|claim| claim.measured);
        // Predictions alone come from rows, of which a run on a busy machine may have resolved none.
        let is_experiment = sections.iter().any(|section| section.name != "reductions");
        let is_known = |row: &Row| row.verdict == Verdict::Resolved;
        let decided = claims.filter(|claim| claim.outcome.verdict != Truth::Open).count();
        assert!(decided > 1 || !is_experiment && !data.rows.iter().any(is_known), "{name}");
        // Without rows of a GPU, reductions have a line for each number of elements.
        let fewest = if data.rows.iter().all(|row| row.case.is_on_cpus()) { 5 } else { 20 };
        for section in &sections {
            let text = section.to_string();
            assert!(text.lines().count() > fewest && !text.contains("NaN"), "{name}: {text}");
            names.insert(section.name);
        }
    }
    let all: BTreeSet<&str> = EXPERIMENTS.iter().map(|experiment| experiment.name).chain(["reductions"]).collect();
    assert_eq!(names, all, "one of each is stored");
}

/// What crosscheck promises of a sound machine: known costs are right by both clocks, and unknown ones agree.
#[test]
fn a_stored_crosscheck_is_right_by_both_clocks() {
    let run = RunDirectory::open(&results().join("h200-paper")).unwrap();
    let rows = Crosscheck::read(&run, &mut Vec::new()).unwrap().unwrap().rows;
    let of = |operation| most_certain(&rows, Executor::Gpu, operation, Form::Looped, Some(32)).unwrap();
    let addition = of(Operation::FloatAddition);
    for cycles in [addition.inside_cycles, addition.inferred_cycles] {
        assert!((cycles.unwrap() / 4.0 - 1.0).abs() < 0.01, "{addition:?}");
    }
    let barrier = of(Operation::GridBarrier);
    assert!(barrier.disagreement().unwrap().abs() < 0.02, "{barrier:?}");
}

#[test]
fn an_experiment_without_its_table_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let directory = RunDirectory::create_for_experiment(&folder.path().join("run")).unwrap();
    directory.write_run(&Run::new("asynchrony", SystemTime::UNIX_EPOCH)).unwrap();
    let warnings = || load(directory.path(), Arc::default()).unwrap().damage.warnings().collect::<Vec<_>>();
    let expected = ["asynchrony.csv is missing or has no rows; measure again with `syncscope paper asynchrony`"];
    assert_eq!(warnings(), expected);
    let file = directory.path().join("asynchrony.csv");
    std::fs::write(&file, "variant,block_threads,position\n").unwrap();
    assert_eq!(warnings(), expected);
    let line = "variant,block_threads,position,components,executions,inconsistencies\nglobal,64,0,4,9,0\n";
    std::fs::write(&file, line).unwrap();
    assert_eq!(warnings(), Vec::<String>::new());
}
