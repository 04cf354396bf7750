//! The limits of a device, and the axes of the sweeps within them.

use std::collections::{BTreeSet, HashSet};

use syncscope_core::sweep::Sweep;
use syncscope_core::{Case, Layout, Preset};

/// Private elements, `stride` elements apart.
pub(crate) const fn private(stride: u32) -> Layout {
    Layout::Private { stride }
}

/// Strides of Burtchell and Burtscher.
pub(crate) const STRIDES: [u32; 6] = [1, 2, 4, 16, 32, 128];

/// Elements at these strides.
pub(crate) const AT_STRIDES: &[Layout] = &[private(1), private(2), private(4), private(16), private(32), private(128)];

/// Threads of a block for each doubling of its number of warps.
pub(crate) const DOUBLINGS: [u32; 6] = [32, 64, 128, 256, 512, 1024];

/// Properties of a device that limit the grids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceLimits {
    /// Number of multiprocessors.
    pub multiprocessors: u32,
    /// Maximum number of threads per block.
    pub max_threads: u32,
}

impl DeviceLimits {
    /// Powers of two from one thread to a full block.
    pub(crate) fn all_threads(self) -> Vec<u32> {
        (0..u32::BITS).map(|power| 1 << power).take_while(|threads| *threads <= self.max_threads).collect()
    }

    /// One block, two blocks, a block for every other multiprocessor, one for each, two for each: the grids of Burtchell and
    /// Burtscher.
    pub(crate) fn blocks(self, preset: Preset) -> Vec<u32> {
        let all = self.multiprocessors;
        distinct(match preset {
            Preset::Quick => vec![1, all],
            Preset::Standard | Preset::Paper => vec![1, 2, (all / 2).max(1), all, 2 * all],
        })
    }

    /// A sweep over each doubling of the number of warps per block.
    pub(crate) fn doublings(self, id: &str, preset: Preset) -> Sweep {
        Sweep::of(id).blocks(&self.blocks(preset)).threads(&self.at_most(&DOUBLINGS))
    }

    /// How many blocks of this many threads fit on a multiprocessor. Devices with less room run them in waves; the rows say
    /// so.
    pub(crate) const fn resident(threads: u32) -> u32 {
        /// The largest values of any device (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
        const THREADS: u32 = 2048;
        const BLOCKS: u32 = 32;
        let blocks = THREADS / threads;
        if blocks < BLOCKS { blocks } else { BLOCKS }
    }

    /// The papers' grids, plus the grid that fills the device for each block size.
    fn filled(self, id: &str) -> Sweep {
        let papers = self.blocks(Preset::Paper);
        let filling = |threads: u32| self.multiprocessors * Self::resident(threads);
        let threads = self.all_threads();
        let blocks = distinct(papers.iter().copied().chain(threads.iter().map(|threads| filling(*threads))));
        Sweep::of(id).blocks(&blocks).threads(&threads).except(|case| {
            let (blocks, threads) = shape_of(case);
            !papers.contains(&blocks) && blocks != filling(threads)
        })
    }

    /// Cost by the number of active warps on a multiprocessor (Zhang, Wahib, Matsuoka, *A Study of Synchronization Methods in
    /// Modern GPUs*, table 5, figures 6 and 7): one block of each size on one multiprocessor and on all, 1 to 32 blocks of some
    /// sizes on each, and 64 blocks, which run in waves.
    pub(crate) fn active_warps(self, id: &str) -> Sweep {
        let sizes: Vec<u32> = (1..=self.max_threads / 32).map(|warps| 32 * warps).collect();
        let one_block = Sweep::of(id).blocks(&distinct([1, self.multiprocessors])).threads(&sizes);
        let counts: Vec<u32> = (1..=32).map(|blocks| blocks * self.multiprocessors).collect();
        let many_blocks = Sweep::of(id).blocks(&counts).threads(&self.at_most(&DOUBLINGS));
        let many_blocks = many_blocks.except(|case| {
            let (blocks, threads) = shape_of(case);
            blocks > self.multiprocessors * Self::resident(threads)
        });
        let waves = Sweep::of(id).blocks(&[64 * self.multiprocessors]).threads(&self.at_most(&DOUBLINGS));
        one_block.and(many_blocks).and(waves)
    }

    /// The grids for primitives that are studied in detail: the papers' grids, fewer in quick plans; paper plans also fill the device.
    pub(crate) fn full(self, id: &str, preset: Preset) -> Sweep {
        let threads = match preset {
            Preset::Quick => self.at_most(&[32, 1024]),
            Preset::Standard => self.all_threads(),
            Preset::Paper => return self.filled(id),
        };
        Sweep::of(id).blocks(&self.blocks(preset)).threads(&threads)
    }

    /// The grids for primitives that resemble another one or have many other parameters.
    pub(crate) fn coarse(self, id: &str, preset: Preset) -> Sweep {
        let all = self.multiprocessors;
        let (blocks, threads) = match preset {
            Preset::Quick => (vec![1], self.at_most(&[32, 1024])),
            Preset::Standard => (distinct([1, all, 2 * all]), self.at_most(&[1, 32, 256, 1024])),
            Preset::Paper => return self.filled(id),
        };
        Sweep::of(id).blocks(&blocks).threads(&threads)
    }

    /// The given numbers of threads that a block of this device may have.
    pub(crate) fn at_most(self, threads: &[u32]) -> Vec<u32> {
        threads.iter().copied().filter(|threads| *threads <= self.max_threads).collect()
    }
}

/// The blocks and threads of a case on a grid.
pub(crate) fn shape_of(case: &Case) -> (u32, u32) {
    (case.blocks.unwrap_or(1), case.threads.unwrap_or(1))
}

/// The cases without repetitions.
pub(crate) fn without_repetitions(cases: Vec<Case>) -> Vec<Case> {
    let mut seen = HashSet::new();
    cases.into_iter().filter(|case| seen.insert(case.clone())).collect()
}

/// Sorted and without the repetitions that small devices cause.
fn distinct(blocks: impl IntoIterator<Item = u32>) -> Vec<u32> {
    Vec::from_iter(BTreeSet::from_iter(blocks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_devices_have_each_grid_once() {
        let limits = |multiprocessors| DeviceLimits { multiprocessors, max_threads: 1024 };
        assert_eq!(limits(1).blocks(Preset::Standard), [1, 2]);
        assert_eq!(limits(1).blocks(Preset::Quick), [1]);
        assert_eq!(limits(132).blocks(Preset::Standard), [1, 2, 66, 132, 264]);
    }

    #[test]
    fn the_paper_preset_fills_the_device_and_no_more() {
        let limits = DeviceLimits { multiprocessors: 132, max_threads: 1024 };
        let cases = limits.full("gpu.vote.all", Preset::Paper).cases();
        let blocks = |threads: u32| -> Vec<u32> {
            cases.iter().filter(|case| case.threads == Some(threads)).filter_map(|case| case.blocks).collect()
        };
        assert_eq!(blocks(1), [1, 2, 66, 132, 264, 4224]);
        assert_eq!(blocks(256), [1, 2, 66, 132, 264, 1056]);
        assert_eq!(blocks(1024), [1, 2, 66, 132, 264], "two full blocks fill a multiprocessor");
    }

    #[test]
    fn active_warps_reach_from_one_to_all() {
        let limits = DeviceLimits { multiprocessors: 132, max_threads: 1024 };
        let cases = limits.active_warps("gpu.block.syncthreads").cases();
        let in_waves = cases.iter().filter(|case| case.blocks == Some(64 * 132)).count();
        assert_eq!(in_waves, 6, "one for each of the paper's block sizes");
        let warps: HashSet<u32> = cases
            .iter()
            .filter(|case| case.blocks != Some(64 * 132))
            .map(|case| case.blocks.unwrap().div_ceil(132) * case.threads.unwrap() / 32)
            .collect();
        assert!((1..=32).all(|count| warps.contains(&count)) && warps.contains(&64), "{warps:?}");
        assert_eq!(warps.iter().max(), Some(&64), "no more than are active");
        assert!(cases.len() < 200);
    }

    #[test]
    fn threads_end_with_a_full_block() {
        let limits = DeviceLimits { multiprocessors: 132, max_threads: 1024 };
        assert_eq!(limits.all_threads(), [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]);
        let small = DeviceLimits { max_threads: 256, ..limits };
        assert_eq!(small.coarse("gpu.vote.all", Preset::Quick).cases().len(), 1);
        assert_eq!(limits.coarse("gpu.vote.all", Preset::Standard).cases().len(), 3 * 4);
        assert_eq!(
            limits.coarse("gpu.vote.all", Preset::Paper).cases(),
            limits.full("gpu.vote.all", Preset::Paper).cases()
        );
    }
}
