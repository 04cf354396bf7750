//! Medians and their intervals, from ranks.

/// Observations sorted by size, with their autocorrelation time. Medians and intervals of all levels are read from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    sorted: Vec<f64>,
    autocorrelation_time: f64,
}

impl Ranked {
    /// Ranks observations that are in the order they were taken.
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
        let rank = lower_rank(self.sorted.len(), level.tail)? as f64;
        let distance = (middle - rank) * self.autocorrelation_time.sqrt();
        let rank = (middle - distance).floor().max(0.0) as usize;
        Some(Interval { low: self.sorted[rank], high: self.sorted[last - rank] })
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

// Intervals, and how sure they are.

/// An interval of values, both ends included.
///
/// ```
/// use syncscope_core::stats::Interval;
///
/// let cost = Interval { low: 9.0, high: 11.0 };
/// assert!(cost.contains(10.5) && cost.half_width() == 1.0);
/// // Two independent uncertainties of 3 and 4 are one of 5.
/// let wider = Interval { low: 7.0, high: 13.0 }.widened(10.0, 4.0);
/// assert_eq!(wider, Interval { low: 5.0, high: 15.0 });
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Half of its width.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// The least interval that holds both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Whether `value` lies in it.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// This interval, with an independent uncertainty of `half_width` to both sides of `centre` added (in quadrature).
    pub fn widened(self, centre: f64, half_width: f64) -> Self {
        let distance = |end: f64| (centre - end).hypot(half_width);
        Self { low: centre - distance(self.low), high: centre + distance(self.high) }
    }

    /// This interval, at least `margin` wide to both sides of `centre`.
    pub fn at_least(self, centre: f64, margin: f64) -> Self {
        Self { low: self.low.min(centre - margin), high: self.high.max(centre + margin) }
    }
}

/// How sure an interval is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// The standard normal quantile of both tails together.
    pub z: f64,
    /// The probability of one tail.
    pub(crate) tail: f64,
}

impl Level {
    /// 95 %: what is reported.
    pub const P95: Self = Self { z: 1.960, tail: 0.025 };
    /// 99 %: what a cost must pass to be called different from zero.
    pub const P99: Self = Self { z: 2.576, tail: 0.005 };
}

// How much information correlated observations hold.

/// The autocorrelation time: how many observations in a row hold as much information as one independent observation, judged
/// by whether they lie above or below the median; 1 for independent ones.
///
/// It is t = 1 + 2 (r1 + r2 + ...), r being the autocorrelations of the sign of the distance from the median, summed up to
/// the first that is not significant. Taken about their own median, the autocorrelations of n observations come out too low
/// by about (1 - r) t / n each (Marriott and Pope, Biometrika 41, 1954), which is added back. The time is never below 1:
/// alternation is not credited.
pub(super) fn autocorrelation_time(observations: &[f64], centre: f64) -> f64 {
    let sign = |value: &f64| f64::from(value.total_cmp(&centre) as i8);
    time_of(&observations.iter().map(sign).collect::<Vec<_>>())
}

/// The autocorrelation time of deviations whose mean is zero.
fn time_of(deviations: &[f64]) -> f64 {
    let energy: f64 = deviations.iter().map(|deviation| deviation * deviation).sum();
    if energy == 0.0 {
        return 1.0;
    }
    let count = deviations.len() as f64;
    let insignificant = SIGNIFICANT_CORRELATION / count.sqrt();
    let correlation = |lag: usize| deviations.iter().zip(&deviations[lag..]).map(|(a, b)| a * b).sum::<f64>() / energy;
    let (lags, sum) = (1..deviations.len() / 2)
        .map(correlation)
        .take_while(|r| *r > insignificant)
        .fold((0.0, 0.0), |(lags, sum), r| (lags + 1.0, sum + r));
    // Solved for t: t = 1 + 2 (sum (1 - t / n) + lags t / n).
    let put_back = 1.0 - 2.0 * (lags - sum) / count;
    ((1.0 + 2.0 * sum) / put_back.max(LEAST_PUT_BACK)).max(1.0)
}

/// An interval that holds the share of moments of one kind, given the shares of measurement blocks in the order they were
/// taken. Blocks may resemble their neighbours, so they count as the independent blocks that would hold as much information.
///
/// The interval is Agresti and Coull's (*The American Statistician* 52, 1998), which keeps its coverage for small shares
/// too.
pub(crate) fn share_interval(shares: &[f64], level: Level) -> Interval {
    let count = shares.len().max(1) as f64;
    let share = shares.iter().sum::<f64>() / count;
    let deviations: Vec<f64> = shares.iter().map(|of_block| of_block - share).collect();
    let independent = count / time_of(&deviations).max(time_by_changes(shares, share));
    let z = level.z;
    let centre = (share * independent + z * z / 2.0) / (independent + z * z);
    let half_width = z * (centre * (1.0 - centre) / (independent + z * z)).sqrt();
    Interval { low: (centre - half_width).clamp(0.0, share), high: (centre + half_width).clamp(share, 1.0) }
}

/// The autocorrelation time of blocks of two kinds, from how often one kind follows the other: few changes say more about a
/// state that lasts for a good part of the run than correlations do. If the kind is drawn anew with a probability q in each
/// block, n blocks have 2 p (1 - p) q n changes, and t = 2 / q - 1.
fn time_by_changes(shares: &[f64], share: f64) -> f64 {
    let changes = shares.windows(2).filter(|two| (two[0] < 0.5) != (two[1] < 0.5)).count() as f64;
    let if_independent = 2.0 * share * (1.0 - share) * shares.len() as f64;
    2.0 / (changes.max(1.0) / if_independent).min(1.0) - 1.0
}

/// The least divisor of the correction, which makes no sense where the series is hardly longer than its memory.
const LEAST_PUT_BACK: f64 = 0.25;

/// Standard errors (1 over the square root of n; Bartlett, 1946) an autocorrelation must exceed to be counted.
const SIGNIFICANT_CORRELATION: f64 = 1.0;

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
    fn ranks_are_those_of_the_binomial_tables() {
        // Hahn and Meeker, table A.15: two-sided 95 % intervals for the median, as ranks counted from 1.
        for (count, rank) in [(6, 1), (8, 1), (9, 2), (12, 3), (15, 4), (20, 6), (25, 8), (50, 18), (100, 40)] {
            assert_eq!(lower_rank(count, Level::P95.tail), Some(rank - 1), "{count}");
        }
        assert_eq!(lower_rank(5, Level::P95.tail), None);
        assert_eq!(lower_rank(7, Level::P99.tail), None);
        assert_eq!(lower_rank(8, Level::P99.tail), Some(0));
        // Far beyond where 0.5^n is zero in f64: close to n/2 - 1.96 sqrt(n)/2.
        let rank = lower_rank(10_000, Level::P95.tail).unwrap();
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

#[cfg(test)]
mod autocorrelation_tests {
    use super::*;

    #[test]
    fn the_interval_of_a_share_is_wider_where_blocks_resemble_each_other() {
        let alternating: Vec<f64> = (0..40).map(|i| f64::from(u8::from(i % 4 == 0))).collect();
        let lasting: Vec<f64> = (0..40).map(|i| f64::from(u8::from(i < 10))).collect();
        let (one, other) = (share_interval(&alternating, Level::P95), share_interval(&lasting, Level::P95));
        // Agresti and Coull, 10 of 40: 11.92 of 43.84, and 1.96 standard errors.
        assert!((one.low - 0.140_20).abs() < 1e-5 && (one.high - 0.403_62).abs() < 1e-5, "{one:?}");
        assert!(other.half_width() > 1.5 * one.half_width() && other.contains(0.25), "{other:?}");
        let never = share_interval(&[0.0; 20], Level::P95);
        assert!(never.low.abs() < 1e-12 && (0.1..0.25).contains(&never.high), "{never:?}");
    }

    /// Of twelve deviations of one or two, eight neighbours are alike and three differ in sign.
    #[test]
    fn the_time_counts_correlations_up_to_the_first_that_chance_explains() {
        let deviations = [1.0, 1.0, 1.0, -2.0, -2.0, -2.0, 1.0, 1.0, 1.0, 1.0, 1.0, -2.0];
        // r1 = (6 + 8 - 6) / 24, which is more than 1 / sqrt(12); r2 is below zero.
        let r1 = 8.0 / 24.0;
        let expected = (1.0 + 2.0 * r1) / (1.0 - 2.0 * (1.0 - r1) / 12.0);
        assert!((time_of(&deviations) - expected).abs() < 1e-12, "{} {expected}", time_of(&deviations));
    }

    /// Where a quarter of 40 blocks is of one kind, fifteen changes are what independent blocks have.
    #[test]
    fn few_changes_between_kinds_mean_long_states() {
        let time = |lengths: &[(usize, f64)]| {
            let shares: Vec<f64> = lengths.iter().flat_map(|(count, share)| vec![*share; *count]).collect();
            time_by_changes(&shares, shares.iter().sum::<f64>() / shares.len() as f64)
        };
        assert!((time(&[(30, 0.0), (10, 1.0)]) - 29.0).abs() < 1e-12);
        assert!((time(&[(10, 1.0), (30, 0.0)]) - 29.0).abs() < 1e-12);
        assert!((time(&[(10, 0.0), (10, 1.0), (20, 0.0)]) - 14.0).abs() < 1e-12);
        let often: Vec<(usize, f64)> = (0..10).flat_map(|_| [(3, 0.0), (1, 1.0)]).collect();
        assert!((time(&often) - 1.0).abs() < 1e-12, "more changes than chance has are not credited");
        assert!((time(&[(39, 0.0), (1, 0.4)]) - 1.0).abs() < 1e-12, "a kind that is hardly there has no states");
    }
}
