//! A case made ready for a team: its two loops, and what else is known of them.

use super::operation::{Operation, Repeated, loop_functions};
use super::window::{HandoverRun, Make, Windows, operations_in_turns};
use super::work::LockWork;
use crate::evidence::{self, Expected, LoopFunctions};
use crate::team::Body;
use crate::team::openmp::{Policy, Runtime};
use crate::timing::clock::Clock;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use syncscope_core::{Case, Detail, Evidence, Side, Waits};

/// The maximum of iterations of a shot: a quarter of a billion operations. At a quarter of a nanosecond each they take
/// far longer than any sample. It ends the search for the length of a sample where a loop does not get longer.
const MAX_ITERATIONS: u64 = 1 << 24;

/// The most iterations of a shot where every wait may block in the kernel: some hundred wake-ups, a few milliseconds.
const MAX_LONG_BLOCKING_ITERATIONS: u64 = 8;

/// The most iterations of a shot where only threads that wait for a working thread block. If all of them blocked each time, a
/// shot would take some hundred milliseconds; that was never seen.
const MAX_BLOCKING_ITERATIONS: u64 = 512;

/// A job that checks, outside the timed shots, that a primitive does its work.
pub(crate) type Proof = Arc<dyn Body>;

/// Whether threads block in the kernel while they wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blocking {
    No,
    Yes,
    /// Code of the user, which may do anything.
    Unknown,
}

/// A case made ready for a team.
pub struct Workload {
    /// The job.
    pub(crate) body: Arc<dyn Body>,
    /// An untimed job that checks what the job's own verification cannot see.
    pub(crate) proof: Option<Proof>,
    /// How many shots of the proof.
    pub(crate) proofs: u64,
    /// The timed loops.
    pub functions: LoopFunctions,
    /// What their machine code must hold.
    pub expected: Expected,
    /// How many operations each context executes.
    pub(super) in_context: u64,
    /// The maximum of iterations of one shot.
    pub(crate) max_iterations: u64,
    /// How many operations, as the catalogue counts them, one execution of the operation is.
    pub(super) per_execution: u64,
    /// The addresses of the data that the threads work on, where the data is on pages of its own.
    pub(crate) extents: Vec<Range<usize>>,
    /// The OpenMP runtime whose threads run the job; `None` for threads of this program.
    pub(crate) runtime: Option<&'static Runtime>,
    /// How the runtime's threads wait, in a process of their own; `None` where the environment of this process decides.
    pub(crate) policy: Option<&'static Policy>,
    /// Whether threads block in the kernel while they wait for each other.
    pub(crate) blocking: Blocking,
    /// Whether processes run the job, each with one thread, instead of threads of this one.
    pub(crate) in_processes: bool,
    /// How many threads count, the first of the team; `None` where all do.
    pub(crate) timed: Option<usize>,
    /// How the case is timed in windows, where its threads contend.
    pub(crate) windows: Option<Windows>,
    /// Whether the cost depends on CPUs that idle, so that nothing keeps them awake.
    pub(crate) lets_cpus_idle: bool,
    /// A run after the samples that yields details.
    pub(crate) follow_up: Option<MakeFollowUp>,
}

/// How long a window is at least where waiting threads may block in the kernel: a dozen wake-ups and more. parking_lot serves
/// the thread that has waited longest about every half a millisecond.
const BLOCKING_WINDOW: Duration = Duration::from_millis(1);

/// The fewest acquisitions of each thread in a window: fewer would make it coarse.
const ROUNDS: u32 = 32;

/// How long a window is at least where every wait blocks.
const LONG_BLOCKING_WINDOW: Duration = Duration::from_millis(4);

impl Workload {
    /// Both loops of `operation`.
    pub fn of<O: Operation>(operation: O) -> Self {
        Self::of_shared(Arc::new(operation))
    }

    /// Both loops of `operation`, and the windows in which its threads contend. `None` for a case without threads.
    pub fn contended<O: Operation>(operation: Arc<O>, case: &Case) -> Option<Self> {
        let windows = match case.threads? {
            1 => None,
            threads => Some(Windows::of(Arc::clone(&operation), threads)?),
        };
        Some(Self::of_shared(operation).in_windows(windows))
    }

    /// Not inlined, so that it is compiled once for all operations.
    #[inline(never)]
    fn in_windows(self, windows: Option<Windows>) -> Self {
        Self { windows, ..self }
    }

    /// Adds a run after the samples that counts how often a lock passes to another thread.
    pub(crate) fn counting_handovers(mut self, run: Make<HandoverRun>) -> Self {
        if let Some(windows) = &mut self.windows {
            windows.handovers = Some(run);
        }
        self
    }

    /// Makes windows long enough for threads that wait in this way.
    pub(crate) fn in_windows_for(self, waits: Waits) -> Self {
        match waits {
            Waits::NoWait | Waits::Spins => self,
            _ => self.in_windows_of_at_least(BLOCKING_WINDOW),
        }
    }

    /// Makes windows long enough for threads that work around each operation.
    pub(super) fn at_work(mut self, work: &LockWork) -> Self {
        if let Some(windows) = &mut self.windows {
            windows.has_long = true;
        }
        self.in_windows_of_at_least(ROUNDS * work.round)
    }

    fn in_windows_of_at_least(mut self, length: Duration) -> Self {
        if let Some(windows) = &mut self.windows {
            windows.length = windows.length.max(length);
        }
        self
    }

    /// Times the case by loops of fixed work alone.
    pub(crate) fn without_windows(self) -> Self {
        Self { windows: None, ..self }
    }

    /// A job that is no loop of an [`Operation`]: `test` is the function that it times, one operation at a time. The baseline
    /// executes none.
    pub(crate) fn one_by_one(body: Arc<dyn Body>, test: usize) -> Self {
        Self { in_context: 0, blocking: Blocking::Yes, ..Self::of_chain(body, test, 1) }
    }

    /// A job that executes as many operations as iterations in the baseline and twice as many in the test, with at most `most`
    /// iterations; `function` is the one that it times.
    pub(crate) fn of_chain(body: Arc<dyn Body>, function: usize, most: u64) -> Self {
        let functions = LoopFunctions { baseline: function, test: function, unroll: 1 };
        Self { max_iterations: most, ..Self::of_body(body, functions, 1) }
    }

    fn of_shared<O: Operation>(operation: Arc<O>) -> Self {
        Self::of_body(Arc::new(Repeated(operation)), loop_functions::<O>(), O::IN_CONTEXT)
    }

    #[inline(never)]
    fn of_body(body: Arc<dyn Body>, functions: LoopFunctions, in_context: u64) -> Self {
        Self {
            body,
            proof: None,
            proofs: 1,
            functions,
            expected: Expected::Uncounted("no instruction is named for this operation"),
            in_context,
            max_iterations: MAX_ITERATIONS,
            per_execution: 1,
            extents: Vec::new(),
            runtime: None,
            policy: None,
            blocking: Blocking::No,
            lets_cpus_idle: false,
            in_processes: false,
            timed: None,
            windows: None,
            follow_up: None,
        }
    }

    /// Sets what the machine code must hold.
    pub fn expecting(self, expected: Expected) -> Self {
        Self { expected, ..self }
    }

    /// For locks where only threads that wait for a working thread block in the kernel. Their samples are long: a short
    /// one would miss the wake-ups, or the order in which the lock serves its waiters. A single thread never waits.
    pub(crate) fn blocking(self, case: &Case) -> Self {
        self.blocking_for(case, MAX_BLOCKING_ITERATIONS)
    }

    /// For operations where every wait may block in the kernel. A wake-up takes a hundred times as long as a wait that
    /// ends before the thread blocks: iterations that fill a sample while all threads run would take a second
    /// otherwise. A single thread never waits.
    pub(crate) fn long_blocking(self, case: &Case) -> Self {
        self.in_windows_of_at_least(LONG_BLOCKING_WINDOW).blocking_for(case, MAX_LONG_BLOCKING_ITERATIONS)
    }

    fn blocking_for(self, case: &Case, iterations: u64) -> Self {
        if case.threads == Some(1) {
            return self;
        }
        Self { blocking: Blocking::Yes, max_iterations: self.max_iterations.min(iterations), ..self }
    }

    /// Lets processes of one thread run the job. They run its proof too, but no follow-up, whose findings this process could
    /// not read.
    pub(crate) fn in_processes(self) -> Self {
        Self { in_processes: true, follow_up: None, ..self }
    }

    /// Lets the runtime's threads wait by this policy, in a process of their own.
    pub(crate) fn by_policy(self, policy: &'static Policy, case: &Case) -> Self {
        let workload = Self { policy: Some(policy), lets_cpus_idle: true, ..self.in_processes() };
        if policy.sleeps() { workload.long_blocking(case) } else { workload }
    }

    /// Sets the proof.
    pub(crate) fn with_proof(self, proof: Proof) -> Self {
        Self { proof: Some(proof), ..self }
    }

    /// Limits how many operations all threads together execute in one shot.
    pub(crate) fn with_most_operations(self, all: u64, threads: u32) -> Self {
        let per_iteration = self.operations(Side::Test, 1) * u64::from(threads.max(1));
        Self { max_iterations: (all / per_iteration).clamp(1, MAX_ITERATIONS), ..self }
    }

    /// What the machine code of both loops shows.
    pub fn evidence(&self) -> Evidence {
        let functions = self.windows.as_ref().map_or(self.functions, |windows| windows.functions);
        evidence::examine(functions, self.expected)
    }

    /// Operations that one thread executes in `iterations` of `side`.
    pub fn operations(&self, side: Side, iterations: u64) -> u64 {
        if self.windows.is_some() {
            return operations_in_turns(side, iterations);
        }
        self.per_execution * (self.in_context + side.copies()) * u64::from(self.functions.unroll) * iterations
    }
}

// What is measured of a case after its samples: a run that yields details, and the percentiles of single operations.

/// One run after the samples that yields details. It is a job of the same team on the same CPUs. A defect that its
/// [`Body::verify`] finds counts as a defect of the case.
pub(crate) trait FollowUp: Body {
    /// What the run found; called once, after it.
    fn details(&self) -> Vec<Detail>;
}

/// Makes the follow-up of a case, with the clock that its samples were timed with.
pub(crate) type MakeFollowUp = Box<dyn Fn(&Clock) -> Arc<dyn FollowUp> + Send + Sync>;

/// The fewest values that have a 99th percentile.
pub(super) const FEWEST: usize = 100;

/// Percentiles by the nearest rank (Hyndman and Fan, 1996, definition 1): each is one of the values.
pub(super) fn percentiles(values: &[f64]) -> Vec<Detail> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let Some(max) = sorted.last().filter(|_| sorted.len() >= FEWEST) else { return Vec::new() };
    let at = |share: f64| sorted[((share * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1];
    let named = [("p50_ns", at(0.50)), ("p90_ns", at(0.90)), ("p99_ns", at(0.99)), ("max_ns", *max)];
    named.into_iter().map(|(name, value)| Detail::of_case(name, value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::operation::Executed;
    use std::sync::atomic::{AtomicU64, Ordering};
    use syncscope_core::Shot;

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
        fn verify(&self, _: usize, _: usize, executed: Executed) -> Result<(), String> {
            let (found, operations) = (self.0.load(Ordering::Relaxed), executed.own);
            if found == operations { Ok(()) } else { Err(format!("expected {operations}, found {found}")) }
        }
    }

    #[test]
    fn the_loops_execute_as_many_operations_as_reported() {
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

    #[test]
    fn a_limit_on_operations_limits_iterations() {
        let workload = Workload::of(Count(AtomicU64::new(0))).with_most_operations(1 << 24, 4);
        assert_eq!(workload.max_iterations, (1 << 24) / (32 * 4));
    }
}

#[cfg(test)]
mod follow_up_tests {
    use super::*;

    #[test]
    fn percentiles_are_among_the_values() {
        let values: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        let found: Vec<(String, f64)> = percentiles(&values).into_iter().map(|d| (d.name, d.value)).collect();
        let expected = [("p50_ns", 100.0), ("p90_ns", 180.0), ("p99_ns", 198.0), ("max_ns", 200.0)];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value)));
        assert!(percentiles(&values[..FEWEST - 1]).is_empty(), "too few for the 99th");
    }
}
