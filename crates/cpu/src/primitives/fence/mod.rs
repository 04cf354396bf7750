//! Fences: `acquire`, `release`, `acq_rel` and `seq_cst` with no access to order, and OpenMP's flush between two
//! updates.
//!
//! Start with [`SEQ_CST`], which is one instruction everywhere. [`Bare`] is the operation of the first four; `flush.rs` has
//! the fifth, `asymmetric.rs` those of which one side pays.

mod asymmetric;
mod flush;

use std::sync::atomic::{self, Ordering};

use syncscope_core::sweep::Sweep;
use syncscope_core::{Case, Facts, Mode, Primitive, Role};

use crate::axes::Axes;
use crate::evidence::{Beginnings, Expected};
use crate::facts;
use crate::primitives::entry::{Entry, MakeWorkload, kinds};
use crate::primitives::opaque;
use crate::primitives::operation::{Executed, Operation};
use crate::primitives::workload::Workload;
use crate::studies::{CoreKinds, Participation, Smt};

/// The family, in the order of the catalogue.
pub(super) static ENTRIES: &[&Entry] =
    &[&ACQUIRE, &RELEASE, &ACQ_REL, &SEQ_CST, &flush::ENTRY, &asymmetric::LIGHT, &asymmetric::HEAVY];

const FACTS: Facts = Facts {
    mode: Mode::Throughput,
    actor: facts::CONTENDED_IN_A_LINE,
    run_effect: facts::on_variables,
    ..Facts::of(Role::Fence)
};

kinds! {
    /// A fence.
    entry: "one fence by each thread", FACTS;
}

/// Where the processor keeps this order anyway (Intel SDM volume 3, 9.2.2: loads are not reordered with loads, nor
/// stores with stores or older loads).
const ORDER_IS_KEPT: &str =
    "no instruction on x86-64, which keeps this order anyway: the fence binds the compiler alone";

/// What such a fence is: on AArch64 a barrier of this kind.
const fn for_the_compiler_or(aarch64: Beginnings) -> Expected {
    if cfg!(target_arch = "x86_64") { Expected::NoInstruction(ORDER_IS_KEPT) } else { Expected::once(&[], aarch64) }
}

/// Where such a fence is no instruction.
const ELIDED: &[(&str, &str)] = &[("x86_64", ORDER_IS_KEPT)];

/// What a full fence is on x86-64: an instruction of its own or a locked one that changes nothing on top of the stack.
/// Compilers choose the second where it is faster, as it is on most processors.
const FULL_FENCE: Beginnings = &["mfence", "lock or"];

/// The same on AArch64.
const FULL_FENCE_OF_ARM: Beginnings = &["dmb ish"];

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    axes.sweep(primitive).into_iter().flat_map(Sweep::cases).collect()
}

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
    let mut cases = cases(primitive, axes);
    cases.retain(|case| cfg!(not(target_arch = "x86_64")) || case.threads == Some(1));
    cases
}

/// A fence or a hint and nothing else: there is no state.
pub(super) struct Bare<F>(pub(super) F);

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

    /// It leaves no trace in memory; the evidence has to prove it.
    fn verify(&self, _slot: usize, _thread: usize, _executed: Executed) -> Result<(), String> {
        Ok(())
    }
}

/// In theory: nothing on x86. On AArch64 a `dmb ishld`, which waits for earlier loads.
static ACQUIRE: Entry = for_the_compiler(
    "cpu.fence.acquire",
    "Acquire fence with no access before or after it",
    "C++20 [atomics.fences]; OpenMP 5.2, 15.8.5 (flush acquire)",
    |_| Some(Workload::of(Bare(|| atomic::fence(Ordering::Acquire))).expecting(for_the_compiler_or(&["dmb ishld"]))),
);

/// In theory: nothing on x86. On AArch64 a `dmb ish`, which waits for earlier loads and stores.
static RELEASE: Entry = for_the_compiler(
    "cpu.fence.release",
    "Release fence with no access before or after it",
    "C++20 [atomics.fences]; OpenMP 5.2, 15.8.5 (flush release)",
    |_| Some(Workload::of(Bare(|| atomic::fence(Ordering::Release))).expecting(for_the_compiler_or(&["dmb ish"]))),
);

/// In theory: as the release fence.
static ACQ_REL: Entry = for_the_compiler(
    "cpu.fence.acq_rel",
    "Acquire and release fence with no access before or after it",
    "C++20 [atomics.fences]; OpenMP 5.2, 15.8.5 (flush acq_rel)",
    |_| Some(Workload::of(Bare(|| atomic::fence(Ordering::AcqRel))).expecting(for_the_compiler_or(&["dmb ish"]))),
);

/// In theory: the store buffer drains before the next load. On x86 this is a locked instruction on the thread's own
/// stack, which costs as much as an uncontended atomic addition (an `mfence` would take 30 to 60 cycles). Each core
/// pays for itself: the cost does not depend on the number of threads.
static SEQ_CST: Entry = entry(
    "cpu.fence.seq_cst",
    "Sequentially consistent fence with no access before or after it",
    "C++20 [atomics.fences]; OpenMP 5.2, 15.8.5 (flush seq_cst)",
    cases,
    |_| {
        Some(
            Workload::of(Bare(|| atomic::fence(Ordering::SeqCst)))
                .expecting(Expected::once(FULL_FENCE, FULL_FENCE_OF_ARM)),
        )
    },
)
.in_studies(&[
    Participation::plain(&Smt),
    Participation {
        study: &CoreKinds,
        templates: |primitive, _| vec![Case { threads: Some(1), ..Case::new(primitive.id) }],
        reports_missing: false,
    },
]);
