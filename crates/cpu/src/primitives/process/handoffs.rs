//! `cpu.process.store_pingpong`, `eventfd` and `pipe`: two processes that pass a token to each other.

use syncscope_core::{Primitive, Waits};

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::handoff::{self, Events, Inherited, Pipes, StoreToken};
use crate::primitives::process;
use crate::primitives::workload::Workload;

const OPERATION: &str = "one hand-off from one process to the other: half a round trip";

/// In theory: what `cpu.handoff.store_pingpong` costs between threads: caches hold physical addresses.
pub(super) static STORE: Entry = Entry::of(
    Primitive {
        id: "cpu.process.store_pingpong",
        summary: "Two processes write one variable in turn that both map; each reads it without a pause until it is its turn",
        operation: OPERATION,
        source: "nviennot, core-to-core-latency (read/write mode); Linux, memfd_create(2), mmap(2) with MAP_SHARED",
        facts: process::HANDOFF.waiting(Waits::Spins),
    },
    process::two,
    |case| {
        handoff::workload_between_processes::<StoreToken>(
            case,
            Expected::Uncounted("a hand-off by plain stores has no instruction of its own"),
        )
    },
)
.beyond_quick();

/// In theory: as `cpu.handoff.eventfd`, and a change of the address space where both processes share a CPU.
pub(super) static EVENTFD: Entry = Entry::of(
    Primitive {
        id: "cpu.process.eventfd",
        summary: "Two processes wake each other by writes to eventfds that both inherited; the waiter polls and then reads",
        operation: OPERATION,
        source: "Linux, eventfd(2), poll(2)",
        facts: process::HANDOFF,
    },
    process::two,
    |case| {
        let expected = Expected::Uncounted("an eventfd is system calls, not an instruction");
        handoff::workload_between_processes::<Events<Inherited>>(case, expected).map(Workload::long_blocking)
    },
)
.beyond_quick();

/// In theory: as `cpu.handoff.pipe`, and a change of the address space where both processes share a CPU.
pub(super) static PIPE: Entry = Entry::of(
    Primitive {
        id: "cpu.process.pipe",
        summary: "Two processes send a number to each other through pipes; the waiter polls and then reads",
        operation: OPERATION,
        source: "POSIX.1-2017, pipe; Linux, pipe(7), poll(2)",
        facts: process::HANDOFF,
    },
    process::two,
    |case| {
        let expected = Expected::Uncounted("a pipe is system calls, not an instruction");
        handoff::workload_between_processes::<Pipes<Inherited>>(case, expected).map(Workload::long_blocking)
    },
)
.beyond_quick();
