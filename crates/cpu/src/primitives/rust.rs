//! Code of a Rust program: a closure becomes the loops of an operation, a lock, a barrier or a hand-off.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::memory::Pages;
use crate::primitives::barrier::proof_of;
use crate::primitives::prelude::*;
use crate::primitives::workload::Blocking;
use crate::sync::Barrier;

/// What a closure synchronizes, and so what is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Operation,
    /// Each call counts once while it holds the lock.
    Lock,
    Barrier,
    /// Each call takes the token, counts once and passes it on.
    Handoff,
}

/// The calling thread, as a closure sees it.
#[derive(Debug)]
pub struct Me<'a> {
    thread: usize,
    count: &'a AtomicU64,
}

impl Me<'_> {
    /// The number of the thread in the team, from 0.
    pub const fn thread(&self) -> usize {
        self.thread
    }

    /// Adds one to the counter of the state, which a lock protects or which is handed over. Load and store are apart, so that two
    /// threads that count at once lose an addition.
    #[inline(always)]
    pub fn count(&self) {
        self.count.store(self.count.load(Relaxed).wrapping_add(1), Relaxed);
    }
}

/// Code that synchronizes once by a state.
pub trait Code<S>: Fn(&S, &Me<'_>) + Copy + Send + Sync + 'static {}

impl<S, F: Fn(&S, &Me<'_>) + Copy + Send + Sync + 'static> Code<S> for F {}

/// A state and its counter.
struct Slot<S, F> {
    state: S,
    count: AtomicU64,
    code: F,
}

type Slots<S, F> = Pages<CachePadded<Slot<S, F>>>;

/// One state in each slot.
struct Calls<S, F> {
    slots: Slots<S, F>,
    kind: Kind,
    threads: u32,
}

impl<S: Send + Sync + 'static, F: Code<S>> Operation for Calls<S, F> {
    type Local<'a> = (&'a S, F, Me<'a>);

    fn local(&self, slot: usize, thread: usize) -> Self::Local<'_> {
        let Slot { state, count, code } = &*self.slots[slot];
        (state, *code, Me { thread, count })
    }

    #[inline(always)]
    fn execute((state, code, me): &mut Self::Local<'_>) {
        code(state, me);
    }

    fn prepare(&self, slot: usize, thread: usize) {
        if thread == 0 {
            self.slots[slot].count.store(0, Relaxed);
        }
    }

    fn verify(&self, slot: usize, thread: usize, executed: Executed) -> Result<(), String> {
        let (expected, what) = match self.kind {
            Kind::Lock => (executed.by_all(self.threads), "additions under the lock"),
            Kind::Handoff => (2 * executed.own, "hand-offs"),
            Kind::Operation | Kind::Barrier => return Ok(()),
        };
        let found = self.slots[slot].count.load(Relaxed);
        if thread != 0 || found == expected { Ok(()) } else { Err(format!("{expected} {what} made {found}")) }
    }
}

impl<S: Send + Sync + 'static, F: Code<S>> Barrier for Slot<S, F> {
    type Local = usize;

    fn join(&self, thread: usize) -> usize {
        thread
    }

    fn wait(&self, thread: &mut usize) -> Result<(), WaitTimeout> {
        (self.code)(&self.state, &Me { thread: *thread, count: &self.count });
        Ok(())
    }
}

/// The loops of a closure for `threads` threads; `None` for a hand-off that is not between two.
pub(crate) fn workload<S: Send + Sync + 'static, F: Code<S>>(
    kind: Kind,
    make: impl Fn(u32) -> S,
    code: F,
    threads: u32,
) -> Option<Workload> {
    let slot = |_| CachePadded::new(Slot { state: make(threads), count: AtomicU64::new(0), code });
    let slots = || Pages::filled(SLOTS, slot);
    let calls = Calls { slots: slots(), kind, threads };
    let case = Case { threads: Some(threads), ..Case::default() };
    let workload = match kind {
        Kind::Operation | Kind::Lock => Workload::contended(Arc::new(calls), &case)?,
        Kind::Barrier => Workload::of(calls).with_proof(proof_of(threads, slots())),
        Kind::Handoff if threads != 2 => return None,
        Kind::Handoff => Workload { per_execution: 2, ..Workload::of(calls) },
    };
    Some(Workload { blocking: Blocking::Unknown, ..workload.expecting(Expected::Difference) })
}
