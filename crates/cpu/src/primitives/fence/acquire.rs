//! `cpu.fence.acquire`: an acquire fence with no access to order.

use std::sync::atomic::Ordering;

use syncscope_core::Primitive;

use crate::primitives::entry::Entry;
use crate::primitives::fence::{self, Fence};

/// In theory: nothing on x86. On AArch64 a `dmb ishld`, which waits for earlier loads.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.fence.acquire",
        summary: "Acquire fence with no access before or after it",
        operation: fence::OPERATION,
        source: "C++20 [atomics.fences]; OpenMP 5.2, 15.8.5 (flush acquire)",
        facts: fence::FACTS,
    },
    fence::cases::<Acquire>,
    fence::workload::<Acquire>,
)
.elided_by_nature(fence::ELIDED);

struct Acquire;

impl Fence for Acquire {
    const ORDER: Ordering = Ordering::Acquire;
}
