//! What host and kernels tell each other: the structures of `kernels/harness.cuh`, field by field.

use std::mem::size_of;

/// Operations that stand once in the machine code of one iteration of the baseline. `UNROLL` in `harness.cuh`.
pub const UNROLL: u32 = 32;

/// Operations of each thread before the clock is read. `WARM_UP` in `harness.cuh`.
pub(crate) const WARM_UP: u32 = 2 * UNROLL;

/// An address in device memory, or one of host memory that the device can see.
pub(crate) type DevicePointer = u64;

/// What the threads of one warp saw, in cycles of its multiprocessor.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Warp {
    pub(crate) slowest: u64,
    pub(crate) fastest: u64,
}

/// The length of the same span by two clocks.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rate {
    /// 0 if the global timer did not step within the bound of the search.
    pub(crate) nanoseconds: u64,
    pub(crate) cycles: u64,
}

/// What a check found.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) mismatches: u32,
    /// One of the threads concerned.
    pub(crate) thread: u32,
    /// An integer, or the bits of a double; so is `found`.
    pub(crate) expected: u64,
    pub(crate) found: u64,
}

/// The parameter of every kernel, passed by value.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Arguments {
    /// The variables the operation works on, cleared before the first launch of a case.
    pub(crate) memory: DevicePointer,
    /// One [`Warp`] for each warp of the grid at each place of the tour.
    pub(crate) warps: DevicePointer,
    /// One [`Rate`] for the grid.
    pub(crate) rate: DevicePointer,
    /// The [`Finding`] of the kernel `check`, cleared before.
    pub(crate) finding: DevicePointer,
    /// A word of host memory; set, it ends a spin that lasts too long.
    pub(crate) abort: DevicePointer,
    /// For `check`: operations of each thread since the memory was cleared.
    pub(crate) total_operations: u64,
    /// For `check`: operations of each thread in the last launch.
    pub(crate) last_operations: u64,
    /// Bytes between the places of a tour.
    pub(crate) distance: u64,
    pub(crate) iterations: u32,
    /// Elements between the variables of neighbouring threads; 0: one variable for all.
    pub(crate) stride: u32,
    /// A thread's value is `value_scale` * (its number in the grid) + `value_bias`.
    pub(crate) value_scale: u32,
    pub(crate) value_bias: u32,
    /// 0: the loop runs once before it is timed; 1: it does not.
    pub(crate) cold: u32,
    /// Places that one launch visits, one after the other; 0 is 1.
    pub(crate) tour: u32,
}

// The kernels assert the same sizes; all fields are naturally aligned, so equal sizes mean equal layouts.
const _: () = assert!(
    size_of::<Warp>() == 16 && size_of::<Rate>() == 16 && size_of::<Finding>() == 24 && size_of::<Arguments>() == 88
);

/// Threads of a warp on every CUDA device.
pub(crate) const WARP_THREADS: u32 = 32;

/// Most threads of a block that the kernels are compiled for (`__launch_bounds__`).
pub(crate) const MAX_BLOCK_THREADS: u32 = 1024;
