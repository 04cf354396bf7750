//! The barriers. Start with `sense.rs`, which also starts the shots of every team.
//!
//! - `sense.rs`: central. `dissemination.rs`: signals to partners. `tree.rs`: arrival and wake-up by two trees.
//! - `futex.rs`: central, and waiters sleep. `pthread.rs`: the barrier of the C library.

mod dissemination;
mod futex;
mod pthread;
mod sense;
mod tree;

use super::{Barrier, CachePadded, WaitLimit, WaitTimeout, shim};

pub use self::dissemination::DisseminationBarrier;
pub use self::futex::FutexBarrier;
pub use self::pthread::PthreadBarrier;
pub use self::sense::{LocalSense, SenseBarrier};
pub use self::tree::TreeBarrier;
