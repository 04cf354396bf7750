//! Hand-offs between two blocks of a grid or of a cluster, the building block of persistent kernels.

use super::prelude::*;

/// Without a group that says so, the two multiprocessors that take part differ between runs.
const FACTS: Facts = Facts {
    at_once: OperationsAtOnce::One,
    run_effect: |_| RunEffect::of_both(0.02),
    ..Facts::of(Role::BlockHandoff).waiting(Waits::Spins)
};

/// Both blocks are near the same half of the L2 cache, as are the words they poll.
const NEAR: &str = "near";
/// The blocks are near different halves, and each polls in its own.
const FAR: &str = "far";

/// A round trip takes a microsecond. Copies of it would not stay in the instruction cache next to the multiprocessor's parts.
const UNROLL_OF_TRIPS: u32 = 1;

/// In theory, twice: a store on its way to the L2 cache and, on average, one and a half reads of it by the waiting block. A
/// release waits until the data before it have arrived, another round trip; an acquire empties the L1 cache, so that the data
/// are read from the L2. A store that holds both data and flag needs neither.
const HANDOFF: Entry = Entry {
    operation: "one round trip: two blocks take turns, and each waits for its turn before it writes the next value; \
                the first block pauses, untimed, before each of its writes",
    definitions: |case| definitions(case, "RELEASE"),
    expected: |_| ExpectedInstructions::of(POLL).times(POLLS),
    plan: PLAN,
    limit: |case, _| (case.blocks < Some(2) || case.threads != Some(32)).then_some("two blocks of one warp take part"),
    method: Method::GridBarrier,
    unroll: |_| UNROLL_OF_TRIPS,
    ..Entry::of(Kernel::of("handoff.cu", ArgumentKind::GridBarrier), Proof::Trial, FACTS)
};

/// A read of a waiting thread.
const POLL: &[&str] = &["LDG.STRONG.GPU", "LD.STRONG.GPU"];

fn definitions(case: &Case, kind: &str) -> Vec<String> {
    let place = match case.group_word() {
        NEAR => "NEAR",
        FAR => "FAR",
        _ => "ANYWHERE",
    };
    let kind = if case.order == Some(MemoryOrder::Relaxed) { "RELAXED" } else { kind };
    vec![format!("KIND={kind}"), format!("PLACE={place}")]
}

/// The hand-offs that have a relaxed form.
const RELAXED_TOO: &[&str] = &["flag", "cluster"];

/// The first two blocks of a grid and, with one block per multiprocessor, two near and two far blocks.
const PLAN: &[PlanRow] = &[
    on(BEYOND_QUICK, Grids::Shapes(&[(Blocks::Of(2), 32)])).relaxed_too(RELAXED_TOO),
    on(BEYOND_QUICK, Grids::Shapes(&[(Blocks::Each(1), 32)]))
        .groups(&[(NEAR, &[]), (FAR, &[])])
        .except(|case, _| case.blocks == Some(1))
        .relaxed_too(RELAXED_TOO),
];

/// Two blocks of a single cluster.
const CLUSTER: Entry = Entry {
    operation: "one round trip: two blocks take turns, and each waits for its turn before it writes the next value into \
                the other's shared memory",
    definitions: |case| vec![definitions(case, "RELEASE").remove(0)],
    plan: &[on(BEYOND_QUICK, Grids::Clusters(&[2], &[32])).relaxed_too(RELAXED_TOO)],
    limit: |case, _| (case.blocks != Some(2)).then_some("two blocks of a cluster take part"),
    method: Method::Cluster,
    needs: (9, 0),
    kernel: Kernel::of("handoff_cluster.cu", ArgumentKind::Register),
    ..HANDOFF
};

entries! {
    "gpu.handoff.flag" like HANDOFF:
    "Two blocks pass data and a flag with st.release and ld.acquire; the relaxed form passes only the flag and \
     orders nothing",
    source: "PTX ISA, Memory Consistency Model, st.release and ld.acquire; CUDA C++ Programming Guide, Asynchronous SIMT";

    "gpu.handoff.fenced" like HANDOFF:
    "Two blocks pass data and a volatile flag, with __threadfence() before writing and after reading the flag",
    source: "CUDA C++ Programming Guide, Memory Fence Functions",
    definitions: |case| definitions(case, "FENCED"),
    // A volatile access has system scope.
    expected: |_| ExpectedInstructions::of(&["LDG.STRONG.SYS", "LDG.SYS"]).times(POLLS);

    "gpu.handoff.count" like HANDOFF: "Two blocks pass data and a count with red.release and ld.acquire",
    source: "PTX ISA, red.release and ld.acquire",
    definitions: |case| definitions(case, "ADDED");

    "gpu.handoff.packed" like HANDOFF: "Two blocks pass data and a flag in one 16-byte store, which needs no memory \
     ordering",
    source: "PTX ISA, st.relaxed.b128 and ld.relaxed.b128: one access, never torn",
    definitions: |case| definitions(case, "PACKED"),
    expected: |_| ExpectedInstructions::of(&["LDG.128.STRONG.GPU", "LD.128.STRONG.GPU"]).times(POLLS);

    /// In theory: a release per line; the receiver's reports overlap with it.
    "gpu.handoff.stream" like HANDOFF: "One block sends 128-byte lines to another through a ring buffer of eight lines",
    operation: "one 128-byte line: one block writes and publishes it with a release, the other acquires and reads it; the ring keeps eight lines in flight",
    source: "PTX ISA, st.release and ld.acquire; Lamport, Specifying Concurrent Program Modules, TOPLAS 1983",
    facts: Facts { role: Role::BlockStream, mode: Mode::Throughput, ..FACTS },
    definitions: |case| definitions(case, "STREAM"),
    // Each block contains the code of both sides.
    expected: |_| ExpectedInstructions::of(POLL).times(2 * POLLS);

    "gpu.handoff.cluster" like CLUSTER:
    "Two blocks of a cluster pass data and a flag through their shared memory; the relaxed form passes only the flag",
    source: "CUDA C++ Programming Guide, Distributed Shared Memory; PTX ISA, st.release.cluster.shared::cluster",
    // The flag, and the data behind it.
    expected: |case| ExpectedInstructions::of(&["LDS", "LD"]).times(if case.order.is_none() { 2 } else { 1 });

    "gpu.handoff.cluster_async" like CLUSTER:
    "Two blocks of a cluster pass data with st.async, which completes the phase of a barrier object in the receiver's shared memory",
    source: "PTX ISA, st.async and mbarrier.try_wait",
    definitions: |case| vec![definitions(case, "ASYNC").remove(0)],
    expected: |_| ExpectedInstructions::of(&["SYNCS.PHASECHK.TRANS64.TRYWAIT"]);
}
