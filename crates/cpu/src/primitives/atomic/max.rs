//! `cpu.atomic.max`: keeps the larger of the variable and an operand.

use std::sync::atomic::Ordering;

use syncscope_core::Primitive;

use crate::primitives::atomic::{self, Growth, Update};
use crate::primitives::entry::Entry;
use crate::primitives::number::Number;

/// In theory: x86 has no such instruction. It takes a load, a comparison and a compare-and-swap that is retried while
/// other threads change the variable. One thread pays little more than a compare-and-swap, several pay for their
/// retries. AArch64 has one instruction for integers, which costs as much as an addition. The operands of each thread
/// are 1, 2, 3, ..., so that every operation of one thread writes.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.atomic.max",
        summary: "Atomic maximum; on x86 and for floating point by compare-and-swap",
        operation: "one maximum with a growing number by each thread",
        source: "OpenMP 5.2, 15.8.4 (atomic compare); Rust AtomicI32::fetch_max",
        facts: atomic::FACTS,
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
    fn execute<N: Number>(variable: &N::Atomic, order: Ordering, operand: &mut N) {
        *operand = operand.successor();
        N::raise(variable, *operand, order);
    }

    /// The last operand of each thread.
    fn result(_sharers: u64, operations: u64) -> u64 {
        operations
    }
}
