//! How often a lock passes from one thread to another: the guarded data hold the number of the last holder.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use syncscope_core::stats;

use super::{Lock, Locked};
use crate::primitives::number::Number;
use crate::primitives::prelude::*;
use crate::primitives::window::{HandoverRun, Windows};

/// The locks of a case, each around the number of its last holder instead of a counter. This is another operation than the timed
/// one, in windows of its own.
pub(super) struct Handovers<L> {
    locked: Arc<Locked<L>>,
    counts: Counts,
}

/// The counts, for any lock.
struct Counts {
    /// How often each thread found in the last window that another one had held the lock.
    changes: Vec<CachePadded<AtomicU64>>,
    /// The acquisitions per change of holder, in each window.
    found: Mutex<Vec<f64>>,
}

impl Counts {
    fn of(threads: u32) -> Self {
        Self { changes: (0..threads).map(|_| CachePadded::default()).collect(), found: Mutex::default() }
    }

    /// Keeps the result of a window in which all threads together acquired the lock `acquisitions` times.
    fn end_window(&self, acquisitions: u64) {
        let changes: u64 = self.changes.iter().map(|of_thread| of_thread.load(Ordering::Relaxed)).sum();
        self.found().push(acquisitions as f64 / changes.max(1) as f64);
    }

    fn found(&self) -> MutexGuard<'_, Vec<f64>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a thread has found; published at the end of its loop.
pub(super) struct Holder<'a, L: Lock> {
    lock: &'a L,
    state: L::ThreadState,
    number: L::Number,
    changes: u64,
    published: &'a AtomicU64,
}

impl<L: Lock> Drop for Holder<'_, L> {
    fn drop(&mut self) {
        // Relaxed: a barrier separates this and the reader.
        self.published.store(self.changes, Ordering::Relaxed);
    }
}

impl<L: Lock> Handovers<L> {
    pub(super) fn run(locked: &Arc<Locked<L>>, windows: &Windows, clock: &Clock) -> HandoverRun {
        let handovers = Arc::new(Self { locked: Arc::clone(locked), counts: Counts::of(locked.threads) });
        let body = windows.body_of(Arc::clone(&handovers), clock);
        HandoverRun { body, acquisitions_per_handover: Box::new(move || stats::median(&handovers.counts.found())) }
    }
}

impl<L: Lock> Operation for Handovers<L> {
    type Local<'a> = Holder<'a, L>;

    fn local(&self, slot: usize, thread: usize) -> Self::Local<'_> {
        let (lock, state) = self.locked.local(slot, thread);
        Holder {
            lock,
            state,
            number: Number::of(thread as u64 + 1),
            changes: 0,
            published: &self.counts.changes[thread],
        }
    }

    #[inline(always)]
    fn execute(holder: &mut Self::Local<'_>) {
        let Holder { lock, state, number, changes, .. } = holder;
        lock.with(state, |last| {
            if *last != *number {
                *last = *number;
                *changes += 1;
            }
        });
    }

    fn prepare(&self, slot: usize, thread: usize) {
        self.locked.prepare(slot, thread);
    }

    /// The timed operation has shown that the lock excludes.
    fn verify(&self, _slot: usize, thread: usize, executed: Executed) -> Result<(), String> {
        if thread == 0 {
            self.counts.end_window(executed.by_all(self.locked.threads));
        }
        Ok(())
    }
}
