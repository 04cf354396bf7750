//! The atomics that the algorithms are made of: the standard library's, or loom's under `--cfg loom`. Loom tries every
//! order in which threads may see each other's accesses.

#[cfg(loom)]
pub(super) use loom::{
    cell::UnsafeCell,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
};
#[cfg(not(loom))]
pub(super) use {
    cell::UnsafeCell,
    std::sync::atomic::{AtomicBool, AtomicU32, Ordering},
};

#[cfg(not(loom))]
mod cell {
    /// `std::cell::UnsafeCell` with the part of loom's interface that is used here.
    #[derive(Debug, Default)]
    pub(in crate::sync) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(in crate::sync) const fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        #[inline(always)]
        pub(in crate::sync) fn with_mut<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
            access(self.0.get())
        }
    }
}
