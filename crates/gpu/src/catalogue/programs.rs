//! The program that is compiled for a case.

use syncscope_core::Case;

use super::definitions::kernel;
use super::entry::{Entry, Method};
use super::registry::entry_of;
use crate::cuda::compile::Program;

/// The program of a case; `None` if the primitive does not exist.
#[must_use]
pub fn program_of(case: &Case) -> Option<Program> {
    let entry = entry_of(case)?;
    Some(entry.kernel.program((entry.definitions)(case)))
}

/// The program of a case with the third loop; `None` if there is no such loop.
#[must_use]
pub fn third_loop_of(case: &Case) -> Option<Program> {
    let has_loop = |entry: &&Entry| {
        entry.has_third_loop && matches!(entry.method, Method::Kernel | Method::Cluster | Method::GridBarrier)
    };
    entry_of(case).filter(has_loop)?;
    Some(program_of(case)?.with_third_loop())
}

/// How many bytes of arguments the kernels `baseline`, `test` and `check` of a case take; `None` if there are none.
#[must_use]
pub fn argument_bytes(case: &Case) -> Option<usize> {
    entry_of(case)?.kernel.arguments.bytes()
}

/// The program that measures the clock.
pub(crate) fn ruler_program() -> Program {
    kernel!("ruler.cu", Register).program(Vec::new())
}
