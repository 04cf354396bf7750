//! Medians and their intervals, from ranks.

use crate::stats::autocorrelation::autocorrelation_time;
use crate::stats::interval::{Interval, Level};

/// Observations sorted by size, with their autocorrelation time. Medians and intervals of all levels are read from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    sorted: Vec<f64>,
    autocorrelation_time: f64,
}

impl Ranked {
    /// Ranks observations that stand in the order they were taken.
    pub fn of(observations: &[f64]) -> Self {
        let mut sorted = observations.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let centre = median_of_sorted(&sorted);
        let autocorrelation_time = centre.map_or(1.0, |centre| autocorrelation_time(observations, centre));
        Self { sorted, autocorrelation_time }
    }

    /// The middle value; of an even number of values, the mean of the two in the middle.
    pub fn median(&self) -> Option<f64> {
        median_of_sorted(&self.sorted)
    }

    /// An interval that holds the median of the distribution the observations come from, with at least the
    /// confidence of `level`, whatever that distribution is.
    ///
    /// For independent observations its ends are order statistics whose ranks follow from the binomial distribution
    /// (Hahn and Meeker, *Statistical Intervals*, 5.2; David and Nagaraja, *Order Statistics*, 7.1).
    ///
    /// Where consecutive observations are correlated (a slow wave of noise), n observations hold less information than n
    /// independent ones, and the distance of the ranks from the middle grows with the square root of the autocorrelation time (Heidelberger
    /// and Lewis, *Quantile estimation in dependent sequences*, Operations Research 32, 1984).
    ///
    /// `None` if there are too few observations for this level (fewer than 6 for 95 %, 8 for 99 %).
    pub fn interval(&self, level: Level) -> Option<Interval> {
        let last = self.sorted.len().checked_sub(1)?;
        let middle = last as f64 / 2.0;
        let rank = lower_rank(self.sorted.len(), level.tail())? as f64;
        let distance = (middle - rank) * self.autocorrelation_time.sqrt();
        let rank = (middle - distance).floor().max(0.0) as usize;
        Some(Interval { low: self.sorted[rank], high: self.sorted[last - rank] })
    }

    /// Whether all observations are finite numbers.
    pub fn is_finite(&self) -> bool {
        // The total order puts NaN and the infinities to the ends.
        [self.sorted.first(), self.sorted.last()].into_iter().flatten().all(|value| value.is_finite())
    }

    /// Half of the 95 % interval, relative to the median.
    pub fn relative_half_width(&self) -> Option<f64> {
        let width = self.interval(Level::P95)?.half_width() / self.median()?.abs();
        width.is_finite().then_some(width)
    }
}

fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len() % 2 == 1 { upper } else { f64::midpoint(sorted[middle - 1], upper) })
}

/// The largest rank, counted from 0, whose order statistic of `count` observations lies above the median with a
/// probability of at most `tail`.
fn lower_rank(count: usize, tail: f64) -> Option<usize> {
    // P(at most k of n observations lie below the median), term by term in logarithms: 0.5^n underflows.
    let mut log_term = -(count as f64) * std::f64::consts::LN_2;
    let mut probability = 0.0;
    let mut rank = None;
    for below in 0..count {
        probability += log_term.exp();
        if probability > tail {
            break;
        }
        rank = Some(below);
        log_term += ((count - below) as f64 / (below + 1) as f64).ln();
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::median;

    #[test]
    fn the_median_of_ranks_is_the_median() {
        for values in [&[][..], &[3.0, 1.0, 2.0], &[4.0, 1.0, 2.0, 3.0], &[1.0, 1.0, 1.0, 5.0]] {
            assert_eq!(Ranked::of(values).median(), median(values));
        }
    }

    #[test]
    fn one_value_that_is_no_number_is_found() {
        assert!(Ranked::of(&[2.0, 1.0, 3.0]).is_finite() && Ranked::of(&[]).is_finite());
        for bad in [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(!Ranked::of(&[2.0, bad, 3.0]).is_finite());
        }
    }

    #[test]
    fn ranks_are_those_of_the_binomial_tables() {
        // Hahn and Meeker, table A.15: two-sided 95 % intervals for the median, as ranks counted from 1.
        for (count, rank) in [(6, 1), (8, 1), (9, 2), (12, 3), (15, 4), (20, 6), (25, 8), (50, 18), (100, 40)] {
            assert_eq!(lower_rank(count, Level::P95.tail()), Some(rank - 1), "{count}");
        }
        assert_eq!(lower_rank(5, Level::P95.tail()), None);
        assert_eq!(lower_rank(7, Level::P99.tail()), None);
        assert_eq!(lower_rank(8, Level::P99.tail()), Some(0));
        // Far beyond where 0.5^n is zero in f64: close to n/2 - 1.96 sqrt(n)/2.
        let rank = lower_rank(10_000, Level::P95.tail()).unwrap();
        assert!((4_899..=4_903).contains(&rank), "{rank}");
    }

    #[test]
    fn the_ends_of_an_interval_are_observations() {
        let observations: Vec<f64> = [5, 1, 9, 3, 7, 2, 8, 4, 6].map(f64::from).to_vec();
        assert_eq!(Ranked::of(&observations).interval(Level::P95), Some(Interval { low: 2.0, high: 8.0 }));
        assert_eq!(Ranked::of(&observations).interval(Level::P99), Some(Interval { low: 1.0, high: 9.0 }));
        assert_eq!(Ranked::of(&observations[..5]).interval(Level::P95), None);
        assert_eq!(Ranked::of(&[]).interval(Level::P95), None);
    }

    #[test]
    fn resemblance_of_neighbours_widens_the_interval() {
        let alternating: Vec<f64> = (0..64).map(|i| f64::from(i % 2) + f64::from(i) / 1e3).collect();
        let blocks: Vec<f64> = (0..64).map(|i| f64::from((i / 8) % 2) + f64::from(i) / 1e3).collect();
        let time = |observations: &[f64]| Ranked::of(observations).autocorrelation_time;
        assert!((time(&alternating) - 1.0).abs() < 1e-12);
        assert!(time(&blocks) > 4.0);
        assert!(time(&[]) <= 1.0 && time(&[1.0; 9]) <= 1.0);
    }

    #[test]
    fn equal_observations_give_an_interval_of_no_width() {
        assert_eq!(Ranked::of(&[2.0; 8]).interval(Level::P99), Some(Interval { low: 2.0, high: 2.0 }));
    }
}
