//! How waits inside a timed loop end.

use std::fmt::Display;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::sync::WaitTimeout;

/// How long a thread waits for another one in the locks, barriers and hand-offs of this crate.
pub(crate) const LIMIT: Duration = Duration::from_secs(2);

/// Leaves the timed loop when a wait timed out, by unwinding: the loop returns no result that it would have to test.
/// The team reports the timeout.
#[inline(always)]
pub(crate) fn or_unwind<T>(outcome: Result<T, WaitTimeout>) -> T {
    match outcome {
        Ok(value) => value,
        Err(timeout) => leave(timeout),
    }
}

/// Returns the value, or leaves the job by unwinding where the system refuses `what`. The team reports the error.
#[inline(always)]
pub(crate) fn or_fail<T>(outcome: Result<T, impl Display>, what: &str) -> T {
    match outcome {
        Ok(value) => value,
        Err(error) => leave(format!("{what}: {error}")),
    }
}

#[cold]
#[inline(never)]
fn leave(reason: impl Send + 'static) -> ! {
    std::panic::resume_unwind(Box::new(reason))
}

/// Parks until the word is `number`. Writes that preceded this value are then visible.
///
/// # Errors
/// [`WaitTimeout`] when it does not become `number` within the limit.
#[inline(always)]
pub(super) fn park_until(word: &AtomicU32, number: u32, park: impl Fn()) -> Result<(), WaitTimeout> {
    let mut started = None;
    while word.load(Ordering::Acquire) != number {
        park();
        // Parking may end without a reason, and does so once after a wake-up that was seen without parking.
        if word.load(Ordering::Acquire) != number && started.get_or_insert_with(Instant::now).elapsed() > LIMIT / 2 {
            return Err(WaitTimeout);
        }
    }
    Ok(())
}
