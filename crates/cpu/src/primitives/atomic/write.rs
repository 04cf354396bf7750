//! `cpu.atomic.write`: an atomic write.

use std::marker::PhantomData;
use std::sync::atomic::Ordering;

use syncscope_core::{Case, MemoryOrder, Primitive};

use crate::axes::Axes;
use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::lines::Elements;
use crate::primitives::number::{Number, by_dtype};
use crate::primitives::operation::Operation;
use crate::primitives::orders::{Access, StaticOrdering, by_order};
use crate::primitives::workload::Workload;

/// In theory: one thread stores into the store buffer, one store a cycle. Several threads transfer the line, but a core
/// that has it drains all its waiting stores at once, and no store waits for an answer: much less than an addition. A
/// sequentially consistent store is an exchange on x86, because only a locked instruction drains the store buffer.
///
/// As in the paper, the baseline writes one variable and the test also writes a second one on another line: a second
/// write to the same line would be merged with the first.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.atomic.write",
        summary: "Atomic write to a shared variable, after a write to another variable on another line",
        operation: "one write by each thread",
        source: "OpenMP 5.2, 15.8.4 (atomic write); Burtchell and Burtscher, IISWC 2024, V.A.2",
    },
    cases,
    workload,
);

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    axes.cases_on_variables(primitive, &axes.other_atomics.shared(), Access::Store.orders())
}

fn workload(case: &Case) -> Option<Workload> {
    let order = case.order.filter(|order| Access::Store.can_be(*order))?;
    by_dtype!(case.dtype?, N => by_order!(order, O => workload_of::<N, O>(case)))
}

fn workload_of<N: Number, O: StaticOrdering>(case: &Case) -> Option<Workload> {
    let expected = Expected::once(if case.order == Some(MemoryOrder::SeqCst) { &["xchg"] } else { &["mov"] });
    let write: Write<N, O> = Write { first: Elements::of(case)?, second: Elements::of(case)?, order: PhantomData };
    Some(Workload::of(write).expecting(expected))
}

/// Two arrays that share no line.
struct Write<N: Number, O> {
    first: Elements<N::Atomic>,
    second: Elements<N::Atomic>,
    order: PhantomData<O>,
}

impl<N: Number, O: StaticOrdering> Operation for Write<N, O> {
    type Local<'a> = (&'a N::Atomic, &'a N::Atomic);
    const IN_CONTEXT: u64 = 0;

    fn local(&self, slot: usize, thread: usize) -> Self::Local<'_> {
        (self.first.get(slot, thread), self.second.get(slot, thread))
    }

    #[inline(always)]
    fn before((first, _): &mut Self::Local<'_>) {
        N::store(first, N::of(1), O::STORE);
    }

    /// With the ordering of the case: which orderings differ depends on the architecture.
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
        // Only the owner: it may already prepare the next shot while the others verify.
        let variables = self.first.owned(slot, thread).zip(self.second.owned(slot, thread));
        let Some((first, second)) = variables else { return Ok(()) };
        let found = [first, second].map(|variable| N::load(variable, Ordering::Relaxed).count());
        let expected = [1, operations.min(1)];
        if expected == found { Ok(()) } else { Err(format!("expected {expected:?} in the variables, found {found:?}")) }
    }
}
