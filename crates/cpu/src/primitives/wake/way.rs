//! A way to wake a sleeping thread.

use crate::sync::WaitTimeout;

/// A way for one thread to wake another one. Wake-ups are numbered from 1, and after the largest number comes 0.
pub(super) trait Way: Send + Sync + 'static {
    /// No wake-up yet.
    fn new() -> Self;

    /// Called by the waiter before it sleeps for the first time.
    fn join(&self) {}

    /// Sleeps until wake-up `number`, without spinning. Called by the waiter.
    ///
    /// # Errors
    /// [`WaitTimeout`] when it does not come within the limit.
    fn sleep(&self, number: u32) -> Result<(), WaitTimeout>;

    /// Wake-up `number`. Called by the waker.
    fn wake(&self, number: u32);
}
