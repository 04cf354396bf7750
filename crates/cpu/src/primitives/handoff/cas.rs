//! `cpu.handoff.cas_pingpong`: compare-and-swap on one line.

use std::sync::atomic::{AtomicU32, Ordering};

use syncscope_core::Primitive;

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::handoff::{self, Handoff};
use crate::primitives::wait::LIMIT;
use crate::studies::{CoreToCore, Numa, Participation};
use crate::sync::{WaitLimit, WaitTimeout};

/// In theory: the waiting core asks for the line in exclusive state again and again, so that it moves even while it is
/// not its turn; a hand-off is one such move. How far it is depends on the line, too: a sample moves several. Published core-to-core latencies are measured in this way.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.handoff.cas_pingpong",
        summary: "Two threads compare-and-swap one variable in turn, again and again without a pause until it is their turn",
        operation: handoff::OPERATION,
        source: "nviennot, core-to-core-latency (compare-and-swap mode)",
    },
    handoff::cases,
    |case| handoff::workload::<CasToken>(case, Expected::once(&["lock cmpxchg"])),
)
.in_studies(&[
    handoff::ON_CPU_PAIRS,
    Participation { study: &CoreToCore, templates: handoff::template, reports_missing: false },
    Participation { study: &Numa, templates: handoff::template, reports_missing: false },
]);

/// The number of turns, and nothing else on its line that changes.
pub(super) struct CasToken {
    turns: AtomicU32,
    wait_limit: WaitLimit,
}

impl Handoff for CasToken {
    const TOKENS: usize = handoff::LINES;

    fn new() -> Self {
        Self { turns: AtomicU32::new(0), wait_limit: WaitLimit::new(LIMIT) }
    }

    fn join(&self, thread: usize) {
        if thread == 0 {
            self.turns.store(0, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn pass(&self, _thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        // Acquire and release: with the token goes what the other one wrote before it. A failed attempt reads nothing.
        let (turns, next) = (&self.turns, turn.wrapping_add(1));
        self.wait_limit
            .wait_eagerly(move || turns.compare_exchange(turn, next, Ordering::AcqRel, Ordering::Relaxed).is_ok())
    }

    fn turns(&self) -> u32 {
        self.turns.load(Ordering::Relaxed)
    }
}
