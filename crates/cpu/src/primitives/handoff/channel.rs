//! `cpu.handoff.channel`: a message through a channel of crossbeam.

use std::time::Instant;

use ::crossbeam::channel::{self, Receiver, Sender};
use syncscope_core::Primitive;

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::handoff::{self, Handoff};
use crate::primitives::wait::LIMIT;
use crate::primitives::workload::Workload;
use crate::sync::WaitTimeout;

/// In theory: an atomic operation and a store to send, the same to receive, and a system call on each side if the
/// receiver blocks. Receivers spin for some microseconds first, so running threads need no call.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.handoff.channel",
        summary: "Two threads send a number to each other through crossbeam's channels of capacity one",
        operation: handoff::OPERATION,
        source: "crossbeam-channel, bounded(1)",
        facts: handoff::CHANNEL,
    },
    handoff::cases,
    |case| {
        handoff::workload::<Channels>(case, Expected::Uncounted("a channel is a library, not an instruction"))
            .map(Workload::long_blocking)
    },
)
.in_studies(&[handoff::ON_CPU_PAIRS]);

/// The inboxes of both threads. The token is in that of the thread whose turn it is.
pub(super) struct Channels<const CAPACITY: usize = 1>([(Sender<u32>, Receiver<u32>); 2]);

impl<const CAPACITY: usize> Channels<CAPACITY> {
    fn inbox(&self, thread: usize) -> &Receiver<u32> {
        &self.0[thread].1
    }

    fn send(&self, to: usize, token: u32) {
        // Cannot fail: the inbox is empty, because its owner took the token out, and both ends live as long as this.
        let _ = self.0[to].0.try_send(token);
    }
}

impl<const CAPACITY: usize> Handoff for Channels<CAPACITY> {
    fn new() -> Self {
        Self([channel::bounded(CAPACITY), channel::bounded(CAPACITY)])
    }

    fn join(&self, thread: usize) {
        if thread == 0 {
            (0..2).for_each(|thread| while self.inbox(thread).try_recv().is_ok() {});
            self.send(0, 0);
        }
    }

    #[inline(always)]
    fn pass(&self, thread: usize, _turn: u32) -> Result<(), WaitTimeout> {
        // Tries without a clock first: only a thread that would block needs a deadline.
        let token = match self.inbox(thread).try_recv() {
            Ok(token) => token,
            Err(_) => self.inbox(thread).recv_deadline(Instant::now() + LIMIT).map_err(|_| WaitTimeout)?,
        };
        self.send(1 - thread, token.wrapping_add(1));
        Ok(())
    }

    fn turns(&self) -> u32 {
        let found = (0..2).find_map(|thread| Some((thread, self.inbox(thread).try_recv().ok()?)));
        let Some((thread, token)) = found else { return 0 };
        self.send(thread, token);
        token
    }
}
