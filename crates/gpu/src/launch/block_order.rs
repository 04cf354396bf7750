//! In which order the blocks of a grid are assigned to the multiprocessors.
//!
//! The cost of contention depends on this order, which is a state of the device. An H200 has eight orders. An order stays
//! the same until a grid does not fit on the device as a whole. Each order has two variants, which alternate from launch to
//! launch (both were observed in `%smid`). By itself a case would get one of the eight orders by chance: 66 blocks of 8
//! threads that compare and swap neighbouring elements take 42, 45 or 56 cycles, each for hundreds of pairs of samples. Two
//! runs would differ by more than their confidence intervals.
//!
//! Therefore the order changes from pair to pair, and both samples of a pair have the same order.

use syncscope_core::Shot;

use crate::cuda::driver::{Attribute, Device, Function, Module, Stream};
use crate::cuda::error::CudaError;

/// Which block order a launch gets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum BlockOrder {
    /// Any order.
    #[default]
    Any,
    /// A new order, in one of its variants.
    New(Variant),
    /// The order of the launch before.
    Same,
}

/// One of the two variants: that of the launch before, or the other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    One,
    Other,
}

impl BlockOrder {
    /// The order for each shot. The shots of a pair have the same order.
    pub(crate) fn of(shots: &[Shot]) -> impl Iterator<Item = Self> {
        let before = std::iter::once(None).chain(shots.iter().map(|shot| Some(shot.pair)));
        shots.iter().zip(before).map(|(shot, before)| match before {
            Some(before) if before == shot.pair => Self::Same,
            _ if shot.pair.is_multiple_of(2) => Self::New(Variant::One),
            _ => Self::New(Variant::Other),
        })
    }

    /// Queues grids of empty blocks, so that the next grid gets this order.
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

/// An empty kernel, and the number of multiprocessors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Idle {
    kernel: Function,
    multiprocessors: u32,
}

impl Idle {
    /// The empty kernel of a module that is loaded on this device.
    pub(crate) fn of(module: &Module, device: Device) -> Result<Self, CudaError> {
        let multiprocessors = device.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        Ok(Self { kernel: module.function(c"idle")?, multiprocessors })
    }

    /// One launch, which changes the variant.
    fn one_block(self, stream: &Stream) -> Result<(), CudaError> {
        stream.launch(self.kernel, 1, 32, &())
    }

    /// A grid that does not fit on the device, which changes the order. (On an H200, 240 such grids produced 14 of the 16
    /// orders and variants. No multiprocessor holds more than 2,048 threads.)
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
