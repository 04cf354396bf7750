//! The axes of the sweeps, by preset and device.

use syncscope_core::Preset;
use syncscope_core::sweep::Sweep;

/// What of a device bounds the grids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// Number of multiprocessors.
    pub multiprocessors: u32,
    /// Most threads of a block.
    pub max_threads: u32,
}

impl Grid {
    /// Powers of two from one thread to a full block.
    pub(crate) fn all_threads(self) -> Vec<u32> {
        std::iter::successors(Some(1_u32), |threads| threads.checked_mul(2))
            .take_while(|threads| *threads <= self.max_threads)
            .collect()
    }

    /// One block and two, a block for every other multiprocessor, one for each, two for each: the grids of Burtchell
    /// and Burtscher.
    pub(crate) fn blocks(self, preset: Preset) -> Vec<u32> {
        let all = self.multiprocessors;
        distinct(match preset {
            Preset::Quick => vec![1, all],
            Preset::Standard | Preset::Paper => vec![1, 2, (all / 2).max(1), all, 2 * all],
        })
    }

    /// The sweep over grids for primitives that are studied closely: in all but quick plans the papers' grids.
    pub(crate) fn full(self, id: &str, preset: Preset) -> Sweep {
        let threads = if preset == Preset::Quick { self.at_most(&[32, 1024]) } else { self.all_threads() };
        Sweep::of(id).blocks(&self.blocks(preset)).threads(&threads)
    }

    /// The sweep over grids for primitives that are much like another one, or have many parameters besides.
    pub(crate) fn coarse(self, id: &str, preset: Preset) -> Sweep {
        let all = self.multiprocessors;
        let (blocks, threads) = match preset {
            Preset::Quick => (vec![1], self.at_most(&[32, 1024])),
            Preset::Standard => (distinct(vec![1, all, 2 * all]), self.at_most(&[1, 32, 256, 1024])),
            Preset::Paper => (self.blocks(preset), self.all_threads()),
        };
        Sweep::of(id).blocks(&blocks).threads(&threads)
    }

    fn at_most(self, threads: &[u32]) -> Vec<u32> {
        threads.iter().copied().filter(|threads| *threads <= self.max_threads).collect()
    }
}

/// Small devices have some numbers of blocks twice.
fn distinct(mut blocks: Vec<u32>) -> Vec<u32> {
    blocks.sort_unstable();
    blocks.dedup();
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_devices_have_no_grid_twice() {
        let grid = |multiprocessors| Grid { multiprocessors, max_threads: 1024 };
        assert_eq!(grid(1).blocks(Preset::Standard), [1, 2]);
        assert_eq!(grid(1).blocks(Preset::Quick), [1]);
        assert_eq!(grid(132).blocks(Preset::Standard), [1, 2, 66, 132, 264]);
    }

    #[test]
    fn threads_end_with_a_full_block() {
        let grid = Grid { multiprocessors: 132, max_threads: 1024 };
        assert_eq!(grid.all_threads(), [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]);
        let small = Grid { max_threads: 256, ..grid };
        assert_eq!(small.coarse("gpu.vote.all", Preset::Quick).cases().len(), 1);
        assert_eq!(grid.coarse("gpu.vote.all", Preset::Standard).cases().len(), 3 * 4);
        assert_eq!(
            grid.coarse("gpu.vote.all", Preset::Paper).cases(),
            grid.full("gpu.vote.all", Preset::Paper).cases()
        );
    }
}
