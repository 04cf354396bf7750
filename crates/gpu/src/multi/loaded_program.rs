//! A program on some devices, and the layout of the memory of each.

use std::time::Duration;

use super::group_launch::LaunchCall;
use crate::launch::arguments::DevicePointer;
use crate::launch::block_order::Idle;
use crate::launch::offsets::MemoryOffsets;
use crate::launch::request::{Kernels, Shape, words_of};

/// `MOST_DEVICES` in `grid_barrier.cuh`.
pub(crate) const MOST_DEVICES: usize = 16;

/// `Exchange` in `grid_barrier.cuh`.
const EXCHANGE_BYTES: usize = 256;

/// `EXCHANGE_COPIES` in `grid_barrier.cuh`.
const EXCHANGE_COPIES: usize = 9;

/// Exchanges of a page of memory, which is in one half of a second-level cache: copies are in pages of their own.
const EXCHANGES_PER_PAGE: usize = 4096 / EXCHANGE_BYTES;

/// `DeviceTable` in `grid_barrier.cuh`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DeviceTable {
    pub(crate) limit_ns: u64,
    pub(crate) counts: DevicePointer,
    pub(crate) phases: DevicePointer,
    pub(crate) device: u32,
    pub(crate) devices: u32,
    pub(crate) copy_distance: u64,
    pub(crate) exchanges: [DevicePointer; MOST_DEVICES],
    pub(crate) block_flags: [DevicePointer; MOST_DEVICES],
}

const _: () = assert!(size_of::<DeviceTable>() == 296);

/// The layout of the structures of `grid_barrier.cuh`.
#[cfg(test)]
pub(crate) const LAYOUTS: &[crate::launch::arguments::Layout] = {
    use std::mem::offset_of;

    use super::phase_counts::PhaseCounts;
    use crate::launch::arguments::Layout;

    macro_rules! layout {
        ($name:ident: $($field:ident)+) => {
            Layout {
                name: stringify!($name),
                bytes: size_of::<$name>(),
                fields: &[$((stringify!($field), offset_of!($name, $field))),+],
            }
        };
    }
    &[
        layout!(DeviceTable: limit_ns counts phases device devices copy_distance exchanges block_flags),
        layout!(PhaseCounts: timeouts mismatches thread reserved expected found),
    ]
};

/// A program on one of the devices.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub(super) kernels: Kernels,
    pub(super) idle: Idle,
    /// Where the kernels read their [`DeviceTable`].
    pub(super) device_table: DevicePointer,
}

/// A program set up on a number of devices.
#[derive(Debug, Clone)]
pub(crate) struct LoadedProgram {
    /// One for each device.
    pub(super) members: Vec<Member>,
    pub(crate) shape: Shape,
    pub(super) layout: Layout,
    /// Memory offsets that one launch uses.
    pub(super) offsets_per_sample: u32,
    /// Where the flags of each device begin, for all devices.
    pub(super) shared: Vec<DevicePointer>,
    pub(super) call: LaunchCall,
    pub(super) limit: Duration,
}

impl LoadedProgram {
    /// Words of 8 bytes that one launch leaves on one device.
    pub(super) const fn words(&self) -> usize {
        words_of(self.shape, self.offsets_per_sample as usize)
    }
}

/// Where each part of a device's memory begins, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) flags: usize,
    pub(super) exchanges: usize,
    /// In exchanges, from one copy of all of them to the next.
    pub(super) copy_distance: usize,
    pub(super) offsets: usize,
    pub(super) bytes: usize,
}

impl Layout {
    /// A phase for each thread, a flag for each block, the copies of an exchange for each offset, then the offsets.
    pub(super) fn of(shape: Shape, offsets: &MemoryOffsets) -> Self {
        const LINE: usize = 512;
        let flags = (shape.grid_threads() * size_of::<u32>()).next_multiple_of(LINE);
        let exchanges = flags + (shape.blocks as usize * size_of::<u32>()).next_multiple_of(LINE);
        let copy_distance = offsets.count().next_multiple_of(EXCHANGES_PER_PAGE);
        let first = exchanges + EXCHANGE_COPIES * copy_distance * EXCHANGE_BYTES;
        Self { flags, exchanges, copy_distance, offsets: first, bytes: first + offsets.bytes() }
    }

    /// What other devices must be able to access.
    pub(super) const fn shared_bytes(self) -> usize {
        self.offsets - self.flags
    }
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
        assert!(layout.copy_distance >= offsets.count());
        assert_eq!(layout.offsets - layout.exchanges, EXCHANGE_COPIES * layout.copy_distance * EXCHANGE_BYTES);
        assert_eq!(layout.bytes - layout.offsets, offsets.bytes());
        assert_eq!(layout.shared_bytes(), layout.offsets - layout.flags);
        assert!([layout.flags, layout.exchanges, layout.offsets].iter().all(|offset| offset.is_multiple_of(256)));
    }

    #[test]
    fn the_kernel_has_the_same_constants() {
        let of = |name| crate::launch::headers::constant_of("grid_barrier.cuh", name);
        assert_eq!(of("MOST_DEVICES"), MOST_DEVICES.to_string());
        assert_eq!(of("EXCHANGE_COPIES"), EXCHANGE_COPIES.to_string());
    }
}
