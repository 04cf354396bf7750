//! Synchronization between processes: threads of several processes that map the same memory.
//!
//! Start with [`ATOMIC_ADD`]. The locks, barriers and hand-offs are those of the other families, in the memory of worker
//! processes (`crate::processes`) and made for it; their loops and checks are in those families. What differs from threads of one
//! process: a futex is not found by its address but by the page of its file, and no library can leave anything out because it
//! sees all users of a lock.

use crate::primitives::handoff::{self, Events, Inherited, Pipes, StoreToken};
use crate::primitives::prelude::*;
use crate::primitives::{atomic, barrier, lock};
use crate::sync::{FutexBarrier, PthreadBarrier, PthreadMutex, SpinParkLock};

/// The family, in the order of the catalogue.
pub(super) static ENTRIES: &[&Entry] =
    &[&STORE, &ATOMIC_ADD, &FUTEX_LOCK, &PTHREAD_MUTEX, &FUTEX_BARRIER, &PTHREAD_BARRIER, &EVENTFD, &PIPE];

const LOCK: Facts = Facts { run_effect: facts::between_threads, ..Facts::of(Role::ProcessLock).waiting(Waits::Sleeps) };
const BARRIER: Facts = Facts { role: Role::ProcessBarrier, at_once: OperationsAtOnce::One, ..LOCK };
const HANDOFF: Facts = Facts { role: Role::ProcessHandoff, ..LOCK };
const UPDATE: Facts = Facts { role: Role::Update, orders_memory: false, ..LOCK.waiting(Waits::NoWait) };

kinds! {
    /// A lock that several processes map.
    locked: "every process adds to a counter under the lock", LOCK;
    /// A barrier that several processes map.
    passed: "one barrier across all processes", BARRIER;
    /// A hand-off between two processes.
    handed_off: "one hand-off from one process to the other: half a round trip", HANDOFF;
    /// An update of a variable that several processes map.
    updated: "one increment of the variable per process", UPDATE;
}

/// Numbers of processes.
fn several(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    axes.in_usual_places(primitive, &axes.processes).cases()
}

/// Numbers of processes, with a counter that they share.
fn several_on_a_counter(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let on_a_counter = |case| Case { dtype: Some(Dtype::U64), layout: Some(Layout::Shared), ..case };
    several(primitive, axes).into_iter().map(on_a_counter).collect()
}

/// In theory: what `cpu.atomic.add` costs between threads. Caches hold physical addresses, so that the line moves between
/// cores in the same way; each process has an entry of its own for the page in its core's TLB.
static ATOMIC_ADD: Entry = updated(
    "cpu.process.atomic_add",
    "Atomic addition to a variable that several processes map; the result is unused",
    "C++20 [atomics.lockfree], on address-free operations; Linux, memfd_create(2), mmap(2) with MAP_SHARED",
    several_on_a_counter,
    atomic::addition_between_processes,
)
.beyond_quick();

/// In theory: without contention as `cpu.lock.spin_park`. Contended, each system call takes a reference to the page of the
/// word, because a futex of several processes is found by the page and not by the address.
static FUTEX_LOCK: Entry = locked(
    "cpu.process.futex_lock",
    "Futex mutex shared between processes; waiters sleep on a non-private futex without spinning",
    "Drepper, Futexes Are Tricky, 2011, mutex 2; Linux, futex(2), on FUTEX_PRIVATE_FLAG",
    several_on_a_counter,
    |case| {
        let workload = lock::workload_between_processes(case, || SpinParkLock::between_processes(LIMIT))?;
        Some(workload.expecting(lock::SWAPPED_TWICE).blocking(case))
    },
)
.beyond_quick();

/// In theory: as `cpu.lock.pthread_mutex`, with futex calls that are not private. The wait has no time limit of its own: the
/// parent kills processes that are late.
static PTHREAD_MUTEX: Entry = locked(
    "cpu.process.pthread_mutex",
    "A default pthread_mutex_t with the process-shared attribute",
    "POSIX.1-2017, pthread_mutexattr_setpshared; run.json records the C library's version",
    several_on_a_counter,
    |case| {
        let workload = lock::workload_between_processes(case, PthreadMutex::between_processes)?;
        Some(workload.expecting(lock::IN_A_LIBRARY).blocking(case))
    },
)
.beyond_quick();

/// In theory: as `cpu.barrier.futex`, with a reference to the page of the word in each system call.
static FUTEX_BARRIER: Entry = passed(
    "cpu.process.futex_barrier",
    "Central barrier shared between processes; waiters sleep on a non-private futex",
    "Drepper, Futexes Are Tricky, 2011 (futex); Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, \
     algorithm 7 (arrival counter)",
    several,
    |case| {
        let make = |processes| FutexBarrier::between_processes(processes, LIMIT);
        Some(barrier::workload_between_processes(case, make)?.expecting(barrier::ONE_DECREMENT).long_blocking(case))
    },
)
.beyond_quick();

/// In theory: glibc counts arrivals with one atomic addition and sleeps on a futex; each thread that leaves counts itself
/// out, so that the barrier may be destroyed: two changes of a line for each thread instead of one.
static PTHREAD_BARRIER: Entry = passed(
    "cpu.process.pthread_barrier",
    "pthread_barrier_t with the process-shared attribute: waiters block",
    "POSIX.1-2017, pthread_barrierattr_setpshared; run.json records the C library's version",
    several,
    |case| {
        let workload = barrier::workload_between_processes(case, PthreadBarrier::between_processes)?;
        Some(workload.expecting(barrier::IN_A_LIBRARY).long_blocking(case))
    },
)
.beyond_quick();

/// In theory: what `cpu.handoff.store_pingpong` costs between threads: caches hold physical addresses.
static STORE: Entry = handed_off(
    "cpu.process.store_pingpong",
    "Two processes take turns writing a shared variable; until its turn, each spins on it without pausing",
    "nviennot, core-to-core-latency (read/write mode); Linux, memfd_create(2), mmap(2) with MAP_SHARED",
    of_two,
    handoff::workload_between_processes::<StoreToken>,
)
.waiting(Waits::Spins)
.beyond_quick();

/// In theory: as `cpu.handoff.eventfd`, and a change of the address space where both processes share a CPU.
static EVENTFD: Entry = handed_off(
    "cpu.process.eventfd",
    "Two processes wake each other by writing to inherited eventfds; the waiter sleeps in poll(2), then reads",
    "Linux, eventfd(2), poll(2)",
    of_two,
    handoff::workload_between_processes::<Events<Inherited>>,
)
.beyond_quick();

/// In theory: as `cpu.handoff.pipe`, and a change of the address space where both processes share a CPU.
static PIPE: Entry = handed_off(
    "cpu.process.pipe",
    "Two processes pass a number back and forth through pipes; the waiter sleeps in poll(2), then reads",
    "POSIX.1-2017, pipe; Linux, pipe(7), poll(2)",
    of_two,
    handoff::workload_between_processes::<Pipes<Inherited>>,
)
.beyond_quick();
