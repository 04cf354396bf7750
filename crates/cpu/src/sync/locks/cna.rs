//! The compact NUMA-aware lock.

use std::time::Duration;

use super::shim::{AtomicU32, Ordering};
use super::{CachePadded, RawLock, WaitLimit, WaitTimeout, nodes};

/// An MCS lock whose holder passes it to the next thread of its own group, and moves those in between to a second queue, for which the
/// first node of the main one stands (Dice and Kogan, *Compact NUMA-aware Locks*, EuroSys 2019, figures 2 to 4). One word for a lock.
///
/// Nodes have numbers, as in `mcs.rs`, here from 2.
#[derive(Debug)]
pub struct CnaLock {
    /// The last node of the main queue; [`NONE`] when the lock is free.
    tail: CachePadded<AtomicU32>,
    nodes: Box<[CachePadded<Node>]>,
    /// Passes within the group since another one was served; only the holder accesses it.
    passes: CachePadded<AtomicU32>,
    group_of: fn(usize) -> usize,
    wait_limit: WaitLimit,
}

#[derive(Debug, Default)]
struct Node {
    /// [`NONE`] while its thread waits; for the holder the first node of the second queue, or [`EMPTY`].
    second: AtomicU32,
    /// Of the first node of the second queue: its last one.
    last: AtomicU32,
    next: AtomicU32,
    group: AtomicU32,
}

const NONE: u32 = 0;
const EMPTY: u32 = 1;
const FIRST: u32 = 2;

/// Passes within a group before the second queue is served: the mean of the paper's coin.
const MOST_PASSES: u32 = if cfg!(any(loom, test)) { 1 } else { 0xFFFF };

impl CnaLock {
    /// A free lock for `threads` threads; `group_of` names the group of a thread, and is called by the thread itself. None waits longer
    /// than `limit`.
    pub fn new(threads: u32, group_of: fn(usize) -> usize, limit: Duration) -> Self {
        let (tail, passes) = Default::default();
        Self { tail, nodes: nodes(threads), passes, group_of, wait_limit: WaitLimit::new(limit) }
    }

    #[inline(always)]
    fn node(&self, number: u32) -> &Node {
        &self.nodes[(number - FIRST) as usize]
    }

    /// The node behind.
    #[inline(always)]
    fn behind(node: &Node) -> u32 {
        // Acquire: that node.
        node.next.load(Ordering::Acquire)
    }

    /// The next thread of the holder's group; those before it move to the second queue. Relaxed, as the holder alone does so.
    fn successor(&self, own: &Node) -> Option<u32> {
        let (skipped, group) = (Self::behind(own), own.group.load(Ordering::Relaxed));
        let (mut last, mut next) = (NONE, skipped);
        while next != NONE && self.node(next).group.load(Ordering::Relaxed) != group {
            (last, next) = (next, Self::behind(self.node(next)));
        }
        if next != NONE && last != NONE {
            let mut first = own.second.load(Ordering::Relaxed);
            if first == EMPTY {
                first = skipped;
                own.second.store(first, Ordering::Relaxed);
            } else {
                self.node(self.node(first).last.load(Ordering::Relaxed)).next.store(skipped, Ordering::Relaxed);
            }
            self.node(last).next.store(NONE, Ordering::Relaxed);
            self.node(first).last.store(last, Ordering::Relaxed);
        }
        (next != NONE).then_some(next)
    }
}

// SAFETY: as for an MCS lock. The holder alone changes the order of those who wait: of nodes that have one behind, so that no thread that
// arrives writes there.
unsafe impl RawLock for CnaLock {
    /// The number of the thread's node.
    type ThreadState = u32;

    #[inline(always)]
    fn thread_state(&self, thread: usize) -> u32 {
        self.nodes[thread].group.store((self.group_of)(thread) as u32, Ordering::Relaxed);
        thread as u32 + FIRST
    }

    #[inline(always)]
    unsafe fn lock(&self, number: &mut u32) -> Result<(), WaitTimeout> {
        let own = self.node(*number);
        own.next.store(NONE, Ordering::Relaxed);
        own.second.store(EMPTY, Ordering::Relaxed);
        // As in `mcs.rs`.
        let before = self.tail.swap(*number, Ordering::AcqRel);
        if before == NONE {
            return Ok(());
        }
        own.second.store(NONE, Ordering::Relaxed);
        self.node(before).next.store(*number, Ordering::Release);
        self.wait_limit.wait(|| own.second.load(Ordering::Acquire) != NONE)
    }

    #[inline(always)]
    unsafe fn unlock(&self, number: &mut u32) -> Result<(), WaitTimeout> {
        let own = self.node(*number);
        let first = own.second.load(Ordering::Relaxed);
        if Self::behind(own) == NONE {
            // The second queue becomes the main one.
            let last = if first == EMPTY { NONE } else { self.node(first).last.load(Ordering::Relaxed) };
            if self.tail.compare_exchange(*number, last, Ordering::Release, Ordering::Relaxed).is_ok() {
                if first != EMPTY {
                    self.node(first).second.store(EMPTY, Ordering::Release);
                }
                return Ok(());
            }
            self.wait_limit.wait(|| Self::behind(own) != NONE)?;
        }
        let passes = self.passes.load(Ordering::Relaxed);
        let local = if passes < MOST_PASSES { self.successor(own) } else { None };
        self.passes.store(local.map_or(0, |_| passes + 1), Ordering::Relaxed);
        let first = own.second.load(Ordering::Relaxed);
        let (next, second) = match local {
            Some(next) => (next, first),
            None if first == EMPTY => (Self::behind(own), EMPTY),
            None => {
                let last = self.node(self.node(first).last.load(Ordering::Relaxed));
                last.next.store(Self::behind(own), Ordering::Relaxed);
                (first, EMPTY)
            }
        };
        self.node(next).second.store(second, Ordering::Release);
        Ok(())
    }
}
