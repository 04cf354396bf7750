//! Storing a run of the command, on fakes (`SYNCSCOPE_FAKE`).

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use syncscope_core::run_directory::RunDirectory;
use syncscope_core::stored_samples::cost_of;
use syncscope_core::{Actor, Row, stored_run};

fn syncscope(words: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_syncscope"));
    let output = command.args(words).env("SYNCSCOPE_FAKE", "").stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A finished run, and its stored form.
fn run_and_store(folder: &Path) -> (RunDirectory, RunDirectory) {
    let out = folder.join("machine");
    syncscope(&["run", "--out", out.to_str().unwrap(), "--seed", "7"]);
    let run = RunDirectory::open(&out).unwrap();
    let stored = stored_run::store(&run, &folder.join("results"), "machine").unwrap();
    (run, stored)
}

#[test]
fn point_and_interval_of_a_row_follow_from_its_samples() {
    let folder = tempfile::tempdir().unwrap();
    let (run, _) = run_and_store(folder.path());
    let samples = run.read_samples().unwrap();
    let rows = run.read_rows().unwrap();
    let processes = run.read_run().unwrap().sessions[0].processes.clone();
    let measured: Vec<&Row> = rows.iter().filter(|row| row.pairs.is_some_and(|pairs| pairs > 0)).collect();
    assert!(measured.len() >= 8, "{}", measured.len());
    for row in measured {
        let pairs = &samples[&row.case.id()];
        let counted = pairs.iter().filter(|pair| pair.set_aside.is_none()).count();
        assert_eq!(Some(counted as u64), row.pairs, "{}", row.case);
        assert_eq!(Some((pairs.len() - counted) as u64), row.excluded, "{}", row.case);
        let shares_nothing = row.case.is_on_cpus() && row.actor == Some(Actor::Median);
        let (found, interval) = cost_of(pairs, &processes, shares_nothing).unwrap();
        // The clock of the fakes has steps of one tick, and no interval is narrower than a step on either side.
        let step = pairs
            .iter()
            .map(|pair| (pair.ns / pair.test_ticks.minus(pair.baseline_ticks)).abs())
            .find(|step| step.is_finite());
        let interval = interval.at_least(found, step.unwrap());
        let expected = row.ns_within.unwrap();
        // Samples and rows have seven significant digits.
        let margin = 1e-5 * expected.half_width().max(expected.high.abs());
        let agree = |a: f64, b: f64| assert!((a - b).abs() <= margin, "{}: {a} is not {b}", row.case);
        agree(found, row.ns.unwrap().value());
        agree(interval.low, expected.low);
        agree(interval.high, expected.high);
    }
}

#[test]
fn the_page_of_a_stored_run_is_that_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let (run, stored) = run_and_store(folder.path());
    assert!(!stored.report().exists());
    syncscope(&["report", stored.path().to_str().unwrap()]);
    assert_eq!(fs::read(stored.report()).unwrap(), fs::read(run.report()).unwrap());
}
