//! The dissemination barrier.

use std::time::Duration;

use super::shim::{AtomicU32, Ordering};
use super::{Broken, Fuse, OwnLine};

/// Every thread tells one other in each of log2(n) rounds, twice as far away each time; then everybody has heard of
/// everybody (Hensgen, Finkel and Manber, 1988; Mellor-Crummey and Scott, 1991, algorithm 9 has its flags).
///
/// The flags hold the number of the episode, where the papers have parity and sense: a neighbour is at most one episode
/// ahead, so a number that is not behind is a sign for this episode.
#[derive(Debug)]
pub struct DisseminationBarrier {
    parties: Box<[Party]>,
    rounds: usize,
    fuse: Fuse,
}

/// 2^32 threads are more than any machine runs.
const MOST_ROUNDS: usize = 32;

#[derive(Debug, Default)]
struct Party {
    /// Episodes this thread has begun; nobody else reads it.
    episode: OwnLine<AtomicU32>,
    /// The last episode of which this thread was told, by round.
    told: OwnLine<[AtomicU32; MOST_ROUNDS]>,
}

/// Whether `flag` has come to `episode`; episodes may wrap around.
#[inline(always)]
pub(super) fn has_reached(flag: &AtomicU32, episode: u32) -> bool {
    // Acquire: all that the others did before they told; each of them passes on what it was told before.
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
    /// A barrier for `parties` threads, of which none waits longer than `limit`.
    #[must_use]
    pub fn new(parties: u32, limit: Duration) -> Self {
        let rounds = parties.next_power_of_two().ilog2() as usize;
        Self { parties: (0..parties).map(|_| Party::default()).collect(), rounds, fuse: Fuse::new(limit) }
    }

    /// Waits for all parties; `thread` is the caller's number, counted from 0.
    ///
    /// # Errors
    /// [`Broken`] when a party did not come within the limit.
    #[inline(always)]
    pub fn wait(&self, thread: usize) -> Result<(), Broken> {
        let own = &self.parties[thread];
        let episode = next_episode(&own.episode.0);
        for round in 0..self.rounds {
            // The distance is less than the parties: one subtraction instead of a division.
            let partner = thread + (1 << round);
            let partner = if partner < self.parties.len() { partner } else { partner - self.parties.len() };
            self.parties[partner].told.0[round].store(episode, Ordering::Release);
            self.fuse.wait(|| has_reached(&own.told.0[round], episode))?;
        }
        Ok(())
    }
}
