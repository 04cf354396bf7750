//! The families of primitives, one or several similar ones to a file; this file has what they share.
//!
//! An entry says what a primitive is, which kernel measures it, for which cases, and which machine instruction its
//! evidence must show. To add a primitive to a family, add a row to the table in its file.
//!
//! Each family, and this file, states by how much the costs of its primitives differ between two runs on one machine, beyond
//! the interval within a run: each run has its own allocations, contexts, block orders and temperature. The values are standard
//! deviations relative to the cost, measured between runs on one machine, rounded up. A run with `--repeat` measures its own
//! values and uses those instead.

pub(crate) mod atomic;
pub(crate) mod atomic_half;
pub(crate) mod blackwell;
pub(crate) mod block;
pub(crate) mod cluster;
pub(crate) mod fence;
pub(crate) mod grid;
pub(crate) mod handoff;
pub(crate) mod hybrid;
pub(crate) mod lanes;
pub(crate) mod launch;
pub(crate) mod lock;
pub(crate) mod multi;
pub(crate) mod reduction;
pub(crate) mod warp;
pub(crate) mod warp_sum;

use syncscope_core::{ActorRule, Case, Dtype, Facts, Group, MemoryOrder, Mode, Role, RunEffect, Waits};

use super::entry::Entry;
pub(super) use super::plan::CLUSTER_OF;

/// All entries, by family, in the order of the catalogue.
pub(super) static FAMILIES: &[&[&Entry]] = &[
    block::ENTRIES,
    blackwell::ENTRIES,
    warp::ENTRIES,
    lanes::ENTRIES,
    atomic::ENTRIES,
    atomic_half::ENTRIES,
    fence::ENTRIES,
    lock::ENTRIES,
    cluster::ENTRIES,
    grid::ENTRIES,
    handoff::ENTRIES,
    multi::ENTRIES,
    launch::ENTRIES,
    reduction::ENTRIES,
    warp_sum::ENTRIES,
    hybrid::ENTRIES,
];

/// Reads of a wait between two tests of its limit: `POLLS_OF_A_ROUND` in the kernels.
const POLLS: usize = 4;

/// The prelude of the family files.
mod prelude {
    pub(super) use syncscope_core::sweep::Sweep;
    pub(super) use syncscope_core::{
        ActorRule, Case, Dtype, Facts, Form, Group, Layout, MemoryOrder, Mode, OperationsAtOnce, Preset, Role,
        RunEffect, Scope, Space, Waits,
    };

    pub(super) use super::{
        CLUSTER_OF, POLLS, REGISTERS, WARP_COLLECTIVE, entries, group_size, in_order_of, kind_of, name_of, value_of,
    };
    pub(super) use crate::catalogue::entry::{
        CpuThreads, Entry, ExpectedInstructions, HostWait, Kernel, Launching, Method, Proof, SamplingPolicy,
    };
    pub(super) use crate::catalogue::limits::{AT_STRIDES, DOUBLINGS, DeviceLimits, private, shape_of};
    pub(super) use crate::catalogue::plan::{BEYOND_QUICK, Blocks, EACH, Grids, PAPER, PlanRow, QUICK, STANDARD, on};
    pub(super) use crate::launch::arguments::{ArgumentKind, UNROLL};
}

/// The entries of a family, one row each: id, base entry, summary, and the fields that differ from the base.
macro_rules! entries {
    ($($(#[$about:meta])* $id:literal like $like:ident: $summary:literal $(, $field:ident: $value:expr)*;)+) => {
        pub(crate) static ENTRIES: &[&Entry] =
            &[$(&Entry { id: $id, summary: $summary, $($field: $value,)* ..$like },)+];
    };
}
pub(super) use entries;

/// The macro that sets the type of a case's values.
pub(super) fn value_of(case: &Case) -> String {
    format!("VALUE={}", type_of(case.dtype))
}

/// The C++ name of a type.
pub(super) const fn type_of(dtype: Option<Dtype>) -> &'static str {
    match dtype {
        None | Some(Dtype::I32) => "int",
        Some(Dtype::U32) => "unsigned int",
        Some(Dtype::U64) => "unsigned long long",
        Some(Dtype::F32) => "float",
        Some(Dtype::F64) => "double",
    }
}

/// The last part of the id of the case's primitive.
pub(super) fn name_of(case: &Case) -> &str {
    case.primitive.rsplit('.').next().unwrap_or_default()
}

/// The macro that selects the primitive in a kernel for several primitives: the name in capitals.
pub(super) fn kind_of(case: &Case) -> String {
    format!("KIND={}", name_of(case).to_uppercase())
}

/// The size of a group such as a tile; 1 if the case has no group, or a size that no warp or cluster has.
pub(crate) fn group_size(case: &Case) -> u32 {
    case.group.as_ref().and_then(Group::number).filter(|size| (1..=32).contains(size)).unwrap_or(1)
}

/// Adds `SYNCSCOPE_RELAXED=1` to the definitions of a barrier that orders no memory accesses.
pub(super) fn in_order_of(case: &Case, mut definitions: Vec<String>) -> Vec<String> {
    if case.order == Some(MemoryOrder::Relaxed) {
        definitions.push("SYNCSCOPE_RELAXED=1".to_owned());
    }
    definitions
}

/// For registers and the barriers of a block, where memory takes no part.
pub(super) const REGISTERS: RunEffect = RunEffect::of_both(0.001);

/// For primitives in which the host takes part: its CPU, its clock and the link.
pub(crate) const WITH_HOST: RunEffect = RunEffect::of_both(0.02);

/// The lanes of a warp exchange registers; no operation needs the one before, and warps share nothing.
pub(super) const WARP_COLLECTIVE: Facts = Facts {
    orders_memory: false,
    mode: Mode::Throughput,
    actor: ActorRule::Median,
    run_effect: |_| REGISTERS,
    ..Facts::of(Role::WarpCollective).waiting(Waits::InHardware)
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::headers::constant_of;

    #[test]
    fn a_round_of_polls_is_that_of_the_kernels() {
        assert_eq!(constant_of("grid_barrier.cuh", "POLLS_OF_A_ROUND"), POLLS.to_string());
    }

    #[test]
    fn groups_have_a_size() {
        let of = |group: Group| group_size(&Case { group: Some(group), ..Case::new("gpu.warp.tile") });
        assert_eq!(
            [Group::of_word("tile 4"), Group::of_word("coalesced 31"), Group::named("converged")].map(of),
            [4, 31, 1]
        );
        assert_eq!([Group::of_word("tile 0"), Group::of_word("tile 99")].map(of), [1, 1]);
    }
}
