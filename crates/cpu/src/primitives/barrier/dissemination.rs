//! `cpu.barrier.dissemination`: every thread signals another one, log2(n) times.

use syncscope_core::{Primitive, Waits};

use crate::evidence::Expected;
use crate::primitives::barrier;
use crate::primitives::entry::Entry;
use crate::primitives::wait::LIMIT;
use crate::sync::DisseminationBarrier;

/// In theory: log2(n) rounds, rounded up, each with one transfer of a line from one thread to another. All threads take
/// part in every round, without an atomic read-modify-write. The critical path is the shortest of all barriers here.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.barrier.dissemination",
        summary: "Dissemination barrier: plain stores to one partner in each of log2(n) rounds, waiters spin, then yield",
        operation: barrier::OPERATION,
        source: "Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, algorithm 9",
        facts: barrier::FACTS.waiting(Waits::Spins),
    },
    barrier::cases,
    |case| {
        Some(
            barrier::workload(case, |threads| DisseminationBarrier::new(threads, LIMIT))?
                .expecting(Expected::Uncounted("a barrier of plain stores has no instruction of its own")),
        )
    },
);
