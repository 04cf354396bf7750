//! Barriers with algorithms of their own; each algorithm stands in `sync/barriers`. Start with the sense barrier.

use syncscope_core::{Primitive, Waits};

use crate::evidence::Expected;
use crate::primitives::barrier;
use crate::primitives::entry::Entry;
use crate::primitives::wait::LIMIT;
use crate::studies::{CoreKinds, CpuPairs, Participation};
use crate::sync::{DisseminationBarrier, FutexBarrier, SenseBarrier, TreeBarrier};

/// In the order of the catalogue.
pub(in crate::primitives) static ENTRIES: &[&Entry] = &[&SENSE, &DISSEMINATION, &TREE, &FUTEX];

/// In theory: n atomic decrements of one line, one after the other, then n - 1 threads fetch one line. The cost is
/// linear in the number of threads. There is no system call as long as every thread has a CPU.
static SENSE: Entry = Entry::of(
    Primitive {
        id: "cpu.barrier.sense",
        summary: "Central sense-reversing barrier: one atomic decrement, waiters spin, after a while they yield",
        operation: barrier::OPERATION,
        source: "Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, algorithm 7",
        facts: barrier::FACTS.waiting(Waits::Spins),
    },
    barrier::cases,
    |case| {
        Some(barrier::workload(case, |threads| SenseBarrier::new(threads, LIMIT))?.expecting(barrier::ONE_DECREMENT))
    },
);

/// In theory: log2(n) rounds, rounded up, each with one transfer of a line from one thread to another. All threads take
/// part in every round, without an atomic read-modify-write. The critical path is the shortest of all barriers here.
static DISSEMINATION: Entry = Entry::of(
    Primitive {
        id: "cpu.barrier.dissemination",
        summary: "Dissemination barrier: plain stores to one partner in each of log2(n) rounds, waiters spin, then yield",
        operation: barrier::OPERATION,
        source: "Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, algorithm 9",
        facts: barrier::FACTS.waiting(Waits::Spins),
    },
    barrier::cases,
    |case| {
        Some(
            barrier::workload(case, |threads| DisseminationBarrier::new(threads, LIMIT))?
                .expecting(Expected::Uncounted("a barrier of plain stores has no instruction of its own")),
        )
    },
)
.in_studies(&[Participation::plain(&CpuPairs), Participation::plain(&CoreKinds)]);

/// In theory: log4(n) levels up, where a parent collects four transfers one after the other, and log2(n) levels down.
/// The path is longer than that of the dissemination barrier, but there are 2n - 2 transfers instead of n log2(n).
static TREE: Entry = Entry::of(
    Primitive {
        id: "cpu.barrier.tree",
        summary: "Static tree barrier: arrival with four children, wake-up with two, waiters spin, then yield",
        operation: barrier::OPERATION,
        source: "Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, algorithm 11",
        facts: barrier::FACTS.waiting(Waits::Spins),
    },
    barrier::cases,
    |case| {
        Some(
            barrier::workload(case, |threads| TreeBarrier::new(threads, LIMIT))?
                .expecting(Expected::Uncounted("a barrier of plain stores has no instruction of its own")),
        )
    },
);

/// In theory: n atomic decrements of one line, a system call of each waiter to sleep and one of the last thread to wake
/// all of them, who become runnable one after the other. No mutex, which `cpu.barrier.std` takes twice in each thread.
static FUTEX: Entry = Entry::of(
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
        let workload =
            barrier::workload(case, |threads| FutexBarrier::new(threads, LIMIT))?.expecting(barrier::ONE_DECREMENT);
        Some(workload.long_blocking(case))
    },
)
.beyond_quick();
