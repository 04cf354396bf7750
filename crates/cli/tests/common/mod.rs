//! Runs the command on fake hardware (`SYNCSCOPE_FAKE`), for the tests that see it from the outside.

#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod cgroup;
pub(crate) mod fake_libraries;

use std::process::{Command, Output, Stdio};

/// The command's file: the one that was built with the tests, or another one where these run without the project.
pub(crate) fn program() -> String {
    std::env::var("SYNCSCOPE_COMMAND").unwrap_or_else(|_| env!("CARGO_BIN_EXE_syncscope").to_owned())
}

/// The command with these words, not started.
pub(crate) fn command(words: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(words).env("SYNCSCOPE_FAKE", "").stdin(Stdio::null());
    command
}

/// Its output.
pub(crate) fn output(words: &[&str]) -> Output {
    command(words).output().unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
