//! `cpu.wake.futex`: the system call that the other wake-ups are made of.

use std::sync::atomic::{AtomicU32, Ordering};

use syncscope_core::Primitive;
use syncscope_host::futex::{self, FutexTimeout, Scope};

use super::sleeper::states_are_shown;
use super::way::Way;
use crate::primitives::entry::Entry;
use crate::primitives::wait::LIMIT;
use crate::primitives::wake;
use crate::sync::WaitTimeout;

/// In theory: one system call that finds the waiter in a hash table and makes it runnable, an interrupt to its CPU where
/// that one is idle, and the way of the waiter out of its own call. What the other wake-ups cost beyond this is their own.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.wake.futex",
        summary: "A store and a futex call wake a thread that sleeps on the word",
        operation: wake::OPERATION,
        source: "Linux, futex(2); Drepper, Futexes Are Tricky, 2011",
        facts: wake::FACTS,
    },
    wake::cases,
    wake::workload::<Word>,
)
.in_studies(wake::STUDIES)
.requiring(states_are_shown);

/// The number of the last wake-up.
pub(super) struct Word(AtomicU32);

impl Way for Word {
    fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    fn sleep(&self, number: u32) -> Result<(), WaitTimeout> {
        loop {
            // Acquire and release: a wake-up publishes what the waker wrote before.
            let found = self.0.load(Ordering::Acquire);
            if found == number {
                return Ok(());
            }
            futex::wait(&self.0, found, LIMIT, Scope::Process).map_err(|FutexTimeout| WaitTimeout)?;
        }
    }

    #[inline]
    fn wake(&self, number: u32) {
        self.0.store(number, Ordering::Release);
        futex::wake_one(&self.0, Scope::Process);
    }
}
