//! Rows, comparisons and findings as text: for the terminal, as Markdown, as CSV and as JSON.
//!
//! - [`answer`]: the one form in which all commands answer a program
//! - [`advice`]: which primitive to take for a need
//! - [`comparison`]: two runs side by side
//! - [`course`]: what changed over the runs of a machine
//! - [`findings`]: published claims, and their outcomes on runs
//! - [`rows`]: the rows of a run
//! - [`sides`]: CPU next to GPU
//! - [`trackers`]: resolved rows for tools that follow figures over time
//!
//! Names come from other people's files, and every format makes them harmless: control characters are replaced, Markdown is
//! escaped, and no text cell of a CSV file begins with a character that starts a formula.

pub mod advice;
pub mod answer;
pub mod comparison;
pub mod course;
pub mod findings;
pub mod rows;
pub mod sides;
pub mod trackers;
