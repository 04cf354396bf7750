//! Shares of trials, and how sure they are.

use super::ranked::{Interval, Level};

/// How many of the trials of one batch succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchCount {
    /// Trials that succeeded.
    pub successes: u64,
    /// All trials.
    pub trials: u64,
}

/// A share of trials with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proportion {
    /// Successes over trials, 0 to 1.
    pub share: f64,
    /// The interval of the share.
    pub interval: Interval,
}

impl Proportion {
    /// The share in all batches together; `None` without a trial.
    ///
    /// The interval is Wilson's (*Journal of the American Statistical Association* 22, 1927). Trials of one batch may
    /// resemble each other: where batches differ by more than chance, the trials count for less (the design effect of Kish,
    /// *Survey Sampling*, 1965). Without a success no batch differs, and the interval treats all trials as independent.
    pub fn of(batches: &[BatchCount], level: Level) -> Option<Self> {
        let sum = |of: fn(&BatchCount) -> u64| batches.iter().map(of).sum::<u64>();
        let (successes, trials) = (sum(|batch| batch.successes), sum(|batch| batch.trials));
        if trials == 0 {
            return None;
        }
        let share = successes as f64 / trials as f64;
        Some(Self { share, interval: wilson(share, trials as f64 / design_effect(batches, share), level) })
    }
}

/// Wilson's score interval of a share found in this many independent trials.
fn wilson(share: f64, trials: f64, level: Level) -> Interval {
    let z_squared = level.z * level.z;
    let scale = 1.0 + z_squared / trials;
    let centre = (share + z_squared / (2.0 * trials)) / scale;
    let half_width =
        (share * (1.0 - share) * z_squared / trials + z_squared * z_squared / (4.0 * trials * trials)).sqrt() / scale;
    // Exact at both ends, where rounding would leave a remainder.
    let low = if share <= 0.0 { 0.0 } else { (centre - half_width).max(0.0) };
    let high = if share >= 1.0 { 1.0 } else { (centre + half_width).min(1.0) };
    Interval { low, high }
}

/// The variance between the shares of batches over the variance that independent trials give; at least 1.
fn design_effect(batches: &[BatchCount], share: f64) -> f64 {
    let taken: Vec<&BatchCount> = batches.iter().filter(|batch| batch.trials > 0).collect();
    let expected = share * (1.0 - share);
    if taken.len() < 2 || expected <= 0.0 {
        return 1.0;
    }
    // Each batch's squared distance in units of what chance gives a batch of its size.
    let distance = |batch: &&BatchCount| {
        let trials = batch.trials as f64;
        (batch.successes as f64 / trials - share).powi(2) * trials / expected
    };
    (taken.iter().map(distance).sum::<f64>() / (taken.len() - 1) as f64).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(batches: &[(u64, u64)]) -> Proportion {
        let batches: Vec<BatchCount> =
            batches.iter().map(|(successes, trials)| BatchCount { successes: *successes, trials: *trials }).collect();
        Proportion::of(&batches, Level::P95).unwrap()
    }

    #[test]
    fn wilsons_interval_has_its_published_ends() {
        // Newcombe, Statistics in Medicine 17, 1998, table I, method 3: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
        for (successes, trials, low, high) in
            [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)]
        {
            let Interval { low: found_low, high: found_high } = of(&[(successes, trials)]).interval;
            assert!((found_low - low).abs() < 6e-5 && (found_high - high).abs() < 6e-5, "{found_low} {found_high}");
        }
    }

    #[test]
    fn nothing_in_a_million_is_a_bound_and_not_zero() {
        let none = of(&[(0, 500_000), (0, 500_000)]);
        assert!(none.share <= 0.0 && none.interval.low <= 0.0 && none.interval.low >= 0.0);
        assert!((3.8e-6..3.9e-6).contains(&none.interval.high), "{none:?}");
        let all = of(&[(1_000_000, 1_000_000)]);
        assert!(all.interval.high >= 1.0 && all.interval.low > 0.999_99, "{all:?}");
        assert_eq!(Proportion::of(&[], Level::P95), None);
    }

    #[test]
    fn batches_that_differ_widen_the_interval() {
        let alike = of(&[(50, 100), (50, 100), (50, 100), (50, 100)]);
        let apart = of(&[(0, 100), (100, 100), (0, 100), (100, 100)]);
        assert!((alike.share - apart.share).abs() < 1e-12);
        assert!(apart.interval.half_width() > 4.0 * alike.interval.half_width(), "{apart:?} {alike:?}");
        let one = of(&[(200, 400)]);
        assert_eq!(alike.interval, one.interval, "less than chance is not credited");
        // Each batch is a standard error from the share. Two have one degree of freedom, and half of the trials count; of four
        // batches with three degrees, three quarters.
        let batches = [(45, 100), (55, 100), (45, 100), (55, 100)];
        for (found, expected) in [(of(&batches[..2]), of(&[(50, 100)])), (of(&batches), of(&[(150, 300)]))] {
            let ends = |of: Proportion| [of.interval.low, of.interval.high];
            assert!(
                ends(found).iter().zip(ends(expected)).all(|(a, b)| (a - b).abs() < 1e-12),
                "{found:?} {expected:?}"
            );
        }
    }
}
