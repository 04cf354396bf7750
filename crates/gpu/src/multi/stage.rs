//! A program on a number of devices, and what lies where in the memory of each.

use std::time::Duration;

use super::Launching;
use super::station::Loaded;
use crate::launch::arguments::{DevicePointer, Rate, Warp};
use crate::launch::bench::Shape;
use crate::launch::offsets::Places;

/// `MOST_DEVICES` in `meeting.cuh`.
pub(crate) const MOST_DEVICES: usize = 16;

/// `Exchange` in `meeting.cuh`.
const EXCHANGE_BYTES: usize = 256;

/// `Roster` in `meeting.cuh`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Roster {
    pub(super) limit_ns: u64,
    pub(super) ledger: DevicePointer,
    pub(super) phases: DevicePointer,
    pub(super) device: u32,
    pub(super) devices: u32,
    pub(super) exchanges: [DevicePointer; MOST_DEVICES],
    pub(super) tidings: [DevicePointer; MOST_DEVICES],
}

const _: () = assert!(size_of::<Roster>() == 288);

pub(super) const WORD: usize = size_of::<u64>();
const WORDS_OF_RATE: usize = size_of::<Rate>() / WORD;
const WORDS_OF_WARP: usize = size_of::<Warp>() / WORD;

/// A program set up on a number of devices.
#[derive(Debug, Clone)]
pub(crate) struct Stage {
    pub(super) loaded: Vec<Loaded>,
    pub(crate) shape: Shape,
    pub(super) layout: Layout,
    /// Places that one launch visits.
    pub(super) tour: u32,
    pub(super) launching: Launching,
    pub(super) limit: Duration,
}

impl Stage {
    /// Words of 8 bytes that one launch leaves on one device.
    pub(super) const fn words(&self) -> usize {
        words_of(self.shape, self.tour)
    }
}

/// Where in a device's memory what begins, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) tidings: usize,
    pub(super) exchanges: usize,
    pub(super) places: usize,
    pub(super) bytes: usize,
}

impl Layout {
    /// A phase for each thread, tidings for each block, an exchange for each place, then the places.
    pub(super) fn of(shape: Shape, places: &Places) -> Self {
        const LINE: usize = 512;
        let tidings = (shape.grid_threads() * size_of::<u32>()).next_multiple_of(LINE);
        let exchanges = tidings + (shape.blocks as usize * size_of::<u32>()).next_multiple_of(LINE);
        let first = exchanges + (places.count() * EXCHANGE_BYTES).next_multiple_of(LINE);
        Self { tidings, exchanges, places: first, bytes: first + places.bytes() }
    }

    /// What others must reach.
    pub(super) const fn shared_bytes(self) -> usize {
        self.places - self.tidings
    }
}

/// Words of 8 bytes that one launch leaves on one device.
pub(super) const fn words_of(shape: Shape, tour: u32) -> usize {
    WORDS_OF_RATE + WORDS_OF_WARP * shape.warps() as usize * tour as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_devices_memory_overlaps() {
        let shape = Shape { blocks: 4224, threads: 64 };
        let places = Places::new(34_000, 100 * 34_304, 4);
        let layout = Layout::of(shape, &places);
        assert!(layout.tidings >= 4224 * 64 * 4);
        assert!(layout.exchanges - layout.tidings >= 4224 * 4);
        assert!(layout.places - layout.exchanges >= places.count() * EXCHANGE_BYTES);
        assert_eq!(layout.bytes - layout.places, places.bytes());
        assert_eq!(layout.shared_bytes(), layout.places - layout.tidings);
        assert!([layout.tidings, layout.exchanges, layout.places].iter().all(|offset| offset.is_multiple_of(256)));
    }

    #[test]
    fn a_launch_leaves_its_rate_and_its_warps_at_each_place() {
        assert_eq!(words_of(Shape { blocks: 2, threads: 33 }, 1), 2 + 2 * 4);
        assert_eq!(words_of(Shape { blocks: 2, threads: 33 }, 8), 2 + 8 * 2 * 4);
    }
}
