//! `cpu.handoff.eventfd`: event counters of the kernel.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use syncscope_core::Primitive;
use syncscope_host::descriptors::EventFd;

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::handoff::kernel::Inherited;
use crate::primitives::handoff::{self, Handoff};
use crate::primitives::wait::{LIMIT, or_fail};
use crate::primitives::workload::Workload;
use crate::processes;
use crate::sync::{BetweenProcesses, WaitTimeout};

/// In theory: three system calls, write, poll and read, and the time until the operating system runs the waiter again: a
/// futex hand-off has two. What a program pays that waits for threads, timers and sockets in one place.
pub(in crate::primitives::handoff) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.handoff.eventfd",
        summary: "Two threads wake each other by writes to eventfds; the waiter polls and then reads",
        operation: handoff::OPERATION,
        source: "Linux, eventfd(2), poll(2)",
        facts: handoff::SLEEPING,
    },
    handoff::cases,
    |case| {
        handoff::workload::<Events>(case, Expected::Uncounted("an eventfd is system calls, not an instruction"))
            .map(Workload::long_blocking)
    },
)
.in_studies(&[handoff::ON_PAIRS_THAT_EXIST]);

/// The number of turns, and the counters that the threads wait for: `E` has them.
pub(in crate::primitives) struct Events<E = Opened> {
    turns: AtomicU32,
    ends: E,
}

// SAFETY: a number; the counters are each process's own.
unsafe impl BetweenProcesses for Events<Inherited> {}

/// Counters of one process. They are opened where they are needed: most tokens are never passed.
#[derive(Default)]
pub(in crate::primitives) struct Opened(OnceLock<io::Result<[EventFd; 2]>>);

impl Counters for Opened {
    fn counters(&self) -> &[EventFd; 2] {
        let counters = self.0.get_or_init(|| Ok([EventFd::new()?, EventFd::new()?]));
        or_fail(counters.as_ref(), "no eventfd (see `ulimit -n`)")
    }
}

impl Counters for Inherited {
    fn counters(&self) -> &[EventFd; 2] {
        &or_fail(processes::ends().ok_or("this process is no worker"), "no eventfd").events
    }
}

/// Has a counter for each of two threads.
pub(in crate::primitives) trait Counters: Default + Send + Sync + 'static {
    /// They are.
    fn counters(&self) -> &[EventFd; 2];
}

impl<E: Counters> Events<E> {
    fn wake(&self, thread: usize) {
        or_fail(self.ends.counters()[thread].add(1), "the eventfd could not be written");
    }

    fn taken(&self, thread: usize, limit: Duration) -> bool {
        or_fail(self.ends.counters()[thread].take(limit), "the eventfd could not be read").is_some()
    }
}

impl<E: Counters> Handoff for Events<E> {
    fn new() -> Self {
        Self { turns: AtomicU32::new(0), ends: E::default() }
    }

    fn join(&self, thread: usize) {
        if thread == 0 {
            self.turns.store(0, Ordering::Relaxed);
            (0..2).for_each(|thread| while self.taken(thread, Duration::ZERO) {});
            self.wake(0);
        }
    }

    #[inline(always)]
    fn pass(&self, thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        if !self.taken(thread, LIMIT) {
            return Err(WaitTimeout);
        }
        // Relaxed: the system calls publish it.
        self.turns.store(turn.wrapping_add(1), Ordering::Relaxed);
        self.wake(1 - thread);
        Ok(())
    }

    fn turns(&self) -> u32 {
        self.turns.load(Ordering::Relaxed)
    }
}
