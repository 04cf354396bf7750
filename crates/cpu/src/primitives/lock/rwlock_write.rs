//! `cpu.lock.rwlock_write`: the reader-writer lock of Rust's standard library, taken for writing.

use std::sync::{PoisonError, RwLock};

use syncscope_core::Primitive;

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::lock::{self, Counter, Lock, LockKind};

/// In theory: like the mutex, a compare-and-swap to take it and an atomic subtraction to give it back. Contended: some
/// spins, then a futex call for each sleeper.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.lock.rwlock_write",
        summary: "The standard library's reader-writer lock, taken for writing: a futex",
        operation: "one addition to a counter under the lock by each thread",
        source: "Rust std::sync::RwLock",
    },
    lock::cases,
    |case| Some(lock::workload(case, &Kind)?.expecting(Expected::once(&["lock cmpxchg"]))),
);

struct Kind;

impl LockKind for Kind {
    type Around<N: Counter> = RwLock<N>;

    fn make<N: Counter>(&self, _threads: u32) -> RwLock<N> {
        RwLock::new(N::default())
    }
}

impl<N: Counter> Lock<N> for RwLock<N> {
    type ThreadState = ();

    #[inline(always)]
    fn thread_state(&self, _thread: usize) {}

    #[inline(always)]
    fn with(&self, (): &mut (), critical: impl FnOnce(&mut N)) {
        // Acquire on taking it, release on giving it back: the counter needs no more.
        critical(&mut self.write().unwrap_or_else(PoisonError::into_inner));
    }
}
