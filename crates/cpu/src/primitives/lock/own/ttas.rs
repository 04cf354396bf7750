//! `cpu.lock.ttas`: the test-and-test-and-set lock.

use syncscope_core::{Primitive, Waits};

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::lock::{self, Raw};
use crate::primitives::wait::LIMIT;
use crate::sync::TtasLock;

/// In theory: one atomic exchange to take the lock, a plain store to give it back. Contended: each release invalidates
/// every waiter's copy of the line. All of them fetch it and try, so the number of transfers grows with the waiters.
pub(in crate::primitives::lock) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.lock.ttas",
        summary: "Test-and-test-and-set lock: waiters spin on their copy of the flag, after a while they yield",
        operation: lock::OPERATION,
        source: "Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, 2.1; Rudolph and Segall, ISCA 1984",
        facts: lock::FACTS.waiting(Waits::Spins),
    },
    lock::cases,
    |case| Some(lock::workload(case, &Raw(|_| TtasLock::new(LIMIT)))?.expecting(Expected::once(&["xchg"]))),
);
