//! `cpu.lock.std_mutex`: the mutex of Rust's standard library.

use std::sync::{Mutex, PoisonError};

use syncscope_core::Primitive;

use super::Entry;
use super::locks::{self, Lock};

/// In theory: a compare-and-swap to take it, an exchange to give it back, both on the lock's line, and two looks at
/// whether the thread is panicking (poisoning). Contended: some 100 spins, then a futex call for each sleeper.
pub(super) static ENTRY: Entry = Entry {
    primitive: Primitive {
        id: "cpu.lock.std_mutex",
        summary: "The standard library's mutex: a futex with poisoning",
        operation: "one addition to a counter under the lock by each thread",
        source: "Rust std::sync::Mutex",
    },
    cases: locks::cases,
    workload: locks::workload::<Mutex<u64>>,
};

impl Lock for Mutex<u64> {
    fn new() -> Self {
        Self::new(0)
    }

    #[inline(always)]
    fn with(&self, critical: impl FnOnce(&mut u64)) {
        // Acquire on taking it, release on giving it back: the counter needs no more.
        critical(&mut self.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
