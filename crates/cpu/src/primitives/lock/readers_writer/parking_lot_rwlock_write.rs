//! `cpu.lock.parking_lot_rwlock_write`: the reader-writer lock of the parking_lot library, taken for writing.

use parking_lot::RwLock;
use syncscope_core::Primitive;

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::lock::{self, Lock, LockKind, PlainNumber};

/// In theory: a compare-and-swap to take it and one to give it back. Contended: some spins with growing pauses, then a hash
/// table of waiting threads, and the fairness of `parking_lot_mutex`: long samples for the same reason.
pub(in crate::primitives::lock) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.lock.parking_lot_rwlock_write",
        summary: "The reader-writer lock of parking_lot, taken for writing",
        operation: lock::OPERATION,
        source: "parking_lot::RwLock; run.json holds the library's version",
        facts: lock::WRITING,
    },
    lock::cases_of_one_type,
    |case| {
        let workload = lock::workload(case, &Kind)?.expecting(Expected::times(&["lock cmpxchg"], 2));
        Some(if case.threads == Some(1) { workload } else { workload.blocking() })
    },
)
.with_most_threads_in_quick();

struct Kind;

impl LockKind for Kind {
    type Around<N: PlainNumber> = RwLock<N>;

    fn make<N: PlainNumber>(&self, _threads: u32) -> RwLock<N> {
        RwLock::new(N::default())
    }
}

impl<N: PlainNumber> Lock<N> for RwLock<N> {
    type ThreadState = ();

    #[inline(always)]
    fn thread_state(&self, _thread: usize) {}

    #[inline(always)]
    fn with(&self, (): &mut (), critical: impl FnOnce(&mut N)) {
        // Acquire to take it, release to give it back: the counter needs no more.
        critical(&mut self.write());
    }
}
