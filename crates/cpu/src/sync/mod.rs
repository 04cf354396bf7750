//! Locks and barriers written out as the textbooks have them: measured as primitives, and one of them starts the shots of
//! every team.
//!
//! All of them wait in a bounded way: a [`Fuse`] spins for a while, then yields the CPU at every look, so that more
//! threads than CPUs are slow and no deadlock, and ends the wait of everybody when somebody does not come. `tests/loom.rs`
//! checks them against every interleaving of two or three threads.

#![allow(clippy::inline_always, reason = "these operations are themselves measured and must stand in the timed loop")]

mod dissemination;
mod guarded;
mod mcs;
mod pthread;
mod sense;
mod shim;
mod ticket;
mod tree;
mod ttas;
mod wait_limit;

pub use dissemination::DisseminationBarrier;
pub use guarded::{Guarded, RawLock, Seat};
pub use mcs::McsLock;
pub use pthread::{PthreadMutex, PthreadSpin};
pub use sense::{LocalSense, SenseBarrier};
pub use ticket::TicketLock;
pub use tree::TreeBarrier;
pub use ttas::TtasLock;
pub use wait_limit::{Broken, Fuse};

/// A value on cache lines of its own. 128 bytes, because x86 prefetches lines in pairs and some ARM cores have lines
/// that long.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct OwnLine<T>(pub(crate) T);

#[cfg(all(test, not(loom)))]
mod tests;
