//! Files that somebody else put where syncscope finds them: planted libraries and programs, run directories that are not what they
//! seem. Nothing of them is executed, nothing outside of what the user named is written.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what a test needs and does not get fails the test")]

#[path = "../common/mod.rs"]
mod common;

mod directory;
mod links;
mod planted;
mod resumed;
