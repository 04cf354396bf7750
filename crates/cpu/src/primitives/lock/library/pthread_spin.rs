//! `cpu.lock.pthread_spin`: the spin lock of the C library.

use syncscope_core::{Primitive, Waits};

use crate::primitives::entry::Entry;
use crate::primitives::lock::{self, Raw};
use crate::sync::PthreadSpin;

/// In theory: two calls, one atomic read-modify-write to take the lock and a plain store to give it back: the fastest
/// lock here without contention. Contended: bursts of exclusive requests for one line, and no order among waiters.
pub(in crate::primitives::lock) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.lock.pthread_spin",
        summary: "pthread_spinlock_t: waiters spin and never yield",
        operation: lock::OPERATION,
        source: "POSIX.1-2017, pthread_spin_lock; run.json holds the C library's version",
        facts: lock::FACTS.waiting(Waits::Spins),
    },
    lock::cases,
    |case| Some(lock::workload(case, &Raw(|_| PthreadSpin::free()))?.expecting(lock::IN_A_LIBRARY)),
);
