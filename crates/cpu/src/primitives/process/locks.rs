//! `cpu.process.futex_lock`, `cpu.process.pthread_mutex`: locks that several processes take.

use syncscope_core::Primitive;

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::wait::LIMIT;
use crate::primitives::{lock, process};
use crate::sync::{PthreadMutex, SpinParkLock};

const OPERATION: &str = "one addition to a counter under the lock by each process";

/// In theory: without contention as `cpu.lock.spin_park`. Contended, each system call takes a reference to the page of the
/// word, because a futex of several processes is found by the page and not by the address.
pub(super) static FUTEX: Entry = Entry::of(
    Primitive {
        id: "cpu.process.futex_lock",
        summary: "A futex mutex that several processes map; waiters sleep at once on a futex that is not private",
        operation: OPERATION,
        source: "Drepper, Futexes Are Tricky, 2011, mutex 2; Linux, futex(2), on FUTEX_PRIVATE_FLAG",
        facts: process::LOCK,
    },
    process::several_on_a_counter,
    |case| {
        let workload = lock::workload_between_processes(case, || SpinParkLock::between_processes(LIMIT))?;
        Some(workload.expecting(Expected::times(&["lock cmpxchg", "xchg"], 2)).blocking())
    },
)
.beyond_quick();

/// In theory: as `cpu.lock.pthread_mutex`, with futex calls that are not private. The wait has no time limit of its own: the
/// parent kills processes that are late.
pub(super) static PTHREAD: Entry = Entry::of(
    Primitive {
        id: "cpu.process.pthread_mutex",
        summary: "pthread_mutex_t of the default kind with the attribute for several processes",
        operation: OPERATION,
        source: "POSIX.1-2017, pthread_mutexattr_setpshared; run.json holds the C library's version",
        facts: process::LOCK,
    },
    process::several_on_a_counter,
    |case| {
        let workload = lock::workload_between_processes(case, PthreadMutex::between_processes)?;
        Some(workload.expecting(lock::IN_A_LIBRARY).blocking())
    },
)
.beyond_quick();
