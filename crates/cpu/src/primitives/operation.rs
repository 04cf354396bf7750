//! From one operation to the two loops of a case.
//!
//! A primitive writes its operation once, as [`Operation::execute`]. `timed_loop` repeats the operation's context, and in
//! the test the operation in it, [`UNROLL`] times per iteration. Both are instances of one generic function, so no second
//! copy of a loop exists that could differ in anything else. Where nothing else is said the context is the operation
//! itself: once in the baseline, twice in the test.

use std::ops::Range;
use std::sync::Arc;

use syncscope_core::{Evidence, Shot, Side};

use super::Proof;
use super::fairness::Contest;
use super::follow_up::MakeStudy;
use crate::evidence::{self, Expected};
use crate::team::Body;
use crate::team::openmp::Runtime;

/// How often one iteration of the baseline holds the operation: often enough that counting and branching, a cycle or
/// two, disappear beside it, and few enough that the test loop stays in the first-level instruction cache.
pub const UNROLL: u32 = 16;

/// Writes its argument 16 times ([`UNROLL`]).
macro_rules! sixteen_times {
    ($body:expr) => {
        $body;
        $body;
        $body;
        $body;
        $body;
        $body;
        $body;
        $body;
        $body;
        $body;
        $body;
        $body;
        $body;
        $body;
        $body;
        $body;
    };
}

/// A synchronization operation on a state that a team shares. The state exists several times ("slots"): each pair of
/// shots works on another one, so that a figure is not that of one accidental place in memory.
pub trait Operation: Send + Sync + 'static {
    /// What a thread keeps at hand: addresses, looked up before the loop.
    type Local<'a>;

    /// How many operations the context executes: one if it is the operation itself, none if it is something else.
    const IN_CONTEXT: u64 = 1;

    /// The thread's view of a slot. Runs inside the timed part, once.
    fn local(&self, slot: usize, thread: usize) -> Self::Local<'_>;

    /// The operation.
    fn execute(local: &mut Self::Local<'_>);

    /// What both loops do before the place of the operation. Whoever writes another context also says how many
    /// operations are [`Self::IN_CONTEXT`].
    #[inline(always)]
    fn before(local: &mut Self::Local<'_>) {
        Self::execute(local);
    }

    /// What both loops do after the place of the operation.
    #[inline(always)]
    fn after(_local: &mut Self::Local<'_>) {}

    /// What both loops do at the end of each iteration, once for all operations in it: it drops out of the difference.
    #[inline(always)]
    fn move_on(_local: &mut Self::Local<'_>) {}

    /// Makes the thread's part of a slot ready before a shot.
    fn prepare(&self, slot: usize, thread: usize);

    /// How many operations all threads together left in a slot, where that can be told; asked while nobody executes any.
    fn counted(&self, slot: usize) -> Option<u64> {
        let _ = slot;
        None
    }

    /// Whether the thread's part of the slot is as `operations` by each thread (those of the context among them) must
    /// leave it. Another thread may already prepare its part for the next shot: what several threads share belongs to one
    /// of them, which both prepares and verifies it.
    ///
    /// # Errors
    /// What was expected and what was found.
    fn verify(&self, slot: usize, thread: usize, operations: u64) -> Result<(), String>;
}

/// The most iterations of a shot: a quarter of a billion operations, which at a quarter of a nanosecond each are far
/// longer than any sample. A loop that does not get longer with its iterations must end somewhere.
const MOST_ITERATIONS: u64 = 1 << 24;

/// The most iterations of a shot whose threads may sleep: some hundred wake-ups, a few milliseconds.
const MOST_SLEEPY_ITERATIONS: u64 = 8;

/// The same where only those sleep who have to wait while the others work: some hundred milliseconds should all of them sleep
/// each time, which none was seen to do.
const MOST_DOZING_ITERATIONS: u64 = 512;

/// Slots of every state. Which slice of the last-level cache a line belongs to, and how far that is from the cores that
/// want it, follows from its address; neighbouring lines are spread over the slices, of which large processors have some
/// dozens. That more lines make runs agree better is expected and not measured.
pub const SLOTS: usize = 64;

/// The slot a pair of shots works on.
pub(crate) const fn slot_of(pair: u64) -> usize {
    (pair % SLOTS as u64) as usize
}

/// The timed loop: the test if `TEST`, else the baseline. Never inlined, so that a disassembler finds it.
#[inline(never)]
fn timed_loop<O: Operation, const TEST: bool>(mut local: O::Local<'_>, iterations: u64) {
    for _ in 0..iterations {
        sixteen_times!({
            O::before(&mut local);
            if TEST {
                O::execute(&mut local);
            }
            O::after(&mut local);
        });
        O::move_on(&mut local);
    }
}

/// Operations that one thread executes in `iterations` of `side`, with `in_context` of them in each context.
fn operations(in_context: u64, side: Side, iterations: u64) -> u64 {
    let each = in_context + u64::from(side == Side::Test);
    each * u64::from(UNROLL) * iterations
}

/// An operation, made a job for a team.
struct Repeated<O>(Arc<O>);

impl<O: Operation> Body for Repeated<O> {
    fn prepare(&self, shot: &Shot, thread: usize) {
        self.0.prepare(slot_of(shot.pair), thread);
    }

    #[inline(never)]
    fn run(&self, shot: &Shot, thread: usize) {
        let local = self.0.local(slot_of(shot.pair), thread);
        match shot.side {
            Side::Baseline => timed_loop::<O, false>(local, shot.iterations),
            Side::Test => timed_loop::<O, true>(local, shot.iterations),
        }
    }

    fn verify(&self, shot: &Shot, thread: usize) -> Result<(), String> {
        self.0.verify(slot_of(shot.pair), thread, operations(O::IN_CONTEXT, shot.side, shot.iterations))
    }
}

/// Where the machine code of the two loops begins, for whoever disassembles it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopFunctions {
    /// Address of the baseline.
    pub baseline: usize,
    /// Address of the test.
    pub test: usize,
}

/// A case made ready for a team.
pub struct Workload {
    /// The job.
    pub(crate) body: Arc<dyn Body>,
    /// A job that proves, untimed, what the job's own verification cannot see.
    pub(crate) proof: Option<Proof>,
    /// The timed loops.
    pub functions: LoopFunctions,
    /// What their machine code must hold.
    pub expected: Expected,
    /// How many operations each context executes.
    in_context: u64,
    /// The most iterations of one shot.
    pub(crate) max_iterations: u64,
    /// How many operations, as the catalogue counts them, one execution of the operation is.
    per_execution: u64,
    /// The addresses of what the threads work on, where its place in memory is known.
    pub(crate) extents: Vec<Range<usize>>,
    /// The OpenMP runtime whose threads run it; `None` for threads of this program.
    pub(crate) runtime: Option<&'static Runtime>,
    /// Whether the threads sleep in the kernel while they wait for each other.
    pub(crate) sleeps: bool,
    /// What is found out besides the cost.
    pub(crate) study: Option<MakeStudy>,
}

impl Workload {
    /// Both loops of `operation`.
    #[must_use]
    pub fn of<O: Operation>(operation: O) -> Self {
        Self::of_shared(Arc::new(operation))
    }

    /// Both loops of `operation`, for which `threads` threads contend: how often each of them gets its way is counted, too.
    pub(crate) fn contended<O: Operation>(operation: O, threads: u32) -> Self {
        let operation = Arc::new(operation);
        let contestants = Arc::clone(&operation);
        let study: MakeStudy = Box::new(move |clock| Arc::new(Contest::new(Arc::clone(&contestants), threads, clock)));
        Self { study: (threads > 1).then_some(study), ..Self::of_shared(operation) }
    }

    fn of_shared<O: Operation>(operation: Arc<O>) -> Self {
        let baseline: fn(O::Local<'static>, u64) = timed_loop::<O, false>;
        let test: fn(O::Local<'static>, u64) = timed_loop::<O, true>;
        Self {
            body: Arc::new(Repeated(operation)),
            proof: None,
            functions: LoopFunctions { baseline: baseline as usize, test: test as usize },
            expected: Expected::Uncounted("nobody said what this operation looks like in machine code"),
            in_context: O::IN_CONTEXT,
            max_iterations: MOST_ITERATIONS,
            per_execution: 1,
            extents: Vec::new(),
            runtime: None,
            sleeps: false,
            study: None,
        }
    }

    /// The same with what its machine code must hold.
    #[must_use]
    pub fn expecting(self, expected: Expected) -> Self {
        Self { expected, ..self }
    }

    /// The same, counted differently: one execution is as many operations.
    pub(crate) fn with_operations_per_execution(self, per_execution: u64) -> Self {
        Self { per_execution, ..self }
    }

    /// The same with the addresses of what the threads work on.
    pub(crate) fn in_memory(self, extent: Range<usize>) -> Self {
        Self { extents: vec![extent], ..self }
    }

    /// The same, run by the threads of an OpenMP runtime.
    pub(crate) fn on_threads_of(self, runtime: &'static Runtime) -> Self {
        Self { runtime: Some(runtime), ..self }
    }

    /// The same, whose threads sleep in the kernel while they wait for each other. A wake-up takes a hundred times as long as
    /// a wait that ends before the sleep: what fills a sample while all are awake would take a second when they are not.
    pub(crate) fn sleeping(self) -> Self {
        Self { sleeps: true, max_iterations: self.max_iterations.min(MOST_SLEEPY_ITERATIONS), ..self }
    }

    /// The same for a lock whose threads sleep so long, or are served in such an order, that a short sample shows another lock
    /// than a long one does.
    pub(crate) fn dozing(self) -> Self {
        Self { sleeps: true, max_iterations: self.max_iterations.min(MOST_DOZING_ITERATIONS), ..self }
    }

    /// The same with a study.
    pub(crate) fn with_study(self, study: MakeStudy) -> Self {
        Self { study: Some(study), ..self }
    }

    /// The same with a proof.
    pub(crate) fn with_proof(self, proof: Proof) -> Self {
        Self { proof: Some(proof), ..self }
    }

    /// The same with a bound on the operations all threads together may execute in one shot.
    pub(crate) fn with_most_operations(self, all: u64, threads: u32) -> Self {
        let per_iteration = self.operations(Side::Test, 1) * u64::from(threads.max(1));
        Self { max_iterations: (all / per_iteration).clamp(1, MOST_ITERATIONS), ..self }
    }

    /// What the machine code of both loops shows.
    #[must_use]
    pub fn evidence(&self) -> Evidence {
        evidence::examine(self.functions, self.expected)
    }

    /// Operations that one thread executes in `iterations` of `side`.
    #[must_use]
    pub fn operations(&self, side: Side, iterations: u64) -> u64 {
        self.per_execution * operations(self.in_context, side, iterations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    struct Count(AtomicU64);

    impl Operation for Count {
        type Local<'a> = &'a AtomicU64;
        fn local(&self, _: usize, _: usize) -> &AtomicU64 {
            &self.0
        }
        fn execute(local: &mut &AtomicU64) {
            local.fetch_add(1, Ordering::Relaxed);
        }
        fn prepare(&self, _: usize, _: usize) {
            self.0.store(0, Ordering::Relaxed);
        }
        fn verify(&self, _: usize, _: usize, operations: u64) -> Result<(), String> {
            let found = self.0.load(Ordering::Relaxed);
            if found == operations { Ok(()) } else { Err(format!("expected {operations}, found {found}")) }
        }
    }

    #[test]
    fn the_loops_execute_what_they_say() {
        let workload = Workload::of(Count(AtomicU64::new(0)));
        for side in [Side::Baseline, Side::Test] {
            let shot = Shot { side, iterations: 7, pair: 3 };
            workload.body.prepare(&shot, 0);
            workload.body.run(&shot, 0);
            assert_eq!(workload.body.verify(&shot, 0), Ok(()));
        }
        assert_eq!((workload.operations(Side::Baseline, 7), workload.operations(Side::Test, 7)), (112, 224));
        assert_ne!(workload.functions.baseline, workload.functions.test);
    }

    /// Writes down what happens in which order.
    struct Story(std::sync::Mutex<String>);

    impl Operation for Story {
        type Local<'a> = &'a std::sync::Mutex<String>;
        const IN_CONTEXT: u64 = 0;
        fn local(&self, _: usize, _: usize) -> Self::Local<'_> {
            &self.0
        }
        fn execute(local: &mut Self::Local<'_>) {
            local.lock().unwrap().push('!');
        }
        fn before(local: &mut Self::Local<'_>) {
            local.lock().unwrap().push('(');
        }
        fn after(local: &mut Self::Local<'_>) {
            local.lock().unwrap().push(')');
        }
        fn move_on(local: &mut Self::Local<'_>) {
            local.lock().unwrap().push(';');
        }
        fn prepare(&self, _: usize, _: usize) {
            self.0.lock().unwrap().clear();
        }
        fn verify(&self, _: usize, _: usize, operations: u64) -> Result<(), String> {
            Err(format!("{operations} in {}", self.0.lock().unwrap()))
        }
    }

    #[test]
    fn an_operation_stands_in_its_context() {
        let workload = Workload::of(Story(std::sync::Mutex::default()));
        for (side, step, operations) in [(Side::Baseline, "()", 0), (Side::Test, "(!)", 32)] {
            let shot = Shot { side, iterations: 2, pair: 0 };
            workload.body.prepare(&shot, 0);
            workload.body.run(&shot, 0);
            let told = format!("{operations} in {0};{0};", step.repeat(16));
            assert_eq!(workload.body.verify(&shot, 0), Err(told));
        }
    }

    #[test]
    fn a_bound_on_operations_bounds_iterations() {
        let workload = Workload::of(Count(AtomicU64::new(0))).with_most_operations(1 << 24, 4);
        assert_eq!(workload.max_iterations, (1 << 24) / (32 * 4));
    }
}
