//! `cpu.barrier.sense`: the textbook's central barrier.

use std::time::Duration;

use syncscope_core::Primitive;

use super::Entry;
use super::barriers::{self, Barrier};
use crate::sense_barrier::{LocalSense, SenseBarrier};

/// In theory: n atomic decrements of one line, one after the other, then one line that n - 1 threads fetch. Linear in the
/// threads, and without any system call as long as every thread has a CPU.
pub(super) static ENTRY: Entry = Entry {
    primitive: Primitive {
        id: "cpu.barrier.sense",
        summary: "Central sense-reversing barrier: one atomic decrement, waiters spin, after a while they yield",
        operation: "one barrier passed by all threads",
        source: "Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, algorithm 7",
    },
    cases: barriers::cases,
    workload: barriers::workload::<SenseBarrier>,
};

/// How long a thread waits before it declares the barrier broken.
const LIMIT: Duration = Duration::from_secs(2);

impl Barrier for SenseBarrier {
    type Local = LocalSense;

    fn new(threads: u32) -> Self {
        Self::new(threads, LIMIT)
    }

    fn join(&self) -> LocalSense {
        Self::join(self)
    }

    #[inline(always)]
    fn wait(&self, local: &mut LocalSense) {
        if let Err(broken) = SenseBarrier::wait(self, local) {
            // Leaves the timed loop without a test in its path and without a message; the team reports it.
            std::panic::resume_unwind(Box::new(broken));
        }
    }
}
