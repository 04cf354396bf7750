//! A reduction as the job of a team.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use syncscope_core::Shot;

use super::joining::{Alone, Atomically, InCritical, Joining, Results, Tree, WithMutex, closing};
use crate::primitives::wait::LIMIT;
use crate::sync::{Barrier, CachePadded, DisseminationBarrier, Guarded, SenseBarrier, TreeBarrier, WaitTimeout};
use crate::team::Body;
use crate::team::openmp::{Critical, Runtime};

/// Reductions of the longest chain.
pub(super) const MOST_REDUCTIONS: usize = 256;

/// What the largest element of the first size is; all others but those planted for larger sizes are at most 2^30.
const PLANTED: i32 = i32::MAX - 255;

/// The vector of all sizes, which increase. The last element of what is reduced at each size is its largest one, larger
/// than those planted for smaller sizes.
pub(super) fn vector(sizes: &[usize]) -> Arc<[i32]> {
    let elements = sizes.last().copied().unwrap_or(0) as u32;
    let mut vector: Arc<[i32]> =
        (0..elements).map(|index| ((index.wrapping_mul(0x9e37_79b1) >> 2) | 1).cast_signed()).collect();
    if let Some(vector) = Arc::get_mut(&mut vector) {
        for (number, size) in sizes.iter().enumerate() {
            vector[size - 1] = largest_of(number);
        }
    }
    vector
}

/// The largest element of what is reduced at the size of this number, counted from 0.
pub(super) const fn largest_of(number: usize) -> i32 {
    PLANTED + (number as u32 & 0xff).cast_signed()
}

/// The part of a thread: neighbouring elements, at most one more than any other thread has.
pub(super) fn part(elements: usize, thread: usize, threads: usize) -> Range<usize> {
    let at = |thread: usize| (elements as u128 * thread as u128 / threads.max(1) as u128) as usize;
    at(thread)..at(thread + 1)
}

/// Which team runs a variant.
pub(super) enum On {
    OneThread,
    Team,
    OpenMp,
}

impl On {
    pub(super) fn of(variant: &str) -> Self {
        match variant {
            "cpu.sequential" => Self::OneThread,
            "cpu.tree_openmp" | "cpu.openmp_atomic" | "cpu.openmp_critical" => Self::OpenMp,
            _ => Self::Team,
        }
    }
}

/// The job of a variant; `None` if there is no such variant, or it needs a runtime that is not there.
pub(super) fn job(
    variant: &str,
    vector: &Arc<[i32]>,
    (elements, expected): (usize, i32),
    threads: u32,
    runtime: Option<&'static Runtime>,
) -> Option<Arc<dyn Body>> {
    let make = Make { vector, elements, expected, threads };
    Some(match variant {
        "cpu.sequential" => make.job(Alone),
        "cpu.atomic_per_element" => make.job(Atomically { barrier: closing(threads), each_element: true }),
        "cpu.atomic_per_thread" => make.job(Atomically { barrier: closing(threads), each_element: false }),
        "cpu.lock" => make.job(WithMutex { mutex: CachePadded::new(Mutex::new(())), barrier: closing(threads) }),
        "cpu.tree_std" => make.job(Tree::new(threads, std::sync::Barrier::new(threads as usize))),
        "cpu.tree_sense" => make.job(Tree::new(threads, SenseBarrier::new(threads, LIMIT))),
        "cpu.tree_dissemination" => make.job(Tree::new(threads, DisseminationBarrier::new(threads, LIMIT))),
        "cpu.tree_tree" => make.job(Tree::new(threads, TreeBarrier::new(threads, LIMIT))),
        "cpu.tree_openmp" => make.job(Tree::new(threads, OfRuntime(runtime?))),
        "cpu.openmp_atomic" => make.job(Atomically { barrier: OfRuntime(runtime?), each_element: false }),
        "cpu.openmp_critical" => {
            let section = Guarded::new(Critical(runtime?), ());
            make.job(InCritical { section, barrier: OfRuntime(runtime?) })
        }
        _ => return None,
    })
}

/// What all jobs of one size have in common.
struct Make<'a> {
    vector: &'a Arc<[i32]>,
    elements: usize,
    expected: i32,
    threads: u32,
}

impl Make<'_> {
    fn job<J: Joining>(&self, joining: J) -> Arc<dyn Body> {
        Arc::new(Job {
            vector: Arc::clone(self.vector),
            elements: self.elements.min(self.vector.len()),
            expected: self.expected,
            threads: self.threads as usize,
            joining,
            results: Results::new(MOST_REDUCTIONS),
        })
    }
}

/// The barrier of an OpenMP runtime, which the end of a region implies.
struct OfRuntime(&'static Runtime);

impl Barrier for OfRuntime {
    type Local = ();

    fn join(&self, _: usize) {}

    fn wait(&self, (): &mut ()) -> Result<(), WaitTimeout> {
        self.0.barrier();
        Ok(())
    }
}

struct Job<J> {
    vector: Arc<[i32]>,
    elements: usize,
    expected: i32,
    threads: usize,
    joining: J,
    results: Results,
}

impl<J: Joining> Body for Job<J> {
    fn prepare(&self, _: &Shot, thread: usize) {
        if thread == 0 {
            self.results.clear();
        }
    }

    fn run(&self, shot: &Shot, thread: usize) {
        let part = &self.vector[part(self.elements, thread, self.threads)];
        let mut local = self.joining.local(thread);
        for number in 0..shot.iterations {
            // Opaque: the same part is reduced each time, and the compiler must not do it once.
            let part = std::hint::black_box(part);
            self.joining.reduce(&mut local, thread, part, self.results.of(number));
        }
    }

    fn verify(&self, shot: &Shot, thread: usize) -> Result<(), String> {
        if thread != 0 {
            return Ok(());
        }
        let expected = self.expected;
        let wrong = (0..shot.iterations.min(MOST_REDUCTIONS as u64))
            .map(|number| self.results.of(number).load(std::sync::atomic::Ordering::Relaxed))
            .find(|found| *found != expected);
        wrong.map_or(Ok(()), |found| Err(format!("the largest element is {expected}, and the result is {found}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::{Executor, Team, openmp};
    use crate::timing::clock::Clock;
    use std::time::Duration;
    use syncscope_core::Side;
    use syncscope_core::published::reductions::Class;
    use syncscope_core::published::reductions::variants::of_class;

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

    /// The vector with its largest element at this place.
    fn planted(elements: usize, at: usize) -> Arc<[i32]> {
        let mut vector = vector(&[elements]).to_vec();
        vector.swap(at, elements - 1);
        vector.into()
    }

    #[test]
    fn the_largest_element_of_each_size_is_its_last() {
        let sizes = [1, 7, 8, 1000, 4096];
        let vector = vector(&sizes);
        for (number, size) in sizes.into_iter().enumerate() {
            let largest = vector[..size].iter().copied().max();
            assert_eq!((largest, vector[size - 1]), (Some(largest_of(number)), largest_of(number)));
            assert_eq!(vector[..size].iter().filter(|element| Some(**element) == largest).count(), 1);
        }
        assert!(super::vector(&[]).is_empty());
    }

    fn defect(team: &mut dyn Executor, job: &Arc<dyn Body>) -> Option<String> {
        let shots = [3, 1].map(|iterations| Shot { side: Side::Test, iterations, pair: 0 });
        let records = team.run(job, &shots, Duration::from_secs(20)).unwrap();
        records.into_iter().flatten().find_map(|record| record.defect)
    }

    /// A team of so many threads for a variant; `None` without an OpenMP runtime where it needs one.
    fn team(variant: &str, threads: usize, clock: &Clock) -> Option<Box<dyn Executor>> {
        let cpus = vec![None; threads];
        Some(match On::of(variant) {
            On::OpenMp => Box::new(Team::of_runtime(openmp::runtimes().first()?, &cpus, clock).unwrap()),
            On::OneThread | On::Team => Box::new(Team::assemble(&cpus, clock).unwrap()),
        })
    }

    #[test]
    fn every_variant_finds_the_largest_element_wherever_it_is() {
        let clock = Clock::calibrate();
        for variant in of_class(Class::Cpu) {
            for threads in 1..=4_u32 {
                if variant.id == "cpu.sequential" && threads > 1 {
                    continue;
                }
                let Some(mut team) = team(variant.id, threads as usize, &clock) else { continue };
                for (elements, at) in [(1, 0), (3, 2), (7, 0), (1000, 499), (1003, 1002)] {
                    let runtime = openmp::runtimes().first();
                    let job =
                        job(variant.id, &planted(elements, at), (elements, largest_of(0)), threads, runtime).unwrap();
                    assert_eq!(defect(team.as_mut(), &job), None, "{} {threads} {elements}", variant.id);
                }
            }
        }
    }

    #[test]
    fn a_wrong_result_is_found() {
        let clock = Clock::calibrate();
        for id in ["cpu.sequential", "cpu.atomic_per_thread", "cpu.lock", "cpu.tree_sense"] {
            let threads = if id == "cpu.sequential" { 1 } else { 2 };
            let mut team = team(id, threads, &clock).unwrap();
            // The largest element lies behind what is reduced.
            let job = job(id, &planted(1000, 999), (999, largest_of(0)), threads as u32, None).unwrap();
            let defect = defect(team.as_mut(), &job).unwrap();
            assert!(defect.contains("the result is"), "{id}: {defect}");
        }
    }
}
