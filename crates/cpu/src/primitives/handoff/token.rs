//! A token that two threads pass to each other.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::evidence::Expected;
use crate::primitives::wait::LIMIT;
use crate::sync::{CachePadded, WaitLimit, WaitTimeout};

/// A way to pass a token between threads 0 and 1.
pub(in crate::primitives) trait Handoff: Send + Sync + 'static {
    /// How many tokens a sample passes, one after the other. One, unless the cost is that of moving a cache line: where
    /// a thread blocks, waking it takes a hundred times as long, and the library has lines of its own.
    const TOKENS: usize = 1;

    /// What the machine code of its loops must hold.
    const EXPECTED: Expected;

    /// Whether a thread that waits blocks in the kernel.
    const BLOCKS: bool = true;

    /// A token that was never passed.
    fn new() -> Self;

    /// Called by both threads before they take part.
    fn join(&self, _thread: usize) {}

    /// Makes the token one that was never passed. Called by thread 0 before the threads take part.
    fn reset(&self);

    /// Waits until the token was passed `turn` times, then passes it to the other thread.
    ///
    /// # Errors
    /// [`WaitTimeout`] when the other thread does not pass it within the limit.
    fn pass(&self, thread: usize, turn: u32) -> Result<(), WaitTimeout>;

    /// How often the token was passed; called by one thread while no thread passes it.
    fn turns(&self) -> u32;
}

/// Tokens of a sample whose cost is that of moving a line. A sample of 40 us has an iteration for each of them if a
/// hand-off takes 80 ns or less. Slower hand-offs use some of them.
pub(super) const LINES: usize = 16;

/// How often all of these tokens together were passed. For one thread at a time: reading a token may mean to take it.
pub(super) fn counted<H: Handoff>(tokens: &[CachePadded<H>]) -> u64 {
    tokens.iter().map(|token| u64::from(token.turns())).sum()
}

/// Prepares tokens for both threads; `thread` is the one that calls.
pub(super) fn prepare<H: Handoff>(tokens: &[CachePadded<H>], thread: usize) {
    for token in tokens {
        token.join(thread);
        if thread == 0 {
            token.reset();
        }
    }
}

/// How a thread waits for its turn and gives it away.
pub(in crate::primitives) trait TakeTurn: 'static {
    /// As that of [`Handoff`].
    const EXPECTED: Expected = Expected::Uncounted("a hand-off by plain stores has no instruction of its own");

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
    const EXPECTED: Expected = T::EXPECTED;
    const BLOCKS: bool = false;

    fn new() -> Self {
        Self { turns: AtomicU32::new(0), wait_limit: WaitLimit::new(LIMIT), way: PhantomData }
    }

    fn reset(&self) {
        self.turns.store(0, Ordering::Relaxed);
    }

    #[inline(always)]
    fn pass(&self, _thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        T::take(&self.turns, turn, &self.wait_limit)
    }

    fn turns(&self) -> u32 {
        self.turns.load(Ordering::Relaxed)
    }
}
