//! The end of waits inside a timed loop.

use std::time::Duration;

use crate::sync::WaitTimeout;

/// How long a thread of the project's own locks, barriers and hand-offs waits for another one before it gives up.
pub(super) const LIMIT: Duration = Duration::from_secs(2);

/// Leaves the timed loop when a wait timed out: without a test in the path of the other threads, and without a message. The
/// team reports it.
#[inline(always)]
pub(super) fn or_unwind<T>(outcome: Result<T, WaitTimeout>) -> T {
    match outcome {
        Ok(value) => value,
        Err(broken) => unwind(broken),
    }
}

#[cold]
#[inline(never)]
fn unwind(broken: WaitTimeout) -> ! {
    std::panic::resume_unwind(Box::new(broken))
}
