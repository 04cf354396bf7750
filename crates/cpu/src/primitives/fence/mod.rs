//! `cpu.fence.acquire`, `release`, `acq_rel` and `seq_cst`: fences with nothing to order.

mod flush;

use std::sync::atomic::{self, Ordering};

use syncscope_core::{Case, Primitive};

use crate::evidence::Expected;
use crate::plan::Axes;
use crate::primitives::Entry;
use crate::primitives::opaque;
use crate::primitives::operation::{Operation, Workload};

/// The family, in the order of the catalogue.
pub(super) static ENTRIES: &[&Entry] = &[&ACQUIRE, &RELEASE, &ACQ_REL, &SEQ_CST, &flush::ENTRY];

/// What is found where the processor orders these accesses anyway (Intel SDM volume 3, 9.2.2: loads are not reordered with
/// loads, nor stores with stores or older loads).
const FOR_THE_COMPILER: Expected = Expected::NoInstruction(
    "no instruction on x86-64, which keeps this order anyway: the fence binds the compiler alone",
);

/// What a full fence is on x86-64: compilers choose between an instruction of its own and, being faster on most
/// processors, a locked one that changes nothing on top of the stack.
pub(super) const FULL_FENCE: &[&str] = &["mfence", "lock or"];

/// In theory: nothing on x86; on AArch64 a `dmb ishld`, which waits for loads.
pub(super) static ACQUIRE: Entry = Entry {
    primitive: Primitive {
        id: "cpu.fence.acquire",
        summary: "Acquire fence with no access before or after it",
        operation: "one fence by each thread",
        source: "C++20 [atomics.fences]; OpenMP 5.2, 15.8.5 (flush acquire)",
    },
    cases,
    workload: workload::<Acquire>,
};

/// In theory: nothing on x86; on AArch64 a `dmb ish`, which waits for stores too.
pub(super) static RELEASE: Entry = Entry {
    primitive: Primitive {
        id: "cpu.fence.release",
        summary: "Release fence with no access before or after it",
        operation: "one fence by each thread",
        source: "C++20 [atomics.fences]; OpenMP 5.2, 15.8.5 (flush release)",
    },
    cases,
    workload: workload::<Release>,
};

/// In theory: as the release fence.
pub(super) static ACQ_REL: Entry = Entry {
    primitive: Primitive {
        id: "cpu.fence.acq_rel",
        summary: "Acquire and release fence with no access before or after it",
        operation: "one fence by each thread",
        source: "C++20 [atomics.fences]; OpenMP 5.2, 15.8.5 (flush acq_rel)",
    },
    cases,
    workload: workload::<AcqRel>,
};

/// In theory: the store buffer drains before the next load. On x86 a locked instruction on the thread's own stack, as
/// cheap as an atomic addition that nobody contends (an `mfence` would take 30 to 60 cycles), in each core for itself.
pub(super) static SEQ_CST: Entry = Entry {
    primitive: Primitive {
        id: "cpu.fence.seq_cst",
        summary: "Sequentially consistent fence with no access before or after it",
        operation: "one fence by each thread",
        source: "C++20 [atomics.fences]; OpenMP 5.2, 15.8.5 (flush seq_cst)",
    },
    cases,
    workload: workload::<SeqCst>,
};

/// Where a fence is no instruction, more threads are as many times nothing.
fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let mut cases: Vec<Case> =
        axes.sweep(primitive).into_iter().flat_map(syncscope_core::sweep::Sweep::cases).collect();
    if cfg!(target_arch = "x86_64") && primitive.id != SEQ_CST.primitive.id {
        cases.retain(|case| case.threads == Some(1));
    }
    cases
}

#[allow(clippy::unnecessary_wraps, reason = "the signature is the catalogue's")]
fn workload<F: Fence>(_case: &Case) -> Option<Workload> {
    Some(Workload::of(Bare::<F>(std::marker::PhantomData)).expecting(F::EXPECTED))
}

/// A fence under study.
trait Fence: Send + Sync + 'static {
    const ORDER: Ordering;
    const EXPECTED: Expected = FOR_THE_COMPILER;
}

struct Acquire;
struct Release;
struct AcqRel;
struct SeqCst;

impl Fence for Acquire {
    const ORDER: Ordering = Ordering::Acquire;
}

impl Fence for Release {
    const ORDER: Ordering = Ordering::Release;
}

impl Fence for AcqRel {
    const ORDER: Ordering = Ordering::AcqRel;
}

impl Fence for SeqCst {
    const ORDER: Ordering = Ordering::SeqCst;
    const EXPECTED: Expected = Expected::once(FULL_FENCE);
}

/// A fence and nothing else: there is no state.
struct Bare<F>(std::marker::PhantomData<F>);

impl<F: Fence> Operation for Bare<F> {
    type Local<'a> = ();

    fn local(&self, _slot: usize, _thread: usize) {}

    #[inline(always)]
    fn execute((): &mut ()) {
        atomic::fence(F::ORDER);
        opaque::separate();
    }

    fn prepare(&self, _slot: usize, _thread: usize) {}

    /// A fence leaves no trace: the evidence has to tell.
    fn verify(&self, _slot: usize, _thread: usize, _operations: u64) -> Result<(), String> {
        Ok(())
    }
}
