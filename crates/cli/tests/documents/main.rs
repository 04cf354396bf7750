//! Checks the documents against the code, and the files of runs against their contracts.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what a test needs and does not get fails the test")]

mod claims_page;
mod commands;
mod examples;
mod folders;
mod formats;
mod imports;
mod page_scripts;
mod pages;
mod primitives_page;
mod programs;
mod questions_page;
mod schema;
mod stored_runs;
mod unsafe_code;
mod variables;
