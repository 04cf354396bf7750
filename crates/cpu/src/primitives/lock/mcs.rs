//! `cpu.lock.mcs`: a queue of waiting threads.

use syncscope_core::Primitive;

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::lock::{self, Raw};
use crate::primitives::wait::LIMIT;
use crate::sync::McsLock;

/// In theory: an atomic exchange to take the lock and a compare-and-swap to give it back. Contended: a constant number of
/// transfers for each holder, however many wait, because each waiter spins on a line of its own; in the order of arrival,
/// and as slow as a ticket lock with more threads than CPUs.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.lock.mcs",
        summary: "MCS queue lock: waiters spin on lines of their own, after a while they yield",
        operation: "one addition to a counter under the lock by each thread",
        source: "Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, algorithm 5",
    },
    lock::cases,
    // The compiler writes the compare-and-swap of the way back several times, one for each way that leads there.
    |case| {
        Some(lock::workload(case, &Raw(|threads| McsLock::new(threads, LIMIT)))?.expecting(Expected::once(&["xchg"])))
    },
);
