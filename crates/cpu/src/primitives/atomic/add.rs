//! `cpu.atomic.add`: an atomic addition whose result is not used.

use std::sync::atomic::Ordering;

use syncscope_core::{Case, Dtype, Layout, MemoryOrder, Preset, Primitive, sweep::Sweep};

use crate::axes::Axes;
use crate::primitives::atomic::{self, Growth, Update};
use crate::primitives::entry::Entry;
use crate::primitives::number::Number;
use crate::primitives::orders::Access;
use crate::studies::{CpuPairs, Numa, Participation, Smt};

/// In theory: the core holds the line in exclusive state while it adds. One thread: 5 to 20 cycles, most of them for
/// draining the store buffer. A variable shared by n threads: one transfer of the line per operation, so the cost of
/// each thread grows at least like n transfers. Private elements on one line cost the same (false sharing). With a
/// stride that puts them on lines of their own they cost what one thread pays.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.atomic.add",
        summary: "Atomic addition whose result is not used; floating point by compare-and-swap",
        operation: "one addition of 1 by each thread",
        source: "OpenMP 5.2, 15.8.4 (atomic update); C++20 [atomics.types.int], fetch_add",
        facts: atomic::FACTS,
    },
    cases,
    atomic::workload::<Add>,
)
.in_studies(&[
    Participation { study: &CpuPairs, templates: shared_and_private, reports_missing: true },
    Participation { study: &Smt, templates: private, reports_missing: true },
    Participation { study: &Numa, templates: shared, reports_missing: true },
]);

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    axes.cases_on_variables(primitive, &axes.addition, Access::ReadModifyWrite.orders())
}

const PRIVATE: Layout = Layout::Private { stride: 16 };

/// A variable that all threads share.
fn shared(primitive: &Primitive, _: Preset) -> Vec<Case> {
    Sweep::of(primitive.id).dtypes(&[Dtype::U64]).layouts(&[Layout::Shared]).orders(&[MemoryOrder::Relaxed]).cases()
}

/// The same, and variables on lines of their own.
fn shared_and_private(primitive: &Primitive, _: Preset) -> Vec<Case> {
    let layouts = [Layout::Shared, PRIVATE];
    Sweep::of(primitive.id).dtypes(&[Dtype::U64]).layouts(&layouts).orders(&[MemoryOrder::Relaxed]).cases()
}

/// Lines of their own, for one locked instruction and for a loop around one.
fn private(primitive: &Primitive, _: Preset) -> Vec<Case> {
    let dtypes = [Dtype::U64, Dtype::F64];
    Sweep::of(primitive.id).dtypes(&dtypes).layouts(&[PRIVATE]).orders(&[MemoryOrder::Relaxed]).cases()
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
