//! From a case to the text that is compiled for it.

use syncscope_core::Case;

use super::definitions::kernel;
use super::registry::entry_of;
use crate::cuda::compile::Program;

/// The program a case runs; `None` if its primitive does not exist.
#[must_use]
pub fn program_of(case: &Case) -> Option<Program> {
    let entry = entry_of(case)?;
    let (file, text) = entry.kernel;
    Some(Program { file, text, definitions: (entry.definitions)(case) })
}

/// The program that measures the ruler.
pub(crate) fn ruler_program() -> Program {
    let (file, text) = kernel!("ruler.cu");
    Program { file, text, definitions: Vec::new() }
}
