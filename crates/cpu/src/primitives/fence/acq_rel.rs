//! `cpu.fence.acq_rel`: an acquire and release fence with no access to order.

use std::sync::atomic::Ordering;

use syncscope_core::Primitive;

use crate::primitives::entry::Entry;
use crate::primitives::fence::{self, Fence};

/// In theory: as the release fence.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.fence.acq_rel",
        summary: "Acquire and release fence with no access before or after it",
        operation: fence::OPERATION,
        source: "C++20 [atomics.fences]; OpenMP 5.2, 15.8.5 (flush acq_rel)",
        facts: fence::FACTS,
    },
    fence::cases::<AcqRel>,
    fence::workload::<AcqRel>,
)
.elided_by_nature(fence::ELIDED);

struct AcqRel;

impl Fence for AcqRel {
    const ORDER: Ordering = Ordering::AcqRel;
}
