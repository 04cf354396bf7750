//! How a variant of a reduction is queued, on which grid, and what it computes.

use syncscope_core::Role;
use syncscope_core::words::words;

use crate::catalogue::limits::DeviceLimits;
use crate::cuda::driver::Way;

/// Threads of a block in all kernels but CUB's.
pub(crate) const THREADS: u32 = 512;

/// Maximum number of blocks on each multiprocessor when the blocks read the vector together. (`SYNCSCOPE_RESIDENT`)
const BLOCKS_EACH: u32 = 2;

/// Elements that a thread must have to read before another block is worth starting: one quad.
const ELEMENTS_EACH: u64 = 4;

/// Blocks per cluster: the largest portable size.
const CLUSTER: u32 = 8;

/// Threads of a block, elements of a tile, and blocks per resident block in CUB's grid (`cub::AgentReducePolicy` of i32;
/// `cub::detail::subscription_factor`).
const CUB_THREADS: u32 = 256;
pub(crate) const CUB_TILE: u64 = 4096;
const CUB_SUBSCRIPTION: u32 = 5;

/// How the kernels of a chain of reductions are queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Queueing {
    /// Into a stream.
    Stream,
    /// Into a stream; all kernels of a chain are queued before the first one starts.
    QueuedFirst,
    /// Each reduction as a separate graph.
    GraphEach,
    /// All reductions of a chain in one graph.
    GraphChain,
}

/// How several devices combine their results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joining {
    /// The last block of each device writes its result to all devices and waits for theirs.
    Flags,
    /// The host waits for all devices and combines their results.
    Host,
    /// A second kernel on the first device waits for the first kernels of all devices; the next reduction waits for that
    /// kernel.
    Kernels,
}

impl Joining {
    /// How many devices have the result of all.
    pub(crate) const fn knowing(self, devices: usize) -> usize {
        match self {
            Self::Flags => devices,
            Self::Kernels => 1,
            Self::Host => 0,
        }
    }
}

/// How many blocks the first kernel has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grid {
    /// One thread per element.
    ThreadPerElement,
    /// As many blocks as run at the same time, or fewer if there are fewer elements than threads.
    Resident,
    /// The same grid for all compared variants: enough blocks for four elements per thread, at most two per multiprocessor.
    Shared,
    /// Like `Shared`, rounded up to whole clusters.
    Clusters,
    /// CUB's rule.
    Cub,
}

impl Grid {
    /// The number of blocks; `None` if it depends on how many run at the same time, which only the device knows.
    pub(super) fn blocks(self, elements: u64, multiprocessors: u32) -> Option<u32> {
        let for_elements =
            |each: u64| u32::try_from(elements.div_ceil(u64::from(THREADS) * each).max(1)).unwrap_or(u32::MAX);
        let shared = for_elements(ELEMENTS_EACH).min(BLOCKS_EACH * multiprocessors);
        match self {
            Self::ThreadPerElement => Some(for_elements(1)),
            Self::Resident => None,
            Self::Shared => Some(shared),
            Self::Clusters => Some(shared.div_ceil(CLUSTER) * CLUSTER),
            Self::Cub => {
                let most = CUB_SUBSCRIPTION * DeviceLimits::resident(CUB_THREADS) * multiprocessors;
                Some(u32::try_from(elements.div_ceil(CUB_TILE).max(1)).unwrap_or(u32::MAX).min(most))
            }
        }
    }
}

/// How a variant is queued, on which grid, and how its results are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Recipe {
    /// The macros of its kernel.
    pub(super) definitions: &'static [&'static str],
    pub(crate) queueing: Queueing,
    /// Whether all blocks of its kernel are guaranteed to run at the same time.
    pub(super) is_cooperative: bool,
    /// Whether a second kernel merges the blocks' partial results.
    pub(crate) has_second: bool,
    pub(super) grid: Grid,
    /// How several devices combine their results; `None` on one device.
    pub(crate) joining: Option<Joining>,
    /// Whether the sum is measured too; every variant is measured for the maximum.
    pub(super) has_sum: bool,
}

impl Recipe {
    pub(super) const fn of(definitions: &'static [&'static str]) -> Self {
        let (queueing, grid) = (Queueing::Stream, Grid::Shared);
        Self { definitions, queueing, is_cooperative: false, has_second: false, grid, joining: None, has_sum: true }
    }

    /// One of the five listings of Burtchell and Burtscher, which compute only maxima.
    pub(super) const fn listing(definitions: &'static [&'static str], grid: Grid) -> Self {
        Self { grid, has_sum: false, ..Self::of(definitions) }
    }

    pub(super) const fn cooperative(definitions: &'static [&'static str]) -> Self {
        Self { is_cooperative: true, ..Self::of(definitions) }
    }

    pub(super) const fn two_kernels() -> Self {
        Self { has_second: true, ..Self::of(&["VARIANT=PARTIALS"]) }
    }

    pub(super) const fn devices(joining: Joining) -> Self {
        let definitions: &[&str] = if matches!(joining, Joining::Flags) {
            &["VARIANT=LAST_BLOCK", "SEVERAL"]
        } else {
            &["VARIANT=LAST_BLOCK"]
        };
        Self { joining: Some(joining), ..Self::of(definitions) }
    }

    pub(super) const fn queued(self, queueing: Queueing) -> Self {
        Self { queueing, ..self }
    }

    /// The role of the variant: listings are compared only with each other.
    pub(super) const fn role(&self) -> Role {
        if self.has_sum { Role::Reduction } else { Role::PrintedReduction }
    }

    /// Whether the variant is CUB's; CUB's headers are not part of this program.
    pub(crate) const fn is_cub(&self) -> bool {
        matches!(self.grid, Grid::Cub)
    }

    /// How its kernel is launched.
    pub(crate) const fn way(&self) -> Way {
        match self.grid {
            Grid::Clusters => Way::InClusters(CLUSTER),
            _ if self.is_cooperative => Way::Cooperative,
            _ => Way::Plain,
        }
    }

    /// Whether the device chooses how many blocks there are.
    pub(crate) const fn is_resident(&self) -> bool {
        matches!(self.grid, Grid::Resident)
    }

    /// Threads of a block.
    pub(crate) const fn threads(&self) -> u32 {
        if self.is_cub() { CUB_THREADS } else { THREADS }
    }

    /// Blocks of the first kernel for this many elements per device; `resident` of them run on a multiprocessor at the same
    /// time.
    pub(crate) fn blocks(&self, elements: u64, multiprocessors: u32, resident: u32) -> u32 {
        let for_all = Grid::ThreadPerElement.blocks(elements, multiprocessors).unwrap_or(1);
        self.grid.blocks(elements, multiprocessors).unwrap_or_else(|| for_all.min(resident.max(1) * multiprocessors))
    }
}

words! {
    /// What a reduction computes: the group of the case.
    pub(crate) enum Operation ("operation") {
        /// The largest element.
        Max = "max",
        /// The sum of all elements, modulo 2^32.
        Sum = "sum",
    }
}

/// The largest element, planted at the end of the vector before its maximum is computed. All others are at most 2^30.
pub(crate) const PLANTED: u32 = 0x7fff_ff00;

impl Operation {
    /// The answer for the first `elements` elements of the vector, as the bits of an i32. `element_of` in
    /// `kernels/reduction.cu` makes the vector; for a sum, each element is the remainder of its index by a prime.
    pub(crate) const fn answer(self, elements: u64) -> u32 {
        const PERIOD: u64 = 1021;
        match self {
            Self::Max => PLANTED,
            Self::Sum => {
                let (whole, rest) = (elements / PERIOD, elements % PERIOD);
                let of_period = PERIOD * (PERIOD - 1) / 2;
                (whole.wrapping_mul(of_period).wrapping_add(rest * rest.saturating_sub(1) / 2)) as u32
            }
        }
    }

    /// Combines two results.
    pub(crate) fn join(self, one: u32, other: u32) -> u32 {
        match self {
            Self::Max => one.cast_signed().max(other.cast_signed()).cast_unsigned(),
            Self::Sum => one.wrapping_add(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_sum_is_the_sum() {
        for elements in [0_u64, 1, 2, 1020, 1021, 1022, 4097, 100_003, 1 << 20] {
            let sum = (0..elements).fold(0_u32, |sum, index| sum.wrapping_add((index % 1021) as u32));
            assert_eq!(Operation::Sum.answer(elements), sum, "{elements}");
        }
        // Beyond 2^32: modulo.
        assert_eq!(Operation::Sum.answer(1 << 28), ((1_u64 << 28) / 1021 * 520_710 + 262 * 261 / 2) as u32);
    }

    #[test]
    fn no_other_element_is_as_large_as_the_planted_one() {
        let element = |index: u32| (index.wrapping_mul(0x9e37_79b1) >> 2) | 1;
        let largest = (0..1 << 20).map(element).max();
        assert!(largest < Some(PLANTED) && largest <= Some(1 << 30) && PLANTED.cast_signed() > 0);
        // Zero, the initial value of a result, does not occur.
        assert!((0..1 << 20).all(|index| element(index) > 0));
    }

    #[test]
    fn results_are_joined_as_signed_numbers_and_modulo() {
        assert_eq!(Operation::Max.join(5, Operation::Max.join(u32::MAX, 7)), 7, "the second is -1");
        assert_eq!(Operation::Sum.join(u32::MAX, 3), 2);
        assert_eq!([Joining::Flags, Joining::Host, Joining::Kernels].map(|joining| joining.knowing(4)), [4, 0, 1]);
    }
}
