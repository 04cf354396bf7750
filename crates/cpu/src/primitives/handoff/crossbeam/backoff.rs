//! `cpu.handoff.crossbeam_backoff`: stores on one line, waited for with crossbeam's Backoff.

use std::sync::atomic::{AtomicU32, Ordering};

use crossbeam::utils::Backoff;
use syncscope_core::Primitive;

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::handoff;
use crate::primitives::handoff::line::{LineToken, TakeTurn};
use crate::sync::{WaitLimit, WaitTimeout};

/// In theory: `cpu.handoff.store_pingpong` and the delay until the waiter looks again. It pauses 1, 2, 4, ... 64 times
/// between looks and then yields the CPU: the longer it waited, the later it sees the token, and the fewer looks disturb
/// the other thread. What lock-free structures built on crossbeam do.
pub(in crate::primitives::handoff) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.handoff.crossbeam_backoff",
        summary: "Two threads write one variable in turn; each waits for its turn with crossbeam's Backoff::snooze",
        operation: handoff::OPERATION,
        source: "crossbeam::utils::Backoff",
        facts: handoff::SPINNING,
    },
    handoff::cases,
    |case| {
        let expected = Expected::Uncounted("a hand-off by plain stores has no instruction of its own");
        handoff::workload::<BackoffToken>(case, expected)
    },
)
.in_studies(&[handoff::ON_PAIRS_THAT_EXIST])
.beyond_quick();

/// A token that a thread looks at less and less often while it waits.
pub(in crate::primitives::handoff) type BackoffToken = LineToken<Snooze>;

pub(in crate::primitives::handoff) enum Snooze {}

impl TakeTurn for Snooze {
    #[inline(always)]
    fn take(turns: &AtomicU32, turn: u32, wait_limit: &WaitLimit) -> Result<(), WaitTimeout> {
        let backoff = Backoff::new();
        // Acquire and release: the token publishes what the other thread wrote before.
        while turns.load(Ordering::Acquire) != turn {
            if backoff.is_completed() {
                // From here on it would only yield, without a limit.
                wait_limit.yield_until(|| turns.load(Ordering::Acquire) == turn)?;
                break;
            }
            backoff.snooze();
        }
        turns.store(turn.wrapping_add(1), Ordering::Release);
        Ok(())
    }
}
