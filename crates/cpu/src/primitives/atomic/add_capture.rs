//! `cpu.atomic.add_capture`: an atomic addition that returns the old value.

use std::sync::atomic::Ordering;

use syncscope_core::Primitive;

use crate::primitives::atomic::{self, Growth, Update};
use crate::primitives::entry::Entry;
use crate::primitives::number::Number;

/// In theory: as `cpu.atomic.add`, and the old value comes back from the cache. That is 1 to 3 cycles more for one
/// thread, and nothing more where the line is transferred. Floating point costs nothing more: the compare-and-swap has
/// the old value.
///
/// As a chain (mode `latency`), each operation adds one that is computed from the old value of the one before, in two
/// cycles. A locked instruction of x86-64 waits for the one before it anyway. AArch64 may overlap independent ones.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.atomic.add_capture",
        summary: "Atomic addition whose old value is used; floating point by compare-and-swap",
        operation: "one addition of 1 by each thread, with the value before it",
        source: "OpenMP 5.2, 15.8.4 (atomic capture); C++20 [atomics.types.int], fetch_add",
        facts: atomic::FACTS,
    },
    atomic::cases_and_chains,
    atomic::workload::<AddCapture>,
);

/// Relaxed: only the atomicity of the addition is under study, no other memory is passed on.
struct AddCapture;

impl Update for AddCapture {
    const INSTRUCTIONS: &'static [&'static str] = &["lock xadd"];
    const GROWTH: Growth = Growth::ByAll;
    const CHECKS_RETURNED_VALUES: bool = true;

    #[inline(always)]
    fn execute<N: Number>(variable: &N::Atomic, order: Ordering, _: &mut N) {
        N::fetch_increment(variable, order).keep();
    }

    const HAS_DEPENDENT: bool = true;

    #[inline(always)]
    fn execute_dependent<N: Number>(variable: &N::Atomic, order: Ordering, memory: &mut N) {
        *memory = N::fetch_add(variable, memory.one_after(), order);
    }

    fn result(sharers: u64, operations: u64) -> u64 {
        sharers * operations
    }

    fn returned_value<N: Number>(variable: &N::Atomic, _ticket: u64) -> u64 {
        N::fetch_increment(variable, Ordering::Relaxed).count()
    }

    /// Every value from 0 to `all` - 1 was returned once.
    fn expected_sum(all: u64, _last: u64) -> u64 {
        all * (all - 1) / 2
    }
}
