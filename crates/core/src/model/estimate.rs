//! An estimate: the cost of one operation with its intervals.

use crate::{Cycles, Disturbance, Hertz, Interval, Nanoseconds, Population, Ticks};
use serde::{Deserialize, Serialize};

/// The cost of one operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// The cost for the actors and the population that the row is about.
    pub ns: Nanoseconds,
    /// 95 % interval within this run: the one to compare rows of this run by; `None` if there were too few pairs for one.
    pub ns_within: Option<Interval>,
    /// The cost in cycles, where they could be measured.
    pub cycles: Option<Cycles>,
    /// 95 % interval of `cycles` within this run.
    pub cycles_within: Option<Interval>,
    /// The 5th and the 95th percentile of the pairs: what one program may meet.
    pub ns_spread: Option<Interval>,
    /// Cost as the fastest actor sees it.
    pub fastest_ns: Nanoseconds,
    /// Cost as the median actor sees it.
    pub median_ns: Nanoseconds,
    /// Cost as the slowest actor sees it.
    pub slowest_ns: Nanoseconds,
    /// The time in which all actors together execute as many operations as there are actors: the harmonic mean of their
    /// costs. Where the slowest actor counts, it is the slowest's cost, because the others were fast while it waited. `None`
    /// where the actors do not all run at the same time.
    pub rate_ns: Option<Nanoseconds>,
    /// Which samples `ns` stands for.
    pub population: Population,
    /// Both populations, where SMT interference is detected.
    pub strata: Option<StrataEstimate>,
    /// The cost to a program of equal work, where a window serves its actors unequally.
    pub equal_work: Option<EqualWork>,
}

/// The cost where every actor does the same number of operations, until the last actor is done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EqualWork {
    /// The cost.
    pub ns: Nanoseconds,
    /// 95 % interval within this run.
    pub within: Interval,
    /// The cost in cycles.
    pub cycles: Option<Cycles>,
}

/// Actors count as served alike where the cost with equal work is within this fraction of the mean over the actors.
const SERVED_ALIKE: f64 = 0.03;

impl EqualWork {
    /// Whether this cost differs from the mean over the actors of a window: by more than [`SERVED_ALIKE`], and with disjoint
    /// intervals.
    pub(crate) fn differs_from(&self, mean: Nanoseconds, within: Option<Interval>) -> bool {
        let is_apart = within.is_none_or(|mean| self.within.low > mean.high || self.within.high < mean.low);
        is_apart && (self.ns.value() / mean.value() - 1.0).abs() > SERVED_ALIKE
    }
}

/// The costs in both populations, each with its own count.
#[derive(Debug, Clone, PartialEq)]
pub struct StrataEstimate {
    /// Share of the actors' samples with SMT interference, 0 to 1.
    pub beside_share: f64,
    /// The threads had their cores for themselves.
    pub alone: Option<Stratum>,
    /// Another hardware thread of a core was active.
    pub beside: Option<Stratum>,
}

/// The cost in one population.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stratum {
    /// The cost.
    pub ns: Nanoseconds,
    /// 95 % interval within this run; `None` if there were too few pairs.
    pub interval: Option<Interval>,
    /// Number of pairs behind the cost.
    pub pairs: u64,
}

// An observation: what one pair of samples says about the cost.

/// One pair, as stored in `samples.csv`.
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
    /// The same cost in cycles.
    pub cycles: Option<f64>,
    /// The smallest of the costs of the fastest, the median and the slowest actors, in nanoseconds.
    pub fastest_ns: f64,
    /// The one in the middle of these three costs.
    pub median_ns: f64,
    /// The largest of these three costs.
    pub slowest_ns: f64,
    /// The cost for an actor of the mean rate, in nanoseconds.
    pub mean_rate_ns: f64,
    /// The costs with and without SMT interference, where it is detected.
    pub strata: Option<Strata>,
    /// Clock of the core or multiprocessor during the pair.
    pub clock: Option<Hertz>,
    /// Whether an actor completed nothing in a window, so that its cost is at least the length of the window.
    pub is_starved: bool,
    /// Why this pair does not count, if so.
    pub excluded: Option<Disturbance>,
}

impl Observation {
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
    /// The share of actors with SMT interference, 0 to 1.
    pub beside_share: f64,
}

impl Strata {
    /// The strata of a pair that belongs to one population as a whole: to the one with SMT interference if no actor was
    /// alone.
    pub(crate) fn of_whole(ns: f64, beside_share: f64) -> Self {
        let (alone_ns, beside_ns) = if beside_share >= 1.0 { (None, Some(ns)) } else { (Some(ns), None) };
        Self { alone_ns, beside_ns, beside_share }
    }
}
