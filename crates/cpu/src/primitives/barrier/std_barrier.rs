//! `cpu.barrier.std`: the barrier of Rust's standard library.

use syncscope_core::{Primitive, Waits};

use crate::evidence::Expected;
use crate::primitives::barrier;
use crate::primitives::entry::Entry;
use crate::sync::{Barrier, WaitTimeout};

/// In theory: a mutex and a condition variable. The threads arrive in one critical section after the other. One system
/// call wakes the waiters, and each of them takes the mutex again. Several microseconds, growing with the number of
/// threads.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.barrier.std",
        summary: "The standard library's barrier: a mutex and a condition variable, waiters block",
        operation: barrier::OPERATION,
        source: "Rust std::sync::Barrier",
        facts: barrier::FACTS.waiting(Waits::Sleeps),
    },
    barrier::cases,
    |case| {
        let workload = barrier::workload(case, |threads| std::sync::Barrier::new(threads as usize))?
            .expecting(Expected::Uncounted("the barrier is a library function, behind a call"));
        // A single thread never waits.
        Some(if case.threads > Some(1) { workload.long_blocking() } else { workload })
    },
);

impl Barrier for std::sync::Barrier {
    type Local = ();

    fn join(&self, _thread: usize) {}

    #[inline(always)]
    fn wait(&self, (): &mut ()) -> Result<(), WaitTimeout> {
        // Its mutex orders what happened before the barrier before what happens after it.
        std::sync::Barrier::wait(self);
        Ok(())
    }
}
