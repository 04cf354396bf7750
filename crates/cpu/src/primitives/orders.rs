//! Memory orderings: which of them differ in machine code, and orderings as types for the loops.

use std::sync::atomic::Ordering;

use syncscope_core::MemoryOrder;

/// What an operation does with memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Load,
    Store,
    ReadModifyWrite,
}

impl Access {
    /// The orderings that are different instructions on this architecture. The others are the same as one of these.
    ///
    /// x86-64 orders everything but a store followed by a load, and locked instructions order all (Intel SDM volume 3,
    /// 9.2): only a sequentially consistent store is special, an `xchg`. AArch64 has `ldar`, `stlr` and their like,
    /// which are sequentially consistent among themselves, so that acquire and release are already the strongest.
    pub(super) const fn orders(self) -> &'static [MemoryOrder] {
        use MemoryOrder::{AcqRel, Acquire, Relaxed, Release, SeqCst};
        if cfg!(target_arch = "x86_64") {
            match self {
                Self::Load | Self::ReadModifyWrite => &[Relaxed],
                Self::Store => &[Relaxed, SeqCst],
            }
        } else if cfg!(target_arch = "aarch64") {
            match self {
                Self::Load => &[Relaxed, Acquire],
                Self::Store => &[Relaxed, Release],
                Self::ReadModifyWrite => &[Relaxed, AcqRel],
            }
        } else {
            match self {
                Self::Load => &[Relaxed, Acquire, SeqCst],
                Self::Store => &[Relaxed, Release, SeqCst],
                Self::ReadModifyWrite => &[Relaxed, AcqRel, SeqCst],
            }
        }
    }

    /// Whether an operation of this kind can have the ordering at all.
    pub(super) const fn can_be(self, order: MemoryOrder) -> bool {
        match order {
            MemoryOrder::Relaxed | MemoryOrder::SeqCst => true,
            MemoryOrder::Acquire => matches!(self, Self::Load),
            MemoryOrder::Release => matches!(self, Self::Store),
            MemoryOrder::AcqRel => matches!(self, Self::ReadModifyWrite),
        }
    }
}

/// An ordering that is known at compile time: the loop does not branch on it.
pub(super) trait StaticOrdering: Send + Sync + 'static {
    const LOAD: Ordering;
    const STORE: Ordering;
    const READ_MODIFY_WRITE: Ordering;
}

/// Atomicity alone.
pub(super) struct Relaxed;

impl StaticOrdering for Relaxed {
    const LOAD: Ordering = Ordering::Relaxed;
    const STORE: Ordering = Ordering::Relaxed;
    const READ_MODIFY_WRITE: Ordering = Ordering::Relaxed;
}

/// Acquire for loads, release for stores, both for read-modify-writes.
pub(super) struct AcquireRelease;

impl StaticOrdering for AcquireRelease {
    const LOAD: Ordering = Ordering::Acquire;
    const STORE: Ordering = Ordering::Release;
    const READ_MODIFY_WRITE: Ordering = Ordering::AcqRel;
}

/// One order that all threads agree on.
pub(super) struct SequentiallyConsistent;

impl StaticOrdering for SequentiallyConsistent {
    const LOAD: Ordering = Ordering::SeqCst;
    const STORE: Ordering = Ordering::SeqCst;
    const READ_MODIFY_WRITE: Ordering = Ordering::SeqCst;
}

/// The expression for the type of a `MemoryOrder`.
macro_rules! by_order {
    ($order:expr, $type:ident => $made:expr) => {
        match $order {
            ::syncscope_core::MemoryOrder::Relaxed => {
                type $type = $crate::primitives::orders::Relaxed;
                $made
            }
            ::syncscope_core::MemoryOrder::Acquire
            | ::syncscope_core::MemoryOrder::Release
            | ::syncscope_core::MemoryOrder::AcqRel => {
                type $type = $crate::primitives::orders::AcquireRelease;
                $made
            }
            ::syncscope_core::MemoryOrder::SeqCst => {
                type $type = $crate::primitives::orders::SequentiallyConsistent;
                $made
            }
        }
    };
}
pub(super) use by_order;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_orderings_are_possible() {
        for access in [Access::Load, Access::Store, Access::ReadModifyWrite] {
            assert!(access.orders().iter().all(|order| access.can_be(*order)));
            assert_eq!(access.orders()[0], MemoryOrder::Relaxed);
        }
        assert!(!Access::Load.can_be(MemoryOrder::Release) && !Access::Store.can_be(MemoryOrder::AcqRel));
    }
}
