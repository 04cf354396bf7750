//! Where a component lies in its block and warp.

use crate::words::words;

/// Threads of a warp on every CUDA device so far.
pub const WARP_THREADS: u32 = 32;

/// The period of the paper's histograms: a multiple of all block sizes that it looks at.
pub const FOLD: u32 = 256;

words! {
    /// Where a component lies. A block of at most one warp has no border of a warp within it. The kernel `count` has the
    /// same classes in the same order.
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
    /// The class of a component of the vector, for blocks of so many threads.
    #[must_use]
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

    /// Its place in [`Self::ALL`], and its bit on the device.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// The components that are updated: all but the two ends of the vector, which have one neighbour each.
pub(super) fn updated(components: u32) -> impl Iterator<Item = u32> {
    1..components.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use PositionClass::{BlockFirst, BlockLast, Inside, WarpFirst, WarpLast};

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
