//! `cpu.wake.parking_lot`: the condition variable of parking_lot.

use parking_lot::{Condvar, Mutex};
use syncscope_core::Primitive;

use super::sleeper::states_are_shown;
use super::way::Way;
use crate::primitives::entry::Entry;
use crate::primitives::wait::LIMIT;
use crate::primitives::wake;
use crate::sync::WaitTimeout;

/// In theory: as the standard library's, with one more step: the waiter stands in a global table, whose bucket both
/// threads lock, and sleeps on a futex of its own thread.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.wake.parking_lot",
        summary: "A change under the mutex and notify_one wake a thread that sleeps on parking_lot's condition variable",
        operation: wake::OPERATION,
        source: "parking_lot::Condvar; run.json holds its version",
        facts: wake::FACTS,
    },
    wake::cases,
    wake::workload::<Signal>,
)
.in_studies(wake::STUDIES)
.requiring(states_are_shown)
.beyond_quick();

/// The number of the last wake-up, and the signal that it has changed.
pub(super) struct Signal(Mutex<u32>, Condvar);

impl Way for Signal {
    fn new() -> Self {
        Self(Mutex::new(0), Condvar::new())
    }

    fn sleep(&self, number: u32) -> Result<(), WaitTimeout> {
        let outcome = self.1.wait_while_for(&mut self.0.lock(), |last| *last != number, LIMIT);
        if outcome.timed_out() { Err(WaitTimeout) } else { Ok(()) }
    }

    #[inline]
    fn wake(&self, number: u32) {
        // Unlocked first: the woken thread does not have to wait for the mutex.
        *self.0.lock() = number;
        self.1.notify_one();
    }
}
