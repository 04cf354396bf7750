//! `cpu.atomic.exchange`: writes a new value and returns the old one.

use std::sync::atomic::Ordering;

use syncscope_core::Primitive;

use crate::primitives::atomic::{self, Update};
use crate::primitives::entry::Entry;
use crate::primitives::number::Number;

/// In theory: as `cpu.atomic.add_capture` without the addition. Floating point costs the same as integers, because
/// nothing is calculated. As a chain (mode `latency`), each operation writes a one that is computed from the old value
/// of the one before, in two cycles.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.atomic.exchange",
        summary: "Atomic exchange of a value",
        operation: "one exchange by each thread",
        source: "C++20 [atomics.types.operations], exchange; OpenMP 5.2, 15.8.4 (v = x; x = expr)",
        facts: atomic::FACTS,
    },
    atomic::cases_and_chains,
    atomic::workload::<Exchange>,
);

/// Relaxed: only the atomicity of the exchange is under study, no other memory is passed on.
struct Exchange;

impl Update for Exchange {
    const INSTRUCTIONS: &'static [&'static str] = &["xchg"];
    const FLOATING_INSTRUCTIONS: &'static [&'static str] = &["xchg"];
    const CHECKS_RETURNED_VALUES: bool = true;

    #[inline(always)]
    fn execute<N: Number>(variable: &N::Atomic, order: Ordering, _: &mut N) {
        N::swap(variable, N::of(1), order).keep();
    }

    const HAS_DEPENDENT: bool = true;

    #[inline(always)]
    fn execute_dependent<N: Number>(variable: &N::Atomic, order: Ordering, memory: &mut N) {
        *memory = N::swap(variable, memory.one_after(), order);
    }

    fn result(_sharers: u64, _operations: u64) -> u64 {
        1
    }

    /// Each operation writes its ticket and returns that of another.
    fn returned_value<N: Number>(variable: &N::Atomic, ticket: u64) -> u64 {
        N::swap(variable, N::of(ticket), Ordering::Relaxed).count()
    }

    /// All tickets were returned except the last one written.
    fn expected_sum(all: u64, last: u64) -> u64 {
        all * (all + 1) / 2 - last
    }
}
