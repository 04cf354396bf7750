//! Edits of machine code: wait barriers, stall counts and the order of instructions within a basic block.
//!
//! ```text
//! CubinFile -> KernelEdit (one kernel) -> CubinFile::with -> the bytes of a file of the same size
//! ```
//!
//! Each edit of a [`KernelEdit`] is checked against the code as it was compiled (`rules.rs`). One that breaks a dependency that can
//! be seen is refused with an [`EditError`] that says which. What can be seen are registers and predicates of the instructions
//! in the table of operands, the six barriers, stall counts, and the order of accesses of memory. An instruction with
//! unknown operands depends on all others.
//!
//! [`correct_clock_reads`] makes the clock reads of a kernel begin when its operands are there and end when its results are.

mod correction;
mod error;
mod file;
mod kernel;
mod rules;
mod schedule;
#[cfg(test)]
mod tests;

pub use self::correction::{Correction, correct_clock_reads};
pub use self::error::EditError;
pub use self::file::CubinFile;
pub use self::kernel::KernelEdit;
