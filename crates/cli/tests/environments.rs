//! Strange environments: nothing panics, nothing hangs, `list` explains what is missing, and a run yields its row.
//!
//! The GPU's environments (no device, no NVRTC, another NVRTC, a device that is lost) are in `faults.rs`. Environments
//! that only a privileged user can make are skipped elsewhere, with the reason.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "what a test needs and does not get fails the test")]

mod common;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::{cgroup, stderr};
use syncscope_core::run_directory::RunDirectory;
use tempfile::TempDir;

/// One environment.
#[derive(Clone, Copy)]
struct Environment {
    name: &'static str,
    /// The shell commands before the command starts, in a mount namespace of its own.
    before: &'static str,
    /// What `list` says of the environment, if anything.
    list_says: Option<&'static str>,
    /// Whether a run is always tried; in other environments it is only tried with `SYNCSCOPE_ENVIRONMENTS=all`.
    is_measured: bool,
}

const fn environment(name: &'static str, before: &'static str) -> Environment {
    Environment { name, before, list_says: None, is_measured: false }
}

const fn measured(environment: Environment) -> Environment {
    Environment { is_measured: true, ..environment }
}

const ENVIRONMENTS: [Environment; 13] = [
    measured(environment("no /sys", "mount -t tmpfs tmpfs /sys")),
    Environment { list_says: Some("mount /proc"), ..measured(environment("no /proc", "mount -t tmpfs tmpfs /proc")) },
    environment("an empty /proc/cpuinfo", "mount --bind /dev/null /proc/cpuinfo"),
    environment("no home", "unset HOME XDG_CACHE_HOME"),
    environment("a home that is read-only", "mount -t tmpfs -o ro tmpfs /mnt; export HOME=/mnt"),
    environment("a read-only working folder", "mount -t tmpfs -o ro tmpfs /mnt; cd /mnt"),
    environment("another encoding", "export LC_ALL=ja_JP.SJIS LANG=ja_JP.SJIS"),
    environment("no terminal and 40 columns", "export COLUMNS=40 TERM=dumb"),
    environment(
        "variables that are no UTF-8",
        "export CUDA_VISIBLE_DEVICES=$(printf '\\377') PATH=$PATH:$(printf '\\377')",
    ),
    measured(environment("few files", "ulimit -n 16")),
    measured(environment("a small stack that may grow", "ulimit -S -s 64")),
    environment("standard input closed", "exec <&-"),
    environment("little memory", "ulimit -v 2000000"),
];

/// The command line of a small run.
const RUN: [&str; 8] = ["run", "--only", "cpu.atomic.read", "--threads", "1", "--dtype", "i32", "--out"];

/// Runs the command after `before`; `None` where the environment cannot be created.
fn within(before: &str, words: &[&str]) -> Option<Output> {
    let shell = |script: &str| {
        let mut shell = Command::new("unshare");
        shell.args(["-Urm", "--propagation", "private", "sh", "-euc", script, "sh", env!("CARGO_BIN_EXE_syncscope")]);
        shell.args(words).env("SYNCSCOPE_STEP_LIMIT", "60s").stdin(Stdio::null()).output()
    };
    match shell(before) {
        Ok(made) if made.status.success() => Some(shell(&format!("{before}\nexec \"$@\"")).unwrap()),
        refused => {
            let reason = refused.map_or_else(|error| error.to_string(), |output| stderr(&output));
            eprintln!("skipped: `{before}` is not possible here: {}", reason.trim());
            None
        }
    }
}

/// No panic, no crash, no hang.
fn assert_sound(output: &Output, codes: &[i32], what: &str) {
    let text = stderr(output);
    assert!(output.status.code().is_some_and(|code| codes.contains(&code)), "{what}: {:?} {text}", output.status);
    for word in ["panicked", "was ended by", "did not end within"] {
        assert!(!text.contains(word), "{what}: {text}");
    }
}

/// `list`, `system` and a small run, each started by `start`.
fn assert_works(name: &str, list_says: Option<&str>, start: impl Fn(&[&str]) -> Option<Output>) {
    if !assert_explains(name, list_says, &start) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let run = start(&[&RUN[..], &[out.to_str().unwrap()]].concat()).unwrap();
    assert_sound(&run, &[0, 3], name);
    assert_eq!(rows(&out), 1, "{name}: {}", stderr(&run));
    assert_measured_apart(name, &out, &stderr(&run));
}

/// One process cannot show how processes differ: there is a warning, and the interval comes from an assumption.
fn assert_measured_apart(name: &str, out: &Path, said: &str) {
    let is_alone = said.contains("this program cannot start itself again");
    let run = RunDirectory::open(out).unwrap();
    let is_guest = run.read_run().unwrap().machine.cpu.hypervisor.is_some();
    let row = &run.read_rows().unwrap()[0];
    assert_eq!(is_alone, ["no /proc", "memfd_create"].iter().any(|without| name.contains(without)), "{name}: {said}");
    if is_alone && is_guest {
        assert_ne!(row.verdict, syncscope_core::Verdict::Resolved, "{name}: {row:?}");
    }
}

/// Where the system binds no thread, the row says so, has no figure, and is left to a resumed run.
#[cfg(target_arch = "x86_64")]
fn assert_says_that_nothing_is_bound(name: &str, start: impl Fn(&[&str]) -> Option<Output>) {
    if !assert_explains(name, None, &start) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let run = start(&[&RUN[..], &[out.to_str().unwrap()]].concat()).unwrap();
    assert_sound(&run, &[1], name);
    let all = RunDirectory::open(&out).unwrap().read_rows().unwrap();
    let says_so = |row: &syncscope_core::Row| matches!(&row.verdict, syncscope_core::Verdict::Failed(reason) if reason.contains("could not bind"));
    assert!(all.len() == 1 && all[0].provisional && all[0].ns.is_none() && says_so(&all[0]), "{name}: {all:?}");
}

/// Checks `list` and `system`; `false` where the environment cannot be created.
fn assert_explains(name: &str, list_says: Option<&str>, start: impl Fn(&[&str]) -> Option<Output>) -> bool {
    let Some(list) = start(&["list"]) else { return false };
    assert_sound(&list, &[0], name);
    let text = String::from_utf8_lossy(&list.stdout).into_owned();
    assert!(text.contains("cpu.atomic.add") && text.contains("Not available: "), "{name}: {text}");
    assert!(
        list_says.is_none_or(|says| text.split_whitespace().collect::<Vec<_>>().join(" ").contains(says)),
        "{name}: {text}"
    );
    let system = start(&["system", "--format", "json"]).unwrap();
    assert_sound(&system, &[0], name);
    let system: serde_json::Value = serde_json::from_slice(&system.stdout).unwrap();
    assert!(system["machine"]["cpu"]["hardware_threads"].as_u64().is_some_and(|count| count > 0), "{name}: {system}");
    true
}

fn rows(folder: &Path) -> usize {
    RunDirectory::open(folder).unwrap().read_rows().unwrap().iter().filter(|row| !row.provisional).count()
}

#[test]
fn a_stack_that_cannot_grow_is_one_error() {
    if let Some(list) = within("ulimit -s 128", &["list"]) {
        assert_sound(&list, &[1], "a small stack");
        assert_eq!(
            stderr(&list).trim(),
            "error: a process here may use 128 KiB of stack, which is too little: allow 8192 (`ulimit -s`)"
        );
    }
}

#[test]
fn nothing_that_is_missing_ends_the_command() {
    let is_all = std::env::var_os("SYNCSCOPE_ENVIRONMENTS").is_some_and(|value| value == "all");
    for Environment { name, before, list_says, is_measured } in ENVIRONMENTS {
        let start = |words: &[&str]| within(before, words);
        if is_measured || is_all {
            assert_works(name, list_says, start);
        } else {
            assert_explains(name, list_says, start);
        }
    }
    // Without anything to measure on, one line says so.
    let Some(list) = within("export HWLOC_XMLFILE=/dev/null", &["list"]) else { return };
    assert_sound(&list, &[0, 1], "a topology that cannot be read");
}

#[test]
fn the_last_cpu_alone_is_enough() {
    let last = last_cpu();
    let on_last = |words: &[&str]| {
        let output =
            Command::new("taskset").args(["-c", &last]).arg(env!("CARGO_BIN_EXE_syncscope")).args(words).output();
        output.inspect_err(|error| eprintln!("skipped: taskset: {error}")).ok()
    };
    assert_works("the last CPU", None, on_last);
    let Some(system) = on_last(&["system", "--format", "json"]) else { return };
    let system: serde_json::Value = serde_json::from_slice(&system.stdout).unwrap();
    assert_eq!(system["environment"]["allowed_cpus"], last);
}

fn last_cpu() -> String {
    syncscope_host::scheduling::allowed_cpus().last().unwrap().to_string()
}

#[test]
fn a_quota_of_half_a_cpu_is_said() {
    let Some(group) = cgroup::Quota::of_half_a_cpu() else { return };
    let start = |words: &[&str]| Some(group.command(env!("CARGO_BIN_EXE_syncscope")).args(words).output().unwrap());
    assert_works("half a CPU", None, start);
    let system = start(&["system", "--format", "json"]).unwrap();
    let system: serde_json::Value = serde_json::from_slice(&system.stdout).unwrap();
    assert_eq!(system["environment"]["cpu_quota"], 0.5, "{system}");
    assert!(system["warnings"].to_string().contains("the time of 0.5 of"), "{system}");
}

/// Runs without rights, as nobody: neither root nor capabilities.
#[test]
fn nobody_can_measure() {
    let as_nobody = |words: &[&str]| {
        let output = Command::new("unshare").arg("-U").arg(env!("CARGO_BIN_EXE_syncscope")).args(words).output();
        output.ok().filter(|output| !stderr(output).contains("unshare: ")).or_else(|| {
            eprintln!("skipped: this kernel gives users no namespaces");
            None
        })
    };
    assert_works("nobody", None, as_nobody);
}

/// A container's filter for system calls: no performance counters, no query where pages are, no binding, no shared
/// memory file.
#[cfg(target_arch = "x86_64")]
#[test]
fn refused_system_calls_are_done_without() {
    let folder = tempfile::tempdir().unwrap();
    let Some(deny) = built("deny.c", &folder) else { return };
    let (perf_event_open, move_pages, get_mempolicy, sched_setaffinity, memfd_create) =
        ("298", "279", "239", "203", "319");
    for denied in [&[perf_event_open, move_pages, get_mempolicy][..], &[sched_setaffinity], &[memfd_create]] {
        let alone = if denied.contains(&memfd_create) { " (memfd_create)" } else { "" };
        let name = format!("without the system calls {denied:?}{alone}");
        let start = |words: &[&str]| {
            let mut command = Command::new(&deny);
            command.args(denied).arg("--").arg(env!("CARGO_BIN_EXE_syncscope")).args(words);
            let output = command.output().unwrap();
            if output.status.code() == Some(99) {
                eprintln!("skipped: {}", stderr(&output));
                return None;
            }
            Some(output)
        };
        if denied.contains(&sched_setaffinity) {
            assert_says_that_nothing_is_bound(&name, start);
        } else {
            assert_works(&name, None, start);
        }
    }
    let question_of_mask = "204";
    let command = ["-k", "5", "30"].map(OsStr::new).into_iter().chain([deny.as_os_str()]);
    let refused = Command::new("timeout")
        .args(command)
        .args([question_of_mask, "--", env!("CARGO_BIN_EXE_syncscope"), "system"])
        .output();
    match refused {
        Ok(refused) if refused.status.code() == Some(99) => eprintln!("skipped: {}", stderr(&refused)),
        Ok(refused) => {
            assert_sound(&refused, &[1], "without a mask of CPUs");
            assert!(stderr(&refused).contains("allow sched_getaffinity"), "{}", stderr(&refused));
        }
        Err(error) => eprintln!("skipped: timeout: {error}"),
    }
}

#[cfg(target_arch = "x86_64")]
fn built(source: &str, folder: &TempDir) -> Option<std::path::PathBuf> {
    let program = folder.path().join("program");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_libraries").join(source);
    match Command::new("cc").arg("-w").arg("-o").arg(&program).arg(source).status() {
        Ok(status) if status.success() => Some(program),
        other => {
            eprintln!("skipped: no C compiler, or no kernel headers: {other:?}");
            None
        }
    }
}

/// File names need not be text.
#[test]
fn a_folder_whose_name_is_no_utf_8_holds_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join(OsStr::from_bytes(b"run \xff\xfe"));
    let fake = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_syncscope"));
        let output = command.args(words).arg(&out).env("SYNCSCOPE_FAKE", "fault=crashes").output().unwrap();
        assert_sound_but_for_crashes(&output);
        output
    };
    // This also holds for a process that resumes another one's run there.
    assert_eq!(fake(&["run", "--only", "cpu.lock.*", "--only", "cpu.atomic.read", "--out"]).status.code(), Some(3));
    assert_eq!(rows(&out), 4);
    for words in [&["show"][..], &["report"], &["findings"]] {
        assert_eq!(fake(words).status.code(), Some(0), "{words:?}");
    }
    let hostile = Command::new(env!("CARGO_BIN_EXE_syncscope")).arg(OsStr::from_bytes(b"\xff")).output().unwrap();
    assert_sound(&hostile, &[2], "a command that is no UTF-8");
}

fn assert_sound_but_for_crashes(output: &Output) {
    assert!(!stderr(output).contains("panicked"), "{}", stderr(output));
}

/// On a terminal of 40 columns no line is wider, and the progress bar ends with the run.
#[test]
fn forty_columns_are_enough() {
    let script = |words: &str| {
        let line = format!("stty rows 30 cols 40; exec {} {words}", env!("CARGO_BIN_EXE_syncscope"));
        let mut script = Command::new("script");
        script.args(["-qefc", &line, "/dev/null"]).env("SYNCSCOPE_FAKE", "").env("NO_COLOR", "1").env("TERM", "dumb");
        script.stdin(Stdio::null()).output()
    };
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let run = run.to_str().unwrap();
    let Ok(output) = script(&format!("run --only 'cpu.[al]*.*' --out {run} 2>/dev/null")) else {
        eprintln!("skipped: there is no `script` to make a terminal with");
        return;
    };
    assert_sound(&output, &[0], "40 columns");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("std_mutex"), "{text}");
    let wide: Vec<&str> = text.lines().filter(|line| line.trim_end().chars().count() > 40).collect();
    assert!(wide.is_empty(), "{wide:#?}");
}
