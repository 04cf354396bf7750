//! A component's place in its block and warp, and a device's counts for one kernel and block size, folded into rows.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use syncscope_core::run::plain::above_zero;
use syncscope_core::stats::{BatchCount, Interval, Level, Proportion};
use syncscope_core::words;

use super::Variant;

/// Threads of a warp on every CUDA device so far.
pub const WARP_THREADS: u32 = 32;

/// The period of the paper's histograms: a multiple of all its block sizes.
pub const FOLD: u32 = 256;

words! {
    /// A component's place. A block of at most one warp has no warp border inside. The kernel `count` has the same
    /// classes in the same order.
    pub enum PositionClass ("class of positions") {
        /// Both neighbours belong to the same warp of the same block.
        Inside = "inside",
        /// The first of a warp, but not of its block.
        WarpFirst = "warp_first",
        /// The last of a warp, but not of its block.
        WarpLast = "warp_last",
        /// The first of a block.
        BlockFirst = "block_first",
        /// The last of a block.
        BlockLast = "block_last",
    }
}

impl PositionClass {
    /// The class of a component of the vector, for blocks of `block_threads` threads.
    pub const fn of(position: u32, block_threads: u32) -> Self {
        let thread = position % block_threads;
        if thread == 0 {
            Self::BlockFirst
        } else if thread == block_threads - 1 {
            Self::BlockLast
        } else if thread.is_multiple_of(WARP_THREADS) {
            Self::WarpFirst
        } else if thread % WARP_THREADS == WARP_THREADS - 1 {
            Self::WarpLast
        } else {
            Self::Inside
        }
    }

    /// The place of the class in [`Self::ALL`], and its bit on the device.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// The components that are updated: all but the two ends of the vector, which have one neighbour each.
pub(super) fn updated(components: u32) -> impl Iterator<Item = u32> {
    1..components.saturating_sub(1)
}

/// The proportion from its three columns.
pub(super) fn proportion(share: Option<f64>, low: Option<f64>, high: Option<f64>) -> Option<Proportion> {
    Some(Proportion { share: share?, interval: Interval { low: low?, high: high? } })
}

/// Number of [`PositionClass`]es.
pub const CLASSES: usize = PositionClass::ALL.len();

/// Executions that were counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// Executions of the kernel, each on a vector of ones of its own.
    pub executions: u64,
    /// The number of executions with an inconsistency in each class, in the order of [`PositionClass::ALL`].
    pub with: [u64; CLASSES],
}

/// What the device counted for one kernel and one block size.
#[derive(Debug, Clone, PartialEq)]
pub struct Counted {
    /// The kernel.
    pub variant: Variant,
    /// Threads of a block.
    pub block_threads: u32,
    /// Components of the vector, ends included.
    pub components: u32,
    /// Blocks that the device runs at the same time.
    pub resident_blocks: u32,
    /// Inconsistencies at each component of the vector, over all executions.
    pub by_position: Vec<u64>,
    /// All executions, in the order in which they ran.
    pub batches: Vec<Batch>,
    /// The time that all executions took, in seconds.
    pub seconds: f64,
}

/// A line of `asynchrony.csv`: the inconsistencies of all components that fold onto one position (figures 5 and 6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PositionRow {
    /// The kernel.
    pub variant: Variant,
    /// Threads of a block.
    #[serde(deserialize_with = "above_zero")]
    pub block_threads: u32,
    /// Position modulo 256.
    pub position: u32,
    /// Components of the vector at this position, without the two ends.
    pub components: u64,
    /// Executions of the kernel.
    pub executions: u64,
    /// Inconsistencies of these components in all executions.
    pub inconsistencies: u64,
}

/// A line of `asynchrony_classes.csv`: the inconsistencies of one class of positions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassRow {
    /// The kernel.
    pub variant: Variant,
    /// Threads of a block.
    #[serde(deserialize_with = "above_zero")]
    pub block_threads: u32,
    /// Blocks of the grid.
    pub blocks: u32,
    /// Blocks that the device runs at the same time.
    pub resident_blocks: u32,
    /// Where the components lie.
    pub class: PositionClass,
    /// Components of the class, without the two ends of the vector.
    pub components: u64,
    /// Executions of the kernel.
    pub executions: u64,
    /// Inconsistencies of these components in all executions.
    pub inconsistencies: u64,
    /// Executions with at least one of these inconsistencies.
    pub executions_with: u64,
    /// `executions_with` over `executions`; `None` if there is no such component or no execution.
    pub share: Option<f64>,
    /// Lower end of the 95 % interval of `share`.
    pub share_low: Option<f64>,
    /// Upper end of the interval.
    pub share_high: Option<f64>,
    /// The threads of a block at which inconsistencies were found, at most [`MOST_THREADS`], separated by blanks.
    pub threads: String,
    /// Time of all executions of this kernel and block size, counting included, in seconds.
    pub seconds: f64,
}

/// The most threads that a [`ClassRow`] names.
pub const MOST_THREADS: usize = 12;

impl Counted {
    /// All executions.
    pub fn executions(&self) -> u64 {
        self.batches.iter().map(|batch| batch.executions).sum()
    }

    /// The histogram, folded modulo 256 as in the paper.
    pub fn positions(&self) -> Vec<PositionRow> {
        let row = |position| PositionRow {
            variant: self.variant,
            block_threads: self.block_threads,
            position,
            components: 0,
            executions: self.executions(),
            inconsistencies: 0,
        };
        let mut rows: Vec<PositionRow> = (0..FOLD).map(row).collect();
        for position in updated(self.components) {
            let row = &mut rows[(position % FOLD) as usize];
            row.components += 1;
            row.inconsistencies += self.at(position);
        }
        rows
    }

    /// A row for each class of positions, even a class without components.
    pub fn classes(&self) -> Vec<ClassRow> {
        PositionClass::ALL.iter().map(|class| self.class(*class)).collect()
    }

    fn class(&self, class: PositionClass) -> ClassRow {
        let is_here = |position: &u32| PositionClass::of(*position, self.block_threads) == class;
        let here: Vec<u32> = updated(self.components).filter(is_here).collect();
        let with = |batch: &Batch| BatchCount { successes: batch.with[class.index()], trials: batch.executions };
        let counts: Vec<BatchCount> = self.batches.iter().map(with).collect();
        let proportion = Proportion::of(&counts, Level::P95).filter(|_| !here.is_empty());
        let inconsistent = here.iter().filter(|position| self.at(**position) > 0);
        let threads: BTreeSet<u32> = inconsistent.map(|position| position % self.block_threads).collect();
        ClassRow {
            variant: self.variant,
            block_threads: self.block_threads,
            blocks: self.components.div_ceil(self.block_threads),
            resident_blocks: self.resident_blocks,
            class,
            components: here.len() as u64,
            executions: self.executions(),
            inconsistencies: here.iter().map(|position| self.at(*position)).sum(),
            executions_with: counts.iter().map(|count| count.successes).sum(),
            share: proportion.map(|proportion| proportion.share),
            share_low: proportion.map(|proportion| proportion.interval.low),
            share_high: proportion.map(|proportion| proportion.interval.high),
            threads: named(&threads),
            seconds: self.seconds,
        }
    }

    fn at(&self, position: u32) -> u64 {
        self.by_position.get(position as usize).copied().unwrap_or(0)
    }
}

/// `0 32 64`, and `...` if there are more.
fn named(threads: &BTreeSet<u32>) -> String {
    let mut words: Vec<String> = threads.iter().take(MOST_THREADS).map(u32::to_string).collect();
    if threads.len() > MOST_THREADS {
        words.push("...".to_owned());
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::testing::counted;
    use super::PositionClass::{BlockFirst, BlockLast, Inside, WarpFirst, WarpLast};
    use super::*;

    #[test]
    fn positions_fold_modulo_256_and_the_ends_do_not_count() {
        let rows = counted(Variant::Global, 64, &[(64, 5), (320, 7), (100, 1)]).positions();
        assert_eq!(rows.len(), 256);
        assert_eq!((rows[64].inconsistencies, rows[100].inconsistencies, rows[0].inconsistencies), (12, 1, 0));
        assert_eq!((rows[64].components, rows[0].components, rows[255].components), (4, 3, 3), "1,024 components");
        assert_eq!(rows.iter().map(|row| row.components).sum::<u64>(), 1022);
    }

    #[test]
    fn every_inconsistency_is_in_one_class() {
        let counted = counted(Variant::Global, 64, &[(64, 5), (32, 2), (31, 1), (95, 1), (63, 3), (40, 9)]);
        let classes = counted.classes();
        let of = |class: PositionClass| &classes[class.index()];
        assert_eq!(of(PositionClass::BlockFirst).inconsistencies, 5);
        assert_eq!(of(PositionClass::BlockLast).inconsistencies, 3);
        assert_eq!((of(PositionClass::WarpFirst).inconsistencies, of(PositionClass::WarpLast).inconsistencies), (2, 2));
        assert_eq!((of(PositionClass::Inside).inconsistencies, of(PositionClass::Inside).threads.as_str()), (9, "40"));
        assert_eq!(classes.iter().map(|row| row.components).sum::<u64>(), 1022);
        assert_eq!(of(PositionClass::BlockFirst).components, 15, "the first component of the vector is not updated");
    }

    #[test]
    fn a_class_without_components_has_no_share() {
        let counted = counted(Variant::Global, 1024, &[]);
        let classes = counted.classes();
        for class in [PositionClass::BlockFirst, PositionClass::BlockLast] {
            let row = &classes[class.index()];
            assert_eq!((row.components, row.share, row.share_high), (0, None, None), "one block has no neighbour");
        }
        let inside = &classes[PositionClass::Inside.index()];
        assert!(inside.share == Some(0.0) && inside.share_high.is_some_and(|high| high > 0.0), "{inside:?}");
    }

    #[test]
    fn many_threads_are_cut_short() {
        assert_eq!(named(&[0, 32].into()), "0 32");
        let many = named(&(0..20).collect());
        assert!(many.ends_with("11 ..."), "{many}");
    }

    #[test]
    fn a_block_of_a_warp_has_no_border_within_it() {
        for block_threads in [8, 16, 32] {
            let classes: Vec<PositionClass> =
                (0..2 * block_threads).map(|position| PositionClass::of(position, block_threads)).collect();
            assert!(!classes.contains(&WarpFirst) && !classes.contains(&WarpLast));
            assert_eq!(classes.iter().filter(|class| **class == BlockFirst).count(), 2);
            assert_eq!(classes[block_threads as usize - 1], BlockLast);
        }
    }

    #[test]
    fn a_larger_block_has_borders_of_warps() {
        let of = |position| PositionClass::of(position, 64);
        assert_eq!(
            [0, 1, 31, 32, 33, 62, 63].map(of),
            [BlockFirst, Inside, WarpLast, WarpFirst, Inside, Inside, BlockLast]
        );
        assert_eq!(of(64), BlockFirst);
        assert_eq!(PositionClass::of(64, 128), WarpFirst);
    }

    #[test]
    fn the_ends_of_the_vector_are_not_updated() {
        assert_eq!(updated(8).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
        assert_eq!(updated(0).count(), 0);
    }
}
