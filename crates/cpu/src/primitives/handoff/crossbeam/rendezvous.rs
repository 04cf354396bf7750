//! `cpu.handoff.crossbeam_rendezvous`: a message through a channel of crossbeam that has no room for one.

use std::sync::atomic::{AtomicU32, Ordering};

use crossbeam::channel::{self, Receiver, Sender};
use syncscope_core::Primitive;

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::handoff::{self, Handoff};
use crate::primitives::wait::LIMIT;
use crate::primitives::workload::Workload;
use crate::sync::WaitTimeout;

/// In theory: sender and receiver wait for each other. The one that comes first enters itself in a list under a lock and
/// spins, then sleeps; the other one finds it there, gives or takes the message and wakes it.
pub(in crate::primitives::handoff) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.handoff.crossbeam_rendezvous",
        summary: "Two threads meet to hand over a number, through crossbeam's channels of capacity zero",
        operation: handoff::OPERATION,
        source: "crossbeam-channel, bounded(0)",
        facts: handoff::CHANNEL,
    },
    handoff::cases,
    |case| {
        handoff::workload::<Rendezvous>(case, Expected::Uncounted("a channel is a library, not an instruction"))
            .map(Workload::long_blocking)
    },
)
.in_studies(&[handoff::ON_PAIRS_THAT_EXIST])
.beyond_quick();

/// A channel to each thread. No channel can hold the token between two passes, so that a pass of thread 0 is the whole
/// round trip: it gives the token away and takes it back. One of thread 1 takes it and gives it back.
pub(in crate::primitives::handoff) struct Rendezvous {
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
    fn new() -> Self {
        Self { to: [channel::bounded(0), channel::bounded(0)], turns: AtomicU32::new(0) }
    }

    fn join(&self, thread: usize) {
        if thread == 0 {
            self.turns.store(0, Ordering::Relaxed);
        }
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
