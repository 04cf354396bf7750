//! The spin budget: what a wait costs, by the time that a thread spins before it sleeps.
//!
//! A program that knew how long it is going to wait would spin through short waits and sleep through long ones. One that does not
//! know spins for a time first. A sample is one wait of each length from 1 us to half a millisecond, doubling, each a quarter
//! less to a quarter more. The cost of a wait is the CPU time that the waiter spins, and how late it goes on: after the store, or
//! after the end of its spinning where that comes later. Short budgets pay with late threads, long ones with CPU time.
//!
//! With a competitor, a third thread works on the waiter's CPU all the time: a waiter that spins takes turns with it.

use super::spinning::{Watched, Yield};
use super::wake_pair;
use super::ways::{FutexWord, StdSignal, Way};
use crate::primitives::prelude::*;
use crate::primitives::wake;
use crate::sync::WaitLimit;
use crate::timing::smt_interference::independent_additions;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use syncscope_core::{Placement, SpinBudget};
use syncscope_machine::studies::{Competing, Setting, Study as _};
use syncscope_machine::topology::Topology;

/// The entries, in the order of the catalogue.
pub(in crate::primitives) static ENTRIES: &[&Entry] = &[&FUTEX, &CONDVAR, &YIELDS];

/// The budgets, in microseconds; the last is longer than every wait.
const BUDGETS_US: [u32; 8] = [0, 2, 5, 10, 20, 50, 200, 1000];

/// How many waits a sample has: of 1, 2, 4, ... microseconds.
const WAITS: u32 = 10;

pub(in crate::primitives) const OPERATION: &str =
    "one wait of 1 to 512 µs; its cost is the CPU time spent spinning plus the delay until the waiter continues";

const fn entry<W: Way + Default>(id: &'static str, summary: &'static str, source: &'static str, waits: Waits) -> Entry {
    let facts = Facts { role: Role::SpinBudget, ..wake::FACTS.waiting(waits) };
    let workload = |case: &Case| workload(case, W::default());
    Entry::of(Primitive { id, summary, operation: OPERATION, source, facts }, cases, workload)
        .in_studies(&[Participation {
            study: &Competing,
            templates: |primitive, _| budgets(primitive.id),
            reports_missing: false,
        }])
        .beyond_quick()
}

fn budgets(id: &str) -> Vec<Case> {
    let spins = |us: &u32| Case { group: Some(SpinBudget { us: *us, competes: false }.group()), ..Case::new(id) };
    BUDGETS_US.iter().map(spins).collect()
}

fn placed(id: &str, placement: &Placement) -> Vec<Case> {
    let placed = |case: Case| Case { threads: Some(2), placement: Some(placement.clone()), ..case };
    budgets(id).into_iter().map(placed).collect()
}

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    placed(primitive.id, &axes.usual)
}

/// The cases of a user's wait: each budget in these places, and with a competitor.
pub(in crate::primitives) fn cases_of(id: &str, placements: &[Placement], topology: &Topology) -> Vec<Case> {
    let beside = Competing.cases(&Setting::of(Preset::Standard, topology), &budgets(id));
    placements.iter().flat_map(|placement| placed(id, placement)).chain(beside).collect()
}

/// In theory: the least of all budgets is about what a wake-up takes, divided by the number of times that the waits' lengths, each as
/// likely as the others, double: spinning pays as long as the wait is likely to end soon (Karlin et al., 1991).
static FUTEX: Entry = entry::<FutexWord>(
    "cpu.wait.budget_futex",
    "A waiter spins for a set time, then sleeps on a futex",
    "Karlin, Li, Manasse and Owicki, SOSP 1991; Linux, futex(2)",
    Waits::SpinsThenSleeps,
);

/// In theory: as the futex, and the mutex around the condition.
static CONDVAR: Entry = entry::<StdSignal>(
    "cpu.wait.budget_condvar",
    "A waiter spins for a set time, then sleeps on a condition variable",
    "Karlin, Li, Manasse and Owicki, SOSP 1991; Rust std::sync::Condvar",
    Waits::SpinsThenSleeps,
);

/// In theory: the waiter never goes on late while it has its CPU, and pays with CPU time that a competitor may take.
static YIELDS: Entry = entry::<Watched<Yield>>(
    "cpu.wait.budget_yield",
    "A waiter spins for a set time, then yields its CPU between checks and never sleeps",
    "POSIX.1-2017, sched_yield",
    Waits::Spins,
);

pub(in crate::primitives) fn workload<W: Way>(case: &Case, way: W) -> Option<Workload> {
    let test: fn(&Budgeted<W>, u32) -> _ = Budgeted::wait;
    let budget = Duration::from_micros(SpinBudget::of(case)?.us.into());
    let budgeted = Arc::new(Budgeted::of(way, budget));
    let workload = Workload::one_by_one(budgeted, test as usize);
    let workload = Workload { per_execution: WAITS.into(), lets_cpus_idle: true, ..workload };
    Some(workload.expecting(wake::IN_THE_KERNEL))
}

/// Thread 0 ends the waits of thread 1; a third thread works.
struct Budgeted<W> {
    way: W,
    clock: Clock,
    budget: Duration,
    wait_limit: WaitLimit,
    /// The last wait of the shot; waits are numbered.
    last: AtomicU32,
    /// The wait that the waiter is in.
    announced: CachePadded<AtomicU32>,
    /// The last wait that the waker has ended, and when.
    ended: CachePadded<AtomicU32>,
    ended_at: AtomicU64,
    /// The last wait after which the waiter has gone on.
    passed: CachePadded<AtomicU32>,
    /// Waits that were over before they were ended.
    early: AtomicU32,
    /// Start of the shot, and the start plus what its waits cost.
    interval: [AtomicU64; 2],
}

impl<W: Way> Budgeted<W> {
    fn of(way: W, budget: Duration) -> Self {
        Self {
            way,
            clock: Clock::uncalibrated(),
            budget,
            wait_limit: WaitLimit::new(LIMIT),
            last: AtomicU32::new(0),
            announced: CachePadded::default(),
            ended: CachePadded::default(),
            ended_at: AtomicU64::new(0),
            passed: CachePadded::default(),
            early: AtomicU32::new(0),
            interval: Default::default(),
        }
    }

    /// Waits for the end of a wait and returns what the wait costs, in ticks.
    fn wait(&self, number: u32) -> Result<u64, WaitTimeout> {
        self.announced.store(number, Ordering::Release);
        let started = self.clock.start();
        let has_ended = || self.ended.load(Ordering::Acquire) == number;
        let saw_it = spin_for(self.budget, has_ended);
        let spun = self.clock.stop();
        let mut late = 0;
        if !saw_it {
            self.way.sleep(number)?;
            self.early.fetch_add((!has_ended()).into(), Ordering::Relaxed);
            // Relaxed: the wake-up publishes it.
            late = self.clock.stop().saturating_sub(spun.max(self.ended_at.load(Ordering::Relaxed)));
        }
        self.passed.store(number, Ordering::Release);
        Ok(spun.saturating_sub(started) + late)
    }

    /// Ends a wait when the waiter has waited for its length.
    fn end(&self, number: u32) -> Result<(), WaitTimeout> {
        // A waiter whose waits ended early is ahead of this number.
        self.wait_limit.wait(|| has_reached(&self.announced, number))?;
        let length = Duration::from_micros(1 << (number % WAITS));
        wake_pair::lets_wait(length, number);
        self.ended_at.store(self.clock.start(), Ordering::Relaxed);
        self.ended.store(number, Ordering::Release);
        self.way.wake(number);
        self.wait_limit.wait(|| has_reached(&self.passed, number))
    }
}

/// Whether a count, which may wrap around, has reached `number`.
fn has_reached(count: &AtomicU32, number: u32) -> bool {
    count.load(Ordering::Acquire).wrapping_sub(number).cast_signed() >= 0
}

/// Looks for `time`, at least once, whether it is `done`. Returns whether it was.
fn spin_for(time: Duration, done: impl Fn() -> bool) -> bool {
    let started = Instant::now();
    loop {
        if done() {
            return true;
        }
        if time.is_zero() || started.elapsed() >= time {
            return false;
        }
        std::hint::spin_loop();
    }
}

/// Additions of a competitor between two looks: some tenths of a microsecond.
const WORK: u64 = 128;

impl<W: Way> Body for Budgeted<W> {
    fn prepare(&self, shot: &Shot, thread: usize) {
        match thread {
            // Relaxed: a barrier separates this and the shot.
            0 => {
                let waits = (shot.iterations * shot.side.copies()) as u32 * WAITS;
                self.last.store(self.passed.load(Ordering::Relaxed).wrapping_add(waits), Ordering::Relaxed);
            }
            1 => self.way.join(),
            _ => {}
        }
    }

    fn run(&self, shot: &Shot, thread: usize) {
        let last = self.last.load(Ordering::Relaxed);
        let count = (shot.iterations * shot.side.copies()) as u32 * WAITS;
        let waits = (0..count).rev().map(|left| last.wrapping_sub(left));
        match thread {
            0 => waits.for_each(|number| or_unwind(self.end(number))),
            1 => {
                let begin = self.clock.start();
                let nothing = self.clock.stop().saturating_sub(begin);
                let cost: u64 = waits.map(|number| or_unwind(self.wait(number))).sum();
                self.interval[0].store(begin, Ordering::Relaxed);
                self.interval[1].store(begin + cost.max(nothing), Ordering::Relaxed);
            }
            _ => {
                while self.passed.load(Ordering::Relaxed) != last {
                    independent_additions(WORK);
                }
            }
        }
    }

    /// Relaxed: a barrier separates the waiter's stores and this.
    fn interval(&self, _: &Shot, _: usize) -> Option<[u64; 2]> {
        Some([0, 1].map(|end| self.interval[end].load(Ordering::Relaxed)))
    }

    fn verify(&self, _: &Shot, thread: usize) -> Result<(), String> {
        let all = [&*self.passed, &self.last, &self.early];
        let [passed, last, early] = all.map(|number| number.load(Ordering::Relaxed));
        // Thread 0 prepares the next shot.
        match early {
            _ if thread > 0 => Ok(()),
            0 if passed == last => Ok(()),
            0 => Err(format!("{passed} of {last} waits were passed")),
            _ => Err(format!("{early} of {last} waits ended before the thread was woken")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spins through the short waits and sleeps through the others: no more than the budget and its wake-up.
    #[test]
    fn a_wait_costs_its_spinning_and_its_delay() {
        let one_of = |budget_us: u64, number: u32| {
            let budgeted = Budgeted::of(FutexWord::<false>::default(), Duration::from_micros(budget_us));
            budgeted.announced.store(number - 1, Ordering::Relaxed);
            std::thread::scope(|scope| {
                let waiter = scope.spawn(|| budgeted.wait(number).unwrap());
                budgeted.end(number).unwrap();
                waiter.join().unwrap()
            })
        };
        // The longest wait is half a millisecond: a waiter that spins through it pays for most of it, on any machine.
        let clock = Clock::calibrate();
        let ns = |ticks: u64| ticks as f64 * clock.ns_per_tick();
        let spinning = ns(one_of(1_000_000, WAITS - 1));
        assert!(spinning > 0.75 * 512_000.0, "{spinning}");
        let budgeted = Budgeted::of(FutexWord::<false>::default(), Duration::ZERO);
        assert!(!spin_for(budgeted.budget, || false) && spin_for(budgeted.budget, || true));
    }

    /// Returns at once.
    struct Absent;

    impl Way for Absent {
        fn sleep(&self, _: u32) -> Result<(), WaitTimeout> {
            Ok(())
        }
        fn wake(&self, _: u32) {}
    }

    #[test]
    fn a_wait_that_ends_before_its_end_is_a_defect() {
        let budgeted = Budgeted::of(Absent, Duration::ZERO);
        let shot = Shot { side: syncscope_core::Side::Test, iterations: 1, pair: 0 };
        budgeted.passed.store(1, Ordering::Relaxed);
        budgeted.last.store(1, Ordering::Relaxed);
        assert_eq!(budgeted.verify(&shot, 0), Ok(()));
        budgeted.wait(1).unwrap();
        assert_eq!(budgeted.verify(&shot, 0), Err("1 of 1 waits ended before the thread was woken".to_owned()));
    }
}
