//! Locks that one writer or many readers hold.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crossbeam::atomic::AtomicCell;
use crossbeam::epoch;
use crossbeam::sync::ShardedLock;

use crate::primitives::lock::{self, AtWork, Lock, LockKind, PlainNumber, library_lock};
use crate::primitives::prelude::*;
use crate::primitives::work::LockWork;

/// A lock that one writer or many readers hold, around a number.
trait SharedLock<N>: Send + Sync + 'static {
    /// Takes the lock for reading, gives `reader` the number, gives the lock back. The thread is counted from 0.
    fn read(&self, thread: usize, reader: impl FnOnce(N));

    /// What the threads do around it.
    fn work(&self) -> Option<&LockWork> {
        None
    }
}

/// A kind of such a lock, for any type of number.
trait SharedLockKind {
    /// The lock around a number.
    type Around<N: PlainNumber>: SharedLock<N>;

    /// A free lock.
    fn around<N: PlainNumber>(number: N) -> Self::Around<N>;
}

impl<N, L: SharedLock<N>> SharedLock<N> for AtWork<L> {
    #[inline(always)]
    fn read(&self, thread: usize, reader: impl FnOnce(N)) {
        self.work.outside[thread].run();
        self.lock.read(thread, |number| {
            reader(number);
            self.work.inside.run();
        });
    }

    fn work(&self) -> Option<&LockWork> {
        Some(&self.work)
    }
}

/// The loops of a kind of lock, taken for reading by all threads.
fn readers<K: SharedLockKind>(case: &Case, expected: Expected) -> Option<Workload> {
    let workload = match case.dtype? {
        Dtype::U64 => return readers_of_one_type::<K>(case, expected),
        Dtype::U32 => None,
        _ if case.has_work() => None,
        Dtype::I32 => Readers::<_, i32>::workload(case, K::around),
        Dtype::F32 => Readers::<_, f32>::workload(case, K::around),
        Dtype::F64 => Readers::<_, f64>::workload(case, K::around),
    };
    Some(workload?.expecting(expected))
}

/// The same for one type of the number.
fn readers_of_one_type<K: SharedLockKind>(case: &Case, expected: Expected) -> Option<Workload> {
    let workload = match LockWork::of(case, true).map(Arc::new) {
        _ if case.dtype? != Dtype::U64 => None,
        None => Readers::<_, u64>::workload(case, K::around),
        Some(work) => {
            let around = |number| AtWork { lock: K::around(number), work: Arc::clone(&work) };
            Some(Readers::<_, u64>::workload(case, around)?.at_work(&work))
        }
    };
    Some(workload?.expecting(expected))
}

/// A kind of lock in a library: the name of the kind, the lock, and how a reader comes to the number. What that gives holds the
/// lock until it is dropped.
macro_rules! shared_lock {
    ($kind:ident, $($lock:ident)::+, |$it:ident| $held:expr) => {
        struct $kind;

        impl SharedLockKind for $kind {
            type Around<N: PlainNumber> = $($lock)::+<N>;

            fn around<N: PlainNumber>(number: N) -> $($lock)::+<N> {
                <$($lock)::+<N>>::new(number)
            }
        }

        impl<N: PlainNumber> SharedLock<N> for $($lock)::+<N> {
            #[inline(always)]
            fn read(&self, _thread: usize, reader: impl FnOnce(N)) {
                // Acquire to take it: a writer's value would be visible. Release to give it back: a writer would wait for
                // the read.
                let $it = self;
                reader(*$held);
            }
        }
    };
}

/// A number one that all threads read.
struct Readers<L, N> {
    ones: Vec<CachePadded<L>>,
    /// Each thread's sum after the last shot of a slot, the threads of one slot after those of the slot before.
    sums: Vec<CachePadded<Mutex<N>>>,
    threads: usize,
}

impl<L: SharedLock<N>, N: PlainNumber> Readers<L, N> {
    fn workload(case: &Case, around: impl Fn(N) -> L) -> Option<Workload> {
        let threads = case.threads.filter(|_| case.layout == Some(Layout::Shared))?;
        let one = N::of(1);
        let operation = Self {
            ones: (0..SLOTS).map(|_| CachePadded::new(around(one))).collect(),
            sums: (0..SLOTS * threads as usize).map(|_| CachePadded::default()).collect(),
            threads: threads as usize,
        };
        // The limit counts for each thread, because every thread has a sum of its own.
        Some(Workload::contended(Arc::new(operation), case)?.with_most_operations(N::LARGEST_COUNT, 1))
    }

    fn sums_of(&self, slot: usize) -> &[CachePadded<Mutex<N>>] {
        &self.sums[slot * self.threads..][..self.threads]
    }
}

fn set_sum<N: PlainNumber>(sum: &Mutex<N>, value: N) {
    *sum.lock().unwrap_or_else(PoisonError::into_inner) = value;
}

/// A thread's sum, which is published at the end of the loop.
struct Reader<'a, L, N: PlainNumber> {
    one: &'a L,
    thread: usize,
    sum: N,
    published: &'a Mutex<N>,
}

impl<L, N: PlainNumber> Drop for Reader<'_, L, N> {
    fn drop(&mut self) {
        set_sum(self.published, self.sum);
    }
}

impl<L: SharedLock<N>, N: PlainNumber> Operation for Readers<L, N> {
    type Local<'a> = Reader<'a, L, N>;

    fn local(&self, slot: usize, thread: usize) -> Reader<'_, L, N> {
        Reader { one: &self.ones[slot], thread, sum: N::default(), published: &self.sums_of(slot)[thread] }
    }

    #[inline(always)]
    fn execute(reader: &mut Reader<'_, L, N>) {
        let sum = &mut reader.sum;
        reader.one.read(reader.thread, |one| *sum += one);
    }

    fn prepare(&self, slot: usize, thread: usize) {
        set_sum(&self.sums_of(slot)[thread], N::default());
        if let Some(work) = self.ones[slot].work() {
            work.prepare(thread);
        }
    }

    fn verify(&self, slot: usize, thread: usize, executed: Executed) -> Result<(), String> {
        self.ones[slot].work().map_or(Ok(()), |work| work.verify(thread, executed))?;
        let found = self.sums_of(slot)[thread].lock().unwrap_or_else(PoisonError::into_inner).count();
        let reads = executed.own;
        if found == N::after_additions(reads) {
            Ok(())
        } else {
            Err(format!("{reads} reads of the number 1 add up to {found}"))
        }
    }
}

/// In the order of the catalogue.
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

/// A subtraction that releases, of one reader.
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
    |case| readers::<RwlockRead>(case, LEFT_BY_A_SUBTRACTION),
);

shared_lock!(RwlockRead, RwLock, |lock| lock.read().unwrap_or_else(PoisonError::into_inner));

/// In theory: a compare-and-swap to take it, as the mutex, and an atomic subtraction to give it back. Contended: some
/// spins, then a futex call for each waiter.
static RWLOCK_WRITE: Entry = lock::writing(
    "cpu.lock.rwlock_write",
    "The standard library's reader-writer lock, taken for writing: a futex",
    "Rust std::sync::RwLock",
    lock::cases,
    |case| lock::workload(case, &RwlockWrite, Expected::once(&["lock cmpxchg"], &["casa", "outline casa", "ldaxr"])),
);

library_lock!(RwlockWrite, RwLock, |lock| lock.write().unwrap_or_else(PoisonError::into_inner));

/// In theory: as the standard library's, a compare-and-swap adds a reader to a count on the lock's line and an atomic
/// addition subtracts it again. Readers that meet on the compare-and-swap try again, with growing pauses.
static PARKING_LOT_RWLOCK_READ: Entry = lock::reading(
    "cpu.lock.parking_lot_rwlock_read",
    "The reader-writer lock of parking_lot, taken for reading by all threads",
    "parking_lot::RwLock; run.json holds the library's version",
    lock::cases_of_one_type,
    |case| readers_of_one_type::<ParkingLotRead>(case, LEFT_BY_A_SUBTRACTION),
)
.with_most_threads_in_quick();

shared_lock!(ParkingLotRead, parking_lot::RwLock, |lock| lock.read());

/// In theory: a compare-and-swap to take it and one to give it back. Contended: some spins with growing pauses, then a hash
/// table of waiting threads, and the fairness of `parking_lot_mutex`: long samples for the same reason.
static PARKING_LOT_RWLOCK_WRITE: Entry = lock::writing(
    "cpu.lock.parking_lot_rwlock_write",
    "The reader-writer lock of parking_lot, taken for writing",
    "parking_lot::RwLock; run.json holds the library's version",
    lock::cases_of_one_type,
    |case| Some(lock::workload_of_one_type(case, &ParkingLotWrite, TAKEN_AND_LEFT)?.blocking(case)),
)
.with_most_threads_in_quick();

library_lock!(ParkingLotWrite, parking_lot::RwLock, |lock| lock.write());

/// In theory: each thread takes one of eight locks of the standard library, on a line of its own. Up to eight readers
/// transfer no line, where a single lock transfers one for each of them.
static CROSSBEAM_SHARDED_READ: Entry = lock::reading(
    "cpu.lock.crossbeam_sharded_read",
    "Crossbeam's sharded reader-writer lock, taken for reading by all threads: one of eight locks each",
    "crossbeam::sync::ShardedLock",
    lock::cases_of_one_type,
    |case| readers_of_one_type::<ShardedRead>(case, lock::IN_A_LIBRARY),
)
.beyond_quick();

shared_lock!(ShardedRead, ShardedLock, |lock| lock.read().unwrap_or_else(PoisonError::into_inner));

/// In theory: a writer takes all eight locks of the shards, one after the other, and gives them back in reverse order: eight
/// times what a single lock costs.
static CROSSBEAM_SHARDED_WRITE: Entry = lock::writing(
    "cpu.lock.crossbeam_sharded_write",
    "Crossbeam's sharded reader-writer lock, taken for writing: all eight locks",
    "crossbeam::sync::ShardedLock",
    lock::cases_of_one_type,
    |case| Some(lock::workload_of_one_type(case, &ShardedWrite, lock::IN_A_LIBRARY)?.blocking(case)),
)
.beyond_quick();

library_lock!(ShardedWrite, ShardedLock, |lock| lock.write().unwrap_or_else(PoisonError::into_inner));

/// In theory: two loads of the sequence number around those of the value, and no store: readers share all lines. A reader that
/// meets a writer tries again, so that writers are never held up.
static SEQUENCE_READ: Entry = lock::reading(
    "cpu.lock.sequence_read",
    "A sequence lock around three words, read by all threads: crossbeam's AtomicCell",
    "crossbeam::atomic::AtomicCell; Lameter, Effective Synchronization on Linux/NUMA Systems, 2005",
    lock::cases_of_one_type,
    |case| readers_of_one_type::<SequenceRead>(case, lock::IN_A_LIBRARY),
)
.with_most_threads_in_quick();

struct SequenceRead;

impl SharedLockKind for SequenceRead {
    type Around<N: PlainNumber> = Sequence<N>;

    fn around<N: PlainNumber>(number: N) -> Sequence<N> {
        Sequence(AtomicCell::new([number; 3]))
    }
}

/// Three words: of one word, the library would make an atomic variable.
struct Sequence<N>(AtomicCell<[N; 3]>);

impl<N: PlainNumber> SharedLock<N> for Sequence<N> {
    #[inline(always)]
    fn read(&self, _thread: usize, reader: impl FnOnce(N)) {
        reader(self.0.load()[2]);
    }
}

/// In theory: a store of the epoch to the thread's own line and a full fence, then the load; a counter of nested pins and, once in
/// 128 pins, a look for garbage. No line is shared with other readers. What memory reclamation costs a reader.
static EPOCH_READ: Entry = lock::reading(
    "cpu.lock.epoch_read",
    "A read of a shared pointer under a pinned epoch of crossbeam, which stands for RCU",
    "crossbeam::epoch::pin; Fraser, Practical Lock-Freedom, 2004, 5.2.3",
    lock::cases_of_one_type,
    |case| readers_of_one_type::<EpochRead>(case, lock::IN_A_LIBRARY),
)
.waiting(Waits::NoWait)
.with_most_threads_in_quick();

struct EpochRead;

impl SharedLockKind for EpochRead {
    type Around<N: PlainNumber> = Protected<N>;

    fn around<N: PlainNumber>(number: N) -> Protected<N> {
        Protected(epoch::Atomic::new(number))
    }
}

/// A value that a writer would replace as a whole.
struct Protected<N>(epoch::Atomic<N>);

impl<N: PlainNumber> SharedLock<N> for Protected<N> {
    #[inline(always)]
    fn read(&self, _thread: usize, reader: impl FnOnce(N)) {
        let pin = epoch::pin();
        // Acquire: what a writer wrote before it published the pointer.
        let found = self.0.load(Ordering::Acquire, &pin);
        // SAFETY: the pointer is that of `around`, which no thread replaces before the drop.
        reader(unsafe { *found.deref() });
    }
}

impl<N> Drop for Protected<N> {
    fn drop(&mut self) {
        // SAFETY: nobody reads what is dropped, and this is its only owner.
        drop(unsafe { std::mem::take(&mut self.0).into_owned() });
    }
}
