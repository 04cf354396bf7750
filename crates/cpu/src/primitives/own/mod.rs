//! Operations that a user wrote. `inspection.rs` asks the system's compiler what they use, `source.rs` makes a shared library of
//! one, `layout.rs` decides where its code lies, `library.rs` loads it and runs its loops; here is what is known of those that were
//! named on the command line.

mod inspection;
mod layout;
mod library;
mod source;

use std::collections::{BTreeMap, HashMap, HashSet, btree_map};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use syncscope_core::stats::layouts;
use syncscope_core::{
    ActorRule, Axes, Case, Domain, Dtype, Facts, Form, Layout, Mode, OwnCheck, OwnOperation, OwnUse, Placement,
    Primitive, Refusal, Role, own,
};
use syncscope_host::guard::TemporaryFolder;

pub use self::inspection::inspect;
use self::library::{Loops, OwnBarrier, OwnLoop, StressedLock};
use self::source::Compiled;
pub use self::source::{HEADER, compile_here_until};
use crate::axes::powers_of_two;
use crate::evidence::{Expected, only_reads};
use crate::facts;
use crate::machine::placement::named;
use crate::machine::topology::Topology;
use crate::primitives::barrier;
use crate::primitives::work::{self, LockWork};
use crate::primitives::workload::{Blocking, Workload};

/// The compiled ones, or why they are not, by id, type and whether threads work around them.
type Key = (String, Dtype, bool);
static COMPILED: Mutex<Option<HashMap<Key, Result<Layouts, String>>>> = Mutex::new(None);

/// A compiled operation, and those of its layouts that were loaded, or why they cannot be.
struct Layouts {
    compiled: Compiled,
    loaded: BTreeMap<u32, Result<&'static Loops, String>>,
    /// Those that a process of one thread loads, too.
    files: BTreeMap<u32, TemporaryFolder>,
}

/// A compiled operation, for a process of one thread. A compiler is watched by threads, so that such a process has none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Library {
    /// The operation, without the text.
    pub(crate) own: OwnOperation,
    pub(crate) file: PathBuf,
}

impl Library {
    /// Of the user's operation that a case measures, in the layout of the pass.
    pub(crate) fn of(case: &Case) -> Option<Result<Self, String>> {
        let source = &own::find(&case.primitive)?.source;
        let layout = LAYOUT.load(Ordering::Relaxed);
        let file = |Layouts { compiled, files, .. }: &mut Layouts| {
            let known = match files.entry(layout) {
                btree_map::Entry::Occupied(known) => known.into_mut(),
                btree_map::Entry::Vacant(new) => new.insert(compiled.library(layout)?),
            };
            Ok(known.path().join(source::LIBRARY))
        };
        let own = OwnOperation { text: String::new(), ..source.clone() };
        Some(compiled(source, case, file).map(|file| Self { own, file }))
    }
}

/// Those that this process was given, the last one of which counts.
static ADOPTED: Mutex<(BTreeMap<PathBuf, &'static Loops>, Option<PathBuf>)> = Mutex::new((BTreeMap::new(), None));

/// Loads a library that another process made, whose case is measured next.
pub(crate) fn adopt(Library { own, file }: Library) -> Result<(), String> {
    let (known, last) = &mut *ADOPTED.lock().unwrap_or_else(PoisonError::into_inner);
    if let btree_map::Entry::Vacant(new) = known.entry(file.clone()) {
        new.insert(Loops::load(&file)?);
    }
    *last = Some(file);
    if own::find(&own.id).is_none_or(|known| known.source != own) {
        define(&[own], &Axes::default());
    }
    Ok(())
}

/// The layout of the pass that is made.
static LAYOUT: AtomicU32 = AtomicU32::new(0);

/// A pass begins, counted from zero: from now on, operations are made ready in its layout.
pub(crate) fn begin_pass(pass: u32) {
    LAYOUT.store(layouts::of_pass(pass + 1), Ordering::Relaxed);
}

/// Makes primitives of those operations that are for CPUs. One of the same id is replaced.
pub fn define(operations: &[OwnOperation], axes: &Axes) {
    own::define(Domain::Cpu, operations, axes, |source| Primitive {
        id: source.id.clone().leak(),
        summary: "An operation that a user wrote; run.json has its source",
        operation: if source.admits_several() {
            "one read of a word under the lock by each thread"
        } else if source.is("acquire") {
            "one addition to a counter under the lock by each thread"
        } else {
            "one execution by each thread"
        },
        source: "the user",
        facts: facts_of(source),
    });
}

fn facts_of(source: &OwnOperation) -> Facts {
    let of_role = Facts::of(Role::Own);
    if source.is_lock() || source.is_barrier() {
        let can_have_work: fn(&Case) -> bool = if source.is_lock() { |_| work::IS_POSSIBLE } else { |_| false };
        return Facts { run_effect: facts::between_threads, can_have_work, ..of_role };
    }
    let actor = if source.is_private() {
        facts::CONTENDED_IN_A_LINE
    } else if source.file.is_some() || source.uses(OwnUse::Variable) {
        ActorRule::Slowest
    } else {
        ActorRule::Median
    };
    Facts { actor, orders_memory: false, mode: Mode::Throughput, run_effect: facts::on_variables, ..of_role }
}

/// Nothing is known of a barrier or a lock, so that its proof is repeated, in different memory: 200 times each time.
const PROOFS: u64 = 50;

/// Elements of their own lines, besides neighbours.
const OF_A_LINE: u32 = 16;

/// The cases of all of them.
pub(crate) fn cases(topology: &Topology) -> Vec<Case> {
    let usual = Axes {
        threads: powers_of_two(topology.allowed().count().max(1) as u32),
        placements: vec![Placement::Close],
        dtypes: vec![Dtype::I32],
        strides: vec![1, OF_A_LINE],
        ..Axes::default()
    };
    let mut cases: Vec<Case> =
        own::defined(Domain::Cpu).iter().flat_map(|own| own.source.cases(&own.axes, &usual)).collect();
    let cores = named(topology, &Placement::Cores);
    for case in cases.iter_mut().filter(|case| case.placement == Some(Placement::Cores)) {
        case.placement = Some(cores.clone());
    }
    let mut seen = HashSet::new();
    cases.retain(|case| seen.insert(case.clone()));
    // A single thread has no other elements to be apart from.
    let first = |case: &Case| case.threads != Some(1) || case.layout != Some(Layout::Private { stride: OF_A_LINE });
    cases.retain(|case| first(case) || !own::find(&case.primitive).is_some_and(|own| own.axes.strides.is_empty()));
    // Libraries may do less in a process of one thread.
    let is_alone = |case: &&Case| case.threads == Some(1) && calls_libraries(case);
    let alone = |case: &Case| Case { form: Some(Form::OneThreadProcess), ..case.clone() };
    let alone: Vec<Case> = cases.iter().filter(is_alone).map(alone).collect();
    cases.extend(alone);
    cases
}

/// Whether an operation calls or reads something that is not in its source, as far as its compiler says.
fn calls_libraries(case: &Case) -> bool {
    let Some(own) = own::find(&case.primitive) else { return false };
    compiled(&own.source, case, |Layouts { compiled, .. }| Ok(compiled.calls_libraries())).unwrap_or(false)
}

/// A case made ready to run; `None` if it is of no operation of the user.
pub(super) fn workload_of(case: &Case) -> Option<Result<Workload, Refusal>> {
    Some(workload(&own::find(&case.primitive)?.source, case).map_err(Refusal::Failed))
}

fn workload(source: &OwnOperation, case: &Case) -> Result<Workload, String> {
    let loops = loops_of(source, case)?;
    let check = source.checked();
    let no_threads = || "it has no number of threads".to_owned();
    let admits_several = source.admits_several();
    let work = LockWork::of(case, admits_several).map(Arc::new);
    let checked = (check, admits_several);
    let operation = Arc::new(OwnLoop::new(loops, case, checked, work.clone()).ok_or_else(no_threads)?);
    let is_barrier = source.is_barrier();
    let mut workload = Workload::contended(Arc::clone(&operation), case).ok_or_else(no_threads)?;
    workload.functions = loops.functions();
    workload.blocking = Blocking::Unknown;
    if let Some(windows) = &mut workload.windows {
        windows.functions = loops.in_window();
    }
    if let (Some(OwnCheck::Counter), Some(Dtype::F32), Some(threads)) = (check, case.dtype, case.threads) {
        // Sums of ones are exact up to here.
        workload = workload.with_most_operations(1 << f32::MANTISSA_DIGITS, threads);
    }
    let mut workload = workload.expecting(Expected::Difference);
    if case.form == Some(Form::OneThreadProcess) {
        workload = workload.in_processes();
    }
    if let Some(work) = &work {
        workload = workload.at_work(work);
    }
    if source.is_lock() {
        return Ok(Workload { proofs: PROOFS, ..workload.with_proof(Arc::new(StressedLock(operation))) });
    }
    if !is_barrier {
        // Threads that only read do not contend.
        return Ok(if only_reads(workload.functions.test) { workload.without_windows() } else { workload });
    }
    let workload = workload.without_windows();
    if !(source.is("wait") || check == Some(OwnCheck::Barrier)) {
        return Ok(workload);
    }
    let proof = barrier::proof_of(case.threads.unwrap_or(1), OwnBarrier::of_all(&operation));
    Ok(Workload { proofs: PROOFS, ..workload.with_proof(proof) })
}

/// The loaded operation, in the layout of the pass.
fn loops_of(source: &OwnOperation, case: &Case) -> Result<&'static Loops, String> {
    if let (known, Some(last)) = &*ADOPTED.lock().unwrap_or_else(PoisonError::into_inner) {
        return known.get(last).copied().ok_or_else(|| "it was not loaded".to_owned());
    }
    let layout = LAYOUT.load(Ordering::Relaxed);
    let load = |Layouts { compiled, loaded, .. }: &mut Layouts| {
        let load = || Loops::load(&compiled.library(layout)?.path().join(source::LIBRARY));
        loaded.entry(layout).or_insert_with(load).clone()
    };
    compiled(source, case, load)
}

/// What `find` finds in an operation, which is compiled once for each type.
fn compiled<T>(
    source: &OwnOperation,
    case: &Case,
    find: impl FnOnce(&mut Layouts) -> Result<T, String>,
) -> Result<T, String> {
    let (dtype, has_work) = (case.dtype.unwrap_or(Dtype::I32), case.has_work());
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = compiled.get_or_insert_default().entry((source.id.clone(), dtype, has_work));
    let compile = || {
        let compiled = source::compile(source, dtype, has_work)?;
        Ok(Layouts { compiled, loaded: BTreeMap::new(), files: BTreeMap::new() })
    };
    find(known.or_insert_with(compile).as_mut().map_err(|error| error.clone())?)
}
