//! Barriers of libraries and runtimes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crossbeam::sync::WaitGroup;

use crate::primitives::barrier;
use crate::primitives::prelude::*;
use crate::sync::{Barrier, PthreadBarrier};
use crate::team::openmp::{self, Runtime};

/// The entries, in the order of the catalogue.
pub(in crate::primitives) static ENTRIES: &[&Entry] = &[&STD, &PTHREAD, &WAIT_GROUP, &OPENMP];

/// In theory: a mutex and a condition variable. The threads arrive in one critical section after the other. One system
/// call wakes the waiters, and each of them takes the mutex again. Several microseconds, growing with the number of
/// threads.
static STD: Entry = barrier::sleeps(
    "cpu.barrier.std",
    "The standard library's barrier: a mutex and a condition variable; waiters block",
    "Rust std::sync::Barrier",
    of_teams,
    |case| {
        Some(
            barrier::workload(case, |threads| std::sync::Barrier::new(threads as usize), barrier::IN_A_LIBRARY)?
                .long_blocking(case),
        )
    },
);

impl Barrier for std::sync::Barrier {
    type Local = ();

    fn join(&self, _thread: usize) {}

    #[inline(always)]
    fn wait(&self, (): &mut ()) -> Result<(), WaitTimeout> {
        // Its mutex orders what happened before the barrier before what happens after it.
        std::sync::Barrier::wait(self);
        Ok(())
    }
}

/// In theory: an atomic addition and a futex call of each waiter to sleep, one call of the last thread to wake all. Each
/// thread that leaves counts itself out, so that the barrier may be destroyed: one more change of the line.
static PTHREAD: Entry = barrier::sleeps(
    "cpu.barrier.pthread",
    "pthread_barrier_t: waiters block without spinning",
    "POSIX.1-2017, pthread_barrier_wait; run.json records the C library's version",
    of_teams,
    |case| Some(barrier::workload(case, PthreadBarrier::new, barrier::IN_A_LIBRARY)?.long_blocking(case)),
)
.beyond_quick();

/// In theory: an atomic decrement, a mutex and a condition variable, as the standard library's barrier. A group is used
/// once: `wait` gives up the thread's reference and returns when nobody has one. For a program of several phases, one
/// thread makes the group of the next phase, with a reference for each thread, before it waits in this one. That memory
/// and these references are part of the cost.
static WAIT_GROUP: Entry = barrier::sleeps(
    "cpu.barrier.crossbeam_wait_group",
    "Crossbeam's wait group as a barrier: thread 0 makes a new group for each phase; waiters block",
    "crossbeam::sync::WaitGroup",
    of_teams,
    |case| Some(barrier::workload(case, WaitGroups::new, barrier::IN_A_LIBRARY)?.long_blocking(case)),
)
.beyond_quick();

/// The state of each thread.
struct WaitGroups(Box<[CachePadded<OfThread>]>);

#[derive(Default)]
struct OfThread {
    /// How many phases the thread has passed; no other thread uses it.
    phases: AtomicUsize,
    /// The thread's references to the groups of this phase and of the next one, by the phase's parity. Thread 0 writes the next
    /// phase's reference while the thread has this phase's: no thread takes a reference of the next phase before thread 0 has
    /// come to the wait of this one. The mutexes are always free.
    references: [Mutex<Option<WaitGroup>>; 2],
}

impl OfThread {
    fn reference(&self, phase: usize) -> MutexGuard<'_, Option<WaitGroup>> {
        self.references[phase % 2].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitGroups {
    fn new(threads: u32) -> Self {
        let groups = Self((0..threads).map(|_| CachePadded::default()).collect());
        groups.make_phase(0);
        groups
    }

    fn make_phase(&self, phase: usize) {
        let group = WaitGroup::new();
        for thread in &self.0 {
            *thread.reference(phase) = Some(group.clone());
        }
    }
}

impl Barrier for WaitGroups {
    /// The thread's number.
    type Local = usize;

    fn join(&self, thread: usize) -> usize {
        thread
    }

    #[inline(always)]
    fn wait(&self, thread: &mut usize) -> Result<(), WaitTimeout> {
        let own = &self.0[*thread];
        // Relaxed: only this thread uses it.
        let phase = own.phases.fetch_add(1, Ordering::Relaxed);
        if *thread == 0 {
            self.make_phase(phase + 1);
        }
        // Not in one expression, which would hold the mutex while it waits.
        let group = own.reference(phase).take();
        group.map(WaitGroup::wait).ok_or(WaitTimeout)
    }
}

/// In theory: libgomp's barrier is central, with one atomic operation of each thread on one line and a generation that all others
/// read. libomp's is a tree by default. Waiters spin as long as the runtime's environment says, then block on a futex. With more
/// threads than CPUs libgomp hardly spins.
static OPENMP: Entry = barrier::of_openmp(
    "cpu.barrier.openmp",
    "#pragma omp barrier: the threads of a parallel region call GOMP_barrier",
    "OpenMP 5.2, 15.3.1; GCC's libgomp or LLVM's libomp, as the group column says",
    |primitive, axes| openmp::with_every_runtime(&of_teams(primitive, axes)),
    workload_of_runtime,
)
.requiring(openmp::installed);

pub(in crate::primitives) fn workload_of_runtime(case: &Case) -> Option<Workload> {
    let runtime = openmp::of_case(case)?;
    let expected = Expected::Uncounted("the barrier is a call into the OpenMP runtime");
    Some(Workload { runtime: Some(runtime), ..barrier::workload(case, |_| OpenMpBarrier(runtime), expected)? })
}

pub(in crate::primitives) struct OpenMpBarrier(pub(in crate::primitives) &'static Runtime);

impl Barrier for OpenMpBarrier {
    type Local = ();

    fn join(&self, _thread: usize) {}

    #[inline(always)]
    fn wait(&self, (): &mut ()) -> Result<(), WaitTimeout> {
        // A barrier implies a flush of all threads before and after it (OpenMP 5.2, 15.8.6).
        self.0.barrier();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_waits_for_all_threads() {
        const PHASES: usize = 500;
        let (groups, reached) = (WaitGroups::new(3), [const { AtomicUsize::new(0) }; 3]);
        let take_part = |mut thread: usize| {
            for phase in 1..=PHASES {
                reached[thread].store(phase, Ordering::Relaxed);
                groups.wait(&mut thread).unwrap();
                let others = reached.iter().map(|other| other.load(Ordering::Relaxed));
                assert!(
                    others.clone().all(|seen| seen == phase || seen == phase + 1),
                    "{phase}: {:?}",
                    others.collect::<Vec<_>>()
                );
            }
        };
        std::thread::scope(|scope| (0..3).for_each(|thread| drop(scope.spawn(move || take_part(thread)))));
    }
}
