//! Statistics of observations: pure functions of slices. They assume nothing about the shape of the noise.
//!
//! [`Ranked`] gives the median of independent observations and its interval, [`Clustered`] the median and interval of
//! observations that were taken in blocks, and [`Proportion`] the share of trials; [`noise`] is the relative median absolute
//! deviation. [`student`] has the distribution of the mean of few values, and [`Variance`] moderates variances of few
//! values. [`states()`] finds where a series changes its level, and [`steps`] finds smaller changes.

mod clustered;
pub mod layouts;
mod proportion;
mod ranked;
mod states;
pub mod steps;
pub mod student;
mod variance;

pub use clustered::Clustered;
pub(crate) use clustered::{block_medians, student_half_width};
pub use proportion::{BatchCount, Proportion};
pub(crate) use ranked::share_interval;
pub use ranked::{Interval, Level, Ranked};
pub use states::LEAST_CHANGE;
pub(crate) use states::levels;
pub use states::states;
pub use variance::{Variance, variance};
pub(crate) use variance::{mean, trimmed_at_each_end, trimmed_mean};

/// The fewest pairs that give a 95 % interval of a median.
pub(crate) const MIN_PAIRS: u64 = 6;

/// The middle value; of an even number of values, the mean of the two in the middle.
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
pub fn median_absolute_deviation(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    median(&values.iter().map(|value| (value - centre).abs()).collect::<Vec<_>>())
}

/// The median absolute deviation relative to the median: "noise". `None` where the median is zero.
pub fn noise(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    let noise = median_absolute_deviation(values)? / centre.abs();
    noise.is_finite().then_some(noise)
}

/// The value that a share `level` (0 to 1) of the values does not exceed, linearly between ranks (type 7 of Hyndman and
/// Fan, *The American Statistician* 50, 1996).
pub fn percentile(values: &[f64], level: f64) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    let position = level.clamp(0.0, 1.0) * values.len().checked_sub(1)? as f64;
    let (below, above) = (values[position.floor() as usize], values[position.ceil() as usize]);
    Some(below + (above - below) * position.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles() {
        let values: Vec<f64> = (0..=20).rev().map(f64::from).collect();
        assert_eq!((percentile(&values, 0.05), percentile(&values, 0.95)), (Some(1.0), Some(19.0)));
        assert_eq!(percentile(&[1.0, 2.0], 0.5), Some(1.5));
        assert_eq!((percentile(&[], 0.5), percentile(&[3.0], 0.95)), (None, Some(3.0)));
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median_absolute_deviation(&[1.0, 2.0, 3.0, 4.0, 100.0]), Some(1.0));
        assert_eq!(noise(&[-1.0, 0.0, 1.0]), None);
        assert_eq!(noise(&[]), None);
    }
}
