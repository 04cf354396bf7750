//! Tests the page in one browser that all tests share: `scripts/test browser` runs them in one process.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that fails is a failed test")]

mod chromium;
mod claims;
mod decisions;
mod pages;
mod reading;
#[path = "../synthetic/mod.rs"]
mod synthetic;
