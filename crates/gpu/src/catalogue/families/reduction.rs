//! Reductions of a vector with each kind of synchronization, on one device and on several.
//!
//! One operation is a whole reduction of `elements` integers, in a chain of them that the host times. Variants of one device
//! read the vector by the same code on the same grid, so the difference of two of them is that of their synchronization. A
//! [`Recipe`] says how a variant is queued, the macros of its kernel how its blocks join their results.

use super::prelude::*;
use crate::cuda::driver::Way;
use syncscope_core::words::words;

/// The front end of the device, as of launches.
const FACTS: Facts = Facts {
    at_once: OperationsAtOnce::One,
    run_effect: |_| RunEffect::of_both(0.05),
    ..Facts::of(Role::Reduction).waiting(Waits::InHardware)
};

/// Threads of a block in all kernels but CUB's.
pub(crate) const THREADS: u32 = 512;

/// Blocks on each multiprocessor at most, where the blocks read the vector together. (`SYNCSCOPE_RESIDENT`)
const BLOCKS_EACH: u32 = 2;

/// Elements that a thread reads before another block is worth its start: one quad.
const ELEMENTS_EACH: u64 = 4;

/// Blocks of a cluster: the largest portable size.
const CLUSTER: u32 = 8;

/// Threads of a block, elements of a tile, and blocks for each resident one in CUB's grid (`cub::AgentReducePolicy` of
/// i32; `cub::detail::subscription_factor`).
const CUB_THREADS: u32 = 256;
pub(crate) const CUB_TILE: u64 = 4096;
const CUB_SUBSCRIPTION: u32 = 5;

/// How the kernels of a chain of reductions are queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Queueing {
    /// Into a stream.
    Stream,
    /// Into a stream, all kernels of a chain before the first one starts.
    QueuedFirst,
    /// Each reduction as a graph of its own.
    GraphEach,
    /// All reductions of a chain in one graph.
    GraphChain,
}

/// How several devices join their results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joining {
    /// The last block of each device writes its result to all devices and waits for theirs.
    Flags,
    /// The host waits for all devices and joins their results.
    Host,
    /// A second kernel of the first device waits for the ends of all first ones, and those of the next reduction for it.
    Kernels,
}

impl Joining {
    /// Devices that have the result of all.
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
    /// A thread for each element.
    ThreadPerElement,
    /// As many as run at the same time, or fewer if there are fewer elements than threads.
    Resident,
    /// The same for all variants that are compared: enough for four elements a thread, two on each multiprocessor at most.
    Shared,
    /// The same, in whole clusters.
    Clusters,
    /// CUB's rule.
    Cub,
}

impl Grid {
    /// Its blocks; `None` where they depend on how many run at the same time, which only the device knows.
    fn blocks(self, elements: u64, multiprocessors: u32) -> Option<u32> {
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
    definitions: &'static [&'static str],
    pub(crate) queueing: Queueing,
    /// Whether all blocks of its kernel are guaranteed to run at the same time.
    is_cooperative: bool,
    /// Whether a second kernel joins the partial results of the blocks.
    pub(crate) has_second: bool,
    grid: Grid,
    /// How several devices join theirs; `None` on one device.
    pub(crate) joining: Option<Joining>,
    /// Whether it is measured for the sum as well; all are measured for the maximum.
    has_sum: bool,
}

impl Recipe {
    const fn of(definitions: &'static [&'static str]) -> Self {
        let (queueing, grid) = (Queueing::Stream, Grid::Shared);
        Self { definitions, queueing, is_cooperative: false, has_second: false, grid, joining: None, has_sum: true }
    }

    /// One of the five of Burtchell and Burtscher: maxima alone.
    const fn listing(definitions: &'static [&'static str], grid: Grid) -> Self {
        Self { grid, has_sum: false, ..Self::of(definitions) }
    }

    const fn cooperative(definitions: &'static [&'static str]) -> Self {
        Self { is_cooperative: true, ..Self::of(definitions) }
    }

    const fn two_kernels() -> Self {
        Self { has_second: true, ..Self::of(&["VARIANT=PARTIALS"]) }
    }

    const fn devices(joining: Joining) -> Self {
        let definitions: &[&str] =
            if matches!(joining, Joining::Flags) { &["VARIANT=LAST_BLOCK", "SEVERAL"] } else { LAST_BLOCK.definitions };
        Self { joining: Some(joining), ..Self::of(definitions) }
    }

    const fn queued(self, queueing: Queueing) -> Self {
        Self { queueing, ..self }
    }

    /// What it is taken for: those of a listing are compared with each other alone.
    const fn role(&self) -> Role {
        if self.has_sum { Role::Reduction } else { Role::PrintedReduction }
    }

    /// Whether it is CUB's, whose headers are not part of this program.
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

    /// Blocks of the first kernel for so many elements on each device, of which `resident` run at the same time.
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
    /// The answer for the first `elements` of the vector, which `element_of` in `kernels/reduction.cu` makes: the bits of an
    /// i32. Every element of the vector whose sum is computed is the remainder of its index by a prime.
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

    /// Two results as one.
    pub(crate) fn join(self, one: u32, other: u32) -> u32 {
        match self {
            Self::Max => one.cast_signed().max(other.cast_signed()).cast_unsigned(),
            Self::Sum => one.wrapping_add(other),
        }
    }
}

/// The recipe of a case's primitive.
pub(crate) fn recipe_of(case: &Case) -> Option<Recipe> {
    match ENTRIES.iter().find(|entry| entry.id == case.primitive)?.method {
        Method::Reduction(recipe) => Some(recipe),
        _ => None,
    }
}

fn definitions(case: &Case) -> Vec<String> {
    let own = recipe_of(case).map_or(&[][..], |recipe| recipe.definitions);
    let operation = if case.in_group(Operation::Sum.as_str()) { "OPERATION=Sum" } else { "OPERATION=Max" };
    own.iter().copied().chain([operation]).map(str::to_owned).collect()
}

/// Sizes of standard plans, for the maximum: a vector of one block, one of a few blocks on each multiprocessor, and one that the second-level
/// cache does not hold.
const FEW: [u32; 3] = [10, 18, 26];

/// Those of the papers' figures: 2^10 to 2^28 elements.
const ALL: [u32; 10] = [10, 12, 14, 16, 18, 20, 22, 24, 26, 28];

/// Quick plans have no reductions: they are made of what quick plans measure.
fn cases(id: &str, preset: Preset, limits: DeviceLimits) -> Vec<Case> {
    let sizes: &[u32] = match preset {
        Preset::Quick => &[],
        Preset::Standard => &FEW,
        Preset::Paper => &ALL,
    };
    let Some(recipe) = recipe_of(&Case::new(id)) else { return Vec::new() };
    let has_sum = recipe.has_sum && preset == Preset::Paper;
    let operations = if has_sum { Operation::ALL } else { &[Operation::Max] };
    let groups: Vec<Group> = operations.iter().map(|operation| Group::named(operation.as_str())).collect();
    let elements: Vec<u64> = sizes.iter().map(|power| 1 << power).collect();
    let sweep = Sweep::of(id).dtypes(&[Dtype::I32]).threads(&[recipe.threads().min(limits.max_threads)]);
    let sweep = sweep.groups(&groups).elements(&elements);
    let sweep = if recipe.joining.is_some() { sweep.devices(&[2, 4, 8]) } else { sweep };
    let on_grid = |case: Case| {
        let part = case.elements.unwrap_or(1).div_ceil(u64::from(case.devices.unwrap_or(1)));
        Case { blocks: recipe.grid.blocks(part, limits.multiprocessors), ..case }
    };
    sweep.cases().into_iter().map(on_grid).collect()
}

const LAST_BLOCK: Recipe = Recipe::of(&["VARIANT=LAST_BLOCK"]);
const ATOMIC: Recipe = Recipe::of(&["VARIANT=ATOMIC"]);
const GRID: Recipe = Recipe::cooperative(&["VARIANT=GRID", "KIND=COOPERATIVE"]);

const BURTCHELL: &str = "Burtchell and Burtscher, IISWC 2024, listing 1";
const SAMPLE: &str = "CUDA sample threadFenceReduction";
const ZHANG: &str = "Zhang et al., IPDPS 2020, reduction operator";
const IMPLICIT: &str = "Zhang et al., IPDPS 2020, implicit barriers";
const SEVERAL: &str = "Zhang et al., IPDPS 2020, reduction operator on several GPUs";

/// What the machine code of the first kernel must have.
const RED: &[&str] = &["RED.MAX", "REDG.MAX", "RED.ADD", "REDG.ADD"];
const SHARED_MAX: &[&str] = &["ATOMS.MAX"];
const COUNTED: &[&str] = &["ATOM.INC", "ATOMG.INC"];
const STORED: &[&str] = &["STG", "ST"];
const BARRIER: &[&str] = &["ATOM.ADD", "ATOMG.ADD"];

const REDUCTION: Entry = Entry {
    operation: "one reduction of the whole vector",
    definitions,
    cases,
    has_third_loop: false,
    ..Entry::of(Kernel::of("reduction.cu", ArgumentKind::Reduction), Proof::Trial, FACTS)
};

/// One entry for each line: name, recipe, instructions, source, summary; further fields of the entry.
macro_rules! reductions {
    ($($name:literal, $recipe:expr, $expected:expr, $source:expr, $summary:literal $(, $field:ident: $value:expr)*;)+) => {
        /// The family: one device, then several.
        pub(crate) static ENTRIES: &[&Entry] = &[$(&Entry {
            id: concat!("gpu.reduction.", $name),
            summary: $summary,
            source: $source,
            facts: Facts { role: $recipe.role(), ..FACTS },
            method: Method::Reduction($recipe),
            expected: |_| ExpectedInstructions::of($expected),
            $($field: $value,)*
            ..REDUCTION
        },)+];
    };
}

reductions! {
    "listing_1", Recipe::listing(&["VARIANT=LISTING_1"], Grid::ThreadPerElement), RED, BURTCHELL,
        "Reduction 1 of the paper: every thread makes one global atomic maximum";
    "listing_2", Recipe::listing(&["VARIANT=LISTING_2"], Grid::ThreadPerElement), RED, BURTCHELL,
        "Reduction 2 of the paper: every warp makes five shuffles, then one global atomic maximum";
    "listing_3", Recipe::listing(&["VARIANT=LISTING_3"], Grid::ThreadPerElement), SHARED_MAX, BURTCHELL,
        "Reduction 3 of the paper: every thread an atomic maximum in shared memory, every block two barriers and one global atomic maximum";
    "listing_4", Recipe::listing(&["VARIANT=LISTING_4"], Grid::ThreadPerElement), SHARED_MAX, BURTCHELL,
        "Reduction 4 of the paper: every warp one reduce instruction and an atomic maximum in shared memory, every block two barriers and one global atomic maximum",
        needs: (8, 0);
    "listing_5", Recipe::listing(&["VARIANT=LISTING_5"], Grid::Resident), SHARED_MAX, BURTCHELL,
        "Reduction 5 of the paper: as 3, each thread first reduces many elements";
    "atomic", ATOMIC, RED, BURTCHELL,
        "One atomic operation of each block on a result that is set to its initial value before, outside of the time";
    "last_block", LAST_BLOCK, COUNTED, SAMPLE,
        "Partial results in memory, fences and a counter; the last block joins them";
    "cluster", Recipe { grid: Grid::Clusters, ..Recipe::of(&["VARIANT=CLUSTER", "IN_CLUSTERS"]) },
        &["UCGABAR_ARV"], "CUDA C++ Programming Guide, Distributed Shared Memory",
        "Blocks of a cluster join their results through distributed shared memory, then one atomic operation of each cluster",
        needs: (9, 0);
    "grid_cooperative", GRID, BARRIER, ZHANG,
        "Partial results in memory, the barrier of cooperative groups, then the first block joins them";
    "grid_counter", Recipe::cooperative(&["VARIANT=GRID", "KIND=COUNTER"]), &["RED.ADD", "REDG.ADD"], ZHANG,
        "As with the barrier of cooperative groups, with a barrier of one counter";
    "grid_lock_free", Recipe::cooperative(&["VARIANT=GRID", "KIND=LOCK_FREE"]),
        &["STG.STRONG.GPU", "ST.STRONG.GPU"], "Xiao and Feng, IPDPS 2010",
        "As with the barrier of cooperative groups, with the lock-free barrier";
    "kernel_boundary", Recipe::two_kernels(), STORED, IMPLICIT,
        "Two launches in a stream; the second kernel joins the partial results";
    "atomic_queued", ATOMIC.queued(Queueing::QueuedFirst), RED, BURTCHELL,
        "As atomic, all kernels of the chain in the stream before the first one starts, so that no launch waits for the host";
    "grid_queued", GRID.queued(Queueing::QueuedFirst), BARRIER, ZHANG,
        "As the barrier of cooperative groups, all kernels of the chain in the stream before the first one starts";
    "kernel_boundary_queued", Recipe::two_kernels().queued(Queueing::QueuedFirst), STORED, IMPLICIT,
        "As two launches, all kernels of the chain in the stream before the first one starts";
    "graph", Recipe::two_kernels().queued(Queueing::GraphEach), STORED, "CUDA Driver API, cuGraphLaunch",
        "Two kernels in a graph, replayed for each reduction";
    "graph_chain", Recipe::two_kernels().queued(Queueing::GraphChain), STORED, "CUDA Driver API, cuGraphLaunch",
        "Two kernels, those of every reduction of the chain in one graph";
    "atomic_graph_chain", ATOMIC.queued(Queueing::GraphChain), RED, "CUDA Driver API, cuGraphLaunch",
        "As atomic, the kernels of the chain in one graph";
    "grid_graph_chain", GRID.queued(Queueing::GraphChain), BARRIER, "CUDA Driver API, cuGraphLaunch",
        "As the barrier of cooperative groups, the kernels of the chain in one graph";
    "cub", Recipe { has_second: true, grid: Grid::Cub, ..Recipe::of(&[]) }, STORED, "CUB, cub::DeviceReduce",
        "The two kernels of cub::DeviceReduce in a stream, with its tuning and its grid", kernel: Kernel::of("reduction_cub.cu", ArgumentKind::Reduction);
    "devices_flags", Recipe::devices(Joining::Flags), &["STG.64.STRONG.SYS", "ST.64.STRONG.SYS"], SEVERAL,
        "Each GPU reduces its part; its last block writes the result with a flag to all GPUs and waits for theirs";
    "devices_host", Recipe::devices(Joining::Host), COUNTED, SEVERAL,
        "Each GPU reduces its part; the host waits for all and joins the results";
    "devices_events", Recipe::devices(Joining::Kernels), COUNTED, "CUDA Driver API, cuStreamWaitEvent",
        "Each GPU reduces its part; a kernel of the first GPU waits for the events of all, joins the results, and the next reduction waits for its end";
    "devices_graph_chain", Recipe::devices(Joining::Kernels).queued(Queueing::GraphChain), COUNTED,
        "CUDA Driver API, cuStreamWaitEvent and cuGraphLaunch",
        "As with events, the kernels of every reduction of the chain in one graph over all GPUs";
}

#[cfg(test)]
mod tests {
    use super::*;

    const H200: DeviceLimits = DeviceLimits { multiprocessors: 132, max_threads: 1024 };

    fn recipe(name: &str) -> Recipe {
        recipe_of(&Case::new(&format!("gpu.reduction.{name}"))).unwrap()
    }

    #[test]
    fn variants_of_one_device_have_the_same_grid() {
        for elements in [1, 1 << 10, (1 << 12) + 1, 1 << 16, 1 << 28] {
            let grid = recipe("atomic").blocks(elements, 132, 3);
            let recipes = ENTRIES.iter().filter_map(|entry| match entry.method {
                Method::Reduction(recipe)
                    if recipe.has_sum && !recipe.is_cub() && !matches!(recipe.way(), Way::InClusters(_)) =>
                {
                    Some(recipe)
                }
                _ => None,
            });
            assert!(recipes.clone().count() > 12);
            assert!(recipes.clone().all(|recipe| recipe.blocks(elements, 132, 3) == grid), "{elements}");
        }
        let blocks = |name: &str, elements| recipe(name).blocks(elements, 132, 3);
        assert_eq!([1, 2049, 1 << 28].map(|elements| blocks("atomic", elements)), [1, 2, 264]);
        assert_eq!(blocks("listing_1", (1 << 20) + 1), 2049);
        assert_eq!((blocks("listing_5", 1 << 28), blocks("listing_5", 1000)), (396, 2));
        assert_eq!((blocks("cluster", 1 << 10), blocks("cluster", 1 << 28)), (8, 264));
        assert_eq!((blocks("cub", 4097), blocks("cub", 1 << 28)), (2, 5280));
    }

    #[test]
    fn what_is_queued_first_differs_from_others_by_that_alone() {
        let pairs = [
            ("atomic_queued", "atomic"),
            ("grid_queued", "grid_cooperative"),
            ("kernel_boundary_queued", "kernel_boundary"),
        ];
        for (queued, plain) in pairs {
            assert_eq!(recipe(plain).queued(Queueing::QueuedFirst), recipe(queued), "{queued}");
        }
    }

    #[test]
    fn quick_plans_have_no_reductions_and_the_papers_sizes_are_all_there() {
        let planned =
            |preset| -> Vec<Case> { ENTRIES.iter().flat_map(|entry| (entry.cases)(entry.id, preset, H200)).collect() };
        assert!(planned(Preset::Quick).is_empty());
        let paper = planned(Preset::Paper);
        let of = |id: &str| paper.iter().filter(|case| case.primitive == id).count();
        assert_eq!(
            [of("gpu.reduction.listing_1"), of("gpu.reduction.cub"), of("gpu.reduction.devices_host")],
            [10, 20, 60]
        );
        assert!(planned(Preset::Standard).iter().all(|case| paper.contains(case)));
    }

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
        // Zero, the initial value of a result, is none of them.
        assert!((0..1 << 20).all(|index| element(index) > 0));
    }

    #[test]
    fn results_are_joined_as_signed_numbers_and_modulo() {
        assert_eq!(Operation::Max.join(5, Operation::Max.join(u32::MAX, 7)), 7, "the second is -1");
        assert_eq!(Operation::Sum.join(u32::MAX, 3), 2);
        assert_eq!([Joining::Flags, Joining::Host, Joining::Kernels].map(|joining| joining.knowing(4)), [4, 0, 1]);
    }
}
