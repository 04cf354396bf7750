//! A run directory in which a file is replaced by something else: each command ends soon, needs little memory, and changes only
//! what it was asked to write.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::common::{command, copy};

/// The files that readers open. For the name of a compressed table, the plain table is removed.
const FILES: [&str; 27] = [
    "run.json",
    "measurements.csv",
    "measurements.csv.gz",
    "samples.csv",
    "samples.csv.gz",
    "details.csv",
    "details.csv.gz",
    "evidence",
    "evidence/listing.txt",
    "evidence.csv",
    "report.html",
    "orderings.json",
    "crosscheck.csv",
    "crosscheck.csv.gz",
    "asynchrony.csv",
    "asynchrony_classes.csv",
    "asynchrony_launches.csv",
    "asynchrony_launches.csv.gz",
    "asynchrony_neighbours.csv",
    "timeline.csv",
    "timeline_clocks.csv",
    "timeline_code.csv",
    "timeline_edits.csv",
    "timeline_figures.csv",
    "repeat-1",
    "LICENSE",
    ".syncscope-0.new",
];

/// Commands on the run `hostile`, next to two valid runs. They write only to `out`, apart from the page and the resumed
/// run.
const COMMANDS: [&[&str]; 11] = [
    &["show", "hostile", "--format", "json"],
    &["report", "hostile"],
    &["report", "good", "hostile", "-o", "out"],
    &["advise", "hostile"],
    &["findings", "hostile"],
    &["compare", "good", "hostile"],
    &["fleet", "good", "other", "hostile", "-o", "out"],
    &["gallery", "good", "hostile", "-o", "out"],
    &["submit", "hostile", "-o", "out"],
    &["paper", "reductions", "hostile"],
    &["run", "--resume", "hostile", "--budget", "1ms"],
];

const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/published");

/// A busy machine gives a process little of this time.
const LIMIT: Duration = Duration::from_secs(60);
const MOST_CPU_SECONDS: f64 = 10.0;
const MOST_MEMORY_KIB: i64 = 500 * 1024;

#[derive(Debug, Clone, Copy)]
enum Kind {
    Absent,
    Folder,
    Fifo,
    Link,
    Dangling,
    Zeros,
    Sparse,
}

impl Kind {
    fn make(self, path: &Path, root: &Path) {
        let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
        if path.extension().is_some_and(|end| end == "gz") {
            let _ = fs::remove_file(path.with_extension(""));
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match self {
            Self::Absent => {}
            Self::Folder => fs::create_dir(path).unwrap(),
            Self::Fifo => {
                let name = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
                // SAFETY: the name ends with a zero.
                assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
            }
            Self::Link => symlink(root.join("victim"), path).unwrap(),
            Self::Dangling => symlink(root.join("made"), path).unwrap(),
            Self::Zeros => symlink("/dev/zero", path).unwrap(),
            Self::Sparse => fs::File::create(path).unwrap().set_len(1 << 40).unwrap(),
        }
    }
}

/// Everything below a folder except `left_out`: its type, its length, and the content of small files.
fn content(root: &Path, left_out: &[PathBuf]) -> BTreeMap<PathBuf, (fs::FileType, u64, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if left_out.contains(&path) {
            continue;
        }
        let about = fs::symlink_metadata(&path).unwrap();
        let is_small = about.is_file() && about.len() < 1 << 20;
        let bytes = if is_small { fs::read(&path).unwrap() } else { Vec::new() };
        if about.is_dir() {
            found.extend(content(&path, left_out));
        }
        let length = if about.is_dir() { 0 } else { about.len() };
        found.insert(path, (about.file_type(), length, bytes));
    }
    found
}

/// How a child ended: exit code, CPU seconds and memory of the child and its children. It is killed at the limit.
pub(crate) fn end(child: &Child) -> Option<(i32, f64, i64)> {
    let (started, process) = (Instant::now(), child.id().cast_signed());
    loop {
        // SAFETY: zeros are a valid value, and the pointers are valid for the call.
        let (ended, status, usage) = unsafe {
            let (mut status, mut usage) = (0, std::mem::zeroed::<libc::rusage>());
            (libc::wait4(process, &raw mut status, libc::WNOHANG, &raw mut usage), status, usage)
        };
        if ended == process {
            let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
            let used = seconds(usage.ru_utime) + seconds(usage.ru_stime);
            return libc::WIFEXITED(status).then(|| (libc::WEXITSTATUS(status), used, usage.ru_maxrss));
        }
        if started.elapsed() > LIMIT {
            // SAFETY: the child was not waited for.
            unsafe { libc::kill(process, libc::SIGKILL) };
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

const KINDS: [Kind; 7] =
    [Kind::Absent, Kind::Folder, Kind::Link, Kind::Dangling, Kind::Zeros, Kind::Fifo, Kind::Sparse];

/// Whether to try a combination: each file meets each command, with the kinds in turn, so that each kind meets each file and each
/// command. Files that every command reads meet every kind with each command. `SYNCSCOPE_ALL_COMBINATIONS` tries all.
fn is_tried(file: usize, kind: usize, command: usize) -> bool {
    let is_read_by_all = ["run.json", "measurements.csv"].contains(&FILES[file]);
    let is_turn = (file + command) % KINDS.len() == kind;
    is_read_by_all || is_turn || std::env::var_os("SYNCSCOPE_ALL_COMBINATIONS").is_some()
}

#[test]
fn each_pair_of_file_kind_and_command_is_tried() {
    let (files, kinds, commands) = (FILES.len(), KINDS.len(), COMMANDS.len());
    let is_met = |one: usize, other: usize, is_tried: &dyn Fn(usize, usize, usize) -> bool, rest: usize| {
        (0..one).all(|one| (0..other).all(|other| (0..rest).any(|third| is_tried(one, other, third))))
    };
    assert!(is_met(files, kinds, &is_tried, commands));
    assert!(is_met(files, commands, &|file, command, kind| is_tried(file, kind, command), kinds));
    assert!(is_met(kinds, commands, &|kind, command, file| is_tried(file, kind, command), files));
}

/// Tries every `step`-th file, starting at `first`.
fn each_command_withstands(first: usize, step: usize) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let begin = ["run", "--only", "cpu.barrier.*", "--seed", "3", "--budget", "40ms", "--out", "good"];
    command(&begin)
        .current_dir(root)
        .env("SYNCSCOPE_FAKE", "dwell=1ms")
        .env("HOME", root.join("home"))
        .output()
        .unwrap();
    fs::write(root.join("victim"), "precious").unwrap();
    // The tables of all experiments; the first byte of a seed names its table.
    for seed in fs::read_dir(SEEDS).unwrap().map(Result::unwrap) {
        let table = root.join("good").join(format!("{}.csv", seed.file_name().display()));
        fs::write(table, &fs::read(seed.path()).unwrap()[1..]).unwrap();
    }
    copy(&root.join("good"), &root.join("other"));
    for (at, file) in FILES.iter().enumerate().skip(first).step_by(step) {
        for (number, kind) in KINDS.iter().enumerate() {
            let tried = COMMANDS.iter().enumerate().filter(|(command, _)| is_tried(at, number, *command));
            for (_, words) in tried {
                let hostile = root.join("hostile");
                let _ = fs::remove_dir_all(&hostile);
                copy(&root.join("good"), &hostile);
                kind.make(&hostile.join(file), root);
                let written = match *words {
                    ["run", ..] => hostile.clone(),
                    ["report", _] => hostile.join("report.html"),
                    _ => root.join("out"),
                };
                let left_out = [written, root.join("home")];
                let before = content(root, &left_out);
                let mut command = command(words);
                command.current_dir(root).env("HOME", root.join("home")).stdout(Stdio::null()).stderr(Stdio::null());
                let how = end(&command.spawn().unwrap());
                let what = format!("{words:?} with {file}: {kind:?}, (code, CPU s, KiB): {how:?}");
                let Some((code, seconds, memory)) = how else { panic!("{what}") };
                assert!((0..=4).contains(&code) && seconds < MOST_CPU_SECONDS && memory < MOST_MEMORY_KIB, "{what}");
                assert!(content(root, &left_out) == before, "{what}: something else changed");
                let _ = fs::remove_file(root.join("out"));
            }
        }
    }
}

#[test]
fn a_file_that_is_something_else_ends_no_command_badly() {
    each_command_withstands(0, 2);
}

#[test]
fn a_second_half_of_them_ends_no_command_badly() {
    each_command_withstands(1, 2);
}

/// Files that the user names but that are not a run.
#[test]
fn a_named_file_that_is_something_else_is_an_error_soon() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::write(root.join("victim"), "precious").unwrap();
    fs::create_dir_all(root.join("in/omp_barrier")).unwrap();
    fs::write(root.join("in/m.csv"), ",\n25.5,\n").unwrap();
    let commands: [(&str, &[&str]); 6] = [
        ("m.csv", &["import", "core-to-core-latency", "m.csv", "-o", "out"]),
        ("known.json", &["import", "core-to-core-latency", "in/m.csv", "--machine", "known.json", "-o", "out"]),
        ("in/machines.csv", &["import", "core-to-core-latency", "in", "-o", "out"]),
        ("in/omp_barrier/runtimes.csv", &["import", "syncperformance", "in", "-o", "out"]),
        ("bundle", &["submit", "--check", "bundle"]),
        ("code.c", &["measure", "--cpu", "code.c", "--threads", "1", "--out", "out"]),
    ];
    for (file, words) in commands {
        for kind in [Kind::Absent, Kind::Folder, Kind::Fifo, Kind::Link, Kind::Dangling, Kind::Zeros, Kind::Sparse] {
            kind.make(&root.join(file), root);
            let left_out = [root.join("out"), root.join("home")];
            let before = content(root, &left_out);
            let mut command = command(words);
            command.current_dir(root).env("HOME", root.join("home")).stdout(Stdio::null()).stderr(Stdio::null());
            let how = end(&command.spawn().unwrap());
            let what = format!("{words:?}: {kind:?}, (code, CPU s, KiB): {how:?}");
            let Some((code, seconds, memory)) = how else { panic!("{what}") };
            assert!([1, 2].contains(&code) && seconds < MOST_CPU_SECONDS && memory < MOST_MEMORY_KIB, "{what}");
            assert!(content(root, &left_out) == before, "{what}: something else changed");
            let _ = fs::remove_dir_all(root.join("out"));
        }
        let _ = fs::remove_file(root.join(file)).or_else(|_| fs::remove_dir_all(root.join(file)));
    }
}
