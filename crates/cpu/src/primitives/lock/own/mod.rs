//! Locks with algorithms of their own; each algorithm stands in `sync/locks`. Start with `ticket.rs`.

pub(super) mod clh;
pub(super) mod cohort;
pub(super) mod mcs;
pub(super) mod spin_park;
pub(super) mod ticket;
pub(super) mod ttas;
