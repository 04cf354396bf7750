//! `cpu.fence.release`: a release fence with no access to order.

use std::sync::atomic::Ordering;

use syncscope_core::Primitive;

use crate::primitives::entry::Entry;
use crate::primitives::fence::{self, Fence};

/// In theory: nothing on x86. On AArch64 a `dmb ish`, which waits for earlier loads and stores.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.fence.release",
        summary: "Release fence with no access before or after it",
        operation: fence::OPERATION,
        source: "C++20 [atomics.fences]; OpenMP 5.2, 15.8.5 (flush release)",
        facts: fence::FACTS,
    },
    fence::cases::<Release>,
    fence::workload::<Release>,
)
.elided_by_nature(fence::ELIDED);

struct Release;

impl Fence for Release {
    const ORDER: Ordering = Ordering::Release;
}
