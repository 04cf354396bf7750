//! `cpu.barrier.sense`: the central sense-reversing barrier.

use syncscope_core::{Primitive, Waits};

use crate::evidence::Expected;
use crate::primitives::barrier;
use crate::primitives::entry::Entry;
use crate::primitives::wait::LIMIT;
use crate::sync::SenseBarrier;

/// In theory: n atomic decrements of one line, one after the other, then n - 1 threads fetch one line. The cost is
/// linear in the number of threads. There is no system call as long as every thread has a CPU.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.barrier.sense",
        summary: "Central sense-reversing barrier: one atomic decrement, waiters spin, after a while they yield",
        operation: barrier::OPERATION,
        source: "Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, algorithm 7",
        facts: barrier::FACTS.waiting(Waits::Spins),
    },
    barrier::cases,
    |case| {
        Some(barrier::workload(case, |threads| SenseBarrier::new(threads, LIMIT))?.expecting(Expected::once(&[
            "lock dec",
            "lock sub",
            "lock xadd",
            "lock add",
        ])))
    },
);
