//! The locks. Start with `guarded.rs`: what a lock is, and a value that it protects; then read `ticket.rs`.
//!
//! - `ttas.rs`, `ticket.rs`: one line. `mcs.rs`, `clh.rs`: a queue of nodes. `cohort.rs`: a ticket lock for each group of
//!   threads. `spin_park.rs`: waiters sleep after a while.
//! - `pthread.rs`: the locks of the C library.

mod clh;
mod cohort;
mod guarded;
mod mcs;
mod pthread;
mod spin_park;
mod ticket;
mod ttas;

use super::{CachePadded, WaitLimit, WaitTimeout, shim};

pub use self::clh::{ClhLock, ClhState};
pub use self::cohort::CohortLock;
pub use self::guarded::{Guarded, RawLock, ThreadState};
pub use self::mcs::McsLock;
pub use self::pthread::{PthreadMutex, PthreadSpin};
pub use self::spin_park::SpinParkLock;
pub use self::ticket::TicketLock;
pub use self::ttas::TtasLock;
