//! What the host passes to the kernels of reductions.

use crate::cuda::driver::{DevicePointer, KernelArguments};

/// `ReductionArguments` in `kernels/published_reductions.cu`, field by field.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ReductionArguments {
    pub(super) data: DevicePointer,
    /// One for each block.
    pub(super) partials: DevicePointer,
    /// 0 before.
    pub(super) result: DevicePointer,
    /// State of the barrier, or the counter of the last block.
    pub(super) barrier: DevicePointer,
    /// A word of host memory; set, it ends a wait that lasts too long.
    pub(super) abort: DevicePointer,
    pub(super) elements: u64,
    /// By earlier launches.
    pub(super) barriers_passed: u64,
    /// `combine`: partial results; `plant`: the value; CUB's `reduce`: blocks that the grid may have.
    pub(super) count: u32,
    pub(super) unused: u32,
}

// SAFETY: it holds numbers and device addresses.
unsafe impl KernelArguments for ReductionArguments {}

const _: () = assert!(size_of::<ReductionArguments>() == 64);
const _: () = assert!(std::mem::offset_of!(ReductionArguments, elements) == 40);
const _: () = assert!(std::mem::offset_of!(ReductionArguments, count) == 56);
