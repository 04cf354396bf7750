//! `cpu.lock.parking_lot_fair`: the mutex of the parking_lot library, always handed to the thread that waits longest.

use parking_lot::{Mutex, MutexGuard};
use syncscope_core::{Primitive, Waits};

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::lock::{self, Lock, LockKind, PlainNumber};

/// In theory: without contention as `parking_lot_mutex`. Contended: a thread that sleeps gets the lock at once and has to
/// be woken before anyone goes on, so that each acquisition takes a wake-up as soon as threads sleep.
pub(in crate::primitives::lock) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.lock.parking_lot_fair",
        summary: "The mutex of parking_lot, given back by MutexGuard::unlock_fair each time",
        operation: lock::OPERATION,
        source: "parking_lot::MutexGuard::unlock_fair; run.json holds the library's version",
        facts: lock::FACTS.waiting(Waits::SpinsThenSleeps),
    },
    lock::cases_of_one_type,
    |case| {
        let workload = lock::workload(case, &Kind)?.expecting(Expected::times(&["lock cmpxchg"], 2));
        Some(if case.threads == Some(1) { workload } else { workload.long_blocking() })
    },
)
.beyond_quick();

struct Kind;

impl LockKind for Kind {
    type Around<N: PlainNumber> = Fair<N>;

    fn make<N: PlainNumber>(&self, _threads: u32) -> Fair<N> {
        Fair(Mutex::new(N::default()))
    }
}

struct Fair<N>(Mutex<N>);

impl<N: PlainNumber> Lock<N> for Fair<N> {
    type ThreadState = ();

    #[inline(always)]
    fn thread_state(&self, _thread: usize) {}

    #[inline(always)]
    fn with(&self, (): &mut (), critical: impl FnOnce(&mut N)) {
        // Acquire to take it, release to give it back: the counter needs no more.
        let mut held = self.0.lock();
        critical(&mut held);
        MutexGuard::unlock_fair(held);
    }
}
