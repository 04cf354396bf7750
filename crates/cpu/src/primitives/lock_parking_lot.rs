//! `cpu.lock.parking_lot_mutex`: the mutex of the parking_lot library.

use parking_lot::Mutex;
use syncscope_core::Primitive;

use super::Entry;
use super::locks::{self, Counter, Lock, LockKind};
use crate::evidence::Expected;

/// In theory: two compare-and-swaps on the lock's line, one byte wide. Contended: some spins with growing pauses, then a
/// hash table of waiting threads outside the lock.
pub(super) static ENTRY: Entry = Entry {
    primitive: Primitive {
        id: "cpu.lock.parking_lot_mutex",
        summary: "The mutex of parking_lot: one byte, waiters in a global table",
        operation: "one addition to a counter under the lock by each thread",
        source: "parking_lot::Mutex; its version stands in run.json, because its fairness changed between versions",
    },
    cases: locks::cases,
    workload: |case| Some(locks::workload(case, &Kind)?.expecting(Expected::times(&["lock cmpxchg"], 2))),
};

struct Kind;

impl LockKind for Kind {
    type Around<N: Counter> = Mutex<N>;

    fn make<N: Counter>(&self, _threads: u32) -> Mutex<N> {
        Mutex::new(N::default())
    }
}

impl<N: Counter> Lock<N> for Mutex<N> {
    type Seat = ();

    #[inline(always)]
    fn seat(&self, _thread: usize) {}

    #[inline(always)]
    fn with(&self, (): &mut (), critical: impl FnOnce(&mut N)) {
        // Acquire on taking it, release on giving it back: the counter needs no more.
        critical(&mut self.lock());
    }
}
