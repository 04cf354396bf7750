//! The dissemination barrier.

use std::time::Duration;

use super::shim::{AtomicU32, Ordering};
use super::{Barrier, CachePadded, WaitLimit, WaitTimeout};

/// Every thread signals one other thread in each of log2(n) rounds, at twice the distance each time. Then every thread
/// has heard of every other (Hensgen, Finkel and Manber, 1988; Mellor-Crummey and Scott, 1991, algorithm 9).
///
/// The flags hold the number of the episode, where the papers have parity and sense. A partner is at most one episode
/// ahead, so a number that is not behind is a signal of this episode.
#[derive(Debug)]
pub struct DisseminationBarrier {
    threads: Box<[Thread]>,
    rounds: usize,
    wait_limit: WaitLimit,
}

/// 2^32 threads are more than any machine runs.
const MAX_ROUNDS: usize = 32;

#[derive(Debug, Default)]
struct Thread {
    /// Episodes that this thread has begun; no other thread reads it.
    episode: CachePadded<AtomicU32>,
    /// The last episode in which this thread was signalled, by round.
    signalled: CachePadded<[AtomicU32; MAX_ROUNDS]>,
}

/// Whether `flag` has reached `episode`; episodes may wrap around.
#[inline(always)]
pub(super) fn has_reached(flag: &AtomicU32, episode: u32) -> bool {
    // Acquire: all that the other threads did before their signals; each passes on what it acquired.
    flag.load(Ordering::Acquire).wrapping_sub(episode).cast_signed() >= 0
}

/// Counts one more episode of a thread.
#[inline(always)]
pub(super) fn next_episode(episode: &AtomicU32) -> u32 {
    // Relaxed: it is this thread's own.
    let next = episode.load(Ordering::Relaxed).wrapping_add(1);
    episode.store(next, Ordering::Relaxed);
    next
}

impl DisseminationBarrier {
    /// A barrier for `threads` threads, of which none waits longer than `limit`.
    #[must_use]
    pub fn new(threads: u32, limit: Duration) -> Self {
        let rounds = threads.next_power_of_two().ilog2() as usize;
        Self { threads: (0..threads).map(|_| Thread::default()).collect(), rounds, wait_limit: WaitLimit::new(limit) }
    }
}

impl Barrier for DisseminationBarrier {
    /// The thread's number.
    type Local = usize;

    fn join(&self, thread: usize) -> usize {
        thread
    }

    #[inline(always)]
    fn wait(&self, thread: &mut usize) -> Result<(), WaitTimeout> {
        let own = &self.threads[*thread];
        let episode = next_episode(&own.episode);
        for round in 0..self.rounds {
            // The distance is less than the number of threads: one subtraction instead of a division.
            let partner = *thread + (1 << round);
            let partner = if partner < self.threads.len() { partner } else { partner - self.threads.len() };
            self.threads[partner].signalled[round].store(episode, Ordering::Release);
            self.wait_limit.wait(|| has_reached(&own.signalled[round], episode))?;
        }
        Ok(())
    }
}
