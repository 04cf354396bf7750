//! The tree barrier of Mellor-Crummey and Scott.

use std::time::Duration;

use super::dissemination::{has_reached, next_episode};
use super::shim::{AtomicU32, Ordering};
use super::{Barrier, CachePadded, WaitLimit, WaitTimeout};

/// The threads are the nodes of two trees (Mellor-Crummey and Scott, 1991, algorithm 11). Up the first tree, with four
/// children each, they report that all threads below have arrived. Down the second tree, with two children each, they
/// wake each other. There are only plain stores, and each thread spins on lines of its own.
///
/// Flags hold the number of the episode, where the paper has senses.
#[derive(Debug)]
pub struct TreeBarrier {
    threads: Box<[Thread]>,
    wait_limit: WaitLimit,
}

const ARRIVAL_CHILDREN: usize = 4;
const WAKE_CHILDREN: usize = 2;

#[derive(Debug, Default)]
struct Thread {
    /// Episodes that this thread has begun; no other thread reads it.
    episode: CachePadded<AtomicU32>,
    /// The last episode to which each child, and all threads below it, have arrived.
    arrived: CachePadded<[AtomicU32; ARRIVAL_CHILDREN]>,
    /// The last episode that this thread may leave.
    woken: CachePadded<AtomicU32>,
}

/// The children of node `thread` in a tree of `threads` nodes, numbered level by level.
#[inline(always)]
fn children<const ARITY: usize>(thread: usize, threads: usize) -> std::ops::Range<usize> {
    let first = (ARITY * thread + 1).min(threads);
    first..(first + ARITY).min(threads)
}

impl TreeBarrier {
    /// A barrier for `threads` threads, of which none waits longer than `limit`.
    #[must_use]
    pub fn new(threads: u32, limit: Duration) -> Self {
        Self { threads: (0..threads).map(|_| Thread::default()).collect(), wait_limit: WaitLimit::new(limit) }
    }
}

impl Barrier for TreeBarrier {
    /// The thread's number.
    type Local = usize;

    fn join(&self, thread: usize) -> usize {
        thread
    }

    #[inline(always)]
    fn wait(&self, thread: &mut usize) -> Result<(), WaitTimeout> {
        let thread = *thread;
        let own = &self.threads[thread];
        let episode = next_episode(&own.episode);
        let below = children::<ARRIVAL_CHILDREN>(thread, self.threads.len());
        for flag in &own.arrived[..below.len()] {
            self.wait_limit.wait(|| has_reached(flag, episode))?;
        }
        if thread != 0 {
            let (parent, child) = ((thread - 1) / ARRIVAL_CHILDREN, (thread - 1) % ARRIVAL_CHILDREN);
            // Release: what this thread did, and what it acquired of the threads below.
            self.threads[parent].arrived[child].store(episode, Ordering::Release);
            self.wait_limit.wait(|| has_reached(&own.woken, episode))?;
        }
        for child in children::<WAKE_CHILDREN>(thread, self.threads.len()) {
            // Release: all that the root acquired, passed down.
            self.threads[child].woken.store(episode, Ordering::Release);
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::children;

    #[test]
    fn every_node_but_the_root_has_one_parent() {
        for threads in 1..40 {
            let up: Vec<usize> = (0..threads).flat_map(|node| children::<4>(node, threads)).collect();
            let down: Vec<usize> = (0..threads).flat_map(|node| children::<2>(node, threads)).collect();
            assert_eq!(up, (1..threads).collect::<Vec<_>>());
            assert_eq!(down, up);
        }
    }
}
