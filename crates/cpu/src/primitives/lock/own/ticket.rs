//! `cpu.lock.ticket`: first come, first served.

use syncscope_core::{Primitive, Waits};

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::lock::{self, Raw};
use crate::primitives::wait::LIMIT;
use crate::sync::TicketLock;

/// In theory: one atomic addition to take the lock, a plain store to give it back. Contended: each release causes a
/// line transfer for every waiter, but only one of them goes on, in the order of arrival. With more threads than CPUs
/// it is slow: while the next thread in the queue does not run, no thread gets the lock.
pub(in crate::primitives::lock) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.lock.ticket",
        summary: "Ticket lock: first come, first served, waiters spin, after a while they yield",
        operation: lock::OPERATION,
        source: "Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, algorithm 2 without its pause",
        facts: lock::FACTS.waiting(Waits::Spins),
    },
    lock::cases,
    |case| Some(lock::workload(case, &Raw(|_| TicketLock::new(LIMIT)))?.expecting(Expected::once(&["lock xadd"]))),
);
