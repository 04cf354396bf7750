//! Locks that some threads read and others write at the same time, by role: what a reader pays while others write, and a writer
//! while others read. The group is the role that is timed and how many threads have it; all others have the other role.
//!
//! The row is the mean of these threads; the rate of every thread and the tail of the timed ones are details. A role that starves
//! shows in both.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use crossbeam::sync::ShardedLock;
use syncscope_core::LockRole;

use crate::memory::Pages;
use crate::primitives::prelude::*;
use crate::sync::PthreadRwLock;

/// The entries, in the order of the catalogue.
pub(in crate::primitives) static ENTRIES: &[&Entry] = &[&STD, &PTHREAD, &PARKING_LOT, &CROSSBEAM_SHARDED];

/// A lock that one writer or many readers hold, around a count.
trait SharedLock: Default + Send + Sync + 'static {
    fn read(&self) -> u64;
    fn add_one(&self);
}

macro_rules! shared_lock {
    ($lock:ty, |$it:ident| $read:expr, $write:expr) => {
        impl SharedLock for $lock {
            #[inline(always)]
            fn read(&self) -> u64 {
                let $it = self;
                *$read
            }

            #[inline(always)]
            fn add_one(&self) {
                let $it = self;
                *$write += 1;
            }
        }
    };
}

const fn entry<L: SharedLock>(id: &'static str, summary: &'static str, source: &'static str) -> Entry {
    let facts = Facts {
        run_effect: facts::between_threads,
        at_once: OperationsAtOnce::OfGroup,
        ..Facts::of(Role::SharedLock).waiting(Waits::SpinsThenSleeps)
    };
    let operation = "every thread in the group column's role reads or adds once while threads in the other role run";
    Entry::of(Primitive { id, summary, operation, source, facts }, cases, workload::<L>).beyond_quick()
}

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let mut teams = vec![2, axes.cores.max(2)];
    teams.dedup();
    teams.retain(|threads| *threads <= axes.cpus);
    let teams = axes.in_usual_places(primitive, &teams).cases();
    teams.iter().flat_map(by_role).collect()
}

/// The cases of a team, one for each group of roles.
pub(in crate::primitives) fn by_role(case: &Case) -> impl Iterator<Item = Case> + use<> {
    let of = |case: &Case, group| Case { group: Some(group), ..case.clone() };
    let case = case.clone();
    LockRole::groups(case.threads.unwrap_or(1)).into_iter().map(move |group| of(&case, group))
}

/// In theory: a writer waits until all readers have left, and readers that come then wait behind it: the lock prefers writers.
static STD: Entry = entry::<RwLock<u64>>(
    "cpu.lock.shared_std",
    "The standard library's reader-writer lock, taken for reading by some threads and for writing by others",
    "Rust std::sync::RwLock",
);

shared_lock!(
    RwLock<u64>,
    |it| it.read().unwrap_or_else(PoisonError::into_inner),
    it.write().unwrap_or_else(PoisonError::into_inner)
);

/// In theory: readers enter as long as one of them is inside, so that a stream of readers starves writers.
static PTHREAD: Entry = entry::<PthreadRwLock>(
    "cpu.lock.shared_pthread",
    "pthread_rwlock_t with its default preference, taken for reading by some threads and for writing by others",
    "POSIX.1-2017, pthread_rwlock_rdlock; glibc prefers readers by default",
);

impl SharedLock for PthreadRwLock {
    #[inline(always)]
    fn read(&self) -> u64 {
        Self::read(self)
    }

    #[inline(always)]
    fn add_one(&self) {
        Self::add_one(self);
    }
}

/// In theory: as the standard library's, and a lock that is handed over about every half a millisecond.
static PARKING_LOT: Entry = entry::<parking_lot::RwLock<u64>>(
    "cpu.lock.shared_parking_lot",
    "parking_lot's reader-writer lock, taken for reading by some threads and for writing by others",
    "parking_lot::RwLock; run.json records the library's version",
);

shared_lock!(parking_lot::RwLock<u64>, |it| it.read(), it.write());

/// In theory: readers of different shards do not meet, and a writer takes all eight locks.
static CROSSBEAM_SHARDED: Entry = entry::<ShardedLock<u64>>(
    "cpu.lock.shared_crossbeam_sharded",
    "Crossbeam's sharded reader-writer lock, taken for reading by some threads and for writing by others",
    "crossbeam::sync::ShardedLock",
);

shared_lock!(
    ShardedLock<u64>,
    |it| it.read().unwrap_or_else(PoisonError::into_inner),
    it.write().unwrap_or_else(PoisonError::into_inner)
);

fn workload<L: SharedLock>(case: &Case) -> Option<Workload> {
    let (role, threads) = (LockRole::of(case)?, case.threads?);
    let locks = Pages::filled(SLOTS, |_| CachePadded::new(L::default()));
    let written = (0..threads).map(|_| CachePadded::default()).collect();
    let roles = Arc::new(Roles { locks, before: AtomicU64::new(0), written, role });
    Some(of_role(Workload::contended(Arc::clone(&roles), case)?, &roles, role))
}

/// Counts only the threads of `role`, which are the first of the team, and times their tail after the samples.
pub(in crate::primitives) fn of_role<O: Operation>(workload: Workload, operation: &Arc<O>, role: LockRole) -> Workload {
    let (operation, timed) = (Arc::clone(operation), role.threads as usize);
    let follow_up: MakeFollowUp = Box::new(move |clock| {
        Arc::new(Tail { operation: Arc::clone(&operation), timed, clock: clock.clone(), found: Mutex::default() })
    });
    let expected = Expected::Uncounted("readers and writers take different paths through one loop");
    Workload { timed: Some(timed), follow_up: Some(follow_up), ..workload.expecting(expected) }
}

/// Whether a thread writes, in a team whose first threads have the role.
pub(in crate::primitives) const fn writes(role: LockRole, thread: usize) -> bool {
    (thread < role.threads as usize) == role.writes
}

struct Roles<L> {
    locks: Pages<CachePadded<L>>,
    /// The count before the shot.
    before: AtomicU64,
    /// How often each thread added in the last shot, or [`WENT_BACK`].
    written: Vec<CachePadded<AtomicU64>>,
    role: LockRole,
}

/// The mark of a reader that found less than before.
const WENT_BACK: u64 = u64::MAX;

/// A thread in its role.
struct Thread<'a, L> {
    lock: &'a L,
    writes: bool,
    /// The last count that it has read, or how often it has added.
    count: u64,
    went_back: bool,
    written: &'a AtomicU64,
}

impl<L> Drop for Thread<'_, L> {
    fn drop(&mut self) {
        let written = if self.writes { self.count } else { 0 };
        // Relaxed: a barrier separates this and the loads.
        self.written.store(if self.went_back { WENT_BACK } else { written }, Ordering::Relaxed);
    }
}

impl<L: SharedLock> Operation for Roles<L> {
    type Local<'a> = Thread<'a, L>;

    fn local(&self, slot: usize, thread: usize) -> Thread<'_, L> {
        let (lock, writes) = (&*self.locks[slot], writes(self.role, thread));
        Thread { lock, writes, count: 0, went_back: false, written: &self.written[thread] }
    }

    #[inline(always)]
    fn execute(thread: &mut Thread<'_, L>) {
        if thread.writes {
            thread.lock.add_one();
            thread.count += 1;
        } else {
            let found = thread.lock.read();
            thread.went_back |= found < thread.count;
            thread.count = found;
        }
    }

    /// Only thread 0 prepares: it has verified the shot before.
    fn prepare(&self, slot: usize, thread: usize) {
        if thread == 0 {
            self.before.store(self.locks[slot].read(), Ordering::Relaxed);
        }
    }

    /// Two writers at the same time would lose additions, and a reader could see the count go back.
    fn verify(&self, slot: usize, thread: usize, _: Executed) -> Result<(), String> {
        if thread > 0 {
            return Ok(());
        }
        let written: Vec<u64> = self.written.iter().map(|written| written.load(Ordering::Relaxed)).collect();
        if written.contains(&WENT_BACK) {
            return Err("a reader found a smaller count than before".to_owned());
        }
        let expected: u64 = written.iter().sum();
        let found = self.locks[slot].read() - self.before.load(Ordering::Relaxed);
        if found == expected { Ok(()) } else { Err(format!("{expected} additions of the writers made {found}")) }
    }
}

/// How long operations are timed for the tail, and the most operations of a thread that are kept.
const TAIL: Duration = Duration::from_millis(20);
const MOST: usize = 1 << 14;

/// Times single operations of the timed role, while all threads operate.
struct Tail<O> {
    operation: Arc<O>,
    timed: usize,
    clock: Clock,
    found: Mutex<Vec<u64>>,
}

impl<O: Operation> Body for Tail<O> {
    fn prepare(&self, shot: &Shot, thread: usize) {
        self.operation.prepare(slot_of(shot.pair), thread);
    }

    fn run(&self, shot: &Shot, thread: usize) {
        let mut local = self.operation.local(slot_of(shot.pair), thread);
        let (mut found, started) = (Vec::with_capacity(MOST), Instant::now());
        while started.elapsed() < TAIL {
            let begin = self.clock.start();
            O::execute(&mut local);
            let ticks = self.clock.stop().saturating_sub(begin);
            if found.len() < MOST {
                found.push(ticks);
            }
        }
        if thread < self.timed {
            self.found.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
        }
    }

    fn verify(&self, shot: &Shot, thread: usize) -> Result<(), String> {
        self.operation.verify(slot_of(shot.pair), thread, Executed::by_each(0))
    }
}

impl<O: Operation> FollowUp for Tail<O> {
    fn details(&self) -> Vec<Detail> {
        let (found, cost) = (self.found.lock().unwrap_or_else(PoisonError::into_inner), self.clock.ruler().read_cost.0);
        let ns = |ticks: &u64| ticks.saturating_sub(cost) as f64 * self.clock.ns_per_tick();
        percentiles(&found.iter().map(ns).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::{Executor as _, Team};
    use syncscope_core::Side;

    /// A lock that lets in two writers at once.
    #[derive(Default)]
    struct Leaky(AtomicU64);

    impl SharedLock for Leaky {
        fn read(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }
        fn add_one(&self) {
            let found = self.read();
            std::thread::yield_now();
            self.0.store(found + 1, Ordering::Relaxed);
        }
    }

    fn workload_of<L: SharedLock>(group: Group, threads: u32) -> Option<Workload> {
        workload::<L>(&Case { threads: Some(threads), group: Some(group), ..Case::new(STD.primitive.id) })
    }

    fn defects<L: SharedLock>(group: &Group) -> usize {
        let workload = workload_of::<L>(group.clone(), 3).unwrap();
        let mut team = Team::assemble(&[None; 3], &Clock::calibrate()).unwrap();
        let shots = [0, 1].map(|pair| Shot { side: Side::Test, iterations: 4, pair });
        let records = team.run(&workload.body, &shots, Duration::from_secs(60)).unwrap();
        records.iter().flatten().filter(|record| record.defect.is_some()).count()
    }

    #[test]
    fn a_lock_that_lets_two_writers_in_is_a_defect() {
        for group in ["2 writers", "1 readers"].map(Group::of_word) {
            assert!(defects::<Leaky>(&group) > 0);
            assert_eq!(defects::<RwLock<u64>>(&group), 0);
            assert_eq!(defects::<PthreadRwLock>(&group), 0);
        }
    }

    #[test]
    fn the_timed_role_comes_first_and_leaves_threads_to_the_other() {
        let timed = |group, threads| workload_of::<RwLock<u64>>(group, threads).and_then(|workload| workload.timed);
        assert_eq!(timed(Group::of_word("3 readers"), 4), Some(3));
        assert_eq!(timed(Group::of_word("1 writers"), 4), Some(1));
        assert_eq!(timed(Group::of_word("4 readers"), 4), None, "nobody writes");
    }
}
