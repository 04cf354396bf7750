//! Reductions of a vector with each kind of synchronization, on one device and on several.
//!
//! One operation is a whole reduction of `elements` integers, in a chain of reductions that the host times. Variants on one
//! device read the vector with the same code on the same grid, so two of them differ only by their synchronization. A
//! [`Recipe`] says how a variant is queued; the macros of its kernel say how its blocks combine their results.

use super::prelude::*;
use crate::catalogue::recipe::{Grid, Joining, Operation, Queueing, Recipe};

/// Runs differ by the device's front end, as for launches.
const FACTS: Facts = Facts {
    at_once: OperationsAtOnce::One,
    run_effect: |_| RunEffect::of_both(0.05),
    ..Facts::of(Role::Reduction).waiting(Waits::InHardware)
};

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

/// Sizes in standard plans, for the maximum: a vector for one block, one for a few blocks on each multiprocessor, and one that
/// does not fit into the L2 cache.
const FEW: &[u32] = &[10, 18, 26];

/// The sizes in the papers' figures: 2^10 to 2^28 elements.
const ALL: &[u32] = &[10, 12, 14, 16, 18, 20, 22, 24, 26, 28];

/// Quick plans have no reductions: a reduction consists of what quick plans measure.
const PLAN: &[PlanRow] = &[
    on(STANDARD, Grids::By(vectors, FEW)).groups(&[(Operation::Max.as_str(), &[])]),
    on(PAPER, Grids::By(vectors, ALL)).groups(&[(Operation::Max.as_str(), &[])]),
    on(PAPER, Grids::By(vectors, ALL)).groups(&[(Operation::Sum.as_str(), &[])]).except(has_no_sum),
];

fn has_no_sum(case: &Case, _: DeviceLimits) -> bool {
    recipe_of(case).is_none_or(|recipe| !recipe.has_sum)
}

/// Vectors of 2^power elements for each of `powers`, on the grids of the recipe.
fn vectors(id: &str, powers: &[u32], limits: DeviceLimits) -> Sweep {
    let sweep = Sweep::of(id).dtypes(&[Dtype::I32]);
    let Some(recipe) = recipe_of(&Case::new(id)) else { return sweep.threads(&[]) };
    let elements: Vec<u64> = powers.iter().map(|power| 1 << power).collect();
    let sweep = sweep.threads(&[recipe.threads().min(limits.max_threads)]).elements(&elements);
    let sweep = if recipe.joining.is_some() { sweep.devices(&[2, 4, 8]) } else { sweep };
    sweep.each(|case| {
        let part = case.elements.unwrap_or(1).div_ceil(u64::from(case.devices.unwrap_or(1)));
        case.blocks = recipe.grid.blocks(part, limits.multiprocessors);
    })
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
    plan: PLAN,
    has_third_loop: false,
    ..Entry::of(Kernel::of("reduction.cu", ArgumentKind::Reduction), Proof::Trial, FACTS)
};

/// One entry per line: name, recipe, instructions, source, summary, and further fields of the entry.
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
        "Reduction 1 of Burtchell and Burtscher: every thread performs one global atomic maximum";
    "listing_2", Recipe::listing(&["VARIANT=LISTING_2"], Grid::ThreadPerElement), RED, BURTCHELL,
        "Reduction 2 of Burtchell and Burtscher: every warp performs five shuffles, then one global atomic maximum";
    "listing_3", Recipe::listing(&["VARIANT=LISTING_3"], Grid::ThreadPerElement), SHARED_MAX, BURTCHELL,
        "Reduction 3 of Burtchell and Burtscher: every thread performs an atomic maximum in shared memory, between two \
         block-wide barriers; every block then performs one global atomic maximum";
    "listing_4", Recipe::listing(&["VARIANT=LISTING_4"], Grid::ThreadPerElement), SHARED_MAX, BURTCHELL,
        "Reduction 4 of Burtchell and Burtscher: every warp executes one reduce instruction and an atomic maximum in \
         shared memory, between two block-wide barriers; every block then performs one global atomic maximum",
        needs: (8, 0);
    "listing_5", Recipe::listing(&["VARIANT=LISTING_5"], Grid::Resident), SHARED_MAX, BURTCHELL,
        "Reduction 5 of Burtchell and Burtscher: like reduction 3, but each thread first reduces many elements";
    "atomic", ATOMIC, RED, BURTCHELL,
        "One atomic operation per block on a result that is reset before the timed part";
    "last_block", LAST_BLOCK, COUNTED, SAMPLE,
        "Each block writes a partial result, executes a fence and counts its arrival; the last block merges the results";
    "cluster", Recipe { grid: Grid::Clusters, ..Recipe::of(&["VARIANT=CLUSTER", "IN_CLUSTERS"]) },
        &["UCGABAR_ARV"], "CUDA C++ Programming Guide, Distributed Shared Memory",
        "The blocks of a cluster merge their results in distributed shared memory; each cluster then performs \
         one atomic operation",
        needs: (9, 0);
    "grid_cooperative", GRID, BARRIER, ZHANG,
        "Blocks write partial results and pass a cooperative-groups barrier; the first block then merges the results";
    "grid_counter", Recipe::cooperative(&["VARIANT=GRID", "KIND=COUNTER"]), &["RED.ADD", "REDG.ADD"], ZHANG,
        "Like grid_cooperative, but with a one-counter barrier";
    "grid_lock_free", Recipe::cooperative(&["VARIANT=GRID", "KIND=LOCK_FREE"]),
        &["STG.STRONG.GPU", "ST.STRONG.GPU"], "Xiao and Feng, IPDPS 2010",
        "Like grid_cooperative, but with the lock-free barrier";
    "kernel_boundary", Recipe::two_kernels(), STORED, IMPLICIT,
        "Two launches in a stream; the second kernel merges the partial results";
    "atomic_queued", ATOMIC.queued(Queueing::QueuedFirst), RED, BURTCHELL,
        "Like atomic, but all kernels are queued before the first one starts, so no launch waits for the host";
    "grid_queued", GRID.queued(Queueing::QueuedFirst), BARRIER, ZHANG,
        "Like grid_cooperative, but all kernels are queued before the first one starts";
    "kernel_boundary_queued", Recipe::two_kernels().queued(Queueing::QueuedFirst), STORED, IMPLICIT,
        "Like kernel_boundary, but all kernels are queued before the first one starts";
    "graph", Recipe::two_kernels().queued(Queueing::GraphEach), STORED, "CUDA Driver API, cuGraphLaunch",
        "A graph of two kernels, replayed for each reduction";
    "graph_chain", Recipe::two_kernels().queued(Queueing::GraphChain), STORED, "CUDA Driver API, cuGraphLaunch",
        "Two kernels per reduction, with all reductions of the chain in one graph";
    "atomic_graph_chain", ATOMIC.queued(Queueing::GraphChain), RED, "CUDA Driver API, cuGraphLaunch",
        "Like atomic, but one graph launches the whole chain";
    "grid_graph_chain", GRID.queued(Queueing::GraphChain), BARRIER, "CUDA Driver API, cuGraphLaunch",
        "Like grid_cooperative, but one graph launches the whole chain";
    "cub", Recipe { has_second: true, grid: Grid::Cub, ..Recipe::of(&[]) }, STORED, "CUB, cub::DeviceReduce",
        "The two kernels of cub::DeviceReduce in a stream, with CUB's tuning and grid", kernel: Kernel::of("reduction_cub.cu", ArgumentKind::Reduction);
    "devices_flags", Recipe::devices(Joining::Flags), &["STG.64.STRONG.SYS", "ST.64.STRONG.SYS"], SEVERAL,
        "Each GPU reduces its part; its last block writes the result and a flag in one store to every GPU, then waits for \
         the other GPUs' results";
    "devices_host", Recipe::devices(Joining::Host), COUNTED, SEVERAL,
        "Each GPU reduces its part; the host waits for all and merges the results";
    "devices_events", Recipe::devices(Joining::Kernels), COUNTED, "CUDA Driver API, cuStreamWaitEvent",
        "Each GPU reduces its part; a kernel on the first GPU waits for all GPUs' events and merges the results; \
         the next reduction waits for that kernel";
    "devices_graph_chain", Recipe::devices(Joining::Kernels).queued(Queueing::GraphChain), COUNTED,
        "CUDA Driver API, cuStreamWaitEvent and cuGraphLaunch",
        "Like devices_events, but one graph over all GPUs launches the whole chain";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::driver::Way;

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
        let planned = |preset| -> Vec<Case> { ENTRIES.iter().flat_map(|entry| entry.planned(preset, H200)).collect() };
        assert!(planned(Preset::Quick).is_empty());
        let paper = planned(Preset::Paper);
        let of = |id: &str| paper.iter().filter(|case| case.primitive == id).count();
        assert_eq!(
            [of("gpu.reduction.listing_1"), of("gpu.reduction.cub"), of("gpu.reduction.devices_host")],
            [10, 20, 60]
        );
        assert!(planned(Preset::Standard).iter().all(|case| paper.contains(case)));
    }
}
