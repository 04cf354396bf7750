//! `cpu.barrier.crossbeam_wait_group`: crossbeam's wait group, a new one for each phase.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crossbeam::sync::WaitGroup;
use syncscope_core::{Primitive, Waits};

use crate::evidence::Expected;
use crate::primitives::barrier;
use crate::primitives::entry::Entry;
use crate::sync::{Barrier, CachePadded, WaitTimeout};

/// In theory: an atomic decrement, a mutex and a condition variable, as the standard library's barrier. A group is used
/// once: `wait` gives up the thread's reference and returns when nobody has one. For a program of several phases, one
/// thread makes the group of the next phase, with a reference for each thread, before it waits in this one. That memory
/// and these references are part of the cost.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.barrier.crossbeam_wait_group",
        summary: "Crossbeam's wait group as a barrier: thread 0 makes a new group for each phase, waiters block",
        operation: barrier::OPERATION,
        source: "crossbeam::sync::WaitGroup",
        facts: barrier::FACTS.waiting(Waits::Sleeps),
    },
    barrier::cases,
    |case| {
        let workload = barrier::workload(case, WaitGroups::new)?
            .expecting(Expected::Uncounted("the barrier is a library function, behind a call"));
        // A single thread never waits.
        Some(if case.threads > Some(1) { workload.long_blocking() } else { workload })
    },
)
.beyond_quick();

/// What each thread has.
struct WaitGroups(Box<[CachePadded<OfThread>]>);

#[derive(Default)]
struct OfThread {
    /// How many phases the thread has passed; its own.
    phases: AtomicUsize,
    /// Its references to the groups of this phase and of the next one, by the phase's parity. Thread 0 writes that of the
    /// next phase while the thread has that of this one: no thread takes a reference of the next phase before thread 0 has
    /// come to this one's wait. The mutexes are always free.
    references: [Mutex<Option<WaitGroup>>; 2],
}

impl OfThread {
    fn reference(
        &self,
        phase: usize,
        change: impl FnOnce(&mut Option<WaitGroup>) -> Option<WaitGroup>,
    ) -> Option<WaitGroup> {
        change(&mut self.references[phase % 2].lock().unwrap_or_else(PoisonError::into_inner))
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
            thread.reference(phase, |reference| reference.replace(group.clone()));
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
        // Relaxed: it is this thread's own.
        let phase = own.phases.fetch_add(1, Ordering::Relaxed);
        if *thread == 0 {
            self.make_phase(phase + 1);
        }
        match own.reference(phase, Option::take) {
            Some(group) => {
                group.wait();
                Ok(())
            }
            None => Err(WaitTimeout),
        }
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
