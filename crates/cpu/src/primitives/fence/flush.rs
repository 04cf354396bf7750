//! `cpu.fence.flush`: a fence between two updates, as the papers measure OpenMP's flush.

use std::sync::Arc;
use std::sync::atomic::{self, Ordering};

use crate::primitives::fence::{self, FULL_FENCE, FULL_FENCE_OF_ARM};
use crate::primitives::lines::Elements;
use crate::primitives::number::{Number, by_dtype};
use crate::primitives::prelude::*;

/// In theory: the fence waits until the update before it is in the cache. On lines of their own it costs as much as
/// `cpu.fence.seq_cst` or less, because the updates hide a part of it, with any number of threads. With false sharing
/// every update waits for its line at the fence; without the fence the store buffer hides that wait.
pub(super) static ENTRY: Entry = fence::entry(
    "cpu.fence.flush",
    "Sequentially consistent fence between plain updates of private elements in two arrays",
    "OpenMP 5.2, 15.8.5 (flush); Burtchell and Burtscher, IISWC 2024, V.A.4",
    cases,
    workload,
);

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    axes.cases_on_variables(primitive, &axes.flush, &[MemoryOrder::SeqCst])
}

fn workload(case: &Case) -> Option<Workload> {
    case.order.filter(|order| *order == MemoryOrder::SeqCst)?;
    by_dtype!(case.dtype?, N => workload_of::<N>(case))
}

fn workload_of<N: Number>(case: &Case) -> Option<Workload> {
    let flush = Flush::<N> { first: Elements::of(case)?, second: Elements::of(case)? };
    let workload = Workload::contended(Arc::new(flush), case)?.with_most_operations(N::LARGEST_COUNT, 1);
    Some(workload.expecting(Expected::added(FULL_FENCE, FULL_FENCE_OF_ARM)))
}

/// Two arrays.
struct Flush<N: Number> {
    first: Elements<N::Atomic>,
    second: Elements<N::Atomic>,
}

impl<N: Number> Operation for Flush<N> {
    type Local<'a> = (&'a N::Atomic, &'a N::Atomic);
    const IN_CONTEXT: u64 = 0;

    fn local(&self, slot: usize, thread: usize) -> Self::Local<'_> {
        (self.first.get(slot, thread), self.second.get(slot, thread))
    }

    #[inline(always)]
    fn before((first, _): &mut Self::Local<'_>) {
        N::increment_plainly(first);
    }

    /// Sequentially consistent, as a flush without a clause: it orders the store before it and the load after it.
    #[inline(always)]
    fn execute(_: &mut Self::Local<'_>) {
        atomic::fence(Ordering::SeqCst);
    }

    #[inline(always)]
    fn after((_, second): &mut Self::Local<'_>) {
        N::increment_plainly(second);
    }

    fn prepare(&self, slot: usize, thread: usize) {
        N::store(self.first.get(slot, thread), N::of(0), Ordering::Relaxed);
        N::store(self.second.get(slot, thread), N::of(0), Ordering::Relaxed);
    }

    /// Both arrays were updated equally often, and in the test once for each fence.
    fn verify(&self, slot: usize, thread: usize, executed: Executed) -> Result<(), String> {
        let found = |elements: &Elements<N::Atomic>| N::load(elements.get(slot, thread), Ordering::Relaxed).count();
        let (first, second, operations) = (found(&self.first), found(&self.second), executed.own);
        if first == second && first > 0 && (operations == 0 || first == N::after_additions(operations)) {
            return Ok(());
        }
        Err(format!("{operations} fences between updates that left {first} and {second}"))
    }
}
