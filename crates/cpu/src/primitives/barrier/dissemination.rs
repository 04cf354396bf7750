//! `cpu.barrier.dissemination`: everybody tells somebody, log2(n) times.

use syncscope_core::Primitive;

use crate::evidence::Expected;
use crate::primitives::barrier::{self, Barrier};
use crate::primitives::{Entry, LIMIT, or_leave};
use crate::sync::DisseminationBarrier;

/// In theory: log2(n) rounds, rounded up, each one transfer of a line from one thread to another; all threads work in
/// every round, and no atomic read-modify-write is needed. The shortest critical path of all barriers here.
pub(super) static ENTRY: Entry = Entry {
    primitive: Primitive {
        id: "cpu.barrier.dissemination",
        summary: "Dissemination barrier: plain stores to one partner in each of log2(n) rounds, waiters spin, then yield",
        operation: "one barrier passed by all threads",
        source: "Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, algorithm 9",
    },
    cases: barrier::cases,
    workload: |case| {
        Some(
            barrier::workload(case, |threads| DisseminationBarrier::new(threads, LIMIT))?
                .expecting(Expected::Uncounted("a barrier of plain stores has no instruction of its own")),
        )
    },
};

impl Barrier for DisseminationBarrier {
    /// The thread's number.
    type Local = usize;

    fn join(&self, thread: usize) -> usize {
        thread
    }

    #[inline(always)]
    fn wait(&self, thread: &mut usize) {
        or_leave(DisseminationBarrier::wait(self, *thread));
    }
}
