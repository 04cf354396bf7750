//! A decoder for the machine code (SASS) of NVIDIA GPUs from Turing (`sm_75`) on.
//!
//! Decodes mnemonics, the modifiers of instructions that synchronize or access memory, guards, branch targets, the
//! control field, and the registers that common instructions read and write; tests compare all of these with `nvdisasm`
//! for each generation. The crate also edits control fields and the order within a basic block, and refuses edits that
//! break a dependency. It needs no GPU, no driver and no CUDA toolkit, and depends on no other crate of the project.
//!
//! ```text
//! Cubin -> Kernel -> Instruction -> Region (between the clock reads)
//! ```
//!
//! Start with [`Cubin::parse`]. [`timed_region`] finds the code between two reads of the cycle counter.
//! [`parameter_bytes`] returns the size of the parameters of each kernel.
//!
//! ```no_run
//! use syncscope_sass::{Cubin, timed_region};
//!
//! let bytes = std::fs::read("kernel.cubin")?;
//! let cubin = Cubin::parse(&bytes)?;
//! for name in cubin.kernels() {
//!     let kernel = cubin.kernel(name).expect("it was listed");
//!     println!("{name}: {} instructions on {}", kernel.instructions().len(), cubin.arch());
//!     if let Ok(region) = timed_region(kernel) {
//!         println!("{} atomic reductions in the timed loop", region.count("RED"));
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `cubin` | kernels in an ELF file, and the size of their parameters |
//! | `instruction`, `bits` | one instruction: bit fields, control field, guard, clock, target |
//! | `opcodes`, `modifiers` | the tables of mnemonics and modifiers, and how they are printed |
//! | `region` | the timed region of a kernel |
//! | `operands/` | registers that an instruction reads and writes |
//! | `flow` | paths through a kernel, and which barriers are outstanding on them |
//! | `edit/` | edits that keep dependencies, and files with edited code |
//! | `arch`, `error` | generations with one encoding, errors |

#![forbid(unsafe_code)]

mod arch;
mod bits;
mod cubin;
mod edit;
mod error;
mod flow;
mod instruction;
mod modifiers;
mod opcodes;
mod operands;
mod region;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use arch::Arch;
pub use cubin::{Cubin, Kernel, most_registers, parameter_bytes};
pub use edit::{Correction, CubinFile, KernelEdit, correct_clock_reads};
pub use error::{EditError, SassError};
pub use flow::unawaited_results;
pub use instruction::{Clock, Control, Instruction, Predicate};
pub use operands::{Bank, Effects, Kind, Register, with_registers};
pub use region::{Region, timed_region};
