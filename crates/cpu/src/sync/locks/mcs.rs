//! The queue lock of Mellor-Crummey and Scott.

use std::time::Duration;

use super::shim::{AtomicBool, AtomicU32, Ordering};
use super::{CachePadded, RawLock, WaitLimit, WaitTimeout, nodes};

/// A queue of waiting threads, each of which spins on a line of its own (Mellor-Crummey and Scott, 1991, algorithm 5).
///
/// The nodes of the queue belong to the lock and are named by numbers, where the paper has pointers to nodes of the
/// threads: a thread that gives up leaves no dangling pointer.
#[derive(Debug)]
pub struct McsLock {
    /// The last node of the queue; [`NONE`] when the lock is free. It is on a line of its own: the pointer to the nodes
    /// would otherwise be on the line that the other threads exchange. In the paper a thread has its node at hand.
    tail: CachePadded<AtomicU32>,
    nodes: Box<[CachePadded<Node>]>,
    wait_limit: WaitLimit,
}

#[derive(Debug, Default)]
struct Node {
    waiting: AtomicBool,
    /// The number of the node behind.
    next: AtomicU32,
}

/// No node; nodes count from 1.
const NONE: u32 = 0;

impl McsLock {
    /// A free lock for `threads` threads, for which none waits longer than `limit`.
    pub fn new(threads: u32, limit: Duration) -> Self {
        Self { tail: CachePadded::default(), nodes: nodes(threads), wait_limit: WaitLimit::new(limit) }
    }

    #[inline(always)]
    fn node(&self, number: u32) -> &Node {
        &self.nodes[number as usize - 1]
    }
}

// SAFETY: the exchanges of the tail put all nodes in one queue. The first node holds the lock. Every other one waits
// until the node before it, the only one that knows of it, clears its flag. The acquiring exchange or load reads what
// the releasing store or exchange of the node before wrote.
unsafe impl RawLock for McsLock {
    /// The number of the thread's node.
    type ThreadState = u32;

    #[inline(always)]
    fn thread_state(&self, thread: usize) -> u32 {
        thread as u32 + 1
    }

    #[inline(always)]
    unsafe fn lock(&self, number: &mut u32) -> Result<(), WaitTimeout> {
        let node = self.node(*number);
        // Relaxed: no thread knows of this node before the exchange, which releases it.
        node.next.store(NONE, Ordering::Relaxed);
        // Acquire: what the last holder did, if it left the queue empty. Release: the node, for the one behind.
        let before = self.tail.swap(*number, Ordering::AcqRel);
        if before == NONE {
            return Ok(());
        }
        // Relaxed: the next store releases it to the node before, the only one that clears it.
        node.waiting.store(true, Ordering::Relaxed);
        self.node(before).next.store(*number, Ordering::Release);
        self.wait_limit.wait(|| !node.waiting.load(Ordering::Acquire))
    }

    #[inline(always)]
    unsafe fn unlock(&self, number: &mut u32) -> Result<(), WaitTimeout> {
        let node = self.node(*number);
        // Acquire: the flag of the node behind was set before its number appeared here.
        let mut next = node.next.load(Ordering::Acquire);
        if next == NONE {
            if self.tail.compare_exchange(*number, NONE, Ordering::Release, Ordering::Relaxed).is_ok() {
                return Ok(());
            }
            // A thread has exchanged the tail and has not yet stored its number here.
            next = self.wait_limit.wait_while(NONE, || node.next.load(Ordering::Acquire))?;
        }
        self.node(next).waiting.store(false, Ordering::Release);
        Ok(())
    }
}
