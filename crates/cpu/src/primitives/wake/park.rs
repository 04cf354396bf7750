//! `cpu.wake.park`: a parked thread is unparked.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, Thread};
use std::time::Instant;

use syncscope_core::Primitive;

use super::sleeper::states_are_shown;
use super::way::Way;
use crate::primitives::entry::Entry;
use crate::primitives::wait::LIMIT;
use crate::primitives::wake;
use crate::sync::WaitTimeout;

/// In theory: an atomic exchange on the state of the waiter and a futex call. There is no lock.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.wake.park",
        summary: "A store and unpark wake a thread that is parked, as in the standard library",
        operation: wake::OPERATION,
        source: "Rust std::thread::park, std::thread::Thread::unpark",
        facts: wake::FACTS,
    },
    wake::cases,
    wake::workload::<Parked>,
)
.in_studies(wake::STUDIES)
.requiring(states_are_shown);

/// The number of the last wake-up, and the thread to wake.
pub(super) struct Parked {
    last: AtomicU32,
    waiter: OnceLock<Thread>,
}

impl Way for Parked {
    fn new() -> Self {
        Self { last: AtomicU32::new(0), waiter: OnceLock::new() }
    }

    fn join(&self) {
        self.waiter.get_or_init(thread::current);
    }

    fn sleep(&self, number: u32) -> Result<(), WaitTimeout> {
        let started = Instant::now();
        // Acquire and release: a wake-up publishes what the waker wrote before.
        while self.last.load(Ordering::Acquire) != number {
            thread::park_timeout(LIMIT);
            // Parking may end without a reason.
            if self.last.load(Ordering::Acquire) != number && started.elapsed() > LIMIT / 2 {
                return Err(WaitTimeout);
            }
        }
        Ok(())
    }

    #[inline]
    fn wake(&self, number: u32) {
        self.last.store(number, Ordering::Release);
        if let Some(waiter) = self.waiter.get() {
            waiter.unpark();
        }
    }
}
