//! The surroundings of a run change while it measures: its rows are as without the change, or missing. On the real CPU; the tests
//! assert facts (which processes measured, which messages), not times.

#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::common::cgroup::Quota;
use crate::common::{program, stderr};
use syncscope_core::run::Status;
use syncscope_core::run_directory::RunDirectory;
use syncscope_core::{Row, Run, Verdict};

const LIMIT: Duration = Duration::from_secs(120);

/// A small run of two threads on the real CPU; `None` where there is only one CPU.
fn small_run(program: &Path, out: &Path) -> Option<Command> {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        eprintln!("skipped: one CPU");
        return None;
    }
    let mut command = Command::new(program);
    command.args(["run", "--only", "cpu.barrier.sense", "--threads", "2", "--no-history", "--budget", "6s", "--out"]);
    command.arg(out).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    Some(command)
}

/// The run, and the number of fresh processes that measured its case. (A row lists their costs only where each is above zero,
/// which the noise of other programs may prevent.)
fn measured(out: &Path) -> (Run, usize) {
    let run = RunDirectory::open(out).unwrap().read_run().unwrap();
    let processes = run.sessions.iter().map(|session| session.processes.len()).sum();
    (run, processes)
}

/// Whether other programs left the run too little CPU time for its budget, which the run says: then the amount measured proves
/// nothing.
fn is_starved(run: &Run, text: &str) -> bool {
    run.status == Status::BudgetSpent && text.contains("other programs used")
}

/// Whether several processes measured. The passes of a run take longer where other programs use the CPUs, which the run says:
/// fewer processes then get a part of its time.
fn has_its_processes(processes: usize, text: &str) -> bool {
    processes >= 2 || text.contains("other programs used")
}

/// Checks that several processes measured, unless other programs used the CPUs, and that there is no warning.
fn assert_undisturbed(ended: &Output, out: &Path, what: &str) {
    let text = stderr(ended);
    assert_eq!(ended.status.code(), Some(0), "{what}: {text}");
    let (run, processes) = measured(out);
    let is_measured = run.status == Status::Done && has_its_processes(processes, &text);
    assert!(is_measured || is_starved(&run, &text), "{what}: {processes} processes; {text}");
    for word in ["fresh process", "damaged", "could not", "CPUs of this process"] {
        assert!(!text.contains(word), "{what}: {text}");
    }
}

/// A runtime that binds the thread that loads it takes no CPU from other threads and processes, and the variables are recorded.
#[test]
fn binding_variables_leave_all_processes_their_cpus() {
    let folder = tempfile::tempdir().unwrap();
    let all: [&[(&str, &str)]; 3] = [
        &[("OMP_PROC_BIND", "close"), ("OMP_PLACES", "cores")],
        &[("GOMP_CPU_AFFINITY", "0-1"), ("KMP_AFFINITY", "compact")],
        &[("OMP_PLACES", "{0}"), ("OMP_WAIT_POLICY", "passive")],
    ];
    for (number, variables) in all.into_iter().enumerate() {
        let out = folder.path().join(number.to_string());
        let Some(mut command) = small_run(Path::new(&program()), &out) else { return };
        let ended = command.envs(variables.iter().copied()).output().unwrap();
        assert_undisturbed(&ended, &out, variables[0].0);
        let recorded = measured(&out).0.environment.variables.unwrap();
        for (name, value) in variables {
            assert_eq!(recorded.get(*name).map(String::as_str), Some(*value));
        }
    }
}

/// All processes that a process has started, directly or indirectly.
fn descendants(process: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    let children: Vec<u32> = list.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    children.into_iter().flat_map(|child| [vec![child], descendants(child)].concat()).collect()
}

/// Waits for the first row of a run.
fn wait_for_row(run: &mut Child, out: &Path) {
    let (started, table) = (Instant::now(), out.join("measurements.csv"));
    while fs::read_to_string(&table).unwrap_or_default().lines().count() < 2 {
        assert!(started.elapsed() < LIMIT && run.try_wait().unwrap().is_none(), "no row");
        sleep(Duration::from_millis(5));
    }
}

/// As a user or a daemon does: all threads of the processes that measure are moved to one CPU.
#[test]
fn threads_and_processes_that_are_moved_return_or_measure_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let Some(mut command) = small_run(Path::new(&program()), &out) else { return };
    let mut run = command.spawn().unwrap();
    wait_for_row(&mut run, &out);
    let mut moved = 0;
    while run.try_wait().unwrap().is_none() {
        for process in descendants(run.id()) {
            let move_to_first = Command::new("taskset").args(["-ap", "1", &process.to_string()]).output();
            let Ok(done) = move_to_first else { return eprintln!("skipped: no taskset") };
            moved += u32::from(done.status.success());
        }
        sleep(Duration::from_millis(400));
    }
    let ended = run.wait_with_output().unwrap();
    let text = stderr(&ended);
    assert!(moved > 1 && !text.contains("damaged"), "{moved}: {text}");
    let (run, processes) = measured(&out);
    if run.status == Status::Done {
        let rows = fs::read_to_string(out.join("measurements.csv")).unwrap();
        let is_measured = has_its_processes(processes, &text);
        assert!(ended.status.success() && is_measured, "{processes} processes; {moved} moved; {text}\n{rows}");
    } else if !is_starved(&run, &text) {
        // Each of the two was moved before it had begun.
        assert!(text.contains("it may use CPUs 0 instead of"), "{processes} processes; {moved} moved; {run:?}; {text}");
        assert!(ended.status.code() == Some(1) && run.without_processes.is_some(), "{run:?}");
    }
}

/// The processes of a run except the fresh ones, at a time when a fresh process measures, in the middle of the run. Empty where
/// the run ended before.
fn while_a_fresh_process_measures(run: &mut Child) -> Vec<u32> {
    let is_fresh = |process: &u32| {
        let command = fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default();
        command.contains("--fresh-process")
    };
    while run.try_wait().unwrap().is_none() {
        let (fresh, others): (Vec<u32>, Vec<u32>) = descendants(run.id()).into_iter().partition(is_fresh);
        if !fresh.is_empty() {
            return others;
        }
        sleep(Duration::from_millis(5));
    }
    Vec::new()
}

/// As daemons do that lower the priority of long-running processes, and users with `renice`.
#[test]
fn a_priority_that_changes_while_a_run_measures_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let Some(mut command) = small_run(Path::new(&program()), &out) else { return };
    let mut run = command.spawn().unwrap();
    for process in while_a_fresh_process_measures(&mut run) {
        let renice = Command::new("renice").args(["-n", "19", "-p", &process.to_string()]).output();
        let Ok(_) = renice else { return eprintln!("skipped: no renice") };
    }
    let ended = run.wait_with_output().unwrap();
    let (text, (run, _)) = (stderr(&ended), measured(&out));
    let says = |warning: &str| warning.contains("nice: 19 instead of not set");
    let is_said = says(&text) && run.all_warnings().any(|warning| says(&warning));
    assert!(is_starved(&run, &text) || is_said, "{:?}; {text}", run.warnings);
}

/// A small run in a group of its own, whose quota `change` changes while it measures: how it ended, and its directory.
fn with_a_changed_quota(change: impl FnOnce(&Quota)) -> Option<(Output, TempDir)> {
    let group = Quota::that_is_unlimited()?;
    let folder = tempfile::tempdir().unwrap();
    let plain = small_run(Path::new(&program()), &folder.path().join("run"))?;
    let mut command = group.command(&program());
    command.args(plain.get_args()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut run = command.spawn().unwrap();
    while_a_fresh_process_measures(&mut run);
    change(&group);
    Some((run.wait_with_output().unwrap(), folder))
}

/// As a service or container manager does: the group of the run gets less than the CPUs.
#[test]
fn a_quota_that_is_set_while_a_run_measures_is_said() {
    let Some((ended, folder)) = with_a_changed_quota(Quota::limit_to_half_a_cpu) else { return };
    let (text, (run, _)) = (stderr(&ended), measured(&folder.path().join("run")));
    let says = run.all_warnings().any(|warning| warning.contains("CPU quota: 0.5 CPUs instead of not set"));
    assert!(is_starved(&run, &text) || says, "{:?}; {text}", run.warnings);
}

/// The quota lasts some seconds: no file shows it before or after.
#[test]
fn a_quota_that_comes_and_goes_while_a_run_measures_is_said() {
    let for_a_while = |group: &Quota| {
        // The smallest quota: other programs leave the run more.
        group.set_quota("1000");
        sleep(Duration::from_secs(3));
        group.set_quota("-1");
    };
    let Some((ended, folder)) = with_a_changed_quota(for_a_while) else { return };
    let (text, (run, _)) = (stderr(&ended), measured(&folder.path().join("run")));
    let says = |warning: &str| warning.contains("a CPU quota kept this process's control group from the CPUs");
    let is_said = says(&text) && run.all_warnings().any(|warning| says(&warning));
    assert!(is_starved(&run, &text) || is_said, "{:?}; {text}", run.disturbed);
}

/// As `kill -STOP` and debuggers do: the process that measures waits until it is continued, and no case is to blame.
#[test]
fn a_process_that_is_stopped_has_not_hung() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut command = Command::new(program());
    command.args(["run", "--out"]).arg(&out).env("SYNCSCOPE_FAKE", "dwell=5ms").env("SYNCSCOPE_STEP_LIMIT", "10s");
    let mut run = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_row(&mut run, &out);
    let measures = descendants(run.id())[1];
    assert!(Command::new("kill").args(["-STOP", &measures.to_string()]).status().unwrap().success());
    let ended = run.wait_with_output().unwrap();
    let text = stderr(&ended);
    assert!(ended.status.success() && text.contains("was stopped (SIGSTOP, a debugger)"), "{text}");
    assert!(!text.contains("hung") && !text.contains("did not end within"), "{text}");
    let directory = RunDirectory::open(&out).unwrap();
    assert_eq!(directory.read_run().unwrap().status, Status::Done);
    let is_blamed = |row: &Row| row.verdict.is_failure() || matches!(row.verdict, Verdict::TimedOut(_));
    assert!(!directory.read_rows().unwrap().iter().any(is_blamed), "{text}");
}

/// A copy of the program in a folder of its own.
fn copy(folder: &Path) -> PathBuf {
    let copy = folder.join("syncscope");
    fs::copy(program(), &copy).unwrap();
    copy
}

/// As a build or an upgrade does: all processes start from the running file.
#[test]
fn a_program_that_is_replaced_or_deleted_goes_on_from_the_file_that_runs() {
    for is_replaced in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let (file, out) = (copy(folder.path()), folder.path().join("run"));
        let Some(mut command) = small_run(&file, &out) else { return };
        let mut run = command.spawn().unwrap();
        wait_for_row(&mut run, &out);
        fs::remove_file(&file).unwrap();
        if is_replaced {
            fs::write(&file, "#!/bin/sh\nexit 0\n").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        assert_undisturbed(&run.wait_with_output().unwrap(), &out, &format!("replaced: {is_replaced}"));
    }
}

/// After a crash, the next process also runs the same program.
#[test]
fn a_deleted_program_resumes_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (copy(folder.path()), folder.path().join("run"));
    let mut command = Command::new(&file);
    command.args(["run", "--out"]).arg(&out).env("SYNCSCOPE_FAKE", "dwell=20ms,fault=crashes");
    let mut run = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while descendants(run.id()).is_empty() && run.try_wait().unwrap().is_none() {
        sleep(Duration::from_millis(1));
    }
    fs::remove_file(&file).unwrap();
    let ended = run.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(3), "{}", stderr(&ended));
    assert!(stderr(&ended).contains("another process measures the rest"), "{}", stderr(&ended));
    assert_eq!(RunDirectory::open(&out).unwrap().read_run().unwrap().status, Status::Done);
}

/// Without `/proc` the program does not find its file: the run says so, and is not complete.
#[test]
fn a_run_whose_processes_cannot_start_is_not_complete() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    if small_run(Path::new(&program()), &out).is_none() {
        return;
    }
    let script = "\"$@\" & run=$!; until [ \"$(wc -l <\"$out/measurements.csv\" 2>/dev/null || echo 0)\" -gt 1 ]; do sleep 0.01; done
                  mount -t tmpfs tmpfs /proc; wait $run";
    let mut shell = Command::new("unshare");
    shell.args([
        "-Urm",
        "--propagation",
        "private",
        "sh",
        "-uc",
        script,
        "sh",
        &program(),
        "run",
        "--only",
        "cpu.barrier.sense",
    ]);
    shell.args(["--threads", "2", "--no-history", "--budget", "10s", "--out"]).arg(&out).env("out", &out);
    let Ok(ended) = shell.stdin(Stdio::null()).stdout(Stdio::null()).output() else {
        return eprintln!("skipped: no unshare");
    };
    let text = stderr(&ended);
    if !out.join("run.json").is_file() || text.contains("mount:") {
        return eprintln!("skipped: {text}");
    }
    assert_eq!(ended.status.code(), Some(1), "{text}");
    assert!(text.contains("is incomplete") && !text.contains("damaged"), "{text}");
    let (run, _) = measured(&out);
    assert!(run.status == Status::Interrupted && run.without_processes.is_some(), "{run:?}");
}
