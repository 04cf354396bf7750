//! Barriers of a cluster of blocks, and atomic additions to the shared memory of another block of it.

use super::prelude::*;

const FACTS: Facts = Facts {
    run_effect: |_| RunEffect::of_both(0.002),
    at_once: OperationsAtOnce::OfBlocks(CLUSTER_OF),
    ..Facts::of(Role::ClusterBarrier).waiting(Waits::InHardware)
};

/// Some devices have clusters of more than 8 blocks; on others these cases are skipped.
const SIZES: [u32; 5] = [1, 2, 4, 8, 16];

/// The sweep for one cluster size: one cluster, and as many clusters as fill the multiprocessors.
fn sweep(id: &str, preset: Preset, limits: DeviceLimits, size: u32) -> Sweep {
    let filling = (limits.multiprocessors / size).max(1) * size;
    let blocks = if preset == Preset::Quick || filling == size { vec![size] } else { vec![size, filling] };
    let threads: &[u32] = match preset {
        Preset::Quick => &[32, 1024],
        Preset::Standard => &[32, 256, 1024],
        Preset::Paper => &DOUBLINGS,
    };
    Sweep::of(id).blocks(&blocks).threads(&limits.at_most(threads)).groups(&[Group::numbered(CLUSTER_OF, size)])
}

fn sizes(preset: Preset) -> &'static [u32] {
    if preset == Preset::Quick { &[8] } else { &SIZES }
}

/// Ordered barriers and relaxed ones; in quick plans `quick_relaxed` relaxed ones.
fn barriers(id: &str, preset: Preset, limits: DeviceLimits, quick_relaxed: usize) -> Vec<Case> {
    let ordered: Vec<Case> = sizes(preset).iter().flat_map(|size| sweep(id, preset, limits, *size).cases()).collect();
    let mut relaxed = relaxed(&ordered);
    if preset == Preset::Quick {
        relaxed.truncate(quick_relaxed);
    }
    [ordered, relaxed].concat()
}

fn additions(id: &str, preset: Preset, limits: DeviceLimits) -> Vec<Case> {
    let layouts = [Layout::Shared, Layout::Private { stride: 1 }];
    let of_size = |size: &u32| {
        let sweep = sweep(id, preset, limits, *size).dtypes(&[Dtype::U32]).layouts(&layouts).spaces(&[Space::Shared]);
        sweep.modes(&[Mode::Throughput, Mode::Latency]).cases()
    };
    sizes(preset).iter().flat_map(of_size).collect()
}

/// Blocks of a cluster in a case.
pub(crate) use super::group_size as size_of;

const CLUSTER: Entry = Entry {
    operation: "one barrier passed by all threads of the cluster",
    definitions: |case| in_order_of(case, vec![kind_of(case)]),
    method: Method::Cluster,
    needs: (9, 0),
    cases: |id, preset, limits| barriers(id, preset, limits, 0),
    ..Entry::of(Kernel::of("cluster.cu", ArgumentKind::Register), Proof::Trial, FACTS)
};

entries! {
    /// In theory: a signal to the unit that connects the multiprocessors of a cluster, and its answer. Before it, a fence makes
    /// earlier writes visible to the whole device (MEMBAR.ALL.GPU), although the cluster would be enough. A relaxed arrival has
    /// no fence; the wait still empties the first-level cache.
    "gpu.cluster.sync" like CLUSTER:
    "Barrier of all threads of a cluster of blocks; relaxed: it orders no writes, and its check tests arrivals alone",
    source: "CUDA C++ Programming Guide, Thread Block Clusters; PTX ISA, barrier.cluster",
    expected: |_| ExpectedInstructions::of(&["UCGABAR_WAIT"]),
    // The relaxed twin of the smallest shape.
    cases: |id, preset, limits| barriers(id, preset, limits, 1);

    /// In theory: the barrier minus the work between its halves. On an H200 the work hides almost nothing (316 of 322 cycles
    /// remain): the time is spent in the fence before the arrival, and no work can overlap with it.
    "gpu.cluster.arrive_wait" like CLUSTER:
    "Barrier of a cluster in two halves with 16 dependent multiplications between them",
    operation: "arriving before and waiting after the multiplications, which alone are the baseline",
    source: "PTX ISA, barrier.cluster.arrive.release or .relaxed, and barrier.cluster.wait.acquire",
    expected: |_| ExpectedInstructions::of(&["UCGABAR_WAIT"]).only_in_test(),
    // There is one piece of work between its halves.
    has_third_loop: false;

    /// In theory: the way to another multiprocessor and, if the result is used, the way back; some 200 cycles. In clusters of
    /// one block the addition stays in the multiprocessor.
    "gpu.cluster.dsmem_atomic" like CLUSTER: "Atomic addition to the shared memory of the next block of the cluster",
    operation: "one addition by every thread",
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
    cases: additions,
    kernel: Kernel::of("cluster_memory.cu", ArgumentKind::Variable);

    /// In theory: a barrier of the block, a fence before the arrivals as in `gpu.cluster.sync`, the way to the other
    /// multiprocessors, and the wait in the own shared memory.
    "gpu.cluster.mbarrier_remote" like CLUSTER:
    "Barrier of a cluster made of barrier objects: each block arrives at that of every block and waits at its own",
    source: "PTX ISA, mapa and mbarrier.arrive.release.cluster.shared::cluster, mbarrier.try_wait.acquire.cluster",
    definitions: |_| Vec::new(),
    facts: FACTS.waiting(Waits::Spins),
    expected: |_| ExpectedInstructions::of(&["SYNCS.ARRIVE"]),
    cases: |id, preset, limits| {
        let mut cases = barriers(id, preset, limits, 0);
        cases.retain(|case| case.order.is_none() && (preset != Preset::Quick || case.threads == Some(32)));
        cases
    },
    kernel: Kernel::of("mbarrier_remote.cu", ArgumentKind::Register);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_whole_clusters() {
        for multiprocessors in [1, 6, 132] {
            let limits = DeviceLimits { multiprocessors, max_threads: 1024 };
            let cases = barriers("gpu.cluster.sync", Preset::Paper, limits, 1);
            assert!(cases.iter().all(|case| case.blocks.unwrap().is_multiple_of(size_of(case))));
        }
        let limits = DeviceLimits { multiprocessors: 132, max_threads: 1024 };
        let sixteen =
            barriers("gpu.cluster.sync", Preset::Paper, limits, 1).into_iter().filter(|case| size_of(case) == 16);
        assert_eq!(sixteen.map(|case| case.blocks.unwrap()).max(), Some(128));
    }
}
