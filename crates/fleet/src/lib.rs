//! Compares the runs of many machines.
//!
//! - [`nodes`]: which nodes of a cluster differ
//! - [`gallery`]: the index page over many runs
//! - [`bundle`]: a run without anything that names its owner, for the gallery

#![forbid(unsafe_code)]

pub mod bundle;
pub mod gallery;
pub mod nodes;

#[cfg(test)]
mod testing;
