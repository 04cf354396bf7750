//! Runs that are killed at any moment lose nothing that was finished. `SYNCSCOPE_KILLS=200` tries more moments.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what a test needs and does not get fails the test")]

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{command, stderr};
use fastrand::Rng;
use syncscope_core::run_directory::RunDirectory;
use syncscope_core::{Case, Row};

/// A fake of 80 cases, which take some seconds.
const FAKE: &str = "threads=20";
const NEW: [&str; 8] = ["run", "--seed", "3", "--only", "cpu.atomic.add", "--only", "cpu.[fl]*.*", "--out"];

fn start(words: &[&str]) -> Child {
    command(words).env("SYNCSCOPE_FAKE", FAKE).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The rows of the cases that are finished.
fn finished(folder: &Path) -> BTreeMap<Case, Row> {
    // The run may not have begun to write.
    let Ok(directory) = RunDirectory::open(folder) else { return BTreeMap::new() };
    let rows = directory.read_rows().unwrap_or_else(|error| panic!("after a kill: {error}"));
    rows.into_iter().filter(|row| !row.provisional).map(|row| (row.case.clone(), row)).collect()
}

/// What goes on with the run in `path`, or begins it. A process that was killed before it wrote `run.json` left no run.
fn words(path: &Path) -> Vec<&str> {
    let out = path.to_str().unwrap();
    if path.join("run.json").is_file() {
        return vec!["run", "--resume", out];
    }
    let _ = std::fs::remove_dir_all(path);
    [&NEW[..], &[out]].concat()
}

fn kills() -> u32 {
    std::env::var("SYNCSCOPE_KILLS").ok().map_or(8, |count| count.parse().unwrap())
}

#[test]
fn what_was_finished_survives_kills_and_the_rest_is_resumed() {
    let mut rng = Rng::with_seed(7);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let mut before = BTreeMap::new();
    for kill in 0..kills() {
        let mut child = start(&words(&path));
        sleep(Duration::from_micros(rng.u64(0..1_000_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        let after = finished(&path);
        for (case, row) in &before {
            assert_eq!(after.get(case), Some(row), "kill {kill} lost or changed a finished row");
        }
        before = after;
        if RunDirectory::open(&path).is_ok_and(|run| run.read_run().unwrap().ended.is_some()) {
            // All is measured: begin anew.
            std::fs::remove_dir_all(&path).unwrap();
            before.clear();
        }
    }
    let last = command(&words(&path)).env("SYNCSCOPE_FAKE", FAKE).output().unwrap();
    assert!(last.status.success(), "{}", stderr(&last));
    let whole = folder.path().join("whole");
    let uninterrupted = command(&[&NEW[..], &[whole.to_str().unwrap()]].concat()).env("SYNCSCOPE_FAKE", FAKE).output();
    assert!(uninterrupted.unwrap().status.success());
    let cases = |path: &Path| finished(path).into_keys().collect::<Vec<Case>>();
    assert_eq!(cases(&path), cases(&whole), "the cases of an uninterrupted run");
    let resumed = finished(&path);
    assert!(before.iter().all(|(case, row)| resumed.get(case) == Some(row)), "finished rows stay as they are");
}

/// The second process ends at once, and the first one's run is whole.
#[test]
fn two_processes_do_not_write_into_one_directory() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let mut first = start(&[&NEW[..], &[out]].concat());
    let deadline = Instant::now() + Duration::from_secs(20);
    while RunDirectory::open(folder.path()).is_err() {
        assert!(Instant::now() < deadline, "the first run does not begin");
        sleep(Duration::from_millis(5));
    }
    for words in [vec!["run", "--resume", out], [&NEW[..], &[out]].concat()] {
        let second = command(&words).env("SYNCSCOPE_FAKE", FAKE).output().unwrap();
        assert!(!second.status.success(), "{words:?}");
        let text = stderr(&second);
        assert!(text.contains("in use by another syncscope") || text.contains("is not empty"), "{text}");
    }
    assert!(first.wait().unwrap().success());
    assert_eq!(finished(folder.path()).len(), 80);
}
