//! `cpu.lock.parking_lot_mutex`: the mutex of the parking_lot library.

use parking_lot::Mutex;
use syncscope_core::{Primitive, Waits};

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::lock::{self, Lock, LockKind, PlainNumber};

/// In theory: two compare-and-swaps of one byte on the lock's line. Contended: some spins with growing pauses, then a
/// hash table of waiting threads outside the lock. About every half a millisecond the lock is handed to the thread that
/// has waited longest, which may have to be woken (`Mutex`, Fairness). Only long samples show that cost: over 3 ms an
/// acquisition took 1.4 to 1.6 times as long as in the first 40 to 350 us, on 4 to 16 threads of a Sapphire Rapids. The
/// standard library's locks block, too, but have no such rule, and their long and short samples agreed.
pub(in crate::primitives::lock) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.lock.parking_lot_mutex",
        summary: "The mutex of parking_lot: one byte, waiters in a global table",
        operation: lock::OPERATION,
        source: "parking_lot::Mutex; run.json holds its version, because its fairness changed between versions",
        facts: lock::FACTS.waiting(Waits::SpinsThenSleeps),
    },
    lock::cases,
    |case| {
        let workload = lock::workload(case, &Kind)?.expecting(Expected::times(&["lock cmpxchg"], 2));
        Some(if case.threads == Some(1) { workload } else { workload.blocking() })
    },
);

struct Kind;

impl LockKind for Kind {
    type Around<N: PlainNumber> = Mutex<N>;

    fn make<N: PlainNumber>(&self, _threads: u32) -> Mutex<N> {
        Mutex::new(N::default())
    }
}

impl<N: PlainNumber> Lock<N> for Mutex<N> {
    type ThreadState = ();

    #[inline(always)]
    fn thread_state(&self, _thread: usize) {}

    #[inline(always)]
    fn with(&self, (): &mut (), critical: impl FnOnce(&mut N)) {
        // Acquire to take it, release to give it back: the counter needs no more.
        critical(&mut self.lock());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::{Case, Dtype, Layout};

    #[test]
    fn only_contended_cases_have_long_samples() {
        let of = |threads| {
            let dtype = Some(Dtype::U64);
            let layout = Some(Layout::Shared);
            (ENTRY.workload)(&Case { dtype, layout, threads: Some(threads), ..Case::new(ENTRY.primitive.id) }).unwrap()
        };
        assert!(!of(1).blocks && of(2).blocks);
        assert!(of(1).max_iterations > of(2).max_iterations && of(2).max_iterations >= 100);
    }
}
