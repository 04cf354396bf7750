//! The commands that read finished runs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what a test needs and does not get fails the test")]

#[path = "../common/mod.rs"]
mod common;

mod advise;
mod compare;
mod damaged;
mod findings;
mod fleet;
mod gallery;
mod golden;
mod history;
mod hostile;
mod import;
mod stored_runs;
mod submit;
