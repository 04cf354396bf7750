//! Barriers of a thread block.

use super::prelude::*;

const KERNEL: Kernel = Kernel::of("block.cu", ArgumentKind::Register);

const FACTS: Facts = Facts {
    run_effect: |_| REGISTERS,
    at_once: OperationsAtOnce::OfEachBlock(PARTS),
    ..Facts::of(Role::BlockBarrier).waiting(Waits::InHardware)
};

/// The group: this many parts of a block with a barrier each.
const PARTS: &str = "parts #";

const BARRIER: Entry = Entry::of(KERNEL, Proof::Trial, FACTS);

/// In theory: a barrier that also reduces. The result must be read from the barrier unit before the next barrier.
const REDUCING: Entry = Entry {
    operation: "one block-wide barrier whose predicate argument is the previous barrier's result",
    plan: &[on(EACH, Grids::Coarse).modes(&[Mode::Latency])],
    ..Entry::of(KERNEL, Proof::Trial, Facts { role: Role::BlockVote, ..FACTS })
};

/// The kernel of one barrier for the whole block.
fn whole_block(kind: &str) -> Vec<String> {
    vec![format!("KIND={kind}"), "GROUPS=1".to_owned(), "BARRIER_THREADS=1".to_owned()]
}

fn is_handover(case: &Case) -> bool {
    case.in_group(PRODUCER_CONSUMER)
}

/// The group in which some threads only arrive and others wait for them.
const PRODUCER_CONSUMER: &str = "producer_consumer";

/// Barriers count whole warps, and each role has one.
fn has_too_few_threads(case: &Case, _: DeviceLimits) -> bool {
    case.threads.unwrap_or(0) < if is_handover(case) { 64 } else { 32 * group_size(case) }
}

entries! {
    /// In theory: the barrier unit counts warps. One warp costs the latency of the instruction, and each further warp its turn
    /// at the unit. Blocks on one multiprocessor share the unit; blocks on other multiprocessors have no effect.
    "gpu.block.syncthreads" like BARRIER: "Block-wide barrier",
    operation: "one barrier across all threads of the block",
    source: "CUDA C++ Programming Guide, Synchronization Functions; PTX ISA, bar.sync",
    definitions: |_| whole_block("PLAIN"),
    expected: |_| ExpectedInstructions::of(&["BAR.SYNC"]),
    plan: &[on(EACH, Grids::Full), on(EACH, Grids::Doublings), on(PAPER, Grids::ActiveWarps)];

    "gpu.block.syncthreads_count" like REDUCING:
    "Block-wide barrier that counts the threads for which a condition holds",
    source: "CUDA C++ Programming Guide, __syncthreads_count; PTX ISA, bar.red.popc",
    definitions: |_| whole_block("COUNT"),
    expected: |_| ExpectedInstructions::of(&["BAR.RED.POPC"]);

    "gpu.block.syncthreads_and" like REDUCING:
    "Block-wide barrier that returns whether a condition holds for all threads",
    source: "CUDA C++ Programming Guide, __syncthreads_and; PTX ISA, bar.red.and",
    definitions: |_| whole_block("AND"),
    expected: |_| ExpectedInstructions::of(&["BAR.RED.AND"]);

    "gpu.block.syncthreads_or" like REDUCING:
    "Block-wide barrier that returns whether a condition holds for any thread",
    source: "CUDA C++ Programming Guide, __syncthreads_or; PTX ISA, bar.red.or",
    definitions: |_| whole_block("OR"),
    expected: |_| ExpectedInstructions::of(&["BAR.RED.OR"]);

    /// In theory: like `__syncthreads()` in a block as large as the part. The count of threads is a constant, as in programs;
    /// if it were in a register next to the number, three more instructions per operation would pack both.
    "gpu.block.named_barrier" like BARRIER:
    "Named barriers of a block that is split into parts with one barrier each, or into producers and consumers that \
     pass a buffer back and forth through two barriers",
    operation: "one barrier across all threads of one part of the block, or one buffer handed over and back",
    source: "PTX ISA, bar.sync and bar.arrive with a barrier number and a thread count",
    definitions: |case| {
        let kind = if is_handover(case) { "PRODUCER_CONSUMER" } else { "NAMED" };
        let (_, threads) = shape_of(case);
        let groups = if is_handover(case) { 1 } else { group_size(case) };
        let counted = threads / groups;
        // With several parts, the number is not a constant of the loop.
        vec![format!("KIND={kind}"), format!("GROUPS={}", groups.min(2)), format!("BARRIER_THREADS={counted}")]
    },
    // Each role has an arrival.
    expected: |case| {
        if is_handover(case) {
            ExpectedInstructions::of(&["BAR.ARV"]).times(2)
        } else {
            ExpectedInstructions::of(&["BAR.SYNC"])
        }
    },
    plan: &[
        on(QUICK, Grids::Coarse).groups(&[(PARTS, &[2])]).except(has_too_few_threads),
        on(BEYOND_QUICK, Grids::Coarse)
            .groups(&[(PARTS, &[1, 2, 4, 8]), (PRODUCER_CONSUMER, &[])])
            .except(has_too_few_threads),
    ];

    /// In theory: every thread arrives with an atomic operation on shared memory, so the cost grows with threads instead of
    /// warps. Each wait adds at least one round trip to shared memory, some 30 cycles. A wait that names its phase by the
    /// parity does not need the arrival's answer and does not wait for it.
    "gpu.block.mbarrier" like BARRIER:
    "Barrier object in shared memory at which all threads of a block arrive and wait",
    operation: "one phase: every thread of the block arrives and waits for the others",
    source: "PTX ISA, mbarrier; CUDA C++ Programming Guide, Asynchronous Barrier",
    facts: FACTS.waiting(Waits::Spins),
    definitions: |case| vec![format!("PARITY={}", u32::from(case.form == Some(Form::Parity)))],
    // Before compute capability 9.0 only the arrival has an instruction; the rest is software.
    expected: |_| ExpectedInstructions::of(&["SYNCS.ARRIVE", "ATOMS.ARRIVE"]),
    needs: (8, 0),
    plan: &[on(EACH, Grids::Full), on(EACH, Grids::Coarse).forms(&[Form::Parity])],
    kernel: Kernel::of("mbarrier.cu", ArgumentKind::Register);

    /// In theory: the latency of the copy engine, several hundred cycles from the L2 cache; it hides the arrivals of the
    /// threads.
    "gpu.block.mbarrier_transaction" like BARRIER:
    "Barrier object in shared memory whose phase also tracks the bytes of an asynchronous bulk copy",
    operation: "one phase: all threads arrive, thread 0 starts a 16-byte copy, and all wait",
    source: "PTX ISA, mbarrier.arrive.expect_tx and cp.async.bulk; CUDA C++ Programming Guide, Tensor Memory Accelerator",
    facts: Facts { role: Role::CopyBarrier, ..FACTS.waiting(Waits::Spins) },
    expected: |_| ExpectedInstructions::of(&["UBLKCP"]),
    needs: (9, 0),
    // Whole warps; in quick plans a single one.
    plan: &[
        on(QUICK, Grids::Coarse).except(|case, _| case.threads != Some(32)),
        on(BEYOND_QUICK, Grids::Coarse).except(|case, _| case.threads < Some(32)),
    ],
    kernel: Kernel::of("mbarrier_transaction.cu", ArgumentKind::Register);
}
