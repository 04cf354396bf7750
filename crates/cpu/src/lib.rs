//! CPU side of syncscope.
//!
//! [`CpuLaboratory`] opens the machine once, plans the cases of its [`catalogue`] and makes their
//! [`syncscope_core::Experiment`]s. Start with `laboratory/mod.rs`, then read one primitive: the ticket
//! lock in `primitives/lock/own.rs`.
//!
//! | module | what stands there |
//! |---|---|
//! | [`machine`] | topology, placement of threads, memory and its NUMA nodes, the system's files |
//! | [`timing`] | the clock, core cycles, SMT interference |
//! | [`sync`] | locks and barriers with algorithms of their own |
//! | [`team`] | the pinned threads that run the shots |
//! | [`evidence`] | the machine code of the timed loops |
//! | [`primitives`] | the catalogue: a folder or a file for each family, a block for each primitive |
//! | [`mpi`] | primitives between processes, by an MPI library |
//! | [`processes`] | worker processes, for the cases that need some |
//! | `awake.rs` | whether and how CPUs are kept from halting during a run |
//! | [`studies`] | cases on chosen CPUs and NUMA nodes; the topology that the core-to-core matrix shows |
//!
//! ```text
//! axes -> plan <- primitives, studies                       which cases
//! primitives -> workload -> team -> experiment -> engine    how one case is measured
//! ```

pub mod evidence;
pub mod experiment;
pub mod laboratory;
pub mod machine;
pub mod mpi;
pub mod primitives;
pub mod processes;
pub mod studies;
pub mod sync;
pub mod team;
pub mod timing;

mod awake;
mod axes;
mod facts;
mod plan;

pub use laboratory::CpuLaboratory;
pub use machine::topology::Topology;
pub use plan::cases;
pub use primitives::{catalogue, elided_by_nature, evidence_of};
