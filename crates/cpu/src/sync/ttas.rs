//! The test-and-test-and-set lock.

use std::time::Duration;

use super::shim::{AtomicBool, Ordering};
use super::{Broken, Fuse, RawLock};

/// One flag (Rudolph and Segall, 1984). Waiters look at their copy of the line until it says free, then all try to set
/// it: no order among them, and a burst of transfers after each release.
#[derive(Debug)]
pub struct TtasLock {
    held: AtomicBool,
    fuse: Fuse,
}

impl TtasLock {
    /// A free lock. A thread gives up when it saw the lock taken for as long as `limit`.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Self { held: AtomicBool::new(false), fuse: Fuse::new(limit) }
    }
}

// SAFETY: `lock` returns only after this thread changed `held` from false to true, and only the holder sets it to false;
// the acquiring exchange reads what the releasing store wrote.
unsafe impl RawLock for TtasLock {
    type Seat = ();

    #[inline(always)]
    fn seat(&self, _thread: usize) {}

    #[inline(always)]
    unsafe fn lock(&self, (): &mut ()) -> Result<(), Broken> {
        loop {
            // Relaxed: a look that may fail; the exchange decides.
            self.fuse.wait(|| !self.held.load(Ordering::Relaxed))?;
            if !self.held.swap(true, Ordering::Acquire) {
                return Ok(());
            }
        }
    }

    #[inline(always)]
    unsafe fn unlock(&self, (): &mut ()) -> Result<(), Broken> {
        #[cfg(not(loom))]
        self.held.store(false, Ordering::Release);
        // Loom lets a plain store come before another thread's exchange that read an older value, which no memory model
        // allows; with an exchange it keeps them in order.
        #[cfg(loom)]
        self.held.swap(false, Ordering::Release);
        Ok(())
    }
}
