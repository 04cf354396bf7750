//! Hand-offs of the crossbeam library besides `channel.rs`.

pub(super) mod backoff;
pub(super) mod bounded;
pub(super) mod parker;
pub(super) mod rendezvous;
