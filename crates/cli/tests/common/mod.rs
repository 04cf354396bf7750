//! Runs the command on fake hardware (`SYNCSCOPE_FAKE`), for the tests that see it from the outside.

#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod cgroup;
pub(crate) mod fake_libraries;

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// The path of the command: the one built with the tests, or another one where the tests run without the project.
pub(crate) fn program() -> String {
    std::env::var("SYNCSCOPE_COMMAND").unwrap_or_else(|_| env!("CARGO_BIN_EXE_syncscope").to_owned())
}

/// The command with these arguments, not started.
pub(crate) fn command(words: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(words).env("SYNCSCOPE_FAKE", "").stdin(Stdio::null());
    command
}

/// The output of the command.
pub(crate) fn output(words: &[&str]) -> Output {
    command(words).output().unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The error message; there must be exactly one.
pub(crate) fn error_line(output: &Output) -> String {
    let text = stderr(output);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(lines.len(), 1, "{text}");
    lines[0].to_owned()
}

/// A path in the folder, as a word of the command line.
pub(crate) fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

/// Sends a signal to a child that has not been waited for.
pub(crate) fn signal(child: &Child, signal: i32) {
    // SAFETY: kill takes no pointers. The child was not waited for yet, so its process id is not reused.
    unsafe { libc::kill(child.id().cast_signed(), signal) };
}

/// Copies a folder with everything in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
