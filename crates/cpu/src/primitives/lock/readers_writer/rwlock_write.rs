//! `cpu.lock.rwlock_write`: the reader-writer lock of Rust's standard library, taken for writing.

use std::sync::{PoisonError, RwLock};

use syncscope_core::Primitive;

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::lock::{self, Lock, LockKind, PlainNumber};

/// In theory: a compare-and-swap to take it, as the mutex, and an atomic subtraction to give it back. Contended: some
/// spins, then a futex call for each waiter.
pub(in crate::primitives::lock) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.lock.rwlock_write",
        summary: "The standard library's reader-writer lock, taken for writing: a futex",
        operation: lock::OPERATION,
        source: "Rust std::sync::RwLock",
        facts: lock::WRITING,
    },
    lock::cases,
    |case| Some(lock::workload(case, &Kind)?.expecting(Expected::once(&["lock cmpxchg"]))),
);

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
        critical(&mut self.write().unwrap_or_else(PoisonError::into_inner));
    }
}
