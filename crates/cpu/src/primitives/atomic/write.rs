//! `cpu.atomic.write`: an atomic write.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::primitives::atomic;
use crate::primitives::lines::Elements;
use crate::primitives::number::{Number, by_dtype};
use crate::primitives::orders::{Access, Relaxed, StaticOrdering, by_order};
use crate::primitives::prelude::*;
use syncscope_core::{Form, Placement};

/// In theory: one thread stores into the store buffer, one store a cycle. Several threads transfer the lines, but no
/// store waits for an answer: less than an exchange. A sequentially consistent store is an exchange on x86, because only
/// a locked instruction drains the store buffer.
///
/// Both loops store to two variables on two lines in turn, the test twice as often. A store is cheap if the one before it in the
/// store buffer is to the same line: a core that has the line completes both at once. A store to another line is not, because
/// stores become visible in their order, and the second line has to come first. The papers' baseline stores to one line, their
/// test to two in turn. Their difference is not one store, but all that changes when stores cannot be merged any more: three
/// times an exchange. Here every store of both loops goes to the other line. The figure is the cost of such a store, as in a
/// program that writes other memory in between. The form `published` has the papers' loops.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.atomic.write",
        summary: "Atomic writes that alternate between two shared variables on different cache lines",
        operation: "one write per thread",
        source: "OpenMP 5.2, 15.8.4 (atomic write); Burtchell and Burtscher, IISWC 2024, V.A.2",
        facts: Facts { role: Role::Access, ..atomic::FACTS },
    },
    cases,
    workload,
);

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let mut cases = axes.cases_on_variables(primitive, &axes.other_atomics.shared(), axes.orders(Access::Store));
    // Only the preset that also leaves the placement to the operating system, as papers do.
    if axes.threads.iter().any(|(placement, _)| *placement == Placement::None) {
        let of_paper =
            |case: &&Case| case.placement != Some(Placement::Cores) && case.order == Some(MemoryOrder::Relaxed);
        let published = |case: &Case| Case { form: Some(Form::Published), ..case.clone() };
        cases.extend(cases.iter().filter(of_paper).map(published).collect::<Vec<_>>());
    }
    cases
}

fn workload(case: &Case) -> Option<Workload> {
    let order = case.order.filter(|order| Access::Store.has(*order))?;
    if case.form == Some(Form::Published) {
        return by_dtype!(case.dtype?, N => published::<N>(case));
    }
    by_dtype!(case.dtype?, N => by_order!(store order, O => workload_of::<N, O>(case)))
}

fn workload_of<N: Number, O: StaticOrdering>(case: &Case) -> Option<Workload> {
    let expected = match case.order? {
        MemoryOrder::SeqCst => Expected::once(&["xchg"], &["stlr"]),
        MemoryOrder::Release => Expected::once(&["mov"], &["stlr"]),
        _ => Expected::once(&["mov"], &["str"]),
    };
    let write: Write<N, O> = Write { first: Elements::of(case)?, second: Elements::of(case)?, order: PhantomData };
    Some(Workload::contended(Arc::new(write), case)?.expecting(expected))
}

fn published<N: Number>(case: &Case) -> Option<Workload> {
    case.order.filter(|order| *order == MemoryOrder::Relaxed)?;
    let write =
        Published(Write::<N, Relaxed> { first: Elements::of(case)?, second: Elements::of(case)?, order: PhantomData });
    Some(Workload::contended(Arc::new(write), case)?.expecting(Expected::once(&["mov"], &["str"])))
}

/// Two arrays that share no line.
struct Write<N: Number, O> {
    first: Elements<N::Atomic>,
    second: Elements<N::Atomic>,
    order: PhantomData<O>,
}

impl<N: Number, O: StaticOrdering> Operation for Write<N, O> {
    /// The variable to write next, and the other one.
    type Local<'a> = (&'a N::Atomic, &'a N::Atomic);

    fn local(&self, slot: usize, thread: usize) -> Self::Local<'_> {
        (self.first.get(slot, thread), self.second.get(slot, thread))
    }

    /// Stores with the ordering of the case: which orderings differ depends on the architecture. The exchange of the addresses is
    /// no instruction, because an iteration has an even number of stores.
    #[inline(always)]
    fn execute((next, other): &mut Self::Local<'_>) {
        N::store(next, N::of(1), O::STORE);
        std::mem::swap(next, other);
    }

    fn prepare(&self, slot: usize, thread: usize) {
        for elements in [&self.first, &self.second] {
            if let Some(variable) = elements.owned(slot, thread) {
                N::store(variable, N::of(0), Ordering::Relaxed);
            }
        }
    }

    fn verify(&self, slot: usize, thread: usize, executed: Executed) -> Result<(), String> {
        // Only the owner verifies: it may already prepare the next shot while others verify.
        let variables = self.first.owned(slot, thread).zip(self.second.owned(slot, thread));
        let Some((first, second)) = variables else { return Ok(()) };
        let found = [first, second].map(|variable| N::load(variable, Ordering::Relaxed).count());
        let expected = [executed.most.min(1), u64::from(executed.most > 1)];
        if expected == found { Ok(()) } else { Err(format!("expected {expected:?} in the variables, found {found:?}")) }
    }
}

/// The papers' loops: both write one variable, the test also the other one.
struct Published<N: Number>(Write<N, Relaxed>);

impl<N: Number> Operation for Published<N> {
    type Local<'a> = (&'a N::Atomic, &'a N::Atomic);
    const IN_CONTEXT: u64 = 0;

    fn local(&self, slot: usize, thread: usize) -> Self::Local<'_> {
        self.0.local(slot, thread)
    }

    #[inline(always)]
    fn before((first, _): &mut Self::Local<'_>) {
        N::store(first, N::of(1), Ordering::Relaxed);
    }

    #[inline(always)]
    fn execute((_, second): &mut Self::Local<'_>) {
        N::store(second, N::of(1), Ordering::Relaxed);
    }

    fn prepare(&self, slot: usize, thread: usize) {
        self.0.prepare(slot, thread);
    }

    /// The first was written, and the second where there was an operation.
    fn verify(&self, slot: usize, thread: usize, executed: Executed) -> Result<(), String> {
        self.0.verify(slot, thread, Executed::by_each(1 + executed.most))
    }
}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {
    use super::*;
    use crate::evidence::timed_loop;
    use syncscope_core::{Dtype, Layout};

    /// The memory operands of the stores of a loop, in order.
    fn stores(entry: usize, store: &str) -> Vec<String> {
        let listing = timed_loop(entry).unwrap().listing();
        let operand = |line: &str| Some(line.split_once('[')?.1.split_once(']')?.0.to_owned());
        listing.lines().filter(|line| line.contains(store)).filter_map(operand).collect()
    }

    #[test]
    fn the_published_test_stores_to_a_second_line_between_the_stores_of_its_baseline() {
        let case = Case {
            dtype: Some(Dtype::I32),
            layout: Some(Layout::Shared),
            threads: Some(2),
            placement: Some(Placement::None),
            order: Some(MemoryOrder::Relaxed),
            form: Some(Form::Published),
            ..Case::new("cpu.atomic.write")
        };
        let functions = workload(&case).unwrap().functions;
        let (baseline, test) = (stores(functions.baseline, " mov "), stores(functions.test, " mov "));
        assert_eq!((baseline.len(), test.len()), (16, 32));
        assert!(baseline.iter().all(|place| *place == baseline[0]), "{baseline:?}");
        assert!(test[0] != test[1] && test.windows(3).all(|three| three[0] == three[2]), "{test:?}");
        let strict = Case { order: Some(MemoryOrder::SeqCst), ..case };
        assert!(workload(&strict).is_none(), "the paper's writes are relaxed");
    }

    #[test]
    fn both_loops_store_to_the_same_two_lines_in_turn() {
        for (dtype, order, store) in [
            (Dtype::I32, MemoryOrder::Relaxed, " mov "),
            (Dtype::F64, MemoryOrder::Relaxed, " mov "),
            (Dtype::U64, MemoryOrder::SeqCst, " xchg "),
        ] {
            let case = Case {
                dtype: Some(dtype),
                layout: Some(Layout::Shared),
                threads: Some(2),
                placement: Some(Placement::Close),
                order: Some(order),
                ..Case::new("cpu.atomic.write")
            };
            let functions = workload(&case).unwrap().functions;
            let (baseline, test) = (stores(functions.baseline, store), stores(functions.test, store));
            assert_eq!((baseline.len(), test.len()), (16, 32), "{dtype} {order}");
            for stores in [&baseline, &test] {
                assert_ne!(stores[0], stores[1], "{dtype} {order}");
                assert!(stores.windows(3).all(|three| three[0] == three[2]), "{dtype} {order}: {stores:?}");
            }
        }
    }
}
