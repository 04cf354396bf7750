//! Programs that go wrong on purpose, for tests.

use syncscope_core::Case;

use super::definitions::kernel;
use super::programs::program_of;
use crate::cuda::compile::Program;

/// What goes wrong on purpose, for tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A kernel spins until the host asks it to stop.
    Hang,
    /// A kernel traps, which makes its context unusable.
    Trap,
}

/// A barrier of a grid to which the last block does not come: a fault, for tests.
pub(crate) fn absent_block_program(case: &Case) -> Option<Program> {
    let mut program = program_of(case)?;
    program.definitions.push("ABSENT=1".to_owned());
    Some(program)
}

pub(crate) fn fault_program(fault: Fault) -> Program {
    kernel!("fault.cu", Register).program(vec![format!("FAULT={}", fault as u32)])
}
