//! Synchronization between processes: threads of several processes that map the same memory.
//!
//! Start with [`ATOMIC_ADD`]. The locks, barriers and hand-offs are those of the other families, in the memory of worker
//! processes (`crate::processes`) and made for it; their loops and checks stand there. What differs from threads of one
//! process: a futex is not found by its address but by the page of its file, and no library can leave anything out because
//! it sees all users of a lock.

use syncscope_core::{Case, Dtype, Facts, Layout, Primitive, Role, Waits};

use crate::axes::Axes;
use crate::evidence::Expected;
use crate::facts;
use crate::primitives::entry::Entry;
use crate::primitives::handoff::{self, Events, Inherited, Pipes, StoreToken};
use crate::primitives::wait::LIMIT;
use crate::primitives::{atomic, barrier, lock};
use crate::sync::{FutexBarrier, PthreadBarrier, PthreadMutex, SpinParkLock};

/// The family, in the order of the catalogue.
pub(super) static ENTRIES: &[&Entry] =
    &[&STORE, &ATOMIC_ADD, &FUTEX_LOCK, &PTHREAD_MUTEX, &FUTEX_BARRIER, &PTHREAD_BARRIER, &EVENTFD, &PIPE];

const BARRIER: Facts =
    Facts { run_effect: facts::between_threads, ..Facts::of(Role::ProcessBarrier).waiting(Waits::Sleeps) };
const LOCK: Facts = Facts { role: Role::ProcessLock, ..BARRIER };
const HANDOFF: Facts = Facts { role: Role::ProcessHandoff, ..BARRIER };
const UPDATE: Facts = Facts { role: Role::Update, orders_memory: false, ..BARRIER.waiting(Waits::NoWait) };

/// Two processes that pass something to each other.
fn two(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    axes.in_usual_places(primitive, &[2]).cases()
}

/// Numbers of processes.
fn several(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    axes.in_usual_places(primitive, &axes.processes).cases()
}

/// The same with a counter that they share.
fn several_on_a_counter(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let on_a_counter = |case| Case { dtype: Some(Dtype::U64), layout: Some(Layout::Shared), ..case };
    several(primitive, axes).into_iter().map(on_a_counter).collect()
}

/// In theory: what `cpu.atomic.add` costs between threads. Caches hold physical addresses, so that the line moves between
/// cores in the same way; each process has an entry of its own for the page in its core's TLB.
static ATOMIC_ADD: Entry = Entry::of(
    Primitive {
        id: "cpu.process.atomic_add",
        summary: "Atomic addition whose result is not used, to a variable that several processes map",
        operation: "one addition of 1 by each process",
        source: "C++20 [atomics.lockfree], on address-free operations; Linux, memfd_create(2), mmap(2) with MAP_SHARED",
        facts: UPDATE,
    },
    several_on_a_counter,
    atomic::addition_between_processes,
)
.beyond_quick();

const OPERATION_UNDER_A_LOCK: &str = "one addition to a counter under the lock by each process";

/// In theory: without contention as `cpu.lock.spin_park`. Contended, each system call takes a reference to the page of the
/// word, because a futex of several processes is found by the page and not by the address.
static FUTEX_LOCK: Entry = Entry::of(
    Primitive {
        id: "cpu.process.futex_lock",
        summary: "A futex mutex that several processes map; waiters sleep at once on a futex that is not private",
        operation: OPERATION_UNDER_A_LOCK,
        source: "Drepper, Futexes Are Tricky, 2011, mutex 2; Linux, futex(2), on FUTEX_PRIVATE_FLAG",
        facts: LOCK,
    },
    several_on_a_counter,
    |case| {
        let workload = lock::workload_between_processes(case, || SpinParkLock::between_processes(LIMIT))?;
        Some(workload.expecting(lock::SWAPPED_TWICE).blocking(case))
    },
)
.beyond_quick();

/// In theory: as `cpu.lock.pthread_mutex`, with futex calls that are not private. The wait has no time limit of its own: the
/// parent kills processes that are late.
static PTHREAD_MUTEX: Entry = Entry::of(
    Primitive {
        id: "cpu.process.pthread_mutex",
        summary: "pthread_mutex_t of the default kind with the attribute for several processes",
        operation: OPERATION_UNDER_A_LOCK,
        source: "POSIX.1-2017, pthread_mutexattr_setpshared; run.json holds the C library's version",
        facts: LOCK,
    },
    several_on_a_counter,
    |case| {
        let workload = lock::workload_between_processes(case, PthreadMutex::between_processes)?;
        Some(workload.expecting(lock::IN_A_LIBRARY).blocking(case))
    },
)
.beyond_quick();

const PASSED_BARRIER: &str = "one barrier passed by all processes";

/// In theory: as `cpu.barrier.futex`, with a reference to the page of the word in each system call.
static FUTEX_BARRIER: Entry = Entry::of(
    Primitive {
        id: "cpu.process.futex_barrier",
        summary: "Central barrier that several processes map; waiters sleep on a futex that is not private",
        operation: PASSED_BARRIER,
        source: "Drepper, Futexes Are Tricky, 2011, on the futex; Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, \
                 algorithm 7 on the count",
        facts: BARRIER,
    },
    several,
    |case| {
        let make = |processes| FutexBarrier::between_processes(processes, LIMIT);
        Some(barrier::workload_between_processes(case, make)?.expecting(barrier::ONE_DECREMENT).long_blocking(case))
    },
)
.beyond_quick();

/// In theory: glibc counts arrivals with one atomic addition and sleeps on a futex; each thread that leaves counts itself
/// out, so that the barrier may be destroyed: two changes of a line for each thread instead of one.
static PTHREAD_BARRIER: Entry = Entry::of(
    Primitive {
        id: "cpu.process.pthread_barrier",
        summary: "pthread_barrier_t with the attribute for several processes: waiters block",
        operation: PASSED_BARRIER,
        source: "POSIX.1-2017, pthread_barrierattr_setpshared; run.json holds the C library's version",
        facts: BARRIER,
    },
    several,
    |case| {
        let workload = barrier::workload_between_processes(case, PthreadBarrier::between_processes)?;
        let expected = Expected::Uncounted("the barrier is passed in a library, behind a call");
        Some(workload.expecting(expected).long_blocking(case))
    },
)
.beyond_quick();

const HANDED_OFF: &str = "one hand-off from one process to the other: half a round trip";

/// In theory: what `cpu.handoff.store_pingpong` costs between threads: caches hold physical addresses.
static STORE: Entry = Entry::of(
    Primitive {
        id: "cpu.process.store_pingpong",
        summary: "Two processes write one variable in turn that both map; each reads it without a pause until it is its turn",
        operation: HANDED_OFF,
        source: "nviennot, core-to-core-latency (read/write mode); Linux, memfd_create(2), mmap(2) with MAP_SHARED",
        facts: HANDOFF.waiting(Waits::Spins),
    },
    two,
    handoff::workload_between_processes::<StoreToken>,
)
.beyond_quick();

/// In theory: as `cpu.handoff.eventfd`, and a change of the address space where both processes share a CPU.
static EVENTFD: Entry = Entry::of(
    Primitive {
        id: "cpu.process.eventfd",
        summary: "Two processes wake each other by writes to eventfds that both inherited; the waiter polls and then reads",
        operation: HANDED_OFF,
        source: "Linux, eventfd(2), poll(2)",
        facts: HANDOFF,
    },
    two,
    handoff::workload_between_processes::<Events<Inherited>>,
)
.beyond_quick();

/// In theory: as `cpu.handoff.pipe`, and a change of the address space where both processes share a CPU.
static PIPE: Entry = Entry::of(
    Primitive {
        id: "cpu.process.pipe",
        summary: "Two processes send a number to each other through pipes; the waiter polls and then reads",
        operation: HANDED_OFF,
        source: "POSIX.1-2017, pipe; Linux, pipe(7), poll(2)",
        facts: HANDOFF,
    },
    two,
    handoff::workload_between_processes::<Pipes<Inherited>>,
)
.beyond_quick();
