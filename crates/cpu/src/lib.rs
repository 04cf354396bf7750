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

pub mod cgroup;
pub mod clock;
pub mod cpu_list;
pub mod evidence;
pub mod experiment;
pub mod inference;
pub mod laboratory;
pub mod matrix;
pub mod numa;
pub mod openmp;
pub mod pairs;
pub mod placement;
pub mod plan;
pub mod primitives;
pub mod siblings;
pub mod sync;
pub mod system;
pub mod team;
pub mod topology;

mod cycles;
mod hwloc;
mod memory;
mod neighbour;
mod os;
mod perf;
mod teams;

pub use laboratory::{CpuError, CpuLaboratory};
pub use primitives::{catalogue, evidence_of};
pub use topology::Topology;
