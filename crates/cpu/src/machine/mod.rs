//! The machine under measurement: what it is made of, what this process may use of it, and where memory lies.
//!
//! - [`topology`]: packages, NUMA nodes, caches, cores and hardware threads, as plain data. Start here.
//! - `hwloc.rs`: fills a topology; the only module that calls hwloc.
//! - [`placement`]: one CPU for each thread of a team.
//! - [`nearness`]: what two CPUs share at the nearest level, and groups of CPUs with a memory or a cache in common.
//! - `memory.rs`: pages of their own for measured data, and the NUMA nodes that they are on.
//! - `inherited.rs`: memory and descriptors that worker processes have from the one that started them.
//! - [`system`]: the processor's name, governor, load and hypervisor, from `/proc` and `/sys`.
//! - [`settings`]: settings of firmware and kernel that change costs.
//! - [`cpu_time`]: the CPU quota, time that the hypervisor took, time that this process used.
//! - [`loaded_library`]: file and version of a library that this process has loaded.
//! - `c_compiler.rs`: the system's C compiler.
//! - [`awake`]: loops at idle priority that keep CPUs from halting.

pub(crate) mod c_compiler;
pub(crate) mod hwloc;
pub(crate) mod inherited;
pub(crate) mod memory;

pub mod awake;
pub mod cpu_time;
pub mod loaded_library;
pub mod nearness;
pub mod placement;
pub mod settings;
pub mod system;
pub mod topology;
