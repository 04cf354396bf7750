//! What the kernels of `kernels/published_asynchrony.cu` are passed.

use crate::cuda::driver::{DevicePointer, KernelArguments};

/// `UpdateArguments`: one vector.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct UpdateArguments {
    pub(super) values: DevicePointer,
    pub(super) components: u64,
}

/// `CountArguments`: several vectors, and what is counted.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct CountArguments {
    pub(super) values: DevicePointer,
    pub(super) by_position: DevicePointer,
    pub(super) found: DevicePointer,
    pub(super) totals: DevicePointer,
    pub(super) components: u32,
    pub(super) vectors: u32,
}

/// `ArrivalArguments`: the records of one launch, and its counter.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct ArrivalArguments {
    pub(super) records: DevicePointer,
    pub(super) counter: DevicePointer,
}

// SAFETY: for each of these: `repr(C)`, numbers and device addresses alone. The kernels assert the same sizes, and a launch
// compares the size with that in the machine code.
unsafe impl KernelArguments for UpdateArguments {}
// SAFETY: as above.
unsafe impl KernelArguments for CountArguments {}
// SAFETY: as above.
unsafe impl KernelArguments for ArrivalArguments {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_that_the_kernels_assert() {
        assert_eq!(size_of::<UpdateArguments>(), 16);
        assert_eq!(size_of::<CountArguments>(), 40);
        assert_eq!(size_of::<ArrivalArguments>(), 16);
    }
}
