//! A token that is a number of turns, alone on its cache line.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::primitives::handoff::{Handoff, LINES};
use crate::primitives::wait::LIMIT;
use crate::sync::{WaitLimit, WaitTimeout};

/// How a thread waits for its turn and gives it away.
pub(in crate::primitives) trait TakeTurn: 'static {
    /// Waits until the number is `turn`, then makes it the next one. What the other thread wrote before it gave the turn away is
    /// seen by this one.
    ///
    /// # Errors
    /// [`WaitTimeout`] when it does not become `turn` within the limit.
    fn take(turns: &AtomicU32, turn: u32, wait_limit: &WaitLimit) -> Result<(), WaitTimeout>;
}

/// The number of turns; nothing else on its line changes.
pub(in crate::primitives) struct LineToken<T> {
    turns: AtomicU32,
    wait_limit: WaitLimit,
    way: PhantomData<fn() -> T>,
}

impl<T: TakeTurn> Handoff for LineToken<T> {
    const TOKENS: usize = LINES;

    fn new() -> Self {
        Self { turns: AtomicU32::new(0), wait_limit: WaitLimit::new(LIMIT), way: PhantomData }
    }

    fn join(&self, thread: usize) {
        if thread == 0 {
            self.turns.store(0, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn pass(&self, _thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        T::take(&self.turns, turn, &self.wait_limit)
    }

    fn turns(&self) -> u32 {
        self.turns.load(Ordering::Relaxed)
    }
}
