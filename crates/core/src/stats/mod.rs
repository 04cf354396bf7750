//! Statistics of observations: pure functions of slices, free of assumptions about the shape of the noise.

/// An interval of values, both ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Half of its width.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Whether `value` lies in it.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// This interval, at least `margin` wide to both sides of `centre`.
    #[must_use]
    pub fn at_least(self, centre: f64, margin: f64) -> Self {
        Self { low: self.low.min(centre - margin), high: self.high.max(centre + margin) }
    }
}

/// How sure an interval is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// 95 %: what is reported.
    P95,
    /// 99 %: what a cost must pass to be called different from zero.
    P99,
}

impl Level {
    const fn tail(self) -> f64 {
        match self {
            Self::P95 => 0.025,
            Self::P99 => 0.005,
        }
    }
}

/// Observations in the order of their size, and how much those taken one after the other resemble each other: what medians
/// and intervals of all levels are read from.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    sorted: Vec<f64>,
    autocorrelation_time: f64,
}

impl Ranked {
    /// Ranks observations that stand in the order they were taken.
    #[must_use]
    pub fn of(observations: &[f64]) -> Self {
        let mut sorted = observations.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let centre = median_of_sorted(&sorted);
        let autocorrelation_time = centre.map_or(1.0, |centre| autocorrelation_time(observations, centre));
        Self { sorted, autocorrelation_time }
    }

    /// The middle value; of an even number of values, the mean of the two in the middle.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        median_of_sorted(&self.sorted)
    }

    /// An interval that holds the median of the distribution the observations come from, with at least the
    /// confidence of `level`, whatever that distribution is.
    ///
    /// For independent observations its ends are order statistics whose ranks follow from the binomial distribution
    /// (Hahn and Meeker, *Statistical Intervals*, 5.2; David and Nagaraja, *Order Statistics*, 7.1).
    ///
    /// Where neighbours resemble each other (a slow wave of noise), n observations tell less than n independent ones, and
    /// the distance of the ranks from the middle grows with the square root of the autocorrelation time (Heidelberger
    /// and Lewis, *Quantile estimation in dependent sequences*, Operations Research 32, 1984).
    ///
    /// `None` if there are too few observations for this level (fewer than 6 for 95 %, 8 for 99 %).
    #[must_use]
    pub fn interval(&self, level: Level) -> Option<Interval> {
        let last = self.sorted.len().checked_sub(1)?;
        let middle = last as f64 / 2.0;
        let rank = lower_rank(self.sorted.len(), level.tail())? as f64;
        let distance = (middle - rank) * self.autocorrelation_time.sqrt();
        let rank = (middle - distance).floor().max(0.0) as usize;
        Some(Interval { low: self.sorted[rank], high: self.sorted[last - rank] })
    }

    /// Half of the 95 % interval, relative to the median.
    #[must_use]
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

/// The middle value; of an even number of values, the mean of the two in the middle.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let mut values = values.to_vec();
    let is_odd = values.len() % 2 == 1;
    let middle = values.len() / 2;
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    let lower = below.iter().copied().max_by(f64::total_cmp).filter(|_| !is_odd);
    Some(lower.map_or(upper, |lower| f64::midpoint(lower, upper)))
}

/// The median absolute deviation from the median, in the unit of the values and without a factor for any
/// distribution (Rousseeuw and Croux, 1993).
#[must_use]
pub fn median_absolute_deviation(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    median(&values.iter().map(|value| (value - centre).abs()).collect::<Vec<_>>())
}

/// The median absolute deviation relative to the median: "noise". `None` where the median is zero.
#[must_use]
pub fn noise(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    let noise = median_absolute_deviation(values)? / centre.abs();
    noise.is_finite().then_some(noise)
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

/// How many observations in a row tell as much as one independent observation, as far as being above or below
/// the median goes; 1 for independent ones.
///
/// It is t = 1 + 2 (r1 + r2 + ...), r being the autocorrelations of the sign of the distance from the median, summed up
/// to the first that cannot be told from zero. Those of n observations about their own median come out lower than they
/// are, by about (1 - r) t / n each (Marriott and Pope, Biometrika 41, 1954): that is put back. Never below 1: alternation
/// is not credited.
fn autocorrelation_time(observations: &[f64], centre: f64) -> f64 {
    let signs: Vec<f64> = observations
        .iter()
        .map(|value| match value.total_cmp(&centre) {
            std::cmp::Ordering::Less => -1.0,
            std::cmp::Ordering::Equal => 0.0,
            std::cmp::Ordering::Greater => 1.0,
        })
        .collect();
    let energy: f64 = signs.iter().map(|sign| sign * sign).sum();
    if energy == 0.0 {
        return 1.0;
    }
    let insignificant = SIGNIFICANT_CORRELATION / (observations.len() as f64).sqrt();
    let correlation = |lag: usize| signs.iter().zip(&signs[lag..]).map(|(a, b)| a * b).sum::<f64>() / energy;
    let (lags, sum) = (1..observations.len() / 2)
        .map(correlation)
        .take_while(|r| *r > insignificant)
        .fold((0.0, 0.0), |(lags, sum), r| (lags + 1.0, sum + r));
    // Solved for t: t = 1 + 2 (sum (1 - t / n) + lags t / n).
    let put_back = 1.0 - 2.0 * (lags - sum) / observations.len() as f64;
    ((1.0 + 2.0 * sum) / put_back.max(LEAST_PUT_BACK)).max(1.0)
}

/// Where the observations are hardly longer than their memory, the correction has no sense; it is never more than this.
const LEAST_PUT_BACK: f64 = 0.25;

/// Standard errors (1 over the square root of n; Bartlett, 1946) an autocorrelation must exceed to be counted.
const SIGNIFICANT_CORRELATION: f64 = 1.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[7.0]), Some(7.0));
        for values in [&[][..], &[3.0, 1.0, 2.0], &[4.0, 1.0, 2.0, 3.0], &[1.0, 1.0, 1.0, 5.0]] {
            assert_eq!(Ranked::of(values).median(), median(values));
        }
        assert_eq!(median_absolute_deviation(&[1.0, 2.0, 3.0, 4.0, 100.0]), Some(1.0));
        assert_eq!(noise(&[-1.0, 0.0, 1.0]), None);
        assert_eq!(noise(&[]), None);
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
