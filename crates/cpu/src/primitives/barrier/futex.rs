//! `cpu.barrier.futex`: a central barrier whose waiters sleep.

use syncscope_core::{Primitive, Waits};

use crate::evidence::Expected;
use crate::primitives::barrier;
use crate::primitives::entry::Entry;
use crate::primitives::wait::LIMIT;
use crate::sync::FutexBarrier;

/// In theory: n atomic decrements of one line, a system call of each waiter to sleep and one of the last thread to wake
/// all of them, who become runnable one after the other. No mutex, which `cpu.barrier.std` takes twice in each thread.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.barrier.futex",
        summary: "Central barrier: one atomic decrement, waiters sleep on a futex, the last thread wakes all",
        operation: barrier::OPERATION,
        source: "Drepper, Futexes Are Tricky, 2011, on the futex; Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, \
                 algorithm 7 on the count",
        facts: barrier::FACTS.waiting(Waits::Sleeps),
    },
    barrier::cases,
    |case| {
        let workload = barrier::workload(case, |threads| FutexBarrier::new(threads, LIMIT))?
            .expecting(Expected::once(&["lock dec", "lock sub", "lock xadd", "lock add"]));
        // A single thread never waits.
        Some(if case.threads > Some(1) { workload.long_blocking() } else { workload })
    },
)
.beyond_quick();
