//! The end of waits inside a timed loop.

use std::fmt::Display;
use std::time::Duration;

use crate::sync::WaitTimeout;

/// How long a thread waits for another one in the locks, barriers and hand-offs of this crate.
pub(crate) const LIMIT: Duration = Duration::from_secs(2);

/// Leaves the timed loop when a wait timed out, by unwinding: the loop returns no result that it would have to test.
/// The team reports the timeout.
#[inline(always)]
pub(crate) fn or_unwind<T>(outcome: Result<T, WaitTimeout>) -> T {
    match outcome {
        Ok(value) => value,
        Err(timeout) => unwind(timeout),
    }
}

/// The value, or leaves the job by unwinding: the system refuses `what`. The team reports it.
#[inline(always)]
pub(crate) fn or_fail<T>(outcome: Result<T, impl Display>, what: &str) -> T {
    match outcome {
        Ok(value) => value,
        Err(error) => fail(format!("{what}: {error}")),
    }
}

#[cold]
#[inline(never)]
fn fail(message: String) -> ! {
    std::panic::resume_unwind(Box::new(message))
}

#[cold]
#[inline(never)]
fn unwind(timeout: WaitTimeout) -> ! {
    std::panic::resume_unwind(Box::new(timeout))
}
