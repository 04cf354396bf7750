//! Fairness: all threads do the operation as often as they can for a while, and who came how often is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use syncscope_core::{Detail, Shot};

use super::follow_up::Study;
use super::operation::{Operation, UNROLL};
use crate::sync::OwnLine;
use crate::team::Body;
use crate::timing::clock::Clock;

/// How long a contest takes: a thousand acquisitions of a contended lock and more.
const DURATION: Duration = Duration::from_millis(3);

/// A contest for the first slot of an operation. The operation is the measured one: the same code, with a look at the end
/// after each, which is a line that everybody has until it changes.
pub(crate) struct Contest<O> {
    operation: Arc<O>,
    clock: Clock,
    over: OwnLine<AtomicBool>,
    results: Vec<OwnLine<Result>>,
}

/// One thread's.
#[derive(Default)]
struct Result {
    operations: AtomicU64,
    ticks: AtomicU64,
}

impl<O: Operation> Contest<O> {
    pub(crate) fn new(operation: Arc<O>, threads: u32, clock: &Clock) -> Self {
        let results = (0..threads).map(|_| OwnLine::default()).collect();
        Self { operation, clock: clock.clone(), over: OwnLine::default(), results }
    }

    fn operations(&self) -> Vec<u64> {
        self.results.iter().map(|result| result.0.operations.load(Ordering::Relaxed)).collect()
    }
}

/// The slot that is fought for.
const SLOT: usize = 0;

impl<O: Operation> Body for Contest<O> {
    fn prepare(&self, _shot: &Shot, thread: usize) {
        self.operation.prepare(SLOT, thread);
    }

    fn run(&self, _shot: &Shot, thread: usize) {
        let mut local = self.operation.local(SLOT, thread);
        let length = (DURATION.as_nanos() as f64 / self.clock.ns_per_tick()) as u64;
        let started = self.clock.start();
        let mut operations = 0_u64;
        // Relaxed: the flag passes nothing on. Everybody looks at the time as often, so that nobody is held up more.
        while !self.over.0.load(Ordering::Relaxed) {
            O::execute(&mut local);
            operations += 1;
            if operations.is_multiple_of(UNROLL.into()) && self.clock.stop().saturating_sub(started) >= length {
                self.over.0.store(true, Ordering::Relaxed);
            }
        }
        let ticks = self.clock.stop().saturating_sub(started);
        self.results[thread].0.operations.store(operations, Ordering::Relaxed);
        self.results[thread].0.ticks.store(ticks, Ordering::Relaxed);
    }

    /// What the threads counted together must be what they did together.
    fn verify(&self, _shot: &Shot, thread: usize) -> std::result::Result<(), String> {
        if thread != 0 {
            return Ok(());
        }
        let expected: u64 = self.operations().iter().sum();
        match self.operation.counted(SLOT) {
            Some(found) if found != expected => Err(format!("{expected} operations of a contest counted {found}")),
            _ => Ok(()),
        }
    }
}

impl<O: Operation> Study for Contest<O> {
    fn details(&self) -> Vec<Detail> {
        let per_s = |result: &OwnLine<Result>| {
            let seconds = result.0.ticks.load(Ordering::Relaxed) as f64 * self.clock.ns_per_tick() / 1e9;
            result.0.operations.load(Ordering::Relaxed) as f64 / seconds
        };
        let rates: Vec<f64> = self.results.iter().map(per_s).collect();
        let of_actor = |(actor, rate): (usize, &f64)| Detail::of_actor("acquisitions_per_s", actor as u32, *rate);
        let index = jain_index(&rates).map(|index| Detail::of_case("jain_index", index));
        rates.iter().enumerate().map(of_actor).chain(index).collect()
    }
}

/// 1 where all have the same, 1/n where one of n has all (Jain, Chiu, Hawe, *A Quantitative Measure of Fairness and
/// Discrimination*, DEC-TR-301, 1984). `None` where nobody has anything.
fn jain_index(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    let index = sum * sum / (shares.len() as f64 * squares);
    index.is_finite().then_some(index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::{Executor, Team};
    use syncscope_core::Side;

    #[test]
    fn shares_are_fair_or_not() {
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
        fn verify(&self, _: usize, _: usize, _: u64) -> std::result::Result<(), String> {
            Ok(())
        }
        fn counted(&self, _: usize) -> Option<u64> {
            Some(self.0.load(Ordering::Relaxed) - 1)
        }
    }

    #[test]
    fn what_is_lost_is_found() {
        let clock = Clock::calibrate();
        let contest = Arc::new(Contest::new(Arc::new(Lossy(AtomicU64::new(0))), 2, &clock));
        let shot = Shot { side: Side::Test, iterations: 1, pair: 0 };
        let body: Arc<dyn Body> = Arc::clone(&contest) as _;
        let mut team = Team::assemble(&[None, None], &clock).unwrap();
        let records = team.run(&body, &[shot], Duration::from_secs(20)).unwrap();
        assert!(records[0][0].defect.as_deref().is_some_and(|defect| defect.contains("operations of a contest")));
    }

    #[test]
    fn who_comes_more_often_is_seen() {
        let clock = Clock::calibrate();
        let contest = Contest::new(Arc::new(Lossy(AtomicU64::new(0))), 2, &clock);
        for (thread, operations) in [300, 100].into_iter().enumerate() {
            contest.results[thread].0.operations.store(operations, Ordering::Relaxed);
            contest.results[thread].0.ticks.store(1000, Ordering::Relaxed);
        }
        let details = contest.details();
        let of = |name: &str, actor| details.iter().find(|d| d.name == name && d.actor == actor).unwrap().value;
        assert!((of("acquisitions_per_s", Some(0)) / of("acquisitions_per_s", Some(1)) - 3.0).abs() < 1e-9);
        assert!((of("jain_index", None) - 0.8).abs() < 1e-9, "{details:?}");
    }
}
