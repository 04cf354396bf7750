//! The paths through a kernel, and what is outstanding at each instruction.
//!
//! [`Graph`] has the successors of each instruction. [`Scoreboards`] follows the six barriers of the control field along them:
//! which instructions have set one that nobody has waited for yet. [`closing_reads`] asks that at the clock reads.

mod closing;
mod graph;
mod scoreboards;

pub use self::closing::{Unawaited, unawaited_results};
pub(crate) use self::graph::Graph;
pub(crate) use self::scoreboards::{Outstanding, Scoreboards, Sets};
