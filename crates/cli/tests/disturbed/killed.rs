//! Kills and limits from outside: each row equals the row of an undisturbed run or is missing, even after the run is resumed.

use std::collections::BTreeMap;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use fastrand::Rng;
use syncscope_core::run::Status;
use syncscope_core::run_directory::RunDirectory;
use syncscope_core::{Case, Row};

use crate::common::{command, program, stderr};
use crate::traces::{LONG, Place, code_within, parent_of, send, until};

const RUN: [&str; 6] = ["run", "--seed", "1", "--only", "cpu.[fl]*.*", "--no-history"];
const FAKE: &str = "threads=8";

/// The facts of a row that do not depend on the available time.
fn facts(row: &Row) -> (bool, Option<bool>, bool) {
    (row.verdict.is_failure(), row.check, row.ns.is_some())
}

fn rows(directory: &RunDirectory) -> BTreeMap<Case, Row> {
    directory.read_rows().unwrap().into_iter().map(|row| (row.case.clone(), row)).collect()
}

fn undisturbed() -> BTreeMap<Case, Row> {
    let place = Place::new();
    let mut child = place.command(&RUN).env("SYNCSCOPE_FAKE", FAKE).spawn().unwrap();
    assert_eq!(code_within(&mut child, LONG, &place), Some(0), "{}", place.errors());
    rows(&place.run())
}

/// Checks that finished rows are as in an undisturbed run, and no case is blamed.
fn assert_as(quiet: &BTreeMap<Case, Row>, place: &Place, when: &str) {
    for (case, row) in rows(&place.run()) {
        let is_last = !row.provisional;
        if is_last {
            assert_eq!(facts(&row), facts(&quiet[&case]), "{when}: {row:?}");
            let [a, b] = [&row, &quiet[&case]].map(|row| row.ns.map_or(0.0, |ns| ns.0));
            assert!((a - b).abs() <= 0.2 * b.abs() + 0.2, "{when}: {case} costs {a}, undisturbed {b}");
        } else {
            assert!(row.ns.is_some() || row.verdict.is_failure(), "{when}: {row:?}");
        }
    }
}

fn resume(place: &Place, quiet: &BTreeMap<Case, Row>, when: &str) {
    let path = place.path("run");
    let resumed = command(&["run", "--resume", path.to_str().unwrap()]).env("SYNCSCOPE_FAKE", FAKE).output().unwrap();
    let is_complete = stderr(&resumed).contains("is complete");
    assert!(resumed.status.code() == Some(0) || is_complete, "{when}: {}", stderr(&resumed));
    assert_as(quiet, place, when);
    let all = rows(&place.run());
    assert!(all.len() == quiet.len() && all.values().all(|row| !row.provisional), "{when}");
    assert_eq!(place.run().read_run().unwrap().status, Status::Done, "{when}");
}

/// A process of the command is killed at a random time, up to three times.
#[test]
fn kills_from_outside_are_no_verdict() {
    let quiet = undisturbed();
    let mut rng = Rng::with_seed(11);
    for round in 0..8 {
        let place = Place::new();
        let mut child = place.command(&RUN).env("SYNCSCOPE_FAKE", FAKE).spawn().unwrap();
        let signal = [libc::SIGKILL, libc::SIGTERM, libc::SIGXCPU, libc::SIGALRM][round % 4];
        until("it begins", || RunDirectory::open(&place.path("run")).is_ok());
        for _ in 0..=round % 3 {
            sleep(Duration::from_millis(rng.u64(0..600)));
            let command = child.id().cast_signed();
            let others: Vec<i32> = place.processes().into_iter().map(|(process, _)| process).collect();
            // The process that measures is the last in the chain of parents.
            let is_parent = |process: i32| others.iter().any(|other| parent_of(*other) == process);
            let last = others.iter().copied().find(|process| *process != command && !is_parent(*process));
            let chosen = if round % 5 == 4 { rng.choice(others.iter().copied()) } else { last };
            if let Some(process) = chosen {
                send(process, signal);
            }
        }
        code_within(&mut child, LONG, &place);
        let when = format!("round {round}, signal {signal}: {}", place.errors());
        place.assert_empty(&when);
        assert!(!place.errors().contains("memory ran out"), "{when}");
        assert_as(&quiet, &place, &when);
        resume(&place, &quiet, &when);
    }
}

/// Limits of `ulimit` are named, and the cases that they ended are measured when the run is resumed without them.
#[test]
fn limits_are_named_and_no_verdict() {
    let quiet = undisturbed();
    for (option, limits, names) in [
        ("-f", &[40, 100][..], &["allow larger files (`ulimit -f`)"][..]),
        ("-t", &[1], &["ulimit -t"]),
        ("-v", &[400_000], &[]),
    ] {
        for limit in limits {
            let place = Place::new();
            let fake = if option == "-t" { "threads=200" } else { FAKE };
            let mut of_shell = Command::new("bash");
            let plain = place.command(&RUN);
            of_shell.args(["-c", &format!("ulimit {option} {limit}; exec \"$0\" \"$@\""), &program()]);
            of_shell.args(plain.get_args()).current_dir(place.path(""));
            of_shell.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
            of_shell.stdout(std::process::Stdio::null()).stderr(std::fs::File::create(place.path("stderr")).unwrap());
            let mut child = of_shell.env("SYNCSCOPE_FAKE", fake).spawn().unwrap();
            code_within(&mut child, LONG, &place);
            let when = format!("ulimit {option} {limit}: {}", place.errors());
            place.assert_empty(&when);
            assert!(!place.errors().contains("memory ran out"), "{when}");
            let ended = place.errors().contains("error: ");
            assert!(!ended || names.is_empty() || names.iter().any(|name| place.errors().contains(name)), "{when}");
            if option != "-t" && RunDirectory::open(&place.path("run")).is_ok() {
                assert_as(&quiet, &place, &when);
                resume(&place, &quiet, &when);
            }
        }
    }
}
