//! Clocks and counters: what a thread reads around a sample.
//!
//! - [`clock`]: the clock that samples are timed with, and its own properties. Start here.
//! - [`chains`]: chains of dependent operations, as long as asked for.
//! - `cycles.rs`: core cycles per tick of that clock, by the processor's counter (`perf_event_open(2)`) or a chain.
//! - `smt_interference.rs`: whether another hardware thread of the core was active around a sample.

pub(crate) mod cycles;
pub(crate) mod smt_interference;

pub mod chains;
pub mod clock;
