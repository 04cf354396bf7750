//! `cpu.atomic.cas_pass` and `cpu.atomic.cas_fail`: a compare-and-swap that succeeds, and one that fails.

use std::sync::atomic::Ordering;

use syncscope_core::{Case, Dtype, Primitive};

use crate::axes::Axes;
use crate::primitives::atomic::{self, Update};
use crate::primitives::entry::Entry;
use crate::primitives::number::Number;

/// In theory: a few cycles more than an addition, for the comparison. The new value equals the old one, so that every
/// comparison succeeds with any number of threads. What a retry costs depends on the algorithm around it. As a chain
/// (mode `latency`), each operation expects what the one before found, as a retry does.
pub(super) static PASS: Entry = Entry::of(
    Primitive {
        id: "cpu.atomic.cas_pass",
        summary: "Atomic compare-and-swap that finds the expected value",
        operation: "one successful compare-and-swap by each thread",
        source: "C++20 [atomics.types.operations], compare_exchange_strong; Burtchell and Burtscher, IISWC 2024, V.B.2",
        facts: atomic::FACTS,
    },
    cases_and_chains,
    atomic::workload::<Pass>,
);

/// In theory: as one that succeeds. x86 takes the line in exclusive state and writes the old value back. An
/// architecture with load-linked and store-conditional does not write, and the threads can share the line.
pub(super) static FAIL: Entry = Entry::of(
    Primitive {
        id: "cpu.atomic.cas_fail",
        summary: "Atomic compare-and-swap that finds another value than expected",
        operation: "one failing compare-and-swap by each thread",
        source: "C++20 [atomics.types.operations], compare_exchange_strong; Burtchell and Burtscher, IISWC 2024, V.B.2",
        facts: atomic::FACTS,
    },
    cases,
    atomic::workload::<Fail>,
);

/// The instruction compares bits: floating-point types would be the same.
fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    integers(atomic::cases(primitive, axes))
}

fn cases_and_chains(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    integers(atomic::cases_and_chains(primitive, axes))
}

fn integers(mut cases: Vec<Case>) -> Vec<Case> {
    cases.retain(|case| matches!(case.dtype, Some(Dtype::I32 | Dtype::U64)));
    cases
}

/// The value of the variable at all times.
const PRESENT: u64 = 7;

/// A value that the variable never has.
const ABSENT: u64 = 8;

/// Relaxed: only the atomicity is under study, no other memory is passed on.
struct Pass;

impl Update for Pass {
    const INSTRUCTIONS: &'static [&'static str] = &["lock cmpxchg"];
    const INITIAL: u64 = PRESENT;
    const CHECKS_RETURNED_VALUES: bool = true;

    #[inline(always)]
    fn execute<N: Number>(variable: &N::Atomic, order: Ordering, _: &mut N) {
        N::compare_and_swap(variable, N::of(PRESENT), N::of(PRESENT), order);
    }

    const HAS_DEPENDENT: bool = true;

    #[inline(always)]
    fn execute_dependent<N: Number>(variable: &N::Atomic, order: Ordering, memory: &mut N) {
        *memory = N::compare_exchange(variable, *memory, N::of(PRESENT), order);
    }

    fn result(_sharers: u64, _operations: u64) -> u64 {
        PRESENT
    }

    fn returned_value<N: Number>(variable: &N::Atomic, _ticket: u64) -> u64 {
        N::compare_and_swap(variable, N::of(PRESENT), N::of(PRESENT), Ordering::Relaxed).into()
    }

    fn expected_sum(all: u64, _last: u64) -> u64 {
        all
    }
}

/// Relaxed: as above.
struct Fail;

impl Update for Fail {
    const INSTRUCTIONS: &'static [&'static str] = &["lock cmpxchg"];
    const INITIAL: u64 = PRESENT;
    const CHECKS_RETURNED_VALUES: bool = true;

    #[inline(always)]
    fn execute<N: Number>(variable: &N::Atomic, order: Ordering, _: &mut N) {
        N::compare_and_swap(variable, N::of(ABSENT), N::of(ABSENT), order);
    }

    fn result(_sharers: u64, _operations: u64) -> u64 {
        PRESENT
    }

    fn returned_value<N: Number>(variable: &N::Atomic, _ticket: u64) -> u64 {
        (!N::compare_and_swap(variable, N::of(ABSENT), N::of(ABSENT), Ordering::Relaxed)).into()
    }

    fn expected_sum(all: u64, _last: u64) -> u64 {
        all
    }
}
