//! Hand-offs of messages through channels: of crossbeam, by their capacity, and of the standard library.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crossbeam::channel::{self, Receiver, Sender};

use crate::primitives::handoff::{self, Handoff, Token};
use crate::primitives::prelude::*;

const IN_A_LIBRARY: Expected = Expected::Uncounted("a channel is library code, not an instruction");

/// In theory: an atomic operation and a store to send, the same to receive, and a system call on each side if the
/// receiver blocks. Receivers spin for some microseconds first, so running threads need no call.
pub(super) static CHANNEL: Entry = handoff::entry::<Inboxes<Bounded<1>>>(
    "cpu.handoff.channel",
    "Two threads pass a number back and forth through crossbeam channels of capacity one",
    "crossbeam-channel, bounded(1)",
)
.in_studies(&[handoff::ON_CPU_PAIRS]);

/// A channel from which one thread receives.
pub(super) trait Inbox: Default + Send + Sync + 'static {
    /// Sends the token. Cannot fail: the inbox is empty, because its owner took the token out, and both ends live as long as the
    /// inbox.
    fn send(&self, token: u32);

    /// Takes the token if it is there.
    fn take(&self) -> Option<u32>;

    /// Takes the token or waits for it. Tries without a clock first: only a thread that would block needs a deadline.
    fn receive(&self) -> Result<u32, WaitTimeout>;
}

/// The inboxes of both threads. The token is in the inbox of the thread whose turn it is.
#[derive(Default)]
pub(super) struct Inboxes<I>([I; 2]);

impl<I: Inbox> Handoff for Inboxes<I> {
    const EXPECTED: Expected = IN_A_LIBRARY;
    const FACTS: Facts = handoff::CHANNEL;

    fn reset(&self) {
        self.0.iter().for_each(|inbox| while inbox.take().is_some() {});
        self.0[0].send(0);
    }

    #[inline(always)]
    fn pass(Token { way, .. }: &Token<Self>, thread: usize, _turn: u32) -> Result<(), WaitTimeout> {
        let token = way.0[thread].receive()?;
        way.0[1 - thread].send(token.wrapping_add(1));
        Ok(())
    }

    fn turns(token: &Token<Self>) -> u32 {
        let found = token.way.0.iter().find_map(|inbox| Some((inbox, inbox.take()?)));
        let Some((inbox, turns)) = found else { return 0 };
        inbox.send(turns);
        turns
    }
}

pub(super) struct Bounded<const CAPACITY: usize>(Sender<u32>, Receiver<u32>);

impl<const CAPACITY: usize> Default for Bounded<CAPACITY> {
    fn default() -> Self {
        let (sender, receiver) = channel::bounded(CAPACITY);
        Self(sender, receiver)
    }
}

impl<const CAPACITY: usize> Inbox for Bounded<CAPACITY> {
    #[inline(always)]
    fn send(&self, token: u32) {
        let _ = self.0.try_send(token);
    }

    fn take(&self) -> Option<u32> {
        self.1.try_recv().ok()
    }

    #[inline(always)]
    fn receive(&self) -> Result<u32, WaitTimeout> {
        let received = self.1.try_recv().or_else(|_| self.1.recv_deadline(Instant::now() + LIMIT));
        received.map_err(|_| WaitTimeout)
    }
}

/// In theory: as `cpu.handoff.channel`, which has room for one message. In a larger buffer a token uses one place after the
/// other, on several lines, but no sender ever waits for room. This shows what more room costs where it is not needed.
pub(super) static BOUNDED: Entry = Entry {
    cases,
    workload: |case| match case.group_number(CAPACITY)? {
        1 => handoff::workload::<Inboxes<Bounded<1>>>(case),
        64 => handoff::workload::<Inboxes<Bounded<64>>>(case),
        _ => None,
    },
    ..handoff::entry::<Inboxes<Bounded<1>>>(
        "cpu.handoff.crossbeam_bounded",
        "Two threads pass a number back and forth through crossbeam channels (capacity: the group column)",
        "crossbeam-channel, bounded(1) and bounded(64)",
    )
}
.in_studies(&[])
.with_designs()
.beyond_quick();

/// The group: channels with room for this many messages.
const CAPACITY: &str = "capacity #";

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let of = |case: Case| [1, 64].map(|room| Case { group: Some(Group::numbered(CAPACITY, room)), ..case.clone() });
    of_two(primitive, axes).into_iter().flat_map(of).collect()
}

/// In theory: sender and receiver wait for each other. The one that comes first enters itself in a list under a lock and
/// spins, then sleeps; the other one finds it there, gives or takes the message and wakes it.
pub(super) static RENDEZVOUS: Entry = handoff::entry::<Rendezvous>(
    "cpu.handoff.crossbeam_rendezvous",
    "Two threads meet to hand over a number through zero-capacity crossbeam channels",
    "crossbeam-channel, bounded(0)",
)
.beyond_quick();

/// A channel to each thread. No channel can hold the token between two passes, so that a pass of thread 0 is the whole round
/// trip: it gives the token away and takes it back. A pass of thread 1 takes it and gives it back.
#[derive(Default)]
pub(super) struct Rendezvous([Bounded<0>; 2]);

impl Rendezvous {
    fn give(&self, to: usize, token: u32) -> Result<(), WaitTimeout> {
        self.0[to].0.send_timeout(token, LIMIT).map_err(|_| WaitTimeout)
    }

    fn take(&self, to: usize) -> Result<u32, WaitTimeout> {
        self.0[to].1.recv_timeout(LIMIT).map_err(|_| WaitTimeout)
    }
}

impl Handoff for Rendezvous {
    const EXPECTED: Expected = IN_A_LIBRARY;
    const FACTS: Facts = handoff::CHANNEL;

    #[inline(always)]
    fn pass(Token { turns, way, .. }: &Token<Self>, thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        if thread == 1 {
            let token = way.take(1)?;
            return way.give(0, token.wrapping_add(1));
        }
        way.give(1, turn.wrapping_add(1))?;
        // Relaxed: only thread 0 counts, and only thread 0 reads the count.
        turns.store(way.take(0)?, Ordering::Relaxed);
        Ok(())
    }
}

/// In theory: as `cpu.handoff.channel`. The standard library's channels are those of crossbeam since Rust 1.67, and differ
/// in when a receiver stops spinning.
pub(super) static STD_MPSC: Entry = handoff::entry::<Inboxes<Std>>(
    "cpu.handoff.std_mpsc",
    "Two threads pass a number back and forth through standard-library channels of capacity one",
    "Rust std::sync::mpsc::sync_channel(1)",
)
.beyond_quick();

/// An inbox from which only its thread receives. The mutex tells the compiler so; it is always free and costs about ten
/// nanoseconds.
pub(super) struct Std(SyncSender<u32>, Mutex<mpsc::Receiver<u32>>);

impl Default for Std {
    fn default() -> Self {
        let (sender, receiver) = sync_channel(1);
        Self(sender, Mutex::new(receiver))
    }
}

impl Inbox for Std {
    #[inline(always)]
    fn send(&self, token: u32) {
        let _ = self.0.try_send(token);
    }

    fn take(&self) -> Option<u32> {
        self.1.lock().unwrap_or_else(PoisonError::into_inner).try_recv().ok()
    }

    #[inline(always)]
    fn receive(&self) -> Result<u32, WaitTimeout> {
        let inbox = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        inbox.try_recv().or_else(|_| inbox.recv_timeout(LIMIT)).map_err(|_| WaitTimeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_of_thread_0_is_a_round_trip_and_needs_a_partner() {
        let token = &*Token::<Rendezvous>::new(0);
        let pass = |thread, turn| Rendezvous::pass(token, thread, turn);
        std::thread::scope(|scope| {
            scope.spawn(|| pass(1, 1));
            assert_eq!((pass(0, 0), Rendezvous::turns(token)), (Ok(()), 2));
        });
        std::thread::scope(|scope| {
            let other = scope.spawn(|| pass(1, 3));
            assert_eq!(other.join().unwrap(), Err(WaitTimeout));
        });
        assert_eq!((pass(0, 2), Rendezvous::turns(token)), (Err(WaitTimeout), 2));
    }
}
