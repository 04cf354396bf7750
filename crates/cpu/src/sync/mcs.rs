//! The queue lock of Mellor-Crummey and Scott.

use std::time::Duration;

use super::shim::{AtomicBool, AtomicU32, Ordering};
use super::{Broken, Fuse, OwnLine, RawLock};

/// A queue of waiting threads, each of which spins on a line of its own (Mellor-Crummey and Scott, 1991, algorithm 5).
///
/// The places in the queue are numbers of nodes that belong to the lock, where the paper has pointers to nodes of the
/// threads: a thread that gives up leaves nothing dangling.
#[derive(Debug)]
pub struct McsLock {
    /// Place of the last one in the queue; [`NOBODY`] when the lock is free. Away from the way to the nodes, which the
    /// paper's threads have on their own stacks: who looked for its node would fetch the line that the others exchange.
    tail: OwnLine<AtomicU32>,
    nodes: Box<[OwnLine<Node>]>,
    fuse: Fuse,
}

#[derive(Debug)]
struct Node {
    waiting: AtomicBool,
    /// Place of the one behind.
    next: AtomicU32,
}

/// Places count from 1.
const NOBODY: u32 = 0;

impl McsLock {
    /// A free lock for `threads` threads, for which none waits longer than `limit`.
    #[must_use]
    pub fn new(threads: u32, limit: Duration) -> Self {
        let node = |_| OwnLine(Node { waiting: AtomicBool::new(false), next: AtomicU32::new(NOBODY) });
        Self { tail: OwnLine(AtomicU32::new(NOBODY)), nodes: (0..threads).map(node).collect(), fuse: Fuse::new(limit) }
    }

    #[inline(always)]
    fn node(&self, place: u32) -> &Node {
        &self.nodes[place as usize - 1].0
    }
}

// SAFETY: exchanges of the tail put all seats in one line. The first in it holds the lock; every other one waits until
// the one before it, which alone knows of it, clears its flag. The acquiring exchange or load reads what the releasing
// store or exchange of the one before wrote.
unsafe impl RawLock for McsLock {
    /// The thread's place in the queue.
    type Seat = u32;

    #[inline(always)]
    fn seat(&self, thread: usize) -> u32 {
        thread as u32 + 1
    }

    #[inline(always)]
    unsafe fn lock(&self, place: &mut u32) -> Result<(), Broken> {
        let node = self.node(*place);
        // Relaxed: nobody knows of this node before the exchange, which releases it.
        node.next.store(NOBODY, Ordering::Relaxed);
        // Acquire: what the last holder did, if it left the queue empty. Release: the node for the one behind.
        let before = self.tail.0.swap(*place, Ordering::AcqRel);
        if before == NOBODY {
            return Ok(());
        }
        // Relaxed: the next store releases it to the one before, the only one who clears it.
        node.waiting.store(true, Ordering::Relaxed);
        self.node(before).next.store(*place, Ordering::Release);
        self.fuse.wait(|| !node.waiting.load(Ordering::Acquire))
    }

    #[inline(always)]
    unsafe fn unlock(&self, place: &mut u32) -> Result<(), Broken> {
        let node = self.node(*place);
        // Acquire: the flag of the one behind was set before it announced itself here.
        let mut next = node.next.load(Ordering::Acquire);
        if next == NOBODY {
            if self.tail.0.compare_exchange(*place, NOBODY, Ordering::Release, Ordering::Relaxed).is_ok() {
                return Ok(());
            }
            // Somebody is between its exchange of the tail and its announcement.
            self.fuse.wait(|| {
                next = node.next.load(Ordering::Acquire);
                next != NOBODY
            })?;
        }
        self.node(next).waiting.store(false, Ordering::Release);
        Ok(())
    }
}
