//! The command from the outside, mostly with fake hardware (`SYNCSCOPE_FAKE`).

#![cfg(unix)]

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::{command, error_line, output, path, signal, stderr};
use syncscope_core::run::Status;
use syncscope_core::run_directory::RunDirectory;
use syncscope_core::{Row, Run};
use syncscope_gpu::verify::VERIFIED;

#[test]
fn nobody_has_to_read_what_a_run_says() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "run");
    let full = || fs::File::options().write(true).open("/dev/full").unwrap();
    let run = command(&["run", "--out", &out, "--only", "cpu.fence.flush"]).stderr(full()).output().unwrap();
    assert_eq!(run.status.code(), Some(0));
    assert_eq!(RunDirectory::open(Path::new(&out)).unwrap().read_run().unwrap().status, Status::Done);
    let refused = command(&["show", "nope"]).stderr(full()).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn a_budget_that_no_clock_counts_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "run");
    let run = output(&["run", "--out", &out, "--only", "cpu.fence.flush", "--budget", "9300000000000000000s"]);
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
}

#[test]
fn a_run_writes_a_complete_directory() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "run");
    let output = output(&["run", "--out", &out, "--seed", "7"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("cpu.atomic"));
    let directory = RunDirectory::open(Path::new(&out)).unwrap();
    let run = directory.read_run().unwrap();
    assert_eq!((run.status, run.seed, run.preset.as_str(), run.planned), (Status::Done, 7, "quick", 12));
    assert_eq!(run.planned_by_primitive.values().sum::<u64>(), 12);
    assert!(run.ended.is_some());
    assert_eq!(run.tool.and_then(|tool| tool.binary).map(|hash| hash.len()), Some(16));
    assert!(matches!(&run.sessions[..], [session] if session.seconds > 0.0), "{:?}", run.sessions);
    let rows = directory.read_rows().unwrap();
    assert_eq!(rows.len(), 12);
    for (primitive, verdicts) in [
        ("cpu.atomic.add", &["Resolved"][..]),
        ("cpu.atomic.read", &["BelowResolution"]),
        // By chance, the noise may leave an interval that contains zero.
        ("cpu.barrier.std", &["Noisy", "BelowResolution"]),
        ("cpu.fence.flush", &["Skipped"]),
        ("cpu.lock.std_mutex", &["Resolved"]),
    ] {
        let mut found = rows.iter().filter(|row| row.case.primitive == primitive).peekable();
        assert!(found.peek().is_some(), "{primitive}");
        for row in found {
            assert!(verdicts.contains(&row.verdict.name()), "{}: {}", row.case, row.verdict);
        }
    }
    let page = fs::read_to_string(directory.report()).unwrap();
    assert!(page.contains("cpu.barrier.std"));
    let evidence = fs::read_dir(Path::new(&out).join("evidence")).unwrap().count();
    assert_eq!(evidence, 5, "one listing for each piece of machine code");
    assert_every_pair_has_a_sample(&directory, &rows);
}

fn assert_every_pair_has_a_sample(directory: &RunDirectory, rows: &[Row]) {
    let mut reader = csv::Reader::from_path(directory.samples()).unwrap();
    let cause = reader.headers().unwrap().iter().position(|name| name == "set_aside").unwrap();
    let samples: Vec<_> = reader.into_records().flatten().collect();
    let excluded = samples.iter().filter(|sample| sample.get(cause).is_some_and(|cause| !cause.is_empty()));
    let sum = |count: fn(&Row) -> Option<u64>| rows.iter().filter_map(count).sum::<u64>();
    assert_eq!(excluded.count() as u64, sum(|row| row.excluded));
    assert_eq!(samples.len() as u64, sum(|row| Some(row.pairs? + row.excluded?)));
}

#[test]
fn a_machine_that_fails_the_crosscheck_is_warned_of_once() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "run");
    let run =
        command(&["run", "--only", "cpu.atomic.add", "--out", &out]).env("SYNCSCOPE_FAKE", "clock=nominal").output();
    let run = run.unwrap();
    assert_eq!(run.status.code(), Some(0), "doubtful figures are figures: {}", stderr(&run));
    let text = stderr(&run);
    let warnings: Vec<&str> = text.lines().filter(|line| line.contains("clocks failed their check")).collect();
    assert!(
        matches!(&warnings[..], [line] if line.starts_with("warning: the GPU's") && line.contains("+12.7 %")),
        "{text}"
    );
    let stored = RunDirectory::open(Path::new(&out)).unwrap().read_run().unwrap();
    assert_eq!(
        stored.warnings.iter().filter(|text| text.contains("clocks failed")).count(),
        1,
        "{:?}",
        stored.warnings
    );
    assert!(matches!(&stored.environment.crosscheck[..], [check] if check.failure.is_some()));
    output(&["run", "--only", "cpu.atomic.add", "--out", &path(folder.path(), "sound")]);
    let sound = RunDirectory::open(Path::new(&path(folder.path(), "sound"))).unwrap().read_run().unwrap();
    assert!(
        sound.environment.crosscheck.is_empty() && sound.warnings.iter().all(|text| !text.contains("clocks failed"))
    );
}

#[test]
fn the_same_seed_gives_the_same_order() {
    let folder = tempfile::tempdir().unwrap();
    let order = |name: &str, seed: &str| {
        let out = path(folder.path(), name);
        output(&["run", "--out", &out, "--seed", seed]);
        let rows = RunDirectory::open(Path::new(&out)).unwrap().read_rows().unwrap();
        rows.into_iter().map(|row| row.case).collect::<Vec<_>>()
    };
    assert_eq!(order("a", "1"), order("b", "1"));
    assert_ne!(order("c", "1"), order("d", "2"));
}

#[test]
fn failed_cases_give_exit_code_3_and_do_not_end_the_run() {
    let folder = tempfile::tempdir().unwrap();
    for (fault, verdict) in [("fails", "Failed"), ("times_out", "TimedOut"), ("miscounts", "Failed")] {
        let out = path(folder.path(), fault);
        let run = command(&["run", "--out", &out]).env("SYNCSCOPE_FAKE", format!("fault={fault}")).output().unwrap();
        assert_eq!(run.status.code(), Some(3), "{}", stderr(&run));
        let rows = RunDirectory::open(Path::new(&out)).unwrap().read_rows().unwrap();
        assert_eq!(rows.len(), 12);
        let locks = rows.iter().filter(|row| row.case.primitive == "cpu.lock.std_mutex");
        assert!(locks.clone().count() == 2 && locks.clone().all(|row| row.verdict.name() == verdict));
    }
}

#[test]
fn wrong_usage_gives_one_line_with_a_remedy_and_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let used = path(folder.path(), "used");
    fs::create_dir(&used).unwrap();
    fs::write(Path::new(&used).join("mine.txt"), "mine").unwrap();
    let wrong: &[(&[&str], &str)] = &[
        (&["run", "--preset", "fast"], "quick, standard, paper"),
        (&["run", "--only", "cpu.atomics.*"], "try 'cpu.atomic.*'"),
        (&["run", "--only", "cpu.atomic"], "try 'cpu.atomic.*'"),
        (&["run", "--only", "cpu.atom"], "try '*cpu.atom*' (2 primitives)"),
        (&["run", "--only", "nonsense"], "syncscope list"),
        (&["run", "--only", "cpu.["], "not a valid glob"),
        (&["run", "--only", "cpu.*", "--skip", "*"], "select no primitive"),
        (&["run", "--out", &used], "--out"),
        (&["run", "--resume", &used], "no run"),
        (&["run", "--resume", &used, "--out", &used], "cannot be used with"),
        (&["run", "--budget", "soon"], "10m"),
        (&["run", "--device", "zero"], "--device"),
        (&["report", &used], "no run"),
        (&["report"], "name a run: ./syncscope-runs holds none"),
        (&["measure"], "--cpu"),
        (&["measur"], "unrecognized subcommand"),
    ];
    for (words, remedy) in wrong {
        let output = output(words);
        let error = error_line(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {error}");
        assert!(error.contains(remedy), "{words:?}: {error}");
        assert!(output.stdout.is_empty());
    }
    assert_eq!(fs::read_dir(&used).unwrap().count(), 1, "nothing was written");
}

#[test]
fn a_variable_with_a_value_that_nothing_reads_is_refused() {
    let out = tempfile::tempdir().unwrap();
    for (name, value) in [
        ("SYNCSCOPE_STEP_LIMIT", "90"),
        ("SYNCSCOPE_STEP_LIMIT", "0s"),
        ("SYNCSCOPE_KEEP_AWAKE", "yes"),
        ("SYNCSCOPE_COMPILE_LIMIT", "90s"),
    ] {
        let refused = command(&["run", "--out", &path(out.path(), "run")]).env(name, value).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{name}: {}", stderr(&refused));
        assert!(error_line(&refused).contains(&format!("{name} is `{value}`: expected")), "{}", error_line(&refused));
    }
}

#[test]
fn a_directory_that_cannot_be_written_gives_exit_code_1() {
    let output = output(&["run", "--out", "/proc/syncscope"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(error_line(&output).contains("/proc/syncscope"));
}

#[test]
fn a_dry_run_shows_the_plan_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "run");
    let planned = output(&["run", "--dry-run", "--out", &out, "--only", "cpu.atomic.*"]);
    let plan = String::from_utf8_lossy(&planned.stdout).into_owned();
    assert!(plan.contains("4  cpu.atomic.add") && plan.contains("6  cases in total"), "{plan}");
    assert!(!Path::new(&out).exists());
    let of_budget = |words: &[&str]| {
        let output = output(&[&["run", "--only", "cpu.atomic.*"], words].concat());
        stderr(&output).lines().find(|line| line.contains("the budget ends the run after")).map(str::to_owned)
    };
    let note = of_budget(&["--dry-run", "--budget", "10ms"]).unwrap();
    assert!(note.ends_with("and the budget ends the run after 10ms, with provisional rows, or fewer cases"), "{note}");
    assert_eq!(of_budget(&["--out", &out, "--budget", "10ms"]), Some(note), "a run begins with the same words");
    assert_eq!(of_budget(&["--dry-run", "--budget", "1h"]), None, "a budget that lasts changes nothing");
}

/// Starts a slow run and waits until its journal holds the first rows.
fn slow_run(out: &str) -> std::process::Child {
    let child = command(&["run", "--out", out, "--seed", "3"])
        .env("SYNCSCOPE_FAKE", "dwell=10ms")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while finished(out) < 2 {
        assert!(Instant::now() < deadline, "no row appeared");
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

fn finished(out: &str) -> usize {
    RunDirectory::open(Path::new(out)).and_then(|directory| directory.read_rows()).map_or(0, |rows| rows.len())
}

/// Runs on the hardware of this machine, because the machine code of the loops is verified.
#[test]
fn fences_that_are_no_instruction_are_no_failure() {
    let output = command(&["verify", "--only", "cpu.fence.*"]).env_remove("SYNCSCOPE_FAKE").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if cfg!(target_arch = "x86_64") {
        let lines = text.lines().filter(|line| line.contains("elided as expected: no instruction on x86-64"));
        assert_eq!(lines.count(), 3, "{text}");
    }
}

/// Uses the NVRTC that `make test` brings, found by the folder of the program as well as by the working folder.
#[test]
fn every_architecture_is_verified_from_any_folder() {
    let elsewhere = tempfile::tempdir().unwrap();
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let is_below_project = Path::new(env!("CARGO_BIN_EXE_syncscope")).starts_with(&project);
    let folders = [Some(project.as_path()), is_below_project.then_some(elsewhere.path())];
    for folder in folders.into_iter().flatten() {
        let mut verify = command(&["verify", "--only", "gpu.block.syncthreads"]);
        let output = verify.env_remove("SYNCSCOPE_FAKE").current_dir(folder).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let last = text.lines().last().unwrap_or_default();
        assert_eq!(output.status.code(), Some(0), "{text} {}", stderr(&output));
        assert!(last.starts_with(&format!("10 programs for {}:", VERIFIED.join(", "))), "{last}");
    }
}

#[test]
fn an_interrupted_run_can_be_reported_and_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "run");
    let mut child = slow_run(&out);
    signal(&child, libc::SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let directory = RunDirectory::open(Path::new(&out)).unwrap();
    assert_eq!(directory.read_run().unwrap().status, Status::Interrupted);
    let before = directory.read_rows().unwrap();
    assert!((2..12).contains(&before.len()), "{}", before.len());
    assert!(
        before.iter().any(|row| row.provisional),
        "cases with fewer measurement blocks than planned are provisional"
    );
    assert_every_pair_has_a_sample(&directory, &before);
    assert_eq!(output(&["report", &out]).status.code(), Some(0));

    let resumed = output(&["run", "--resume", &out]);
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
    let rows = directory.read_rows().unwrap();
    assert_eq!(rows.iter().filter(|row| !row.provisional).count(), 12);
    for row in before.iter().filter(|row| !row.provisional) {
        assert!(rows.contains(row), "finished cases are not measured again");
    }
    let samples = std::fs::read_to_string(directory.samples()).unwrap();
    let pairs: Vec<_> = samples.lines().map(|line| line.splitn(3, ',').take(2).collect::<Vec<_>>()).collect();
    assert_eq!(pairs.iter().collect::<HashSet<_>>().len(), pairs.len(), "every pair has one sample");
    assert_eq!(directory.read_run().unwrap().status, Status::Done);
    assert_eq!(output(&["run", "--resume", &out]).status.code(), Some(2), "a complete run cannot be resumed");
}

#[test]
fn a_killed_run_can_be_reported_and_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "run");
    let mut child = slow_run(&out);
    signal(&child, libc::SIGKILL);
    child.wait().unwrap();
    assert_eq!(RunDirectory::open(Path::new(&out)).unwrap().read_run().unwrap().status, Status::Running);
    assert_eq!(output(&["report", &out]).status.code(), Some(0));
    assert_eq!(output(&["run", "--resume", &out]).status.code(), Some(0));
    assert_eq!(finished(&out), 12);
}

#[test]
fn a_spent_budget_ends_the_run_early() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "run");
    let run = command(&["run", "--out", &out, "--budget", "1s"]).env("SYNCSCOPE_FAKE", "dwell=20ms").output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    assert!(stderr(&run).contains("--resume"), "{}", stderr(&run));
    let way = "; --time 1s measures every case in about that time";
    assert!(stderr(&run).contains(way), "{}", stderr(&run));
    let directory = RunDirectory::open(Path::new(&out)).unwrap();
    assert_eq!(directory.read_run().unwrap().status, Status::BudgetSpent);
    let rows = directory.read_rows().unwrap();
    let provisional = rows.iter().filter(|row| row.provisional).count();
    assert!(provisional > 0 || rows.len() < 12, "one second is too short for all cases");
    assert!(provisional == 0 || stderr(&run).contains(&format!("{provisional} provisional")), "{}", stderr(&run));
}

#[test]
fn experiments_follow_when_everything_else_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "run");
    // Without hardware, the warnings name the experiments that were not possible.
    let tried = || {
        let run = RunDirectory::open(Path::new(&out)).unwrap().read_run().unwrap();
        run.warnings.iter().filter(|text| text.starts_with("`syncscope paper ")).count()
    };
    let nothing = output(&["run", "--out", &out, "--experiments", "--budget", "1ns"]);
    assert_eq!(nothing.status.code(), Some(1), "{}", stderr(&nothing));
    assert!(error_line(&nothing).contains("left no figure") && error_line(&nothing).contains("--resume"));
    assert_eq!(tried(), 0);
    assert!(output(&["run", "--resume", &out]).status.success());
    assert_eq!(tried(), syncscope_papers::EXPERIMENTS.len());
}

#[test]
fn a_resumed_run_repeats_only_the_experiments_that_are_missing() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "run");
    assert!(output(&["run", "--out", &out, "--experiments"]).status.success());
    // The state of a run that is interrupted after the first experiment.
    let directory = RunDirectory::open(Path::new(&out)).unwrap();
    let run = directory.read_run().unwrap();
    directory.write_run(&Run { status: Status::Interrupted, warnings: Vec::new(), ..run }).unwrap();
    let measured = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/h200-paper/crosscheck.csv");
    fs::copy(measured, Path::new(&out).join("crosscheck.csv")).unwrap();
    let resumed = output(&["run", "--resume", &out]);
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
    let run = directory.read_run().unwrap();
    let tried = run.warnings.iter().map(|text| text.split('`').nth(1).unwrap().to_owned()).collect::<Vec<_>>();
    let others = syncscope_papers::EXPERIMENTS.iter().map(|experiment| experiment.name);
    let others = others.filter(|name| *name != "crosscheck").map(|name| format!("syncscope paper {name}"));
    assert_eq!((run.status, tried), (Status::Done, others.collect()));
    assert_eq!(output(&["run", "--resume", &out]).status.code(), Some(2), "nothing is left");
}

#[test]
fn results_go_to_stdout_and_messages_to_stderr() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "run");
    let run = output(&["run", "--out", &out]);
    assert!(!String::from_utf8_lossy(&run.stdout).contains('\u{1b}'), "no colour without a terminal");
    assert!(!stderr(&run).contains('\u{1b}'));
    assert!(stderr(&run).contains("inspecting this machine"));
    let list = output(&["list", "--format", "json"]);
    let value: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
    let flush = value.as_array().unwrap().iter().find(|entry| entry["id"] == "cpu.fence.flush").unwrap();
    assert_eq!(flush["available"], false);
    assert_eq!(flush["reason"], "no such fake");
}

#[test]
fn a_word_of_a_list_that_nothing_matches_is_named() {
    let list = output(&["list", "fence", "bogus"]);
    assert_eq!(list.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&list.stdout).contains("cpu.fence.") && stderr(&list).contains("`bogus`"));
    assert!(!stderr(&output(&["list", "fence"])).contains("nothing"));
    assert_eq!(output(&["list", "bogus"]).status.code(), Some(2));
}

#[test]
fn globs_may_stand_behind_each_other_with_commas() {
    let ids = |only: &[&str]| {
        let list = output(&[&["list", "--format", "json"], only].concat());
        serde_json::from_slice::<serde_json::Value>(&list.stdout).unwrap()
    };
    let both = ids(&["--only", "cpu.fence.*,cpu.lock.*"]);
    assert_eq!(both, ids(&["--only", "cpu.fence.*", "--only", "cpu.lock.*"]));
    assert_eq!(both.as_array().map(Vec::len), Some(2));
    let run = output(&["run", "--dry-run", "--only", "cpu.atomic.*,cpu.lock.*"]);
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let mut child = command(&["list"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!stderr(&output).contains("panicked"));
}

#[test]
fn several_runs_share_one_page() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b, page) = (path(folder.path(), "a"), path(folder.path(), "b"), path(folder.path(), "both.html"));
    output(&["run", "--out", &a]);
    output(&["run", "--out", &b]);
    assert_eq!(output(&["report", &a, &b]).status.code(), Some(2), "the page of several runs needs a file name");
    assert_eq!(output(&["report", &a, &b, "-o", &page]).status.code(), Some(0));
    assert!(fs::metadata(&page).unwrap().len() > 10_000);
    let nowhere = output(&["report", &a, "-o", "/proc/page.html"]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(error_line(&nowhere).contains("-o"));
}

#[test]
fn the_real_machine_is_described() {
    let plain = |words: &[&str]| command(words).env_remove("SYNCSCOPE_FAKE").output().unwrap();
    let system = plain(&["system", "--format", "json"]);
    assert_eq!(system.status.code(), Some(0), "{}", stderr(&system));
    let value: serde_json::Value = serde_json::from_slice(&system.stdout).unwrap();
    assert!(value["machine"]["cpu"]["hardware_threads"].as_u64().unwrap() >= 1);
    assert!(value["environment"]["settings"]["aslr"].is_u64() && value["tool"]["binary"].is_string());
    let text = plain(&["system"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    for start in ["CPU ", "build ", "memory "] {
        assert!(text.lines().any(|line| line.starts_with(start)), "{start}: {text}");
    }
    let list = plain(&["list"]);
    assert_eq!(list.status.code(), Some(0), "{}", stderr(&list));
    let text = String::from_utf8_lossy(&list.stdout).into_owned();
    assert!(text.contains("cpu.atomic.add") && text.contains("gpu.block.syncthreads"), "{text}");
    let asked = plain(&["list", "gpu.block.syncthreads"]);
    let text = String::from_utf8_lossy(&asked.stdout).into_owned();
    assert!(text.contains("Block-wide barrier"), "described, wherever it can be measured: {text}");
}

#[test]
fn a_run_whose_selection_was_changed_is_not_resumed_and_one_that_lost_rows_is() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "run");
    let directory = || RunDirectory::open(Path::new(&out)).unwrap();
    assert_eq!(output(&["run", "--out", &out, "--budget", "1ns"]).status.code(), Some(1), "it left no figure");
    let begun = directory().read_run().unwrap();
    directory().write_run(&Run { only: vec!["cpu.atomic.*".to_owned()], ..begun.clone() }).unwrap();
    let refused = output(&["run", "--resume", &out]);
    assert_eq!(refused.status.code(), Some(2));
    let error = error_line(&refused);
    assert!(error.contains("its plan had 12 cases") && error.contains("resume it as it was begun"), "{error}");
    directory().write_run(&begun).unwrap();
    assert!(output(&["run", "--resume", &out]).status.success());
    let complete = output(&["run", "--resume", &out]);
    assert_eq!((complete.status.code(), error_line(&complete).contains("nothing to resume")), (Some(2), true));

    let table = fs::read(directory().measurements()).unwrap();
    fs::write(directory().measurements(), &table[..table.len() / 2]).unwrap();
    let left = directory().read_rows().unwrap().len();
    let resumed = output(&["run", "--resume", &out]);
    assert!(resumed.status.success() && left < 12, "{}", stderr(&resumed));
    assert_eq!(directory().read_rows().unwrap().len(), 12);
}
