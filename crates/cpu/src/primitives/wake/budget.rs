//! The spin budget: what a wait costs, by the time that a thread spins before it sleeps.
//!
//! A program that knew how long it is going to wait would spin through short waits and sleep through long ones. One that does not
//! spins for a time first. A sample is one wait of each length from 1 us to half a millisecond, doubling, each a quarter less to a
//! quarter more. The cost of a wait is the CPU time that the waiter spins, and the time by which it goes on late: after the store,
//! or after the end of its spinning where that comes later. Short budgets pay with late threads, long ones with CPU time.
//!
//! With a competitor, a third thread works on the waiter's CPU all the time: a waiter that spins takes turns with it.

use super::spinning::{Watched, Yield};
use super::wake_pair;
use super::ways::{FutexWord, StdSignal, Way};
use crate::primitives::prelude::*;
use crate::primitives::wake;
use crate::studies::{COMPETITOR, Competing};
use crate::sync::WaitLimit;
use crate::timing::smt_interference::independent_additions;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// In the order of the catalogue.
pub(in crate::primitives) static ENTRIES: &[&Entry] = &[&FUTEX, &CONDVAR, &YIELDS];

/// The group: how long a thread spins before it sleeps.
const SPINS: &str = "spin # us";

/// With a competitor the same stands behind its word.
fn budget_of(case: &Case) -> Option<Duration> {
    let us = case.group_number(SPINS).or_else(|| case.group_number(COMPETITOR))?;
    Some(Duration::from_micros(us.into()))
}

/// The budgets, in microseconds; the last is longer than every wait.
const BUDGETS_US: [u32; 8] = [0, 2, 5, 10, 20, 50, 200, 1000];

/// How many waits a sample has: of 1, 2, 4, ... microseconds.
const WAITS: u32 = 10;

const fn entry<W: Way>(id: &'static str, summary: &'static str, source: &'static str, waits: Waits) -> Entry {
    let facts = Facts { role: Role::SpinBudget, ..wake::FACTS.waiting(waits) };
    let operation = "one wait of 1 to 512 us: the CPU time that the waiter spins, and the delay until it continues";
    Entry::of(Primitive { id, summary, operation, source, facts }, cases, workload::<W>)
        .in_studies(&[Participation { study: &Competing, templates: budgets, reports_missing: false }])
        .beyond_quick()
}

fn budgets(primitive: &Primitive, _: Preset) -> Vec<Case> {
    let spins = |us: &u32| Case { group: Some(Group::numbered(SPINS, *us)), ..Case::new(primitive.id) };
    BUDGETS_US.iter().map(spins).collect()
}

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let placed = |case: Case| Case { threads: Some(2), placement: Some(axes.usual.clone()), ..case };
    budgets(primitive, Preset::Standard).into_iter().map(placed).collect()
}

/// In theory: the least of all budgets is about what a wake-up takes, divided by the number of times that the waits' lengths, each as
/// likely as the others, double: spinning pays as long as the wait is likely to end soon (Karlin et al., 1991).
static FUTEX: Entry = entry::<FutexWord>(
    "cpu.wait.budget_futex",
    "A waiter spins for a time, then sleeps on a futex",
    "Karlin, Li, Manasse and Owicki, SOSP 1991; Linux, futex(2)",
    Waits::SpinsThenSleeps,
);

/// In theory: as the futex, and the mutex around the condition.
static CONDVAR: Entry = entry::<StdSignal>(
    "cpu.wait.budget_condvar",
    "A waiter spins for a time, then sleeps on a condition variable",
    "Karlin, Li, Manasse and Owicki, SOSP 1991; Rust std::sync::Condvar",
    Waits::SpinsThenSleeps,
);

/// In theory: it never goes on late while it has its CPU, and pays with CPU time that a competitor may take.
static YIELDS: Entry = entry::<Watched<Yield>>(
    "cpu.wait.budget_yield",
    "A waiter spins for a time, then yields its CPU at each look and never sleeps",
    "POSIX.1-2017, sched_yield",
    Waits::Spins,
);

fn workload<W: Way>(case: &Case) -> Option<Workload> {
    let test: fn(&Budgeted<W>, u32) -> _ = Budgeted::wait;
    let budgeted = Arc::new(Budgeted::<W>::of(budget_of(case)?));
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
    /// The last one that the waker has ended, and when.
    ended: CachePadded<AtomicU32>,
    ended_at: AtomicU64,
    /// The last one after which the waiter has gone on.
    passed: CachePadded<AtomicU32>,
    /// Begin of the shot, and what its waits cost.
    interval: [AtomicU64; 2],
}

impl<W: Way> Budgeted<W> {
    fn of(budget: Duration) -> Self {
        Self {
            way: W::default(),
            clock: Clock::uncalibrated(),
            budget,
            wait_limit: WaitLimit::new(LIMIT),
            last: AtomicU32::new(0),
            announced: CachePadded::default(),
            ended: CachePadded::default(),
            ended_at: AtomicU64::new(0),
            passed: CachePadded::default(),
            interval: Default::default(),
        }
    }

    /// Waits for the end of a wait: what it costs, in ticks.
    fn wait(&self, number: u32) -> Result<u64, WaitTimeout> {
        self.announced.store(number, Ordering::Release);
        let started = self.clock.start();
        let has_ended = || self.ended.load(Ordering::Acquire) == number;
        let saw_it = spin_for(self.budget, has_ended);
        let spun = self.clock.stop();
        let mut late = 0;
        if !saw_it {
            self.way.sleep(number)?;
            // Relaxed: the wake-up publishes it.
            late = self.clock.stop().saturating_sub(spun.max(self.ended_at.load(Ordering::Relaxed)));
        }
        self.passed.store(number, Ordering::Release);
        Ok(spun.saturating_sub(started) + late)
    }

    /// Ends a wait when the waiter has waited for its length.
    fn end(&self, number: u32) -> Result<(), WaitTimeout> {
        self.wait_limit.wait(|| self.announced.load(Ordering::Acquire) == number)?;
        let length = Duration::from_micros(1 << (number % WAITS));
        wake_pair::lets_wait(length, number);
        self.ended_at.store(self.clock.start(), Ordering::Relaxed);
        self.ended.store(number, Ordering::Release);
        self.way.wake(number);
        self.wait_limit.wait(|| self.passed.load(Ordering::Acquire) == number)
    }
}

/// Looks at least once and for so long whether it is `done`: whether it was.
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
            // Relaxed: a barrier stands between this and the shot.
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

    /// Relaxed: a barrier stands between the waiter's stores and this.
    fn interval(&self, _: &Shot, _: usize) -> Option<[u64; 2]> {
        Some([0, 1].map(|end| self.interval[end].load(Ordering::Relaxed)))
    }

    fn verify(&self, _: &Shot, thread: usize) -> Result<(), String> {
        let [passed, last] = [&*self.passed, &self.last].map(|number| number.load(Ordering::Relaxed));
        // Thread 0 prepares the next shot.
        if thread > 0 || passed == last { Ok(()) } else { Err(format!("{passed} of {last} waits were passed")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spins through the short waits and sleeps through the others: no more than the budget and its wake-up.
    #[test]
    fn a_wait_costs_its_spinning_and_its_delay() {
        let one_of = |budget_us: u64, number: u32| {
            let budgeted = Budgeted::<FutexWord>::of(Duration::from_micros(budget_us));
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
        let budgeted = Budgeted::<FutexWord>::of(Duration::ZERO);
        assert!(!spin_for(budgeted.budget, || false) && spin_for(budgeted.budget, || true));
    }

    #[test]
    fn every_budget_has_a_case_and_a_word() {
        for case in budgets(&FUTEX.primitive, Preset::Standard) {
            assert!(budget_of(&case).is_some(), "{case}");
            let competes = Case { group: Some(Group::numbered(COMPETITOR, 20)), ..case };
            assert_eq!(budget_of(&competes), Some(Duration::from_micros(20)));
        }
    }
}
