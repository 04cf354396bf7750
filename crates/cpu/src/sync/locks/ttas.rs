//! The test-and-test-and-set lock.

use std::time::Duration;

use super::shim::{AtomicBool, Ordering};
use super::{RawLock, WaitLimit, WaitTimeout};

/// One flag (Rudolph and Segall, 1984). Waiters read their copy of the line until it shows a free lock, then all try to
/// set it. There is no order among them, and each release causes a burst of line transfers.
///
/// A thread that tried in vain stays away for a while, each time twice as long, at most `MOST_PAUSES`: fewer threads try at once
/// (Anderson, IEEE TPDS 1(1), 1990). With 0 it does not.
#[derive(Debug)]
pub struct TtasLock<const MOST_PAUSES: u32 = 0> {
    held: AtomicBool,
    wait_limit: WaitLimit,
}

/// Pauses after the first try in vain: some hundred nanoseconds on most processors, about as long as the burst of transfers lasts.
const FIRST_PAUSES: u32 = 4;

impl<const MOST_PAUSES: u32> TtasLock<MOST_PAUSES> {
    /// A free lock. A thread gives up when the lock was taken for as long as `limit`.
    pub fn new(limit: Duration) -> Self {
        Self { held: AtomicBool::new(false), wait_limit: WaitLimit::new(limit) }
    }
}

// SAFETY: `lock` returns only after this thread changed `held` from false to true, and only the holder sets it to
// false. The acquiring exchange reads what the releasing store wrote.
unsafe impl<const MOST_PAUSES: u32> RawLock for TtasLock<MOST_PAUSES> {
    type ThreadState = ();

    #[inline(always)]
    fn thread_state(&self, _thread: usize) {}

    #[inline(always)]
    unsafe fn lock(&self, (): &mut ()) -> Result<(), WaitTimeout> {
        let mut pauses = FIRST_PAUSES.min(MOST_PAUSES);
        loop {
            // Relaxed: this is the test; the exchange decides.
            self.wait_limit.wait(|| !self.held.load(Ordering::Relaxed))?;
            if !self.held.swap(true, Ordering::Acquire) {
                return Ok(());
            }
            (0..pauses).for_each(|_| std::hint::spin_loop());
            pauses = (2 * pauses).min(MOST_PAUSES);
        }
    }

    #[inline(always)]
    unsafe fn unlock(&self, (): &mut ()) -> Result<(), WaitTimeout> {
        #[cfg(not(loom))]
        self.held.store(false, Ordering::Release);
        // Loom lets a plain store come before another thread's exchange that read an older value, which no memory model
        // allows. An exchange keeps them in order.
        #[cfg(loom)]
        self.held.swap(false, Ordering::Release);
        Ok(())
    }
}
