//! The compact NUMA-aware lock.

use std::time::Duration;

use super::queue::{NONE, Node, Queue, number_of};
use super::shim::{AtomicU32, Ordering, count_up};
use super::{RawLock, WaitTimeout};

/// An MCS lock whose holder passes it to the next thread of its own group, and moves the threads in between to a second queue, to
/// which the first node of the main one refers (Dice and Kogan, *Compact NUMA-aware Locks*, EuroSys 2019, figures 2 to 4). A lock
/// is one word.
///
/// A grant names the first thread of the second queue, or `EMPTY`.
#[derive(Debug)]
pub struct CnaLock {
    queue: Queue<Node<Member>>,
    /// How often the lock was passed on.
    passes: AtomicU32,
    group_of: fn(usize) -> usize,
}

/// Relaxed: the holder alone accesses it, and changes the order of the waiters.
#[derive(Debug, Default)]
struct Member {
    group: AtomicU32,
    /// In the first thread of the second queue: the last thread there.
    last: AtomicU32,
}

const EMPTY: u32 = u32::MAX;

/// One pass in this many serves the second queue: the mean of the paper's coin.
const PASSES: u32 = if cfg!(any(loom, test)) { 2 } else { 0x1_0000 };

impl CnaLock {
    /// A free lock for `threads` threads; `group_of` names the group of a thread, and is called by the thread itself. A thread
    /// waits at most `limit`.
    pub fn new(threads: u32, group_of: fn(usize) -> usize, limit: Duration) -> Self {
        Self { queue: Queue::new(threads, limit), passes: AtomicU32::default(), group_of }
    }

    /// The next thread of the holder's group, if there is one. The threads before it move behind the `last` one of the second
    /// queue, which then begins with `first`.
    fn find_successor(&self, own: &Node<Member>, next: u32, first: u32, last: u32) -> Option<u32> {
        let group = |node: &Node<Member>| node.more.group.load(Ordering::Relaxed);
        let (before, local) = self.queue.cut(next, |node| group(node) == group(own))?;
        if before != NONE {
            self.queue.join(last, next);
            self.queue[first].more.last.store(before, Ordering::Relaxed);
            own.granted.store(first, Ordering::Relaxed);
        }
        Some(local)
    }
}

// SAFETY: as for an MCS lock. The holder alone changes the order of the waiters, and only of nodes that have one behind, so that
// no arriving thread writes there.
unsafe impl RawLock for CnaLock {
    /// The thread's number.
    type ThreadState = u32;

    fn thread_state(&self, thread: usize) -> u32 {
        self.queue[number_of(thread)].more.group.store((self.group_of)(thread) as u32, Ordering::Relaxed);
        number_of(thread)
    }

    #[inline(always)]
    unsafe fn lock(&self, own: &mut u32) -> Result<(), WaitTimeout> {
        self.queue[*own].granted.store(EMPTY, Ordering::Relaxed);
        self.queue.lock(*own)
    }

    #[inline(always)]
    unsafe fn unlock(&self, own: &mut u32) -> Result<(), WaitTimeout> {
        let (queue, node) = (&self.queue, &self.queue[*own]);
        let second = node.granted.load(Ordering::Relaxed);
        let last = if second == EMPTY { NONE } else { queue[second].more.last.load(Ordering::Relaxed) };
        let next = queue.leave(*own, node, last)?;
        let first = if second == EMPTY { next } else { second };
        let stays = next != NONE && !count_up(&self.passes).is_multiple_of(PASSES);
        if stays && let Some(local) = self.find_successor(node, next, first, last) {
            queue.grant(local, node.granted.load(Ordering::Relaxed));
        } else if first != NONE {
            queue.join(last, next);
            queue.grant(first, EMPTY);
        }
        Ok(())
    }
}
