//! The Hemlock.

use std::time::Duration;

use super::queue::{GRANTED, NONE, Queue, number_of};
use super::shim::{AtomicU32, Ordering};
use super::{RawLock, WaitTimeout};

/// A queue without pointers: each waiting thread spins on the word of the thread before it, and takes the grant out of it, for which
/// the holder before waits (Dice and Kogan, *Hemlock: Compact and Scalable Mutual Exclusion*, SPAA 2021, listing 2). A lock is one word,
/// and a thread has one word for all locks that it takes; here the words belong to the lock, as the nodes of the other queues.
///
/// The word of a thread says whether it has granted the lock to the one behind it. Waiters look with a read-modify-write, which
/// fetches the line for writing at once ("coherence traffic reduction").
#[derive(Debug)]
pub struct HemLock(Queue<AtomicU32>);

const EMPTY: u32 = 0;

impl HemLock {
    /// A free lock for `threads` threads, each of which waits at most `limit`.
    pub fn new(threads: u32, limit: Duration) -> Self {
        Self(Queue::new(threads, limit))
    }
}

// SAFETY: the exchanges of the tail put all threads in one queue. The first one holds the lock. Every other one waits until the thread
// before it, the only one that writes a grant there, has granted it. The acquiring exchange or compare-and-swap reads what the releasing
// compare-and-swap or store of the thread before wrote.
unsafe impl RawLock for HemLock {
    /// The thread's number.
    type ThreadState = u32;

    #[inline(always)]
    fn thread_state(&self, thread: usize) -> u32 {
        number_of(thread)
    }

    #[inline(always)]
    unsafe fn lock(&self, number: &mut u32) -> Result<(), WaitTimeout> {
        // Acquire: what the last holder did, if it left the queue empty.
        let before = self.0.tail.swap(*number, Ordering::Acquire);
        if before == NONE {
            return Ok(());
        }
        let grant = &self.0[before];
        self.0.wait_limit.wait(|| grant.compare_exchange(GRANTED, EMPTY, Ordering::Acquire, Ordering::Relaxed).is_ok())
    }

    #[inline(always)]
    unsafe fn unlock(&self, number: &mut u32) -> Result<(), WaitTimeout> {
        if self.0.tail.compare_exchange(*number, NONE, Ordering::Release, Ordering::Relaxed).is_ok() {
            return Ok(());
        }
        let grant = &self.0[*number];
        grant.store(GRANTED, Ordering::Release);
        // Relaxed: this reads only that the word is free again.
        self.0.wait_limit.wait(|| grant.fetch_add(0, Ordering::Relaxed) == EMPTY)
    }
}
