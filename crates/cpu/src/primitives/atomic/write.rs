//! `cpu.atomic.write`: a write that nobody can see half of.

use std::marker::PhantomData;
use std::sync::atomic::Ordering;

use syncscope_core::{Case, MemoryOrder, Primitive};

use crate::axes::Axes;
use crate::evidence::Expected;
use crate::primitives::atomic;
use crate::primitives::entry::Entry;
use crate::primitives::lines::Elements;
use crate::primitives::number::{Number, by_dtype};
use crate::primitives::operation::Operation;
use crate::primitives::orders::{Access, Order, by_order};
use crate::primitives::workload::Workload;

/// In theory: alone, a store into the store buffer, one a cycle. Shared, the line travels, but whoever has it empties all
/// that waits for it in one go, and nobody waits for an answer: much cheaper than an addition. Sequentially consistent,
/// an exchange on x86, since only a locked instruction empties the store buffer: then it costs what an exchange costs.
///
/// As in the paper the baseline writes one variable and the test a second one on another line, because a second write
/// to the same line would be merged with the first.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.atomic.write",
        summary: "Atomic write to a shared variable, after a write to another one on its own line",
        operation: "one write by each thread",
        source: "OpenMP 5.2, 15.8.4 (atomic write); Burtchell and Burtscher, IISWC 2024, V.A.2",
    },
    cases,
    workload,
);

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    atomic::cases_on(primitive, axes, &axes.other_atomics.shared(), Access::Store.orders())
}

fn workload(case: &Case) -> Option<Workload> {
    let order = case.order.filter(|order| Access::Store.can_be(*order))?;
    by_dtype!(case.dtype?, N => by_order!(order, O => workload_of::<N, O>(case)))
}

fn workload_of<N: Number, O: Order>(case: &Case) -> Option<Workload> {
    let expected = Expected::once(if case.order == Some(MemoryOrder::SeqCst) { &["xchg"] } else { &["mov"] });
    let write: Write<N, O> = Write { first: Elements::of(case)?, second: Elements::of(case)?, order: PhantomData };
    Some(Workload::of(write).expecting(expected))
}

/// Both are aligned to lines of their own.
struct Write<N: Number, O> {
    first: Elements<N::Atomic>,
    second: Elements<N::Atomic>,
    order: PhantomData<O>,
}

impl<N: Number, O: Order> Operation for Write<N, O> {
    type Local<'a> = (&'a N::Atomic, &'a N::Atomic);
    const IN_CONTEXT: u64 = 0;

    fn local(&self, slot: usize, thread: usize) -> Self::Local<'_> {
        (self.first.get(slot, thread), self.second.get(slot, thread))
    }

    #[inline(always)]
    fn before((first, _): &mut Self::Local<'_>) {
        N::store(first, N::of(1), O::STORE);
    }

    /// The ordering that the case names: which of them differ is a matter of the architecture.
    #[inline(always)]
    fn execute((_, second): &mut Self::Local<'_>) {
        N::store(second, N::of(1), O::STORE);
    }

    fn prepare(&self, slot: usize, thread: usize) {
        for elements in [&self.first, &self.second] {
            if let Some(variable) = elements.owned(slot, thread) {
                N::store(variable, N::of(0), Ordering::Relaxed);
            }
        }
    }

    fn verify(&self, slot: usize, thread: usize, operations: u64) -> Result<(), String> {
        // The owner alone: it may already prepare the next shot when the others look.
        let variables = self.first.owned(slot, thread).zip(self.second.owned(slot, thread));
        let Some((first, second)) = variables else { return Ok(()) };
        let found = [first, second].map(|variable| N::load(variable, Ordering::Relaxed).count());
        let expected = [1, operations.min(1)];
        if expected == found { Ok(()) } else { Err(format!("expected {expected:?} in the variables, found {found:?}")) }
    }
}
