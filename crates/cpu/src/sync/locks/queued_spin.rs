//! The queued spin lock of the Linux kernel.

use std::time::Duration;

use super::shim::{AtomicU32, Ordering};
use super::{CachePadded, RawLock, WaitLimit, WaitTimeout, nodes};

/// One word: a byte that says held, a bit of the one thread that waits next to the holder, and the last thread of an MCS queue behind
/// it (Linux, kernel/locking/qspinlock.c, by Waiman Long and Peter Zijlstra, 2014). Two threads that contend never queue.
///
/// The tail is changed as in the kernel for 16,384 CPUs and more, and numbers stand for nodes as in `mcs.rs`.
#[derive(Debug)]
pub struct QueuedSpinLock {
    word: CachePadded<AtomicU32>,
    /// For each thread whether it is the first of the queue, and the number of the thread behind; 0 before that is known.
    nodes: Box<[CachePadded<[AtomicU32; 2]>]>,
    wait_limit: WaitLimit,
}

const HELD: u32 = 1;
const PENDING: u32 = 1 << 8;
/// Threads count from 1 in units of this.
const THREAD: u32 = 1 << 9;

impl QueuedSpinLock {
    /// A free lock for `threads` threads, for which none waits longer than `limit`.
    pub fn new(threads: u32, limit: Duration) -> Self {
        Self { word: CachePadded::default(), nodes: nodes(threads), wait_limit: WaitLimit::new(limit) }
    }

    /// Changes the byte that says held, as only the holder does: a plain store on x86-64, where a store to a part of a word is one
    /// step with all accesses to it, as the addition is.
    #[inline(always)]
    fn change_held(&self, by: u32) {
        #[cfg(all(target_arch = "x86_64", not(loom)))]
        // SAFETY: the lowest byte of the word is within it, and the holder alone changes it.
        unsafe {
            let held = u8::from(by == HELD);
            std::arch::asm!("mov byte ptr [{}], {}", in(reg) self.word.as_ptr(), in(reg_byte) held, options(nostack));
        }
        #[cfg(not(all(target_arch = "x86_64", not(loom))))]
        self.word.fetch_add(by, Ordering::Release);
    }

    /// Waits as the last thread of the queue, then as its first one.
    #[inline(never)]
    fn queue(&self, number: u32) -> Result<(), WaitTimeout> {
        let [is_first, next] = &*self.nodes[number as usize - 1];
        is_first.store(0, Ordering::Relaxed);
        next.store(0, Ordering::Relaxed);
        let mut word = self.word.load(Ordering::Relaxed);
        // Release: the node. Acquire: the node before.
        let queued = |word| {
            self.word.compare_exchange(word, word % THREAD + number * THREAD, Ordering::AcqRel, Ordering::Relaxed)
        };
        while let Err(found) = queued(word) {
            word = found;
        }
        if word >= THREAD {
            self.nodes[(word / THREAD) as usize - 1][1].store(number, Ordering::Release);
            self.wait_limit.wait(|| is_first.load(Ordering::Acquire) != 0)?;
        }
        self.wait_limit.wait(|| {
            word = self.word.load(Ordering::Acquire);
            word.is_multiple_of(THREAD)
        })?;
        // Relaxed: the load above acquired the lock.
        let free = || self.word.compare_exchange(word, HELD, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if word == number * THREAD && free() {
            return Ok(());
        }
        self.change_held(HELD);
        let next = self.wait_limit.wait_while(0, || next.load(Ordering::Acquire))?;
        self.nodes[next as usize - 1][0].store(1, Ordering::Release);
        Ok(())
    }
}

// SAFETY: a thread holds the lock once it changed the word from free to held: at once; as the one pending thread, or as the first of the
// queue, for whom all others wait. The acquiring accesses of the word read what the releasing change by the holder before wrote.
unsafe impl RawLock for QueuedSpinLock {
    /// The number of the thread.
    type ThreadState = u32;

    #[inline(always)]
    fn thread_state(&self, thread: usize) -> u32 {
        thread as u32 + 1
    }

    #[inline(always)]
    unsafe fn lock(&self, number: &mut u32) -> Result<(), WaitTimeout> {
        let Err(found) = self.word.compare_exchange(0, HELD, Ordering::Acquire, Ordering::Relaxed) else {
            return Ok(());
        };
        // Acquire: the lock may be free by now.
        let before = if found <= HELD { self.word.fetch_or(PENDING, Ordering::Acquire) } else { found };
        if before > HELD {
            if found <= HELD && before & PENDING == 0 {
                self.word.fetch_sub(PENDING, Ordering::Relaxed);
            }
            return self.queue(*number);
        }
        if before == HELD {
            self.wait_limit.wait(|| self.word.load(Ordering::Acquire) & HELD == 0)?;
        }
        // Relaxed: as in the queue.
        self.word.fetch_sub(PENDING - HELD, Ordering::Relaxed);
        Ok(())
    }

    #[inline(always)]
    unsafe fn unlock(&self, _: &mut u32) -> Result<(), WaitTimeout> {
        self.change_held(HELD.wrapping_neg());
        Ok(())
    }
}
