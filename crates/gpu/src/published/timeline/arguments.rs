//! What the kernels of `kernels/published_timeline.cu` take, and where they leave their results.

use crate::cuda::driver::{DevicePointer, KernelArguments};

/// Steps of the global timer before and after the snippet; `STEPS` of the kernel.
pub(super) const STEPS: usize = 64;

/// Times that the snippet runs in one launch.
pub(super) const ROUNDS: u32 = 2;

/// Clock reads of a warp.
pub(super) const MARKS: usize = 3;

/// `TimelineArguments` of the kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct TimelineArguments {
    pub(super) marks: DevicePointer,
    pub(super) steps: DevicePointer,
    pub(super) multiprocessors: DevicePointer,
    pub(super) indices: DevicePointer,
    pub(super) memory: DevicePointer,
    pub(super) out: DevicePointer,
    pub(super) late_cycles: u32,
    pub(super) rounds: u32,
}

// SAFETY: `repr(C)`, of device addresses and numbers; a test compares the size with that of the kernels.
unsafe impl KernelArguments for TimelineArguments {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_takes_as_many_steps() {
        assert_eq!(crate::launch::headers::constant_of("published_timeline.cu", "STEPS"), STEPS.to_string());
    }
}
