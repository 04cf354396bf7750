//! Operations that a user wrote. `source.rs` makes a shared library of one by the system's compiler, `library.rs` loads it
//! and runs its loops; here is what is known of those that were named on the command line.

mod library;
mod source;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use syncscope_core::{
    ActorRule, Case, Domain, Dtype, Facts, Layout, Mode, OwnAxes, OwnCheck, OwnOperation, Placement, Primitive,
    Refusal, Role,
};

use self::library::{Loops, OwnBarrier, OwnLoop};
pub use self::source::HEADER;
use crate::axes::powers_of_two;
use crate::evidence::Expected;
use crate::facts;
use crate::machine::topology::Topology;
use crate::primitives::barrier;
use crate::primitives::workload::Workload;
use crate::sync::CachePadded;

/// An operation of the user.
struct Own {
    source: OwnOperation,
    primitive: Primitive,
    axes: OwnAxes,
}

/// Those of this process. Primitives are static everywhere else, and these live as long as the process, too.
static DEFINED: RwLock<Vec<&'static Own>> = RwLock::new(Vec::new());

/// The compiled ones, or why they are not, by id and type.
type Compiled = Result<&'static Loops, String>;
static COMPILED: Mutex<Option<HashMap<(String, Dtype), Compiled>>> = Mutex::new(None);

/// Makes primitives of those operations that are for CPUs. One of the same id is replaced.
pub fn define(operations: &[OwnOperation], axes: &OwnAxes) {
    let mut defined = DEFINED.write().unwrap_or_else(PoisonError::into_inner);
    for source in operations {
        let primitive = Primitive {
            id: source.id.clone().leak(),
            summary: "An operation that a user wrote; run.json has its source",
            operation: if source.is("acquire") {
                "one addition to a counter under the lock by each thread"
            } else {
                "one execution by each thread"
            },
            source: "the user",
            facts: facts_of(source),
        };
        if primitive.domain() == Some(Domain::Cpu) {
            defined.retain(|own| own.primitive.id != primitive.id);
            defined.push(Box::leak(Box::new(Own { source: source.clone(), primitive, axes: axes.clone() })));
        }
    }
}

fn facts_of(source: &OwnOperation) -> Facts {
    let of_role = Facts::of(Role::Own);
    if source.is("acquire") || source.is_barrier() {
        return Facts { run_effect: facts::between_threads, ..of_role };
    }
    let names = |name| source.names(name);
    let actor = if source.is_private() {
        facts::CONTENDED_IN_A_LINE
    } else if source.file.is_some() || names("x") || names("me") {
        ActorRule::Slowest
    } else {
        ActorRule::Median
    };
    Facts { actor, orders_memory: false, mode: Mode::Throughput, run_effect: facts::on_variables, ..of_role }
}

fn defined() -> Vec<&'static Own> {
    DEFINED.read().unwrap_or_else(PoisonError::into_inner).clone()
}

fn find(id: &str) -> Option<&'static Own> {
    defined().into_iter().find(|own| own.primitive.id == id)
}

/// The primitives of the operations that were defined.
pub fn primitives() -> impl Iterator<Item = &'static Primitive> {
    defined().into_iter().map(|own| &own.primitive)
}

/// Elements of their own lines, besides neighbours.
const OF_A_LINE: u32 = 16;

/// The cases of all of them.
pub(crate) fn cases(topology: &Topology) -> Vec<Case> {
    let usual = OwnAxes {
        threads: powers_of_two(topology.allowed().count().max(1) as u32),
        placements: vec![Placement::Close],
        dtypes: vec![Dtype::I32],
        strides: vec![1, OF_A_LINE],
        ..OwnAxes::default()
    };
    let mut cases: Vec<Case> = defined().iter().flat_map(|own| own.axes.cases(&own.source, &usual)).collect();
    // A single thread has no other elements to be apart from.
    let first = |case: &Case| case.threads != Some(1) || case.layout != Some(Layout::Private { stride: OF_A_LINE });
    cases.retain(|case| first(case) || !find(&case.primitive).is_some_and(|own| own.axes.strides.is_empty()));
    cases
}

/// A case made ready to run; `None` if it is of no operation of the user.
pub(super) fn workload_of(case: &Case) -> Option<Result<Workload, Refusal>> {
    let own = find(&case.primitive)?;
    Some(workload(own, case).map_err(Refusal::Failed))
}

fn workload(own: &Own, case: &Case) -> Result<Workload, String> {
    let Own { source, .. } = own;
    let loops = loops_of(source, case.dtype.unwrap_or(Dtype::I32))?;
    let check = source.check.or_else(|| source.is("acquire").then_some(OwnCheck::Lock));
    let no_threads = || "it has no number of threads".to_owned();
    let operation = Arc::new(OwnLoop::new(loops, case, check).ok_or_else(no_threads)?);
    let is_barrier = source.is_barrier();
    let mut workload = Workload::contended(Arc::clone(&operation), case).ok_or_else(no_threads)?;
    workload.functions = loops.functions();
    if let Some(windows) = &mut workload.windows {
        windows.functions = loops.in_window();
    }
    if let (Some(OwnCheck::Counter), Some(Dtype::F32), Some(threads)) = (check, case.dtype, case.threads) {
        // Sums of ones are exact up to here.
        workload = workload.with_most_operations(1 << f32::MANTISSA_DIGITS, threads);
    }
    let workload = workload.expecting(Expected::Difference);
    if !is_barrier {
        return Ok(workload);
    }
    let workload = workload.without_windows();
    if !(source.is("wait") || check == Some(OwnCheck::Barrier)) {
        return Ok(workload);
    }
    let threads = case.threads.unwrap_or(1);
    let reached: Vec<_> = (0..threads).map(|_| CachePadded::default()).collect();
    Ok(workload.with_proof(barrier::proof_of(threads, Arc::new(OwnBarrier::of_all(&operation)), reached)))
}

/// The loaded operation, compiled once for each type.
fn loops_of(source: &OwnOperation, dtype: Dtype) -> Compiled {
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = compiled.get_or_insert_default().entry((source.id.clone(), dtype));
    let load = || {
        let loops = Loops::load(&source::compile(source, dtype)?)?;
        Ok(&*Box::leak(Box::new(loops)))
    };
    known.or_insert_with(load).clone()
}
