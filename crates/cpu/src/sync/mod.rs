//! Locks and barriers written out as in the literature. They are measured as primitives, and the sense barrier starts
//! the shots of every team.
//!
//! - [`RawLock`] and [`Guarded`]: what a lock is, and a value that it protects; `locks/`. Start with `locks/ticket.rs`.
//! - [`Barrier`]: what a barrier is; `barriers/`. Start with `barriers/sense.rs`.
//! - [`WaitLimit`]: all of them wait with a time limit. A thread spins for a while and then yields the CPU at every
//!   look, so that more threads than CPUs are slow but no deadlock. When one thread does not come, all waits end.
//! - `pthread.rs`: the locks and the barrier of the C library.
//! - `between_processes.rs`: which of them may be in memory that several processes map.
//! - `shim.rs`: the atomics and the futex they are made of; loom's under `--cfg loom`, where `weakened.rs` gives one use
//!   of them a weaker ordering.
//!
//! [`visit_locks`] and [`visit_barriers`] list them for the tests: `tests.rs` runs real threads, `tests/loom.rs` tries
//! every interleaving of two or three threads, and weakens one ordering after the other.

#![allow(clippy::inline_always, reason = "these operations are themselves measured and must be in the timed loop")]

mod barriers;
#[cfg(not(loom))]
mod between_processes;
mod locks;
mod pthread;
mod shim;
mod wait_limit;
#[cfg(loom)]
pub mod weakened;

pub use self::barriers::*;
#[cfg(not(loom))]
pub(crate) use self::between_processes::BetweenProcesses;
pub use self::locks::*;
pub use self::pthread::{PthreadBarrier, PthreadMutex, PthreadRwLock, PthreadSpin};
pub use self::wait_limit::{WaitLimit, WaitTimeout};

/// A value on cache lines of its own: 128 bytes on x86-64 and AArch64, because x86 prefetches lines in pairs and some ARM
/// cores have lines that long.
pub use crossbeam::utils::CachePadded;

#[cfg(all(test, not(loom)))]
mod tests;
