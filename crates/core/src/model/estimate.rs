//! An estimate: the cost of one operation with its intervals.

use crate::model::case::Population;
use crate::stats::Interval;
use crate::units::{Cycles, Nanoseconds};

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
    /// All actors together execute their number of operations in this time: the harmonic mean of their costs. Where the slowest
    /// counts, it is that one's cost: the others were fast while it waited. `None` where they do not all run at the same time.
    pub rate_ns: Option<Nanoseconds>,
    /// Which samples `ns` stands for.
    pub population: Population,
    /// Both populations, where SMT interference is detected.
    pub strata: Option<StrataEstimate>,
}

/// Both populations, each with its own count.
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
    /// Pairs that it stands on.
    pub pairs: u64,
}
