//! A central sense-reversing barrier: it starts the shots of a team, and it is itself measured as `cpu.barrier.sense`.

use std::time::Duration;

use super::shim::{AtomicBool, AtomicU32, Ordering};
use super::{Broken, Fuse, OwnLine};

/// The barrier (Hensgen, Finkel and Manber, 1988; Mellor-Crummey and Scott, 1991, algorithm 7).
///
/// The last thread to arrive resets the count and reverses the sense that all others watch.
#[derive(Debug)]
pub struct SenseBarrier {
    parties: u32,
    missing: OwnLine<AtomicU32>,
    sense: OwnLine<AtomicBool>,
    fuse: Fuse,
}

/// What a thread remembers between two waits.
#[derive(Debug, Clone, Copy)]
pub struct LocalSense(bool);

impl SenseBarrier {
    /// A barrier for `parties` threads, of which none waits longer than `limit`.
    #[must_use]
    pub fn new(parties: u32, limit: Duration) -> Self {
        Self {
            parties,
            missing: OwnLine(AtomicU32::new(parties)),
            sense: OwnLine(AtomicBool::new(false)),
            fuse: Fuse::new(limit),
        }
    }

    /// A new thread's memory. Nobody else may pass the barrier without this thread from here on.
    #[must_use]
    pub fn join(&self) -> LocalSense {
        LocalSense(self.sense.0.load(Ordering::Acquire))
    }

    /// Waits for all parties.
    ///
    /// # Errors
    /// [`Broken`] when a party did not come within the limit or somebody called [`Self::break_down`].
    #[inline(always)]
    pub fn wait(&self, local: &mut LocalSense) -> Result<(), Broken> {
        local.0 = !local.0;
        // Release: what this thread did before the barrier is visible to the last one to arrive. Acquire: and the last
        // one passes all of it on with its store to the sense.
        if self.missing.0.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Nobody touches the count before they have seen the new sense: the store below orders this one.
            self.missing.0.store(self.parties, Ordering::Relaxed);
            self.sense.0.store(local.0, Ordering::Release);
            return Ok(());
        }
        let sense = local.0;
        self.fuse.wait(|| self.sense.0.load(Ordering::Acquire) == sense)
    }

    /// Sends everyone home who waits, now or later, for a party that will not come.
    pub fn break_down(&self) {
        self.fuse.blow();
    }
}
