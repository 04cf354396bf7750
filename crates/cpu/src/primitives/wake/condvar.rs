//! `cpu.wake.condvar`: the condition variable of Rust's standard library.

use std::sync::{Condvar, Mutex, PoisonError};

use syncscope_core::Primitive;

use super::sleeper::states_are_shown;
use super::way::Way;
use crate::primitives::entry::Entry;
use crate::primitives::wait::LIMIT;
use crate::primitives::wake;
use crate::sync::WaitTimeout;

/// In theory: the waker takes and frees the mutex, then a futex call. The waiter takes the mutex again before it goes on.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.wake.condvar",
        summary: "A change under the mutex and notify_one wake a thread that sleeps on a condition variable",
        operation: wake::OPERATION,
        source: "Rust std::sync::Condvar; POSIX.1-2017, pthread_cond_signal",
        facts: wake::FACTS,
    },
    wake::cases,
    wake::workload::<Signal>,
)
.in_studies(wake::STUDIES)
.requiring(states_are_shown);

/// The number of the last wake-up, and the signal that it has changed.
pub(super) struct Signal(Mutex<u32>, Condvar);

impl Way for Signal {
    fn new() -> Self {
        Self(Mutex::new(0), Condvar::new())
    }

    fn sleep(&self, number: u32) -> Result<(), WaitTimeout> {
        let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.1.wait_timeout_while(guard, LIMIT, |last| *last != number);
        let timed_out = waited.unwrap_or_else(PoisonError::into_inner).1.timed_out();
        if timed_out { Err(WaitTimeout) } else { Ok(()) }
    }

    #[inline]
    fn wake(&self, number: u32) {
        // Unlocked first: the woken thread does not have to wait for the mutex.
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = number;
        self.1.notify_one();
    }
}
