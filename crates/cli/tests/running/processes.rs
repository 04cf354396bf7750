//! Cases that run in processes of their own, on the real CPU: they check their work, and a lost worker ends its case
//! and not the run.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{command, stderr};
use syncscope_core::run_directory::RunDirectory;
use syncscope_core::{Form, Row, Verdict};

const LIMIT: Duration = Duration::from_secs(120);

fn run(preset: &str, only: &str, out: &str) -> Command {
    let mut command = command(&["run", "--preset", preset, "--only", only, "--budget", "20s", "--out", out]);
    // Shorter than the limit of this test: only the limit of a step ends the wait for a stopped worker.
    command.env_remove("SYNCSCOPE_FAKE").env("SYNCSCOPE_STEP_LIMIT", "40s");
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn rows(out: &Path) -> Vec<Row> {
    RunDirectory::open(out).unwrap().read_rows().unwrap()
}

#[test]
fn processes_check_their_work() {
    let folder = tempfile::tempdir().unwrap();
    // Only the mutex's cases of one thread have a process of their own.
    for (only, words) in [("cpu.process.*", &[][..]), ("cpu.lock.pthread_mutex", &["--threads", "1"])] {
        let out = folder.path().join(&only[4..8]);
        // The preset with the fewest blocks of a case.
        let done = run("paper", only, out.to_str().unwrap()).args(words).output().unwrap();
        let rows = rows(&out);
        let in_processes = |row: &&Row| {
            row.case.form == Some(Form::OneThreadProcess) || row.case.primitive.starts_with("cpu.process.")
        };
        assert!(rows.iter().any(|row| in_processes(&row)), "{}", stderr(&done));
        for row in rows.iter().filter(in_processes) {
            // A busy machine may interfere, but no addition is lost and no barrier is left early.
            assert!(!matches!(row.verdict, Verdict::Failed(_) | Verdict::Skipped(_)), "{} {}", row.case, row.verdict);
            assert!(row.verdict.is_failure() || row.check == Some(true), "{} {}", row.case, row.verdict);
        }
    }
}

/// A policy of an OpenMP runtime holds in the process that has the runtime, whatever the environment says; the process proves it.
#[test]
fn a_policy_of_openmp_has_a_process_of_its_own() {
    if syncscope_cpu::team::openmp::runtime("libgomp").is_err() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut run = run("standard", "cpu.openmp.barrier", out.to_str().unwrap());
    let done = run.args(["--threads", "2"]).env("GOMP_SPINCOUNT", "7").output().unwrap();
    let rows = rows(&out);
    let policies = [("passive", "sleep at once (OMP_WAIT_POLICY=passive)"), ("brief", "(GOMP_SPINCOUNT=10000)")];
    for (policy, words) in policies {
        let of_policy = |row: &&Row| row.case.group_word() == format!("libgomp {policy}");
        let row = rows.iter().find(of_policy).unwrap_or_else(|| panic!("{}", stderr(&done)));
        assert!(!matches!(row.verdict, Verdict::Failed(_) | Verdict::Skipped(_)), "{} {}", row.case, row.verdict);
        assert!(row.verdict.is_failure() || row.check == Some(true), "{} {}", row.case, row.verdict);
        let said = row.explanation();
        assert!(said.contains(words), "{said}");
    }
}

/// The worker processes of a run, once it has several that wait for requests or work.
fn workers(of: &Child) -> Vec<u32> {
    let started = Instant::now();
    loop {
        let pids =
            fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_worker = |pid: &u32| {
            let arguments = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            // Between the workers and the run are a guard and the process that measures, which starts the workers.
            let mut ancestors = std::iter::successors(Some(*pid), |pid| parent(*pid));
            arguments.contains("--worker-process") && ancestors.any(|pid| pid == of.id())
        };
        let found: Vec<u32> = pids.filter(is_worker).collect();
        if found.len() >= 2 {
            return found;
        }
        assert!(started.elapsed() < LIMIT, "no worker was started");
        sleep(Duration::from_millis(5));
    }
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok())
}

/// Whether a process exists and is not a zombie: nobody may reap the orphans of a run.
fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

/// Sends a signal to a worker of a run, and returns the rows at the end of the run.
fn rows_after(signal: &str) -> Vec<Row> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    // These waits have no limit of their own.
    let mut run =
        run("standard", "cpu.process.pthread_*", out.to_str().unwrap()).stderr(Stdio::null()).spawn().unwrap();
    let all = workers(&run);
    assert!(Command::new("kill").args([signal, &all[0].to_string()]).status().unwrap().success());
    let killed = Instant::now();
    while run.try_wait().unwrap().is_none() {
        assert!(killed.elapsed() < LIMIT, "the run hangs");
        sleep(Duration::from_millis(20));
    }
    assert!(!all.into_iter().any(is_alive), "a worker outlives its run");
    rows(&out)
}

/// Killing a worker from outside spoils no case: the case is measured again.
#[test]
fn a_worker_that_is_killed_costs_no_case() {
    let rows = rows_after("-KILL");
    assert!(!rows.is_empty() && !rows.iter().any(|row| row.verdict.is_failure()), "{rows:?}");
}

#[test]
fn a_worker_that_stands_still_times_out() {
    let rows = rows_after("-STOP");
    // The worker may stop in a sample or in the check, and an unfinished check has failed.
    let is_late = |row: &Row| match &row.verdict {
        Verdict::TimedOut(_) => true,
        Verdict::Failed(reason) => reason.contains("not done after"),
        _ => false,
    };
    assert!(rows.iter().any(is_late), "{rows:?}");
}

#[test]
fn a_run_that_is_killed_leaves_no_worker() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = run("standard", "cpu.process.pthread_*", folder.path().join("run").to_str().unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let all = workers(&run);
    run.kill().unwrap();
    run.wait().unwrap();
    let killed = Instant::now();
    while all.iter().any(|pid| is_alive(*pid)) {
        assert!(killed.elapsed() < LIMIT, "a worker outlives its run");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_worker_without_a_parent_says_so() {
    let start = r#"{"number":0,"workers":1,"cpus":[null],"parent":0,"socket":0,"descriptors":[0]}"#;
    let (mut here, there) = UnixStream::pair().unwrap();
    let mut worker = command(&["--worker-process", start]);
    assert!(!worker.stdin(OwnedFd::from(there)).status().unwrap().success());
    drop(worker);
    let mut answer = String::new();
    here.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("{\"Err\":") && answer.contains("has ended"), "{answer}");
    assert_eq!(answer.lines().count(), 1);
}
