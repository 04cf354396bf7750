//! `cpu.handoff.parking_lot_condvar`: the condition variable of parking_lot.

use parking_lot::{Condvar, Mutex};
use syncscope_core::Primitive;

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::handoff::{self, Handoff};
use crate::primitives::wait::LIMIT;
use crate::primitives::workload::Workload;
use crate::sync::WaitTimeout;

/// In theory: as `cpu.handoff.condvar`; the waiter also stands in a global table, whose bucket both threads lock.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.handoff.parking_lot_condvar",
        summary: "Two threads wait for each other on a condition variable of parking_lot",
        operation: handoff::OPERATION,
        source: "parking_lot::Condvar; run.json holds its version",
        facts: handoff::SLEEPING,
    },
    handoff::cases,
    |case| {
        let expected = Expected::Uncounted("a condition variable is a system call, not an instruction");
        handoff::workload::<Signalled>(case, expected).map(Workload::long_blocking)
    },
)
.in_studies(&[handoff::ON_PAIRS_THAT_EXIST])
.beyond_quick();

/// The number of turns, and the signal that it has changed.
pub(super) struct Signalled(Mutex<u32>, Condvar);

impl Handoff for Signalled {
    fn new() -> Self {
        Self(Mutex::new(0), Condvar::new())
    }

    fn join(&self, thread: usize) {
        if thread == 0 {
            *self.0.lock() = 0;
        }
    }

    #[inline(always)]
    fn pass(&self, _thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        let mut turns = self.0.lock();
        if self.1.wait_while_for(&mut turns, |turns| *turns != turn, LIMIT).timed_out() {
            return Err(WaitTimeout);
        }
        *turns = turn.wrapping_add(1);
        // Unlocked first: the woken thread does not have to wait for the mutex.
        drop(turns);
        self.1.notify_one();
        Ok(())
    }

    fn turns(&self) -> u32 {
        *self.0.lock()
    }
}
