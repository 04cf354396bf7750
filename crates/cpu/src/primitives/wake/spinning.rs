//! Ways to wait awake: a thread looks at a word until another one changes it. What is timed is the reaction, from the store
//! until the waiter goes on, after waits of the length in the group column.
//!
//! The waker and the waiter log their times by one clock, as for a thread that sleeps; `cpu.handoff.store_pingpong` measures the
//! same by loops, with waiters that never wait long.

use super::wake_pair::WakePair;
use super::ways::{FutexWord, Way};
use crate::primitives::prelude::*;
use crate::primitives::wake;
use crate::sync::WaitLimit;
use crate::timing::smt_interference::independent_additions;
use crossbeam::utils::Backoff;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use syncscope_machine::studies::{SIBLING_WAITS, WaitingSibling};

/// The entries, in the order of the catalogue: the later ones leave more of the core to others.
pub(in crate::primitives) static ENTRIES: &[&Entry] = &[&SPIN, &HINT, &HINTS, &BACKOFF, &YIELD, &SPIN_FUTEX];

const FACTS: Facts = Facts { role: Role::Reaction, ..wake::FACTS.waiting(Waits::Spins) };

/// The operation whose cost is `ns`, for every way to wait awake.
const OPERATION: &str = "one reaction to another thread's store, which follows the set waiting time: from the store until the waiter continues";

/// The group: about how long the waiter has waited when the waker stores.
const AFTER: &str = "after # us";

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let after = |us: &u32| Case { group: Some(Group::numbered(AFTER, *us)), ..Case::new(primitive.id) };
    let placed = |case: &Case| Case { threads: Some(2), placement: Some(axes.usual.clone()), ..case.clone() };
    axes.waits_us.iter().map(after).map(|case| placed(&case)).collect()
}

const fn entry<W: Way + Default>(id: &'static str, summary: &'static str, source: &'static str) -> Entry {
    let primitive = Primitive { id, summary, operation: OPERATION, source, facts: FACTS };
    let workload: fn(&Case) -> _ = |case| {
        if case.in_group(SIBLING_WAITS) {
            return Some(work_beside::<W>());
        }
        let after = Duration::from_micros(case.group_number(AFTER)?.into());
        wake::one_by_one(case, WakePair::<W>::after(after))
    };
    Entry::of(primitive, cases, workload).in_studies(BESIDE)
}

const BESIDE: &[Participation] = &[Participation::beyond_quick(&WaitingSibling)];

/// What a waiting thread does between checks.
trait Between: Default + 'static {
    fn pass(&mut self);
}

/// A word that a thread looks at until it has the number of the wake-up.
#[derive(Default)]
pub(super) struct Watched<B>(AtomicU32, PhantomData<fn() -> B>);

/// Looks between two readings of the clock, which ends the wait.
const LOOKS: u32 = 256;

/// Looks at the word until it is `number`; `false` if `limit` is over first.
#[inline(always)]
fn watch<B: Between>(word: &AtomicU32, number: u32, limit: Duration) -> bool {
    let (mut between, started) = (B::default(), Instant::now());
    loop {
        for _ in 0..LOOKS {
            // Acquire: a wake-up publishes what the waker wrote before.
            if word.load(Ordering::Acquire) == number {
                return true;
            }
            between.pass();
        }
        if started.elapsed() > limit {
            return false;
        }
    }
}

impl<B: Between> Way for Watched<B> {
    fn sleep(&self, number: u32) -> Result<(), WaitTimeout> {
        if watch::<B>(&self.0, number, LIMIT) { Ok(()) } else { Err(WaitTimeout) }
    }

    #[inline]
    fn wake(&self, number: u32) {
        self.0.store(number, Ordering::Release);
    }
}

/// In theory: the line moves once from the waker to the waiter, and nothing is quicker. The other hardware thread has half of the
/// core at most.
static SPIN: Entry = entry::<Watched<Hints<0>>>(
    "cpu.wait.spin",
    "A waiter that rechecks immediately",
    "Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, on spinning",
)
.in_studies(&[Participation::beyond_quick(&WaitingSibling).reporting()]);

/// In theory: half a hint more than without one, as the store falls anywhere in it.
static HINT: Entry = entry::<Watched<Hints<1>>>(
    "cpu.wait.spin_hint",
    "A waiter that calls std::hint::spin_loop between checks",
    "Rust std::hint::spin_loop; Intel optimization manual, spin-wait loops",
);

/// In theory: eight hints more than without one.
static HINTS: Entry = entry::<Watched<Hints<16>>>(
    "cpu.wait.spin_16_hints",
    "A waiter that calls std::hint::spin_loop 16 times between checks",
    "Rust std::hint::spin_loop",
)
.beyond_quick();

#[derive(Default)]
pub(super) struct Hints<const COUNT: u32>;

impl<const COUNT: u32> Between for Hints<COUNT> {
    #[inline(always)]
    fn pass(&mut self) {
        (0..COUNT).for_each(|_| std::hint::spin_loop());
    }
}

/// In theory: the longer the wait, the later the look: half of what lies between two looks, at most 32 hints, then half a yield.
static BACKOFF: Entry = entry::<Watched<Backoff>>(
    "cpu.wait.spin_backoff",
    "A waiter that calls crossbeam's Backoff::snooze between checks: at first 1 to 64 spin hints, later a yield",
    "crossbeam::utils::Backoff",
)
.beyond_quick();

impl Between for Backoff {
    #[inline(always)]
    fn pass(&mut self) {
        self.snooze();
    }
}

/// In theory: half a system call more than without. Any other thread that wants the CPU gets it.
static YIELD: Entry = entry::<Watched<Yield>>(
    "cpu.wait.spin_yield",
    "A waiter that calls std::thread::yield_now between checks",
    "POSIX.1-2017, sched_yield",
)
.beyond_quick();

#[derive(Default)]
pub(super) struct Yield;

impl Between for Yield {
    #[inline(always)]
    fn pass(&mut self) {
        std::thread::yield_now();
    }
}

/// In theory: as a waiter with a hint while it spins, then as `cpu.wake.futex`. A thread that spins for as long as a wake-up
/// takes waits at most twice as long as with the better choice.
static SPIN_FUTEX: Entry = entry::<SpinFutex>(
    "cpu.wait.spin_futex",
    "A waiter that spins with std::hint::spin_loop for 10 µs, then sleeps on a futex; the waker always makes a futex call",
    "Karlin, Li, Manasse and Owicki, SOSP 1991; Linux, futex(2)",
)
.waiting(Waits::SpinsThenSleeps)
.beyond_quick();

/// How long a [`SpinFutex`] spins.
const SPIN_TIME: Duration = Duration::from_micros(10);

#[derive(Default)]
pub(super) struct SpinFutex(FutexWord);

impl Way for SpinFutex {
    fn sleep(&self, number: u32) -> Result<(), WaitTimeout> {
        if watch::<Hints<1>>(self.0.word(), number, SPIN_TIME) { Ok(()) } else { self.0.sleep(number) }
    }

    #[inline]
    fn wake(&self, number: u32) {
        self.0.wake(number);
    }
}

// What a thread that waits leaves to the other hardware thread of its core: thread 0 works there, and thread 1 waits for it in
// one of the ways. The cost is that of eight independent additions; next to a sleeping thread it is the cost on a core of its
// own.

/// The longest loop: some milliseconds.
const MOST_ITERATIONS: u64 = 1 << 20;

/// How long the waiter waits before the work begins, so that it sleeps where it is going to.
const SETTLED: Duration = Duration::from_micros(50);

struct Beside<W> {
    way: W,
    clock: Clock,
    wait_limit: WaitLimit,
    /// The wake-up that the waiter waits for.
    number: AtomicU32,
    /// The wake-up that the waiter is about to wait for.
    announced: AtomicU32,
    /// Start and end of the work.
    interval: [AtomicU64; 2],
}

fn work_beside<W: Way + Default>() -> Workload {
    let (number, announced, interval) = Default::default();
    let (clock, way, wait_limit) = (Clock::uncalibrated(), W::default(), WaitLimit::new(LIMIT));
    let work: fn(u64) = independent_additions;
    Workload::of_chain(
        Arc::new(Beside { way, clock, wait_limit, number, announced, interval }),
        work as usize,
        MOST_ITERATIONS,
    )
    .expecting(Expected::Uncounted("the work on the other hardware thread is timed"))
}

impl<W: Way + Default> Body for Beside<W> {
    fn prepare(&self, _: &Shot, thread: usize) {
        match thread {
            0 => drop(self.number.fetch_add(1, Ordering::Relaxed)),
            _ => self.way.join(),
        }
    }

    fn run(&self, shot: &Shot, thread: usize) {
        // Relaxed: a barrier separates this and the addition.
        let number = self.number.load(Ordering::Relaxed);
        if thread > 0 {
            self.announced.store(number, Ordering::Release);
            return or_unwind(self.way.sleep(number));
        }
        or_unwind(self.wait_limit.wait(|| self.announced.load(Ordering::Acquire) == number));
        let announced = Instant::now();
        while announced.elapsed() < SETTLED {
            std::hint::spin_loop();
        }
        let begin = self.clock.start();
        independent_additions(shot.iterations * (1 + shot.side.copies()));
        let end = self.clock.stop();
        self.way.wake(number);
        self.interval[0].store(begin, Ordering::Relaxed);
        self.interval[1].store(end, Ordering::Relaxed);
    }

    /// The interval of the work, for both threads. Relaxed: a barrier separates the stores and this.
    fn interval(&self, _: &Shot, _: usize) -> Option<[u64; 2]> {
        Some([0, 1].map(|end| self.interval[end].load(Ordering::Relaxed)))
    }

    fn verify(&self, _: &Shot, _: usize) -> Result<(), String> {
        Ok(())
    }
}
