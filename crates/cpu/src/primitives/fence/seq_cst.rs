//! `cpu.fence.seq_cst`: a sequentially consistent fence with no access to order.

use std::sync::atomic::Ordering;

use syncscope_core::Primitive;

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::fence::{self, FULL_FENCE, Fence};
/// In theory: the store buffer drains before the next load. On x86 this is a locked instruction on the thread's own
/// stack, which costs as much as an uncontended atomic addition (an `mfence` would take 30 to 60 cycles). Each core
/// pays for itself: the cost does not depend on the number of threads.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.fence.seq_cst",
        summary: "Sequentially consistent fence with no access before or after it",
        operation: fence::OPERATION,
        source: "C++20 [atomics.fences]; OpenMP 5.2, 15.8.5 (flush seq_cst)",
        facts: fence::FACTS,
    },
    fence::cases::<SeqCst>,
    fence::workload::<SeqCst>,
);

struct SeqCst;

impl Fence for SeqCst {
    const ORDER: Ordering = Ordering::SeqCst;
    const EXPECTED: Expected = Expected::once(FULL_FENCE);
}
