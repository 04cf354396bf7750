//! Waiting with a bound: the end of every spin in this crate.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
#[cfg(not(loom))]
use std::time::Instant;

/// Somebody did not come within the bound, or was given up on purpose. Everyone waiting leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a thread waited for another one that did not come")]
pub struct Broken;

/// What the threads of one lock or barrier share about waiting: how long, and whether it has failed once and for all.
#[derive(Debug)]
pub struct Fuse {
    #[cfg_attr(loom, expect(dead_code, reason = "loom has no time: it fails where no thread can go on"))]
    limit: Duration,
    /// The standard library's even under loom: it guards nothing.
    blown: AtomicBool,
}

/// Looks, with a pause after each, before a waiting thread begins to yield: some 10 to 50 microseconds, longer than any
/// wait takes whose threads all run.
#[cfg(not(loom))]
const CALM_LOOKS: u32 = 1000;

/// Looks without a pause: about as long.
#[cfg(not(loom))]
const EAGER_LOOKS: u32 = 20_000;

impl Fuse {
    /// A fuse that blows when a thread waits longer than `limit`.
    #[must_use]
    pub const fn new(limit: Duration) -> Self {
        Self { limit, blown: AtomicBool::new(false) }
    }

    /// Sends everyone home who waits, now or later, for somebody who will not come.
    pub fn blow(&self) {
        // Relaxed: nothing but the flag itself is passed on.
        self.blown.store(true, Ordering::Relaxed);
    }

    /// Waits until `done`, with a pause after each look: the pause leaves the core to its other hardware thread and the
    /// line to those who need it.
    ///
    /// # Errors
    /// [`Broken`] when that takes longer than the limit or the fuse has blown.
    #[inline(always)]
    pub fn wait(&self, mut done: impl FnMut() -> bool) -> Result<(), Broken> {
        #[cfg(not(loom))]
        return if done() { Ok(()) } else { self.wait_calmly(done) };
        // Loom tries every value that a look may see: more looks than one between two yields only multiply that.
        #[cfg(loom)]
        self.wait_patiently(&mut done)
    }

    /// Waits until `done` and sees it as early as possible: without a pause, which on many processors is longer than
    /// the message takes. `done` owns what it compares with and is copied for the patient part of the wait: what a function that
    /// is not inlined may look at would have to be in memory while this one looks, and be loaded again before every look.
    ///
    /// # Errors
    /// As [`Self::wait`].
    #[inline(always)]
    pub fn wait_eagerly(&self, done: impl Fn() -> bool + Copy) -> Result<(), Broken> {
        #[cfg(not(loom))]
        for _ in 0..EAGER_LOOKS {
            if done() {
                return Ok(());
            }
        }
        self.wait_patiently(&mut { done })
    }

    /// Out of line: who comes here has time, and the path of those who need not wait stays short.
    #[cfg(not(loom))]
    #[inline(never)]
    fn wait_calmly(&self, mut done: impl FnMut() -> bool) -> Result<(), Broken> {
        for _ in 0..CALM_LOOKS {
            std::hint::spin_loop();
            if done() {
                return Ok(());
            }
        }
        self.wait_patiently(&mut done)
    }

    #[cfg(not(loom))]
    #[cold]
    fn wait_patiently(&self, done: &mut dyn FnMut() -> bool) -> Result<(), Broken> {
        let started = Instant::now();
        while !done() {
            if self.blown.load(Ordering::Relaxed) {
                return Err(Broken);
            }
            if started.elapsed() > self.limit {
                self.blow();
                return Err(Broken);
            }
            std::thread::yield_now();
        }
        Ok(())
    }

    #[cfg(loom)]
    fn wait_patiently(&self, done: &mut dyn FnMut() -> bool) -> Result<(), Broken> {
        while !done() {
            if self.blown.load(Ordering::Relaxed) {
                return Err(Broken);
            }
            loom::thread::yield_now();
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_wait_for_nothing_ends() {
        let fuse = Fuse::new(Duration::from_millis(20));
        assert_eq!(fuse.wait(|| true), Ok(()));
        assert_eq!(fuse.wait(|| false), Err(Broken));
        let started = Instant::now();
        assert_eq!(Fuse::new(Duration::from_millis(20)).wait_eagerly(|| false), Err(Broken));
        assert!(started.elapsed() >= Duration::from_millis(20));
    }

    #[test]
    fn a_blown_fuse_ends_all_waits_but_no_success() {
        let fuse = Fuse::new(Duration::from_secs(60));
        fuse.blow();
        assert_eq!(fuse.wait(|| false), Err(Broken));
        assert_eq!(fuse.wait(|| true), Ok(()));
    }
}
