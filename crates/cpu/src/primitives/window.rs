//! Threads that contend, timed in a window that all of them share.
//!
//! A loop of fixed work has a tail: the thread left behind ends it without contention, and the tail grows with the work, so that
//! the difference of two loops keeps it. Here no thread has a fixed amount of work. All run in, until the last has executed an
//! operation and a while longer; each counts what it executes in the window; and all run out, until the last has left the window.
//! The cost is the length of the window, divided by the operations of a thread in it.
//!
//! A thread reads the clock once in a chunk of operations ([`Watch::look`]). A chunk across an edge of the window counts by
//! the share of its time inside, so that every thread is counted over the whole window. A look takes some 30 ns and a chunk
//! [`LOOK`]: less than 1 % of the cost. A thread that looks loses the line or the lock that it would have kept for another
//! operation, so a chunk has [`FEWEST_TURNS`] where they fit: with 8 additions by each of 16 threads between two looks, an
//! addition cost 8 to 13 % more than in a program's loop (Sapphire Rapids). Besides [`UNROLL`] operations,
//! a turn of the loop holds one count down to the next look, as a program's loop does.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use syncscope_core::{Shot, Side};

use super::operation::{Executed, Operation, TURN as UNROLL, Turns, slot_of, window_loop};
use super::wait::{LIMIT, or_unwind};
use crate::evidence::LoopFunctions;
use crate::memory::Pages;
use crate::memory::inherited;
use crate::sync::{CachePadded, WaitTimeout};
use crate::team::Body;
use crate::timing::clock::Clock;

/// How long a chunk of operations takes at least, where a thread is not kept waiting for longer.
const LOOK: Duration = Duration::from_micros(4);

/// The turns of the loop in a chunk, unless they take longer than [`LONGEST_LOOK`].
const FEWEST_TURNS: u64 = 32;

/// A chunk may take this part of a window.
const LONGEST_LOOK: f64 = 0.125;

/// How long a window is for each thread of the team, and at least. The threads of an unfair lock get it in bursts, and the one
/// that gets it least, of 16 on a Sapphire Rapids, every 100 to 200 us. A longer window is interrupted more often.
const LENGTH_PER_THREAD: Duration = Duration::from_micros(50);
const SHORTEST: Duration = Duration::from_micros(200);
const LONGEST: Duration = Duration::from_millis(2);

/// The threads run together for this part of a window before it begins: their lines, their order and their queue are then
/// those of the window.
const RUN_IN: f64 = 0.25;

/// A thread that waits when the window ends may wait for ever, as long as the others go on. They stop after this part of a
/// window.
const LONGEST_RUN_OUT: f64 = 1.0;

/// What the threads of a team share of a window, each number on a line of its own: [`Self::RUNNING`], [`Self::BEGIN`],
/// [`Self::LEFT`], then what each thread counted. Several processes may map it.
struct Window {
    lines: Pages<CachePadded<AtomicU64>>,
    threads: usize,
}

impl Window {
    /// How many threads have executed an operation.
    const RUNNING: usize = 0;
    /// When the window begins; [`u64::MAX`] until all run.
    const BEGIN: usize = 1;
    /// How many threads have passed the end of the window.
    const LEFT: usize = 2;
    const COMMON: usize = 3;

    /// The window of a team of threads, or of processes with one thread each; `None` if there is no room.
    fn of(threads: usize) -> Option<Self> {
        let lines = inherited::state(Self::COMMON + 2 * threads, |_| CachePadded::default())?;
        Some(Self { lines, threads })
    }

    /// All turns that the thread executed, with those before and after the window.
    fn executed_by(&self, thread: usize) -> &AtomicU64 {
        &self.lines[Self::COMMON + thread]
    }

    /// The turns that the thread executed in the window: the bits of an `f64`.
    fn counted_by(&self, thread: usize) -> &AtomicU64 {
        &self.lines[Self::COMMON + self.threads + thread]
    }

    /// Keeps what a thread executed.
    #[inline(never)]
    fn keep(&self, thread: usize, count: &Count) {
        self.executed_by(thread).store(count.executed, Relaxed);
        self.counted_by(thread).store(count.in_window.to_bits(), Relaxed);
    }

    /// Resets the window before the threads start together.
    fn reset(&self) {
        for (line, value) in [(Self::RUNNING, 0), (Self::BEGIN, u64::MAX), (Self::LEFT, 0)] {
            self.lines[line].store(value, Relaxed);
        }
    }

    /// The operations that the threads executed, seen by `thread`, with `in_a_turn` of them in each turn of the loop.
    fn executed(&self, thread: usize, in_a_turn: u64) -> Executed {
        let all = (0..self.threads).map(|thread| self.executed_by(thread).load(Relaxed) * in_a_turn);
        Executed {
            own: self.executed_by(thread).load(Relaxed) * in_a_turn,
            most: all.clone().max().unwrap_or_default(),
            all: Some(all.sum()),
        }
    }
}

/// What one thread has executed, chunk by chunk. All times are in ticks.
struct Count {
    /// When the last chunk ended.
    last: u64,
    /// The turns of the loop in the next chunk.
    chunk: u64,
    executed: u64,
    in_window: f64,
}

impl Count {
    const fn from(now: u64) -> Self {
        Self { last: now, chunk: 1, executed: 0, in_window: 0.0 }
    }

    /// Counts a chunk that has ended `now`, and chooses the next one: [`FEWEST_TURNS`], as long as these take no less and no more
    /// time than `look` says.
    fn end_chunk(&mut self, now: u64, window: Range<u64>, look: &Range<u64>) {
        let chunk = std::mem::replace(&mut self.last, now)..now;
        self.executed += self.chunk;
        self.in_window += counted_in(window, &chunk, self.chunk);
        let taken = chunk.end.saturating_sub(chunk.start).max(1);
        let time = (FEWEST_TURNS * taken / self.chunk).clamp(look.start, look.end);
        let fitting = self.chunk * time / taken;
        self.chunk = fitting.clamp(1, 2 * self.chunk);
    }
}

/// How many of the turns in a `chunk` of time count for the window. A chunk that lasted longer than the window counts like a
/// single turn, because it is not known when its turns were done.
fn counted_in(window: Range<u64>, chunk: &Range<u64>, turns: u64) -> f64 {
    let inside = chunk.end.min(window.end).saturating_sub(chunk.start.max(window.start));
    let lasted = chunk.end.saturating_sub(chunk.start).max(1);
    let holds_window = chunk.start <= window.start && window.end <= chunk.end;
    let turns = if holds_window { 1 } else { turns };
    turns as f64 * inside as f64 / lasted as f64
}

/// One thread's view of a window.
struct Watch<'a> {
    window: &'a Window,
    clock: &'a Clock,
    count: Count,
    /// In ticks, as all times here.
    length: u64,
    look: Range<u64>,
    /// When this thread gives up waiting for another one to begin.
    patience: u64,
    has_left: bool,
}

impl<'a> Watch<'a> {
    /// Not inlined, like [`Window::keep`]: every operation has a copy of [`Windowed::run`].
    #[inline(never)]
    fn begin(window: &'a Window, clock: &'a Clock, length: Duration) -> Self {
        let ticks = |time: Duration| (time.as_nanos() as f64 / clock.ns_per_tick()) as u64;
        let now = clock.start();
        let (look, length, patience) =
            (ticks(LOOK)..ticks(length.mul_f64(LONGEST_LOOK)), ticks(length), now + ticks(LIMIT));
        Self { window, clock, count: Count::from(now), length, look, patience, has_left: false }
    }

    /// Announces that this thread runs. The last thread to do so decides when the window begins.
    fn announce(&self, now: u64) {
        let running = self.window.lines[Window::RUNNING].fetch_add(1, Relaxed) + 1;
        if running == self.window.threads as u64 {
            self.window.lines[Window::BEGIN].store(now + (self.length as f64 * RUN_IN) as u64, Relaxed);
        }
    }

    /// Whether nobody needs this thread's contention any more, `after` ticks after the window.
    fn is_over(&mut self, after: u64) -> bool {
        let left = &self.window.lines[Window::LEFT];
        if !std::mem::replace(&mut self.has_left, true) {
            left.fetch_add(1, Relaxed);
        }
        left.load(Relaxed) >= self.window.threads as u64 || after as f64 > self.length as f64 * LONGEST_RUN_OUT
    }
}

impl Turns for Watch<'_> {
    fn first(&self) -> u64 {
        self.count.chunk
    }

    /// Reads the clock after a chunk and returns the turns of the loop until the next look: 0 when the thread is done.
    ///
    /// Relaxed: the numbers publish nothing.
    #[cold]
    #[inline(never)]
    fn look(&mut self) -> u64 {
        let now = self.clock.stop();
        if self.count.executed == 0 {
            self.announce(now);
        }
        let begin = self.window.lines[Window::BEGIN].load(Relaxed);
        if begin == u64::MAX && now > self.patience {
            or_unwind::<()>(Err(WaitTimeout));
        }
        let end = begin.saturating_add(self.length);
        self.count.end_chunk(now, begin..end, &self.look);
        if now >= end && self.is_over(now - end) { 0 } else { self.count.chunk }
    }
}

/// An operation in a window, as a job for a team.
struct Windowed<O> {
    operation: Arc<O>,
    window: Arc<Window>,
    clock: Clock,
    length: Duration,
}

impl<O: Operation> Body for Windowed<O> {
    fn prepare(&self, shot: &Shot, thread: usize) {
        self.operation.prepare(slot_of(shot.pair), thread);
        if thread == 0 {
            self.window.reset();
        }
    }

    #[inline(never)]
    fn run(&self, shot: &Shot, thread: usize) {
        let local = self.operation.local(slot_of(shot.pair), thread);
        let mut watch = Watch::begin(&self.window, &self.clock, self.length);
        match shot.side.copies() - O::IN_CONTEXT.min(shot.side.copies()) {
            0 => O::repeat_in_window::<_, 0>(local, &mut watch),
            // No other loop is compiled for an operation that is its own context.
            2.. if const { O::IN_CONTEXT == 0 } => O::repeat_in_window::<_, 2>(local, &mut watch),
            _ => O::repeat_in_window::<_, 1>(local, &mut watch),
        }
        self.window.keep(thread, &watch.count);
    }

    fn counted(&self, thread: usize) -> Option<f64> {
        Some(f64::from_bits(self.window.counted_by(thread).load(Relaxed)))
    }

    /// The state must have counted what all threads executed, before and after the window too.
    fn verify(&self, shot: &Shot, thread: usize) -> Result<(), String> {
        let executed = self.window.executed(thread, operations_in_turns(shot.side, 1));
        self.operation.verify(slot_of(shot.pair), thread, executed)
    }
}

/// The operations in `turns` turns of the loop of a side. Where the operation is its own context, the loop without a further copy
/// is the test.
pub(crate) fn operations_in_turns(side: Side, turns: u64) -> u64 {
    side.copies() * u64::from(UNROLL) * turns
}

/// Makes a job of these windows.
pub(crate) type Make<T> = Box<dyn Fn(&Windows, &Clock) -> T + Send + Sync>;

/// How a case is timed in windows.
pub(crate) struct Windows {
    make: Make<Arc<dyn Body>>,
    pub(super) handovers: Option<Make<HandoverRun>>,
    state: Arc<Window>,
    /// The loops, without a further copy of the operation and with one.
    pub(crate) functions: LoopFunctions,
    /// How long a window is.
    pub(crate) length: Duration,
    /// Whether longer windows show how fair the threads are for longer.
    pub(super) has_long: bool,
    /// Whether the context executes something else, so that its time has to be taken off.
    pub(crate) has_baseline: bool,
}

/// A run that shows how often a lock passes from one thread to another.
pub(crate) struct HandoverRun {
    pub(crate) body: Arc<dyn Body>,
    /// Acquisitions for each change of the holder, in the median window; `None` without a window.
    pub(crate) acquisitions_per_handover: Box<dyn Fn() -> Option<f64>>,
}

impl Windows {
    /// The windows of an operation for which `threads` threads contend; `None` if there is no room.
    pub(super) fn of<O: Operation>(operation: Arc<O>, threads: u32) -> Option<Self> {
        let baseline: fn(O::Local<'static>, &mut Watch<'static>) = window_loop::<O, Watch<'static>, 0>;
        let test: fn(O::Local<'static>, &mut Watch<'static>) = window_loop::<O, Watch<'static>, 1>;
        let functions = LoopFunctions { baseline: baseline as usize, test: test as usize, unroll: UNROLL };
        let make = Box::new(move |windows: &Self, clock: &Clock| windows.body_of(Arc::clone(&operation), clock));
        Self::made_by(make, functions, threads, O::IN_CONTEXT == 0)
    }

    /// What all operations have in common: compiled once.
    #[inline(never)]
    fn made_by(make: Make<Arc<dyn Body>>, functions: LoopFunctions, threads: u32, has_baseline: bool) -> Option<Self> {
        Some(Self {
            make,
            handovers: None,
            state: Arc::new(Window::of(threads as usize)?),
            functions,
            length: (LENGTH_PER_THREAD * threads).clamp(SHORTEST, LONGEST),
            has_long: false,
            has_baseline,
        })
    }

    /// The job of the case.
    pub(crate) fn body(&self, clock: &Clock) -> Arc<dyn Body> {
        (self.make)(self, clock)
    }

    /// The job of the case in windows of this length; `None` without long ones.
    pub(crate) fn long_body(&mut self, length: Duration, clock: &Clock) -> Option<Arc<dyn Body>> {
        if !self.has_long {
            return None;
        }
        let usual = std::mem::replace(&mut self.length, length);
        let body = self.body(clock);
        self.length = usual;
        Some(body)
    }

    /// The same windows with another operation.
    pub(super) fn body_of<O: Operation>(&self, operation: Arc<O>, clock: &Clock) -> Arc<dyn Body> {
        Arc::new(Windowed { operation, window: Arc::clone(&self.state), clock: clock.clone(), length: self.length })
    }

    /// The run that counts handovers; only locks have one.
    pub(crate) fn handovers(&self, clock: &Clock) -> Option<HandoverRun> {
        Some(self.handovers.as_ref()?(self, clock))
    }

    /// Whether a side has a window: a baseline without operations and without a context takes no time.
    pub(crate) fn is_timed(&self, side: Side) -> bool {
        self.has_baseline || side != Side::Baseline
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::{Executor as _, Team};
    use syncscope_core::Case;

    /// Threads that contend for what one at a time can have, in simulated time.
    struct Contention {
        /// The chance of each thread to be the next, against the others that wait.
        weights: Vec<usize>,
        /// When each starts.
        starts: Vec<u64>,
    }

    /// How long an operation takes while others wait, and without.
    const CONTENDED: u64 = 30;
    const ALONE: u64 = 5;

    impl Contention {
        /// Calls `completed` with thread and time after each operation, until it says of each thread that it is done.
        fn simulate(&self, mut completed: impl FnMut(usize, u64) -> bool) {
            let mut active: Vec<usize> = (0..self.weights.len()).collect();
            let (mut now, mut random) = (0, fastrand::Rng::with_seed(1));
            while let Some(first) = active.iter().map(|thread| self.starts[*thread]).min() {
                now = now.max(first);
                let here: Vec<usize> = active.iter().copied().filter(|thread| self.starts[*thread] <= now).collect();
                let tickets: Vec<usize> = here.iter().flat_map(|thread| vec![*thread; self.weights[*thread]]).collect();
                let next = tickets[random.usize(..tickets.len())];
                now += if here.len() > 1 { CONTENDED } else { ALONE };
                if completed(next, now) {
                    active.retain(|thread| *thread != next);
                }
            }
        }

        /// When the last thread is done, each with `operations` operations.
        fn fixed_work(&self, operations: u64) -> f64 {
            let (mut done, mut last) = (vec![0; self.weights.len()], 0);
            self.simulate(|thread, now| {
                (done[thread], last) = (done[thread] + 1, now);
                done[thread] == operations
            });
            last as f64
        }

        /// What an operation costs each thread by a window.
        fn in_window(&self, length: u64) -> Vec<f64> {
            let threads = self.weights.len();
            let mut counts: Vec<Count> = self.starts.iter().map(|start| Count::from(*start)).collect();
            let (mut left, mut has_left) = (vec![1; threads], vec![false; threads]);
            let (mut running, mut begin) = (0, u64::MAX);
            self.simulate(|thread, now| {
                left[thread] -= 1;
                if left[thread] > 0 {
                    return false;
                }
                if counts[thread].executed == 0 {
                    running += 1;
                    begin = if running == threads { now + length / 4 } else { begin };
                }
                let end = begin.saturating_add(length);
                counts[thread].end_chunk(now, begin..end, &(length / 50..length / 8));
                left[thread] = counts[thread].chunk;
                has_left[thread] |= now >= end;
                now >= end && (has_left.iter().all(|has| *has) || now > end + length)
            });
            counts.iter().map(|count| length as f64 / count.in_window).collect()
        }

        /// What an operation costs each thread while all run.
        fn truth(&self) -> Vec<f64> {
            let all: usize = self.weights.iter().sum();
            self.weights.iter().map(|weight| (CONTENDED * all as u64) as f64 / *weight as f64).collect()
        }
    }

    fn worst_error(found: &[f64], truth: &[f64]) -> f64 {
        found.iter().zip(truth).map(|(found, truth)| (found / truth - 1.0).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn a_window_gives_the_cost_of_unequal_threads_and_fixed_work_does_not() {
        let unequal = Contention { weights: vec![3, 1], starts: vec![0; 2] };
        let error = worst_error(&unequal.in_window(2_000_000), &unequal.truth());
        assert!(error < 0.03, "{error}");
        // The slower thread ends alone, and that tail is twice as long in a loop of twice the work.
        let by_loops = (unequal.fixed_work(20_000) - unequal.fixed_work(10_000)) / 10_000.0;
        assert!(by_loops < 0.5 * unequal.truth()[1], "{by_loops} of {:?}", unequal.truth());
        let sixteen = Contention { weights: (1..=16).collect(), starts: vec![0; 16] };
        let error = worst_error(&sixteen.in_window(40_000_000), &sixteen.truth());
        assert!(error < 0.05, "{error}");
    }

    #[test]
    fn a_window_waits_for_a_thread_that_comes_late() {
        let late = |start| Contention { weights: vec![1, 1], starts: vec![0, start] };
        for start in [0, 50_000, 3_000_000] {
            let error = worst_error(&late(start).in_window(2_000_000), &late(start).truth());
            assert!(error < 0.03, "{start}: {error}");
        }
        let by_loops = (late(300_000).fixed_work(20_000) - late(0).fixed_work(10_000)) / 10_000.0;
        assert!(by_loops < 0.0, "they never met: {by_loops}");
    }

    #[test]
    fn a_thread_that_gets_nothing_costs_at_least_the_window() {
        let found = Contention { weights: vec![2_000, 1], starts: vec![0; 2] }.in_window(1_000);
        assert!(found[1] >= 1_000.0 && (found[0] / 30.0 - 1.0).abs() < 0.05, "{found:?}");
        let mut count = Count { chunk: 20, ..Count::from(900) };
        count.end_chunk(2_900, 1_000..2_000, &(50..125));
        assert!((count.in_window - 0.5).abs() < 1e-12, "one operation in twice the window");
        assert_eq!((count.executed, count.chunk), (20, 1), "a short chunk follows a long one");
    }

    #[test]
    fn a_chunk_across_an_edge_counts_in_part() {
        for (chunk, counted) in [(0..100, 0.0), (50..150, 5.0), (120..160, 10.0), (190..210, 5.0), (200..300, 0.0)] {
            assert!((counted_in(100..200, &chunk, 10) - counted).abs() < 1e-12, "{chunk:?}");
        }
        assert!((counted_in(100..200, &(50..250), 10) - 0.5).abs() < 1e-12);
        assert!(counted_in(u64::MAX..u64::MAX, &(7..9), 10).abs() < 1e-12, "no window yet");
    }

    /// Counts all operations but `lost`.
    struct Counting {
        counter: AtomicU64,
        lost: u64,
    }

    impl Operation for Counting {
        type Local<'a> = &'a AtomicU64;
        fn local(&self, _: usize, _: usize) -> &AtomicU64 {
            &self.counter
        }
        fn execute(counter: &mut &AtomicU64) {
            counter.fetch_add(1, Relaxed);
        }
        fn prepare(&self, _: usize, thread: usize) {
            if thread == 0 {
                self.counter.store(0, Relaxed);
            }
        }
        fn verify(&self, _: usize, thread: usize, executed: Executed) -> Result<(), String> {
            // Thread 0 may already have prepared the next shot.
            let (expected, found) = (executed.by_all(3), self.counter.load(Relaxed));
            if thread > 0 || expected == found - self.lost { Ok(()) } else { Err(format!("{found} of {expected}")) }
        }
    }

    /// Three threads are more than some test machines have CPUs: they take turns, and the window waits for all.
    fn run(lost: u64, side: Side) -> Vec<Vec<crate::team::Record>> {
        let clock = Clock::calibrate();
        let windows = Windows::of(Arc::new(Counting { counter: AtomicU64::new(0), lost }), 3).unwrap();
        let mut team = Team::assemble(&[None; 3], &clock).unwrap();
        let shots = [0, 1].map(|pair| Shot { side, iterations: 1, pair });
        team.run(&windows.body(&clock), &shots, Duration::from_secs(60)).unwrap()
    }

    #[test]
    fn the_state_counts_what_is_executed_in_and_around_the_window() {
        for side in [Side::Test, Side::Double] {
            for record in run(0, side).iter().flatten() {
                assert_eq!(record.defect, None);
                assert!(record.counted.is_some_and(|counted| counted > 0.0), "{record:?}");
            }
        }
        let defect = run(1, Side::Test)[0][0].defect.clone().unwrap();
        assert!(defect.contains(" of "), "{defect}");
    }

    #[test]
    fn one_thread_has_no_window() {
        let counting = || Arc::new(Counting { counter: AtomicU64::new(0), lost: 0 });
        let windows = |threads| {
            let case = Case { threads: Some(threads), ..Case::new("cpu.atomic.add") };
            super::super::Workload::contended(counting(), &case).unwrap().windows
        };
        assert!(windows(1).is_none());
        let windows = windows(2).unwrap();
        assert!(!windows.is_timed(Side::Baseline) && windows.is_timed(Side::Test));
        assert_eq!([Side::Baseline, Side::Test, Side::Double].map(|side| operations_in_turns(side, 10)), [0, 20, 40]);
    }
}
