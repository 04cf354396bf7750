//! `cpu.handoff.park`: a thread parks and another one unparks it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, Thread};
use std::time::Instant;

use syncscope_core::Primitive;

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::handoff::{self, Handoff};
use crate::primitives::wait::LIMIT;
use crate::primitives::workload::Workload;
use crate::sync::WaitTimeout;

/// In theory: an atomic exchange on the state of the waiter, a futex call to wake it if it blocks, the futex call of
/// the waiter, and the time until the operating system runs it again. There is no lock, so it costs less than a
/// condition variable.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.handoff.park",
        summary: "Two threads park and unpark each other, as in the standard library",
        operation: handoff::OPERATION,
        source: "Rust std::thread::park, std::thread::Thread::unpark",
        facts: handoff::SLEEPING,
    },
    handoff::cases,
    |case| {
        handoff::workload::<Parked>(case, Expected::Uncounted("parking is a system call, not an instruction"))
            .map(Workload::long_blocking)
    },
)
.in_studies(&[handoff::ON_CPU_PAIRS]);

/// The number of turns, and the threads to wake.
pub(super) struct Parked {
    turns: AtomicU32,
    threads: [OnceLock<Thread>; 2],
}

impl Handoff for Parked {
    fn new() -> Self {
        Self { turns: AtomicU32::new(0), threads: Default::default() }
    }

    fn join(&self, thread: usize) {
        // An experiment stays with one team: the first thread with this number is the only one.
        self.threads[thread].get_or_init(thread::current);
        if thread == 0 {
            self.turns.store(0, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn pass(&self, thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        let mut started = None;
        // Acquire and release: the token publishes what the other thread wrote before.
        while self.turns.load(Ordering::Acquire) != turn {
            thread::park_timeout(LIMIT);
            // Parking may end without a reason, and does so once after a turn that was seen without parking.
            if self.turns.load(Ordering::Acquire) != turn
                && started.get_or_insert_with(Instant::now).elapsed() > LIMIT / 2
            {
                return Err(WaitTimeout);
            }
        }
        self.turns.store(turn.wrapping_add(1), Ordering::Release);
        if let Some(other) = self.threads[1 - thread].get() {
            other.unpark();
        }
        Ok(())
    }

    fn turns(&self) -> u32 {
        self.turns.load(Ordering::Relaxed)
    }
}
