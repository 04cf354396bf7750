//! Locks and barriers written out as in the literature. They are measured as primitives, and the sense barrier starts
//! the shots of every team.
//!
//! - [`RawLock`] and [`Guarded`]: what a lock is, and a value that it protects; `locks/`. Start with `locks/ticket.rs`.
//! - [`Barrier`]: what a barrier is; `barriers/`. Start with `barriers/sense.rs`.
//! - [`WaitLimit`]: all of them wait with a time limit. A thread spins for a while and then yields the CPU at every
//!   look, so that more threads than CPUs are slow but no deadlock. When one thread does not come, all waits end.
//! - `between_processes.rs`: what of it may stand in memory that several processes map.
//! - `shim.rs`: the atomics and the futex they are made of; loom's under `--cfg loom`.
//!
//! [`visit_locks`] and [`visit_barriers`] list them for the tests: `tests.rs` runs real threads, `tests/loom.rs` tries
//! every interleaving of two or three threads. A new lock or barrier is added to these lists and is tested by both.

#![allow(clippy::inline_always, reason = "these operations are themselves measured and must stand in the timed loop")]

mod barriers;
mod between_processes;
mod locks;
mod shim;
mod wait_limit;

use std::time::Duration;

pub use self::barriers::{DisseminationBarrier, FutexBarrier, LocalSense, PthreadBarrier, SenseBarrier, TreeBarrier};
pub(crate) use self::between_processes::BetweenProcesses;
pub use self::locks::{
    ClhLock, ClhState, CohortLock, Guarded, McsLock, PthreadMutex, PthreadSpin, RawLock, SpinParkLock, ThreadState,
    TicketLock, TtasLock,
};
pub use self::wait_limit::{WaitLimit, WaitTimeout};

/// A value on cache lines of its own: 128 bytes on x86-64 and AArch64, because x86 prefetches lines in pairs and some ARM
/// cores have lines that long.
pub use crossbeam::utils::CachePadded;

/// A test that every lock of this crate has to pass.
pub trait LockVisitor {
    /// Takes the lock that `make` creates for a number of threads and a wait limit. `preemptions` is how many
    /// preemptions a model check of three threads can try in a few seconds.
    fn visit<L: RawLock>(&mut self, name: &str, make: fn(u32, Duration) -> L, preemptions: usize);
}

/// Visits every lock that is written out here.
pub fn visit_locks(visitor: &mut impl LockVisitor) {
    visitor.visit("ttas", |_, limit| TtasLock::new(limit), 1);
    visitor.visit("ticket", |_, limit| TicketLock::new(limit), 1);
    visitor.visit("mcs", McsLock::new, 2);
    visitor.visit("clh", ClhLock::new, 2);
    visitor.visit("cohort", |_, limit| CohortLock::new(2, |thread| thread % 2, limit), 1);
    visitor.visit("spin_park", |_, limit| SpinParkLock::new(Duration::from_micros(10), limit), 1);
}

/// A barrier for a fixed number of threads.
pub trait Barrier: Send + Sync + 'static {
    /// What a thread remembers between two waits.
    type Local: Send + 'static;

    /// The memory of a thread, counted from 0. Called while no thread waits, and no thread may pass the barrier without
    /// this one from then on.
    fn join(&self, thread: usize) -> Self::Local;

    /// Waits for all threads.
    ///
    /// # Errors
    /// [`WaitTimeout`] when a thread did not come within the limit, or another thread gave up.
    fn wait(&self, local: &mut Self::Local) -> Result<(), WaitTimeout>;
}

/// A test that every barrier of this crate has to pass.
pub trait BarrierVisitor {
    /// Takes the barrier that `make` creates for a number of threads and a wait limit. `phases` is how many phases a
    /// model check of two threads can try in a few seconds.
    fn visit<B: Barrier>(&mut self, name: &str, make: fn(u32, Duration) -> B, phases: u32);
}

/// Visits every barrier that is written out here.
pub fn visit_barriers(visitor: &mut impl BarrierVisitor) {
    visitor.visit("sense", SenseBarrier::new, 3);
    visitor.visit("dissemination", DisseminationBarrier::new, 2);
    visitor.visit("tree", TreeBarrier::new, 3);
    visitor.visit("futex", FutexBarrier::new, 3);
}

#[cfg(all(test, not(loom)))]
mod tests;
