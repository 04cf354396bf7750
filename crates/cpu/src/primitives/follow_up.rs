//! What is measured of a case after its samples: a run that yields details, and the percentiles of single operations.

use std::sync::Arc;

use syncscope_core::Detail;

use crate::team::Body;
use crate::timing::clock::Clock;

/// One run after the samples that yields details. It is a job of the same team on the same CPUs. A defect that its
/// [`Body::verify`] finds counts as a defect of the case.
pub(crate) trait FollowUp: Body {
    /// What the run found; called once, after it.
    fn details(&self) -> Vec<Detail>;
}

/// Makes the follow-up of a case, with the clock that its samples were timed with.
pub(crate) type MakeFollowUp = Box<dyn Fn(&Clock) -> Arc<dyn FollowUp> + Send + Sync>;

/// Fewer values have no 99th percentile.
pub(super) const FEWEST: usize = 100;

/// Percentiles by the nearest rank (Hyndman and Fan, 1996, definition 1): each is one of the values.
pub(super) fn percentiles(values: &[f64]) -> Vec<Detail> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let Some(max) = sorted.last().filter(|_| sorted.len() >= FEWEST) else { return Vec::new() };
    let at = |share: f64| sorted[((share * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1];
    let named = [("p50_ns", at(0.50)), ("p90_ns", at(0.90)), ("p99_ns", at(0.99)), ("max_ns", *max)];
    named.into_iter().map(|(name, value)| Detail::of_case(name, value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_among_the_values() {
        let values: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        let found: Vec<(String, f64)> = percentiles(&values).into_iter().map(|d| (d.name, d.value)).collect();
        let expected = [("p50_ns", 100.0), ("p90_ns", 180.0), ("p99_ns", 198.0), ("max_ns", 200.0)];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value)));
        assert!(percentiles(&values[..FEWEST - 1]).is_empty(), "too few for the 99th");
    }
}
