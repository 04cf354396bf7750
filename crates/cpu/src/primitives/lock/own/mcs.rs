//! `cpu.lock.mcs`: the queue lock of Mellor-Crummey and Scott.

use syncscope_core::{Primitive, Waits};

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::lock::{self, Raw};
use crate::primitives::wait::LIMIT;
use crate::sync::McsLock;

/// In theory: an atomic exchange to take the lock and a compare-and-swap to give it back. Contended: a constant number
/// of line transfers for each holder, because each waiter spins on a line of its own. Threads get the lock in the order
/// of arrival, and with more threads than CPUs it is as slow as a ticket lock.
pub(in crate::primitives::lock) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.lock.mcs",
        summary: "MCS queue lock: waiters spin on lines of their own, after a while they yield",
        operation: lock::OPERATION,
        source: "Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, algorithm 5",
        facts: lock::FACTS.waiting(Waits::Spins),
    },
    lock::cases,
    // Not the compare-and-swap of the release: the compiler writes several copies of it.
    |case| {
        Some(lock::workload(case, &Raw(|threads| McsLock::new(threads, LIMIT)))?.expecting(Expected::once(&["xchg"])))
    },
);
