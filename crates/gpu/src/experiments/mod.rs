//! Experiments on devices alone: what one case runs for one sample, and how it is checked.
//!
//! Each type here implements [`syncscope_core::Experiment`]. Experiments with CPU threads are in `hybrid/`.
//!
//! | file | what is timed |
//! |---|---|
//! | [`kernel`] | a loop in one grid on one device |
//! | [`grid_barrier`] | a barrier of a whole grid, or of the grids of several devices |
//! | [`host_barrier`] | launches on several devices with a barrier of host threads between them |
//! | [`launch_chain`] | a chain of kernel launches, by the host's clock |
//! | [`reduction`] | a chain of reductions of a vector on one device or several, by the host's clock |
//!
//! [`third_loop`] is the loop that shows whether costs add up.
//!
//! Start with [`kernel`], which measures most primitives.

pub(crate) mod grid_barrier;
pub(crate) mod host_barrier;
pub(crate) mod kernel;
pub(crate) mod launch_chain;
pub(crate) mod reduction;
pub(crate) mod third_loop;
