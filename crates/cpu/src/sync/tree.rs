//! The tree barrier of Mellor-Crummey and Scott.

use std::time::Duration;

use super::dissemination::{has_reached, next_episode};
use super::shim::{AtomicU32, Ordering};
use super::{Broken, Fuse, OwnLine};

/// Threads are the nodes of two trees: up the first one, with four children each, they report that all below have
/// arrived; down the second, with two children each, they wake each other (Mellor-Crummey and Scott, 1991, algorithm
/// 11). Plain stores only, and each thread spins on lines of its own.
///
/// Flags hold the number of the episode, where the paper has senses.
#[derive(Debug)]
pub struct TreeBarrier {
    parties: Box<[Party]>,
    fuse: Fuse,
}

const ARRIVAL_CHILDREN: usize = 4;
const WAKE_CHILDREN: usize = 2;

#[derive(Debug, Default)]
struct Party {
    /// Episodes this thread has begun; nobody else reads it.
    episode: OwnLine<AtomicU32>,
    /// The last episode to which each child, and all below it, has arrived.
    arrived: OwnLine<[AtomicU32; ARRIVAL_CHILDREN]>,
    /// The last episode that this thread may leave.
    woken: OwnLine<AtomicU32>,
}

/// The children of node `thread` in a tree of `parties` nodes, numbered level by level.
#[inline(always)]
fn children<const ARITY: usize>(thread: usize, parties: usize) -> std::ops::Range<usize> {
    let first = (ARITY * thread + 1).min(parties);
    first..(first + ARITY).min(parties)
}

impl TreeBarrier {
    /// A barrier for `parties` threads, of which none waits longer than `limit`.
    #[must_use]
    pub fn new(parties: u32, limit: Duration) -> Self {
        Self { parties: (0..parties).map(|_| Party::default()).collect(), fuse: Fuse::new(limit) }
    }

    /// Waits for all parties; `thread` is the caller's number, counted from 0.
    ///
    /// # Errors
    /// [`Broken`] when a party did not come within the limit.
    #[inline(always)]
    pub fn wait(&self, thread: usize) -> Result<(), Broken> {
        let own = &self.parties[thread];
        let episode = next_episode(&own.episode.0);
        let below = children::<ARRIVAL_CHILDREN>(thread, self.parties.len());
        for flag in &own.arrived.0[..below.len()] {
            self.fuse.wait(|| has_reached(flag, episode))?;
        }
        if thread != 0 {
            let (parent, child) = ((thread - 1) / ARRIVAL_CHILDREN, (thread - 1) % ARRIVAL_CHILDREN);
            // Release: what this thread did, and what it acquired of those below.
            self.parties[parent].arrived.0[child].store(episode, Ordering::Release);
            self.fuse.wait(|| has_reached(&own.woken.0, episode))?;
        }
        for child in children::<WAKE_CHILDREN>(thread, self.parties.len()) {
            // Release: all that the root acquired, handed down.
            self.parties[child].woken.0.store(episode, Ordering::Release);
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::children;

    #[test]
    fn every_node_but_the_root_has_one_parent() {
        for parties in 1..40 {
            let up: Vec<usize> = (0..parties).flat_map(|node| children::<4>(node, parties)).collect();
            let down: Vec<usize> = (0..parties).flat_map(|node| children::<2>(node, parties)).collect();
            assert_eq!(up, (1..parties).collect::<Vec<_>>());
            assert_eq!(down, up);
        }
    }
}
