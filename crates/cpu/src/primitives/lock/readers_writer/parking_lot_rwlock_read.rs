//! `cpu.lock.parking_lot_rwlock_read`: the reader-writer lock of the parking_lot library, taken for reading.

use parking_lot::RwLock;
use syncscope_core::Primitive;

use super::readers::{self, SharedLock, SharedLockKind};
use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::lock::{self, PlainNumber};

/// In theory: as the standard library's, a compare-and-swap adds a reader to a count on the lock's line and an atomic
/// addition subtracts it again. Readers that meet on the compare-and-swap try again, with growing pauses.
pub(in crate::primitives::lock) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.lock.parking_lot_rwlock_read",
        summary: "The reader-writer lock of parking_lot, taken for reading by all threads",
        operation: readers::OPERATION,
        source: "parking_lot::RwLock; run.json holds the library's version",
        facts: lock::READING,
    },
    lock::cases_of_one_type,
    |case| Some(readers::workload::<Kind>(case)?.expecting(Expected::once(&["lock xadd"]))),
)
.with_most_threads_in_quick();

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
        reader(*Self::read(self));
    }
}
