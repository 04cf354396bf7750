//! `cpu.lock.clh`: the queue lock of Craig, and of Landin and Hagersten.

use syncscope_core::{Primitive, Waits};

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::lock::{self, Raw};
use crate::primitives::wait::LIMIT;
use crate::sync::ClhLock;

/// In theory: an atomic exchange to take the lock and a plain store to give it back, which an MCS lock cannot do without
/// a compare-and-swap. Contended: each waiter spins on the node of the thread before it, so that a release transfers one
/// line to one waiter. Threads get the lock in the order of arrival.
pub(in crate::primitives::lock) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.lock.clh",
        summary: "CLH queue lock: waiters spin on the line of the thread before them, after a while they yield",
        operation: lock::OPERATION,
        source: "Craig, University of Washington TR 93-02-02, 1993; Magnusson, Landin and Hagersten, IPPS 1994; with a \
                 standard interface as in Scott, Shared-Memory Synchronization, 2013, 4.3.2",
        facts: lock::FACTS.waiting(Waits::Spins),
    },
    lock::cases_of_one_type,
    |case| {
        Some(lock::workload(case, &Raw(|threads| ClhLock::new(threads, LIMIT)))?.expecting(Expected::once(&["xchg"])))
    },
)
.with_most_threads_in_quick();
