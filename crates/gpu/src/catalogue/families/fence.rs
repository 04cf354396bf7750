//! Memory fences.

use super::prelude::*;

/// Costs differ between runs by the state of the memory, and more so where other devices and the CPU write.
const FACTS: Facts = Facts {
    mode: Mode::Throughput,
    actor: ActorRule::Median,
    run_effect: |_| RunEffect::of_both(0.01),
    ..Facts::of(Role::Fence)
};
const REACHING_THE_HOST: RunEffect = RunEffect::of_both(0.02);

/// The groups: no thread has written anything; one thread executes the fence for its block, between two block barriers.
const NOTHING: &str = "nothing_written";
const BY_ONE: &str = "by_one";
const CONTEXTS: &[(&str, &[u32])] = &[(NOTHING, &[]), (BY_ONE, &[])];

/// The fence's instructions; the baseline has them too if the loop contains nothing else.
fn expected(case: &Case, instructions: &'static [&'static str]) -> ExpectedInstructions {
    let expected = ExpectedInstructions::of(instructions);
    if case.in_group(NOTHING) { expected } else { expected.only_in_test() }
}

/// In theory: a fence waits until the thread's earlier writes are visible to all threads of its scope: for a block, in the
/// multiprocessor; for the device, in the L2 cache, and the L1 cache is invalidated; for the system, wherever the last write
/// goes. Invalidating the L1 cache drops the elements that ordinary updates read from it; volatile updates read from the L2
/// cache anyway.
const FENCE: Entry = Entry {
    operation: "one fence per thread between updates to two elements; the fence waits until the first update reaches \
                the L2 cache, then invalidates the L1 cache before the second update",
    unroll,
    arrays: 2,
    ..Entry::of(Kernel::of("fence.cu", ArgumentKind::Variable), Proof::Trial, FACTS)
};

/// A device-wide fence takes microseconds where many threads have written, and so do the updates around it.
fn unroll(case: &Case) -> u32 {
    let (blocks, threads) = shape_of(case);
    let is_full = blocks * threads >= 65_536;
    match (case.scope, is_full) {
        (Some(Scope::Block), false) => UNROLL,
        (Some(Scope::Block), true) | (_, false) => 8,
        (_, true) => 2,
    }
}

/// `reach`: whose ordinary accesses the fence orders, as the kernel names them.
fn definitions(case: &Case, function: &str, reach: &str) -> Vec<String> {
    let is_volatile = case.form == Some(Form::Volatile);
    let fenced_context = u32::from(case.form == Some(Form::Fenced));
    vec![
        value_of(case),
        format!("IS_ALONE={}", u32::from(case.in_group(NOTHING))),
        format!("BY_ONE={}", u32::from(case.in_group(BY_ONE))),
        format!("ELEMENT={}VALUE", if is_volatile { "volatile " } else { "" }),
        format!("FENCE={function}"),
        format!("REACH={reach}"),
        format!("FENCED_CONTEXT={fenced_context}"),
    ]
}

const TYPES: &[Dtype] = &[Dtype::I32, Dtype::U64, Dtype::F32, Dtype::F64];

/// Only the block fence is surrounded by other fences in the paper.
const fn plan(scope: &'static [Scope]) -> [PlanRow; 7] {
    const ONE: &[Layout] = &[private(1)];
    const TWO: &[Layout] = &[private(1), private(32)];
    const OTHERS: &[&str] = &["device", "system"];
    [
        on(QUICK, Grids::Coarse).dtypes(&[Dtype::I32]).layouts(ONE).scopes(scope),
        on(STANDARD, Grids::Coarse).dtypes(&[Dtype::I32, Dtype::F64]).layouts(TWO).scopes(scope),
        on(PAPER, Grids::CoarseOfStandard).only(&["block"]).dtypes(TYPES).layouts(AT_STRIDES).scopes(scope),
        on(PAPER, Grids::Coarse)
            .only(&["block"])
            .dtypes(TYPES)
            .layouts(AT_STRIDES)
            .scopes(scope)
            .forms(&[Form::Fenced]),
        on(PAPER, Grids::Coarse).only(OTHERS).dtypes(TYPES).layouts(AT_STRIDES).scopes(scope),
        on(BEYOND_QUICK, Grids::Few).dtypes(&[Dtype::I32]).layouts(ONE).scopes(scope).forms(&[Form::Volatile]),
        on(BEYOND_QUICK, Grids::Few).dtypes(&[Dtype::I32]).layouts(ONE).scopes(scope).groups(CONTEXTS),
    ]
}

entries! {
    "gpu.fence.block" like FENCE: "Fence that orders a thread's memory accesses as seen by its block",
    operation: "one fence per thread between updates to two elements; the fence waits until the first update is \
                visible to the whole block",
    source: "CUDA C++ Programming Guide, __threadfence_block; Burtchell and Burtscher, IISWC 2024",
    definitions: |case| definitions(case, "__threadfence_block", "BLOCK"),
    expected: |case| expected(case, &["MEMBAR.CTA"]),
    plan: &plan(&[Scope::Block]),
    sampling: |_| SamplingPolicy::LONG_SAMPLES;

    "gpu.fence.device" like FENCE: "Fence that orders a thread's memory accesses as seen by all threads of the device",
    source: "CUDA C++ Programming Guide, __threadfence; Burtchell and Burtscher, IISWC 2024",
    definitions: |case| definitions(case, "__threadfence", "DEVICE"),
    expected: |case| expected(case, &["MEMBAR.GPU"]),
    plan: &plan(&[Scope::Device]);

    "gpu.fence.system" like FENCE: "Fence that orders a thread's memory accesses as seen by all devices and the CPU",
    source: "CUDA C++ Programming Guide, __threadfence_system; Burtchell and Burtscher, IISWC 2024",
    facts: Facts { run_effect: |_| REACHING_THE_HOST, ..FACTS },
    definitions: |case| definitions(case, "__threadfence_system", "DEVICE"),
    expected: |case| expected(case, &["MEMBAR.SYS"]),
    plan: &plan(&[Scope::System]);

    /// In theory: the thread's accesses to memory, or only to shared memory, end before those of the units for asynchronous
    /// copies and matrices begin.
    "gpu.fence.proxy_async" like PROXY: "Proxy fence: orders a thread's generic-proxy and async-proxy accesses to the same memory",
    definitions: |case| definitions(case, "fence_proxy_async", "NOBODY");

    "gpu.fence.proxy_async_global" like PROXY: "Proxy fence: orders a thread's generic-proxy and async-proxy accesses to \
     global memory",
    definitions: |case| definitions(case, "fence_proxy_async_global", "NOBODY");

    "gpu.fence.proxy_async_shared" like PROXY: "Proxy fence: orders a thread's generic-proxy and async-proxy accesses to \
     its block's shared memory",
    definitions: |case| definitions(case, "fence_proxy_async_shared", "NOBODY");
}

/// A proxy fence does not order ordinary accesses with each other, so its check tests only the updates.
const PROXY: Entry = Entry {
    operation: "one fence per thread between updates to two elements",
    source: "PTX ISA, fence.proxy.async",
    facts: Facts { role: Role::ProxyFence, orders_memory: false, ..FACTS },
    expected: |case| expected(case, &["FENCE.VIEW.ASYNC"]),
    needs: (9, 0),
    plan: &[
        on(BEYOND_QUICK, Grids::Few).dtypes(&[Dtype::I32]).layouts(&[private(1)]),
        on(BEYOND_QUICK, Grids::Few).dtypes(&[Dtype::I32]).layouts(&[private(1)]).groups(&[(NOTHING, &[])]),
    ],
    ..FENCE
};
