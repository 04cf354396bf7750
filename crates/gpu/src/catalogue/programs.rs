//! From a case to the text that is compiled for it.

use syncscope_core::Case;

use super::definitions::kernel;
use super::registry::entry_of;
use crate::cuda::compile::Program;

/// The program a case runs; `None` if its primitive does not exist.
#[must_use]
pub fn program_of(case: &Case) -> Option<Program> {
    let entry = entry_of(case)?;
    Some(entry.kernel.program((entry.definitions)(case)))
}

/// How many bytes of arguments the kernels of a case take; `None` if its primitive does not exist.
#[must_use]
pub fn argument_bytes(case: &Case) -> Option<usize> {
    Some(entry_of(case)?.kernel.arguments.bytes())
}

/// The program that measures the ruler.
pub(crate) fn ruler_program() -> Program {
    kernel!("ruler.cu", Register).program(Vec::new())
}
