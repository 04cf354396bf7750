//! A place for one command, and the traces that the command leaves: processes, temporary files, the lock of its run.

use std::fs;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use syncscope_core::run_directory::RunDirectory;

use crate::common::program;

/// A variable in the environment of all processes of a command.
const MARK: &str = "SYNCSCOPE_TEST_CHILD";

/// The longest time of a step of these tests, even on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(100);

pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("tmp")).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// A compiler made of this script.
    pub(crate) fn compiler(&self, script: &str) -> PathBuf {
        self.write("cc", &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(self.path("cc"), fs::Permissions::from_mode(0o755)).unwrap();
        self.path("cc")
    }

    /// The command, in a group of its own as in a terminal. It writes its run to `run`.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(words).args(["--out", "run"]).current_dir(self.0.path()).process_group(0);
        command.env("TMPDIR", self.path("tmp")).env(MARK, self.0.path());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(fs::File::create(self.path("stderr")).unwrap());
        command
    }

    /// The command's standard error.
    pub(crate) fn errors(&self) -> String {
        fs::read_to_string(self.path("stderr")).unwrap()
    }

    pub(crate) fn run(&self) -> RunDirectory {
        RunDirectory::open(&self.path("run")).unwrap()
    }

    /// The running processes of the command, each with its arguments.
    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        let mark = format!("{MARK}={}", self.0.path().display());
        let all = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        all.filter_map(|process: i32| {
            let read = |file: &str| fs::read(format!("/proc/{process}/{file}")).ok();
            let has_mark = read("environ")?.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes());
            let words = String::from_utf8_lossy(&read("cmdline")?).replace('\0', " ");
            // Dead processes have no environment.
            has_mark.then_some((process, words))
        })
        .collect()
    }

    /// Whether a process of the command sleeps at a step of this name, by the memory that supervisor and worker share.
    pub(crate) fn sleeps_at(&self, name: &str) -> bool {
        let is_asleep = |process: i32| {
            let call = fs::read_to_string(format!("/proc/{process}/syscall")).unwrap_or_default();
            let number = call.split(' ').next().and_then(|number| number.parse().ok());
            number.is_some_and(|number: i64| [libc::SYS_nanosleep, libc::SYS_clock_nanosleep].contains(&number))
        };
        let is_at = |process: i32| {
            let mut begin = [0; 512];
            let count = fs::File::open(format!("/proc/{process}/fd/0")).and_then(|board| board.read_at(&mut begin, 0));
            count.is_ok_and(|count| String::from_utf8_lossy(&begin[..count]).contains(name))
        };
        self.processes().into_iter().any(|(process, _)| is_at(process) && is_asleep(process))
    }

    /// Fails if anything is left after some seconds: killed processes need a moment.
    pub(crate) fn assert_empty(&self, when: &str) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let processes = self.processes();
            let files: Vec<PathBuf> =
                fs::read_dir(self.path("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect();
            if processes.is_empty() && files.is_empty() {
                break;
            }
            assert!(Instant::now() < deadline, "{when}: left are {processes:?} and {files:?}; {}", self.errors());
            sleep(Duration::from_millis(20));
        }
        if let Ok(directory) = RunDirectory::open(&self.path("run")) {
            assert!(directory.lock().is_ok(), "{when}: the run is locked");
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.processes().into_iter().for_each(|(process, _)| send(process, libc::SIGKILL));
    }
}

pub(crate) fn send(process: i32, signal: i32) {
    // SAFETY: the call takes two numbers.
    unsafe { libc::kill(process, signal) };
}

pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < LONG, "{what}");
        sleep(Duration::from_millis(10));
    }
}

/// The exit code of a child, which must end within this time; `None` if a signal ended it.
pub(crate) fn code_within(child: &mut Child, limit: Duration, place: &Place) -> Option<i32> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        assert!(started.elapsed() < limit, "it does not end: {:?}; {}", place.processes(), place.errors());
        sleep(Duration::from_millis(10));
    }
}

pub(crate) fn parent_of(process: i32) -> i32 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    after_name.split_whitespace().nth(1).and_then(|parent| parent.parse().ok()).unwrap_or(0)
}

/// Whether a path is there.
pub(crate) fn is_there(path: &Path) -> bool {
    path.exists()
}
