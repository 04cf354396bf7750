//! Medians and intervals of observations that were taken in measurement blocks.

use crate::stats::{Ranked, median, student, variance};
use crate::{Interval, Level};

/// The fewest blocks whose ranks give a 95 % interval.
const ENOUGH_BLOCKS: usize = 6;

/// Observations whose blocks are clusters: the state of the machine is the same for all observations of one block, so
/// a hundred observations of one block hold less information than ten blocks of ten.
///
/// With six blocks or more, median and interval are taken over the blocks' medians. With two to five, the interval is at
/// least as wide as Student's t interval over the blocks' medians. The observations of a single block count as independent.
#[derive(Debug, Clone, PartialEq)]
pub struct Clustered {
    /// The blocks' medians, or the observations where there are few blocks.
    ranked: Ranked,
    /// The medians of two to five blocks.
    few_blocks: Vec<f64>,
    lowest: f64,
    highest: f64,
}

impl Clustered {
    /// Builds the clusters from observations in the order they were taken, each with the number of its block. `None` without
    /// observations.
    pub fn of(observations: &[(u32, f64)]) -> Option<Self> {
        let values: Vec<f64> = observations.iter().map(|(_, value)| *value).collect();
        let lowest = values.iter().copied().min_by(f64::total_cmp)?;
        let highest = values.iter().copied().max_by(f64::total_cmp)?;
        let blocks = block_medians(observations);
        let few_blocks = if (2..ENOUGH_BLOCKS).contains(&blocks.len()) { blocks.clone() } else { Vec::new() };
        let ranked = if blocks.len() >= ENOUGH_BLOCKS { Ranked::of(&blocks) } else { Ranked::of(&values) };
        Some(Self { ranked, few_blocks, lowest, highest })
    }

    /// The median.
    pub fn median(&self) -> Option<f64> {
        self.ranked.median()
    }

    /// An interval that holds the median of the distribution of the blocks. `None` if there are too few observations.
    pub fn interval(&self, level: Level) -> Option<Interval> {
        let interval = self.ranked.interval(level)?;
        let Some(half_width) = student_half_width(&self.few_blocks, level) else { return Some(interval) };
        Some(interval.at_least(self.median()?, half_width))
    }

    /// The interval, or the range of the observations where they are too few for one.
    pub fn interval_or_range(&self, level: Level) -> Interval {
        self.interval(level).unwrap_or(Interval { low: self.lowest, high: self.highest })
    }

    /// Whether all observations are finite numbers.
    pub fn is_finite(&self) -> bool {
        self.lowest.is_finite() && self.highest.is_finite()
    }
}

/// The median of each block, in the order of the blocks.
pub(crate) fn block_medians(observations: &[(u32, f64)]) -> Vec<f64> {
    let blocks = observations.chunk_by(|(one, _), (other, _)| one == other);
    blocks.filter_map(|block| median(&block.iter().map(|(_, value)| *value).collect::<Vec<_>>())).collect()
}

/// Half the width of the interval of the mean of two to six values, by Student's t distribution; `None` for any other
/// number.
pub(crate) fn student_half_width(values: &[f64], level: Level) -> Option<f64> {
    if !(2..=6).contains(&values.len()) {
        return None;
    }
    let count = values.len() as f64;
    Some(student::quantile(level.tail, count - 1.0) * (variance(values) / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(of: &[&[f64]]) -> Vec<(u32, f64)> {
        (1..).zip(of).flat_map(|(block, values)| values.iter().map(move |value| (block, *value))).collect()
    }

    #[test]
    fn one_block_stands_for_its_observations() {
        let one = Clustered::of(&blocks(&[&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])).unwrap();
        assert_eq!(one.median(), Some(3.5));
        assert_eq!(one.interval(Level::P95), Some(Interval { low: 1.0, high: 6.0 }));
        assert_eq!(one.interval(Level::P99), None);
        assert_eq!(Clustered::of(&[]), None);
    }

    #[test]
    fn many_observations_of_few_blocks_are_no_narrow_interval() {
        // Each block agrees with itself to 0.1 %, the blocks differ by some percent.
        let block = |centre: f64| (0..40).map(|i| centre + f64::from(i) * 1e-4).collect::<Vec<_>>();
        let (a, b, c) = (block(1.0), block(1.03), block(0.98));
        let three = Clustered::of(&blocks(&[&a, &b, &c])).unwrap();
        // t = 4.303, deviation 0.0252: half of the interval is 0.0625.
        let width = three.interval(Level::P95).unwrap().half_width();
        assert!((0.06..0.07).contains(&width), "{width}");
        assert!(three.interval(Level::P99).unwrap().half_width() > 2.0 * width);
    }

    #[test]
    fn many_blocks_give_the_ranks_of_their_medians() {
        let values: Vec<Vec<f64>> = [4, 1, 8, 3, 0, 7, 2, 6, 5].map(|i| vec![f64::from(i), f64::from(i), 1e6]).to_vec();
        let slices: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
        let nine = Clustered::of(&blocks(&slices)).unwrap();
        assert_eq!(nine.median(), Some(4.0), "a third of the observations is far off");
        assert_eq!(nine.interval(Level::P95), Some(Interval { low: 1.0, high: 7.0 }));
        assert_eq!(nine.interval_or_range(Level::P99), Interval { low: 0.0, high: 8.0 });
    }

    #[test]
    fn too_few_observations_have_a_range() {
        let two = Clustered::of(&blocks(&[&[2.0], &[3.0]])).unwrap();
        assert_eq!(two.interval(Level::P95), None);
        assert_eq!(two.interval_or_range(Level::P95), Interval { low: 2.0, high: 3.0 });
    }
}
