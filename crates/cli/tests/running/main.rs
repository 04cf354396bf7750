//! The command and `run`: options, help, directories, launchers and processes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what a test needs and does not get fails the test")]

#[path = "../common/mod.rs"]
mod common;

mod axes;
mod command;
mod described;
mod disturbed;
mod help;
mod instructions;
mod launchers;
mod measure;
mod orderings;
mod processes;
mod repeated;
