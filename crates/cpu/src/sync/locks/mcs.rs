//! The queue lock of Mellor-Crummey and Scott.

use std::time::Duration;

use super::queue::{GRANTED, NONE, Node, Queue, number_of};
use super::{RawLock, WaitTimeout};

/// A queue of waiting threads, each of which spins on a line of its own (Mellor-Crummey and Scott, 1991, algorithm 5).
#[derive(Debug)]
pub struct McsLock(Queue<Node>);

impl McsLock {
    /// A free lock for `threads` threads, each of which waits at most `limit`.
    pub fn new(threads: u32, limit: Duration) -> Self {
        Self(Queue::new(threads, limit))
    }
}

// SAFETY: the exchanges of the tail put all threads in one queue. The first one holds the lock. Every other one waits
// until the thread before it, the only one that knows of it, grants it. The acquiring exchange or load reads what the
// releasing store or exchange of the thread before wrote.
unsafe impl RawLock for McsLock {
    /// The thread's number.
    type ThreadState = u32;

    #[inline(always)]
    fn thread_state(&self, thread: usize) -> u32 {
        number_of(thread)
    }

    #[inline(always)]
    unsafe fn lock(&self, own: &mut u32) -> Result<(), WaitTimeout> {
        self.0.lock(*own)
    }

    #[inline(always)]
    unsafe fn unlock(&self, own: &mut u32) -> Result<(), WaitTimeout> {
        let next = self.0.leave(*own, &self.0[*own], NONE)?;
        if next != NONE {
            self.0.grant(next, GRANTED);
        }
        Ok(())
    }
}
