//! `cpu.atomic.max`: the larger of what is there and what is offered.

use std::sync::atomic::Ordering;

use syncscope_core::Primitive;

use crate::primitives::atomic::{self, Growth, Update};
use crate::primitives::entry::Entry;
use crate::primitives::number::Number;

/// In theory: x86 has no such instruction, so a load, a comparison and a compare-and-swap that is repeated until nobody came
/// in between: alone, little more than a compare-and-swap; shared, as many as it takes. AArch64 has one instruction for
/// whole numbers, at the price of an addition. Every thread offers 1, 2, 3, ... so that alone each operation raises the
/// value.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.atomic.max",
        summary: "Atomic maximum; on x86 and for floating point by compare-and-swap",
        operation: "one maximum with a growing number by each thread",
        source: "OpenMP 5.2, 15.8.4 (atomic compare); Rust AtomicI32::fetch_max",
    },
    atomic::cases,
    atomic::workload::<Max>,
);

/// Relaxed: only the atomicity of the maximum is under study, no other memory is passed on.
struct Max;

impl Update for Max {
    const INSTRUCTIONS: &'static [&'static str] = &["lock cmpxchg"];
    const GROWTH: Growth = Growth::ByThread;

    #[inline(always)]
    fn execute<N: Number>(variable: &N::Atomic, order: Ordering, offered: &mut N) {
        *offered = offered.successor();
        N::raise(variable, *offered, order);
    }

    /// The last number that each thread offered.
    fn result(_sharers: u64, operations: u64) -> u64 {
        operations
    }
}
