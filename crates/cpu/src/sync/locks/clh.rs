//! The queue lock of Craig, and of Landin and Hagersten.

use std::time::Duration;

use super::shim::{AtomicBool, AtomicU32, Ordering};
use super::{CachePadded, RawLock, WaitLimit, WaitTimeout};

/// A queue of waiting threads, each of which spins on the node of the thread before it (Craig, *Building FIFO and
/// priority-queueing spin locks from atomic swap*, 1993; Magnusson, Landin and Hagersten, IPPS 1994). There is one node more than
/// threads: the thread that takes the lock takes over the node before its own, because nobody else reads it.
///
/// The nodes belong to the lock and are named by numbers, as in `queue.rs`. The lock remembers which node each thread owns
/// between two acquisitions, as in the variant with a standard interface (Scott, *Shared-Memory Synchronization*, 2013,
/// 4.3.2). That is one store to a line that no other thread touches.
#[derive(Debug)]
pub struct ClhLock {
    /// The last node of the queue, on a line of its own.
    tail: CachePadded<AtomicU32>,
    /// Whether the thread that queued with this node still waits or holds the lock.
    taken: Box<[CachePadded<AtomicBool>]>,
    /// The node of each thread; no other thread reads it.
    owned: Box<[CachePadded<AtomicU32>]>,
    wait_limit: WaitLimit,
}

/// A thread's number and, while it holds the lock, its node and the one before.
#[derive(Debug)]
pub struct ClhState {
    thread: usize,
    node: u32,
    before: u32,
}

impl ClhLock {
    /// A free lock for `threads` threads, each of which waits at most `limit`.
    pub fn new(threads: u32, limit: Duration) -> Self {
        // Node number `threads` belongs to no thread: it is the end of the empty queue.
        Self {
            tail: CachePadded::new(AtomicU32::new(threads)),
            taken: (0..=threads).map(|_| CachePadded::new(AtomicBool::new(false))).collect(),
            owned: (0..threads).map(|thread| CachePadded::new(AtomicU32::new(thread))).collect(),
            wait_limit: WaitLimit::new(limit),
        }
    }
}

// SAFETY: the exchanges of the tail put all nodes in one queue. A thread holds the lock when the node before its own is
// not taken, and its own is until it gives the lock back. The acquiring load reads what the releasing store of the thread
// before wrote. A node is used again by one thread alone: the only one that read its number from the tail.
unsafe impl RawLock for ClhLock {
    type ThreadState = ClhState;

    #[inline(always)]
    fn thread_state(&self, thread: usize) -> ClhState {
        // Relaxed: it is this thread's own, or was handed over with the thread's number.
        let node = self.owned[thread].load(Ordering::Relaxed);
        ClhState { thread, node, before: node }
    }

    #[inline(always)]
    unsafe fn lock(&self, state: &mut ClhState) -> Result<(), WaitTimeout> {
        // Relaxed: no thread knows of this node before the exchange, which releases it.
        self.taken[state.node as usize].store(true, Ordering::Relaxed);
        // Release: the flag above, for the thread behind. Acquire: the flag of the node before.
        state.before = self.tail.swap(state.node, Ordering::AcqRel);
        let before = &*self.taken[state.before as usize];
        self.wait_limit.wait(|| !before.load(Ordering::Acquire))
    }

    #[inline(always)]
    unsafe fn unlock(&self, state: &mut ClhState) -> Result<(), WaitTimeout> {
        let given_up = std::mem::replace(&mut state.node, state.before);
        // Relaxed: see `thread_state`.
        self.owned[state.thread].store(state.node, Ordering::Relaxed);
        self.taken[given_up as usize].store(false, Ordering::Release);
        Ok(())
    }
}
