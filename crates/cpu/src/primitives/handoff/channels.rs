//! Hand-offs of messages through channels: of crossbeam, by their capacity, and of the standard library.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crossbeam::channel::{self, Receiver, Sender};

use crate::primitives::handoff::{self, Handoff};
use crate::primitives::prelude::*;

const IN_A_LIBRARY: Expected = Expected::Uncounted("a channel is a library, not an instruction");

/// In theory: an atomic operation and a store to send, the same to receive, and a system call on each side if the
/// receiver blocks. Receivers spin for some microseconds first, so running threads need no call.
pub(super) static CHANNEL: Entry = handoff::channel::<Channels>(
    "cpu.handoff.channel",
    "Two threads send a number to each other through crossbeam's channels of capacity one",
    "crossbeam-channel, bounded(1)",
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
    const EXPECTED: Expected = IN_A_LIBRARY;

    fn new() -> Self {
        Self([channel::bounded(CAPACITY), channel::bounded(CAPACITY)])
    }

    fn reset(&self) {
        (0..2).for_each(|thread| while self.inbox(thread).try_recv().is_ok() {});
        self.send(0, 0);
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

/// In theory: as `cpu.handoff.channel`, which has room for one message. Of a larger buffer a token uses one place after
/// the other, on several lines, but no sender ever waits for room: what more room costs where it is not needed.
pub(super) static BOUNDED: Entry = Entry {
    cases,
    workload: |case| match case.group_number(CAPACITY)? {
        1 => handoff::workload::<Channels<1>>(case),
        64 => handoff::workload::<Channels<64>>(case),
        _ => None,
    },
    ..handoff::channel::<Channels>(
        "cpu.handoff.crossbeam_bounded",
        "Two threads send a number to each other through crossbeam's channels of the capacity in the column group",
        "crossbeam-channel, bounded(1) and bounded(64)",
    )
}
.with_designs()
.beyond_quick();

/// The group: channels with room for so many messages.
const CAPACITY: &str = "capacity #";

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let of = |case: Case| [1, 64].map(|room| Case { group: Some(Group::numbered(CAPACITY, room)), ..case.clone() });
    handoff::cases(primitive, axes).into_iter().flat_map(of).collect()
}

/// In theory: sender and receiver wait for each other. The one that comes first enters itself in a list under a lock and
/// spins, then sleeps; the other one finds it there, gives or takes the message and wakes it.
pub(super) static RENDEZVOUS: Entry = handoff::channel::<Rendezvous>(
    "cpu.handoff.crossbeam_rendezvous",
    "Two threads meet to hand over a number, through crossbeam's channels of capacity zero",
    "crossbeam-channel, bounded(0)",
)
.in_studies(&[handoff::ON_PAIRS_THAT_EXIST])
.beyond_quick();

/// A channel to each thread. No channel can hold the token between two passes, so that a pass of thread 0 is the whole
/// round trip: it gives the token away and takes it back. One of thread 1 takes it and gives it back.
pub(super) struct Rendezvous {
    to: [(Sender<u32>, Receiver<u32>); 2],
    turns: AtomicU32,
}

impl Rendezvous {
    fn give(&self, to: usize, token: u32) -> Result<(), WaitTimeout> {
        self.to[to].0.send_timeout(token, LIMIT).map_err(|_| WaitTimeout)
    }

    fn take(&self, to: usize) -> Result<u32, WaitTimeout> {
        self.to[to].1.recv_timeout(LIMIT).map_err(|_| WaitTimeout)
    }
}

impl Handoff for Rendezvous {
    const EXPECTED: Expected = IN_A_LIBRARY;

    fn new() -> Self {
        Self { to: [channel::bounded(0), channel::bounded(0)], turns: AtomicU32::new(0) }
    }

    fn reset(&self) {
        self.turns.store(0, Ordering::Relaxed);
    }

    #[inline(always)]
    fn pass(&self, thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        if thread == 1 {
            let token = self.take(1)?;
            return self.give(0, token.wrapping_add(1));
        }
        self.give(1, turn.wrapping_add(1))?;
        // Relaxed: only thread 0 counts, and only thread 0 reads the count.
        self.turns.store(self.take(0)?, Ordering::Relaxed);
        Ok(())
    }

    fn turns(&self) -> u32 {
        self.turns.load(Ordering::Relaxed)
    }
}

/// In theory: as `cpu.handoff.channel`. The standard library's channels are those of crossbeam since Rust 1.67, and differ
/// in when a receiver stops spinning.
pub(super) static STD_MPSC: Entry = handoff::channel::<Inboxes>(
    "cpu.handoff.std_mpsc",
    "Two threads send a number to each other through the standard library's channels of capacity one",
    "Rust std::sync::mpsc::sync_channel(1)",
)
.in_studies(&[handoff::ON_PAIRS_THAT_EXIST])
.beyond_quick();

/// The inboxes of both threads. The token is in that of the thread whose turn it is. Only its thread receives from an
/// inbox; the mutex says so to the compiler and is always free: about ten nanoseconds.
pub(super) struct Inboxes([(SyncSender<u32>, Mutex<mpsc::Receiver<u32>>); 2]);

impl Inboxes {
    fn inbox(&self, thread: usize) -> MutexGuard<'_, mpsc::Receiver<u32>> {
        self.0[thread].1.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, to: usize, token: u32) {
        // Cannot fail: the inbox is empty, because its owner took the token out, and both ends live as long as this.
        let _ = self.0[to].0.try_send(token);
    }
}

impl Handoff for Inboxes {
    const EXPECTED: Expected = IN_A_LIBRARY;

    fn new() -> Self {
        let inbox = || {
            let (sender, receiver) = sync_channel(1);
            (sender, Mutex::new(receiver))
        };
        Self([inbox(), inbox()])
    }

    fn reset(&self) {
        (0..2).for_each(|thread| while self.inbox(thread).try_recv().is_ok() {});
        self.send(0, 0);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_of_thread_0_is_a_round_trip_and_needs_a_partner() {
        let token = Rendezvous::new();
        std::thread::scope(|scope| {
            scope.spawn(|| token.pass(1, 1));
            assert_eq!((token.pass(0, 0), token.turns()), (Ok(()), 2));
        });
        std::thread::scope(|scope| {
            let other = scope.spawn(|| token.pass(1, 3));
            assert_eq!(other.join().unwrap(), Err(WaitTimeout));
        });
        assert_eq!((token.pass(0, 2), token.turns()), (Err(WaitTimeout), 2));
    }
}
