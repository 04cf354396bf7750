//! Memory orderings: which of them differ in machine code, and orderings as types for the loops.

use std::env::consts::ARCH;
use std::sync::atomic::Ordering;

use syncscope_core::MemoryOrder;

/// What an operation does with memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Load,
    Store,
    ReadModifyWrite,
}

impl Access {
    /// The orderings that are different instructions on an architecture ([`ARCH`]). The others are the same as one of these.
    ///
    /// x86-64 orders everything but a store followed by a load, and locked instructions order all (Intel SDM volume 3,
    /// 9.2): only a sequentially consistent store is special, an `xchg`. AArch64 has `ldar`, `stlr` and their like,
    /// which are sequentially consistent among themselves, so that acquire and release are already the strongest.
    pub(crate) fn orders(self, architecture: &str) -> &'static [MemoryOrder] {
        use MemoryOrder::{AcqRel, Acquire, Relaxed, Release, SeqCst};
        match (architecture, self) {
            ("x86_64", Self::Load | Self::ReadModifyWrite) => &[Relaxed],
            ("x86_64", Self::Store) => &[Relaxed, SeqCst],
            ("aarch64", Self::Load) => &[Relaxed, Acquire],
            ("aarch64", Self::Store) => &[Relaxed, Release],
            ("aarch64", Self::ReadModifyWrite) => &[Relaxed, AcqRel],
            (_, Self::Load) => &[Relaxed, Acquire, SeqCst],
            (_, Self::Store) => &[Relaxed, Release, SeqCst],
            (_, Self::ReadModifyWrite) => &[Relaxed, AcqRel, SeqCst],
        }
    }

    /// Whether an operation of this kind is measured with the ordering here.
    pub(super) fn has(self, order: MemoryOrder) -> bool {
        self.orders(ARCH).contains(&order)
    }
}

/// An ordering that is known at compile time: the loop does not branch on it.
pub(super) trait StaticOrdering: Send + Sync + 'static {
    const LOAD: Ordering;
    const STORE: Ordering;
    const READ_MODIFY_WRITE: Ordering;
}

macro_rules! ordering {
    ($(#[$doc:meta])* $name:ident: load $load:ident, store $store:ident, both $both:ident) => {
        $(#[$doc])*
        pub(super) struct $name;

        impl StaticOrdering for $name {
            const LOAD: Ordering = Ordering::$load;
            const STORE: Ordering = Ordering::$store;
            const READ_MODIFY_WRITE: Ordering = Ordering::$both;
        }
    };
}

ordering! {
    /// Atomicity alone.
    Relaxed: load Relaxed, store Relaxed, both Relaxed
}
#[cfg(not(target_arch = "x86_64"))]
ordering! {
    /// Acquire for loads, release for stores, both for read-modify-writes.
    AcquireRelease: load Acquire, store Release, both AcqRel
}
#[cfg(not(target_arch = "aarch64"))]
ordering! {
    /// One order that all threads agree on.
    SequentiallyConsistent: load SeqCst, store SeqCst, both SeqCst
}

/// Evaluates an expression with the type of a `MemoryOrder` of [`Access::orders`]: the others would be the same loops again.
macro_rules! by_order {
    (store $order:expr, $type:ident => $made:expr) => {
        by_order!($order, $type => $made, not(target_arch = "aarch64"))
    };
    ($order:expr, $type:ident => $made:expr) => {
        by_order!($order, $type => $made, not(any(target_arch = "x86_64", target_arch = "aarch64")))
    };
    ($order:expr, $type:ident => $made:expr, $has_sequential:meta) => {
        match $order {
            ::syncscope_core::MemoryOrder::Relaxed => {
                type $type = $crate::primitives::orders::Relaxed;
                $made
            }
            #[cfg(not(target_arch = "x86_64"))]
            ::syncscope_core::MemoryOrder::Acquire
            | ::syncscope_core::MemoryOrder::Release
            | ::syncscope_core::MemoryOrder::AcqRel => {
                type $type = $crate::primitives::orders::AcquireRelease;
                $made
            }
            #[cfg($has_sequential)]
            ::syncscope_core::MemoryOrder::SeqCst => {
                type $type = $crate::primitives::orders::SequentiallyConsistent;
                $made
            }
            #[allow(unreachable_patterns, reason = "some architectures have all orderings")]
            _ => None,
        }
    };
}
pub(super) use by_order;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_access_is_measured_relaxed_and_with_no_impossible_ordering() {
        for access in [Access::Load, Access::Store, Access::ReadModifyWrite] {
            for architecture in ["x86_64", "aarch64", "riscv64"] {
                assert_eq!(access.orders(architecture)[0], MemoryOrder::Relaxed);
            }
        }
        assert!(!Access::Load.has(MemoryOrder::Release) && !Access::Store.has(MemoryOrder::AcqRel));
    }
}
