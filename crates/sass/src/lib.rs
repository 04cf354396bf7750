//! Evidence: which machine instructions a kernel executes in its timed region.
//!
//! A decoder of our own for the machine code of NVIDIA GPUs from Turing (`sm_75`) on, as far as it is needed to tell
//! what was measured: mnemonics, the modifiers of instructions that synchronize or access memory, guards, targets of
//! branches and the control field. It needs no GPU, no driver and no CUDA toolkit.
//!
//! ```text
//! Cubin -> Kernel -> Instruction -> Region (between the clock reads)
//! ```

mod arch;
mod bits;
mod control;
mod cubin;
mod error;
#[cfg(test)]
mod golden;
mod instruction;
mod layouts;
mod modifiers;
mod opcodes;
mod parameters;
mod region;
#[cfg(test)]
mod samples;

pub use arch::Arch;
pub use control::Control;
pub use cubin::{Cubin, Kernel};
pub use error::SassError;
pub use instruction::{Clock, Instruction, Predicate};
pub use parameters::parameter_bytes;
pub use region::{Region, timed_region};
