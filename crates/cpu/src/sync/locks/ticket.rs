//! The ticket lock.

use std::time::Duration;

use super::shim::{AtomicU32, Ordering};
use super::{RawLock, WaitLimit, WaitTimeout};

/// Two counters on one line (Reed and Kanodia, 1979; Mellor-Crummey and Scott, 1991, algorithm 2, without its
/// proportional pause). A thread takes a ticket and waits until it is served: first come, first served.
#[derive(Debug)]
pub struct TicketLock {
    next: AtomicU32,
    serving: AtomicU32,
    wait_limit: WaitLimit,
}

impl TicketLock {
    /// A free lock, for which a thread waits at most `limit`.
    pub fn new(limit: Duration) -> Self {
        Self { next: AtomicU32::new(0), serving: AtomicU32::new(0), wait_limit: WaitLimit::new(limit) }
    }

    /// Whether a thread waits behind the holder, which calls this. A thread that takes its ticket now may be missed.
    #[inline(always)]
    pub(super) fn is_awaited(&self) -> bool {
        // Relaxed: the caller can do without the answer.
        let (next, serving) = (self.next.load(Ordering::Relaxed), self.serving.load(Ordering::Relaxed));
        next.wrapping_sub(serving) > 1
    }
}

// SAFETY: every ticket is taken once (up to 2^32 waiting threads), `serving` shows one ticket at a time, and only its
// holder increments it. The acquiring load reads what the releasing store wrote.
unsafe impl RawLock for TicketLock {
    type ThreadState = ();

    #[inline(always)]
    fn thread_state(&self, _thread: usize) {}

    #[inline(always)]
    unsafe fn lock(&self, (): &mut ()) -> Result<(), WaitTimeout> {
        // Relaxed: a ticket publishes nothing of the memory behind the lock.
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        self.wait_limit.wait(|| self.serving.load(Ordering::Acquire) == ticket)
    }

    #[inline(always)]
    unsafe fn unlock(&self, (): &mut ()) -> Result<(), WaitTimeout> {
        // Relaxed: only the holder writes it, which is this thread.
        let served = self.serving.load(Ordering::Relaxed);
        self.serving.store(served.wrapping_add(1), Ordering::Release);
        Ok(())
    }
}
