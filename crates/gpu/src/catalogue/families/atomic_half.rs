//! Atomic additions of 16-bit floating-point numbers, one or two in a word.

use super::prelude::*;

const FACTS: Facts = Facts {
    orders_memory: false,
    mode: Mode::Throughput,
    actor: ActorRule::MedianUnlessWithin(0),
    run_effect: |_| RunEffect::of_both(0.01),
    ..Facts::of(Role::HalfUpdate)
};

/// In theory: the L2 cache executes the packed forms like other additions. The library asks for a result and names no memory
/// space, so a warp pays for ten PTX reductions (H200: 58 cycles, `red` 6). A single number has no instruction: a
/// compare-and-swap loop on the word around it is used, and the two lanes of a word contend.
const HALF: Entry = Entry {
    operation: "every thread adds 1 to the variable",
    source: "CUDA Math API, atomicAdd of __half and __nv_bfloat16; PTX ISA, atom.add.noftz",
    definitions: |case| vec![kind_of(case)],
    sampling: |_| SamplingPolicy::USUAL,
    unroll: |case| if case.layout == Some(Layout::Shared) { 1 } else { 8 },
    plan: &[on(BEYOND_QUICK, Grids::Few)
        .layouts(&[Layout::Shared, private(1)])
        .scopes(&[Scope::Device])
        .spaces(&[Space::Global])
        .orders(&[MemoryOrder::Relaxed])],
    ..Entry::of(Kernel::of("atomic_half.cu", ArgumentKind::Variable), Proof::Trial, FACTS)
};

/// Two numbers in a word.
const PACKED: ExpectedInstructions = ExpectedInstructions::of(&["ATOM.ADD", "ATOMG.ADD"]);

/// The loop used for a single number.
const LOOP: ExpectedInstructions = ExpectedInstructions::of(&["ATOMG.CAS", "ATOM.CAS"]);

entries! {
    "gpu.atomic.add_f16" like HALF: "Atomic half-precision addition, implemented as a compare-and-swap loop",
    expected: |_| LOOP;

    "gpu.atomic.add_f16x2" like HALF: "Atomic addition of two half-precision numbers packed in one word",
    expected: |_| PACKED;

    "gpu.atomic.add_bf16" like HALF: "Atomic bfloat16 addition, implemented as a compare-and-swap loop",
    expected: |_| LOOP,
    needs: (9, 0);

    "gpu.atomic.add_bf16x2" like HALF: "Atomic addition of two bfloat16 numbers packed in one word",
    expected: |_| PACKED,
    needs: (9, 0);
}
