//! Reductions of a vector: the largest of 32-bit integers, by a team of threads that reduce a part each and join the results.
//!
//! The ways to join are in `joining.rs`, one type each. One operation is a whole reduction, with the barrier that ends a
//! parallel region. The vector was read before, so small ones come from the caches.
//!
//! OpenMP's `reduction(max:)` has no entry of its own in the runtime. GCC compiles it to a parallel region in which every thread
//! reduces its part and then joins it by an atomic compare-and-swap or, for other types and several variables, in a critical
//! section; the region ends with a barrier. That is what `openmp_atomic` and `openmp_critical` do, on the runtime's threads. The
//! start of the region is not timed.

mod joining;

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use syncscope_core::OperationsAtOnce;

use self::joining::{Alone, Atomically, InCritical, Joining, Results, Tree, WithMutex};
use crate::facts::between_threads;
use crate::primitives::barrier::library::OpenMpBarrier;
use crate::primitives::prelude::*;
use crate::sync::{DisseminationBarrier, Guarded, SenseBarrier, TreeBarrier};
use crate::team::openmp::{self, Critical, Runtime};

/// The facts of a reduction by all threads, which spin in the barrier that ends it.
const FACTS: Facts = Facts {
    at_once: OperationsAtOnce::One,
    run_effect: between_threads,
    ..Facts::of(Role::Reduction).waiting(Waits::Spins)
};

/// Results of one shot: each of its reductions has its own.
const MOST_REDUCTIONS: u64 = 255;

/// The most elements with an atomic operation for each: larger vectors take many milliseconds.
const MOST_ATOMICS: u64 = 1 << 16;

/// One entry for each line: name, facts, cases, workload, summary and, if any, its requirement.
macro_rules! reductions {
    ($($entry:ident: $name:literal, $facts:expr, $cases:expr, $workload:expr, $summary:literal $(, $requiring:expr)?;)+) => {
        $(static $entry: Entry = Entry::of(
            Primitive {
                id: concat!("cpu.reduction.", $name),
                summary: $summary,
                operation: "one reduction of the whole vector",
                source: "Burtchell and Burtscher, IISWC 2024, section II; OpenMP 5.2, 5.5.8",
                facts: $facts,
            },
            $cases,
            $workload,
        )
        .beyond_quick()$(.requiring($requiring))?;)+
        /// The family, in the order of the catalogue.
        pub(super) static ENTRIES: &[&Entry] = &[$(&$entry,)+];
        #[cfg(test)]
        const WORKLOADS: &[MakeWorkload] = &[$($workload,)+];
    };
}

reductions! {
    SEQUENTIAL: "sequential", FACTS.waiting(Waits::NoWait), |primitive, axes| cases(primitive, axes, 1), |case| workload(case, |_| Alone),
        "One thread, with nothing to synchronize";
    ATOMIC_PER_ELEMENT: "atomic_per_element", FACTS, few_elements,
        |case| workload(case, |threads| Atomically { barrier: SenseBarrier::new(threads, LIMIT), each_element: true }),
        "One atomic maximum per element on a shared variable";
    ATOMIC_PER_THREAD: "atomic_per_thread", FACTS, by_all,
        |case| workload(case, |threads| Atomically { barrier: SenseBarrier::new(threads, LIMIT), each_element: false }),
        "One atomic maximum per thread on a shared variable";
    LOCK: "lock", FACTS.waiting(Waits::SpinsThenSleeps), by_all,
        |case| {
            let joining = |threads| WithMutex { mutex: CachePadded::new(Mutex::new(())), barrier: SenseBarrier::new(threads, LIMIT) };
            Some(workload(case, joining)?.blocking(case))
        },
        "Every thread merges its result under a std::sync::Mutex";
    TREE_STD: "tree_std", FACTS.waiting(Waits::SpinsThenSleeps), by_all,
        |case| {
            let joining = |threads| Tree::new(threads, std::sync::Barrier::new(threads as usize));
            Some(workload(case, joining)?.long_blocking(case))
        },
        "Results merge pairwise, with std::sync::Barrier after each level";
    TREE_SENSE: "tree_sense", FACTS, by_all,
        |case| workload(case, |threads| Tree::new(threads, SenseBarrier::new(threads, LIMIT))),
        "Results merge pairwise, with the sense-reversing barrier after each level";
    TREE_DISSEMINATION: "tree_dissemination", FACTS, by_all,
        |case| workload(case, |threads| Tree::new(threads, DisseminationBarrier::new(threads, LIMIT))),
        "Results merge pairwise, with the dissemination barrier after each level";
    TREE_TREE: "tree_tree", FACTS, by_all,
        |case| workload(case, |threads| Tree::new(threads, TreeBarrier::new(threads, LIMIT))),
        "Results are merged pairwise, with a tree barrier after each level of merging";
    TREE_OPENMP: "tree_openmp", FACTS.waiting(Waits::AsConfigured), by_runtime,
        |case| on_runtime(case, |threads, runtime| Tree::new(threads, OpenMpBarrier(runtime))),
        "Results merge pairwise, with the OpenMP runtime's barrier after each level",
        openmp::installed;
    OPENMP_ATOMIC: "openmp_atomic", FACTS.waiting(Waits::AsConfigured), by_runtime,
        openmp_atomic,
        "The code that GCC generates for reduction(max:) on one integer: an atomic compare-and-swap by every thread, \
         then the region's barrier",
        openmp::installed;
    OPENMP_CRITICAL: "openmp_critical", FACTS.waiting(Waits::AsConfigured), by_runtime,
        |case| {
            on_runtime(case, |_, runtime| {
                InCritical { section: Guarded::new(Critical(runtime), ()), barrier: OpenMpBarrier(runtime) }
            })
        },
        "The code that GCC generates for reduction(max:) on other types or several variables: a critical section, \
         then the region's barrier",
        openmp::installed;
}

fn cases(primitive: &Primitive, axes: &Axes, threads: u32) -> Vec<Case> {
    let sweep = axes.in_usual_places(primitive, &[threads]).dtypes(&[Dtype::I32]);
    sweep.elements(&axes.vectors).cases()
}

fn by_all(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    cases(primitive, axes, axes.cpus)
}

fn few_elements(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let mut cases = by_all(primitive, axes);
    cases.retain(|case| case.elements <= Some(MOST_ATOMICS));
    cases
}

fn by_runtime(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    openmp::with_every_runtime(&by_all(primitive, axes))
}

fn workload<J: Joining>(case: &Case, joining: impl Fn(u32) -> J) -> Option<Workload> {
    let (threads, elements) = (case.threads?, usize::try_from(case.elements?).ok().filter(|elements| *elements > 0)?);
    let (vector, results) = (vector_of(elements), Results::new(MOST_REDUCTIONS as usize));
    let job = Job { vector, elements, threads: threads as usize, joining: joining(threads), results };
    let chain: fn(&Job<J>, &Shot, usize) = Job::<J>::reduce;
    let workload = Workload::of_chain(Arc::new(job), chain as usize, MOST_REDUCTIONS / 3);
    Some(workload.expecting(Expected::Uncounted("a reduction reads the vector in a loop of its own")))
}

/// What GCC makes of `reduction(max:)` of one integer.
pub(super) fn openmp_atomic(case: &Case) -> Option<Workload> {
    on_runtime(case, |_, runtime| Atomically { barrier: OpenMpBarrier(runtime), each_element: false })
}

fn on_runtime<J: Joining>(case: &Case, joining: fn(u32, &'static Runtime) -> J) -> Option<Workload> {
    let runtime = openmp::of_case(case)?;
    Some(Workload { runtime: Some(runtime), ..workload(case, |threads| joining(threads, runtime))? })
}

/// The value planted at the first element. Elements are planted at powers of two; all others are at most 2^30.
const PLANTED: i32 = i32::MAX - 255;

/// The largest of the first `elements`: the last of them that is planted.
fn largest_of(elements: usize) -> i32 {
    PLANTED + elements.max(1).ilog2().cast_signed()
}

/// A vector with at least `elements` elements. An element whose number, from 1, is a power of two is larger than all before. The
/// vector is made once, because making it takes longer than a measurement block.
fn vector_of(elements: usize) -> Arc<[i32]> {
    static VECTOR: Mutex<Option<Arc<[i32]>>> = Mutex::new(None);
    let mut kept = VECTOR.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(vector) = kept.as_ref().filter(|vector| vector.len() >= elements) {
        return Arc::clone(vector);
    }
    let element = |index: usize| {
        if (index + 1).is_power_of_two() {
            largest_of(index + 1)
        } else {
            (((index as u32).wrapping_mul(0x9e37_79b1) >> 2) | 1).cast_signed()
        }
    };
    Arc::clone(kept.insert((0..elements).map(element).collect()))
}

/// The part of a thread: neighbouring elements, at most one more than any other thread has.
fn part(elements: usize, thread: usize, threads: usize) -> Range<usize> {
    let at = |thread: usize| (elements as u128 * thread as u128 / threads.max(1) as u128) as usize;
    at(thread)..at(thread + 1)
}

/// A chain of reductions: as many as iterations in the baseline, twice as many in the test.
struct Job<J> {
    vector: Arc<[i32]>,
    elements: usize,
    threads: usize,
    joining: J,
    results: Results,
}

impl<J: Joining> Job<J> {
    const fn count(shot: &Shot) -> u64 {
        (1 + shot.side.copies()) * shot.iterations
    }

    /// Never inlined, so that the disassembler finds it.
    #[inline(never)]
    fn reduce(&self, shot: &Shot, thread: usize) {
        let part = &self.vector[part(self.elements, thread, self.threads)];
        let mut local = self.joining.local(thread);
        for number in 0..Self::count(shot) {
            // Opaque: the same part is reduced each time, and the compiler must not do it once.
            let part = std::hint::black_box(part);
            self.joining.reduce(&mut local, thread, part, self.results.of(number));
        }
    }
}

impl<J: Joining> Body for Job<J> {
    fn prepare(&self, _: &Shot, thread: usize) {
        if thread == 0 {
            self.results.clear();
        }
    }

    fn run(&self, shot: &Shot, thread: usize) {
        self.reduce(shot, thread);
    }

    fn verify(&self, shot: &Shot, thread: usize) -> Result<(), String> {
        if thread != 0 {
            return Ok(());
        }
        let expected = largest_of(self.elements);
        let wrong = (0..Self::count(shot).min(MOST_REDUCTIONS))
            .map(|number| self.results.of(number).load(std::sync::atomic::Ordering::Relaxed))
            .find(|found| *found != expected);
        wrong.map_or(Ok(()), |found| Err(format!("the largest element is {expected}, but the result is {found}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::{Executor, Team};
    use crate::timing::clock::Clock;
    use std::time::Duration;
    use syncscope_core::Side;

    #[test]
    fn every_element_is_in_one_part() {
        for elements in [0, 1, 3, 16, 1000, 1001] {
            for threads in 1..=17 {
                let parts: Vec<Range<usize>> = (0..threads).map(|thread| part(elements, thread, threads)).collect();
                assert_eq!((parts[0].start, parts[threads - 1].end), (0, elements));
                assert!(parts.windows(2).all(|two| two[0].end == two[1].start));
                let lengths = parts.iter().map(Range::len);
                assert!(lengths.clone().max().unwrap() - lengths.min().unwrap() <= 1);
            }
        }
    }

    #[test]
    fn the_largest_of_the_first_elements_is_known_for_every_number() {
        let vector = vector_of(5000);
        for elements in [1, 2, 3, 7, 8, 1000, 4096, 5000] {
            assert_eq!(vector[..elements].iter().copied().max(), Some(largest_of(elements)), "{elements}");
        }
        assert!(Arc::ptr_eq(&vector_of(10), &vector_of(20)));
    }

    fn defect(team: &mut dyn Executor, body: &Arc<dyn Body>) -> Option<String> {
        let shots = [Side::Test, Side::Baseline].map(|side| Shot { side, iterations: 3, pair: 0 });
        let records = team.run(body, &shots, Duration::from_secs(20)).unwrap();
        records.into_iter().flatten().find_map(|record| record.defect)
    }

    fn team(workload: &Workload, threads: usize, clock: &Clock) -> Team {
        let cpus = vec![None; threads];
        match workload.runtime {
            Some(runtime) => Team::of_runtime(runtime, &cpus, clock).unwrap(),
            None => Team::assemble(&cpus, clock).unwrap(),
        }
    }

    #[test]
    fn every_variant_finds_the_largest_element_wherever_it_is() {
        let clock = Clock::calibrate();
        for (entry, make) in ENTRIES.iter().zip(WORKLOADS) {
            let most = if entry.primitive.name() == "sequential" { 1 } else { 4 };
            for threads in 1..=most {
                for elements in [1, 3, 7, 1000, 1024, 1535] {
                    let case =
                        Case { threads: Some(threads), elements: Some(elements), ..Case::new(entry.primitive.id) };
                    let group = openmp::runtimes().first().map(|runtime| runtime.name);
                    let case = Case { group: group.map(syncscope_core::Group::of_word), ..case };
                    // Without an OpenMP runtime some entries have no workload.
                    let Some(workload) = make(&case) else { continue };
                    let mut team = team(&workload, threads as usize, &clock);
                    assert_eq!(defect(&mut team, &workload.body), None, "{case}");
                }
            }
        }
    }

    #[test]
    fn a_wrong_result_is_found() {
        /// Joins nothing.
        struct Forgetful;
        impl Joining for Forgetful {
            type Local<'a> = ();
            fn local(&self, _: usize) {}
            fn reduce(&self, (): &mut (), _: usize, _: &[i32], _: &std::sync::atomic::AtomicI32) {}
        }
        let case = Case { threads: Some(2), elements: Some(100), ..Case::new("cpu.reduction.lock") };
        let workload = workload(&case, |_| Forgetful).unwrap();
        let mut team = team(&workload, 2, &Clock::calibrate());
        assert!(defect(&mut team, &workload.body).unwrap().contains("the result is"));
    }
}
