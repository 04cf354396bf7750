//! The experiments of papers, on fake hardware.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what a test needs and does not get fails the test")]

#[path = "../common/mod.rs"]
mod common;

mod asynchrony;
mod matrix;
mod published;
