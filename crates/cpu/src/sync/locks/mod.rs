//! The locks. Start with `guarded.rs`: what a lock is, and a value that it protects; then read `ticket.rs`.
//!
//! - `ttas.rs`, `ticket.rs`: one line. `mcs.rs`, `clh.rs`, `hemlock.rs`: a queue. `queued_spin.rs`: both, as in Linux.
//!   `reciprocating.rs`: stacks. `cohort.rs`, `cna.rs`: threads of a group pass it among themselves. `spin_park.rs`: waiters
//!   sleep after a while.
//! - `queue.rs`: the queue of `mcs.rs`, `cna.rs` and `queued_spin.rs`, and the end of Hemlock's.
//!
//! A new lock is a module here and a line of [`visit_locks`], from which all tests of locks come.

mod clh;
mod cna;
mod cohort;
mod guarded;
mod hemlock;
mod mcs;
mod queue;
mod queued_spin;
mod reciprocating;
mod spin_park;
mod ticket;
mod ttas;

use std::time::Duration;

use super::{CachePadded, WaitLimit, WaitTimeout, shim};

pub use self::clh::{ClhLock, ClhState};
pub use self::cna::CnaLock;
pub use self::cohort::CohortLock;
pub use self::guarded::{Guarded, RawLock, ThreadState};
pub use self::hemlock::HemLock;
pub use self::mcs::McsLock;
pub use self::queued_spin::QueuedSpinLock;
pub use self::reciprocating::{ReciprocatingLock, ReciprocatingState};
pub use self::spin_park::SpinParkLock;
pub use self::ticket::TicketLock;
pub use self::ttas::TtasLock;

/// A default node for each thread, on lines of its own.
fn nodes<T: Default>(threads: u32) -> Box<[CachePadded<T>]> {
    (0..threads).map(|_| CachePadded::default()).collect()
}

/// A test that every lock of this crate has to pass.
pub trait LockVisitor {
    /// Takes the lock that `make` creates for a number of threads and a wait limit. `preemptions` is how many
    /// preemptions a model check of three threads can try in a few seconds.
    fn visit<L: RawLock>(&mut self, name: &str, make: fn(u32, Duration) -> L, preemptions: usize);
}

/// Visits every lock that is written out here.
pub fn visit_locks(visitor: &mut impl LockVisitor) {
    visitor.visit("ttas", |_, limit| TtasLock::<0>::new(limit), 1);
    visitor.visit("ttas_backoff", |_, limit| TtasLock::<8>::new(limit), 1);
    visitor.visit("ticket", |_, limit| TicketLock::new(limit), 1);
    visitor.visit("mcs", McsLock::new, 2);
    visitor.visit("clh", ClhLock::new, 2);
    visitor.visit("reciprocating", ReciprocatingLock::new, 2);
    visitor.visit("hemlock", HemLock::new, 1);
    visitor.visit("qspinlock", QueuedSpinLock::new, 1);
    visitor.visit("cna", |threads, limit| CnaLock::new(threads, |thread| thread % 2, limit), 1);
    visitor.visit("cohort", |_, limit| CohortLock::new(2, |thread| thread % 2, limit), 1);
    visitor.visit("spin_park", |_, limit| SpinParkLock::new(Duration::from_micros(10), limit), 1);
}
