//! In which order the blocks of a grid come to the multiprocessors.
//!
//! A device gives the blocks of each grid to its multiprocessors in some order, and what contention costs depends on it. The
//! order is a state of the device. On an H200 it is one of eight, and it stays the same until a grid does not fit on the device
//! as a whole; and of each there are two variants, which take turns from launch to launch (both read off `%smid`). Left to itself, a
//! case would meet one of the eight, by chance: 66 blocks of 8 threads that compare and swap neighbouring elements take 42, 45
//! or 56 cycles, each the same for hundreds of pairs of samples, and two runs would differ by more than their intervals say.
//!
//! So the order changes from pair to pair, and is the same for both samples of a pair.

use syncscope_core::Shot;

use crate::cuda::driver::{Attribute, Device, Function, Module, Stream};
use crate::cuda::error::CudaError;

/// What is to become of the order of blocks before a launch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum BlockOrder {
    /// It does not matter.
    #[default]
    Any,
    /// Another one, in either variant.
    New(Variant),
    /// That of the launch before.
    Same,
}

/// Which of the two variants: the one that the launch before had, or the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    One,
    Other,
}

impl BlockOrder {
    /// For each shot: the shots of a pair have the same order.
    pub(crate) fn of(shots: &[Shot]) -> impl Iterator<Item = Self> {
        let before = std::iter::once(None).chain(shots.iter().map(|shot| Some(shot.pair)));
        shots.iter().zip(before).map(|(shot, before)| match before {
            Some(before) if before == shot.pair => Self::Same,
            _ if shot.pair.is_multiple_of(2) => Self::New(Variant::One),
            _ => Self::New(Variant::Other),
        })
    }

    /// Queues grids of blocks that do nothing, so that the next grid finds this order.
    pub(crate) fn queue(self, stream: &Stream, idle: Idle) -> Result<(), CudaError> {
        match self {
            Self::Any => Ok(()),
            Self::Same => idle.one_block(stream),
            Self::New(variant) => {
                idle.more_than_fit(stream)?;
                if variant == Variant::Other { idle.one_block(stream) } else { Ok(()) }
            }
        }
    }
}

/// A kernel that does nothing, and how many multiprocessors there are to do it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Idle {
    kernel: Function,
    multiprocessors: u32,
}

impl Idle {
    /// That of a module, on the device that it is loaded on.
    pub(crate) fn of(module: &Module, device: Device) -> Result<Self, CudaError> {
        let multiprocessors = device.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        Ok(Self { kernel: module.function(c"idle")?, multiprocessors })
    }

    /// A launch takes its turn.
    fn one_block(self, stream: &Stream) -> Result<(), CudaError> {
        stream.launch(self.kernel, 1, 32, &())
    }

    /// What draws another order on an H200: 14 of the 16 came in 240 such grids. (No multiprocessor holds more than 2,048 threads.)
    fn more_than_fit(self, stream: &Stream) -> Result<(), CudaError> {
        stream.launch(self.kernel, 4 * self.multiprocessors, 1024, &())
    }
}

#[cfg(test)]
mod tests {
    use syncscope_core::Side;

    use super::*;

    #[test]
    fn the_order_changes_from_pair_to_pair_alone() {
        let shot = |side, pair| Shot { side, iterations: 1, pair };
        let shots = [
            shot(Side::Test, 4),
            shot(Side::Baseline, 4),
            shot(Side::Baseline, 5),
            shot(Side::Test, 5),
            shot(Side::Test, 6),
        ];
        let (one, other) = (BlockOrder::New(Variant::One), BlockOrder::New(Variant::Other));
        let orders: Vec<BlockOrder> = BlockOrder::of(&shots).collect();
        assert_eq!(orders, [one, BlockOrder::Same, other, BlockOrder::Same, one]);
        assert_eq!(BlockOrder::of(&[]).count(), 0);
    }
}
