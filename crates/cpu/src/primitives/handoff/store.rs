//! `cpu.handoff.store_pingpong`: plain stores on one line.

use std::sync::atomic::{AtomicU32, Ordering};

use syncscope_core::{Case, Preset, Primitive};

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::handoff::{self, Handoff};
use crate::primitives::wait::LIMIT;
use crate::studies::{CoreToCore, Participation};
use crate::sync::{WaitLimit, WaitTimeout};

/// In theory: a store that takes the line away from the other core, and the other core's read that fetches it back: one
/// transfer of a line, one of several in a sample, and what the waiting core had to learn by looking. The least that any message between cores costs.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.handoff.store_pingpong",
        summary: "Two threads write one variable in turn; each spins, without a pause, until it reads that it is its turn",
        operation: handoff::OPERATION,
        source: "nviennot, core-to-core-latency (read/write mode); Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, on spinning",
    },
    handoff::cases,
    |case| {
        handoff::workload::<StoreToken>(
            case,
            Expected::Uncounted("a hand-off by plain stores has no instruction of its own"),
        )
    },
)
.in_studies(&[
    handoff::ON_CPU_PAIRS,
    Participation { study: &CoreToCore, templates: in_papers, reports_missing: false },
]);

/// The matrix by stores repeats that by compare-and-swap: only the largest preset has both.
fn in_papers(primitive: &Primitive, preset: Preset) -> Vec<Case> {
    if preset == Preset::Paper { handoff::template(primitive, preset) } else { Vec::new() }
}

/// The number of turns, and nothing else on its line that changes.
pub(super) struct StoreToken {
    turns: AtomicU32,
    wait_limit: WaitLimit,
}

impl Handoff for StoreToken {
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
        // Acquire and release: with the token goes what the other one wrote before it.
        let turns = &self.turns;
        self.wait_limit.wait_eagerly(move || turns.load(Ordering::Acquire) == turn)?;
        self.turns.store(turn.wrapping_add(1), Ordering::Release);
        Ok(())
    }

    fn turns(&self) -> u32 {
        self.turns.load(Ordering::Relaxed)
    }
}
