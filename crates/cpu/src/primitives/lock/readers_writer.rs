//! Locks that one writer or many readers hold.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crossbeam::atomic::AtomicCell;
use crossbeam::epoch;
use crossbeam::sync::ShardedLock;

use crate::memory::Pages;
use crate::primitives::lock::{self, Lock, LockKind, PlainNumber, library_lock};
use crate::primitives::number::Number;
use crate::primitives::prelude::*;

/// A lock that all threads take for reading, though it has a writer's side, too.
struct Reading<L>(L);

fn reading<N, L: From<N>>(one: N) -> Reading<L> {
    Reading(L::from(one))
}

/// A lock around the number one in each slot, read by all threads.
pub(super) struct Readers<L: Lock> {
    ones: Pages<CachePadded<L>>,
    /// Each thread's sum after the last shot of a slot, the threads of one slot after those of the slot before.
    sums: Vec<CachePadded<Mutex<L::Number>>>,
    threads: usize,
}

impl<L: Lock> Readers<L> {
    pub(super) fn workload(case: &Case, threads: u32, ones: Pages<CachePadded<L>>) -> Option<Workload> {
        let sums = (0..SLOTS * threads as usize).map(|_| CachePadded::default()).collect();
        let operation = Self { ones, sums, threads: threads as usize };
        // The limit counts for each thread, because every thread has a sum of its own.
        Some(Workload::contended(Arc::new(operation), case)?.with_most_operations(L::Number::LARGEST_COUNT, 1))
    }

    fn sum(&self, slot: usize, thread: usize) -> &Mutex<L::Number> {
        &self.sums[slot * self.threads + thread]
    }
}

fn set_sum<N: PlainNumber>(sum: &Mutex<N>, value: N) {
    *sum.lock().unwrap_or_else(PoisonError::into_inner) = value;
}

/// A thread's sum, which is published at the end of the loop.
pub(super) struct Reader<'a, L: Lock> {
    one: &'a L,
    state: L::ThreadState,
    sum: L::Number,
    published: &'a Mutex<L::Number>,
}

impl<L: Lock> Drop for Reader<'_, L> {
    fn drop(&mut self) {
        set_sum(self.published, self.sum);
    }
}

impl<L: Lock> Operation for Readers<L> {
    type Local<'a> = Reader<'a, L>;

    fn local(&self, slot: usize, thread: usize) -> Reader<'_, L> {
        let one = &*self.ones[slot];
        Reader { one, state: one.thread_state(thread), sum: Number::of(0), published: self.sum(slot, thread) }
    }

    #[inline(always)]
    fn execute(Reader { one, state, sum, .. }: &mut Reader<'_, L>) {
        one.with(state, |one| *sum += *one);
    }

    fn prepare(&self, slot: usize, thread: usize) {
        set_sum(self.sum(slot, thread), Number::of(0));
        if let Some(work) = self.ones[slot].work() {
            work.prepare(thread);
        }
    }

    fn verify(&self, slot: usize, thread: usize, executed: Executed) -> Result<(), String> {
        self.ones[slot].work().map_or(Ok(()), |work| work.verify(thread, executed))?;
        let found = self.sum(slot, thread).lock().unwrap_or_else(PoisonError::into_inner).count();
        let reads = executed.own;
        if found == L::Number::after_additions(reads) {
            Ok(())
        } else {
            Err(format!("{reads} reads of the number 1 add up to {found}"))
        }
    }
}

/// The entries, in the order of the catalogue.
pub(in crate::primitives) static ENTRIES: &[&Entry] = &[
    &RWLOCK_READ,
    &RWLOCK_WRITE,
    &PARKING_LOT_RWLOCK_READ,
    &PARKING_LOT_RWLOCK_WRITE,
    &CROSSBEAM_SHARDED_READ,
    &CROSSBEAM_SHARDED_WRITE,
    &SEQUENCE_READ,
    &EPOCH_READ,
];

/// The releasing subtraction by which a reader leaves.
const LEFT_BY_A_SUBTRACTION: Expected = Expected::once(&["lock xadd"], &["ldaddl", "outline ldaddl", "stlxr"]);
const TAKEN_AND_LEFT: Expected =
    Expected::times(2, &["lock cmpxchg"], &["casa", "casl", "outline casa", "outline casl", "ldaxr", "ldxr"]);

/// In theory: readers do not exclude each other, but each of them adds itself to a count on the lock's line and
/// subtracts itself again. These two atomic operations transfer the line, so that many readers scale no better than an
/// atomic counter.
static RWLOCK_READ: Entry = lock::reading(
    "cpu.lock.rwlock_read",
    "The standard library's reader-writer lock, taken for reading by all threads",
    "Rust std::sync::RwLock",
    lock::cases,
    |case| lock::workload(case, &RwlockRead, LEFT_BY_A_SUBTRACTION),
);

library_lock!(read RwlockRead, Reading<RwLock<N>>, reading, |lock| lock.0.read().unwrap_or_else(PoisonError::into_inner));

/// In theory: a compare-and-swap to take it, as the mutex, and an atomic subtraction to give it back. Contended: some
/// spins, then a futex call for each waiter.
static RWLOCK_WRITE: Entry = lock::writing(
    "cpu.lock.rwlock_write",
    "The standard library's reader-writer lock (a futex), taken for writing",
    "Rust std::sync::RwLock",
    lock::cases,
    |case| lock::workload(case, &RwlockWrite, Expected::once(&["lock cmpxchg"], &["casa", "outline casa", "ldaxr"])),
);

library_lock!(RwlockWrite, RwLock<N>, RwLock::new, |lock| lock.write().unwrap_or_else(PoisonError::into_inner));

/// In theory: as the standard library's, a compare-and-swap adds a reader to a count on the lock's line and an atomic
/// addition subtracts it again. Readers that meet on the compare-and-swap try again, with growing pauses.
static PARKING_LOT_RWLOCK_READ: Entry = lock::reading(
    "cpu.lock.parking_lot_rwlock_read",
    "parking_lot's reader-writer lock, taken for reading by all threads",
    "parking_lot::RwLock; run.json records the library's version",
    lock::cases_of_one_type,
    |case| lock::workload_of_one_type(case, &ParkingLotRead, LEFT_BY_A_SUBTRACTION),
)
.with_most_threads_in_quick();

library_lock!(read ParkingLotRead, Reading<parking_lot::RwLock<N>>, reading, |lock| lock.0.read());

/// In theory: a compare-and-swap to take it and one to give it back. Contended: some spins with growing pauses, then a hash
/// table of waiting threads, and the fairness of `parking_lot_mutex`: long samples for the same reason.
static PARKING_LOT_RWLOCK_WRITE: Entry = lock::writing(
    "cpu.lock.parking_lot_rwlock_write",
    "parking_lot's reader-writer lock, taken for writing",
    "parking_lot::RwLock; run.json records the library's version",
    lock::cases_of_one_type,
    |case| Some(lock::workload_of_one_type(case, &ParkingLotWrite, TAKEN_AND_LEFT)?.blocking(case)),
)
.with_most_threads_in_quick();

library_lock!(ParkingLotWrite, parking_lot::RwLock<N>, parking_lot::RwLock::new, |lock| lock.write());

/// In theory: each thread takes one of eight locks of the standard library, on a line of its own. Up to eight readers
/// transfer no line, where a single lock transfers one for each of them.
static CROSSBEAM_SHARDED_READ: Entry = lock::reading(
    "cpu.lock.crossbeam_sharded_read",
    "Crossbeam's sharded reader-writer lock, taken for reading by all threads: each locks one of eight shards",
    "crossbeam::sync::ShardedLock",
    lock::cases_of_one_type,
    |case| lock::workload_of_one_type(case, &ShardedRead, lock::IN_A_LIBRARY),
)
.beyond_quick();

library_lock!(read ShardedRead, Reading<ShardedLock<N>>, reading, |lock| {
    lock.0.read().unwrap_or_else(PoisonError::into_inner)
});

/// In theory: a writer takes all eight locks of the shards, one after the other, and gives them back in reverse order: eight
/// times what a single lock costs.
static CROSSBEAM_SHARDED_WRITE: Entry = lock::writing(
    "cpu.lock.crossbeam_sharded_write",
    "Crossbeam's sharded reader-writer lock, taken for writing, which locks all eight shards",
    "crossbeam::sync::ShardedLock",
    lock::cases_of_one_type,
    |case| Some(lock::workload_of_one_type(case, &ShardedWrite, lock::IN_A_LIBRARY)?.blocking(case)),
)
.beyond_quick();

library_lock!(ShardedWrite, ShardedLock<N>, ShardedLock::new, |it| it.write().unwrap_or_else(PoisonError::into_inner));

/// In theory: two loads of the sequence number around those of the value, and no store: readers share all lines. A reader that
/// meets a writer tries again, so that writers are never held up.
static SEQUENCE_READ: Entry = lock::reading(
    "cpu.lock.sequence_read",
    "Sequence lock (crossbeam's AtomicCell) around three words, read by all threads",
    "crossbeam::atomic::AtomicCell; Lameter, Effective Synchronization on Linux/NUMA Systems, 2005",
    lock::cases_of_one_type,
    |case| lock::workload_of_one_type(case, &SequenceRead, lock::IN_A_LIBRARY),
)
.with_most_threads_in_quick();

library_lock!(SequenceRead, Sequence<N>, |one| Sequence(AtomicCell::new([one; 3])), true, |lock, critical| {
    critical(&mut lock.0.load()[2]);
});

/// Three words: for one word, the library would use an atomic variable.
struct Sequence<N>(AtomicCell<[N; 3]>);

/// In theory: a store of the epoch to the thread's own line and a full fence, then the load; a counter of nested pins and, once
/// in 128 pins, a look for garbage. No line is shared with other readers. This is what memory reclamation costs a reader.
static EPOCH_READ: Entry = lock::reading(
    "cpu.lock.epoch_read",
    "A read through a shared pointer while the thread is pinned in a crossbeam epoch; it stands in for an RCU read",
    "crossbeam::epoch::pin; Fraser, Practical Lock-Freedom, 2004, 5.2.3",
    lock::cases_of_one_type,
    |case| lock::workload_of_one_type(case, &EpochRead, lock::IN_A_LIBRARY),
)
.waiting(Waits::NoWait)
.with_most_threads_in_quick();

library_lock!(EpochRead, Protected<N>, |one| Protected(epoch::Atomic::new(one)), true, |lock, critical| {
    let pin = epoch::pin();
    // Acquire: what a writer wrote before it published the pointer.
    let found = lock.0.load(Ordering::Acquire, &pin);
    // SAFETY: the pointer is the first one, which no thread replaces before the drop.
    critical(&mut { unsafe { *found.deref() } });
});

/// A value that a writer would replace as a whole.
struct Protected<N>(epoch::Atomic<N>);

impl<N> Drop for Protected<N> {
    fn drop(&mut self) {
        // SAFETY: nobody reads what is dropped, and this is its only owner.
        drop(unsafe { std::mem::take(&mut self.0).into_owned() });
    }
}
