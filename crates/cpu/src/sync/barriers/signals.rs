//! Barriers of plain stores to flags, each of which one thread waits for: the dissemination barrier and the tree barrier of
//! Mellor-Crummey and Scott; and a flat one.

use std::time::Duration;

use super::shim::{AtomicU32, Ordering, count_up};
use super::{Barrier, CachePadded, WaitLimit, WaitTimeout};

/// Every thread signals one other thread in each of log2(n) rounds, at twice the distance each time. Then every thread
/// has heard of every other (Hensgen, Finkel and Manber, 1988; Mellor-Crummey and Scott, 1991, algorithm 9).
///
/// The flags hold the number of the episode, where the papers have parity and sense. A partner is at most one episode
/// ahead, so a number that is not behind is a signal of this episode.
#[derive(Debug)]
pub struct DisseminationBarrier {
    threads: Box<[Signalled]>,
    rounds: usize,
    wait_limit: WaitLimit,
}

/// 2^32 threads are more than any machine runs.
const MAX_ROUNDS: usize = 32;

#[derive(Debug, Default)]
struct Signalled {
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

impl DisseminationBarrier {
    /// A barrier for `threads` threads, each of which waits at most `limit`.
    pub fn new(threads: u32, limit: Duration) -> Self {
        let rounds = threads.next_power_of_two().ilog2() as usize;
        Self {
            threads: (0..threads).map(|_| Signalled::default()).collect(),
            rounds,
            wait_limit: WaitLimit::new(limit),
        }
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
        let episode = count_up(&own.episode);
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

/// Every thread reports on a line of its own, thread 0 looks at one line after the other, and one line tells all others to go on.
#[derive(Debug)]
pub struct FlatBarrier {
    /// The last episode that each thread has reached, each on a line of its own.
    arrived: Box<[CachePadded<AtomicU32>]>,
    /// The last episode that all may leave.
    left: CachePadded<AtomicU32>,
    wait_limit: WaitLimit,
}

impl FlatBarrier {
    /// A barrier for `threads` threads, each of which waits at most `limit`.
    pub fn new(threads: u32, limit: Duration) -> Self {
        let arrived = (0..threads).map(|_| CachePadded::new(AtomicU32::new(0))).collect();
        Self { arrived, left: CachePadded::new(AtomicU32::new(0)), wait_limit: WaitLimit::new(limit) }
    }
}

impl Barrier for FlatBarrier {
    /// The thread's number.
    type Local = usize;

    fn join(&self, thread: usize) -> usize {
        thread
    }

    #[inline(always)]
    fn wait(&self, thread: &mut usize) -> Result<(), WaitTimeout> {
        let (own, others) = (&self.arrived[*thread], &self.arrived[1..]);
        // Relaxed: no other thread writes this flag.
        let episode = own.load(Ordering::Relaxed).wrapping_add(1);
        // Release: what this thread did before. Nobody reads the flag of thread 0.
        own.store(episode, Ordering::Release);
        if *thread > 0 {
            return self.wait_limit.wait(|| has_reached(&self.left, episode));
        }
        for flag in others {
            self.wait_limit.wait(|| has_reached(flag, episode))?;
        }
        // Release: all that thread 0 acquired, passed on.
        self.left.store(episode, Ordering::Release);
        Ok(())
    }
}

/// The threads are the nodes of two trees (Mellor-Crummey and Scott, 1991, algorithm 11). Up the first tree, with four
/// children each, they report that all threads below have arrived. Down the second tree, with two children each, they
/// wake each other. There are only plain stores, and each thread spins on lines of its own.
///
/// Flags hold the number of the episode, where the paper has senses.
#[derive(Debug)]
pub struct TreeBarrier {
    threads: Box<[Node]>,
    wait_limit: WaitLimit,
}

const ARRIVAL_CHILDREN: usize = 4;
const WAKE_CHILDREN: usize = 2;

#[derive(Debug, Default)]
struct Node {
    /// Episodes that this thread has begun; no other thread reads it.
    episode: CachePadded<AtomicU32>,
    /// The last episode to which each child, and all threads below it, have arrived.
    arrived: CachePadded<[AtomicU32; ARRIVAL_CHILDREN]>,
    /// The last episode that this thread may leave.
    woken: CachePadded<AtomicU32>,
}

/// The children of node `thread` in a tree of `threads` nodes, numbered level by level.
#[inline(always)]
pub(super) fn children<const ARITY: usize>(thread: usize, threads: usize) -> std::ops::Range<usize> {
    let first = (ARITY * thread + 1).min(threads);
    first..(first + ARITY).min(threads)
}

impl TreeBarrier {
    /// A barrier for `threads` threads, each of which waits at most `limit`.
    pub fn new(threads: u32, limit: Duration) -> Self {
        Self { threads: (0..threads).map(|_| Node::default()).collect(), wait_limit: WaitLimit::new(limit) }
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
        let episode = count_up(&own.episode);
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
