//! A central sense-reversing barrier. It is measured as `cpu.barrier.sense`, and it starts the shots of every team.

use std::time::Duration;

use super::shim::{AtomicBool, AtomicU32, Ordering};
use super::{Barrier, CachePadded, WaitLimit, WaitTimeout};

/// The barrier (Hensgen, Finkel and Manber, 1988; Mellor-Crummey and Scott, 1991, algorithm 7).
///
/// The last thread to arrive resets the count and reverses the sense that all others read.
#[derive(Debug)]
pub struct SenseBarrier {
    threads: u32,
    missing: CachePadded<AtomicU32>,
    sense: CachePadded<AtomicBool>,
    wait_limit: WaitLimit,
}

/// The sense of a thread's next wait, reversed.
#[derive(Debug, Clone, Copy)]
pub struct LocalSense(bool);

impl SenseBarrier {
    /// A barrier for `threads` threads, each of which waits at most `limit`.
    pub fn new(threads: u32, limit: Duration) -> Self {
        Self {
            threads,
            missing: CachePadded::new(AtomicU32::new(threads)),
            sense: CachePadded::new(AtomicBool::new(false)),
            wait_limit: WaitLimit::new(limit),
        }
    }

    /// Ends all waits, now and later: a thread will not come.
    pub fn abort(&self) {
        self.wait_limit.abort();
    }
}

impl Barrier for SenseBarrier {
    type Local = LocalSense;

    fn join(&self, _thread: usize) -> LocalSense {
        // Relaxed: no thread waits, so the sense does not change, and the caller knows of the waits before.
        LocalSense(self.sense.load(Ordering::Relaxed))
    }

    #[inline(always)]
    fn wait(&self, local: &mut LocalSense) -> Result<(), WaitTimeout> {
        local.0 = !local.0;
        // Release: the last thread to arrive sees what this thread did before the barrier. Acquire: the last thread
        // passes all of it on with its store to the sense.
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Relaxed: no thread touches the count before it has seen the new sense, and the store below orders this
            // one.
            self.missing.store(self.threads, Ordering::Relaxed);
            self.sense.store(local.0, Ordering::Release);
            return Ok(());
        }
        let sense = local.0;
        self.wait_limit.wait(|| self.sense.load(Ordering::Acquire) == sense)
    }
}
