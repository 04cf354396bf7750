//! `cpu.atomic.cas_pass` and `cpu.atomic.cas_fail`: a new value, if the expected one is there.

use std::sync::atomic::Ordering;

use syncscope_core::{Case, Dtype, Primitive};

use crate::axes::Axes;
use crate::primitives::atomic::{self, Update};
use crate::primitives::entry::Entry;
use crate::primitives::number::Number;

/// In theory: a few cycles more than an addition, for the comparison. The new value is the old one, so that every
/// comparison passes, however many threads write: what a retry costs is a matter of the algorithm around it.
pub(super) static PASS: Entry = Entry::of(
    Primitive {
        id: "cpu.atomic.cas_pass",
        summary: "Atomic compare-and-swap that finds what it expects",
        operation: "one successful compare-and-swap by each thread",
        source: "C++20 [atomics.types.operations], compare_exchange_strong; Burtchell and Burtscher, IISWC 2024, V.B.2",
    },
    cases,
    atomic::workload::<Pass>,
);

/// In theory: as one that passes. x86 takes the line in exclusive state and writes the old value back; an architecture
/// with load-linked and store-conditional does not write, and readers can share the line.
pub(super) static FAIL: Entry = Entry::of(
    Primitive {
        id: "cpu.atomic.cas_fail",
        summary: "Atomic compare-and-swap that finds something else",
        operation: "one failing compare-and-swap by each thread",
        source: "C++20 [atomics.types.operations], compare_exchange_strong; Burtchell and Burtscher, IISWC 2024, V.B.2",
    },
    cases,
    atomic::workload::<Fail>,
);

/// Bits are compared, whatever they mean: floating-point types would be the same instruction once more.
fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let mut cases = atomic::cases(primitive, axes);
    cases.retain(|case| matches!(case.dtype, Some(Dtype::I32 | Dtype::U64)));
    cases
}

/// What stands in the variable all the time.
const THERE: u64 = 7;

/// What is never there.
const ELSEWHERE: u64 = 8;

/// Relaxed: only the atomicity is under study, no other memory is passed on.
struct Pass;

impl Update for Pass {
    const INSTRUCTIONS: &'static [&'static str] = &["lock cmpxchg"];
    const INITIAL: u64 = THERE;
    const WITNESSED: bool = true;

    #[inline(always)]
    fn execute<N: Number>(variable: &N::Atomic, order: Ordering, _: &mut N) {
        N::compare_and_swap(variable, N::of(THERE), N::of(THERE), order);
    }

    fn result(_sharers: u64, _operations: u64) -> u64 {
        THERE
    }

    fn witness<N: Number>(variable: &N::Atomic, _ticket: u64) -> u64 {
        N::compare_and_swap(variable, N::of(THERE), N::of(THERE), Ordering::Relaxed).into()
    }

    fn testimony(all: u64, _last: u64) -> u64 {
        all
    }
}

/// Relaxed: as above.
struct Fail;

impl Update for Fail {
    const INSTRUCTIONS: &'static [&'static str] = &["lock cmpxchg"];
    const INITIAL: u64 = THERE;
    const WITNESSED: bool = true;

    #[inline(always)]
    fn execute<N: Number>(variable: &N::Atomic, order: Ordering, _: &mut N) {
        N::compare_and_swap(variable, N::of(ELSEWHERE), N::of(ELSEWHERE), order);
    }

    fn result(_sharers: u64, _operations: u64) -> u64 {
        THERE
    }

    fn witness<N: Number>(variable: &N::Atomic, _ticket: u64) -> u64 {
        (!N::compare_and_swap(variable, N::of(ELSEWHERE), N::of(ELSEWHERE), Ordering::Relaxed)).into()
    }

    fn testimony(all: u64, _last: u64) -> u64 {
        all
    }
}
