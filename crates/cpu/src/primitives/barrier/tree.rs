//! `cpu.barrier.tree`: arrivals climb a tree, the wake-up descends another.

use syncscope_core::Primitive;

use crate::evidence::Expected;
use crate::primitives::barrier;
use crate::primitives::entry::Entry;
use crate::primitives::wait::LIMIT;
use crate::sync::TreeBarrier;

/// In theory: log4(n) transfers up, of which a parent collects four one after the other, and log2(n) transfers down: a
/// longer path than the dissemination barrier's, with 2n - 2 transfers in all where that one has n log2(n).
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.barrier.tree",
        summary: "Static tree barrier: arrival with four children, wake-up with two, waiters spin, then yield",
        operation: "one barrier passed by all threads",
        source: "Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, algorithm 11",
    },
    barrier::cases,
    |case| {
        Some(
            barrier::workload(case, |threads| TreeBarrier::new(threads, LIMIT))?
                .expecting(Expected::Uncounted("a barrier of plain stores has no instruction of its own")),
        )
    },
);
