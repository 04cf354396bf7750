//! `cpu.atomic.add`: an addition to memory that no other thread can come in between of.

use std::sync::atomic::Ordering;

use syncscope_core::{Case, Dtype, Layout, MemoryOrder, Primitive, sweep::Sweep};

use crate::plan::Axes;
use crate::primitives::atomic::{self, Growth, Update};
use crate::primitives::entry::Entry;
use crate::primitives::number::Number;
use crate::primitives::orders::Access;
use crate::studies::{cpu_pairs, numa, smt};

/// In theory: the line is held in exclusive state while its owner adds. Alone, 5 to 20 cycles, most of them for draining
/// the store buffer. Shared by n threads, one transfer of the line per operation, so the cost of each thread grows at
/// least like n transfers. Private elements on one line cost the same although nothing is shared (false sharing);
/// from the stride on that puts them on lines of their own, what it costs alone.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.atomic.add",
        summary: "Atomic addition whose result is not used; floating point by compare-and-swap",
        operation: "one addition of 1 by each thread",
        source: "OpenMP 5.2, 15.8.4 (atomic update); C++20 [atomics.types.int], fetch_add",
    },
    cases,
    atomic::workload::<Add>,
);

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let mut cases = atomic::cases_on(primitive, axes, &axes.addition, Access::ReadModifyWrite.orders());
    // Two threads by what they share: on one variable, and on lines of their own.
    let layouts = [Layout::Shared, Layout::Private { stride: 16 }];
    let two = Sweep::of(primitive.id).dtypes(&[Dtype::U64]).layouts(&layouts).orders(&[MemoryOrder::Relaxed]).cases();
    cases.extend(cpu_pairs::on_pairs(axes, &two));
    // A thread whose sibling is idle, or does the same on its own line: one locked instruction, and a loop around one.
    let private = Sweep::of(primitive.id).dtypes(&[Dtype::U64, Dtype::F64]).layouts(&layouts[1..]);
    cases.extend(smt::idle_and_busy(axes, &private.orders(&[MemoryOrder::Relaxed]).cases()));
    cases.extend(numa::on_nodes(axes, &two[0]));
    cases.extend(numa::on_the_only_node(axes, &two[0]));
    cases
}

/// Relaxed: only the atomicity of the addition is under study, no other memory is passed on.
struct Add;

impl Update for Add {
    const INSTRUCTIONS: &'static [&'static str] = &["lock add", "lock inc"];
    const GROWTH: Growth = Growth::ByAll;

    #[inline(always)]
    fn execute<N: Number>(variable: &N::Atomic, order: Ordering, _: &mut N) {
        N::fetch_increment(variable, order);
    }

    fn result(sharers: u64, operations: u64) -> u64 {
        sharers * operations
    }
}
