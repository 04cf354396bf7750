//! `cpu.handoff.store_pingpong`: plain stores on one line.

use std::sync::atomic::{AtomicU32, Ordering};

use syncscope_core::{Case, Preset, Primitive};

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::handoff;
use crate::primitives::handoff::line::{LineToken, TakeTurn};
use crate::studies::{CoreToCore, Participation};
use crate::sync::{BetweenProcesses, WaitLimit, WaitTimeout};

/// In theory: a store that takes the line from the other core, and a read of the other core that fetches it: one
/// transfer of a line, and the delay until the waiting core reads again. No message between cores costs less. A sample
/// uses several lines.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.handoff.store_pingpong",
        summary: "Two threads write one variable in turn; each reads it without a pause until it is its turn",
        operation: handoff::OPERATION,
        source: "nviennot, core-to-core-latency (read/write mode); Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, on spinning",
        facts: handoff::SPINNING,
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

/// The matrix by stores asks the same as that by compare-and-swap: only the largest preset has both.
fn in_papers(primitive: &Primitive, preset: Preset) -> Vec<Case> {
    if preset == Preset::Paper { handoff::template(primitive, preset) } else { Vec::new() }
}

/// A token that each thread reads and then stores.
pub(in crate::primitives) type StoreToken = LineToken<ReadAndStore>;

pub(in crate::primitives) enum ReadAndStore {}

// SAFETY: a number and a wait limit.
unsafe impl BetweenProcesses for StoreToken {}

impl TakeTurn for ReadAndStore {
    #[inline(always)]
    fn take(turns: &AtomicU32, turn: u32, wait_limit: &WaitLimit) -> Result<(), WaitTimeout> {
        // Acquire and release: the token publishes what the other thread wrote before.
        wait_limit.wait_eagerly(move || turns.load(Ordering::Acquire) == turn)?;
        turns.store(turn.wrapping_add(1), Ordering::Release);
        Ok(())
    }
}
