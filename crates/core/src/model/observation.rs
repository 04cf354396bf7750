//! An observation: what one pair of samples says about the cost.

use crate::model::sample::Disturbance;
use crate::model::units::{Hertz, Ticks};

/// One pair, as it stands in `samples.csv`.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// Number of the pair, from 0.
    pub pair: u64,
    /// Whether the baseline ran before the test.
    pub baseline_first: bool,
    /// The slowest actor of the baseline.
    pub baseline: Ticks,
    /// The slowest actor of the test.
    pub test: Ticks,
    /// Cost of one operation in nanoseconds per operation, of either sign.
    pub ns: f64,
    /// The same in cycles per operation.
    pub cycles: Option<f64>,
    /// The same of the fastest actors, in nanoseconds.
    pub fastest_ns: f64,
    /// The same of the actors in the middle, in nanoseconds.
    pub median_ns: f64,
    /// Clock of the core or multiprocessor during the pair.
    pub clock: Option<Hertz>,
    /// Whether another hardware thread of an actor's core was active meanwhile.
    pub smt_interference: bool,
    /// Why this pair does not count, if so.
    pub excluded: Option<Disturbance>,
}
