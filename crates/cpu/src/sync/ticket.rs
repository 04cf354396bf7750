//! The ticket lock.

use std::time::Duration;

use super::shim::{AtomicU32, Ordering};
use super::{Broken, Fuse, RawLock};

/// Two counters on one line (Reed and Kanodia, 1979; Mellor-Crummey and Scott, 1991, algorithm 2, without its
/// proportional pause): who draws a ticket waits until it is served. First come, first served.
#[derive(Debug)]
pub struct TicketLock {
    next: AtomicU32,
    serving: AtomicU32,
    fuse: Fuse,
}

impl TicketLock {
    /// A free lock, for which no thread waits longer than `limit`.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Self { next: AtomicU32::new(0), serving: AtomicU32::new(0), fuse: Fuse::new(limit) }
    }
}

// SAFETY: every ticket is drawn once (up to 2^32 waiting threads), `serving` shows one ticket at a time, and only its
// holder raises it; the acquiring load reads what the releasing store wrote.
unsafe impl RawLock for TicketLock {
    type Seat = ();

    #[inline(always)]
    fn seat(&self, _thread: usize) {}

    #[inline(always)]
    unsafe fn lock(&self, (): &mut ()) -> Result<(), Broken> {
        // Relaxed: a ticket alone says nothing about the memory behind the lock.
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        self.fuse.wait(|| self.serving.load(Ordering::Acquire) == ticket)
    }

    #[inline(always)]
    unsafe fn unlock(&self, (): &mut ()) -> Result<(), Broken> {
        // Relaxed: only the holder writes it, and that is this thread.
        let served = self.serving.load(Ordering::Relaxed);
        self.serving.store(served.wrapping_add(1), Ordering::Release);
        Ok(())
    }
}
