//! The machine under measurement: what it is made of, what this process may use of it, and where memory lies.
//!
//! - [`topology`]: packages, NUMA nodes, caches, cores and hardware threads, as plain data. Start here.
//! - `hwloc.rs`: fills a topology; the only module that calls hwloc.
//! - [`placement`]: one CPU for each thread of a team.
//! - [`pair_class`]: what two CPUs share at the nearest level.
//! - `cpu_groups.rs`: groups of CPUs with a memory or a cache in common.
//! - `memory.rs`: pages of their own for measured data. `page_homes.rs`: the NUMA nodes that pages are on.
//! - [`system`]: the processor's name, governor, load and hypervisor, from `/proc` and `/sys`.
//! - [`settings`]: settings of firmware and kernel that change costs.
//! - [`steal`]: time that the hypervisor took.
//! - [`loaded_library`]: file and version of a library that this process has loaded.
//! - [`cgroup`]: the CPU quota of the control group.
//! - [`awake`]: loops at idle priority that keep CPUs from halting.

pub(crate) mod cpu_groups;
pub(crate) mod hwloc;
pub(crate) mod memory;
pub(crate) mod page_homes;

pub mod awake;
pub mod cgroup;
pub mod loaded_library;
pub mod pair_class;
pub mod placement;
pub mod settings;
pub mod steal;
pub mod system;
pub mod topology;
