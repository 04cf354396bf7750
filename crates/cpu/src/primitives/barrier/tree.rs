//! `cpu.barrier.tree`: threads arrive up one tree and wake each other down another.

use syncscope_core::{Primitive, Waits};

use crate::evidence::Expected;
use crate::primitives::barrier;
use crate::primitives::entry::Entry;
use crate::primitives::wait::LIMIT;
use crate::sync::TreeBarrier;

/// In theory: log4(n) levels up, where a parent collects four transfers one after the other, and log2(n) levels down.
/// The path is longer than that of the dissemination barrier, but there are 2n - 2 transfers instead of n log2(n).
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.barrier.tree",
        summary: "Static tree barrier: arrival with four children, wake-up with two, waiters spin, then yield",
        operation: barrier::OPERATION,
        source: "Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, algorithm 11",
        facts: barrier::FACTS.waiting(Waits::Spins),
    },
    barrier::cases,
    |case| {
        Some(
            barrier::workload(case, |threads| TreeBarrier::new(threads, LIMIT))?
                .expecting(Expected::Uncounted("a barrier of plain stores has no instruction of its own")),
        )
    },
);
