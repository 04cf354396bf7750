//! What is launched: a kernel, its arguments and the shape of its grid.

use super::arguments::{BenchArguments, WARP_THREADS};
use crate::cuda::driver::{Function, Way};
use crate::cuda::error::CudaError;
use crate::launch::bench::BlockOrder;
use crate::launch::samples::{WORDS_OF_RATE, WORDS_OF_WARP};

/// The shape of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
}

impl Shape {
    /// Warps of the whole grid; a partial warp counts as one.
    pub(crate) const fn warps(self) -> u32 {
        self.blocks * self.threads.div_ceil(WARP_THREADS)
    }

    /// Threads of the whole grid.
    pub(crate) const fn grid_threads(self) -> usize {
        self.blocks as usize * self.threads as usize
    }
}

/// The kernels of a program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernels {
    pub(crate) baseline: Function,
    pub(crate) test: Function,
    pub(crate) check: Function,
}

impl Kernels {
    /// The same kernels, launched in this way.
    pub(crate) fn launched(self, way: Way) -> Result<Self, CudaError> {
        let Self { baseline, test, check } = self;
        Ok(Self { baseline: baseline.launched(way)?, test: test.launched(way)?, check: check.launched(way)? })
    }

    /// How many blocks of each of them run at the same time on a device with so many multiprocessors; 0 if no cluster does.
    pub(crate) fn resident_blocks(self, threads: u32, multiprocessors: u32) -> Result<u32, CudaError> {
        let kernels = [self.baseline, self.test, self.check];
        let resident = kernels.map(|kernel| kernel.resident_blocks(threads, multiprocessors));
        Ok(resident.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().min().unwrap_or(0))
    }
}

/// One kernel to run. The bench fills in the addresses in the arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Launch {
    pub(crate) function: Function,
    pub(crate) arguments: BenchArguments,
    /// Where in the memory its variables begin, in bytes.
    pub(crate) offset: usize,
    /// In which order its blocks are assigned to the multiprocessors.
    pub(crate) order: BlockOrder,
}

impl Launch {
    /// A launch on the first memory offset, with its blocks in any order.
    pub(crate) const fn of(function: Function, arguments: BenchArguments) -> Self {
        Self { function, arguments, offset: 0, order: BlockOrder::Any }
    }

    /// Words of 8 bytes that it leaves.
    pub(crate) const fn words(&self, shape: Shape) -> usize {
        words_of(shape, self.arguments.common().used_offsets())
    }
}

/// Words of 8 bytes that a launch leaves on one device: its rate, then the warps at each memory offset.
pub(crate) const fn words_of(shape: Shape, offsets: usize) -> usize {
    WORDS_OF_RATE + WORDS_OF_WARP * shape.warps() as usize * offsets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_warp_is_a_warp() {
        assert_eq!(Shape { blocks: 3, threads: 1 }.warps(), 3);
        assert_eq!(Shape { blocks: 3, threads: 33 }.warps(), 6);
        assert_eq!(Shape { blocks: 264, threads: 1024 }.warps(), 8448);
    }

    #[test]
    fn a_launch_leaves_its_rate_and_its_warps_at_each_offset() {
        assert_eq!(words_of(Shape { blocks: 2, threads: 33 }, 1), 2 + 3 * 4);
        assert_eq!(words_of(Shape { blocks: 2, threads: 33 }, 8), 2 + 8 * 3 * 4);
    }
}
