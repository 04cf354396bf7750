//! The barriers. Start with `sense.rs`, which also starts the shots of every team.
//!
//! - `sense.rs`: central. `signals.rs`: plain stores to partners, up and down two trees, and to lines that one thread reads.
//! - `clusters.rs`: within the clusters of a machine, then across.
//! - `futex.rs`: central, and waiters sleep.
//!
//! A new barrier is a module here and a line of [`visit_barriers`], from which all tests of barriers come.

mod clusters;
mod futex;
mod sense;
mod signals;

use std::time::Duration;

use super::{CachePadded, WaitLimit, WaitTimeout, shim};

pub use self::clusters::ClusterBarrier;
pub use self::futex::FutexBarrier;
pub use self::sense::{LocalSense, SenseBarrier};
pub use self::signals::{DisseminationBarrier, FlatBarrier, TreeBarrier};

/// A barrier for a fixed number of threads.
pub trait Barrier: Send + Sync + 'static {
    /// What a thread remembers between two waits.
    type Local: Send + 'static;

    /// Returns the memory of `thread`, counted from 0. Called while no thread waits; from then on no thread may pass the barrier
    /// without this one.
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
    visitor.visit("flat", FlatBarrier::new, 3);
    let in_two =
        |threads, limit| ClusterBarrier::new(&(0..threads as usize).map(|one| one % 2).collect::<Vec<_>>(), limit);
    visitor.visit("clusters", in_two, 2);
    visitor.visit("futex", FutexBarrier::new, 3);
}
