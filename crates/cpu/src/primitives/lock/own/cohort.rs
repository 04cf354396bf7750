//! `cpu.lock.cohort`: a lock that stays with the threads of one NUMA node, or of one shared cache, for a while.

use std::sync::LazyLock;

use syncscope_core::{Case, Primitive, Waits};
use syncscope_host::scheduling;

use crate::axes::Axes;
use crate::evidence::Expected;
use crate::machine::cpu_groups::CpuGroups;
use crate::machine::hwloc;
use crate::primitives::entry::Entry;
use crate::primitives::lock::{self, Raw};
use crate::primitives::wait::LIMIT;
use crate::sync::CohortLock;

/// In theory: two ticket locks, of the group and of all groups. Without contention both are taken: two atomic additions.
/// Contended: while threads of the holder's group wait, the lock and what it protects stay in their caches, and only every
/// 65th acquisition crosses to another group. The price is the wait of the other groups.
pub(in crate::primitives::lock) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.lock.cohort",
        summary: "Cohort lock of two levels of ticket locks: passed within a NUMA node or cache group up to 64 times",
        operation: lock::OPERATION,
        source: "Dice, Marathe and Shavit, Lock Cohorting, PPoPP 2012 and ACM TOPC 1(2), 2015, C-TKT-TKT",
        facts: lock::FACTS.waiting(Waits::Spins),
    },
    cases,
    // Not the addition for all groups: a thread that the lock was passed to leaves it out.
    |case| {
        let make = |_| CohortLock::new(groups().map_or(1, CpuGroups::count), group_of_this_thread, LIMIT);
        Some(lock::workload(case, &Raw(make))?.expecting(Expected::once(&["lock xadd"])))
    },
)
.beyond_quick()
.requiring(|| match groups() {
    Some(_) => Ok(()),
    None => Err(CpuGroups::absence(hwloc::load().as_ref()).to_owned()),
});

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    if axes.has_cpu_groups { lock::cases_of_one_type(primitive, axes) } else { Vec::new() }
}

/// The groups of this machine.
fn groups() -> Option<&'static CpuGroups> {
    static GROUPS: LazyLock<Option<CpuGroups>> = LazyLock::new(|| hwloc::load().as_ref().and_then(CpuGroups::of));
    GROUPS.as_ref()
}

/// Threads of a team are bound: the CPU stays the same.
fn group_of_this_thread(_thread: usize) -> usize {
    let cpu = scheduling::current_cpu();
    groups().zip(cpu).map_or(0, |(groups, cpu)| groups.of_cpu(cpu))
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use syncscope_core::{Dtype, Layout};

    /// No test machine needs to have groups of CPUs: the machine code is the same.
    #[test]
    fn both_loops_hold_the_additions_of_the_group() {
        let (dtype, layout) = (Some(Dtype::U64), Some(Layout::Shared));
        let case = Case { dtype, layout, threads: Some(2), ..Case::new(ENTRY.primitive.id) };
        let evidence = (ENTRY.workload)(&case).unwrap().evidence();
        assert_eq!(evidence.summary(), Some("lock xadd 16/32"), "{evidence:?}");
    }
}
