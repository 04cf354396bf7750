//! Locks that one writer or many readers hold. Start with `rwlock_read.rs`; the loops of readers stand in `readers.rs`.

pub(super) mod crossbeam_sharded_read;
pub(super) mod crossbeam_sharded_write;
pub(super) mod parking_lot_rwlock_read;
pub(super) mod parking_lot_rwlock_write;
pub(super) mod rwlock_read;
pub(super) mod rwlock_write;

mod readers;
