//! `cpu.lock.crossbeam_sharded_write`: crossbeam's sharded reader-writer lock, taken for writing.

use std::sync::PoisonError;

use crossbeam::sync::ShardedLock;
use syncscope_core::Primitive;

use crate::primitives::entry::Entry;
use crate::primitives::lock::{self, Lock, LockKind, PlainNumber};

/// In theory: a writer takes all eight locks of the shards, one after the other, and gives them back in reverse order: eight
/// times what a single lock costs.
pub(in crate::primitives::lock) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.lock.crossbeam_sharded_write",
        summary: "Crossbeam's sharded reader-writer lock, taken for writing: all eight locks",
        operation: lock::OPERATION,
        source: "crossbeam::sync::ShardedLock",
        facts: lock::WRITING,
    },
    lock::cases_of_one_type,
    |case| {
        let workload = lock::workload(case, &Kind)?.expecting(lock::IN_A_LIBRARY);
        Some(if case.threads == Some(1) { workload } else { workload.blocking() })
    },
)
.beyond_quick();

struct Kind;

impl LockKind for Kind {
    type Around<N: PlainNumber> = ShardedLock<N>;

    fn make<N: PlainNumber>(&self, _threads: u32) -> ShardedLock<N> {
        ShardedLock::new(N::default())
    }
}

impl<N: PlainNumber> Lock<N> for ShardedLock<N> {
    type ThreadState = ();

    #[inline(always)]
    fn thread_state(&self, _thread: usize) {}

    #[inline(always)]
    fn with(&self, (): &mut (), critical: impl FnOnce(&mut N)) {
        // Acquire to take it, release to give it back: the counter needs no more.
        critical(&mut self.write().unwrap_or_else(PoisonError::into_inner));
    }
}
