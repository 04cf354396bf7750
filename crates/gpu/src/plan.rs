//! The axes of the sweeps, by preset and device.

use syncscope_core::Preset;

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

    /// Threads of a block, for primitives that have other axes besides.
    pub(crate) fn threads(self, preset: Preset) -> Vec<u32> {
        let mut threads = self.all_threads();
        if preset == Preset::Quick {
            threads.retain(|threads| [1, 32, 64, 256, 1024].contains(threads));
        }
        threads
    }

    /// One block and two, a block for every other multiprocessor, one for each, two for each: the grids of Burtchell
    /// and Burtscher.
    pub(crate) fn blocks(self, preset: Preset) -> Vec<u32> {
        let all = self.multiprocessors;
        let mut blocks = match preset {
            Preset::Quick => vec![1, all],
            Preset::Standard | Preset::Paper => vec![1, 2, (all / 2).max(1), all, 2 * all],
        };
        // Small devices have some of them twice.
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }
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
        assert_eq!(grid.threads(Preset::Quick), [1, 32, 64, 256, 1024]);
    }
}
