//! The options of `syncscope run` that restrict its axes, on fakes (`SYNCSCOPE_FAKE`).

#![cfg(unix)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use crate::common::{command, output, stderr};
use crate::repeated::leave_the_first_alone;
use syncscope_core::run_directory::RunDirectory;
use syncscope_core::session::preset::time_around;
use syncscope_core::{Case, Preset, Row};

fn stdout(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn rows(run: &str) -> Vec<Row> {
    RunDirectory::open(Path::new(run)).unwrap().read_rows().unwrap()
}

fn threads(rows: &[Row]) -> BTreeSet<u32> {
    rows.iter().filter_map(|row| row.case.threads).collect()
}

#[test]
fn only_cases_with_the_values_are_measured() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run").to_str().unwrap().to_owned();
    stdout(&output(&["run", "--out", &out, "--threads", "2", "--dtype", "f64"]));
    let cases: Vec<String> = rows(&out).iter().map(|row| row.case.to_string()).collect();
    assert_eq!(cases, ["cpu.atomic.add f64 2 threads"], "cases without a type are left out");
}

#[test]
fn values_that_no_preset_has_replace_those_of_the_preset() {
    let dry = |words: &[&str]| output(&[&["run", "--dry-run"], words].concat());
    let total = |text: &str| text.lines().find(|line| line.contains("in total")).unwrap().trim().to_owned();
    // The quick plan of the fakes has 1 and 2 threads, 6 cases each.
    assert_eq!(total(&stdout(&dry(&[]))), "12  cases in total");
    assert_eq!(total(&stdout(&dry(&["--threads", "1"]))), "6  cases in total");
    assert_eq!(total(&stdout(&dry(&["--threads", "1,8"]))), "12  cases in total");
    assert_eq!(total(&stdout(&dry(&["--threads", "8", "--only", "cpu.lock.*"]))), "1  cases in total");
    assert_eq!(total(&stdout(&dry(&["--threads", "3,1,3"]))), "12  cases in total");
    let one_is_missing = dry(&["--dtype", "f64,u64"]);
    assert_eq!(total(&stdout(&one_is_missing)), "2  cases in total");
    let warning = "warning: --dtype u64: cpu.atomic.add: it has the types i32, f64, not u64";
    assert!(stderr(&one_is_missing).contains(warning), "{one_is_missing:?}");
}

#[test]
fn primitives_that_the_preset_leaves_out_come_from_a_larger_one() {
    let planned = |words: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_syncscope"))
            .args([&["run", "--dry-run"], words].concat())
            .env("HWLOC_SYNTHETIC", "pack:1 [numa] l3:1 core:4 pu:1")
            .output()
            .unwrap();
        let text = stdout(&output);
        let total = text.lines().find_map(|line| line.trim().strip_suffix("cases in total"));
        (total.unwrap().trim().parse::<usize>().unwrap(), stderr(&output))
    };
    let total = |words: &[&str]| planned(words).0;
    // 1 to 4 threads on one counter, and three spin budgets.
    assert_eq!(total(&["--only", "cpu.lock.spin_park"]), 4 * 3);
    assert_eq!(total(&["--only", "cpu.lock.spin_park", "--threads", "2"]), 3);
    // Each glob gets the cases of the smallest preset that has any.
    let clh = total(&["--only", "cpu.lock.clh"]);
    for order in [
        "cpu.lock.spin_park,cpu.lock.clh",
        "cpu.lock.clh,cpu.lock.spin_park",
        "cpu.lock.clh,cpu.lock.spin_p*,cpu.lock.spin_park",
    ] {
        assert_eq!(total(&["--only", order]), 12 + clh, "{order}");
    }
    assert_eq!(total(&["--only", "cpu.lock.*,cpu.lock.spin_park"]), 12 + total(&["--only", "cpu.lock.*"]));
    let alone = ["cpu.lock.spin_park", "cpu.barrier.std"].map(|glob| total(&["--only", glob, "--threads", "3"]));
    assert_eq!(total(&["--only", "cpu.lock.spin_park,cpu.barrier.std", "--threads", "3"]), alone.iter().sum::<usize>());

    // Globs that select nothing are named.
    for (words, warning) in [
        (&["--only", "cpu.lock.clh,gpu.atomic.add"][..], "`--only gpu.atomic.add` selects nothing here: "),
        (
            &["--only", "cpu.lock.clh,cpu.fence.*", "--skip", "cpu.f*"],
            "`--only cpu.fence.*` selects nothing here: --skip leaves",
        ),
        (&["--only", "cpu.lock.clh,cpu.atomic.add", "--dtype", "f64"], "`--only cpu.lock.clh` selects nothing here: "),
        (&["--only", "cpu.lock.clh", "--skip", "cpu.fence.*"], "`--skip cpu.fence.*` leaves nothing out"),
    ] {
        let (_, said) = planned(words);
        assert_eq!(said.matches("warning: `").count(), 1, "{words:?}: {said}");
        assert!(said.contains(warning), "{words:?}: {said}");
    }
    let (_, said) = planned(&["--only", "cpu.lock.clh,cpu.lock.spin_park", "--skip", "cpu.lock.clh"]);
    assert!(said.contains("`--only cpu.lock.clh`") && !said.contains("`--skip"), "{said}");
}

/// Any requested number is measured, unless the primitive cannot have it: then the error says why.
#[test]
fn any_number_is_planned_that_can_exist() {
    let planned = |machine: &str, words: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_syncscope"))
            .args([&["run", "--dry-run"], words].concat())
            .env("HWLOC_SYNTHETIC", machine)
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned(), stderr(&output))
    };
    let (large, small) = ("package:2 core:16 pu:2", "package:1 core:16 pu:1");
    for words in [
        &["--only", "cpu.lock.ticket", "--threads", "17"][..],
        &["--only", "cpu.lock.clh,cpu.lock.spin_park", "--threads", "5,17"],
        &["--only", "cpu.atomic.add", "--stride", "3"],
        &["--only", "cpu.atomic.max", "--stride", "3", "--threads", "7", "--dtype", "f64"],
        &["--only", "cpu.lock.ticket", "--placement", "spread", "--threads", "9", "--inside", "100ns"],
        &["--only", "cpu.wake.*", "--threads", "3", "--preset", "standard"],
    ] {
        let (code, text, said) = planned(large, words);
        assert!(code == Some(0) && !said.contains("warning"), "{words:?}: {text}{said}");
    }
    // Nothing spins in an addition or in a mutex of the library.
    assert_eq!(planned(small, &["--only", "cpu.atomic.add,cpu.lock.std_mutex", "--threads", "17"]).0, Some(0));
    assert_eq!(planned(small, &["--only", "cpu.lock.ticket", "--threads", "17", "--preset", "paper"]).0, Some(0));
    for (words, reason) in [
        (&["--only", "cpu.lock.ticket", "--threads", "17"][..], "cpu.lock.ticket: 17 threads on 16 CPUs: they spin"),
        (&["--only", "cpu.lock.ticket", "--threads", "21", "--preset", "paper"], "21 threads on 16 CPUs: they spin"),
        (&["--only", "cpu.handoff.cas_pingpong", "--threads", "3"], "it has only threads 2, not 3"),
        (&["--only", "cpu.barrier.std", "--stride", "3"], "none of the selected primitives has the parameters"),
        (&["--only", "cpu.atomic.add", "--stride", "3", "--threads", "1"], "a single thread has no other elements"),
        (&["--only", "cpu.process.*", "--threads", "1"], "1 thread, but it has at least 2"),
        (&["--only", "cpu.atomic.add", "--dtype", "u32"], "it has the types i32, u64, f32, f64, not u32"),
    ] {
        let (code, text, said) = planned(small, words);
        assert!(code == Some(2) && said.contains(reason), "{words:?}: {text}{said}");
    }
    let (_, text, said) = planned(small, &["--only", "cpu.lock.ticket", "--threads", "3,17"]);
    assert!(text.contains("cpu.lock.ticket") && said.contains("warning: --threads 17: cpu.lock.ticket: 17"), "{said}");
}

#[test]
fn what_leaves_nothing_to_measure_is_an_error_that_names_what_there_is() {
    for (words, remedy) in [
        (&["--dtype", "u64", "--threads", "1"][..], "cpu.atomic.add: it has the types i32, f64, not u64"),
        (&["--blocks", "132"], "none of the selected primitives has the parameters of --blocks 132"),
        (&["--only", "cpu.lock.*", "--stride", "16"], "has the parameters of --stride 16"),
        (&["--threads", "0"], "0 is not between 1 and 65536"),
        (&["--placement", "scatter"], "cores, close, spread"),
        (&["--dtype", "i8"], "i32, u32, u64, f32, f64"),
        (&["--cpus", "16000"], "this process may use"),
        (&["--cpus", "0-"], "such as 0-7"),
    ] {
        let output = output(&[&["run"], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", stderr(&output));
        let text = stderr(&output);
        let error = text.lines().find(|line| line.starts_with("error: ")).unwrap();
        assert!(error.contains(remedy), "{words:?}: {error}");
    }
    let folder = tempfile::tempdir().unwrap();
    let conflict = output(&["run", "--resume", folder.path().to_str().unwrap(), "--threads", "1"]);
    assert!(stderr(&conflict).contains("cannot be used with"), "{}", stderr(&conflict));
}

#[test]
fn a_resumed_run_keeps_its_restrictions() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run").to_str().unwrap().to_owned();
    let begun = command(&["run", "--out", &out, "--threads", "2,4", "--budget", "1s"])
        .env("SYNCSCOPE_FAKE", "dwell=20ms")
        .output()
        .unwrap();
    stdout(&begun);
    assert!(stderr(&begun).contains("--resume"), "one second is too short: {}", stderr(&begun));
    stdout(&output(&["run", "--resume", &out]));
    let rows = rows(&out);
    assert_eq!((rows.len(), threads(&rows)), (12, BTreeSet::from([2, 4])));
    let run = RunDirectory::open(Path::new(&out)).unwrap().read_run().unwrap();
    assert_eq!(run.planned, 12);
    assert!(run.command.windows(2).any(|words| words == ["--threads", "2,4"]), "{:?}", run.command);
}

#[test]
fn repeated_runs_keep_their_restrictions_when_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run").to_str().unwrap().to_owned();
    stdout(&output(&[
        "run",
        "--out",
        &out,
        "--threads",
        "8",
        "--only",
        "cpu.atomic.*",
        "--repeat",
        "2",
        "--cpus",
        "0",
        "--time",
        "3s",
    ]));
    let command = || RunDirectory::open(Path::new(&out)).unwrap().read_run().unwrap().command;
    let begun = command();
    leave_the_first_alone(Path::new(&out));
    stdout(&output(&["run", "--resume", &out]));
    assert_eq!(command(), begun, "the command that began the runs stays");
    let second = RunDirectory::open(&Path::new(&out).join("repeat-2")).unwrap();
    assert_eq!(threads(&second.read_rows().unwrap()), BTreeSet::from([8]));
    let run = second.read_run().unwrap();
    assert!(run.command.windows(2).any(|words| words == ["--cpus", "0"]), "{:?}", run.command);
    assert_eq!(run.time_s, Some(3.0), "as long as the first one");
}

/// The times in the help equal those of `--dry-run` on described machines with 2 and 16 CPUs, with the GPU cases of stored runs.
#[test]
fn the_help_names_the_planned_times() {
    let on_cpus = |count: u32, preset: Preset| {
        let mut run = command(&["run", "--dry-run", "--only", "cpu.*", "--preset", preset.as_str()]);
        let topology = format!("core:{count} pu:1");
        let text = stdout(&run.env_remove("SYNCSCOPE_FAKE").env("HWLOC_SYNTHETIC", topology).output().unwrap());
        let (_, time) = text.split_once("planned time: about ").unwrap();
        humantime::parse_duration(time.split(',').next().unwrap()).unwrap()
    };
    let on_a_gpu = |preset: Preset, name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results").join(name);
        let cases = RunDirectory::open(&path).unwrap().read_rows().unwrap().into_iter().map(|row| row.case);
        let is_meant = |case: &Case| !case.is_on_cpus() && case.devices.is_none_or(|devices| devices == 1);
        let cases: Vec<Case> = cases.filter(is_meant).collect();
        preset.planned_time(&cases) + time_around(&cases)
    };
    let rounded = |time: Duration| match time.as_secs_f64() {
        seconds if seconds < 45.0 => format!("{:.0} s", (seconds / 10.0).round() * 10.0),
        seconds => format!("{:.0} min", seconds / 60.0),
    };
    let runs = [(Preset::Quick, "h100"), (Preset::Standard, "h200-standard"), (Preset::Paper, "h200-paper")];
    let [quick, standard, paper] = runs.map(|(preset, _)| rounded(on_cpus(2, preset)));
    let [quick_16, standard_16, paper_16] =
        runs.map(|(preset, run)| rounded(on_cpus(16, preset) + on_a_gpu(preset, run)));
    let times = format!(
        "quick ({quick} on 2 CPUs, {quick_16} on 16 CPUs and a GPU), standard ({standard}, {standard_16}), \
        paper ({paper}, {paper_16})"
    );
    let help: Vec<String> = stdout(&output(&["run", "--help"])).split_whitespace().map(str::to_owned).collect();
    assert!(help.join(" ").contains(&times), "{times}");
}

/// Runs on the hardware of this machine: its CPUs are restricted before they are read.
#[test]
fn a_run_on_one_cpu_plans_for_one() {
    let plan = |words: &[&str]| {
        let words = [&["run", "--dry-run", "--only", "cpu.*"], words].concat();
        stdout(&command(&words).env_remove("SYNCSCOPE_FAKE").output().unwrap())
    };
    let total = |text: &str| -> u32 {
        let line = text.lines().find(|line| line.contains("in total")).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    };
    let allowed = syncscope_host::scheduling::allowed_cpus();
    let one = plan(&["--cpus", &allowed[0].to_string()]);
    assert!(one.lines().last().unwrap().starts_with("planned time: about "), "{one}");
    if allowed.len() > 1 {
        assert!(total(&one) < total(&plan(&[])), "{one}");
    }
}
