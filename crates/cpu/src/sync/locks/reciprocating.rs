//! The reciprocating lock.

use std::time::Duration;

use super::shim::{AtomicU32, Ordering};
use super::{CachePadded, RawLock, WaitLimit, WaitTimeout, nodes};

/// Threads push themselves on a stack of arrivals; a holder that finds its segment empty detaches the stack as the next segment,
/// whose threads follow each other from its top (Dice and Kogan, *Reciprocating Locks*, PPoPP 2025, listing 1). A lock is one word,
/// each thread spins on a line of its own, and a thread waits for at most two turns of every other one.
///
/// Elements are numbers, as in `queue.rs`. The end of a segment is known by the element of the thread that held the lock when its
/// first thread arrived; it is compared only, and may be on the next stack by then.
#[derive(Debug)]
pub struct ReciprocatingLock {
    /// The last arrival; [`FREE`], or [`NO_ARRIVALS`] where the lock is held.
    arrivals: CachePadded<AtomicU32>,
    /// For each thread, once it holds the lock, the end of its segment; [`WAITING`] before. The first gate belongs to no thread.
    gates: Box<[CachePadded<AtomicU32>]>,
    wait_limit: WaitLimit,
}

const FREE: u32 = 0;
const WAITING: u32 = 0;
/// No thread.
const NONE: u32 = 0;
const NO_ARRIVALS: u32 = u32::MAX;

/// A thread's number, counted from 1, and while it holds the lock the next thread of its segment and the end of the segment.
#[derive(Debug)]
pub struct ReciprocatingState {
    number: u32,
    next: u32,
    end: u32,
}

impl ReciprocatingLock {
    /// A free lock for `threads` threads, each of which waits at most `limit`.
    pub fn new(threads: u32, limit: Duration) -> Self {
        Self { arrivals: CachePadded::default(), gates: nodes(threads + 1), wait_limit: WaitLimit::new(limit) }
    }
}

// SAFETY: one thread finds the word free, or one thread has its gate opened: by the holder before, which opens one gate. The gate of
// a thread is opened once for each time that it arrived, by the thread that arrived next or by the one that detached the stack. The
// acquiring exchange or load reads what the releasing compare-and-swap or store of the holder before wrote.
unsafe impl RawLock for ReciprocatingLock {
    type ThreadState = ReciprocatingState;

    #[inline(always)]
    fn thread_state(&self, thread: usize) -> ReciprocatingState {
        ReciprocatingState { number: thread as u32 + 1, next: NONE, end: NONE }
    }

    #[inline(always)]
    unsafe fn lock(&self, state: &mut ReciprocatingState) -> Result<(), WaitTimeout> {
        let gate = &*self.gates[state.number as usize];
        // Relaxed: no thread opens this gate before it has seen the exchange, which releases it.
        gate.store(WAITING, Ordering::Relaxed);
        // Acquire: what the last holder did, if it left the lock free; and the gate of the thread before.
        let before = self.arrivals.swap(state.number, Ordering::AcqRel);
        (state.next, state.end) = (NONE, state.number);
        if before == FREE {
            return Ok(());
        }
        let end = self.wait_limit.wait_while(WAITING, || gate.load(Ordering::Acquire))?;
        let is_last = before == NO_ARRIVALS || before == end;
        (state.next, state.end) = if is_last { (NONE, NO_ARRIVALS) } else { (before, end) };
        Ok(())
    }

    #[inline(always)]
    unsafe fn unlock(&self, state: &mut ReciprocatingState) -> Result<(), WaitTimeout> {
        let mut next = state.next;
        if next == NONE {
            if self.arrivals.compare_exchange(state.end, FREE, Ordering::Release, Ordering::Relaxed).is_ok() {
                return Ok(());
            }
            // Acquire: the gate of the last arrival, which waits.
            next = self.arrivals.swap(NO_ARRIVALS, Ordering::Acquire);
        }
        self.gates[next as usize].store(state.end, Ordering::Release);
        Ok(())
    }
}
