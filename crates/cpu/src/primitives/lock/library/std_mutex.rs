//! `cpu.lock.std_mutex`: the mutex of Rust's standard library.

use std::sync::{Mutex, PoisonError};

use syncscope_core::{Primitive, Waits};

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::lock::{self, Lock, LockKind, PlainNumber};

/// In theory: a compare-and-swap to take it, an exchange to give it back, both on the lock's line, and two checks
/// whether the thread is panicking (poisoning). Contended: some 100 spins, then a futex call for each waiter. It does not
/// use the C library's mutex and has no cheaper way in a process of one thread.
pub(in crate::primitives::lock) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.lock.std_mutex",
        summary: "The standard library's mutex: a futex with poisoning",
        operation: lock::OPERATION,
        source: "Rust std::sync::Mutex",
        facts: lock::FACTS.waiting(Waits::SpinsThenSleeps),
    },
    lock::cases,
    |case| Some(lock::workload(case, &Kind)?.expecting(Expected::times(&["lock cmpxchg", "xchg"], 2))),
);

struct Kind;

impl LockKind for Kind {
    type Around<N: PlainNumber> = Mutex<N>;

    fn make<N: PlainNumber>(&self, _threads: u32) -> Mutex<N> {
        Mutex::new(N::default())
    }
}

impl<N: PlainNumber> Lock<N> for Mutex<N> {
    type ThreadState = ();

    #[inline(always)]
    fn thread_state(&self, _thread: usize) {}

    #[inline(always)]
    fn with(&self, (): &mut (), critical: impl FnOnce(&mut N)) {
        // Acquire to take it, release to give it back: the counter needs no more.
        critical(&mut self.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
