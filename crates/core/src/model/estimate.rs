//! An estimate: the cost of one operation with its intervals.

use crate::model::units::{Cycles, Nanoseconds};
use crate::stats::Interval;

/// The cost of one operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Median of the observations.
    pub ns: Nanoseconds,
    /// 95 % interval of the median; `None` if there were too few pairs for one.
    pub ns_interval: Option<Interval>,
    /// The same in cycles, where they could be measured.
    pub cycles: Option<Cycles>,
    /// 95 % interval of `cycles`.
    pub cycles_interval: Option<Interval>,
    /// Cost as the fastest actor sees it.
    pub fastest_ns: Nanoseconds,
    /// Cost as the actor in the middle sees it.
    pub median_ns: Nanoseconds,
}
