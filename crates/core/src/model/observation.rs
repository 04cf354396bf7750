//! An observation: what one pair of samples says about the cost.

use serde::{Deserialize, Serialize};

use crate::model::sample::Disturbance;
use crate::units::{Hertz, Ticks};

/// One pair, as it stands in `samples.csv`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Number of the pair, from 0.
    pub pair: u64,
    /// Number of the measurement block that it was taken in, from 1.
    pub block: u32,
    /// Number of the measuring process: 0 is the one that writes the run, the others are fresh ones.
    pub process: u32,
    /// Whether the baseline ran before the test.
    pub baseline_first: bool,
    /// The slowest actor of the baseline.
    pub baseline: Ticks,
    /// The slowest actor of the test.
    pub test: Ticks,
    /// Cost of one operation in nanoseconds, of either sign, for the actors and the population that the row is about.
    pub ns: f64,
    /// The same in cycles.
    pub cycles: Option<f64>,
    /// The smallest of the costs of the fastest, the median and the slowest actors, in nanoseconds.
    pub fastest_ns: f64,
    /// The one in the middle.
    pub median_ns: f64,
    /// The largest.
    pub slowest_ns: f64,
    /// The same of an actor of the mean rate, in nanoseconds.
    pub mean_rate_ns: f64,
    /// The costs with and without SMT interference, where it is detected.
    pub strata: Option<Strata>,
    /// Clock of the core or multiprocessor during the pair.
    pub clock: Option<Hertz>,
    /// Whether an actor completed nothing in a window: what it costs is at least that long.
    pub is_starved: bool,
    /// Why this pair does not count, if so.
    pub excluded: Option<Disturbance>,
}

impl Observation {
    /// Whether nothing but SMT interference speaks against it.
    pub fn is_undisturbed(&self) -> bool {
        matches!(self.excluded, None | Some(Disturbance::SmtInterference))
    }

    /// One pair of 100 and 150 ticks that counts, for tests of tables.
    #[cfg(test)]
    pub(crate) fn example() -> Self {
        Self {
            block: 1,
            baseline_first: true,
            baseline: Ticks(100),
            test: Ticks(150),
            ns: 0.5,
            fastest_ns: 0.5,
            median_ns: 0.5,
            slowest_ns: 0.5,
            mean_rate_ns: 0.5,
            ..Self::default()
        }
    }
}

/// What a pair says about each of the two populations, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Strata {
    /// The cost for actors that had their cores for themselves; `None` if there was none.
    pub alone_ns: Option<f64>,
    /// The cost for actors with SMT interference; `None` if there was none.
    pub beside_ns: Option<f64>,
    /// The share of the second, 0 to 1.
    pub beside_share: f64,
}
