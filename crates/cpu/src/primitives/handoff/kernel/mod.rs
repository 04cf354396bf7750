//! Hand-offs through file descriptors. The waiter sleeps in `poll`, which has a time limit, and then reads, as event loops
//! do.

pub(super) mod eventfd;
pub(super) mod pipe;

/// Descriptors that two processes have from the one that started them.
#[derive(Default)]
pub(in crate::primitives) struct Inherited;
