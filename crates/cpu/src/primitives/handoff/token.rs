//! A token that two threads pass to each other.

use crate::sync::{CachePadded, WaitTimeout};

/// A way to pass a token between threads 0 and 1.
pub(in crate::primitives) trait Handoff: Send + Sync + 'static {
    /// How many tokens a sample passes, one after the other. One, unless the cost is that of moving a cache line: where
    /// a thread blocks, waking it takes a hundred times as long, and the library has lines of its own.
    const TOKENS: usize = 1;

    /// A token that was never passed.
    fn new() -> Self;

    /// Called by both threads before they take part. Thread 0 resets the token to one that was never passed.
    fn join(&self, thread: usize);

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
