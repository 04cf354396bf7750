//! `cpu.lock.pthread_mutex`: the mutex of the C library.

use syncscope_core::Primitive;

use crate::primitives::entry::Entry;
use crate::primitives::lock::{self, Raw};
use crate::sync::PthreadMutex;

/// In theory: a call into the C library, a compare-and-swap to take the lock, an exchange to give it back. Contended:
/// there is no spinning, and every waiter costs a futex call to block and another one to be woken.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.lock.pthread_mutex",
        summary: "pthread_mutex_t of the default kind: a futex, waiters block at once",
        operation: lock::OPERATION,
        source: "POSIX.1-2017, pthread_mutex_lock; run.json holds the C library's version",
    },
    lock::cases,
    |case| Some(lock::workload(case, &Raw(|_| PthreadMutex::free()))?.expecting(lock::IN_A_LIBRARY)),
);
