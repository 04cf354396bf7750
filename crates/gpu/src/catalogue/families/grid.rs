//! Barriers of all threads of a grid. Their designs are in `kernels/grid_kinds.cuh`, each a function that a reader checks in a
//! minute. `kernels/grid_barrier.cuh` has the loops, checks and orderings around them, `kernels/near_counters.cuh` the counters
//! in both halves of the cache. `kernels/multi.cu` builds barriers of several devices from the same parts.

use super::prelude::*;
use syncscope_core::{Family, OwnUse};

use crate::catalogue::entry::OwnEntry;
use crate::catalogue::plan::{RESIDENT_THREADS, resident_threads};

/// The column `group` names variants, each of which is a different algorithm.
const FACTS: Facts = Facts {
    at_once: OperationsAtOnce::One,
    run_effect: |_| RunEffect::of_both(0.004),
    has_designs: true,
    is_algorithm: true,
    ..Facts::of(Role::GridBarrier).waiting(Waits::Spins)
};

/// A barrier with a pause before the first poll; its polls are relaxed and end with a fence that only acquires.
const PAUSED_ACQUIRE: &str = "paused_acquire";

/// A barrier with counters in both halves of the L2 cache; each block adds to a near one.
const NEAR_COUNTERS: &str = "near_counters";

/// A barrier with flags in both halves of the L2 cache; each block reads the near ones.
pub(super) const NEAR_FLAGS: &str = "near_flags";

/// A barrier with several counters; each block adds to one of them.
const SPREAD: &str = "spread";

/// One barrier takes a microsecond, so the loop contains only a few of them.
pub(crate) const UNROLL: u32 = 4;

/// The numbers of blocks on each multiprocessor in the heat map.
pub(super) const ON_EACH: &[u32] = &[1, 2, 4, 8, 16, 32];
/// The numbers of blocks above one.
const SEVERAL_ON_EACH: &[u32] = &[2, 4, 8, 16, 32];
pub(super) const ONE: &[u32] = &[1];
pub(super) const FEW: &[u32] = &[32, 1024];
pub(super) const RELAXED: &[MemoryOrder] = &[MemoryOrder::Relaxed];

/// The barriers that have a relaxed form.
const RELAXED_TOO: &[&str] = &["counter", "lock_free"];

/// The heat map. Standard plans have only its edges: one block of each size, each number of small blocks, and full multiprocessors.
const HEAT_MAP: &[PlanRow] = &[
    on(QUICK, Grids::Resident(ONE, FEW)),
    on(QUICK, Grids::Resident(ONE, &[32])).orders(RELAXED).only(&["counter"]),
    on(STANDARD, Grids::Resident(ONE, &DOUBLINGS)).relaxed_too(RELAXED_TOO),
    on(STANDARD, Grids::Resident(ON_EACH, &[32])).relaxed_too(RELAXED_TOO),
    on(STANDARD, Grids::Resident(ON_EACH, &DOUBLINGS)).except(leaves_room).relaxed_too(RELAXED_TOO),
    on(PAPER, Grids::Resident(ON_EACH, &DOUBLINGS)).relaxed_too(RELAXED_TOO),
    on(BEYOND_QUICK, Grids::Fewer(&[2, 8, 16, 33])).only(&["counter"]),
];

/// Whether more threads would fit on the multiprocessors.
fn leaves_room(case: &Case, limits: DeviceLimits) -> bool {
    resident_threads(case, limits) < RESIDENT_THREADS
}

/// The variants on one block per multiprocessor, or on as many whole clusters; the spread counters on more blocks. The relaxed
/// forms of the others differ little from relaxed `gpu.grid.counter`.
const HIERARCHICAL: &[PlanRow] = &[
    on(EACH, Grids::Resident(ONE, FEW)).groups(&[(NEAR_COUNTERS, &[])]).relaxed_too(&["hierarchical"]),
    on(BEYOND_QUICK, Grids::Resident(ONE, FEW)).groups(&[(PAUSED_ACQUIRE, &[])]),
    on(BEYOND_QUICK, Grids::FillingClusters(&[4, 8], FEW)),
    on(STANDARD, Grids::Resident(SEVERAL_ON_EACH, &[32])).groups(&[(SPREAD, &[])]),
    on(PAPER, Grids::Resident(SEVERAL_ON_EACH, &DOUBLINGS)).groups(&[(SPREAD, &[])]),
];

const BARRIER: Entry = Entry {
    operation: "one barrier across all threads of the grid",
    definitions: |case| in_order_of(case, vec![kind_of(case)]),
    plan: HEAT_MAP,
    method: Method::GridBarrier,
    unroll: |_| UNROLL,
    ..Entry::of(Kernel::of("grid.cu", ArgumentKind::GridBarrier), Proof::Trial, FACTS)
};

/// Barriers with near counters keep more addresses than fit into the registers of two full blocks on a multiprocessor.
pub(super) fn roomy(case: &Case) -> Vec<String> {
    vec![format!("ROOMY={}", u32::from(has_near_counters(case)))]
}

/// Whether the blocks of a grid arrive at the counters of `near_counters.cuh`.
fn has_near_counters(case: &Case) -> bool {
    case.in_group(NEAR_COUNTERS) || case.in_group(NEAR_FLAGS)
}

/// Blocks per cluster of the grid in which the barrier is launched; 0 without clusters.
pub(crate) fn cluster_of(case: &Case) -> u32 {
    if case.in_group(CLUSTER_OF) { group_size(case) } else { 0 }
}

/// What a user's barrier works on: four lines, and the user's own bytes, as in `own_kernels.cuh`.
const OWN_STATE_BYTES: usize = 512 + 4096;

/// Bytes of a barrier's state: a counter and a release word, each in a line of its own, or two one-byte flags per block. With
/// several counters, the state has the pages of `near_counters.cuh`, which begin at the next page of the memory.
pub(crate) fn state_bytes(case: &Case, own: Option<&OwnEntry>) -> usize {
    const LINE: usize = 128;
    const PAGES: usize = 16;
    const PAGE_BYTES: usize = 4096;
    if let Some(own) = own {
        let threads = case.blocks.unwrap_or(0) as usize * case.threads.unwrap_or(0) as usize;
        let elements = if own.source.uses(OwnUse::Element) { threads * size_of::<u64>() } else { 0 };
        return OWN_STATE_BYTES + elements;
    }
    let is_handoff = case.domain_and_family().1 == Family::Handoff.as_str();
    if has_near_counters(case) || case.in_group(SPREAD) || is_handoff {
        return LINE + (1 + PAGES) * PAGE_BYTES;
    }
    LINE + 2 * (case.blocks.unwrap_or(0) as usize).next_multiple_of(LINE)
}

entries! {
    /// In theory: two block barriers, the round trip of an atomic addition and, on average, one and a half reads of the counter
    /// while waiting; all in the L2 cache. With many blocks on a multiprocessor the additions dominate: one address executes
    /// them one after the other, with the reads between them.
    "gpu.grid.cooperative" like BARRIER: "Cooperative-groups grid barrier, grid_group::sync()",
    source: "CUDA C++ Programming Guide, Cooperative Groups, grid_group::sync; Zhang, Wahib, Matsuoka, figure 8",
    facts: Facts { is_algorithm: false, ..FACTS },
    expected: |_| ExpectedInstructions::of(&["ATOM.ADD", "ATOMG.ADD"]);

    /// In theory: the cooperative barrier without waiting for the result of the addition, which saves one way to the cache. A
    /// relaxed barrier is only the addition and the reads. (H200, 132 blocks of 32 threads: 1,598 cycles, relaxed 1,225.)
    "gpu.grid.counter" like BARRIER:
    "Grid barrier with one counter that is never reset; the “relaxed” variant orders no memory accesses, so only arrivals are \
     checked",
    source: "Xiao and Feng, Inter-Block GPU Communication via Fast Barrier Synchronization, IPDPS 2010, simple \
             synchronization; PTX ISA, red.release and ld.acquire",
    orderings: |_| &["addition releases", "poll acquires"],
    expected: |_| ExpectedInstructions::of(&["REDG.ADD", "RED.ADD"]);

    /// In theory: two ways through the cache, one flag to the first block and one back. No operation waits for its turn, however
    /// many blocks there are. (H200: slower than a counter up to 8 small blocks on each multiprocessor, 3,300 cycles against
    /// 1,600 with one; faster with more blocks, 10,700 against 17,100 with 32.)
    "gpu.grid.lock_free" like BARRIER:
    "Grid barrier with one flag per block: the first block waits for all flags, then releases the others; the “relaxed” variant orders \
     no memory accesses, so only arrivals are checked",
    source: "Xiao and Feng, Inter-Block GPU Communication via Fast Barrier Synchronization, IPDPS 2010, lock-free \
             synchronization",
    orderings: |_| &["flag releases", "gathering poll acquires", "fence releases all flags", "poll acquires"],
    // The flag of a block, and the first block's answers.
    expected: |_| ExpectedInstructions::of(&["STG.STRONG.GPU", "ST.STRONG.GPU"]).times(2);

    /// In theory: one fence before the arrival, the way of the addition through the cache, and the way of a read and back.
    /// Additions are further delayed by each other and by the reads of the other blocks. A pause, a counter in each half of the
    /// cache, several counters, or one reader per cluster removes part of that delay; a cluster adds two barriers of its own.
    /// The fence at the end only acquires and does not wait for memory. (H200, cycles: with one counter and a pause 1,502, near
    /// counters 1,400 to 1,455, cooperative groups 1,993; 4,224 blocks: spread 5,842, cooperative groups 17,628.)
    "gpu.grid.hierarchical" like BARRIER:
    "Grid barrier that polls with relaxed loads, then executes one acquire fence; variants add a pause, a counter in \
     each half of the L2 cache, several counters, or clusters that gather arrivals; the “relaxed” variant orders \
     no memory accesses, so only arrivals are checked",
    kernel: Kernel::of("grid_hierarchical.cu", ArgumentKind::GridBarrier),
    source: "PTX ISA, Memory Consistency Model, fence.acquire and fence.release, barrier.cluster",
    definitions: |case| {
        let (kind, clusters) = match case.group_word() {
            NEAR_COUNTERS => ("NEAR_COUNTERS", 0),
            SPREAD => ("SPREAD", 0),
            CLUSTER_OF => ("CLUSTER", 1),
            _ => ("PAUSED_ACQUIRE", 0),
        };
        let kind = in_order_of(case, vec![format!("KIND={kind}")]);
        [kind, vec![format!("CLUSTERS={clusters}")], roomy(case)].concat()
    },
    expected: |_| ExpectedInstructions::of(&["REDG.ADD", "RED.ADD"]),
    orderings: |case| match case.group_word() {
        CLUSTER_OF => {
            &["addition releases", "fence acquires and releases to the cluster", "fence releases to the cluster"]
        }
        _ => &["addition releases", "fence acquires"],
    },
    plan: HIERARCHICAL,
    needs: (9, 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::MemoryOrder;

    #[test]
    fn the_heat_map_is_that_of_the_paper() {
        let limits = DeviceLimits { multiprocessors: 132, max_threads: 1024 };
        let shapes = |preset| {
            let cases = ENTRIES[0].planned(preset, limits);
            cases.iter().map(|case| (case.blocks.unwrap() / 132, case.threads.unwrap())).collect::<Vec<_>>()
        };
        let paper = shapes(Preset::Paper);
        // The paper's V100 has 2,048 resident threads too: 6 + 6 + 5 + 4 + 3 + 2 fields.
        assert_eq!(paper.len(), 26);
        for (blocks, largest) in [(1, 1024), (2, 1024), (4, 512), (8, 256), (16, 128), (32, 64)] {
            assert_eq!(paper.iter().filter(|shape| shape.0 == blocks).map(|shape| shape.1).max(), Some(largest));
        }
        assert_eq!(shapes(Preset::Standard).len(), 6 + 5 + 5);
        assert_eq!(shapes(Preset::Quick), [(1, 32), (1, 1024)]);
    }

    #[test]
    fn quick_plans_have_the_relaxed_twin_of_the_smallest_counter_alone() {
        let limits = DeviceLimits { multiprocessors: 132, max_threads: 1024 };
        let relaxed_ones = |entry: &Entry, preset| {
            let cases = entry.planned(preset, limits);
            cases.into_iter().filter(|case| case.order == Some(MemoryOrder::Relaxed)).collect::<Vec<_>>()
        };
        let &[cooperative, counter, lock_free, _] = ENTRIES else { panic!("there are four") };
        let [of_counter, of_lock_free] = [counter, lock_free].map(|entry| relaxed_ones(entry, Preset::Quick));
        assert_eq!(
            of_counter.iter().map(|case| (case.blocks, case.threads)).collect::<Vec<_>>(),
            [(Some(132), Some(32))]
        );
        assert_eq!(of_lock_free, []);
        assert_eq!(relaxed_ones(counter, Preset::Paper).len(), 26);
        assert_eq!(relaxed_ones(cooperative, Preset::Paper), []);
    }

    #[test]
    fn hierarchical_grids_are_whole_clusters_and_fit_their_state() {
        let limits = DeviceLimits { multiprocessors: 132, max_threads: 1024 };
        let planned = ENTRIES[3].planned(Preset::Paper, limits);
        assert_eq!(planned.len(), 2 * (4 + 1) + 20, "two sizes of blocks, one design relaxed too; spread on more");
        for case in &planned {
            let blocks = case.blocks.unwrap();
            assert!(blocks.is_multiple_of(cluster_of(case).max(1)) && blocks > 132 - 8, "{case}");
        }
        let two = planned.iter().find(|case| case.in_group(NEAR_COUNTERS)).unwrap();
        // The choice in a line of its own, then the sixteen pages it chooses from.
        assert_eq!(state_bytes(two, None), 128 + 17 * 4096);
        assert_eq!(cluster_of(two), 0);
    }

    #[test]
    fn the_state_has_room_for_both_flags_of_every_block() {
        // Counted as `lock_free` in grid.cu does: 32 words, then the flags in whole lines, twice.
        for blocks in [1_u32, 127, 128, 129, 132, 4224] {
            let bytes = 32 * 4 + 2 * (blocks as usize).div_ceil(128) * 128;
            assert_eq!(state_bytes(&Case { blocks: Some(blocks), ..Case::new("gpu.grid.lock_free") }, None), bytes);
        }
    }
}
