//! `cpu.handoff.crossbeam_parker`: a thread parks and another one unparks it, as in crossbeam.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crossbeam::sync::{Parker, Unparker};
use syncscope_core::Primitive;

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::handoff::{self, Handoff};
use crate::primitives::wait::LIMIT;
use crate::primitives::workload::Workload;
use crate::sync::WaitTimeout;

/// In theory: a mutex and a condition variable of the standard library behind an atomic state, where the standard
/// library's own parking is a futex: more steps on both sides. An object of its own, so that no other part of a program
/// can unpark the thread by accident.
pub(in crate::primitives::handoff) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.handoff.crossbeam_parker",
        summary: "Two threads park and unpark each other with crossbeam's Parker",
        operation: handoff::OPERATION,
        source: "crossbeam::sync::Parker",
        facts: handoff::SLEEPING,
    },
    handoff::cases,
    |case| {
        handoff::workload::<Parkers>(case, Expected::Uncounted("parking is a system call, not an instruction"))
            .map(Workload::long_blocking)
    },
)
.in_studies(&[handoff::ON_PAIRS_THAT_EXIST])
.beyond_quick();

/// The number of turns, and the parker of each thread. Only its thread uses it; the mutex says so to the compiler and is
/// always free: about ten nanoseconds.
pub(in crate::primitives::handoff) struct Parkers {
    turns: AtomicU32,
    threads: [(Mutex<Parker>, Unparker); 2],
}

impl Handoff for Parkers {
    fn new() -> Self {
        let thread = || {
            let parker = Parker::new();
            let unparker = parker.unparker().clone();
            (Mutex::new(parker), unparker)
        };
        Self { turns: AtomicU32::new(0), threads: [thread(), thread()] }
    }

    fn join(&self, thread: usize) {
        if thread == 0 {
            self.turns.store(0, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn pass(&self, thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        let mut started = None;
        // Acquire and release: the token publishes what the other thread wrote before.
        while self.turns.load(Ordering::Acquire) != turn {
            self.threads[thread].0.lock().unwrap_or_else(PoisonError::into_inner).park_timeout(LIMIT);
            // Parking ends once without a reason after a turn that was seen without parking.
            if self.turns.load(Ordering::Acquire) != turn
                && started.get_or_insert_with(Instant::now).elapsed() > LIMIT / 2
            {
                return Err(WaitTimeout);
            }
        }
        self.turns.store(turn.wrapping_add(1), Ordering::Release);
        self.threads[1 - thread].1.unpark();
        Ok(())
    }

    fn turns(&self) -> u32 {
        self.turns.load(Ordering::Relaxed)
    }
}
