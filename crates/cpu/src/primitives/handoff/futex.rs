//! `cpu.handoff.futex`: the system call that the other blocking hand-offs are made of.

use std::sync::atomic::{AtomicU32, Ordering};

use syncscope_core::Primitive;
use syncscope_host::futex::{self, FutexTimeout, Scope};

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::handoff::{self, Handoff};
use crate::primitives::wait::LIMIT;
use crate::primitives::workload::Workload;
use crate::sync::WaitTimeout;

/// In theory: a system call to wake, a system call to block, and the time until the operating system runs the waiter
/// again. What condition variables, parking and channels cost beyond this is their own.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.handoff.futex",
        summary: "Two threads block on one word and wake each other by futex calls, without spinning",
        operation: handoff::OPERATION,
        source: "Linux, futex(2); Drepper, Futexes Are Tricky, 2011",
        facts: handoff::SLEEPING,
    },
    handoff::cases,
    |case| {
        handoff::workload::<FutexToken>(case, Expected::Uncounted("a futex is a system call behind a library function"))
            .map(Workload::long_blocking)
    },
)
.in_studies(&[handoff::ON_CPU_PAIRS]);

/// The number of turns, which is the word of the futex.
pub(super) struct FutexToken(AtomicU32);

impl Handoff for FutexToken {
    fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    fn join(&self, thread: usize) {
        if thread == 0 {
            self.0.store(0, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn pass(&self, _thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        loop {
            // Acquire and release: the token publishes what the other thread wrote before.
            let found = self.0.load(Ordering::Acquire);
            if found == turn {
                break;
            }
            // The call does not block if the word has changed since.
            futex::wait(&self.0, found, LIMIT, Scope::Process).map_err(|FutexTimeout| WaitTimeout)?;
        }
        self.0.store(turn.wrapping_add(1), Ordering::Release);
        futex::wake_one(&self.0, Scope::Process);
        Ok(())
    }

    fn turns(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}
