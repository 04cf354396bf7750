//! `cpu.barrier.std`: the barrier of Rust's standard library.

use syncscope_core::Primitive;

use super::Entry;
use super::barriers::{self, Barrier};

/// In theory: a mutex and a condition variable, so one critical section after the other on arrival, then one system call
/// to wake the sleepers and, for each of them, the mutex again. Several microseconds, growing with the threads.
pub(super) static ENTRY: Entry = Entry {
    primitive: Primitive {
        id: "cpu.barrier.std",
        summary: "The standard library's barrier: a mutex and a condition variable, waiters sleep",
        operation: "one barrier passed by all threads",
        source: "Rust std::sync::Barrier",
    },
    cases: barriers::cases,
    workload: barriers::workload::<std::sync::Barrier>,
};

impl Barrier for std::sync::Barrier {
    type Local = ();

    fn new(threads: u32) -> Self {
        Self::new(threads as usize)
    }

    fn join(&self) {}

    #[inline(always)]
    fn wait(&self, (): &mut ()) {
        // The mutex inside orders what came before the barrier before what comes after it.
        std::sync::Barrier::wait(self);
    }
}
