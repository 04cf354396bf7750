//! Locks: a counter that only the holder may change.
//!
//! Start with the ticket lock in `own.rs`; its algorithm is `sync/locks/ticket.rs`. This file holds the loops and their
//! check. A lock is a [`LockKind`]: [`Raw`] makes one of a `sync::RawLock`, and `library_lock!` one of a library's.
//!
//! - `handovers.rs`: how often a lock passes to another thread. `own.rs`: locks written out in `sync/locks`. `library.rs`:
//!   mutexes of libraries. `readers_writer.rs`: locks that many readers may hold together. `roles.rs`: those locks, read and
//!   written at the same time.
//!
//! A new lock is a block in one of these files, and a name in its `ENTRIES`. An algorithm of our own comes first, in
//! `sync/locks`.

mod handovers;
pub(super) mod library;
pub(super) mod own;
pub(super) mod readers_writer;
pub(super) mod roles;

use std::ops::AddAssign;
use std::sync::Arc;

use crate::memory::Pages;
use crate::memory::inherited;
use crate::primitives::number::{Number, by_dtype};
use crate::primitives::prelude::*;
use crate::primitives::window::Windows;
use crate::primitives::work::{self, LockWork};
use crate::sync::{Guarded, RawLock, ThreadState};

use self::handovers::Handovers;
use self::readers_writer::Readers;

const FACTS: Facts = Facts { run_effect: facts::between_threads, can_have_work, ..Facts::of(Role::ThreadLock) };

/// Work changes the critical section, as the type of the counter does: each is varied alone.
fn can_have_work(case: &Case) -> bool {
    work::IS_POSSIBLE && case.form.is_none() && case.dtype == Some(Dtype::U64)
}

/// Locks that many readers share, in the standard library and others: waiters spin for a short time.
const READING: Facts = Facts { role: Role::ReadLock, ..FACTS.waiting(Waits::SpinsThenSleeps) };
const WRITING: Facts = Facts { role: Role::WriteLock, ..READING };

/// The operation whose cost is `ns`, for most locks.
const OPERATION: &str = "every thread adds to a counter under the lock";

kinds! {
    /// A lock whose waiters spin.
    spins: OPERATION, FACTS.waiting(Waits::Spins);
    /// A lock whose waiters sleep at once.
    sleeps: OPERATION, FACTS.waiting(Waits::Sleeps);
    /// A lock whose waiters spin for a time, then sleep.
    spins_then_sleeps: OPERATION, FACTS.waiting(Waits::SpinsThenSleeps);
    /// A lock of OpenMP, which each runtime implements in its own way.
    of_openmp: OPERATION, Facts { has_designs: true, ..FACTS.waiting(Waits::AsConfigured) };
    /// A lock that all threads take for reading.
    reading: "every thread adds the value read under the lock to a private sum", READING;
    /// A lock for readers that all threads take for writing.
    writing: OPERATION, WRITING;
}

/// A lock under study, with the number that it protects.
trait Lock: Send + Sync + 'static {
    /// The number.
    type Number: PlainNumber;

    /// What a thread needs to take the lock.
    type ThreadState;

    /// The state of a thread, counted from 0.
    fn thread_state(&self, thread: usize) -> Self::ThreadState;

    /// Takes the lock, lets `critical` change the number, gives the lock back. A lock that many may hold together gives a copy of
    /// the number.
    fn with(&self, state: &mut Self::ThreadState, critical: impl FnOnce(&mut Self::Number));

    /// The work of the threads inside and outside of the lock.
    fn work(&self) -> Option<&LockWork> {
        None
    }
}

/// A kind of lock, for any type of number.
trait LockKind {
    /// Whether all threads read what the lock protects, and change nothing.
    const READS: bool = false;

    /// The lock around a number.
    type Around<N: PlainNumber>: Lock<Number = N>;

    /// A free lock around `number`, for `threads` threads.
    fn make<N: PlainNumber>(&self, threads: u32, number: N) -> Self::Around<N>;
}

/// A number that is not atomic: the lock protects it.
trait PlainNumber: Number + Default + AddAssign {}

impl<N: Number + Default + AddAssign> PlainNumber for N {}

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let sweeps = axes.sweep(primitive).into_iter();
    sweeps.flat_map(|sweep| sweep.dtypes(&axes.lock_dtypes).layouts(&[Layout::Shared]).cases()).collect()
}

/// The cases of a lock for one type of the counter. The type changes the critical section, not the lock: the locks of the
/// published experiments show that for all types.
fn cases_of_one_type(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let mut cases = cases(primitive, axes);
    cases.retain(|case| case.dtype == Some(Dtype::U64));
    cases
}

/// A compare-and-swap that acquires and an exchange that releases.
pub(super) const SWAPPED_TWICE: Expected =
    Expected::times(2, &["lock cmpxchg", "xchg"], &["casa", "swpl", "outline casa", "outline swpl", "ldaxr", "ldxr"]);

/// Why instructions of a lock in a library are not counted.
pub(super) const IN_A_LIBRARY: Expected = Expected::Uncounted("the lock is taken by a call into a library");

/// The loops of a kind of lock.
fn workload<K: LockKind>(case: &Case, kind: &K, expected: Expected) -> Option<Workload> {
    workload_of_one_type(case, kind, expected).or_else(|| {
        let dtype = case.dtype.filter(|_| !case.has_work())?;
        by_dtype!(dtype, N => Some(loops::<K, N>(case, kind)?.expecting(expected)))
    })
}

/// The loops of a kind of lock, for one type of the number.
fn workload_of_one_type<K: LockKind>(case: &Case, kind: &K, expected: Expected) -> Option<Workload> {
    let workload = match LockWork::of(case, K::READS).map(Arc::new) {
        _ if case.dtype? != Dtype::U64 => None,
        None => loops::<K, u64>(case, kind),
        Some(work) => Some(loops::<_, u64>(case, &KindAtWork { kind, work: Arc::clone(&work) })?.at_work(&work)),
    };
    Some(workload?.expecting(expected))
}

/// A lock whose threads work while they hold it and before they take it.
struct AtWork<L> {
    lock: L,
    work: Arc<LockWork>,
}

impl<L: Lock> Lock for AtWork<L> {
    type Number = L::Number;
    /// The thread is counted from 0.
    type ThreadState = (L::ThreadState, usize);

    fn thread_state(&self, thread: usize) -> Self::ThreadState {
        (self.lock.thread_state(thread), thread)
    }

    #[inline(always)]
    fn with(&self, (state, thread): &mut Self::ThreadState, critical: impl FnOnce(&mut L::Number)) {
        self.work.outside[*thread].run();
        self.lock.with(state, |number| {
            critical(number);
            self.work.inside.run();
        });
    }

    fn work(&self) -> Option<&LockWork> {
        Some(&self.work)
    }
}

struct KindAtWork<'a, K> {
    kind: &'a K,
    work: Arc<LockWork>,
}

impl<K: LockKind> LockKind for KindAtWork<'_, K> {
    const READS: bool = K::READS;
    type Around<N: PlainNumber> = AtWork<K::Around<N>>;

    fn make<N: PlainNumber>(&self, threads: u32, number: N) -> AtWork<K::Around<N>> {
        AtWork { lock: self.kind.make(threads, number), work: Arc::clone(&self.work) }
    }
}

fn loops<K: LockKind, N: PlainNumber>(case: &Case, kind: &K) -> Option<Workload> {
    let threads = case.threads.filter(|_| case.layout == Some(Layout::Shared))?;
    let around = |number| Pages::filled(SLOTS, |_| CachePadded::new(kind.make(threads, N::of(number))));
    // No other loops are compiled for a kind that is read.
    if const { K::READS } {
        return Readers::workload(case, threads, around(1));
    }
    let operation = Arc::new(Locked { slots: around(0), threads });
    let workload = Workload::contended(Arc::clone(&operation), case)?;
    let handovers = Box::new(move |windows: &Windows, clock: &Clock| Handovers::run(&operation, windows, clock));
    Some(workload.with_most_operations(N::LARGEST_COUNT, threads).counting_handovers(handovers))
}

/// The loops of a lock whose threads belong to several processes.
pub(super) fn workload_between_processes<L: RawLock + BetweenProcesses>(
    case: &Case,
    make: fn() -> L,
) -> Option<Workload> {
    let threads = case.threads?;
    let slots = inherited::state(SLOTS, |_| CachePadded::new(Guarded::new(make(), 0_u64)))?;
    let operation = Arc::new(Locked { slots, threads });
    Some(Workload::contended(operation, case)?.with_most_operations(u64::MAX, threads).in_processes())
}

/// The locks of all slots, each around a counter.
struct Locked<L> {
    slots: Pages<CachePadded<L>>,
    threads: u32,
}

impl<L: Lock> Locked<L> {
    /// Lets one thread use the counter, outside the timed loops.
    fn with_counter(&self, slot: usize, thread: usize, critical: impl FnOnce(&mut L::Number)) {
        let (lock, mut state) = self.local(slot, thread);
        lock.with(&mut state, critical);
    }
}

impl<L: Lock> Operation for Locked<L> {
    type Local<'a> = (&'a L, L::ThreadState);

    fn local(&self, slot: usize, thread: usize) -> Self::Local<'_> {
        let lock = &*self.slots[slot];
        (lock, lock.thread_state(thread))
    }

    #[inline(always)]
    fn execute((lock, state): &mut Self::Local<'_>) {
        lock.with(state, |counter| *counter += Number::of(1));
    }

    fn prepare(&self, slot: usize, thread: usize) {
        if thread == 0 {
            self.with_counter(slot, thread, |counter| *counter = Number::of(0));
        }
        // Last: taking the lock above has done work, too.
        if let Some(work) = self.slots[slot].work() {
            work.prepare(thread);
        }
    }

    /// Two holders at the same time would lose additions.
    fn verify(&self, slot: usize, thread: usize, executed: Executed) -> Result<(), String> {
        self.slots[slot].work().map_or(Ok(()), |work| work.verify(thread, executed))?;
        if thread != 0 {
            return Ok(());
        }
        let (expected, mut found) = (L::Number::after_additions(executed.by_all(self.threads)), 0);
        self.with_counter(slot, 0, |counter| found = counter.count());
        if found == expected { Ok(()) } else { Err(format!("{expected} additions under the lock made {found}")) }
    }
}

/// A kind of lock in a library: the name of the kind, the lock around an `N`, the function that makes it, and how a thread comes
/// to the number. The guard that this gives holds the lock until it is dropped. A kind that all threads `read` gives a copy of
/// the number. The third form is for locks without such a guard: it says whether the lock is read, and how a thread changes the
/// number or its copy.
macro_rules! library_lock {
    ($kind:ident, $lock:ty, $new:expr, |$it:ident| $held:expr) => {
        library_lock!($kind, $lock, $new, false, |$it, critical| critical(&mut $held));
    };
    (read $kind:ident, $lock:ty, $new:expr, |$it:ident| $held:expr) => {
        library_lock!($kind, $lock, $new, true, |$it, critical| {
            // Held until the copy is used.
            let held = $held;
            critical(&mut { *held });
        });
    };
    ($kind:ident, $lock:ty, $new:expr, $reads:literal, |$it:ident, $critical:ident| $with:expr) => {
        struct $kind;

        impl LockKind for $kind {
            const READS: bool = $reads;
            type Around<N: PlainNumber> = $lock;

            fn make<N: PlainNumber>(&self, _threads: u32, number: N) -> $lock {
                $new(number)
            }
        }

        impl<N: PlainNumber> Lock for $lock {
            type Number = N;
            type ThreadState = ();

            #[inline(always)]
            fn thread_state(&self, _thread: usize) {}

            #[inline(always)]
            fn with(&self, (): &mut (), $critical: impl FnOnce(&mut N)) {
                // Acquire to take it, release to give it back: the number needs no more.
                let $it = self;
                $with;
            }
        }
    };
}
use library_lock;

/// Locks of `sync`, by a function that makes one for a number of threads.
struct Raw<F>(F);

impl<L: RawLock, F: Fn(u32) -> L> LockKind for Raw<F> {
    type Around<N: PlainNumber> = Guarded<L, N>;

    fn make<N: PlainNumber>(&self, threads: u32, number: N) -> Guarded<L, N> {
        Guarded::new(self.0(threads), number)
    }
}

impl<L: RawLock, N: PlainNumber> Lock for Guarded<L, N> {
    type Number = N;
    type ThreadState = ThreadState<L>;

    #[inline(always)]
    fn thread_state(&self, thread: usize) -> ThreadState<L> {
        // SAFETY: the threads of a team have different numbers, and each makes one state at a time: before the shot, in
        // it, after it. A team in which a lock timed out takes no more jobs.
        unsafe { Guarded::thread_state(self, thread) }
    }

    #[inline(always)]
    fn with(&self, state: &mut ThreadState<L>, critical: impl FnOnce(&mut N)) {
        or_unwind(Guarded::with(self, state, critical));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::{Executor, Team};
    use crate::timing::clock::Clock;
    use std::sync::Mutex;
    use std::time::Duration;
    use syncscope_core::{Shot, Side};

    /// A lock that is free between reading and writing.
    struct Leaky<N>(Mutex<N>);

    impl<N: PlainNumber> Lock for Leaky<N> {
        type Number = N;
        type ThreadState = ();
        fn thread_state(&self, _: usize) {}
        fn with(&self, (): &mut (), critical: impl FnOnce(&mut N)) {
            let mut counter = *self.0.lock().unwrap();
            critical(&mut counter);
            std::thread::yield_now();
            *self.0.lock().unwrap() = counter;
        }
    }

    struct LeakyKind;

    impl LockKind for LeakyKind {
        type Around<N: PlainNumber> = Leaky<N>;
        fn make<N: PlainNumber>(&self, _: u32, number: N) -> Leaky<N> {
            Leaky(Mutex::new(number))
        }
    }

    #[test]
    fn a_lock_that_does_not_exclude_is_a_defect() {
        let case = Case {
            dtype: Some(Dtype::F64),
            layout: Some(Layout::Shared),
            threads: Some(2),
            ..Case::new("cpu.lock.std_mutex")
        };
        let body = workload(&case, &LeakyKind, IN_A_LIBRARY).unwrap().body;
        let mut team = Team::assemble(&[None, None], &Clock::calibrate()).unwrap();
        // On a busy machine each iteration waits for a turn of the scheduler.
        let shot = Shot { side: Side::Test, iterations: 50, pair: 0 };
        let records = team.run(&body, &[shot], Duration::from_secs(60)).unwrap();
        assert!(records.iter().flatten().any(|record| record.defect.is_some()));
    }
}
