//! Hostile files where syncscope finds them: planted libraries and programs, run directories that are not what they
//! seem. Nothing in them is executed, and nothing outside of what the user named is written.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what a test needs and does not get fails the test")]

#[path = "../common/mod.rs"]
mod common;

mod directory;
mod doubling;
mod links;
mod outputs;
mod planted;
mod resumed;

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use common::{command, stderr};

/// A folder with a small interrupted run, and a file that no command names.
struct Sandbox(tempfile::TempDir);

impl Sandbox {
    fn new() -> Self {
        let sandbox = Self(tempfile::tempdir().unwrap());
        let words = ["run", "--only", "cpu.barrier.*", "--seed", "3", "--budget", "60ms", "--out", "run"];
        let output = sandbox.command(&words);
        assert!(sandbox.path("run/run.json").is_file(), "{}", stderr(&output));
        fs::write(sandbox.path("victim"), "precious").unwrap();
        sandbox
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Output {
        let mut command = command(words);
        command.current_dir(self.0.path()).env("SYNCSCOPE_FAKE", "dwell=1ms");
        command.env("HOME", self.0.path().join("home")).output().unwrap()
    }

    fn assert_untouched(&self) {
        assert_eq!(fs::read(self.path("victim")).unwrap(), b"precious");
        assert!(!self.path("made").exists());
    }
}
