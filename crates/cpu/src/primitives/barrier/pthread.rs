//! `cpu.barrier.pthread`: the barrier of the C library.

use syncscope_core::{Primitive, Waits};

use crate::evidence::Expected;
use crate::primitives::barrier;
use crate::primitives::entry::Entry;
use crate::sync::PthreadBarrier;

/// In theory: an atomic addition and a futex call of each waiter to sleep, one call of the last thread to wake all. Each
/// thread that leaves counts itself out, so that the barrier may be destroyed: one more change of the line.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.barrier.pthread",
        summary: "pthread_barrier_t: waiters block at once",
        operation: barrier::OPERATION,
        source: "POSIX.1-2017, pthread_barrier_wait; run.json holds the C library's version",
        facts: barrier::FACTS.waiting(Waits::Sleeps),
    },
    barrier::cases,
    |case| {
        let expected = Expected::Uncounted("the barrier is passed in a library, behind a call");
        let workload = barrier::workload(case, PthreadBarrier::new)?.expecting(expected);
        // A single thread never waits.
        Some(if case.threads > Some(1) { workload.long_blocking() } else { workload })
    },
)
.beyond_quick();
