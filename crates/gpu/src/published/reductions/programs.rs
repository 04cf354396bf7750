//! How each variant is compiled, launched and laid out on the device.

use syncscope_core::published::reductions::Operation;

use crate::cuda::compile::Program;

/// Threads of a block in all kernels but CUB's.
pub(super) const THREADS: u32 = 512;

/// Blocks on each multiprocessor at most, where the blocks read the vector together. (`SYNCSCOPE_RESIDENT`)
const BLOCKS_EACH: u64 = 2;

/// Elements that a thread reads before another block is worth its start: one quad.
const ELEMENTS_EACH: u64 = 4;

/// Threads of a block, elements of a tile, and blocks for each resident one in CUB's grid (`cub::AgentReducePolicy` of
/// i32; `cub::detail::subscription_factor`).
const CUB_THREADS: u32 = 256;
pub(super) const CUB_TILE: u64 = 4096;
const CUB_SUBSCRIPTION: u64 = 5;

/// How the kernels of one reduction are queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Launching {
    /// Into a stream.
    Stream,
    /// Into a stream, all kernels of a chain before the first one starts.
    StreamQueued,
    /// Into a stream, all blocks at the same time.
    Cooperative,
    /// The same, all kernels of a chain before the first one starts.
    CooperativeQueued,
    /// As a graph of its own.
    GraphEach,
    /// All reductions of a chain in one graph.
    GraphChain,
    /// The same, all blocks of a kernel at the same time.
    CooperativeGraphChain,
}

impl Launching {
    pub(super) const fn is_cooperative(self) -> bool {
        matches!(self, Self::Cooperative | Self::CooperativeQueued | Self::CooperativeGraphChain)
    }

    /// Whether the device begins when the host has queued everything.
    pub(super) const fn is_queued_first(self) -> bool {
        matches!(self, Self::StreamQueued | Self::CooperativeQueued)
    }
}

/// How many blocks the first kernel has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grid {
    /// A thread for each element.
    ThreadPerElement,
    /// As many as run at the same time, or fewer if there are fewer elements than threads.
    Resident,
    /// The same for all variants that are compared: enough for four elements a thread, two on each multiprocessor at most.
    Shared,
    /// The same, in whole clusters of so many blocks.
    Clusters(u32),
    /// CUB's rule.
    Cub,
}

/// One variant on the device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recipe {
    pub(super) id: &'static str,
    /// Definitions of the kernel.
    pub(super) definitions: &'static [&'static str],
    pub(super) launching: Launching,
    pub(super) grid: Grid,
    /// Whether a second kernel joins the partial results.
    pub(super) has_second: bool,
    /// Compute capability that it needs.
    pub(super) needs: (u32, u32),
}

const fn recipe(id: &'static str, definitions: &'static [&'static str], launching: Launching) -> Recipe {
    Recipe { id, definitions, launching, grid: Grid::Shared, has_second: false, needs: (7, 5) }
}

const fn listing(id: &'static str, definitions: &'static [&'static str], grid: Grid) -> Recipe {
    Recipe { grid, ..recipe(id, definitions, Launching::Stream) }
}

const fn two(id: &'static str, launching: Launching) -> Recipe {
    Recipe { has_second: true, ..recipe(id, &["VARIANT=PARTIALS"], launching) }
}

/// Every variant that runs on one device.
pub(super) const RECIPES: &[Recipe] = &[
    listing("listing.1", &["VARIANT=LISTING_1"], Grid::ThreadPerElement),
    listing("listing.2", &["VARIANT=LISTING_2"], Grid::ThreadPerElement),
    listing("listing.3", &["VARIANT=LISTING_3"], Grid::ThreadPerElement),
    Recipe { needs: (8, 0), ..listing("listing.4", &["VARIANT=LISTING_4"], Grid::ThreadPerElement) },
    listing("listing.5", &["VARIANT=LISTING_5"], Grid::Resident),
    recipe("device.atomic", &["VARIANT=ATOMIC"], Launching::Stream),
    recipe("device.last_block", &["VARIANT=LAST_BLOCK"], Launching::Stream),
    Recipe {
        needs: (9, 0),
        grid: Grid::Clusters(syncscope_core::published::reductions::terms::CLUSTER_BLOCKS),
        ..recipe("device.cluster", &["VARIANT=CLUSTER", "IN_CLUSTERS"], Launching::Stream)
    },
    recipe("device.grid_cooperative", &["VARIANT=GRID", "KIND=COOPERATIVE"], Launching::Cooperative),
    recipe("device.grid_counter", &["VARIANT=GRID", "KIND=COUNTER"], Launching::Cooperative),
    recipe("device.grid_lock_free", &["VARIANT=GRID", "KIND=LOCK_FREE"], Launching::Cooperative),
    two("device.kernel_boundary", Launching::Stream),
    recipe("device.atomic_queued", &["VARIANT=ATOMIC"], Launching::StreamQueued),
    recipe("device.grid_queued", &["VARIANT=GRID", "KIND=COOPERATIVE"], Launching::CooperativeQueued),
    two("device.kernel_boundary_queued", Launching::StreamQueued),
    two("device.graph", Launching::GraphEach),
    two("device.graph_chain", Launching::GraphChain),
    recipe("device.atomic_graph_chain", &["VARIANT=ATOMIC"], Launching::GraphChain),
    recipe("device.grid_graph_chain", &["VARIANT=GRID", "KIND=COOPERATIVE"], Launching::CooperativeGraphChain),
    Recipe { has_second: true, grid: Grid::Cub, ..recipe("device.cub", &[], Launching::Stream) },
];

impl Recipe {
    /// Whether it is CUB's, whose headers are not part of this program.
    pub(super) const fn is_cub(&self) -> bool {
        matches!(self.grid, Grid::Cub)
    }

    /// Blocks of a cluster; 0: no clusters.
    pub(super) const fn cluster(&self) -> u32 {
        match self.grid {
            Grid::Clusters(blocks) => blocks,
            _ => 0,
        }
    }

    /// Threads of a block.
    pub(super) const fn threads(&self) -> u32 {
        if self.is_cub() { CUB_THREADS } else { THREADS }
    }

    /// Blocks of the first kernel. `resident` blocks run on each of the `multiprocessors` at the same time; `clusters` on
    /// the device, if there are any.
    pub(super) fn blocks(&self, elements: u64, multiprocessors: u32, resident: u32, clusters: u32) -> u32 {
        let (multiprocessors, resident) = (u64::from(multiprocessors), u64::from(resident.max(1)));
        let for_elements = |each: u64| elements.div_ceil(u64::from(THREADS) * each).max(1);
        let shared = for_elements(ELEMENTS_EACH).min(BLOCKS_EACH * multiprocessors);
        let blocks = match self.grid {
            Grid::ThreadPerElement => for_elements(1),
            Grid::Resident => for_elements(1).min(resident * multiprocessors),
            Grid::Shared => shared,
            Grid::Clusters(size) => {
                let whole = shared.div_ceil(u64::from(size)).min(u64::from(clusters.max(1)));
                whole * u64::from(size)
            }
            Grid::Cub => elements.div_ceil(CUB_TILE).max(1).min(CUB_SUBSCRIPTION * resident * multiprocessors),
        };
        u32::try_from(blocks).unwrap_or(u32::MAX)
    }

    /// Its kernels.
    pub(super) fn program(&self, operation: Operation) -> Program {
        let name = match operation {
            Operation::Max => "OPERATION=Max",
            Operation::Sum => "OPERATION=Sum",
        };
        let definitions = self.definitions.iter().copied().chain([name]).map(str::to_owned).collect();
        if self.is_cub() { program("reduction_cub.cu", CUB, definitions) } else { program(FILE, TEXT, definitions) }
    }
}

const FILE: &str = "reduction.cu";
const TEXT: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/reduction.cu"));
const CUB: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/reduction_cub.cu"));

const fn program(file: &'static str, text: &'static str, definitions: Vec<String>) -> Program {
    Program { file, text, definitions }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::published::reductions::{Class, VARIANTS};

    #[test]
    fn every_variant_of_one_device_has_a_recipe() {
        let here = |class| matches!(class, Class::Listing | Class::Device);
        let expected: Vec<&str> =
            VARIANTS.iter().filter(|variant| here(variant.class)).map(|variant| variant.id).collect();
        assert_eq!(RECIPES.iter().map(|recipe| recipe.id).collect::<Vec<_>>(), expected);
    }

    fn blocks(id: &str, elements: u64) -> u32 {
        RECIPES.iter().find(|recipe| recipe.id == id).unwrap().blocks(elements, 132, 4, 32)
    }

    #[test]
    fn variants_that_are_compared_have_the_same_grid() {
        for elements in [1, 1 << 10, (1 << 12) + 1, 1 << 16, 1 << 28] {
            let grid = blocks("device.atomic", elements);
            let own_grids = ["device.cluster", "device.cub"];
            for id in VARIANTS.iter().filter(|variant| variant.class == Class::Device).map(|variant| variant.id) {
                assert!(own_grids.contains(&id) || blocks(id, elements) == grid, "{id} at {elements}");
            }
        }
        assert_eq!(blocks("device.atomic", 1), 1);
        assert_eq!(blocks("device.atomic", 2049), 2);
        assert_eq!(blocks("device.atomic", 1 << 28), 264);
    }

    #[test]
    fn variants_that_are_queued_first_differ_from_others_by_that_alone() {
        let of = |id: &str| RECIPES.iter().find(|recipe| recipe.id == id).unwrap();
        for (queued, plain) in [
            ("device.atomic_queued", "device.atomic"),
            ("device.grid_queued", "device.grid_cooperative"),
            ("device.kernel_boundary_queued", "device.kernel_boundary"),
        ] {
            let (queued, plain) = (of(queued), of(plain));
            assert!(queued.launching.is_queued_first() && !plain.launching.is_queued_first());
            assert_eq!(queued.program(Operation::Max).definitions, plain.program(Operation::Max).definitions);
            assert_eq!(queued.has_second, plain.has_second);
            assert_eq!(queued.launching.is_cooperative(), plain.launching.is_cooperative());
        }
    }

    #[test]
    fn grids_cover_their_elements_and_clusters_are_whole() {
        assert_eq!(blocks("listing.1", (1 << 20) + 1), 2049);
        assert_eq!((blocks("listing.5", 1 << 28), blocks("listing.5", 1000)), (528, 2));
        assert_eq!((blocks("device.cluster", 1 << 10), blocks("device.cluster", 1 << 28)), (8, 256));
        assert_eq!((blocks("device.cub", 4097), blocks("device.cub", 1 << 28)), (2, 2640));
    }
}
