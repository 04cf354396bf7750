//! The GPU's primitives: what each one is, its cases, its kernel, and how its work is checked.
//!
//! A case names its primitive by an id. Everything else that depends on the primitive is a field or a function of its
//! [`entry::Entry`]; no other folder compares ids.
//!
//! | file | contents |
//! |---|---|
//! | [`families`] | the entries, one file for each family or two |
//! | [`registry`] | all entries in one list; the cases of a preset |
//! | [`entry`] | the fields of an entry |
//! | [`facts`] | what families share of what is known of their primitives |
//! | [`instructions`] | which machine instructions an operation becomes |
//! | [`sampling`] | how samples are taken |
//! | [`definitions`] | how families define their kernels |
//! | [`programs`], [`faults`] | the kernel of a case; kernels that fail, for tests |
//! | [`limits`] | the limits of a device, and the axes of the sweeps |
//! | [`peer`] | the cases of SyncPerformance |
//!
//! Start with a file of [`families`] and with [`entry`].

mod definitions;
pub(crate) mod entry;
pub(crate) mod facts;
mod families;
mod faults;
mod instructions;
pub(crate) mod limits;
pub mod peer;
mod programs;
mod registry;
mod sampling;

pub(crate) use self::entry::{CpuThreads, Launching, Method, Proof};
pub(crate) use self::families::hybrid::Sides;
pub(crate) use self::families::launch::kernel_ns;
pub(crate) use self::families::{cluster, grid, multi, reduction};
pub use self::faults::Fault;
pub(crate) use self::faults::{absent_block_program, fault_program};
pub use self::faults::{orderings, weakened_program};
pub(crate) use self::instructions::ExpectedInstructions;
pub(crate) use self::programs::ruler_program;
pub use self::programs::{argument_bytes, program_of, third_loop_of};
pub(crate) use self::registry::primitives;
pub(crate) use self::registry::{arrays_of, entry_of};
pub use self::registry::{cases, unavailable};
pub(crate) use self::sampling::{SamplingPolicy, Saturates};
