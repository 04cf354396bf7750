//! `cpu.handoff.cas_pingpong`: compare-and-swap on one line.

use std::sync::atomic::{AtomicU32, Ordering};

use syncscope_core::Primitive;

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::handoff;
use crate::primitives::handoff::line::{LineToken, TakeTurn};
use crate::studies::{CoreToCore, Numa, Participation};
use crate::sync::{WaitLimit, WaitTimeout};

/// In theory: the waiting core requests the line in exclusive state again and again, so that the line is transferred
/// even when it is not its turn. A hand-off is one such transfer. Its distance depends on the line, so a sample uses
/// several lines. Published core-to-core latencies are measured in this way.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.handoff.cas_pingpong",
        summary: "Two threads compare-and-swap one variable in turn; each retries without a pause until it is its turn",
        operation: handoff::OPERATION,
        source: "nviennot, core-to-core-latency (compare-and-swap mode)",
        facts: handoff::SPINNING,
    },
    handoff::cases,
    |case| handoff::workload::<CasToken>(case, Expected::once(&["lock cmpxchg"])),
)
.in_studies(&[
    handoff::ON_CPU_PAIRS,
    Participation { study: &CoreToCore, templates: handoff::template, reports_missing: false },
    Participation { study: &Numa, templates: handoff::template, reports_missing: false },
]);

/// A token that both threads compare and swap.
pub(super) type CasToken = LineToken<CompareAndSwap>;

pub(super) enum CompareAndSwap {}

impl TakeTurn for CompareAndSwap {
    #[inline(always)]
    fn take(turns: &AtomicU32, turn: u32, wait_limit: &WaitLimit) -> Result<(), WaitTimeout> {
        // Acquire and release: the token publishes what the other thread wrote before. A failed attempt publishes
        // nothing.
        let next = turn.wrapping_add(1);
        wait_limit.wait_eagerly(move || turns.compare_exchange(turn, next, Ordering::AcqRel, Ordering::Relaxed).is_ok())
    }
}
