//! `cpu.atomic.add`: an addition to memory that no other thread can come in between of.

use syncscope_core::{Case, Dtype, Layout, MemoryOrder, Primitive};

use super::Entry;
use super::lines::Aligned;
use super::number::Number;
use super::operation::{Operation, SLOTS, Workload};
use crate::plan::Axes;

/// In theory: the line is held in exclusive state while its owner adds. Alone, 5 to 20 cycles, most of them for draining
/// the store buffer. Shared by n threads, one transfer of the line per operation, so the cost of each thread grows at
/// least like n transfers. Private elements on one line cost the same although nothing is shared (false sharing);
/// from the stride on that puts them on lines of their own, what it costs alone.
pub(super) static ENTRY: Entry = Entry {
    primitive: Primitive {
        id: "cpu.atomic.add",
        summary: "Atomic addition whose result is not used, relaxed; floating point by compare-and-swap",
        operation: "one addition of 1 by each thread",
        source: "OpenMP 5.2, 15.8.4 (atomic update); C++20 [atomics.types.int], fetch_add",
    },
    cases,
    workload,
};

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let relaxed = [MemoryOrder::Relaxed];
    let sweep = |dtypes: &[Dtype], layouts: &[Layout]| {
        axes.sweep(primitive)
            .into_iter()
            .flat_map(|sweep| sweep.dtypes(dtypes).layouts(layouts).orders(&relaxed).cases())
            .collect::<Vec<_>>()
    };
    let strides: Vec<Layout> = axes.strides.iter().map(|stride| Layout::Private { stride: *stride }).collect();
    let mut cases = sweep(&axes.dtypes, &[Layout::Shared]);
    cases.extend(sweep(&axes.private_dtypes, &strides));
    // With one thread there is nothing to be apart from.
    cases.retain(|case| {
        case.threads != Some(1) || matches!(case.layout, Some(Layout::Shared | Layout::Private { stride: 1 }))
    });
    cases
}

fn workload(case: &Case) -> Option<Workload> {
    match case.dtype? {
        Dtype::I32 => AtomicAdd::<i32>::workload(case),
        Dtype::U64 => AtomicAdd::<u64>::workload(case),
        Dtype::F32 => AtomicAdd::<f32>::workload(case),
        Dtype::F64 => AtomicAdd::<f64>::workload(case),
        Dtype::U32 => None,
    }
}

struct AtomicAdd<N: Number> {
    slots: Vec<Aligned<N::Atomic>>,
    layout: Layout,
    threads: u32,
}

impl<N: Number> AtomicAdd<N> {
    fn workload(case: &Case) -> Option<Workload> {
        let (layout, threads) = (case.layout?, case.threads?);
        let elements = match layout {
            Layout::Shared => 1,
            Layout::Private { stride } => (threads * stride) as usize,
        };
        let slots = std::iter::repeat_with(|| Aligned::new(elements)).take(SLOTS).collect();
        Some(Workload::of(Self { slots, layout, threads }).with_most_operations(N::LARGEST_COUNT, threads))
    }

    fn variable(&self, slot: usize, thread: usize) -> &N::Atomic {
        self.slots[slot].get(match self.layout {
            Layout::Shared => 0,
            Layout::Private { stride } => thread * stride as usize,
        })
    }

    /// Whether this thread looks after the variable it adds to.
    fn is_owner(&self, thread: usize) -> bool {
        thread == 0 || self.layout != Layout::Shared
    }
}

impl<N: Number> Operation for AtomicAdd<N> {
    type Local<'a> = &'a N::Atomic;

    fn local(&self, slot: usize, thread: usize) -> Self::Local<'_> {
        self.variable(slot, thread)
    }

    #[inline(always)]
    fn execute(variable: &mut Self::Local<'_>) {
        N::add_one(variable);
    }

    fn prepare(&self, slot: usize, thread: usize) {
        if self.is_owner(thread) {
            N::reset(self.variable(slot, thread));
        }
    }

    fn verify(&self, slot: usize, thread: usize, operations: u64) -> Result<(), String> {
        if !self.is_owner(thread) {
            return Ok(());
        }
        let adders = if self.layout == Layout::Shared { u64::from(self.threads) } else { 1 };
        let (expected, found) = (adders * operations, N::count(self.variable(slot, thread)));
        if expected == found { Ok(()) } else { Err(format!("{expected} additions made {found}")) }
    }
}
