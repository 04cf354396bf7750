//! `run --repeat`: joins runs, even if they are ended, killed or removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{command, error_line, output, path, signal, stderr};
use syncscope_core::Run;
use syncscope_core::run::Status;
use syncscope_core::run_directory::RunDirectory;

/// Changes the folder of a complete run to its state after the first of its runs.
pub(crate) fn leave_the_first_alone(out: &Path) {
    let joined = RunDirectory::open(out).unwrap();
    let run = joined.read_run().unwrap();
    for number in 2..=run.repeat.unwrap() {
        fs::remove_dir_all(out.join(format!("repeat-{number}"))).unwrap();
    }
    let first = RunDirectory::open(&out.join("repeat-1")).unwrap();
    fs::copy(first.measurements(), joined.measurements()).unwrap();
    joined.write_run(&Run { status: Status::Interrupted, ..run }).unwrap();
}

fn status(folder: &Path) -> Option<Status> {
    RunDirectory::open(folder).and_then(|directory| directory.read_run()).ok().map(|run| run.status)
}

fn repeat(out: &str, number: u32) -> PathBuf {
    Path::new(out).join(format!("repeat-{number}"))
}

fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Starts two runs that take half a minute each.
fn slow(out: &str) -> Child {
    let words = ["run", "--out", out, "--repeat", "2", "--seed", "7"];
    start(command(&words).env("SYNCSCOPE_FAKE", "dwell=20ms"))
}

fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_there() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn repeated_runs_are_joined_and_their_folders_stay() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "run");
    let run = output(&["run", "--only", "cpu.atomic.add", "--repeat", "3", "--seed", "7", "--out", &out]);
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    let joined = RunDirectory::open(Path::new(&out)).unwrap();
    let rows = joined.read_rows().unwrap();
    assert_eq!(joined.read_run().unwrap().repeat, Some(3));
    assert!(rows.len() == 4 && rows.iter().all(|row| row.runs == Some(3)), "{rows:?}");
    for number in 1..=3 {
        let single = RunDirectory::open(&repeat(&out, number)).unwrap();
        assert_eq!(single.read_run().unwrap().status, Status::Done);
        assert_eq!(single.read_rows().unwrap().len(), rows.len());
    }
    assert!(joined.report().is_file());
    // A run that ended after its first run measures the others as they were planned.
    leave_the_first_alone(joined.path());
    let resumed = output(&["run", "--resume", &out]);
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
    assert!(!stderr(&resumed).contains("run 1 of 3") && stderr(&resumed).contains("run 2 of 3"));
    let second = RunDirectory::open(&repeat(&out, 2)).unwrap().read_run().unwrap();
    assert_eq!((second.only, second.seed), (vec!["cpu.atomic.add".to_owned()], 9), "as the run was begun");
    assert!(joined.read_rows().unwrap().iter().all(|row| row.runs == Some(3)));
}

#[test]
fn rows_whose_runs_are_gone_are_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "run");
    output(&["run", "--only", "cpu.atomic.add", "--repeat", "2", "--out", &out]);
    let joined = RunDirectory::open(Path::new(&out)).unwrap();
    let before = fs::read(joined.measurements()).unwrap();
    let refused = |why: &str| {
        let resumed = output(&["run", "--resume", &out]);
        assert_eq!(resumed.status.code(), Some(2), "{}", stderr(&resumed));
        assert!(error_line(&resumed).contains(why), "{}", stderr(&resumed));
        assert!(fs::read(joined.measurements()).unwrap() == before, "the rows are other ones");
    };
    refused("is complete");
    // A stored run has no folders of its runs.
    fs::remove_dir_all(repeat(&out, 1)).unwrap();
    fs::remove_dir_all(repeat(&out, 2)).unwrap();
    refused("is complete");
    joined.write_run(&Run { status: Status::BudgetSpent, ..joined.read_run().unwrap() }).unwrap();
    refused("put the folders back");
    assert!(!repeat(&out, 1).exists(), "nothing was measured");
}

#[test]
fn repeated_runs_that_a_budget_cuts_off_are_not_complete() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "run");
    let mut run = command(&["run", "--out", &out, "--repeat", "2", "--budget", "3s"]);
    let run = run.env("SYNCSCOPE_FAKE", "dwell=20ms").output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    assert_eq!(status(Path::new(&out)), Some(Status::BudgetSpent));
    assert!(stderr(&run).contains("--resume"), "{}", stderr(&run));
}

#[test]
fn repeated_runs_that_cannot_begin_leave_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "run");
    for (words, why) in [(["--budget", "2s"], "3 s or more"), (["--only", "cpu.bogus"], "matches no primitive")] {
        let run = output(&[&["run", "--out", &out, "--repeat", "3"], &words[..]].concat());
        assert_eq!(run.status.code(), Some(2), "{}", stderr(&run));
        assert!(stderr(&run).contains(why), "{}", stderr(&run));
        assert!(!Path::new(&out).exists(), "{words:?}");
    }
}

#[test]
fn a_signal_to_the_process_alone_ends_the_run_under_way() {
    for number in [libc::SIGTERM, libc::SIGINT] {
        let folder = tempfile::tempdir().unwrap();
        let out = path(folder.path(), "run");
        let mut run = slow(&out);
        let first = || RunDirectory::open(&repeat(&out, 1)).ok();
        wait_for("no row appeared", || first().is_some_and(|first| first.read_rows().is_ok_and(|rows| rows.len() > 1)));
        let asked = Instant::now();
        signal(&run, number);
        assert_eq!(run.wait().unwrap().code(), Some(1));
        assert!(asked.elapsed() < Duration::from_secs(15), "the run was killed, not asked");
        assert_eq!([Path::new(&out), &repeat(&out, 1)].map(status), [Some(Status::Interrupted); 2]);
        assert!(!repeat(&out, 2).exists());
        let record = first().unwrap().read_run().unwrap().sessions;
        assert_eq!(record.len(), 1, "what the run met stands in its run.json");
    }
}

#[test]
fn a_signal_between_short_runs_ends_them_all() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "run");
    let words = ["run", "--out", &out, "--repeat", "100", "--only", "cpu.fence.flush"];
    let mut run = start(&mut command(&words));
    wait_for("no run was complete", || status(&repeat(&out, 1)) == Some(Status::Done));
    signal(&run, libc::SIGTERM);
    assert_eq!(run.wait().unwrap().code(), Some(1));
    assert_eq!(status(Path::new(&out)), Some(Status::Interrupted));
    assert!(!repeat(&out, 100).exists());
}

#[test]
fn repeated_runs_that_are_killed_in_the_first_one_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "run");
    let words = ["run", "--out", &out, "--repeat", "2", "--only", "cpu.atomic.add", "--seed", "7"];
    let mut run = start(command(&words).env("SYNCSCOPE_FAKE", "dwell=20ms"));
    wait_for("no run began", || status(&repeat(&out, 1)).is_some());
    run.kill().unwrap();
    run.wait().unwrap();
    let ended = output(&["run", "--resume", &out]);
    assert_eq!(ended.status.code(), Some(0), "{}", stderr(&ended));
    let joined = RunDirectory::open(Path::new(&out)).unwrap();
    assert_eq!((joined.read_run().unwrap().status, joined.read_run().unwrap().repeat), (Status::Done, Some(2)));
    assert!(joined.read_rows().unwrap().iter().all(|row| row.runs == Some(2)));
}

#[test]
fn repeated_runs_that_are_killed_before_the_first_one_begins_can_be_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "run");
    let words = ["run", "--out", &out, "--repeat", "2", "--only", "cpu.atomic.add", "--seed", "7", "--time", "2s"];
    let mut run = start(&mut command(&words));
    wait_for("no run.json appeared", || status(Path::new(&out)).is_some());
    run.kill().unwrap();
    run.wait().unwrap();
    // A process may have been killed between the first two files of its folder.
    if status(&repeat(&out, 1)).is_none() {
        fs::create_dir_all(repeat(&out, 1)).unwrap();
        fs::write(repeat(&out, 1).join("measurements.csv"), "").unwrap();
    }
    let report = output(&["report", &out]);
    assert_eq!(report.status.code(), Some(0), "{}", stderr(&report));
    let resumed = output(&["run", "--resume", &out]);
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
    assert_eq!(status(Path::new(&out)), Some(Status::Done));
    let first = RunDirectory::open(&repeat(&out, 1)).unwrap().read_run().unwrap();
    assert_eq!((first.only, first.seed), (vec!["cpu.atomic.add".to_owned()], 8), "as the run was begun");
    assert_eq!(first.time_s, Some(2.0));
}

#[test]
fn a_killed_process_leaves_none_that_measures() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "run");
    let mut run = slow(&out);
    wait_for("no run began", || status(&repeat(&out, 1)).is_some());
    run.kill().unwrap();
    run.wait().unwrap();
    let first = RunDirectory::open(&repeat(&out, 1)).unwrap();
    wait_for("the run goes on", || first.lock().is_ok());
    assert_eq!(status(first.path()), Some(Status::Running), "it was ended");
}

#[test]
fn one_process_at_a_time_works_in_the_folder_of_repeated_runs() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "run");
    output(&["run", "--only", "cpu.atomic.add", "--repeat", "2", "--out", &out]);
    leave_the_first_alone(Path::new(&out));
    let lock = RunDirectory::open(Path::new(&out)).unwrap().lock().unwrap();
    let refused = output(&["run", "--resume", &out]);
    assert_eq!(refused.status.code(), Some(1), "{}", stderr(&refused));
    assert!(error_line(&refused).contains("in use by another"), "{}", stderr(&refused));
    assert!(!repeat(&out, 2).exists());
    drop(lock);
    assert_eq!(output(&["run", "--resume", &out]).status.code(), Some(0));
}
