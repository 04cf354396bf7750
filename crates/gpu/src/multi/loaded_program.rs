//! A program loaded on the devices of a group: its launches on all of them, and the phases of its barrier.

use std::time::Duration;

use syncscope_core::Side;

use crate::cuda::driver::Way;
use crate::launch::arguments::{DevicePointer, GridBarrierArguments};
use crate::launch::bench::{BlockOrder, Idle, Shape};
use crate::launch::device_context::Kernels;
use crate::launch::offsets::MemoryOffsets;
use crate::launch::samples::{HEAD_WORDS, WORD};

/// `MOST_DEVICES` in `grid_barrier.cuh`.
pub(crate) const MOST_DEVICES: usize = 16;

/// `Exchange` in `grid_barrier.cuh`.
const EXCHANGE_BYTES: usize = 256;

/// `EXCHANGE_COPIES` in `grid_barrier.cuh`.
const EXCHANGE_COPIES: usize = 9;

/// Exchanges in a page of memory; a page lies in one half of an L2 cache, and each copy has pages of its own.
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
    /// The address where the kernels read their [`DeviceTable`].
    pub(super) device_table: DevicePointer,
}

/// A program set up on a number of devices.
#[derive(Debug, Clone)]
pub(crate) struct LoadedProgram {
    /// One member for each device.
    pub(super) members: Vec<Member>,
    pub(crate) shape: Shape,
    pub(super) layout: Layout,
    /// How many memory offsets one launch uses.
    pub(super) offsets_per_sample: u32,
    /// The address of each device's flags, for all devices.
    pub(super) shared: Vec<DevicePointer>,
    pub(super) call: LaunchCall,
    pub(super) limit: Duration,
}

/// Where each part of a device's memory begins, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) flags: usize,
    pub(super) exchanges: usize,
    /// Distance from one copy of all exchanges to the next, in exchanges.
    pub(super) copy_distance: usize,
    pub(super) offsets: usize,
    pub(super) bytes: usize,
}

impl Layout {
    /// The layout: a phase for each thread, a flag for each block, the copies of an exchange for each offset, then the offsets.
    pub(super) fn of(shape: Shape, offsets: &MemoryOffsets) -> Self {
        const LINE: usize = 512;
        let flags = (shape.grid_threads() * size_of::<u32>()).next_multiple_of(LINE);
        let exchanges = flags + (shape.blocks as usize * size_of::<u32>()).next_multiple_of(LINE);
        let copy_distance = offsets.count().next_multiple_of(EXCHANGES_PER_PAGE);
        let first = exchanges + EXCHANGE_COPIES * copy_distance * EXCHANGE_BYTES;
        Self { flags, exchanges, copy_distance, offsets: first, bytes: first + offsets.bytes() }
    }

    /// Size of the part that other devices must be able to access.
    pub(super) const fn shared_bytes(self) -> usize {
        self.offsets - self.flags
    }
}

/// Limit of a wait inside a kernel; a longer wait has failed. The limit is longer than the devices need to begin, even if one
/// has to load its kernel first.
pub(crate) const LIMIT: Duration = Duration::from_secs(1);

/// How grids are launched on several devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaunchCall {
    /// One call for each device. In clusters the call does not guarantee that all blocks run at the same time; the driver's
    /// occupancy says that they fit, and the device has nothing else to do.
    PerDevice(Way),
    /// One call for all.
    Together,
}

impl LaunchCall {
    /// How the kernel of a device is launched.
    pub(crate) const fn way(self) -> Way {
        match self {
            Self::PerDevice(way) => way,
            Self::Together => Way::Cooperative,
        }
    }
}

/// One launch on every device. The group fills in the addresses in the arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupLaunch {
    /// Whose kernel; `None` for the kernel `check`.
    pub(crate) side: Option<Side>,
    pub(crate) arguments: GridBarrierArguments,
    /// Where the state of its barrier begins, in bytes from the first offset.
    pub(crate) offset: usize,
    /// The order in which blocks are assigned to the multiprocessors of each device.
    pub(crate) order: BlockOrder,
}

/// `PhaseCounts` in `grid_barrier.cuh`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PhaseCounts {
    /// Waits that outlasted their limit.
    pub(crate) timeouts: u32,
    pub(crate) mismatches: u32,
    pub(crate) thread: u32,
    pub(crate) reserved: u32,
    pub(crate) expected: u64,
    pub(crate) found: u64,
}

const _: () = assert!(size_of::<PhaseCounts>() == 32 && size_of::<PhaseCounts>() <= HEAD_WORDS * WORD);

/// The counts in these words. CUDA devices and their hosts are little-endian.
pub(crate) const fn counts_of(words: &[u64]) -> PhaseCounts {
    PhaseCounts {
        timeouts: words[0] as u32,
        mismatches: (words[0] >> 32) as u32,
        thread: words[1] as u32,
        reserved: 0,
        expected: words[2],
        found: words[3],
    }
}

/// The sums, and the values of the first mismatch.
pub(super) fn joined(counts: impl Iterator<Item = PhaseCounts>) -> PhaseCounts {
    counts.fold(PhaseCounts::default(), |sum, counts| {
        let shown = if sum.mismatches > 0 { sum } else { counts };
        PhaseCounts {
            timeouts: sum.timeouts.saturating_add(counts.timeouts),
            mismatches: sum.mismatches.saturating_add(counts.mismatches),
            ..shown
        }
    })
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

    #[test]
    fn counts_are_read_as_they_are_written_and_joined() {
        let clean = counts_of(&[0, 0, 0, 0]);
        let one = counts_of(&[(3 << 32) | 1, 77, 5, 4]);
        assert_eq!((one.timeouts, one.mismatches, one.thread, one.expected, one.found), (1, 3, 77, 5, 4));
        let other = PhaseCounts { thread: 8, ..one };
        let sum = joined([clean, one, other].into_iter());
        assert_eq!((sum.timeouts, sum.mismatches, sum.thread), (2, 6, 77));
        assert_eq!(joined([clean, clean].into_iter()), PhaseCounts::default());
    }
}
