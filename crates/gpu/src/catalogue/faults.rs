//! Kernels that fail on purpose, for tests.

use syncscope_core::Case;

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

pub(crate) fn fault_program(fault: Fault) -> Program {
    kernel!("fault.cu", Register).program(vec![format!("FAULT={}", fault as u32)])
}
