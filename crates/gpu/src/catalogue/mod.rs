//! The GPU primitives: what each one is, its cases, its kernel, and how its work is checked.
//!
//! A case names its primitive by an id. Everything else that depends on the primitive is a field or a function of its
//! [`entry::Entry`]; no other folder compares ids.
//!
//! | file | contents |
//! |---|---|
//! | [`families`] | the entries, one or several families to a file, and what families share |
//! | [`entry`] | the fields of an entry, including how samples are taken and which machine instructions an operation becomes |
//! | [`registry`] | queries over all entries: the cases of a preset, the kernel of a case; kernels that fail, for tests |
//! | [`limits`] | the limits of a device, and the axes of the sweeps |
//! | [`plan`] | tables of what each preset measures |
//! | [`recipe`] | how a variant of a reduction is queued, and on which grid |
//! | [`own`] | users' operations |
//! | [`peer`] | the cases of SyncPerformance |
//!
//! Start with a file of [`families`] and with [`entry`].

pub(crate) mod entry;
pub(crate) mod families;
pub(crate) mod limits;
pub mod own;
pub mod peer;
mod plan;
pub(crate) mod recipe;
mod registry;

pub use self::entry::ExpectedInstructions;
pub(crate) use self::entry::{CpuThreads, HostWait, Launching, Method, Proof, SamplingPolicy};
pub(crate) use self::families::hybrid::Sides;
pub(crate) use self::families::launch::{Traffic, Work};
pub(crate) use self::families::{cluster, grid, multi};
pub use self::registry::{
    Entries, Fault, argument_bytes, cases, orderings, program_of, third_loop_of, unavailable, weakened_program,
};
pub(crate) use self::registry::{absent_block_program, entry_of, fault_program, primitives, ruler_program, variants};
