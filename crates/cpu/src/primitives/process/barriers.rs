//! `cpu.process.futex_barrier`, `cpu.process.pthread_barrier`: barriers of several processes.

use syncscope_core::Primitive;

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::wait::LIMIT;
use crate::primitives::{barrier, process};
use crate::sync::{FutexBarrier, PthreadBarrier};

const OPERATION: &str = "one barrier passed by all processes";

/// In theory: as `cpu.barrier.futex`, with a reference to the page of the word in each system call.
pub(super) static FUTEX: Entry = Entry::of(
    Primitive {
        id: "cpu.process.futex_barrier",
        summary: "Central barrier that several processes map; waiters sleep on a futex that is not private",
        operation: OPERATION,
        source: "Drepper, Futexes Are Tricky, 2011, on the futex; Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, \
                 algorithm 7 on the count",
        facts: process::BARRIER,
    },
    process::several,
    |case| {
        let make = |processes| FutexBarrier::between_processes(processes, LIMIT);
        let counting = Expected::once(&["lock dec", "lock sub", "lock xadd", "lock add"]);
        Some(barrier::workload_between_processes(case, make)?.expecting(counting).long_blocking())
    },
)
.beyond_quick();

/// In theory: glibc counts arrivals with one atomic addition and sleeps on a futex; each thread that leaves counts itself
/// out, so that the barrier may be destroyed: two changes of a line for each thread instead of one.
pub(super) static PTHREAD: Entry = Entry::of(
    Primitive {
        id: "cpu.process.pthread_barrier",
        summary: "pthread_barrier_t with the attribute for several processes: waiters block",
        operation: OPERATION,
        source: "POSIX.1-2017, pthread_barrierattr_setpshared; run.json holds the C library's version",
        facts: process::BARRIER,
    },
    process::several,
    |case| {
        let workload = barrier::workload_between_processes(case, PthreadBarrier::between_processes)?;
        let expected = Expected::Uncounted("the barrier is passed in a library, behind a call");
        Some(workload.expecting(expected).long_blocking())
    },
)
.beyond_quick();
