//! Studies of the machine: on which CPUs, and with memory on which NUMA node, some primitives are measured besides their
//! own sweeps.
//!
//! - [`cpu_pairs`]: two threads, once for each class of CPU pairs (same core, same cache, same node, ...). Start here.
//! - [`core_to_core`]: the core-to-core matrix, two threads on many pairs of CPUs.
//! - [`smt`]: one hardware thread of a core with its sibling idle, and with it busy.
//! - [`numa`]: a contended cache line on each NUMA node in turn.
//! - [`inference`]: the topology that the rows of the matrix show, compared with the reported one.

pub mod core_to_core;
pub mod cpu_pairs;
pub mod inference;
pub mod numa;
pub mod smt;
