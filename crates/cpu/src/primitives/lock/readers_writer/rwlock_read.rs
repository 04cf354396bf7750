//! `cpu.lock.rwlock_read`: the reader-writer lock of Rust's standard library, taken for reading.

use std::sync::{PoisonError, RwLock};

use syncscope_core::Primitive;

use super::readers::{self, SharedLock, SharedLockKind};
use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::lock::{self, PlainNumber};

/// In theory: readers do not exclude each other, but each of them adds itself to a count on the lock's line and
/// subtracts itself again. These two atomic operations transfer the line, so that many readers scale no better than an
/// atomic counter.
pub(in crate::primitives::lock) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.lock.rwlock_read",
        summary: "The standard library's reader-writer lock, taken for reading by all threads",
        operation: readers::OPERATION,
        source: "Rust std::sync::RwLock",
        facts: lock::READING,
    },
    lock::cases,
    |case| Some(readers::workload::<Kind>(case)?.expecting(Expected::once(&["lock xadd"]))),
);

struct Kind;

impl SharedLockKind for Kind {
    type Around<N: PlainNumber> = RwLock<N>;
}

impl<N: PlainNumber> SharedLock<N> for RwLock<N> {
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
