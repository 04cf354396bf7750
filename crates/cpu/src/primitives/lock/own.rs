//! Locks with algorithms of their own; each algorithm is in `sync/locks`. Start with the ticket lock.

use std::time::Duration;

use syncscope_host::scheduling;

use crate::primitives::lock::{self, Raw};
use crate::primitives::prelude::*;
use crate::sync::{
    ClhLock, CnaLock, CohortLock, HemLock, McsLock, QueuedSpinLock, ReciprocatingLock, SpinParkLock, TicketLock,
    TtasLock,
};
use syncscope_machine::nearness::CpuGroups;
use syncscope_machine::placement::topology_of_teams;

/// The entries, in the order of the catalogue.
pub(in crate::primitives) static ENTRIES: &[&Entry] =
    &[&TTAS, &TICKET, &MCS, &CLH, &SPIN_PARK, &COHORT, &TTAS_BACKOFF, &RECIPROCATING, &HEMLOCK, &QSPINLOCK, &CNA];

/// An exchange of a byte that acquires.
const TAKEN_BY_A_SWAP: Expected = Expected::once(&["xchg"], &["swpab", "outline swpab", "ldaxrb"]);

/// A relaxed addition.
const TAKEN_BY_A_TICKET: Expected = Expected::once(&["lock xadd"], &["ldadd", "outline ldadd", "stxr"]);

/// An exchange that acquires and releases.
const QUEUED_BY_A_SWAP: Expected =
    Expected::once(&["xchg"], &["swpal", "swpa", "outline swpal", "outline swpa", "ldaxr"]);

/// A compare-and-swap that acquires.
const TAKEN_BY_A_COMPARISON: Expected = Expected::once(&["lock cmpxchg"], &["casa", "outline casa", "ldaxr"]);

/// In theory: one atomic exchange to take the lock, a plain store to give it back. Contended: each release invalidates
/// every waiter's copy of the line. All of them fetch it and try, so the number of transfers grows with the waiters.
static TTAS: Entry = lock::spins(
    "cpu.lock.ttas",
    "Test-and-test-and-set lock: waiters spin on a cached copy of the flag, then yield",
    "Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, 2.1; Rudolph and Segall, ISCA 1984",
    lock::cases,
    |case| lock::workload(case, &Raw(|_| TtasLock::<0>::new(LIMIT)), TAKEN_BY_A_SWAP),
)
.algorithm();

/// In theory: without contention as `cpu.lock.ttas`. Contended: most waiters stay away from the line, so a holder often takes the lock
/// again before another one looks. Cheap for the team and unfair.
static TTAS_BACKOFF: Entry = lock::spins(
    "cpu.lock.ttas_backoff",
    "Test-and-test-and-set lock with exponential back-off: 4 to 1,024 spin hints after each failed attempt",
    "Anderson, IEEE TPDS 1(1), 1990; Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, 2.1",
    lock::cases_of_one_type,
    |case| lock::workload_of_one_type(case, &Raw(|_| TtasLock::<1024>::new(LIMIT)), TAKEN_BY_A_SWAP),
)
.with_most_threads_in_quick()
.algorithm();

/// In theory: one atomic addition to take the lock, a plain store to give it back. Contended: each release causes a
/// line transfer for every waiter, but only one of them goes on, in the order of arrival. With more threads than CPUs
/// it is slow: while the next thread in the queue does not run, no thread gets the lock.
static TICKET: Entry = lock::spins(
    "cpu.lock.ticket",
    "Ticket lock: first come, first served; waiters spin, then yield",
    "Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, algorithm 2 without its pause",
    lock::cases,
    |case| lock::workload(case, &Raw(|_| TicketLock::new(LIMIT)), TAKEN_BY_A_TICKET),
)
.algorithm();

/// In theory: an atomic exchange to take the lock and a compare-and-swap to give it back. Contended: a constant number
/// of line transfers for each holder, because each waiter spins on a line of its own. Threads get the lock in the order
/// of arrival, and with more threads than CPUs it is as slow as a ticket lock.
static MCS: Entry = lock::spins(
    "cpu.lock.mcs",
    "MCS queue lock: each waiter spins on its own cache line, then yields",
    "Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, algorithm 5",
    lock::cases,
    // The compare-and-swap of the release is not counted: the compiler writes several copies of it.
    |case| lock::workload(case, &Raw(|threads| McsLock::new(threads, LIMIT)), QUEUED_BY_A_SWAP),
)
.algorithm();

/// In theory: an atomic exchange to take the lock and a plain store to give it back, which an MCS lock cannot do without
/// a compare-and-swap. Contended: each waiter spins on the node of the thread before it, so that a release transfers one
/// line to one waiter. Threads get the lock in the order of arrival.
static CLH: Entry = lock::spins(
    "cpu.lock.clh",
    "CLH queue lock: each waiter spins on its predecessor's cache line, then yields",
    "Craig, University of Washington TR 93-02-02, 1993; Magnusson, Landin and Hagersten, IPPS 1994; with a \
     standard interface as in Scott, Shared-Memory Synchronization, 2013, 4.3.2",
    lock::cases_of_one_type,
    |case| lock::workload_of_one_type(case, &Raw(|threads| ClhLock::new(threads, LIMIT)), QUEUED_BY_A_SWAP),
)
.with_most_threads_in_quick()
.algorithm();

/// In theory: an exchange and a compare-and-swap without contention. Contended: one exchange to arrive and one store to pass the lock
/// on, fewer transfers than any queue; the last to arrive is served first, once in each segment.
static RECIPROCATING: Entry = lock::spins(
    "cpu.lock.reciprocating",
    "Reciprocating lock: arriving threads form a stack, which is detached as a whole and served before later arrivals; each waiter spins on its own \
     cache line",
    "Dice and Kogan, Reciprocating Locks, PPoPP 2025, listing 1",
    lock::cases_of_one_type,
    // The exchange that detaches a segment is not counted: without contention there is none.
    |case| lock::workload_of_one_type(case, &Raw(|threads| ReciprocatingLock::new(threads, LIMIT)), QUEUED_BY_A_SWAP),
)
.with_most_threads_in_quick()
.algorithm();

/// In theory: without contention as an MCS lock. Contended: one word for each thread instead of a node; the thread that gives the
/// lock back waits until the next one has seen it.
static HEMLOCK: Entry = lock::spins(
    "cpu.lock.hemlock",
    "Hemlock: a queue without nodes; each waiter spins on its predecessor's word, then yields",
    "Dice and Kogan, Hemlock: Compact and Scalable Mutual Exclusion, SPAA 2021, listing 2",
    lock::cases_of_one_type,
    |case| lock::workload_of_one_type(case, &Raw(|threads| HemLock::new(threads, LIMIT)), QUEUED_BY_A_SWAP),
)
.beyond_quick()
.algorithm();

/// In theory: a compare-and-swap to take the lock and a plain store to give it back. Two threads that contend change one word alone; from
/// the third on, they queue as in an MCS lock.
static QSPINLOCK: Entry = lock::spins(
    "cpu.lock.qspinlock",
    "The Linux kernel's queued spinlock: the first waiter spins on the lock word, later ones join an MCS queue; \
     waiters spin, then yield",
    "Linux, kernel/locking/qspinlock.c, in its form for 16,384 or more CPUs; Long and Zijlstra, 2014",
    lock::cases_of_one_type,
    |case| lock::workload_of_one_type(case, &Raw(|threads| QueuedSpinLock::new(threads, LIMIT)), TAKEN_BY_A_COMPARISON),
)
.beyond_quick()
.algorithm();

/// In theory: without contention as an MCS lock. Contended: the lock stays within a group of CPUs as with the cohort lock, by a search
/// through the queue instead of a second lock.
static CNA: Entry = lock::spins(
    "cpu.lock.cna",
    "Compact NUMA-aware lock: an MCS queue in which the holder prefers waiters from its own NUMA node or cache group",
    "Dice and Kogan, Compact NUMA-aware Locks, EuroSys 2019, figures 2 to 4",
    cohort_cases,
    |case| {
        lock::workload_of_one_type(
            case,
            &Raw(|threads| CnaLock::new(threads, group_of_this_thread, LIMIT)),
            QUEUED_BY_A_SWAP,
        )
    },
)
.requiring(groups_of_cpus)
.beyond_quick()
.algorithm();

/// In theory: without contention as the standard library's mutex, a compare-and-swap and an exchange. Contended, the
/// spinning time decides: shorter than a wake-up, and threads sleep that would have got the lock soon; longer, and CPUs
/// spin that others could use. The competitive choice is what a sleep and a wake-up cost, which `cpu.wake` shows.
static SPIN_PARK: Entry = lock::spins_then_sleeps(
    "cpu.lock.spin_park",
    "Futex mutex: waiters spin for the time in the group column, then sleep",
    "Karlin, Li, Manasse and Owicki, SOSP 1991; Drepper, Futexes Are Tricky, 2011, mutex 2",
    spin_park_cases,
    spin_park_workload,
)
.with_designs()
.beyond_quick()
.algorithm();

/// The group: how long waiters spin before they sleep.
const SPIN: &str = "spin # us";

/// Below, about at, and above what a wake-up takes.
const SPIN_US: [u32; 3] = [1, 10, 50];

fn spin_park_cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let spinning = |case: Case| SPIN_US.map(|us| Case { group: Some(Group::numbered(SPIN, us)), ..case.clone() });
    lock::cases_of_one_type(primitive, axes).into_iter().flat_map(spinning).collect()
}

fn spin_park_workload(case: &Case) -> Option<Workload> {
    let spin = Duration::from_micros(case.group_number(SPIN)?.into());
    let kind = Raw(|_| SpinParkLock::new(spin, LIMIT));
    Some(lock::workload_of_one_type(case, &kind, lock::SWAPPED_TWICE)?.blocking(case))
}

/// In theory: two ticket locks, of the group and of all groups. Without contention both are taken: two atomic additions.
/// Contended: while threads of the holder's group wait, the lock and what it protects stay in their caches, and only every
/// 65th acquisition crosses to another group. The price is the wait of the other groups.
static COHORT: Entry = lock::spins(
    "cpu.lock.cohort",
    "Cohort lock: two levels of ticket locks; up to 64 hand-offs in a row stay within a NUMA node or cache group",
    "Dice, Marathe and Shavit, Lock Cohorting, PPoPP 2012 and ACM TOPC 1(2), 2015, C-TKT-TKT",
    cohort_cases,
    cohort_workload,
)
.requiring(groups_of_cpus)
.algorithm();

fn cohort_workload(case: &Case) -> Option<Workload> {
    let make = |_| CohortLock::new(CpuGroups::here().map_or(1, CpuGroups::count), group_of_this_thread, LIMIT);
    // The addition for all groups is not counted: a thread that the lock was passed to leaves it out.
    lock::workload_of_one_type(case, &Raw(make), TAKEN_BY_A_TICKET)
}

fn groups_of_cpus() -> Result<(), String> {
    CpuGroups::here().map(|_| ()).ok_or_else(|| CpuGroups::absence(topology_of_teams()).to_owned())
}

fn cohort_cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    if axes.has_cpu_groups { lock::cases_of_one_type(primitive, axes) } else { Vec::new() }
}

/// The group of the CPU of this thread, which stays the same: threads of a team are bound.
fn group_of_this_thread(_thread: usize) -> usize {
    let cpu = scheduling::current_cpu();
    CpuGroups::here().zip(cpu).map_or(0, |(groups, cpu)| groups.of_cpu(cpu))
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use syncscope_core::{Dtype, Layout};

    use super::*;

    /// No test machine needs to have groups of CPUs: the machine code is the same.
    #[test]
    fn both_loops_hold_the_additions_of_the_group() {
        let (dtype, layout) = (Some(Dtype::U64), Some(Layout::Shared));
        let case = Case { dtype, layout, threads: Some(1), ..Case::new(COHORT.primitive.id) };
        let evidence = cohort_workload(&case).unwrap().evidence();
        // What else is on its path depends on how the compiler laid out the loop.
        assert!(evidence.summary().is_some_and(|summary| summary.starts_with("lock xadd 16/32")), "{evidence:?}");
    }
}
