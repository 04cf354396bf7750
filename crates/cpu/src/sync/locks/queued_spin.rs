//! The queued spin lock of the Linux kernel.

use std::time::Duration;

use super::queue::{GRANTED, NONE, Node, Queue, number_of};
use super::shim::Ordering::{AcqRel, Acquire, Relaxed, Release};
use super::{RawLock, WaitTimeout};

/// One word: a byte that says held, a bit of the one thread that waits next to the holder, and the last thread of an MCS queue behind
/// it (Linux, kernel/locking/qspinlock.c, by Waiman Long and Peter Zijlstra, 2014). Two threads that contend never queue.
///
/// The word is the tail of the queue, which is changed as in the kernel for 16,384 CPUs and more.
#[derive(Debug)]
pub struct QueuedSpinLock(Queue<Node>);

const HELD: u32 = 1;
const PENDING: u32 = 1 << 8;
/// Threads count from 1 in units of this.
const THREAD: u32 = 1 << 9;

impl QueuedSpinLock {
    /// A free lock for `threads` threads, each of which waits at most `limit`.
    pub fn new(threads: u32, limit: Duration) -> Self {
        Self(Queue::new(threads, limit))
    }

    /// Waits next to the holder, if no thread does.
    fn pend(&self, own: u32) -> Result<(), WaitTimeout> {
        let before = self.0.tail.fetch_or(PENDING, Relaxed);
        if before > HELD {
            if before & PENDING == 0 {
                self.0.tail.fetch_sub(PENDING, Relaxed);
            }
            return self.queue(own);
        }
        self.0.wait_limit.wait(|| self.0.tail.load(Acquire) & HELD == 0)?;
        // Relaxed: the load above acquired the lock.
        self.0.tail.fetch_sub(PENDING - HELD, Relaxed);
        Ok(())
    }

    /// Waits as the last thread of the queue, then as its first one.
    #[inline(never)]
    fn queue(&self, own: u32) -> Result<(), WaitTimeout> {
        let (queue, node, word) = (&self.0, &self.0[own], &*self.0.tail);
        queue.put_behind(own, NONE);
        // Release: the node. Acquire: the node before.
        let (Ok(before) | Err(before)) = word.fetch_update(AcqRel, Relaxed, |word| Some(word % THREAD + own * THREAD));
        queue.wait_behind(before / THREAD, own, node)?;
        queue.wait_limit.wait(|| word.load(Acquire).is_multiple_of(THREAD))?;
        // Relaxed: the load above acquired the lock.
        if word.load(Relaxed) != own * THREAD || word.compare_exchange(own * THREAD, HELD, Relaxed, Relaxed).is_err() {
            queue.change_byte(0, 1, Relaxed);
            queue.grant(queue.wait_for_next(node)?, GRANTED);
        }
        Ok(())
    }
}

// SAFETY: a thread holds the lock once it changed the word from free to held: at once; as the one pending thread, or as the first of the
// queue, for whom all others wait. The acquiring accesses of the word read what the releasing change by the holder before wrote.
unsafe impl RawLock for QueuedSpinLock {
    /// The thread's number.
    type ThreadState = u32;

    #[inline(always)]
    fn thread_state(&self, thread: usize) -> u32 {
        number_of(thread)
    }

    #[inline(always)]
    unsafe fn lock(&self, own: &mut u32) -> Result<(), WaitTimeout> {
        match self.0.tail.compare_exchange(0, HELD, Acquire, Relaxed) {
            Ok(_) => Ok(()),
            Err(HELD) => self.pend(*own),
            Err(_) => self.queue(*own),
        }
    }

    #[inline(always)]
    unsafe fn unlock(&self, _: &mut u32) -> Result<(), WaitTimeout> {
        self.0.change_byte(1, 0, Release);
        Ok(())
    }
}
