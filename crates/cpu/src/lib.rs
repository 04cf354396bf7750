//! CPU side of syncscope: topology, placement, the pinned team and the primitives.
//!
//! [`CpuLaboratory`] is the door: it opens the machine once and makes [`syncscope_core::Experiment`]s of the cases
//! of its [`catalogue`]. One concept, one module:
//!
//! ```text
//! hwloc -> topology -> placement -> team -> experiment <- primitives (operation -> the two loops)
//!                                   clock ---^
//! topology -> pairs, matrix, siblings, numa (what is studied on which CPUs) -> plan; memory (where a line is)
//! rows of the matrix -> inference (what they say of the topology)
//! ```

pub mod evidence;
pub mod experiment;
pub mod laboratory;
pub mod machine;
pub mod primitives;
pub mod studies;
pub mod sync;
pub mod team;
pub mod timing;

mod axes;
mod numbers;
mod plan;

pub use laboratory::{CpuError, CpuLaboratory};
pub use machine::topology::Topology;
pub use primitives::{catalogue, evidence_of};
