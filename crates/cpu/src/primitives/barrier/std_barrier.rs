//! `cpu.barrier.std`: the barrier of Rust's standard library.

use syncscope_core::Primitive;

use crate::evidence::Expected;
use crate::primitives::barrier;
use crate::primitives::entry::Entry;
use crate::sync::{Barrier, WaitTimeout};

/// In theory: a mutex and a condition variable, so one critical section after the other on arrival, then one system call
/// to wake the sleepers and, for each of them, the mutex again. Several microseconds, growing with the threads.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.barrier.std",
        summary: "The standard library's barrier: a mutex and a condition variable, waiters sleep",
        operation: "one barrier passed by all threads",
        source: "Rust std::sync::Barrier",
    },
    barrier::cases,
    |case| {
        let workload = barrier::workload(case, |threads| std::sync::Barrier::new(threads as usize))?
            .expecting(Expected::Uncounted("the barrier is a library function, behind a call"));
        // One thread waits for nobody.
        Some(if case.threads > Some(1) { workload.long_blocking() } else { workload })
    },
);

impl Barrier for std::sync::Barrier {
    type Local = ();

    fn join(&self, _thread: usize) {}

    #[inline(always)]
    fn wait(&self, (): &mut ()) -> Result<(), WaitTimeout> {
        // The mutex inside orders what came before the barrier before what comes after it.
        std::sync::Barrier::wait(self);
        Ok(())
    }
}
