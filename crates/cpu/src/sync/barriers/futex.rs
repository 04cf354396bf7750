//! A central barrier whose waiters sleep.

use std::time::Duration;

use super::shim::{AtomicU32, Futex, Ordering};
use super::{Barrier, CachePadded, WaitTimeout};

/// A count of missing threads and the number of the episode, which is the word of a futex. The last thread to arrive
/// resets the count, begins the next episode and wakes all others by one call (Drepper, *Futexes Are Tricky*, 2011, on
/// the futex; the count is that of the sense-reversing barrier). No waiter spins.
#[derive(Debug)]
pub struct FutexBarrier {
    threads: u32,
    missing: CachePadded<AtomicU32>,
    episode: CachePadded<Futex>,
    limit: Duration,
}

impl FutexBarrier {
    /// A barrier for `threads` threads, each of which waits at most `limit`.
    pub fn new(threads: u32, limit: Duration) -> Self {
        Self {
            threads,
            missing: CachePadded::new(AtomicU32::new(threads)),
            episode: CachePadded::new(Futex::new(0)),
            limit,
        }
    }

    /// A barrier for one thread in each of `processes` processes.
    pub fn between_processes(processes: u32, limit: Duration) -> Self {
        Self { episode: CachePadded::new(Futex::between_processes(0)), ..Self::new(processes, limit) }
    }
}

impl Barrier for FutexBarrier {
    type Local = ();

    fn join(&self, _thread: usize) {}

    #[inline(always)]
    fn wait(&self, (): &mut ()) -> Result<(), WaitTimeout> {
        // Relaxed: the episode changes only after this thread has arrived, and the wait acquires the new value.
        let episode = self.episode.word.load(Ordering::Relaxed);
        // Release: the last thread to arrive sees what this thread did before the barrier. Acquire: the last thread
        // passes all of it on with its store to the episode.
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Relaxed: no thread touches the count before it has seen the new episode, and the store below orders this.
            self.missing.store(self.threads, Ordering::Relaxed);
            self.episode.word.store(episode.wrapping_add(1), Ordering::Release);
            self.episode.wake_all();
            return Ok(());
        }
        while self.episode.word.load(Ordering::Acquire) == episode {
            self.episode.sleep_while(episode, self.limit)?;
        }
        Ok(())
    }
}
