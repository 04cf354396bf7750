//! `cpu.atomic.read`: a read that cannot see half of a write.

use std::marker::PhantomData;
use std::sync::atomic::Ordering;

use syncscope_core::{Case, Primitive};

use crate::axes::Axes;
use crate::evidence::Expected;
use crate::primitives::atomic;
use crate::primitives::entry::Entry;
use crate::primitives::lines::Elements;
use crate::primitives::number::{Number, by_dtype};
use crate::primitives::operation::Operation;
use crate::primitives::orders::{Access, Order, by_order};
use crate::primitives::workload::Workload;

/// In theory: what any load of this width costs. Nobody writes, so every core has the line in shared state and two or three
/// loads are done in a cycle, whatever the threads.
///
/// The paper compares a loop of plain reads with a loop of atomic ones, to see what being atomic costs. Where both are the
/// same instruction these are the same loop, and their difference is zero before it is measured. Here the plain read
/// stands in both loops and the atomic one is added to it: the figure is that of a read, and the evidence, by counting
/// both, shows whether they are the same instruction.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.atomic.read",
        summary: "Atomic read of a variable that nobody writes, after a plain read of the same",
        operation: "one atomic read by each thread",
        source: "OpenMP 5.2, 15.8.4 (atomic read); Burtchell and Burtscher, IISWC 2024, V.A.2",
    },
    cases,
    workload,
);

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    atomic::cases_on(primitive, axes, &axes.other_atomics.shared(), Access::Load.orders())
}

fn workload(case: &Case) -> Option<Workload> {
    let order = case.order.filter(|order| Access::Load.can_be(*order))?;
    by_dtype!(case.dtype?, N => by_order!(order, O => workload_of::<N, O>(case)))
}

fn workload_of<N: Number, O: Order>(case: &Case) -> Option<Workload> {
    let read: Read<N, O> = Read { elements: Elements::of(case)?, order: PhantomData };
    Some(Workload::of(read).expecting(Expected::once(&["mov"])))
}

struct Read<N: Number, O> {
    elements: Elements<N::Atomic>,
    order: PhantomData<O>,
}

/// What is to be read.
const THERE: u64 = 7;

impl<N: Number, O: Order> Operation for Read<N, O> {
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

    /// The ordering that the case names: which of them differ is a matter of the architecture.
    #[inline(always)]
    fn execute(variable: &mut Self::Local<'_>) {
        N::load(variable, O::LOAD);
    }

    fn prepare(&self, slot: usize, thread: usize) {
        if let Some(variable) = self.elements.owned(slot, thread) {
            N::store(variable, N::of(THERE), Ordering::Relaxed);
        }
    }

    /// Every thread can read what was written; that the loop did so is for the evidence to tell.
    fn verify(&self, slot: usize, thread: usize, _operations: u64) -> Result<(), String> {
        let found = N::load(self.elements.get(slot, thread), O::LOAD).count();
        if found == THERE { Ok(()) } else { Err(format!("expected {THERE} in the variable, found {found}")) }
    }
}
