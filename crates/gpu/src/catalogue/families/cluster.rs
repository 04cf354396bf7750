//! Barriers of a cluster of blocks, and atomic additions to the shared memory of another block in the cluster.

use super::prelude::*;

const FACTS: Facts = Facts {
    run_effect: |_| RunEffect::of_both(0.002),
    at_once: OperationsAtOnce::OfBlocks(CLUSTER_OF),
    ..Facts::of(Role::ClusterBarrier).waiting(Waits::InHardware)
};

/// Some devices have clusters of more than 8 blocks; on others these cases are skipped.
const SIZES: &[u32] = &[1, 2, 4, 8, 16];

const FEW: &[u32] = &[32, 1024];
const SOME: &[u32] = &[32, 256, 1024];

/// The barriers across all threads that have a relaxed form.
const RELAXED_TOO: &[&str] = &["sync", "arrive_wait"];

const BARRIERS: &[PlanRow] = &[
    on(QUICK, Grids::Clusters(&[8], &[32])).relaxed_too(&["sync"]),
    on(QUICK, Grids::Clusters(&[8], &[1024])).only(RELAXED_TOO),
    on(STANDARD, Grids::Clusters(SIZES, SOME)).relaxed_too(RELAXED_TOO),
    on(STANDARD, Grids::FillingClusters(SIZES, SOME)).relaxed_too(RELAXED_TOO),
    on(PAPER, Grids::Clusters(SIZES, &DOUBLINGS)).relaxed_too(RELAXED_TOO),
    on(PAPER, Grids::FillingClusters(SIZES, &DOUBLINGS)).relaxed_too(RELAXED_TOO),
];

const LAYOUTS: &[Layout] = &[Layout::Shared, private(1)];

/// An addition to the memory of another block.
const fn additions(presets: &'static [Preset], grids: Grids) -> PlanRow {
    let row = on(presets, grids).dtypes(&[Dtype::U32]).layouts(LAYOUTS);
    row.spaces(&[Space::Shared]).modes(&[Mode::Throughput, Mode::Latency])
}

const ADDITIONS: &[PlanRow] = &[
    additions(QUICK, Grids::Clusters(&[8], FEW)),
    additions(STANDARD, Grids::Clusters(SIZES, SOME)),
    additions(STANDARD, Grids::FillingClusters(SIZES, SOME)),
    additions(PAPER, Grids::Clusters(SIZES, &DOUBLINGS)),
    additions(PAPER, Grids::FillingClusters(SIZES, &DOUBLINGS)),
];

/// The number of blocks per cluster in a case.
pub(crate) use super::group_size as size_of;

const CLUSTER: Entry = Entry {
    operation: "one barrier across all threads of the cluster",
    definitions: |case| in_order_of(case, vec![kind_of(case)]),
    method: Method::Cluster,
    needs: (9, 0),
    plan: BARRIERS,
    ..Entry::of(Kernel::of("cluster.cu", ArgumentKind::Register), Proof::Trial, FACTS)
};

entries! {
    /// In theory: a signal to the unit that connects the multiprocessors of a cluster, and its answer. A fence before it makes
    /// earlier writes visible to the whole device (MEMBAR.ALL.GPU), although the cluster would be enough. A relaxed arrival has
    /// no fence; the wait still empties the L1 cache.
    "gpu.cluster.sync" like CLUSTER:
    "Cluster-wide barrier; the “relaxed” variant orders no memory accesses, so only arrivals are checked",
    source: "CUDA C++ Programming Guide, Thread Block Clusters; PTX ISA, barrier.cluster",
    expected: |_| ExpectedInstructions::of(&["UCGABAR_WAIT"]);

    /// In theory: the barrier minus the work between its halves. On an H200 the work hides almost nothing (316 of 322 cycles
    /// remain): the time is spent in the fence before the arrival, which no work can overlap.
    "gpu.cluster.arrive_wait" like CLUSTER:
    "Split cluster barrier with 16 dependent multiplications between arrive and wait",
    operation: "one arrive and one wait with the multiplications between them; the baseline loop has only the multiplications",
    source: "PTX ISA, barrier.cluster.arrive.release or .relaxed, and barrier.cluster.wait.acquire",
    expected: |_| ExpectedInstructions::of(&["UCGABAR_WAIT"]).only_in_test(),
    // Only one piece of work fits between the halves.
    has_third_loop: false;

    /// In theory: the way to another multiprocessor and, if the result is used, the way back; some 200 cycles. In clusters of
    /// one block the addition stays in the multiprocessor.
    "gpu.cluster.dsmem_atomic" like CLUSTER: "Atomic addition to the shared memory of the next block in the cluster",
    operation: "one addition per thread",
    source: "CUDA C++ Programming Guide, Distributed Shared Memory; PTX ISA, mapa, atom and red on shared::cluster",
    facts: Facts {
        role: Role::Update,
        orders_memory: false,
        at_once: OperationsAtOnce::OfEach,
        ..FACTS.waiting(Waits::NoWait)
    },
    definitions: |case| {
        vec![format!("MODE={}", if case.mode == Some(Mode::Latency) { "LATENCY" } else { "THROUGHPUT" })]
    },
    expected: |_| ExpectedInstructions::of(&["ATOM.ADD"]),
    plan: ADDITIONS,
    kernel: Kernel::of("cluster_memory.cu", ArgumentKind::Variable);

    /// In theory: a barrier of the block, a fence before the arrivals as in `gpu.cluster.sync`, the way to the other
    /// multiprocessors, and the wait in the block's own shared memory.
    "gpu.cluster.mbarrier_remote" like CLUSTER:
    "Cluster barrier with one barrier object per block: each block arrives at every block's object but waits only on its own object",
    source: "PTX ISA, mapa and mbarrier.arrive.release.cluster.shared::cluster, mbarrier.try_wait.acquire.cluster",
    definitions: |_| Vec::new(),
    facts: FACTS.waiting(Waits::Spins),
    expected: |_| ExpectedInstructions::of(&["SYNCS.ARRIVE"]),
    kernel: Kernel::of("mbarrier_remote.cu", ArgumentKind::Register);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_whole_clusters() {
        for multiprocessors in [1, 6, 132] {
            let limits = DeviceLimits { multiprocessors, max_threads: 1024 };
            let cases = ENTRIES[0].planned(Preset::Paper, limits);
            assert!(cases.iter().all(|case| case.blocks.unwrap().is_multiple_of(size_of(case))));
        }
        let limits = DeviceLimits { multiprocessors: 132, max_threads: 1024 };
        let planned = ENTRIES[0].planned(Preset::Paper, limits);
        let sixteen = planned.iter().filter(|case| size_of(case) == 16);
        assert_eq!(sixteen.map(|case| case.blocks.unwrap()).max(), Some(128));
    }
}
