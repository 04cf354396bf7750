//! Disturbances of a command, from outside or from measured code, leave nothing behind and give no case a verdict: processes,
//! files and locks after each fault, signals to each process, limits, Ctrl-C.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "what a test needs and does not get fails the test")]

mod blamed;
#[path = "../common/mod.rs"]
mod common;
mod groups;
mod interrupted;
mod killed;
mod left_behind;
mod traces;
