//! What compute capability 10 added for threads and the units that work alongside them.

use super::prelude::*;
use crate::cuda::compile::SPECIFIC;

/// One warp and a full block.
const BLOCKS: &[PlanRow] = &[on(BEYOND_QUICK, Grids::Threads(&[32, 1024]))];

/// Tensor memory, which consumer devices lack.
const TENSOR: Entry = Entry {
    needs: (10, 0),
    ends_before: (12, 0),
    plan: BLOCKS,
    has_third_loop: false,
    ..Entry::of(
        Kernel::of("blackwell.cu", ArgumentKind::Register),
        Proof::Trial,
        Facts {
            run_effect: |_| REGISTERS,
            at_once: OperationsAtOnce::OfEachBlock("parts #"),
            ..Facts::of(Role::BlockBarrier).waiting(Waits::InHardware)
        },
    )
};

fn specific(kind: &str) -> Vec<String> {
    vec![format!("KIND={kind}"), SPECIFIC.to_owned()]
}

entries! {
    /// In theory: the way to the tensor unit, which has nothing to do, and back to the barrier object.
    "gpu.block.tensor_commit" like TENSOR:
    "Barrier object that completes its phase when a thread's tensor operations finish; here none are in flight",
    operation: "one tcgen05.commit by one thread and a wait by all threads of the block",
    source: "PTX ISA, tcgen05.commit and mbarrier.try_wait",
    definitions: |_| specific("COMMIT"),
    facts: Facts { role: Role::CopyBarrier, ..TENSOR.facts },
    expected: |_| ExpectedInstructions::of(&["UTCBAR"]);

    /// In theory: what `gpu.block.syncthreads` costs: NVRTC 13.0 makes no instruction of either fence.
    "gpu.block.tensor_fences" like TENSOR:
    "Block-wide barrier between two tcgen05 fences, which order the tensor operations of different threads",
    operation: "one tcgen05.fence::before_thread_sync, one __syncthreads() and one tcgen05.fence::after_thread_sync",
    source: "PTX ISA, tcgen05.fence",
    definitions: |_| specific("FENCED"),
    expected: |_| ExpectedInstructions::of(&["BAR.SYNC"]);

    /// In theory: a request to the unit that distributes blocks, and its answer.
    "gpu.block.try_cancel" like TENSOR:
    "A block's request to take over the work of a block that has not started, timed from request to answer",
    operation: "one clusterlaunchcontrol.try_cancel by one thread; all threads of the block wait for the answer",
    source: "PTX ISA, clusterlaunchcontrol.try_cancel and query_cancel",
    definitions: |_| vec!["KIND=CANCEL".to_owned()],
    ends_before: (u32::MAX, 0),
    method: Method::Compiled("the request needs blocks that have not started, but grids of this version fit on the device"),
    facts: Facts { role: Role::CopyBarrier, ..TENSOR.facts },
    expected: |_| ExpectedInstructions::of(&["UGETNEXTWORKID"]);
}
