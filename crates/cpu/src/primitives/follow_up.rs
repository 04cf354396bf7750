//! What is measured of a case after its samples: a run that yields details, the percentiles of single operations, and the
//! fairness of contended ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use syncscope_core::{Detail, Shot, stats};

use super::operation::{Operation, UNROLL, slot_of};
use crate::sync::CachePadded;
use crate::team::Body;
use crate::timing::clock::Clock;

/// One run after the samples that yields details. It is a job of the same team on the same CPUs. A defect that its
/// [`Body::verify`] finds counts as a defect of the case.
pub(crate) trait FollowUp: Body {
    /// How many shots the run has. Their pairs are numbered from 0.
    fn repetitions(&self) -> u64 {
        1
    }

    /// What the run found; called once, after it.
    fn details(&self) -> Vec<Detail>;
}

/// Makes the follow-up of a case, with the clock that its samples were timed with.
pub(crate) type MakeFollowUp = Box<dyn Fn(&Clock) -> Arc<dyn FollowUp> + Send + Sync>;

/// Fewer values have no 99th percentile.
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

/// How long a contest takes: some hundred acquisitions of a contended lock and more.
const DURATION: Duration = Duration::from_millis(1);

/// How often it is repeated. The second smallest and the second largest of nine values are a 96.1 % interval of their
/// median (Hahn and Meeker, *Statistical Intervals*, 5.2). One contest that was interrupted does not widen it.
const REPETITIONS: usize = 9;

/// A fairness run. It executes the measured operation itself, in each contest on another slot. After each execution a
/// thread reads the flag that ends the contest; its cache line stays shared until the flag changes.
pub(crate) struct FairnessRun<O> {
    operation: Arc<O>,
    over: CachePadded<AtomicBool>,
    contests: Contests,
}

/// What the threads did in the contests.
struct Contests {
    clock: Clock,
    results: Vec<CachePadded<[ThreadResult; REPETITIONS]>>,
}

/// What one thread did in one contest.
#[derive(Default)]
struct ThreadResult {
    operations: AtomicU64,
    ticks: AtomicU64,
}

impl<O: Operation> FairnessRun<O> {
    pub(crate) fn new(operation: Arc<O>, threads: u32, clock: &Clock) -> Self {
        let results = (0..threads).map(|_| CachePadded::default()).collect();
        Self { operation, over: CachePadded::default(), contests: Contests { clock: clock.clone(), results } }
    }
}

impl Contests {
    /// The operations of each thread in a contest.
    fn operations(&self, contest: usize) -> Vec<u64> {
        self.results.iter().map(|of_thread| of_thread[contest].operations.load(Ordering::Relaxed)).collect()
    }

    /// The rate of a thread in some contests.
    fn per_s(&self, results: &[ThreadResult]) -> f64 {
        let sum = |count: fn(&ThreadResult) -> &AtomicU64| -> f64 {
            results.iter().map(|result| count(result).load(Ordering::Relaxed) as f64).sum()
        };
        sum(|result| &result.operations) / (sum(|result| &result.ticks) * self.clock.ns_per_tick() / 1e9)
    }

    /// The time of an operation as each thread sees it: median and interval of all contests.
    fn contest(&self) -> Vec<Detail> {
        let ns = |contest: usize| {
            let rates = self.results.iter().map(|of_thread| self.per_s(&of_thread[contest..=contest]));
            self.results.len() as f64 * 1e9 / rates.sum::<f64>()
        };
        let mut all: Vec<f64> = (0..REPETITIONS).map(ns).collect();
        all.sort_by(f64::total_cmp);
        let (low, high) = (all[1], all[REPETITIONS - 2]);
        let point = stats::median(&all).unwrap_or(f64::NAN);
        let names = [Detail::CONTEST_NS, Detail::CONTEST_LOW_NS, Detail::CONTEST_HIGH_NS];
        names.into_iter().zip([point, low, high]).map(|(name, value)| Detail::of_case(name, value)).collect()
    }

    fn judge(&self, shot: &Shot, counted: Option<u64>) -> Result<(), String> {
        let expected: u64 = self.operations(contest_of(shot)).iter().sum();
        match counted {
            Some(found) if found != expected => {
                Err(format!("the threads of a fairness run executed {expected} operations, the state counted {found}"))
            }
            _ => Ok(()),
        }
    }

    fn details(&self) -> Vec<Detail> {
        let rates: Vec<f64> = self.results.iter().map(|of_thread| self.per_s(&of_thread[..])).collect();
        let of_actor = |(actor, rate): (usize, &f64)| Detail::of_actor("acquisitions_per_s", actor as u32, *rate);
        let index = jain_index(&rates).map(|index| Detail::of_case("jain_index", index));
        rates.iter().enumerate().map(of_actor).chain(index).chain(self.contest()).collect()
    }
}

/// The contest that a shot is.
fn contest_of(shot: &Shot) -> usize {
    shot.pair as usize % REPETITIONS
}

impl<O: Operation> Body for FairnessRun<O> {
    fn prepare(&self, shot: &Shot, thread: usize) {
        self.operation.prepare(slot_of(shot.pair), thread);
        if thread == 0 {
            self.over.store(false, Ordering::Relaxed);
        }
    }

    fn run(&self, shot: &Shot, thread: usize) {
        let clock = &self.contests.clock;
        let mut local = self.operation.local(slot_of(shot.pair), thread);
        let length = (DURATION.as_nanos() as f64 / clock.ns_per_tick()) as u64;
        let started = clock.start();
        let mut operations = 0_u64;
        // Relaxed: the flag publishes nothing. All threads read the clock equally often, so that none is slowed down
        // more.
        while !self.over.load(Ordering::Relaxed) {
            O::execute(&mut local);
            operations += 1;
            if operations.is_multiple_of(UNROLL.into()) && clock.stop().saturating_sub(started) >= length {
                self.over.store(true, Ordering::Relaxed);
            }
        }
        let ticks = clock.stop().saturating_sub(started);
        let result = &self.contests.results[thread][contest_of(shot)];
        result.operations.store(operations, Ordering::Relaxed);
        result.ticks.store(ticks, Ordering::Relaxed);
    }

    /// The state must have counted the operations of all threads.
    fn verify(&self, shot: &Shot, thread: usize) -> Result<(), String> {
        if thread == 0 { self.contests.judge(shot, self.operation.counted(slot_of(shot.pair))) } else { Ok(()) }
    }
}

impl<O: Operation> FollowUp for FairnessRun<O> {
    fn repetitions(&self) -> u64 {
        REPETITIONS as u64
    }

    fn details(&self) -> Vec<Detail> {
        self.contests.details()
    }
}

/// 1 where all shares are equal, 1/n where one of n is everything (Jain, Chiu, Hawe, *A Quantitative Measure of
/// Fairness and Discrimination*, DEC-TR-301, 1984). `None` where all shares are zero.
fn jain_index(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    let index = sum * sum / (shares.len() as f64 * squares);
    index.is_finite().then_some(index)
}

#[cfg(test)]
mod tests {
    use syncscope_core::Side;

    use super::*;
    use crate::team::{Executor, Team};

    #[test]
    fn percentiles_are_among_the_values() {
        let values: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        let found: Vec<(String, f64)> = percentiles(&values).into_iter().map(|d| (d.name, d.value)).collect();
        let expected = [("p50_ns", 100.0), ("p90_ns", 180.0), ("p99_ns", 198.0), ("max_ns", 200.0)];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value)));
        assert!(percentiles(&values[..FEWEST - 1]).is_empty(), "too few for the 99th");
    }

    #[test]
    fn the_index_is_jains() {
        assert_eq!(jain_index(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain_index(&[0.0, 5.0, 0.0, 0.0]), Some(0.25));
        // The paper's example: 100 dollars for 20 of 100 people is 0.2.
        let shares: Vec<f64> = (0..100).map(|person| if person < 20 { 5.0 } else { 0.0 }).collect();
        assert!((jain_index(&shares).unwrap() - 0.2).abs() < 1e-12);
        assert_eq!((jain_index(&[]), jain_index(&[0.0; 3])), (None, None));
    }

    /// Counts one too few.
    struct Lossy(AtomicU64);

    impl Operation for Lossy {
        type Local<'a> = &'a AtomicU64;
        fn local(&self, _: usize, _: usize) -> &AtomicU64 {
            &self.0
        }
        fn execute(count: &mut &AtomicU64) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        fn prepare(&self, _: usize, _: usize) {}
        fn verify(&self, _: usize, _: usize, _: u64) -> Result<(), String> {
            Ok(())
        }
        fn counted(&self, _: usize) -> Option<u64> {
            Some(self.0.load(Ordering::Relaxed) - 1)
        }
    }

    #[test]
    fn a_lost_operation_is_a_defect() {
        let clock = Clock::calibrate();
        let run = Arc::new(FairnessRun::new(Arc::new(Lossy(AtomicU64::new(0))), 2, &clock));
        let shot = Shot { side: Side::Test, iterations: 1, pair: 0 };
        let body: Arc<dyn Body> = Arc::clone(&run) as _;
        let mut team = Team::assemble(&[None, None], &clock).unwrap();
        let records = team.run(&body, &[shot], Duration::from_secs(20)).unwrap();
        assert!(records[0][0].defect.as_deref().is_some_and(|defect| defect.contains("of a fairness run")));
    }

    #[test]
    fn details_hold_the_rate_of_each_thread() {
        let clock = Clock::calibrate();
        let run = FairnessRun::new(Arc::new(Lossy(AtomicU64::new(0))), 2, &clock);
        for (thread, operations) in [300, 100].into_iter().enumerate() {
            for (contest, result) in run.contests.results[thread].iter().enumerate() {
                result.operations.store(operations, Ordering::Relaxed);
                result.ticks.store(1000 + contest as u64, Ordering::Relaxed);
            }
        }
        let details = run.details();
        let of = |name: &str, actor| details.iter().find(|d| d.name == name && d.actor == actor).unwrap().value;
        assert!((of("acquisitions_per_s", Some(0)) / of("acquisitions_per_s", Some(1)) - 3.0).abs() < 1e-9);
        assert!((of("jain_index", None) - 0.8).abs() < 1e-9, "{details:?}");
        // Two threads, together 400 operations in 1000 to 1008 ticks: each waits five ticks for one of its own.
        let ticks = |name| of(name, None) / clock.ns_per_tick();
        assert!((ticks("contest_ns") - 5.02).abs() < 1e-9, "{details:?}");
        assert!((ticks("contest_low_ns") - 5.005).abs() < 1e-9 && (ticks("contest_high_ns") - 5.035).abs() < 1e-9);
    }
}
