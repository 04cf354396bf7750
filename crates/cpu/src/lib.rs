//! CPU side of syncscope: it pins threads, lets them run a primitive, and times them.
//!
//! [`CpuLaboratory`] opens the machine once, plans the cases of its [`catalogue`] and makes their
//! [`syncscope_core::Experiment`]s. Start with `laboratory/mod.rs`, then read one primitive: the ticket
//! lock in `primitives/lock/own.rs`.
//!
//! | module | contents |
//! |---|---|
//! | [`bench`](mod@bench) | a Rust program's own locks, barriers, hand-offs and operations, for `cargo bench` |
//! | `memory/` | pages for measured data and their NUMA nodes; what worker processes inherit |
//! | [`timing`] | the clock, core cycles, SMT interference |
//! | [`sync`] | locks and barriers with algorithms of their own |
//! | [`team`] | the pinned threads that run the shots |
//! | [`evidence`] | the machine code of the timed loops |
//! | [`primitives`] | the catalogue: a folder or a file for each family, a block for each primitive |
//! | [`processes`] | worker processes, for the cases that need some |
//! | `awake.rs` | whether and how CPUs are kept from halting during a run |
//!
//! `syncscope-machine` has what is not timed: topology, placement of threads, studies of the machine.
//!
//! ```text
//! axes -> plan <- primitives                                which cases
//! primitives -> workload -> team -> experiment -> engine    how one case is measured
//! ```

pub mod sync;

// Loom models what is in `sync`; without the rest, and what that depends on, its build takes a third of the time.
#[cfg(not(loom))]
pub mod bench;
#[cfg(not(loom))]
pub mod evidence;
#[cfg(not(loom))]
pub mod experiment;
#[cfg(not(loom))]
pub mod laboratory;
#[cfg(not(loom))]
pub mod primitives;
#[cfg(not(loom))]
pub mod processes;
#[cfg(not(loom))]
pub mod team;
#[cfg(not(loom))]
pub mod timing;

#[cfg(not(loom))]
mod awake;
#[cfg(not(loom))]
mod axes;
#[cfg(not(loom))]
mod facts;
#[cfg(not(loom))]
mod memory;
#[cfg(not(loom))]
mod plan;
#[cfg(not(loom))]
mod thinning;

#[cfg(not(loom))]
pub use facts::between_threads;
#[cfg(not(loom))]
pub use laboratory::CpuLaboratory;
#[cfg(not(loom))]
pub use plan::cases;
#[cfg(not(loom))]
pub use primitives::{catalogue, elided_by_nature, evidence_of};
#[cfg(not(loom))]
pub use syncscope_machine::described::plan_on;
#[cfg(not(loom))]
pub use syncscope_machine::topology::Topology;
