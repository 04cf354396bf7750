//! Operations that a user wrote. `inspection.rs` asks the system's compiler what they use, `calls.rs` finds what they call in
//! libraries, `headers.rs` which files they include, `source.rs` makes a shared library of one, `layout.rs` decides where its
//! code lies, `library.rs` loads it and runs its loops, and `trials.rs` tries whether it keeps its promise. This file holds the
//! operations that were named on the command line.

mod calls;
mod headers;
mod inspection;
mod layout;
mod library;
mod source;
mod trials;

use std::collections::{BTreeMap, HashMap, HashSet, btree_map, hash_map};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use syncscope_core::stats::layouts;
use syncscope_core::{
    Actor, ActorRule, Axes, Case, Domain, Dtype, Facts, Form, Layout, LockRole, Mode, OwnCheck, OwnCode, OwnOperation,
    OwnUse, Placement, Primitive, Refusal, Role,
};
use tempfile::TempDir;

pub use self::inspection::{ignored_pragma, inspect};
use self::library::{Loops, OwnBarrier, OwnLoop, OwnWait, StressedLock};
use self::source::Compiled;
pub use self::source::{HEADER, compile_here_until, ignored_flags, ignored_lto};
pub use self::trials::{FORMS, SIZES, Trials};
use crate::axes::powers_of_two;
use crate::evidence::{Expected, only_reads};
use crate::facts;
use crate::primitives::barrier;
use crate::primitives::lock::roles::{by_role, of_role};
use crate::primitives::wake::budget;
use crate::primitives::work::{self, LockWork};
use crate::primitives::workload::{Blocking, Workload};
use syncscope_machine::placement::named;
use syncscope_machine::topology::Topology;

/// A compiled operation with the layouts of it that were loaded, or why they cannot be.
#[derive(Debug)]
struct Layouts {
    compiled: Compiled,
    loaded: BTreeMap<u32, Result<&'static Loops, Refusal>>,
    /// The libraries that a process of one thread loads, too.
    files: BTreeMap<u32, TempDir>,
}

/// A compiled operation, for a process of one thread. Threads watch a compiler, so a process of one thread cannot run one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Library {
    /// The operation, without the text.
    pub(crate) own: OwnOperation,
    pub(crate) file: PathBuf,
}

/// The key of a compiled operation: id, type, whether threads work around it, and whether some write beside readers.
type Key = (String, Dtype, [bool; 2]);

/// The user's operations that a laboratory measures, with their compiled forms.
#[derive(Debug, Default)]
pub(crate) struct OwnPrograms {
    code: OwnCode,
    pub(crate) primitives: &'static [Primitive],
    /// The layout of the current pass.
    layout: u32,
    /// The compiled operations, or why they do not compile.
    compiled: Mutex<BTreeMap<Key, Result<Layouts, Refusal>>>,
}

/// Libraries that another process made and this process has loaded.
#[derive(Debug, Default)]
pub(crate) struct Adopted(HashMap<PathBuf, &'static Loops>);

impl Adopted {
    /// Makes a case of the operation of a library ready to run.
    pub(crate) fn workload(&mut self, library: Library, case: &Case) -> Result<Workload, String> {
        let loops = match self.0.entry(library.file) {
            hash_map::Entry::Occupied(known) => *known.get(),
            hash_map::Entry::Vacant(new) => {
                let loops = Loops::load(new.key())?;
                *new.insert(loops)
            }
        };
        workload(&library.own, case, loops)
    }
}

/// The user's operations for CPUs, as primitives. They live as long as the process, like those of the catalogue.
pub fn primitives(code: &OwnCode) -> &'static [Primitive] {
    let primitive = |source: &OwnOperation| Primitive {
        id: source.id.clone().leak(),
        summary: "An operation that a user wrote; run.json has its source",
        operation: if source.is_wait_for() {
            budget::OPERATION
        } else if source.admits_several() {
            "every thread reads a word under the lock; with readers and writers, every thread in the \
             group's role does one operation"
        } else if source.is("acquire") {
            "every thread adds to a counter under the lock"
        } else {
            "one execution per thread"
        },
        source: "the user",
        facts: facts_of(source),
    };
    code.on(Domain::Cpu).map(primitive).collect::<Vec<_>>().leak()
}

fn facts_of(source: &OwnOperation) -> Facts {
    let of_role = Facts::of(Role::Own);
    if source.is_wait_for() {
        return Facts { run_effect: facts::between_threads, ..of_role };
    }
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

/// Said of code that starts threads or processes: they inherit the CPU of the thread that starts them.
pub const SHARED_CPU: &str = "threads and processes that the code starts share the CPU of the thread that starts them";

/// How often a proof is repeated, in different memory: nothing is known of a user's barrier or lock. 200 times each time.
const PROOFS: u64 = 50;

/// A stride in elements that puts each element on a line of its own, measured besides neighbours.
const OF_A_LINE: u32 = 16;

impl OwnPrograms {
    /// What decides the code of all operations besides their sources: the compilers, by the variables that name them, and hashes
    /// of the headers.
    pub(crate) fn compilers(&self) -> BTreeMap<String, String> {
        let of_code = || self.code.on(Domain::Cpu);
        source::compilers(of_code()).into_iter().chain(headers::hashes(of_code())).collect()
    }

    pub(crate) fn new(code: OwnCode) -> Self {
        Self { primitives: primitives(&code), code, ..Self::default() }
    }

    /// Begins a pass, counted from zero: from now on, operations are made ready in its layout.
    pub(crate) fn begin_pass(&mut self, pass: u32) {
        self.layout = layouts::of_pass(pass + 1);
    }

    /// The cases of all operations.
    pub(crate) fn cases(&self, topology: &Topology) -> Vec<Case> {
        let usual = Axes {
            threads: powers_of_two(topology.allowed().count().max(1) as u32),
            placements: vec![Placement::Close],
            dtypes: vec![Dtype::I32],
            strides: vec![1, OF_A_LINE],
            ..Axes::default()
        };
        let axes = &self.code.axes;
        let placements = if axes.placements.is_empty() { &usual.placements } else { &axes.placements };
        let cases_of = |own: &OwnOperation| {
            if own.is_wait_for() {
                return budget::cases_of(&own.id, placements, topology);
            }
            let mut cases = own.cases(axes, &usual);
            if own.exclusive_half().is_some() && own.trial_ms.is_none() {
                cases.extend(cases.iter().flat_map(by_role).collect::<Vec<_>>());
            }
            cases
        };
        let mut cases: Vec<Case> = self.code.on(Domain::Cpu).flat_map(cases_of).collect();
        let cores = named(topology, &Placement::Cores);
        for case in cases.iter_mut().filter(|case| case.placement == Some(Placement::Cores)) {
            case.placement = Some(cores.clone());
        }
        let mut seen = HashSet::new();
        cases.retain(|case| seen.insert(case.clone()));
        // A single thread has no other elements to keep apart from.
        let is_apart =
            |case: &Case| case.threads == Some(1) && case.layout == Some(Layout::Private { stride: OF_A_LINE });
        cases.retain(|case| !axes.strides.is_empty() || !is_apart(case));
        // Libraries may do less in a process of one thread.
        let is_alone = |case: &&Case| case.threads == Some(1) && self.calls_libraries(case);
        let alone = |case: &Case| Case { form: Some(Form::OneThreadProcess), ..case.clone() };
        let alone: Vec<Case> = cases.iter().filter(is_alone).map(alone).collect();
        cases.extend(alone);
        cases
    }

    /// Whether an operation calls or reads anything outside its source, as far as its compiler shows.
    fn calls_libraries(&self, case: &Case) -> bool {
        let calls = |Layouts { compiled, .. }: &mut Layouts| Ok(compiled.calls_libraries());
        self.code.find(&case.primitive).is_some_and(|source| self.compiled(source, case, calls).unwrap_or(false))
    }

    /// Makes a case ready to run, in the layout of the pass; `None` if the case is of no operation of the user.
    pub(crate) fn workload_of(&self, case: &Case) -> Option<Result<Workload, Refusal>> {
        let source = self.code.find(&case.primitive)?;
        let load = |Layouts { compiled, loaded, .. }: &mut Layouts| {
            let load = || Ok(Loops::load(&compiled.library(self.layout)?.path().join(source::LIBRARY))?);
            made(loaded, self.layout, load).copied()
        };
        let loops = self.compiled(source, case, load);
        Some(loops.and_then(|loops| Ok(workload(source, case, loops)?)))
    }

    /// The library of the operation that a case measures, in the layout of the pass.
    pub(crate) fn library_of(&self, case: &Case) -> Option<Result<Library, Refusal>> {
        let source = self.code.find(&case.primitive)?;
        let file = |Layouts { compiled, files, .. }: &mut Layouts| {
            let known = match files.entry(self.layout) {
                btree_map::Entry::Occupied(known) => known.into_mut(),
                btree_map::Entry::Vacant(new) => new.insert(compiled.library(self.layout)?),
            };
            Ok(known.path().join(source::LIBRARY))
        };
        let own = OwnOperation { text: String::new(), ..source.clone() };
        Some(self.compiled(source, case, file).map(|file| Library { own, file }))
    }

    /// What a reader of the figure of a case must know.
    pub(crate) fn remark_of(&self, case: &Case) -> Option<String> {
        self.code.find(&case.primitive).filter(|own| own.uses(OwnUse::Starts)).map(|_| SHARED_CPU.to_owned())
    }

    /// The actor whose cost is the figure of a case; `None` if the case is of no operation of the user.
    pub(crate) fn actor_of(&self, case: &Case) -> Option<Actor> {
        self.code.find(&case.primitive).map(|source| facts_of(source).actor_of(case))
    }

    /// Applies `find` to an operation, which is compiled once for each type.
    fn compiled<T>(
        &self,
        source: &OwnOperation,
        case: &Case,
        find: impl FnOnce(&mut Layouts) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let (dtype, has_work) = (case.dtype.unwrap_or(Dtype::I32), case.has_work());
        let has_roles = LockRole::of(case).is_some();
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let compile = || {
            let mut source = source.clone();
            source.options.extend(has_roles.then(|| "-DSYNCSCOPE_ROLES".to_owned()));
            let compiled = source::compile(&source, dtype, has_work)?;
            Ok(Layouts { compiled, loaded: BTreeMap::new(), files: BTreeMap::new() })
        };
        find(made(&mut compiled, (source.id.clone(), dtype, [has_work, has_roles]), compile)?)
    }
}

/// The entry of a map, made where there is none. What the system prevented is tried again.
fn made<K: Ord, T>(
    known: &mut BTreeMap<K, Result<T, Refusal>>,
    key: K,
    make: impl FnOnce() -> Result<T, Refusal>,
) -> Result<&mut T, Refusal> {
    if matches!(known.get(&key), Some(Err(Refusal::Prevented(_)))) {
        known.remove(&key);
    }
    known.entry(key).or_insert_with(make).as_mut().map_err(|refusal| refusal.clone())
}

/// Makes a case of a loaded operation ready to run.
fn workload(source: &OwnOperation, case: &Case, loops: &'static Loops) -> Result<Workload, String> {
    let is_of_slowest = facts_of(source).actor_of(case) == Actor::Slowest;
    let check = source.checked();
    let no_threads = || "it has no number of threads".to_owned();
    let admits_several = source.admits_several();
    let work = LockWork::of(case, admits_several).map(Arc::new);
    let checked = (check, admits_several);
    let operation = OwnLoop::new(loops, case, checked, work.clone()).ok_or_else(no_threads)?;
    if source.is_wait_for() {
        return budget::workload(case, OwnWait::of(operation)).ok_or_else(|| "it has no time to spin".to_owned());
    }
    let operation = Arc::new(operation);
    let is_barrier = source.is_barrier();
    let mut workload = Workload::contended(Arc::clone(&operation), case).ok_or_else(no_threads)?;
    workload.functions = loops.functions();
    workload.blocking = Blocking::Unknown;
    if let Some(windows) = &mut workload.windows {
        windows.functions = loops.in_window();
    }
    if let (Some(OwnCheck::Counter), Some(Dtype::F32), Some(threads)) = (check, case.dtype, case.threads) {
        // Sums of ones are exact up to this number.
        workload = workload.with_most_operations(1 << f32::MANTISSA_DIGITS, threads);
    }
    let mut workload = workload.expecting(Expected::Difference);
    if case.form == Some(Form::OneThreadProcess) {
        workload = workload.in_processes();
    }
    if let Some(work) = &work {
        workload = workload.at_work(work);
    }
    if let Some(role) = LockRole::of(case) {
        workload = of_role(workload, &operation, role);
    }
    if source.is_lock() {
        return Ok(Workload { proofs: PROOFS, ..workload.with_proof(Arc::new(StressedLock(operation))) });
    }
    if !is_barrier {
        // Threads that only read do not contend.
        let is_alone = !is_of_slowest || only_reads(workload.functions.test);
        return Ok(if is_alone { workload.without_windows() } else { workload });
    }
    let workload = workload.without_windows();
    if !(source.is("wait") || check == Some(OwnCheck::Barrier)) {
        return Ok(workload);
    }
    let proof = barrier::proof_of(case.threads.unwrap_or(1), OwnBarrier::of_all(&operation));
    Ok(Workload { proofs: PROOFS, ..workload.with_proof(proof) })
}
