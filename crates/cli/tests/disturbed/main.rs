//! What disturbs a command from outside or from measured code leaves nothing behind and is no verdict of a case: processes, files and
//! locks after each fault, signals to each process, limits, Ctrl-C.

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
