//! The ratio of two costs of a run, where the machine is too busy to know either.
//!
//! Whatever slows a busy machine slows two rivals alike, because each process measures both within the same seconds. What the rows
//! of a class share cancels in their ratio; the rest of both remains ([`Parts`](crate::run::row::Parts)). Two locks whose costs
//! are known within a factor of two can be ordered when they differ by a fifth.

use crate::stats::{Level, student};
use crate::{Interval, Nanoseconds, Row};

/// The interval of one cost over another one of the same run, at 99 %, because a run asks about hundreds of pairs. `None` where
/// fewer than three processes measured one of them, and where one has no cost above zero.
///
/// The interval has the degrees of freedom of the variance with fewer: those of Welch and Satterthwaite promise too much
/// where one of two variances, each from three processes, is a hundred times the other (`tests/rivals.rs`).
pub fn ratio(one: &Row, other: &Row) -> Option<Interval> {
    let (a, b) = (one.run_to_run?, other.run_to_run?);
    let shared = if a.class == b.class { 0.0 } else { a.ns.shared.value + b.ns.shared.value };
    let variance = a.ns.own.value + b.ns.own.value + shared;
    let degrees = a.ns.own.degrees.min(b.ns.own.degrees);
    let half = student::quantile(Level::P99.tail, degrees) * variance.sqrt();
    let cost = |row: &Row| row.ns.map(Nanoseconds::value).filter(|ns| *ns > 0.0);
    let at = cost(one)? / cost(other)?;
    Some(Interval { low: at * (-half).exp(), high: at * half.exp() })
}
