//! What the locks with a queue share: its last thread, a node for each thread, and in an MCS queue how a thread comes
//! behind another one and how it hands over.

use std::ops::Index;
use std::time::Duration;

use super::shim::{AtomicU32, Ordering};
use super::{CachePadded, WaitLimit, WaitTimeout, nodes};

/// A queue of threads. They have numbers, where the papers have pointers to their nodes: a thread that gives up leaves no
/// dangling pointer.
#[derive(Debug)]
pub(super) struct Queue<N> {
    /// The last thread; [`NONE`] when the lock is free. It is on a line of its own: the pointer to the nodes would
    /// otherwise be on the line that the other threads exchange. In the papers a thread has its node at hand.
    pub(super) tail: CachePadded<AtomicU32>,
    nodes: Box<[CachePadded<N>]>,
    pub(super) wait_limit: WaitLimit,
}

/// No thread.
pub(super) const NONE: u32 = 0;

/// What a lock hands over if it has no other message.
pub(super) const GRANTED: u32 = 1;

/// The number of a thread that is counted from 0.
#[inline(always)]
pub(super) fn number_of(thread: usize) -> u32 {
    thread as u32 + 1
}

impl<N: Default> Queue<N> {
    /// An empty queue for `threads` threads, each of which waits at most `limit`.
    pub(super) fn new(threads: u32, limit: Duration) -> Self {
        Self { tail: CachePadded::default(), nodes: nodes(threads), wait_limit: WaitLimit::new(limit) }
    }
}

impl<N> Index<u32> for Queue<N> {
    type Output = N;

    #[inline(always)]
    fn index(&self, number: u32) -> &N {
        &self.nodes[number as usize - 1]
    }
}

impl<N> Queue<N> {
    /// Changes the lowest byte of the tail's word, where a lock keeps more than the tail. No other thread changes that byte: a plain store
    /// on x86-64, where a store to a part of a word is one step with all accesses to it, as the addition is.
    #[inline(always)]
    #[cfg_attr(loom, track_caller)]
    pub(super) fn change_byte(&self, from: u8, to: u8, ordering: Ordering) {
        #[cfg(all(target_arch = "x86_64", not(loom)))]
        let _ = (from, ordering);
        // SAFETY: the lowest byte of the word is within it. Every store of x86-64 releases.
        #[cfg(all(target_arch = "x86_64", not(loom)))]
        unsafe {
            std::arch::asm!("mov byte ptr [{}], {}", in(reg) self.tail.as_ptr(), in(reg_byte) to, options(nostack));
        }
        #[cfg(not(all(target_arch = "x86_64", not(loom))))]
        self.tail.fetch_add(u32::from(to).wrapping_sub(from.into()), ordering);
    }
}

/// A node of the queue of Mellor-Crummey and Scott, and what else a lock keeps there.
#[derive(Debug, Default)]
pub(super) struct Node<T = ()> {
    /// What the thread before handed over; [`NONE`] while this one waits.
    pub(super) granted: AtomicU32,
    /// The thread behind; [`NONE`] until it is known.
    next: AtomicU32,
    pub(super) more: T,
}

impl<T> Node<T> {
    /// The thread behind; [`NONE`] if it is not known.
    #[inline(always)]
    fn behind(&self) -> u32 {
        // Acquire: what that thread wrote to its node before its number appeared here.
        self.next.load(Ordering::Acquire)
    }
}

impl<T> Queue<Node<T>> {
    /// Makes a thread the last one, and waits until it holds the lock.
    #[inline(always)]
    pub(super) fn lock(&self, own: u32) -> Result<(), WaitTimeout> {
        let node = &self[own];
        // Relaxed: the exchange releases it.
        node.next.store(NONE, Ordering::Relaxed);
        // Acquire: what the last holder did, if it left the queue empty. Release: the node, for the thread behind.
        let before = self.tail.swap(own, Ordering::AcqRel);
        self.wait_behind(before, own, node)
    }

    /// Waits behind the thread before, if there is one, until that thread grants.
    #[inline(always)]
    pub(super) fn wait_behind(&self, before: u32, own: u32, node: &Node<T>) -> Result<(), WaitTimeout> {
        if before == NONE {
            return Ok(());
        }
        // Relaxed: the next store releases it to the thread before, the only one that grants.
        node.granted.store(NONE, Ordering::Relaxed);
        self[before].next.store(own, Ordering::Release);
        self.wait_limit.wait(|| node.granted.load(Ordering::Acquire) != NONE)
    }

    /// Hands over to a thread that waits.
    #[inline(always)]
    pub(super) fn grant(&self, number: u32, value: u32) {
        self[number].granted.store(value, Ordering::Release);
    }

    /// Leaves the queue and returns the thread behind. If this thread was the last one, `last` becomes the last.
    #[inline(always)]
    pub(super) fn leave(&self, own: u32, node: &Node<T>, last: u32) -> Result<u32, WaitTimeout> {
        let next = node.behind();
        if next != NONE {
            return Ok(next);
        }
        if self.tail.compare_exchange(own, last, Ordering::Release, Ordering::Relaxed).is_ok() {
            return Ok(NONE);
        }
        self.wait_for_next(node)
    }

    /// Waits for the thread behind, which has exchanged the tail and may not yet have stored its number here.
    #[inline(always)]
    pub(super) fn wait_for_next(&self, node: &Node<T>) -> Result<u32, WaitTimeout> {
        self.wait_limit.wait_while(NONE, || node.behind())
    }

    /// Cuts the queue that begins with `number` before its first thread that is `wanted`, if there is one. Returns the last
    /// thread of the part before, or [`NONE`], and the wanted thread.
    #[inline(always)]
    pub(super) fn cut(&self, number: u32, wanted: impl Fn(&Node<T>) -> bool) -> Option<(u32, u32)> {
        let (mut before, mut found) = (NONE, number);
        while !wanted(&self[found]) {
            (before, found) = (found, self[found].behind());
            if found == NONE {
                return None;
            }
        }
        if before != NONE {
            self.put_behind(before, NONE);
        }
        Some((before, found))
    }

    /// Puts a part of a queue that begins with `next` behind one that ends with `last`, if there are both.
    #[inline(always)]
    pub(super) fn join(&self, last: u32, next: u32) {
        if last != NONE && next != NONE {
            self.put_behind(last, next);
        }
    }

    /// Puts thread `next` behind `number`, behind which no other thread is about to queue.
    #[inline(always)]
    pub(super) fn put_behind(&self, number: u32, next: u32) {
        // Relaxed: the exchange of the tail or the grant releases it.
        self[number].next.store(next, Ordering::Relaxed);
    }
}
