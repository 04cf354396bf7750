//! Hand-offs of threads that spin: plain stores, compare-and-swap, and crossbeam's Backoff, each on lines of its own.

use std::sync::atomic::Ordering;

use crossbeam::utils::Backoff;

use crate::primitives::handoff;
use crate::primitives::handoff::{Handoff, Token};
use crate::primitives::prelude::*;
use syncscope_machine::studies::CoreToCore;

/// In theory: a store that takes the line from the other core, and a read of the other core that fetches it: one
/// transfer of a line, and the delay until the waiting core reads again. No message between cores costs less. A sample
/// uses several lines.
pub(super) static STORE: Entry = handoff::entry::<StoreToken>(
    "cpu.handoff.store_pingpong",
    "Two threads take turns writing one variable; each spins on it, without pausing, until its turn",
    "nviennot, core-to-core-latency (read/write mode); Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, on spinning",
)
.in_studies(&[
    handoff::ON_CPU_PAIRS,
    Participation { study: &CoreToCore, templates: in_papers, reports_missing: false },
]);

/// The matrix by stores asks the same as that by compare-and-swap: only the largest preset has both.
fn in_papers(primitive: &Primitive, preset: Preset) -> Vec<Case> {
    if preset == Preset::Paper { vec![Case::new(primitive.id)] } else { Vec::new() }
}

/// Each thread reads and then stores.
#[derive(Default)]
pub(in crate::primitives) struct StoreToken;

// SAFETY: a number and a wait limit.
unsafe impl BetweenProcesses for Token<StoreToken> {}

impl Handoff for StoreToken {
    const EXPECTED: Expected = BY_STORES;
    const FACTS: Facts = handoff::SPINNING;

    #[inline(always)]
    fn pass(Token { turns, wait_limit, .. }: &Token<Self>, _thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        // Acquire and release: the token publishes what the other thread wrote before.
        wait_limit.wait_eagerly(move || turns.load(Ordering::Acquire) == turn)?;
        turns.store(turn.wrapping_add(1), Ordering::Release);
        Ok(())
    }
}

const BY_STORES: Expected = Expected::Uncounted("a hand-off by plain stores has no instruction of its own");

/// In theory: the waiting core requests the line in exclusive state again and again, so that the line is transferred
/// even when it is not its turn. A hand-off is one such transfer. Its distance depends on the line, so a sample uses
/// several lines. Published core-to-core latencies are measured in this way.
pub(super) static CAS: Entry = handoff::entry::<CasToken>(
    "cpu.handoff.cas_pingpong",
    "Two threads take turns at a compare-and-swap on one variable; until its turn, each retries without pausing",
    "nviennot, core-to-core-latency (compare-and-swap mode)",
)
.in_studies(&[
    handoff::ON_CPU_PAIRS,
    Participation::plain(&CoreToCore),
    Participation::plain(&CoreKinds),
    Participation::beyond_quick(&Numa),
]);

/// Both threads compare and swap.
#[derive(Default)]
pub(super) struct CasToken;

impl Handoff for CasToken {
    const EXPECTED: Expected = Expected::once(&["lock cmpxchg"], &["casal", "outline casal", "ldaxr"]);
    const FACTS: Facts = handoff::SPINNING;

    #[inline(always)]
    fn pass(Token { turns, wait_limit, .. }: &Token<Self>, _thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        // Acquire and release: the token publishes what the other thread wrote before. A failed attempt publishes
        // nothing.
        let next = turn.wrapping_add(1);
        wait_limit.wait_eagerly(move || turns.compare_exchange(turn, next, Ordering::AcqRel, Ordering::Relaxed).is_ok())
    }
}

/// In theory: `cpu.handoff.store_pingpong` and the delay until the waiter looks again. It pauses 1, 2, 4, ... 64 times between
/// looks and then yields the CPU: the longer it waited, the later it sees the token, and the fewer looks disturb the other
/// thread. Lock-free structures built on crossbeam wait in this way.
pub(super) static BACKOFF: Entry = handoff::entry::<BackoffToken>(
    "cpu.handoff.crossbeam_backoff",
    "Two threads take turns writing one variable; each waits for its turn with crossbeam's Backoff::snooze",
    "crossbeam::utils::Backoff",
)
.beyond_quick();

/// A thread looks less and less often while it waits.
#[derive(Default)]
pub(super) struct BackoffToken;

impl Handoff for BackoffToken {
    const EXPECTED: Expected = BY_STORES;
    const FACTS: Facts = handoff::SPINNING;

    #[inline(always)]
    fn pass(Token { turns, wait_limit, .. }: &Token<Self>, _thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        let backoff = Backoff::new();
        // Acquire and release: the token publishes what the other thread wrote before.
        while turns.load(Ordering::Acquire) != turn {
            if backoff.is_completed() {
                // From here on it would only yield, without a limit.
                wait_limit.yield_until(&mut || turns.load(Ordering::Acquire) == turn)?;
                break;
            }
            backoff.snooze();
        }
        turns.store(turn.wrapping_add(1), Ordering::Release);
        Ok(())
    }
}
