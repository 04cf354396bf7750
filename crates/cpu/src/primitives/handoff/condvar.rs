//! `cpu.handoff.condvar`: a condition variable.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use syncscope_core::Primitive;

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::handoff::{self, Handoff};
use crate::primitives::wait::LIMIT;
use crate::primitives::workload::Workload;
use crate::sync::WaitTimeout;

/// In theory: the mutex twice on each side, a futex call to wake and a futex call to block, and the time until the
/// operating system runs the waiter again: several microseconds, more when its core is idle and sleeps.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.handoff.condvar",
        summary: "Two threads wait for each other on a condition variable of the standard library",
        operation: handoff::OPERATION,
        source: "Rust std::sync::Condvar; POSIX.1-2017, pthread_cond_wait",
        facts: handoff::SLEEPING,
    },
    handoff::cases,
    |case| {
        handoff::workload::<Signalled>(
            case,
            Expected::Uncounted("a condition variable is a system call, not an instruction"),
        )
        .map(Workload::long_blocking)
    },
)
.in_studies(&[handoff::ON_CPU_PAIRS]);

/// The number of turns, and the signal that it has changed.
pub(super) struct Signalled {
    turns: Mutex<u32>,
    changed: Condvar,
}

impl Signalled {
    fn lock(&self) -> MutexGuard<'_, u32> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Handoff for Signalled {
    fn new() -> Self {
        Self { turns: Mutex::new(0), changed: Condvar::new() }
    }

    fn join(&self, thread: usize) {
        if thread == 0 {
            *self.lock() = 0;
        }
    }

    #[inline(always)]
    fn pass(&self, _thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        let waited = self.changed.wait_timeout_while(self.lock(), LIMIT, |turns| *turns != turn);
        let (mut turns, outcome) = waited.unwrap_or_else(PoisonError::into_inner);
        if outcome.timed_out() {
            return Err(WaitTimeout);
        }
        *turns = turn.wrapping_add(1);
        // Unlocked first: the woken thread does not have to wait for the mutex.
        drop(turns);
        self.changed.notify_one();
        Ok(())
    }

    fn turns(&self) -> u32 {
        *self.lock()
    }
}
