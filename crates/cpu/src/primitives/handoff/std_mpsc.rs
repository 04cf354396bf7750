//! `cpu.handoff.std_mpsc`: a message through a channel of Rust's standard library.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use syncscope_core::Primitive;

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::handoff::{self, Handoff};
use crate::primitives::wait::LIMIT;
use crate::primitives::workload::Workload;
use crate::sync::WaitTimeout;

/// In theory: as `cpu.handoff.channel`. The standard library's channels are those of crossbeam since Rust 1.67, and differ
/// in when a receiver stops spinning.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.handoff.std_mpsc",
        summary: "Two threads send a number to each other through the standard library's channels of capacity one",
        operation: handoff::OPERATION,
        source: "Rust std::sync::mpsc::sync_channel(1)",
        facts: handoff::CHANNEL,
    },
    handoff::cases,
    |case| {
        handoff::workload::<Inboxes>(case, Expected::Uncounted("a channel is a library, not an instruction"))
            .map(Workload::long_blocking)
    },
)
.in_studies(&[handoff::ON_PAIRS_THAT_EXIST])
.beyond_quick();

/// The inboxes of both threads. The token is in that of the thread whose turn it is. Only its thread receives from an
/// inbox; the mutex says so to the compiler and is always free: about ten nanoseconds.
pub(super) struct Inboxes([(SyncSender<u32>, Mutex<Receiver<u32>>); 2]);

impl Inboxes {
    fn inbox(&self, thread: usize) -> MutexGuard<'_, Receiver<u32>> {
        self.0[thread].1.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, to: usize, token: u32) {
        // Cannot fail: the inbox is empty, because its owner took the token out, and both ends live as long as this.
        let _ = self.0[to].0.try_send(token);
    }
}

impl Handoff for Inboxes {
    fn new() -> Self {
        let inbox = || {
            let (sender, receiver) = sync_channel(1);
            (sender, Mutex::new(receiver))
        };
        Self([inbox(), inbox()])
    }

    fn join(&self, thread: usize) {
        if thread == 0 {
            (0..2).for_each(|thread| while self.inbox(thread).try_recv().is_ok() {});
            self.send(0, 0);
        }
    }

    #[inline(always)]
    fn pass(&self, thread: usize, _turn: u32) -> Result<(), WaitTimeout> {
        // Tries without a clock first: only a thread that would block needs a limit.
        let inbox = self.inbox(thread);
        let token = match inbox.try_recv() {
            Ok(token) => token,
            Err(_) => inbox.recv_timeout(LIMIT).map_err(|_| WaitTimeout)?,
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
