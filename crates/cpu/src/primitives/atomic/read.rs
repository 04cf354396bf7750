//! `cpu.atomic.read`: an atomic read.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::primitives::atomic;
use crate::primitives::lines::Elements;
use crate::primitives::number::{Number, by_dtype};
use crate::primitives::orders::{Access, StaticOrdering, by_order};
use crate::primitives::prelude::*;

/// In theory: what any load of this width costs. No thread writes, so every core has the line in shared state and
/// executes two or three loads in a cycle, with any number of threads.
///
/// The paper compares a loop of plain reads with a loop of atomic reads. Where both are the same instruction, both
/// loops are the same and their difference is zero by construction. Here the plain read is in both loops and the
/// atomic read is added in the test. The figure is the cost of a read, and the evidence counts both instructions.
///
/// As a chain (mode `latency`), each read takes its address from the value of the one before, as in a linked list. The cost is
/// then the time until a load has its value: 3 to 5 cycles.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.atomic.read",
        summary: "Atomic read of a variable that no thread writes, after a plain read of the same variable",
        operation: "one atomic read per thread",
        source: "OpenMP 5.2, 15.8.4 (atomic read); Burtchell and Burtscher, IISWC 2024, V.A.2",
        facts: Facts { role: Role::Access, ..atomic::FACTS },
    },
    cases,
    workload,
);

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let independent = axes.cases_on_variables(primitive, &axes.other_atomics.shared(), axes.orders(Access::Load));
    independent.into_iter().chain(axes.chains(primitive, &[Dtype::U64], axes.orders(Access::Load))).collect()
}

pub(super) fn workload(case: &Case) -> Option<Workload> {
    let order = case.order.filter(|order| Access::Load.has(*order))?;
    match (case.mode, case.dtype?) {
        (None, dtype) => by_dtype!(dtype, N => by_order!(order, O => of_reads(Read::<N, O>::of(case)?, order, true))),
        // From a narrower number, the compiler would make an address with a second instruction.
        (Some(Mode::Latency), Dtype::U64) => by_order!(order, O => of_reads(Chain::<O>(Read::of(case)?), order, false)),
        (Some(_), _) => None,
    }
}

#[allow(clippy::unnecessary_wraps, reason = "for the types and orderings that there are")]
fn of_reads(reads: impl Operation, order: MemoryOrder, after_plain_reads: bool) -> Option<Workload> {
    let acquiring = &["ldar", "ldapr", "ldapur"];
    let expected = match order {
        MemoryOrder::Relaxed => Expected::once(&["mov"], &["ldr", "ldur"]),
        _ if after_plain_reads => Expected::added(&["mov"], acquiring),
        _ => Expected::once(&["mov"], acquiring),
    };
    Some(Workload::of(reads).expecting(expected))
}

struct Read<N: Number, O> {
    elements: Elements<N::Atomic>,
    order: PhantomData<O>,
}

/// The value to read.
const PRESENT: u64 = 7;

impl<N: Number, O: StaticOrdering> Read<N, O> {
    fn of(case: &Case) -> Option<Self> {
        Some(Self { elements: Elements::of(case)?, order: PhantomData })
    }
}

impl<N: Number, O: StaticOrdering> Operation for Read<N, O> {
    type Local<'a> = &'a N::Atomic;
    const IN_CONTEXT: u64 = 0;

    fn local(&self, slot: usize, thread: usize) -> Self::Local<'_> {
        self.elements.get(slot, thread)
    }

    #[inline(always)]
    fn before(variable: &mut Self::Local<'_>) {
        // SAFETY: the variable is written in `prepare` alone, when no loop runs.
        unsafe { N::read_plainly(variable) };
    }

    /// Reads with the ordering of the case: which orderings differ depends on the architecture.
    #[inline(always)]
    fn execute(variable: &mut Self::Local<'_>) {
        N::load(variable, O::LOAD);
    }

    fn prepare(&self, slot: usize, thread: usize) {
        if let Some(variable) = self.elements.owned(slot, thread) {
            N::store(variable, N::of(PRESENT), Ordering::Relaxed);
        }
    }

    /// Every thread can read the value. The evidence proves that the loop reads it.
    fn verify(&self, slot: usize, thread: usize, _executed: Executed) -> Result<(), String> {
        let found = N::load(self.elements.get(slot, thread), O::LOAD).count();
        if found == PRESENT { Ok(()) } else { Err(format!("expected {PRESENT} in the variable, found {found}")) }
    }
}

/// Reads that each take their address from the value of the one before. The value is [`PRESENT`] at all times, so that all read
/// one variable.
struct Chain<O>(Read<u64, O>);

impl<O: StaticOrdering> Operation for Chain<O> {
    /// The address of the variable minus its value, and the value that was read last.
    type Local<'a> = (*const AtomicU64, usize);

    fn local(&self, slot: usize, thread: usize) -> Self::Local<'_> {
        let variable = std::ptr::from_ref(self.0.elements.get(slot, thread));
        (variable.wrapping_byte_sub(PRESENT as usize), PRESENT as usize)
    }

    #[inline(always)]
    fn execute((origin, value): &mut Self::Local<'_>) {
        // SAFETY: `value` is what the variable holds, and nothing writes another value than `PRESENT` into it. The sum
        // is therefore the address of the variable, which lives as long as the loop runs.
        let variable = unsafe { &*origin.wrapping_byte_add(*value) };
        *value = u64::load(variable, O::LOAD) as usize;
    }

    fn prepare(&self, slot: usize, thread: usize) {
        self.0.prepare(slot, thread);
    }

    fn verify(&self, slot: usize, thread: usize, executed: Executed) -> Result<(), String> {
        self.0.verify(slot, thread, executed)
    }
}
