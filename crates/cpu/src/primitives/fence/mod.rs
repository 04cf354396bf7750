//! Fences: `acquire`, `release`, `acq_rel` and `seq_cst` with no access to order, and OpenMP's flush between two
//! updates.
//!
//! Start with [`SEQ_CST`], which is one instruction everywhere. [`Bare`] is the operation of the first four; `flush.rs` has the
//! fifth. At the end of this file are the asymmetric fences, of which one side pays.

use crate::primitives::opaque;
use crate::primitives::prelude::*;
use std::sync::atomic::{self, Ordering, compiler_fence};
use syncscope_host::membarrier;

mod flush;

/// The family, in the order of the catalogue.
pub(super) static ENTRIES: &[&Entry] = &[&ACQUIRE, &RELEASE, &ACQ_REL, &SEQ_CST, &flush::ENTRY, &LIGHT, &HEAVY];

/// Why instructions are not counted.
pub(super) const IN_THE_KERNEL: Expected = Expected::Uncounted("a system call made by a library function");

const FACTS: Facts = Facts {
    mode: Mode::Throughput,
    actor: facts::CONTENDED_IN_A_LINE,
    run_effect: facts::on_variables,
    ..Facts::of(Role::Fence)
};

kinds! {
    /// A fence.
    entry: "one fence per thread", FACTS;
}

/// Why a fence is no instruction where the processor keeps this order anyway (Intel SDM volume 3, 9.2.2: loads are not reordered
/// with loads, nor stores with stores or older loads).
const ORDER_IS_KEPT: &str =
    "no instruction on x86-64, which preserves this order anyway; the fence constrains only the compiler";

/// What a fence is that takes no instruction on x86-64: on AArch64 a barrier of this kind.
const fn for_the_compiler_or(aarch64: Beginnings) -> Expected {
    if cfg!(target_arch = "x86_64") { Expected::NoInstruction(ORDER_IS_KEPT) } else { Expected::once(&[], aarch64) }
}

/// Where such a fence is no instruction, and why.
const ELIDED: &[(&str, &str)] = &[("x86_64", ORDER_IS_KEPT)];

/// What a full fence is on x86-64: an instruction of its own or a locked one that changes nothing on top of the stack.
/// Compilers choose the second where it is faster, as it is on most processors.
const FULL_FENCE: Beginnings = &["mfence", "lock or"];

/// What a full fence is on AArch64.
const FULL_FENCE_OF_ARM: Beginnings = &["dmb ish"];

/// A fence that is no instruction on x86-64, where one thread is enough.
const fn for_the_compiler(
    id: &'static str,
    summary: &'static str,
    source: &'static str,
    workload: MakeWorkload,
) -> Entry {
    entry(id, summary, source, cases_of_one_thread, workload).elided_by_nature(ELIDED)
}

fn cases_of_one_thread(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let mut cases = of_teams(primitive, axes);
    cases.retain(|case| axes.architecture != "x86_64" || case.threads == Some(1));
    cases
}

/// A fence or a hint and nothing else: there is no state.
struct Bare<F>(F);

/// The loops of a bare fence or hint.
pub(super) fn bare(instruction: impl Fn() + Copy + Send + Sync + 'static, expected: Expected) -> Workload {
    Workload::of(Bare(instruction)).expecting(expected)
}

impl<F: Fn() + Copy + Send + Sync + 'static> Operation for Bare<F> {
    type Local<'a> = F;

    fn local(&self, _slot: usize, _thread: usize) -> F {
        self.0
    }

    #[inline(always)]
    fn execute(instruction: &mut F) {
        instruction();
        opaque::separate();
    }

    fn prepare(&self, _slot: usize, _thread: usize) {}

    /// A fence leaves no trace in memory; the evidence has to prove it.
    fn verify(&self, _slot: usize, _thread: usize, _executed: Executed) -> Result<(), String> {
        Ok(())
    }
}

/// In theory: nothing on x86. On AArch64 a `dmb ishld`, which waits for earlier loads.
static ACQUIRE: Entry = for_the_compiler(
    "cpu.fence.acquire",
    "Acquire fence with no memory access before or after it",
    "C++20 [atomics.fences]; OpenMP 5.2, 15.8.5 (flush acquire)",
    |_| Some(bare(|| atomic::fence(Ordering::Acquire), for_the_compiler_or(&["dmb ishld"]))),
);

/// In theory: nothing on x86. On AArch64 a `dmb ish`, which waits for earlier loads and stores.
static RELEASE: Entry = for_the_compiler(
    "cpu.fence.release",
    "Release fence with no memory access before or after it",
    "C++20 [atomics.fences]; OpenMP 5.2, 15.8.5 (flush release)",
    |_| Some(bare(|| atomic::fence(Ordering::Release), for_the_compiler_or(&["dmb ish"]))),
);

/// In theory: as the release fence.
static ACQ_REL: Entry = for_the_compiler(
    "cpu.fence.acq_rel",
    "Acquire-release fence with no memory access before or after it",
    "C++20 [atomics.fences]; OpenMP 5.2, 15.8.5 (flush acq_rel)",
    |_| Some(bare(|| atomic::fence(Ordering::AcqRel), for_the_compiler_or(&["dmb ish"]))),
);

/// In theory: the store buffer drains before the next load. On x86 this is a locked instruction on the thread's own
/// stack, which costs as much as an uncontended atomic addition (an `mfence` would take 30 to 60 cycles). Each core
/// pays for itself: the cost does not depend on the number of threads.
static SEQ_CST: Entry = entry(
    "cpu.fence.seq_cst",
    "Sequentially consistent fence with no memory access before or after it",
    "C++20 [atomics.fences]; OpenMP 5.2, 15.8.5 (flush seq_cst)",
    of_teams,
    |_| Some(bare(|| atomic::fence(Ordering::SeqCst), Expected::once(FULL_FENCE, FULL_FENCE_OF_ARM))),
)
.in_studies(&[
    Participation::plain(&Smt),
    Participation {
        study: &CoreKinds,
        templates: |primitive, _| vec![Case { threads: Some(1), ..Case::new(primitive.id) }],
        reports_missing: false,
    },
]);

// Asymmetric fences: the side that often runs pays nothing, because the other one executes a barrier on its CPU, too. Hazard
// pointers, epochs and user-space RCU are built on them.

const SOURCE: &str = "Linux, membarrier(2), MEMBARRIER_CMD_PRIVATE_EXPEDITED; C++ P1202, asymmetric fences";

const FOR_THE_COMPILER: &str = "no instruction, because membarrier on the other side orders this thread's accesses";

/// In theory: nothing. It keeps the compiler from moving accesses, as a reader needs whose writers call membarrier.
static LIGHT: Entry = entry(
    "cpu.fence.asymmetric_light",
    "Reader side of an asymmetric fence: a compiler-only fence",
    SOURCE,
    cases_of_one_thread,
    |_| Some(bare(|| compiler_fence(Ordering::SeqCst), Expected::NoInstruction(FOR_THE_COMPILER))),
)
.elided_by_nature(&[("x86_64", FOR_THE_COMPILER), ("aarch64", FOR_THE_COMPILER)])
.beyond_quick();

/// In theory: a system call, and an interrupt to each other CPU that runs a thread of the process, which is waited for: some
/// microseconds where threads run, a few hundred nanoseconds where none does.
static HEAVY: Entry = entry(
    "cpu.fence.asymmetric_heavy",
    "Writer side of an asymmetric fence: membarrier, which acts as a full fence on all running threads of the process",
    SOURCE,
    of_teams,
    |_| Some(bare(|| or_fail(membarrier::barrier(), "membarrier"), IN_THE_KERNEL)),
)
.requiring(|| {
    membarrier::register().map_err(|error| format!("the kernel refuses membarrier ({error}): Linux 4.14 has it"))
})
.beyond_quick();
