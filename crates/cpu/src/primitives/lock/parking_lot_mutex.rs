//! `cpu.lock.parking_lot_mutex`: the mutex of the parking_lot library.

use parking_lot::Mutex;
use syncscope_core::Primitive;

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::lock::{self, Counter, Lock, LockKind};

/// In theory: two compare-and-swaps on the lock's line, one byte wide. Contended: some spins with growing pauses, then a
/// hash table of waiting threads outside the lock. About every half a millisecond the lock is given to the thread that waits
/// longest, which may have to be woken (`Mutex`, Fairness), so that what it costs is seen in long samples only: in 3 ms an
/// acquisition took 1.4 to 1.6 times what it took in the first 40 to 350 us, on 4 to 16 threads of a Sapphire Rapids. Of the
/// standard library's locks, which sleep too but have no such order, long samples said the same as short ones, and as much
/// in the same time.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.lock.parking_lot_mutex",
        summary: "The mutex of parking_lot: one byte, waiters in a global table",
        operation: "one addition to a counter under the lock by each thread",
        source: "parking_lot::Mutex; its version stands in run.json, because its fairness changed between versions",
    },
    lock::cases,
    |case| {
        let workload = lock::workload(case, &Kind)?.expecting(Expected::times(&["lock cmpxchg"], 2));
        Some(if case.threads == Some(1) { workload } else { workload.blocking() })
    },
);

struct Kind;

impl LockKind for Kind {
    type Around<N: Counter> = Mutex<N>;

    fn make<N: Counter>(&self, _threads: u32) -> Mutex<N> {
        Mutex::new(N::default())
    }
}

impl<N: Counter> Lock<N> for Mutex<N> {
    type ThreadState = ();

    #[inline(always)]
    fn thread_state(&self, _thread: usize) {}

    #[inline(always)]
    fn with(&self, (): &mut (), critical: impl FnOnce(&mut N)) {
        // Acquire on taking it, release on giving it back: the counter needs no more.
        critical(&mut self.lock());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::{Case, Dtype, Layout};

    #[test]
    fn only_those_who_contend_have_long_samples() {
        let of = |threads| {
            let dtype = Some(Dtype::U64);
            let layout = Some(Layout::Shared);
            (ENTRY.workload)(&Case { dtype, layout, threads: Some(threads), ..Case::new(ENTRY.primitive.id) }).unwrap()
        };
        assert!(!of(1).blocks && of(2).blocks);
        assert!(of(1).max_iterations > of(2).max_iterations && of(2).max_iterations >= 100);
    }
}
