//! Disks that are full or read-only, folders that vanish, clocks that go back: one clear error, and durable data stays.
//! `SYNCSCOPE_DISKS=64` tries this many sizes of a full disk.
//!
//! Disks are made as `tmpfs` in a mount namespace of their own, which needs root or a kernel that gives users namespaces.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "what a test needs and does not get fails the test")]

mod common;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{command, output, stderr};
use syncscope_core::Row;
use syncscope_core::run::Status;
use syncscope_core::run_directory::RunDirectory;

/// A fake of 24 cases whose files take some megabytes.
const RUN: &str = "run --seed 3 --only cpu.atomic.add --only cpu.lock.*";
const FAKE: &str = "threads=8";

/// Runs a script that may mount, with `$S` for the command and `$D` for an empty folder. `None` where mounting is not allowed.
fn in_namespace(folder: &Path, script: &str) -> Option<Output> {
    let shell = |script: &str| {
        let mut shell = Command::new("unshare");
        shell.args(["-Urm", "--propagation", "private", "sh", "-euc", script]).stdin(Stdio::null());
        shell.env("S", env!("CARGO_BIN_EXE_syncscope")).env("D", folder).env("SYNCSCOPE_FAKE", FAKE);
        shell.output()
    };
    match shell("mount -t tmpfs tmpfs \"$D\"") {
        Ok(permitted) if permitted.status.success() => Some(shell(script).unwrap()),
        refused => {
            let reason = refused.map_or_else(|error| error.to_string(), |output| stderr(&output));
            eprintln!("skipped: no file system can be mounted here: {}", reason.trim());
            None
        }
    }
}

/// Checks that a run ended with an error that names the file and the cause in one line.
fn assert_one_error(output: &Output, cause: &str) {
    let text = stderr(output);
    let errors: Vec<&str> = text.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!((output.status.code(), errors.len()), (Some(1), 1), "{text}");
    assert!(errors[0].contains(cause) && !text.contains("panicked"), "{text}");
}

fn finished(folder: &Path) -> Vec<Row> {
    let rows = RunDirectory::open(folder).unwrap().read_rows().unwrap();
    rows.into_iter().filter(|row| !row.provisional).collect()
}

/// The number of disk sizes to try.
fn sizes() -> u32 {
    std::env::var("SYNCSCOPE_DISKS").map_or(2, |count| count.parse().unwrap())
}

#[test]
fn a_run_on_a_disk_that_gets_full_keeps_its_rows_and_goes_on_when_there_is_room() {
    let (mut begun, mut rows) = (0, 0);
    for step in 1..=sizes() {
        let folder = tempfile::tempdir().unwrap();
        let [disk, full, whole] = ["disk", "full", "whole"].map(|name| folder.path().join(name));
        std::fs::create_dir(&disk).unwrap();
        // From a disk with room for the beginning to one with room for all but the end.
        let size = 2 * 1024 * step / sizes();
        let script = format!(
            "mount -t tmpfs -o size={size}k tmpfs \"$D\"; code=0; $S {RUN} --out \"$D/run\" || code=$?
             cp -r \"$D/run\" {}; mount -o remount,size=200m \"$D\"
             if [ -f \"$D/run/run.json\" ]; then $S run --resume \"$D/run\" >&2 2>/dev/null; cp -r \"$D/run\" {}; fi
             exit $code",
            full.display(),
            whole.display()
        );
        let Some(output) = in_namespace(&disk, &script) else { return };
        assert_one_error(&output, "No space left on device");
        if !full.join("run.json").is_file() {
            continue;
        }
        let before = finished(&full);
        let after = finished(&whole);
        assert_eq!(after.len(), 24, "{size} KiB: resumed to the end");
        assert!(before.iter().all(|row| after.contains(row)), "{size} KiB: finished rows stay as they are");
        begun += 1;
        rows += before.len();
    }
    eprintln!("{} full disks, {begun} with a run, {rows} finished rows found again", sizes());
    assert!(rows > 0, "no disk was large enough for a row");
}

#[test]
fn an_import_on_a_full_disk_leaves_no_run() {
    let folder = tempfile::tempdir().unwrap();
    let [disk, system, left] = ["disk", "system", "left"].map(|name| folder.path().join(name));
    let results = system.join("omp_barrier_close");
    std::fs::create_dir_all(&results).unwrap();
    std::fs::create_dir(&disk).unwrap();
    let columns = |text: fn(u32) -> String| (1..=400).map(text).collect::<Vec<_>>().join(",");
    let (threads, seconds) = (columns(|threads| threads.to_string()), columns(|threads| format!("{threads}e-9")));
    let text = format!("omp_barrier_close\nn iter,1000\n\"\"\ntype mode,aggregate,{threads}\nint,max,{seconds}\n");
    std::fs::write(results.join("runtimes.csv"), text).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=32k tmpfs \"$D\"; code=0; $S import syncperformance {} -o \"$D/run\" || code=$?
         ls \"$D/run\" > {}; exit $code",
        system.display(),
        left.display()
    );
    let Some(output) = in_namespace(&disk, &script) else { return };
    assert_one_error(&output, "No space left on device");
    let left = std::fs::read_to_string(left).unwrap();
    assert!(left.contains("measurements.csv") && !left.contains("run.json"), "{left}");
}

#[test]
fn a_read_only_disk_is_named_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    for script in [
        format!("mount -t tmpfs -o ro tmpfs \"$D\"; exec $S {RUN} --out \"$D/run\""),
        format!(
            "mount -t tmpfs tmpfs \"$D\"; $S {RUN} --budget 1ms --out \"$D/run\" >/dev/null 2>&1 || true; mount -o remount,ro \"$D\"
             exec $S run --resume \"$D/run\""
        ),
    ] {
        let Some(output) = in_namespace(folder.path(), &script) else { return };
        assert_one_error(&output, "Read-only file system");
    }
}

/// `/dev/full` accepts no byte. No root is needed.
#[test]
fn a_page_that_cannot_be_written_leaves_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().to_str().unwrap();
    assert!(output(&["run", "--only", "cpu.lock.*", "--out", run]).status.success());
    let before = finished(folder.path());
    let report = command(&["report", run, "-o", "/dev/full"]).output().unwrap();
    assert_one_error(&report, "No space left on device");
    let stdout = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let shown = command(&["show", run]).stdout(stdout).stderr(Stdio::piped()).output().unwrap();
    assert_one_error(&shown, "No space left on device");
    assert_eq!(finished(folder.path()), before);
}

#[test]
fn a_folder_that_is_deleted_under_way_ends_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let words: Vec<&str> = RUN.split(' ').chain(["--out", path.to_str().unwrap()]).collect();
    let mut command = command(&words);
    let run = command.env("SYNCSCOPE_FAKE", "dwell=5ms").stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while RunDirectory::open(&path).and_then(|run| run.read_rows()).map_or(0, |rows| rows.len()) == 0 {
        assert!(Instant::now() < deadline, "no row appears");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::fs::remove_dir_all(&path).unwrap();
    assert_one_error(&run.wait_with_output().unwrap(), "deleted");
}

/// Times are for people: a clock that is set back between beginning and end changes no figure and no comparison.
#[test]
fn a_clock_that_goes_back_is_of_no_consequence() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let run = path.to_str().unwrap();
    let words: Vec<&str> = RUN.split(' ').chain(["--budget", "1ms", "--out", run]).collect();
    // The run may leave no figure.
    assert!(matches!(output(&words).status.code(), Some(0 | 1)));
    let directory = RunDirectory::open(&path).unwrap();
    let set_back = || {
        let mut run = directory.read_run().unwrap();
        // The last process began after the whole run ended, and ended before it began.
        (run.started, run.ended) = ("2031-05-06T07:08:09Z".to_owned(), Some("1970-01-01T00:00:00Z".to_owned()));
        directory.write_run(&run).unwrap();
    };
    set_back();
    assert!(output(&["run", "--resume", run]).status.success());
    set_back();
    assert_eq!(directory.read_run().unwrap().status, Status::Done);
    assert_eq!(finished(&path).len(), 6);
    let copy = folder.path().join("copy");
    std::fs::create_dir(&copy).unwrap();
    for name in ["run.json", "measurements.csv", "samples.csv", "details.csv"] {
        std::fs::copy(path.join(name), copy.join(name)).unwrap();
    }
    let copy = copy.to_str().unwrap();
    for words in [&["show", run][..], &["report", run], &["compare", run, copy], &["findings", run]] {
        let read = output(words);
        assert!(read.status.success() && !stderr(&read).contains("panicked"), "{words:?}: {}", stderr(&read));
    }
}
