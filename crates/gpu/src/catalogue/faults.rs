//! Kernels that fail on purpose, for tests.

use syncscope_core::{Case, Group, MemoryOrder};

use super::definitions::kernel;
use super::programs::program_of;
use crate::cuda::compile::Program;

/// How a kernel fails on purpose, for tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A kernel spins until the host asks it to stop.
    Hang,
    /// A kernel traps; its context becomes unusable.
    Trap,
}

/// A barrier of a grid that the last block does not reach.
pub(crate) fn absent_block_program(case: &Case) -> Option<Program> {
    let mut program = program_of(case)?;
    program.definitions.push("ABSENT=1".to_owned());
    Some(program)
}

/// The orderings of a barrier of a grid that can be left out one at a time, as the kernels number them from 1 (`ORDERS` in
/// `grid_barrier.cuh`). None for other primitives, for a barrier that orders nothing, and for CUDA's.
#[must_use]
pub fn orderings(case: &Case) -> &'static [&'static str] {
    if case.order == Some(MemoryOrder::Relaxed) {
        return &[];
    }
    match (case.primitive.as_str(), case.group.as_ref()) {
        ("gpu.grid.hierarchical", Some(Group::Cluster(_))) => {
            &["addition releases", "fence acquires and releases to the cluster", "fence releases to the cluster"]
        }
        ("gpu.grid.hierarchical", _) => &["addition releases", "fence acquires"],
        ("gpu.grid.counter", _) => &["addition releases", "poll acquires"],
        ("gpu.grid.lock_free", _) => {
            &["flag releases", "gathering poll acquires", "fence releases all flags", "poll acquires"]
        }
        ("gpu.multi.counter", _) => &[
            "addition on the device acquires and releases",
            "addition for all devices releases",
            "poll of all devices acquires",
            "flag on the device releases",
            "poll on the device acquires",
        ],
        ("gpu.multi.flags", Some(Group::Direct)) => &["fence releases", "fence acquires"],
        ("gpu.multi.flags", Some(Group::NearFlags)) => {
            &["addition on the device releases", "fence acquires and releases", "fence acquires"]
        }
        ("gpu.multi.flags", _) => &["addition on the device acquires and releases", "fence releases", "poll acquires"],
        _ => &[],
    }
}

/// A barrier of a grid without one of its [`orderings`], by its number from 1.
#[must_use]
pub fn weakened_program(case: &Case, ordering: u32) -> Option<Program> {
    let mut program = program_of(case)?;
    program.definitions.push(format!("WEAKENED={ordering}"));
    Some(program)
}

pub(crate) fn fault_program(fault: Fault) -> Program {
    kernel!("fault.cu", Register).program(vec![format!("FAULT={}", fault as u32)])
}
