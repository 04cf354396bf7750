//! Wake-ups: one thread sleeps in the kernel, another one wakes it.
//!
//! - `ways.rs`: what a way to wake a thread is, and all of them. Start here.
//! - `spinning.rs`: waiters that stay awake, by what they do between two looks (`cpu.wait`), and what
//!   they leave to the other hardware thread of their core. `budget.rs`: waiters that spin for a time, then sleep.
//! - `wake_pair.rs`: one wake-up: the waiter falls asleep, the waker sees it, reads the clock and wakes it.
//! - This file: the samples, of one wake-up each, and the cases. `latencies.rs`: percentiles, a run after the samples.
//!
//! A sample of the test is one wake-up: from the reading of the clock right before the call that wakes to the waiter's reading
//! right after its wait has returned. The baseline is the two readings without a wake-up. All threads report this time; how long
//! the call takes the waker is a detail (`wake_call_ns`).
//!
//! A hand-off (`cpu.handoff`) may find its partner awake. Here no waker calls before the waiter has slept for as long as the group
//! says, and CPUs are not kept awake: what a wake-up costs depends on how deeply the waiter's CPU sleeps.

pub(super) mod budget;
mod latencies;
pub(super) mod spinning;
mod wake_pair;
mod ways;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use self::latencies::Latencies;
use self::wake_pair::WakePair;
pub(in crate::primitives) use self::ways::Way;
use crate::axes::powers_of_two;
use crate::primitives::prelude::*;

/// The family, in the order of the catalogue.
pub(super) static ENTRIES: &[&Entry] = &[
    &ways::FUTEX,
    &ways::CONDVAR,
    &ways::PARK,
    &ways::PARKING_LOT,
    &ways::EVENTFD,
    &ways::IO_URING,
    &ways::FUTEX_ALL,
    &ways::CONDVAR_ALL,
    &ways::FUTEX_ONE_OF_ALL,
    &ways::CONDVAR_ONE_OF_ALL,
];

const FACTS: Facts = Facts { run_effect: facts::between_threads, ..Facts::of(Role::Wake).waiting(Waits::Sleeps) };

/// The operation whose cost is `ns`, for every wake-up.
const OPERATION: &str = "one wake-up, from the waker's call until the waiter runs; the waiter has slept for the set time \
                         (20 µs where the group column lists CPUs)";

const OPERATION_OF_ALL: &str = "one wake-up of all waiters, from the waker's call until the last waiter runs; the waiters have slept for the set time";

const OPERATION_OF_ONE: &str = "one wake-up of one of several waiters, from the waker's call until that waiter runs; \
                                the waiters have slept for the set time";

/// The group: how long the waiters have slept when the waker calls.
const ASLEEP: &str = "asleep # us";

/// How long waiters sleep in cases of other groups, in microseconds.
const SHORT_SLEEP_US: u32 = 20;

/// How long the waiters of a case sleep.
fn sleep_of(case: &Case) -> Duration {
    Duration::from_micros(case.group_number(ASLEEP).unwrap_or(SHORT_SLEEP_US).into())
}

/// Teams of these sizes, by how long the waiters sleep.
fn by_sleep(primitive: &Primitive, axes: &Axes, sleeps_us: &[u32], threads: &[u32]) -> Vec<Case> {
    let asleep = |us: &u32| Some(Group::numbered(ASLEEP, *us));
    let teams = axes.in_usual_places(primitive, threads).cases();
    sleeps_us.iter().flat_map(|us| teams.iter().map(|case| Case { group: asleep(us), ..case.clone() })).collect()
}

/// Why instructions are not counted.
const IN_THE_KERNEL: Expected = Expected::Uncounted("a wake-up is a system call made by a library function");

/// Every wake-up is measured on each class of CPU pairs, and with both threads on one CPU.
const STUDIES: &[Participation] = &[Participation::beyond_quick(&CpuPairs), Participation::plain(&OneCpu).reporting()];

/// A way to wake a thread.
const fn entry<W: Way + Default>(id: &'static str, summary: &'static str, source: &'static str) -> Entry {
    let primitive = Primitive { id, summary, operation: OPERATION, source, facts: FACTS };
    let cases = |primitive: &Primitive, axes: &Axes| by_sleep(primitive, axes, &axes.sleeps_us, &[2]);
    Entry::of(primitive, cases, workload::<W>).in_studies(STUDIES).requiring(wake_pair::states_are_shown)
}

fn workload<W: Way + Default>(case: &Case) -> Option<Workload> {
    one_by_one(case, WakePair::<W>::asleep(1, sleep_of(case)))
}

/// A way to wake all other threads of a team.
const fn entry_of_all<W: Way + Default>(id: &'static str, summary: &'static str, source: &'static str) -> Entry {
    let operation = if W::WAKES_ONE_OF_ALL { OPERATION_OF_ONE } else { OPERATION_OF_ALL };
    let primitive = Primitive {
        id,
        summary,
        operation,
        source,
        facts: Facts { role: Role::WakeAll, at_once: OperationsAtOnce::One, ..FACTS },
    };
    let cases = |primitive: &Primitive, axes: &Axes| {
        let teams: Vec<u32> = powers_of_two(axes.cpus.max(2)).into_iter().filter(|threads| *threads > 1).collect();
        by_sleep(primitive, axes, &axes.sleeps_us, &teams)
    };
    let workload = |case: &Case| {
        let waiters = case.threads?.checked_sub(1)? as usize;
        one_by_one(case, WakePair::<W>::asleep(waiters, sleep_of(case)))
    };
    Entry::of(primitive, cases, workload).requiring(wake_pair::states_are_shown)
}

/// The samples of a way to wake a thread, and the percentiles after them.
fn one_by_one<W: Way + Default>(case: &Case, wake_pair: WakePair<W>) -> Option<Workload> {
    let (threads, lets_cpus_idle) = (wake_pair.threads(), wake_pair.sleeps());
    let wake_pair = Arc::new(wake_pair);
    let timed = Arc::clone(&wake_pair);
    let follow_up: MakeFollowUp = Box::new(move |clock| Arc::new(Latencies::new(Arc::clone(&timed), clock)));
    let test: fn(&WakePair<W>) -> _ = WakePair::wake;
    let workload = Workload::one_by_one(Arc::new(OneByOne { wake_pair, interval: Default::default() }), test as usize);
    let workload = Workload { follow_up: Some(follow_up), lets_cpus_idle, ..workload.expecting(IN_THE_KERNEL) };
    (case.threads == Some(threads)).then_some(workload)
}

/// Thread 0 wakes the others, once in each iteration of the test, or as often as the side says.
struct OneByOne<W> {
    wake_pair: Arc<WakePair<W>>,
    /// Start and end of the last sample.
    interval: [AtomicU64; 2],
}

impl<W: Way + Default> Body for OneByOne<W> {
    fn prepare(&self, _: &Shot, thread: usize) {
        self.wake_pair.join(thread);
    }

    fn run(&self, shot: &Shot, thread: usize) {
        let wake_ups = shot.iterations * shot.side.copies();
        if thread > 0 {
            return (0..wake_ups).for_each(|_| {
                or_unwind(self.wake_pair.sleep(thread));
            });
        }
        let (begin, mut ticks) = self.wake_pair.without_a_wake_up();
        if wake_ups > 0 {
            ticks = (0..wake_ups).map(|_| or_unwind(self.wake_pair.wake()).latency).sum();
        }
        self.interval[0].store(begin, Ordering::Relaxed);
        self.interval[1].store(begin + ticks, Ordering::Relaxed);
    }

    /// Relaxed: a barrier separates the waker's stores and this.
    fn interval(&self, _: &Shot, _: usize) -> Option<[u64; 2]> {
        Some([0, 1].map(|end| self.interval[end].load(Ordering::Relaxed)))
    }

    fn verify(&self, _: &Shot, thread: usize) -> Result<(), String> {
        if thread == 0 { self.wake_pair.verify() } else { Ok(()) }
    }
}
