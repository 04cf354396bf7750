//! `cpu.wake.eventfd`: a thread that waits for an event counter of the kernel.

use std::io;

use syncscope_core::Primitive;
use syncscope_host::descriptors::EventFd;

use super::sleeper::states_are_shown;
use super::way::Way;
use crate::primitives::entry::Entry;
use crate::primitives::wait::{LIMIT, or_fail};
use crate::primitives::wake;
use crate::sync::WaitTimeout;

/// In theory: a write system call that adds to the counter and wakes, and two calls of the waiter, which event loops make
/// too: poll, in which it sleeps, and read, which takes the counter. More work in the kernel than a futex.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.wake.eventfd",
        summary: "A write to an eventfd wakes a thread that sleeps in poll and then reads it",
        operation: wake::OPERATION,
        source: "Linux, eventfd(2), poll(2)",
        facts: wake::FACTS,
    },
    wake::cases,
    wake::workload::<Event>,
)
.in_studies(wake::STUDIES)
.requiring(states_are_shown)
.beyond_quick();

/// The counter: one for each wake-up that was not taken yet.
pub(super) struct Event(io::Result<EventFd>);

impl Event {
    fn counter(&self) -> &EventFd {
        or_fail(self.0.as_ref(), "no eventfd (see `ulimit -n`)")
    }
}

impl Way for Event {
    fn new() -> Self {
        Self(EventFd::new())
    }

    fn sleep(&self, _: u32) -> Result<(), WaitTimeout> {
        match or_fail(self.counter().take(LIMIT), "the eventfd could not be read") {
            Some(_) => Ok(()),
            None => Err(WaitTimeout),
        }
    }

    #[inline]
    fn wake(&self, _: u32) {
        or_fail(self.counter().add(1), "the eventfd could not be written");
    }
}
