//! A central sense-reversing barrier: it starts the shots of a team, and it is itself measured as `cpu.barrier.sense`.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A value on cache lines of its own. 128 bytes, because x86 prefetches lines in pairs and some ARM cores have lines
/// that long.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct OwnLine<T>(pub(crate) T);

/// Somebody did not arrive within the bound, or the barrier was broken on purpose. Everyone waiting leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the barrier is broken: a thread did not arrive")]
pub struct Broken;

/// The barrier (Hensgen, Finkel and Manber, 1988; Mellor-Crummey and Scott, 1991, algorithm 7).
///
/// The last thread to arrive resets the count and reverses the sense that all others watch. Waiting spins for a while,
/// then yields the CPU at every look, and ends with [`Broken`] after the limit.
#[derive(Debug)]
pub struct SenseBarrier {
    parties: u32,
    limit: Duration,
    missing: OwnLine<AtomicU32>,
    sense: OwnLine<AtomicBool>,
    broken: AtomicBool,
}

/// What a thread remembers between two waits.
#[derive(Debug, Clone, Copy)]
pub struct LocalSense(bool);

/// Looks before a waiting thread begins to yield: some 10 to 50 microseconds, longer than any barrier takes whose
/// threads all run.
const SPINS: u32 = 1000;

impl SenseBarrier {
    /// A barrier for `parties` threads, of which none waits longer than `limit`.
    #[must_use]
    pub fn new(parties: u32, limit: Duration) -> Self {
        Self {
            parties,
            limit,
            missing: OwnLine(AtomicU32::new(parties)),
            sense: OwnLine(AtomicBool::new(false)),
            broken: AtomicBool::new(false),
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
    #[inline]
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
        self.wait_for(local.0)
    }

    /// Out of line: who comes here has time, and the path of the last to arrive stays short.
    #[inline(never)]
    fn wait_for(&self, sense: bool) -> Result<(), Broken> {
        for _ in 0..SPINS {
            if self.sense.0.load(Ordering::Acquire) == sense {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        self.wait_patiently(sense)
    }

    #[cold]
    fn wait_patiently(&self, sense: bool) -> Result<(), Broken> {
        let started = Instant::now();
        while self.sense.0.load(Ordering::Acquire) != sense {
            if self.broken.load(Ordering::Relaxed) {
                return Err(Broken);
            }
            if started.elapsed() > self.limit {
                self.break_down();
                return Err(Broken);
            }
            std::thread::yield_now();
        }
        Ok(())
    }

    /// Sends everyone home who waits, now or later, for a party that will not come.
    pub fn break_down(&self) {
        // Relaxed: nothing but the flag itself is passed on.
        self.broken.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn nobody_overtakes() {
        const THREADS: usize = 4;
        let barrier = SenseBarrier::new(THREADS as u32, Duration::from_secs(20));
        let phases: [AtomicU64; THREADS] = Default::default();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (barrier, phases) = (&barrier, &phases);
                scope.spawn(move || {
                    let mut sense = barrier.join();
                    for phase in 1..=200 {
                        phases[thread].store(phase, Ordering::Relaxed);
                        barrier.wait(&mut sense).unwrap();
                        for other in phases {
                            let seen = other.load(Ordering::Relaxed);
                            assert!(seen == phase || seen == phase + 1, "{seen} in phase {phase}");
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn a_missing_party_breaks_it() {
        let barrier = SenseBarrier::new(2, Duration::from_millis(20));
        assert_eq!(barrier.wait(&mut barrier.join()), Err(Broken));
    }

    #[test]
    fn breaking_it_down_frees_the_waiting() {
        let barrier = SenseBarrier::new(3, Duration::from_secs(60));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| barrier.wait(&mut barrier.join()));
            barrier.break_down();
            assert_eq!(waiting.join().unwrap(), Err(Broken));
        });
    }
}
