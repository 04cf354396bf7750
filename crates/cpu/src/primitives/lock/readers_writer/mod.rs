//! Locks that one writer or many readers hold. Start with `rwlock_read.rs`.

pub(super) mod rwlock_read;
pub(super) mod rwlock_write;
