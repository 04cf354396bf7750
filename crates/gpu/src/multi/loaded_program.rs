//! A program on some devices, and the layout of the memory of each.

use std::time::Duration;

use super::group_launch::LaunchCall;
use crate::launch::arguments::DevicePointer;
use crate::launch::block_order::Idle;
use crate::launch::offsets::MemoryOffsets;
use crate::launch::request::{Kernels, Shape};
use crate::launch::timing::{WORDS_OF_RATE, WORDS_OF_WARP};

/// `MOST_DEVICES` in `grid_barrier.cuh`.
pub(crate) const MOST_DEVICES: usize = 16;

/// `Exchange` in `grid_barrier.cuh`.
const EXCHANGE_BYTES: usize = 256;

/// `DeviceTable` in `grid_barrier.cuh`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeviceTable {
    pub(crate) limit_ns: u64,
    pub(crate) counts: DevicePointer,
    pub(crate) phases: DevicePointer,
    pub(crate) device: u32,
    pub(crate) devices: u32,
    pub(crate) exchanges: [DevicePointer; MOST_DEVICES],
    pub(crate) flags: [DevicePointer; MOST_DEVICES],
}

const _: () = assert!(size_of::<DeviceTable>() == 288);

/// A program, loaded on one device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoadedModule {
    pub(crate) kernels: Kernels,
    pub(crate) idle: Idle,
    pub(crate) device_table: DevicePointer,
}

/// A program set up on a number of devices.
#[derive(Debug, Clone)]
pub(crate) struct LoadedProgram {
    pub(crate) modules: Vec<LoadedModule>,
    pub(crate) shape: Shape,
    pub(crate) layout: Layout,
    /// Memory offsets that one launch uses.
    pub(crate) offsets_per_sample: u32,
    pub(crate) call: LaunchCall,
    pub(crate) limit: Duration,
}

impl LoadedProgram {
    /// Words of 8 bytes that one launch leaves on one device.
    pub(crate) const fn words(&self) -> usize {
        words_of(self.shape, self.offsets_per_sample)
    }
}

/// Where each part of a device's memory begins, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) flags: usize,
    pub(crate) exchanges: usize,
    pub(crate) offsets: usize,
    pub(crate) bytes: usize,
}

impl Layout {
    /// A phase for each thread, a flag for each block, an exchange for each offset, then the offsets.
    pub(crate) fn of(shape: Shape, offsets: &MemoryOffsets) -> Self {
        const LINE: usize = 512;
        let flags = (shape.grid_threads() * size_of::<u32>()).next_multiple_of(LINE);
        let exchanges = flags + (shape.blocks as usize * size_of::<u32>()).next_multiple_of(LINE);
        let first = exchanges + (offsets.count() * EXCHANGE_BYTES).next_multiple_of(LINE);
        Self { flags, exchanges, offsets: first, bytes: first + offsets.bytes() }
    }

    /// What other devices must be able to access.
    pub(crate) const fn shared_bytes(self) -> usize {
        self.offsets - self.flags
    }
}

/// Words of 8 bytes that one launch leaves on one device.
pub(crate) const fn words_of(shape: Shape, offsets_per_sample: u32) -> usize {
    WORDS_OF_RATE + WORDS_OF_WARP * shape.warps() as usize * offsets_per_sample as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_devices_memory_overlaps() {
        let shape = Shape { blocks: 4224, threads: 64 };
        let offsets = MemoryOffsets::new(34_000, 100 * 34_304, 4);
        let layout = Layout::of(shape, &offsets);
        assert!(layout.flags >= 4224 * 64 * 4);
        assert!(layout.exchanges - layout.flags >= 4224 * 4);
        assert!(layout.offsets - layout.exchanges >= offsets.count() * EXCHANGE_BYTES);
        assert_eq!(layout.bytes - layout.offsets, offsets.bytes());
        assert_eq!(layout.shared_bytes(), layout.offsets - layout.flags);
        assert!([layout.flags, layout.exchanges, layout.offsets].iter().all(|offset| offset.is_multiple_of(256)));
    }

    #[test]
    fn a_launch_leaves_its_rate_and_its_warps_at_each_offset() {
        assert_eq!(words_of(Shape { blocks: 2, threads: 33 }, 1), 2 + 2 * 4);
        assert_eq!(words_of(Shape { blocks: 2, threads: 33 }, 8), 2 + 8 * 2 * 4);
    }
}
