//! How the threads of a team join their partial results: one type for each variant.
//!
//! Every reduction ends with a barrier of all threads, as a parallel region does: then the result is known. Unless the variant is
//! a barrier itself, this is the sense-reversing one, so that it drops out of differences.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::primitives::prelude::*;
use crate::sync::{Barrier, Guarded, RawLock, SenseBarrier, ThreadState};

/// Less than every element.
pub(super) const LEAST: i32 = i32::MIN;

/// Results of one shot: one for each of its reductions.
#[derive(Debug)]
pub(super) struct Results(Vec<CachePadded<AtomicI32>>);

impl Results {
    pub(super) fn new(count: usize) -> Self {
        Self((0..count).map(|_| CachePadded::new(AtomicI32::new(LEAST))).collect())
    }

    pub(super) fn clear(&self) {
        self.0.iter().for_each(|result| result.store(LEAST, Ordering::Relaxed));
    }

    pub(super) fn of(&self, number: u64) -> &AtomicI32 {
        &self.0[number as usize % self.0.len()]
    }
}

/// One way to join the results of a team's threads.
pub(super) trait Joining: Send + Sync + 'static {
    /// What a thread remembers between two reductions.
    type Local<'a>;

    /// The memory of a thread.
    fn local(&self, thread: usize) -> Self::Local<'_>;

    /// Reduces this thread's part of the vector and joins it with the others'. Returns after all threads have.
    fn reduce(&self, local: &mut Self::Local<'_>, thread: usize, part: &[i32], result: &AtomicI32);
}

fn largest(part: &[i32]) -> i32 {
    part.iter().fold(LEAST, |largest, element| largest.max(*element))
}

/// Joins the result of the holder of a lock, with plain loads and stores.
fn join_alone(result: &AtomicI32, own: i32) {
    result.store(own.max(result.load(Ordering::Relaxed)), Ordering::Relaxed);
}

/// One thread, with nothing to join.
pub(super) struct Alone;

impl Joining for Alone {
    type Local<'a> = ();

    fn local(&self, _: usize) {}

    fn reduce(&self, (): &mut (), _: usize, part: &[i32], result: &AtomicI32) {
        // Relaxed: the team's barrier after the shot publishes it.
        result.store(largest(part), Ordering::Relaxed);
    }
}

/// Atomic maxima on the result, then a barrier.
pub(super) struct Atomically<B> {
    pub(super) barrier: B,
    pub(super) each_element: bool,
}

impl<B: Barrier> Joining for Atomically<B> {
    type Local<'a> = B::Local;

    fn local(&self, thread: usize) -> B::Local {
        self.barrier.join(thread)
    }

    fn reduce(&self, local: &mut B::Local, _: usize, part: &[i32], result: &AtomicI32) {
        // Relaxed: the barrier orders the last maximum before what follows.
        if self.each_element {
            for element in part {
                result.fetch_max(*element, Ordering::Relaxed);
            }
        } else {
            result.fetch_max(largest(part), Ordering::Relaxed);
        }
        or_unwind(self.barrier.wait(local));
    }
}

/// Each thread's result under the standard library's mutex, then a barrier.
pub(super) struct WithMutex {
    pub(super) mutex: CachePadded<Mutex<()>>,
    pub(super) barrier: SenseBarrier,
}

impl Joining for WithMutex {
    type Local<'a> = <SenseBarrier as Barrier>::Local;

    fn local(&self, thread: usize) -> Self::Local<'_> {
        self.barrier.join(thread)
    }

    fn reduce(&self, local: &mut Self::Local<'_>, _: usize, part: &[i32], result: &AtomicI32) {
        let own = largest(part);
        {
            // A thread that panicked leaves a result that is checked.
            let _held = self.mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            join_alone(result, own);
        }
        or_unwind(self.barrier.wait(local));
    }
}

/// Each thread's result in a critical section, then a barrier.
pub(super) struct InCritical<L: RawLock, B> {
    pub(super) section: Guarded<L, ()>,
    pub(super) barrier: B,
}

impl<L: RawLock, B: Barrier> Joining for InCritical<L, B> {
    type Local<'a> = (ThreadState<L>, B::Local);

    fn local(&self, thread: usize) -> Self::Local<'_> {
        // SAFETY: each thread of the team makes one state with its own number, at the beginning of a shot, and drops it at
        // the end. After a timeout the team takes no more shots.
        let state = unsafe { self.section.thread_state(thread) };
        (state, self.barrier.join(thread))
    }

    fn reduce(&self, (state, local): &mut Self::Local<'_>, _: usize, part: &[i32], result: &AtomicI32) {
        let own = largest(part);
        or_unwind(self.section.with(state, |()| join_alone(result, own)));
        or_unwind(self.barrier.wait(local));
    }
}

/// Results merge pairwise, with a barrier after each level.
pub(super) struct Tree<B> {
    partials: Vec<CachePadded<AtomicI32>>,
    barrier: B,
}

impl<B> Tree<B> {
    pub(super) fn new(threads: u32, barrier: B) -> Self {
        Self { partials: (0..threads).map(|_| CachePadded::new(AtomicI32::new(LEAST))).collect(), barrier }
    }
}

impl<B: Barrier> Joining for Tree<B> {
    type Local<'a> = B::Local;

    fn local(&self, thread: usize) -> B::Local {
        self.barrier.join(thread)
    }

    fn reduce(&self, local: &mut B::Local, thread: usize, part: &[i32], result: &AtomicI32) {
        let threads = self.partials.len();
        // Relaxed throughout: barriers separate every store and the loads of other threads.
        self.partials[thread].store(largest(part), Ordering::Relaxed);
        or_unwind(self.barrier.wait(local));
        let mut distance = 1;
        while distance < threads {
            if thread.is_multiple_of(2 * distance) && thread + distance < threads {
                let other = self.partials[thread + distance].load(Ordering::Relaxed);
                self.partials[thread].fetch_max(other, Ordering::Relaxed);
            }
            or_unwind(self.barrier.wait(local));
            distance *= 2;
        }
        if thread == 0 {
            result.store(self.partials[0].load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
}
