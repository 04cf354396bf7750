//! The machine under measurement: what it is made of, what this process may use of it, and studies of it.
//!
//! - [`topology`]: packages, NUMA nodes, caches, cores and hardware threads, as plain data. Start here.
//! - `hwloc.rs`: fills a topology; the only module that calls hwloc. `described.rs`: machines that the environment describes.
//! - `core_kinds.rs`: performance and efficiency cores, by what the processor says; `arm.rs`: the designs of ARM's processors.
//! - [`placement`]: one CPU for each thread of a team.
//! - [`nearness`]: what two CPUs share at the nearest level, and groups of CPUs with a memory or a cache in common.
//! - [`system`]: the processor's name, governor, load and hypervisor, settings of firmware and kernel that change costs, loaded
//!   libraries.
//! - [`surroundings`]: variables and preloaded libraries that decide what library calls cost.
//! - [`conditions`]: what the processes of one run have in common, and what others change while one measures.
//! - [`cpu_time`]: the CPU quota, time that the hypervisor took, time that this process used.
//! - `c_compiler.rs`: the system's C compiler.
//! - [`studies`]: cases on chosen CPUs and NUMA nodes; the topology that the core-to-core matrix shows.
//!
//! Nothing here is timed.

mod arm;
mod core_kinds;
mod hwloc;

pub mod c_compiler;
pub mod conditions;
pub mod cpu_time;
pub mod described;
pub mod nearness;
pub mod placement;
pub mod studies;
pub mod surroundings;
pub mod system;
pub mod topology;
