//! How the runner reads the time, and what it does between two queries.

use std::time::{Duration, Instant};

/// The time as the runner sees it.
pub(crate) trait Clock {
    /// The current time.
    fn now(&self) -> Instant;

    /// Pauses as briefly as possible and keeps the CPU.
    fn spin(&self);

    /// Gives the CPU away for about this time.
    fn sleep(&self, pause: Duration);
}

/// The host's monotonic clock.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HostClock;

impl Clock for HostClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn spin(&self) {
        std::hint::spin_loop();
    }

    fn sleep(&self, pause: Duration) {
        std::thread::sleep(pause);
    }
}
