//! Waiting with a time limit: how every spin of this crate ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
#[cfg(not(loom))]
use std::time::Instant;

/// A thread did not come within the time limit, or the wait was aborted. All waiting threads leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a thread waited for another one that did not arrive")]
pub struct WaitTimeout;

/// The time limit that the threads of one lock or barrier share. After the first failure all waits fail.
#[derive(Debug)]
pub struct WaitLimit {
    #[cfg_attr(loom, expect(dead_code, reason = "loom has no time: it fails where no thread can go on"))]
    limit: Duration,
    /// The standard library's atomic even under loom: it publishes nothing.
    aborted: AtomicBool,
}

/// Looks, with a pause after each, before a waiting thread begins to yield. They take some 10 to 50 microseconds,
/// longer than any wait while all threads run.
#[cfg(not(loom))]
const PAUSED_LOOKS: u32 = 1000;

/// Looks without a pause: about as long.
#[cfg(not(loom))]
const EAGER_LOOKS: u32 = 20_000;

impl WaitLimit {
    /// A limit: no thread waits longer than `limit`.
    pub const fn new(limit: Duration) -> Self {
        Self { limit, aborted: AtomicBool::new(false) }
    }

    /// Ends all waits, now and later: a thread will not come.
    pub fn abort(&self) {
        // Relaxed: the flag publishes nothing.
        self.aborted.store(true, Ordering::Relaxed);
    }

    /// Waits until `done`, with a pause after each look. The pause leaves the core to its other hardware thread and the
    /// line to the threads that need it.
    ///
    /// # Errors
    /// [`WaitTimeout`] when that takes longer than the limit or a wait was aborted.
    #[inline(always)]
    pub fn wait(&self, mut done: impl FnMut() -> bool) -> Result<(), WaitTimeout> {
        #[cfg(not(loom))]
        return if done() { Ok(()) } else { self.wait_pausing(done) };
        // Loom tries every value that a look may read: more than one look between two yields only multiplies the work.
        #[cfg(loom)]
        self.yield_until(&mut done)
    }

    /// Waits while `look` returns `value`, and returns what it returns then.
    ///
    /// # Errors
    /// As [`Self::wait`].
    #[inline(always)]
    pub(in crate::sync) fn wait_while(&self, value: u32, mut look: impl FnMut() -> u32) -> Result<u32, WaitTimeout> {
        let mut found = value;
        self.wait(|| {
            found = look();
            found != value
        })?;
        Ok(found)
    }

    /// Waits until `done` and sees it as early as possible: without a pause, which on many processors takes longer than
    /// the message. `done` owns what it compares with and is copied for the yielding part of the wait. If that part,
    /// which is not inlined, borrowed it, the loop here would have to keep it in memory and load it again before every
    /// look.
    ///
    /// # Errors
    /// As [`Self::wait`].
    #[inline(always)]
    pub fn wait_eagerly(&self, done: impl Fn() -> bool + Copy) -> Result<(), WaitTimeout> {
        #[cfg(not(loom))]
        for _ in 0..EAGER_LOOKS {
            if done() {
                return Ok(());
            }
        }
        self.yield_until(&mut { done })
    }

    /// Waits until `done` and leaves the CPU to other threads after every look.
    ///
    /// # Errors
    /// As [`Self::wait`].
    #[cold]
    pub fn yield_until(&self, done: &mut dyn FnMut() -> bool) -> Result<(), WaitTimeout> {
        #[cfg(not(loom))]
        let started = Instant::now();
        while !done() {
            #[cfg(not(loom))]
            if started.elapsed() > self.limit {
                self.abort();
            }
            if self.aborted.load(Ordering::Relaxed) {
                return Err(WaitTimeout);
            }
            #[cfg(not(loom))]
            std::thread::yield_now();
            #[cfg(loom)]
            loom::thread::yield_now();
        }
        Ok(())
    }

    /// Out of line: a thread that comes here waits anyway, and the path without a wait stays short.
    #[cfg(not(loom))]
    #[inline(never)]
    fn wait_pausing(&self, mut done: impl FnMut() -> bool) -> Result<(), WaitTimeout> {
        for _ in 0..PAUSED_LOOKS {
            std::hint::spin_loop();
            if done() {
                return Ok(());
            }
        }
        self.yield_until(&mut done)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_wait_for_nothing_times_out() {
        let limit = WaitLimit::new(Duration::from_millis(20));
        assert_eq!(limit.wait(|| true), Ok(()));
        assert_eq!(limit.wait(|| false), Err(WaitTimeout));
        let started = Instant::now();
        assert_eq!(WaitLimit::new(Duration::from_millis(20)).wait_eagerly(|| false), Err(WaitTimeout));
        assert!(started.elapsed() >= Duration::from_millis(20));
    }

    #[test]
    fn an_aborted_wait_fails_but_no_success_does() {
        let limit = WaitLimit::new(Duration::from_secs(60));
        limit.abort();
        assert_eq!(limit.wait(|| false), Err(WaitTimeout));
        assert_eq!(limit.wait(|| true), Ok(()));
    }
}
