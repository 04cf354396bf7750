//! `cpu.lock.crossbeam_sharded_read`: crossbeam's sharded reader-writer lock, taken for reading.

use std::sync::PoisonError;

use crossbeam::sync::ShardedLock;
use syncscope_core::Primitive;

use super::readers::{self, SharedLock, SharedLockKind};
use crate::primitives::entry::Entry;
use crate::primitives::lock::{self, PlainNumber};

/// In theory: each thread takes one of eight locks of the standard library, on a line of its own. Up to eight readers
/// transfer no line, where a single lock transfers one for each of them.
pub(in crate::primitives::lock) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.lock.crossbeam_sharded_read",
        summary: "Crossbeam's sharded reader-writer lock, taken for reading by all threads: one of eight locks each",
        operation: readers::OPERATION,
        source: "crossbeam::sync::ShardedLock",
        facts: lock::READING,
    },
    lock::cases_of_one_type,
    |case| Some(readers::workload::<Kind>(case)?.expecting(lock::IN_A_LIBRARY)),
)
.beyond_quick();

struct Kind;

impl SharedLockKind for Kind {
    type Around<N: PlainNumber> = ShardedLock<N>;
}

impl<N: PlainNumber> SharedLock<N> for ShardedLock<N> {
    fn around(number: N) -> Self {
        Self::new(number)
    }

    #[inline(always)]
    fn read(&self, reader: impl FnOnce(N)) {
        // Acquire to take it: a writer's value would be visible. Release to give it back: a writer would wait for the
        // read.
        reader(*Self::read(self).unwrap_or_else(PoisonError::into_inner));
    }
}
