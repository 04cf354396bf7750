//! Constructs of OpenMP by how the threads of the runtime wait: spinning, sleeping, or both. The variables that decide are read when a
//! runtime is loaded, so each policy has a process of its own (`processes/`), which the column group names after the runtime.
//!
//! Threads that meet at once hardly wait, whatever the policy. Its effect shows after a serial part, during which all threads but
//! one wait: the group's number is how long that part takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::memory::Pages;
use crate::primitives::barrier::library::{OpenMpBarrier, workload_of_runtime};
use crate::primitives::lock::library::openmp_workload;
use crate::primitives::prelude::*;
use crate::primitives::{barrier, reduction};
use crate::sync::Barrier as _;
use crate::team::openmp::{self, Runtime};

/// The family.
pub(crate) const FAMILY: &str = "openmp";

/// The entries, in the order of the catalogue.
pub(super) static ENTRIES: &[&Entry] = &[&BARRIER, &PARALLEL_PART, &CRITICAL, &REDUCTION];

const FACTS: Facts = Facts {
    run_effect: facts::between_threads,
    at_once: OperationsAtOnce::One,
    has_designs: true,
    ..Facts::of(Role::RuntimeWait).waiting(Waits::AsConfigured)
};

/// An entry whose threads wait by the policy that the group names.
const fn by_policy(
    id: &'static str,
    [summary, operation]: [&'static str; 2],
    facts: Facts,
    cases: fn(&Primitive, &Axes) -> Vec<Case>,
    workload: MakeWorkload,
) -> Entry {
    let source = "OpenMP 5.2, 21.8 (OMP_WAIT_POLICY); libgomp's GOMP_SPINCOUNT, libomp's KMP_BLOCKTIME";
    let primitive = Primitive { id, summary, operation, source, facts };
    Entry::of(primitive, cases, workload).requiring(openmp::installed).beyond_quick()
}

/// One thread on each core.
fn full(primitive: &Primitive, axes: &Axes) -> Sweep {
    axes.in_usual_places(primitive, &[axes.cores.max(2).min(axes.cpus)])
}

/// In theory: threads that spin meet as at `cpu.barrier.openmp`; threads that sleep cost a system call each, and a wake-up.
static BARRIER: Entry = by_policy(
    "cpu.openmp.barrier",
    ["#pragma omp barrier under each OpenMP wait policy", "one barrier across all threads"],
    FACTS,
    |primitive, axes| openmp::with_every_policy(&full(primitive, axes).cases(), ""),
    |case| Some(workload_of_runtime(case)?.by_policy(openmp::policy_of(case)?, case)),
);

/// In theory: as `cpu.lock.openmp_critical`; a policy changes how long a thread spins before it sleeps.
static CRITICAL: Entry = by_policy(
    "cpu.openmp.critical",
    ["#pragma omp critical under each OpenMP wait policy", "every thread adds to a counter in the critical section"],
    Facts { at_once: OperationsAtOnce::OfEach, ..FACTS },
    |primitive, axes| {
        let sweep = full(primitive, axes).dtypes(&[Dtype::U64]).layouts(&[Layout::Shared]);
        openmp::with_every_policy(&sweep.cases(), "")
    },
    |case| Some(openmp_workload(case)?.by_policy(openmp::policy_of(case)?, case)),
);

/// Few elements: their sum takes less time than the threads need to meet.
const ELEMENTS: u64 = 1 << 10;

/// In theory: the barrier at its end, which is by far the longest part.
static REDUCTION: Entry = by_policy(
    "cpu.openmp.reduction",
    [
        "reduction(max:) of 1,024 integers under each OpenMP wait policy",
        "one reduction of the whole vector by all threads",
    ],
    FACTS,
    |primitive, axes| {
        let sweep = full(primitive, axes).dtypes(&[Dtype::I32]).elements(&[ELEMENTS]);
        openmp::with_every_policy(&sweep.cases(), "")
    },
    |case| Some(reduction::openmp_atomic(case)?.by_policy(openmp::policy_of(case)?, case)),
);

/// How long the serial part takes, in microseconds.
const GAPS_US: [u32; 3] = [0, 20, 200];

/// In theory: two barriers where all spin. Where the others sleep, thread 0 pays for the call that wakes them at the first barrier,
/// and for their wake-up at the second.
static PARALLEL_PART: Entry = by_policy(
    "cpu.openmp.parallel_part",
    [
        "Barriers at the start and end of a parallel region that follows serial code, during which all other threads wait",
        "two barriers, from the end of the serial code until the thread that ran it continues",
    ],
    FACTS,
    |primitive, axes| {
        let cases = full(primitive, axes).cases();
        GAPS_US.iter().flat_map(|us| openmp::with_every_policy(&cases, &format!(" gap {us} us"))).collect()
    },
    parallel_part,
);

fn parallel_part(case: &Case) -> Option<Workload> {
    let (runtime, policy) = (openmp::of_case(case)?, openmp::policy_of(case)?);
    let gap = Duration::from_micros(case.group.as_ref()?.number()?.into());
    let part =
        Part { barrier: OpenMpBarrier(runtime), gap, clock: Clock::uncalibrated(), interval: Default::default() };
    let passed: fn(&OpenMpBarrier) -> _ = |barrier| barrier.wait(&mut ());
    let barriers = Pages::filled(SLOTS, |_| CachePadded::new(OpenMpBarrier(runtime)));
    let workload = Workload::one_by_one(Arc::new(part), passed as usize)
        .expecting(Expected::Uncounted("the barrier is a call into the OpenMP runtime"))
        .with_proof(barrier::proof_of(case.threads?, barriers));
    Some(Workload { runtime: Some::<&'static Runtime>(runtime), ..workload }.by_policy(policy, case))
}

/// Serial and parallel parts in turn; the parallel ones are empty.
struct Part {
    barrier: OpenMpBarrier,
    gap: Duration,
    clock: Clock,
    /// Start and end of the last parallel part.
    interval: [AtomicU64; 2],
}

impl Part {
    fn pass_both(&self) {
        or_unwind(self.barrier.wait(&mut ()));
        or_unwind(self.barrier.wait(&mut ()));
    }
}

impl Body for Part {
    fn prepare(&self, _: &Shot, _: usize) {}

    fn run(&self, shot: &Shot, thread: usize) {
        let parts = shot.iterations * shot.side.copies();
        if thread > 0 {
            return (0..parts).for_each(|_| self.pass_both());
        }
        let one = |passes: bool| {
            let begin = self.clock.start();
            if passes {
                self.pass_both();
            }
            (begin, self.clock.stop().saturating_sub(begin))
        };
        let after_a_gap = |_| {
            let started = Instant::now();
            while started.elapsed() < self.gap {
                std::hint::spin_loop();
            }
            one(true).1
        };
        let (begin, nothing) = one(false);
        let ticks = if parts == 0 { nothing } else { (0..parts).map(after_a_gap).sum() };
        // Relaxed: a barrier separates these stores and the loads.
        self.interval[0].store(begin, Ordering::Relaxed);
        self.interval[1].store(begin + ticks, Ordering::Relaxed);
    }

    fn interval(&self, _: &Shot, _: usize) -> Option<[u64; 2]> {
        Some([0, 1].map(|end| self.interval[end].load(Ordering::Relaxed)))
    }

    /// The proof of the barrier checks it.
    fn verify(&self, _: &Shot, _: usize) -> Result<(), String> {
        Ok(())
    }
}
