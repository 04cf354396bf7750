//! Asymmetric fences: the side that often runs pays nothing, because the other one executes a barrier on its CPU, too. Hazard
//! pointers, epochs and user-space RCU are built on them.

use std::sync::atomic::{Ordering, compiler_fence};

use syncscope_host::membarrier;

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::fence::{self, Bare};
use crate::primitives::wait::or_fail;
use crate::primitives::workload::Workload;

const SOURCE: &str = "Linux, membarrier(2), MEMBARRIER_CMD_PRIVATE_EXPEDITED; C++ P1202, asymmetric fences";

const FOR_THE_COMPILER: &str = "no instruction: the other side's membarrier orders the accesses of this thread";

/// In theory: nothing. It keeps the compiler from moving accesses, as a reader needs whose writers call membarrier.
pub(super) static LIGHT: Entry = fence::entry(
    "cpu.fence.asymmetric_light",
    "The reader's side of an asymmetric fence: a fence for the compiler alone",
    SOURCE,
    fence::cases_of_one_thread,
    |_| {
        let light = Bare(|| compiler_fence(Ordering::SeqCst));
        Some(Workload::of(light).expecting(Expected::NoInstruction(FOR_THE_COMPILER)))
    },
)
.elided_by_nature(&[("x86_64", FOR_THE_COMPILER), ("aarch64", FOR_THE_COMPILER)])
.beyond_quick();

/// In theory: a system call, and an interrupt to each other CPU that runs a thread of the process, which is waited for: some
/// microseconds where threads run, a few hundred nanoseconds where none does.
pub(super) static HEAVY: Entry = fence::entry(
    "cpu.fence.asymmetric_heavy",
    "The writer's side of an asymmetric fence: membarrier, a full fence on all running threads of the process",
    SOURCE,
    fence::cases,
    |_| {
        let heavy = Bare(|| or_fail(membarrier::barrier(), "membarrier"));
        Some(Workload::of(heavy).expecting(Expected::Uncounted("a system call behind a library function")))
    },
)
.requiring(|| {
    membarrier::register().map_err(|error| format!("the kernel refuses membarrier ({error}): Linux 4.14 has it"))
})
.beyond_quick();
