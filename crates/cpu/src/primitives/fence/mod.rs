//! Fences: `acquire`, `release`, `acq_rel` and `seq_cst` with no access to order, and OpenMP's flush between two
//! updates.
//!
//! Start with `seq_cst.rs`, which is one instruction everywhere. [`Bare`] is the operation of the first four.

mod acq_rel;
mod acquire;
mod flush;
mod release;
mod seq_cst;

use std::marker::PhantomData;
use std::sync::atomic::{self, Ordering};

use syncscope_core::sweep::Sweep;
use syncscope_core::{Case, Facts, Mode, Primitive, Role};

use crate::axes::Axes;
use crate::evidence::Expected;
use crate::facts;
use crate::primitives::entry::Entry;
use crate::primitives::opaque;
use crate::primitives::operation::Operation;
use crate::primitives::workload::Workload;

/// The family, in the order of the catalogue.
pub(super) static ENTRIES: &[&Entry] =
    &[&acquire::ENTRY, &release::ENTRY, &acq_rel::ENTRY, &seq_cst::ENTRY, &flush::ENTRY];

const FACTS: Facts = Facts {
    mode: Mode::Throughput,
    actor: facts::CONTENDED_IN_A_LINE,
    run_effect: facts::on_variables,
    ..Facts::of(Role::Fence)
};

/// What `ns` is the cost of, for every fence.
const OPERATION: &str = "one fence by each thread";

/// Where the processor keeps this order anyway (Intel SDM volume 3, 9.2.2: loads are not reordered with loads, nor
/// stores with stores or older loads).
const ORDER_IS_KEPT: &str =
    "no instruction on x86-64, which keeps this order anyway: the fence binds the compiler alone";

/// What such a fence is on x86-64.
const FOR_THE_COMPILER: Expected = Expected::NoInstruction(ORDER_IS_KEPT);

/// Where such a fence is no instruction.
const ELIDED: &[(&str, &str)] = &[("x86_64", ORDER_IS_KEPT)];

/// What a full fence is on x86-64: an instruction of its own or a locked one that changes nothing on top of the stack.
/// Compilers choose the second where it is faster, as it is on most processors.
const FULL_FENCE: &[&str] = &["mfence", "lock or"];

/// A fence under study.
trait Fence: Send + Sync + 'static {
    const ORDER: Ordering;
    const EXPECTED: Expected = FOR_THE_COMPILER;
}

/// The cases of a fence. Where it is no instruction, one thread is enough.
fn cases<F: Fence>(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let mut cases: Vec<Case> = axes.sweep(primitive).into_iter().flat_map(Sweep::cases).collect();
    if cfg!(target_arch = "x86_64") && matches!(F::EXPECTED, Expected::NoInstruction(_)) {
        cases.retain(|case| case.threads == Some(1));
    }
    cases
}

#[allow(clippy::unnecessary_wraps, reason = "the signature is the catalogue's")]
fn workload<F: Fence>(_case: &Case) -> Option<Workload> {
    Some(Workload::of(Bare::<F>(PhantomData)).expecting(F::EXPECTED))
}

/// A fence and nothing else: there is no state.
struct Bare<F>(PhantomData<F>);

impl<F: Fence> Operation for Bare<F> {
    type Local<'a> = ();

    fn local(&self, _slot: usize, _thread: usize) {}

    #[inline(always)]
    fn execute((): &mut ()) {
        atomic::fence(F::ORDER);
        opaque::separate();
    }

    fn prepare(&self, _slot: usize, _thread: usize) {}

    /// A fence leaves no trace in memory; the evidence has to prove it.
    fn verify(&self, _slot: usize, _thread: usize, _operations: u64) -> Result<(), String> {
        Ok(())
    }
}
