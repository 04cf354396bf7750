//! Locks in global memory.

use super::prelude::*;

/// One thread of each warp takes part.
const FACTS: Facts = Facts {
    at_once: OperationsAtOnce::OfOneIn(32),
    run_effect: |_| RunEffect::of_both(0.01),
    is_algorithm: true,
    ..Facts::of(Role::GpuLock).waiting(Waits::Spins)
};

/// In theory: an uncontended critical section is one atomic operation, the accesses of the section and a release: three trips
/// to the L2 cache. With n warps, each waits for n - 1 others, and spinning warps make every trip longer.
const LOCK: Entry = Entry {
    operation: "one addition under the lock by one thread per warp",
    definitions: |case| vec![kind_of(case)],
    sampling: |case| if case.blocks > Some(1) { SamplingPolicy::USUAL } else { SamplingPolicy::SEVERAL_OFFSETS },
    // With n warps one operation takes n times as long.
    unroll: |case| if case.blocks > Some(1) || case.threads > Some(128) { 1 } else { 8 },
    plan: &[
        on(QUICK, Grids::Threads(&[32])).scopes(&[Scope::Device]).except(has_too_many_warps),
        on(BEYOND_QUICK, Grids::Threads(&DOUBLINGS)).scopes(&[Scope::Device]).except(has_too_many_warps),
    ],
    limit: |case, limits| {
        has_too_many_warps(case, limits)
            .then_some("every warp waits for every other: more than one per multiprocessor takes minutes")
    },
    ..Entry::of(Kernel::of("lock.cu", ArgumentKind::Variable), Proof::Sum, FACTS)
};

/// Every warp waits for every other warp a thousand times: more warps would take minutes.
fn has_too_many_warps(case: &Case, limits: DeviceLimits) -> bool {
    let (blocks, threads) = shape_of(case);
    u64::from(blocks) * u64::from(threads / 32) > u64::from(limits.multiprocessors.max(32))
}

entries! {
    "gpu.lock.spin_cas" like LOCK: "Spinlock taken by compare-and-swap",
    source: "CUDA C++ Programming Guide, atomicCAS; PTX ISA, atom.acquire.cas and st.release",
    expected: |_| ExpectedInstructions::of(&["ATOMG.CAS", "ATOM.CAS"]);

    "gpu.lock.spin_exchange" like LOCK: "Spinlock taken by exchange",
    source: "CUDA C++ Programming Guide, atomicExch; PTX ISA, atom.acquire.exch and st.release",
    expected: |_| ExpectedInstructions::of(&["ATOMG.EXCH", "ATOM.EXCH"]);

    /// In theory: one atomic operation for each critical section, whatever the contention; waiting threads only read. The lock
    /// is fair: threads get it in the order of their tickets.
    "gpu.lock.ticket" like LOCK: "Ticket lock: first come, first served",
    source: "Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, ticket lock",
    expected: |_| ExpectedInstructions::of(&["ATOMG.ADD", "ATOM.ADD"]);
}
