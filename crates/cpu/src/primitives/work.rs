//! Work around the acquisitions of a lock, as programs do it: a loop of dependent additions that takes a known time and
//! touches no memory, or a walk over data.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use syncscope_core::{Case, Work};

use super::operation::Executed;
use crate::memory::Pages;
use crate::timing::chains::{ARE_WRITTEN, steps_of_additions};

/// Whether the loop is written for this architecture.
pub(crate) const IS_POSSIBLE: bool = ARE_WRITTEN;

/// What the threads do around each acquisition of a lock.
pub(super) struct LockWork {
    /// Under the lock, on data of all threads.
    pub(super) inside: Task,
    /// Before each thread takes the lock again, on data of its own.
    pub(super) outside: Vec<Task>,
    threads: u32,
    /// About how long both take while the threads take turns inside.
    pub(super) round: Duration,
}

impl LockWork {
    /// The work of a case; `None` where it has none. Threads that share a lock for reading only read what it guards.
    pub(super) fn of(case: &Case, reads: bool) -> Option<Self> {
        let threads = case.threads.filter(|_| case.has_work())?;
        Some(Self {
            inside: Task::of(case.inside, reads),
            outside: (0..threads).map(|_| Task::of(case.outside, false)).collect(),
            threads,
            round: duration(case.inside) * threads + duration(case.outside),
        })
    }

    /// Prepares the data before a shot; thread 0 prepares the data that all threads share.
    pub(super) fn prepare(&self, thread: usize) {
        self.outside[thread].prepare();
        if thread == 0 {
            self.inside.prepare();
        }
    }

    /// Whether all work that belongs to these operations was done.
    pub(super) fn verify(&self, thread: usize, executed: Executed) -> Result<(), String> {
        self.outside[thread].verify(executed.own)?;
        if thread == 0 { self.inside.verify(executed.by_all(self.threads)) } else { Ok(()) }
    }
}

/// About how long the work takes a thread. The lines under a lock come from another CPU, several at once.
fn duration(work: Option<Work>) -> Duration {
    const NS_PER_LINE: u64 = 20;
    Duration::from_nanos(match work {
        None => 0,
        Some(Work::Time(ns)) => ns.into(),
        Some(Work::Memory(bytes)) => NS_PER_LINE * lines_in(bytes) as u64,
    })
}

/// A counter in a cache line of x86-64 and of most ARM64 processors.
#[repr(align(64))]
pub(super) struct CacheLine(AtomicU64);

fn lines_in(bytes: u32) -> usize {
    (bytes as usize).div_ceil(size_of::<CacheLine>())
}

/// The work in one place.
pub(super) enum Task {
    /// This many iterations of the loop.
    Loop(u64),
    /// Adds one to the counter of every line.
    Change(Pages<CacheLine>),
    /// Reads the counter of every line, and counts how often they were not all 1.
    Read(Pages<CacheLine>, AtomicU64),
}

impl Task {
    fn of(work: Option<Work>, reads: bool) -> Self {
        let lines = |bytes| Pages::filled(lines_in(bytes), |_| CacheLine(AtomicU64::new(1)));
        match work {
            None => Self::Loop(0),
            Some(Work::Time(ns)) => Self::Loop(iterations(ns)),
            Some(Work::Memory(bytes)) if reads => Self::Read(lines(bytes), AtomicU64::new(0)),
            Some(Work::Memory(bytes)) => Self::Change(lines(bytes)),
        }
    }

    /// Does the work once. Relaxed, and no atomic addition: the lock orders the accesses, or no other thread knows the data.
    #[inline(never)]
    pub(super) fn run(&self) {
        match self {
            Self::Loop(iterations) => drop(black_box(steps_of_additions(*iterations))),
            Self::Change(lines) => {
                lines.iter().for_each(|CacheLine(count)| count.store(count.load(Relaxed) + 1, Relaxed));
            }
            Self::Read(lines, missed) => {
                if sum(lines) != lines.len() as u64 {
                    missed.fetch_add(1, Relaxed);
                }
            }
        }
    }

    fn prepare(&self) {
        if let Self::Change(lines) = self {
            lines.iter().for_each(|CacheLine(count)| count.store(1, Relaxed));
        }
    }

    /// Whether the work was done `times` times since [`Self::prepare`].
    fn verify(&self, times: u64) -> Result<(), String> {
        let (found, expected) = match self {
            Self::Loop(_) => return Ok(()),
            Self::Change(lines) => (sum(lines), lines.len() as u64 * (1 + times)),
            Self::Read(_, missed) => (missed.load(Relaxed), 0),
        };
        if found == expected { Ok(()) } else { Err(format!("work on memory: expected {expected}, found {found}")) }
    }
}

fn sum(lines: &[CacheLine]) -> u64 {
    lines.iter().map(|CacheLine(count)| count.load(Relaxed)).sum()
}

/// The iterations that take `ns` nanoseconds on the calling thread's core, calibrated once for each length.
fn iterations(ns: u32) -> u64 {
    static KNOWN: Mutex<Option<HashMap<u32, u64>>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *known.get_or_insert_default().entry(ns).or_insert_with(|| if ns == 0 { 0 } else { calibrated(f64::from(ns)) })
}

fn calibrated(ns: f64) -> u64 {
    // Long against the end of a loop, which is mispredicted once.
    const MANY: u64 = 4_000;
    let each = time_of(MANY, ns) / MANY as f64;
    let first = (ns / each).max(1.0);
    // The call and the misprediction are part of the time asked for.
    let excess = time_of(first as u64, ns) - ns;
    (first - excess / each).round().max(1.0) as u64
}

/// How long one loop takes, in ns: the fastest of some tries, since interruptions only add.
fn time_of(iterations: u64, about_ns: f64) -> f64 {
    const TRIES: usize = 7;
    const TRY_NS: f64 = 100_000.0;
    let task = Task::Loop(iterations);
    let calls = (TRY_NS / about_ns).clamp(4.0, 2_000.0) as u32;
    let mut fastest = f64::INFINITY;
    for _ in 0..TRIES {
        let started = Instant::now();
        for _ in 0..calls {
            black_box(&task).run();
        }
        fastest = fastest.min(started.elapsed().as_nanos() as f64 / f64::from(calls));
    }
    fastest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_work_has_more_iterations() {
        let iterations = [10, 1_000, 100_000].map(iterations);
        assert!(!IS_POSSIBLE || iterations.is_sorted_by(|a, b| a < b), "{iterations:?}");
    }

    fn work(inside: Option<Work>, outside: Option<Work>, reads: bool) -> Option<LockWork> {
        LockWork::of(&Case { inside, outside, threads: Some(2), ..Case::new("cpu.lock.ticket") }, reads)
    }

    #[test]
    fn a_round_has_the_work_of_all_threads_inside() {
        assert!(work(None, None, false).is_none());
        let times = work(Some(Work::Time(1_000)), Some(Work::Time(10_000)), false).unwrap();
        assert_eq!(times.round, Duration::from_micros(12));
    }

    #[test]
    fn a_walk_that_is_missing_in_one_line_is_found() {
        let work = work(Some(Work::Memory(4096)), Some(Work::Memory(65)), false).unwrap();
        let Task::Change(lines) = &work.inside else { panic!("a walk") };
        assert_eq!(lines.len(), 64);
        for _ in 0..2 {
            (0..2).for_each(|thread| work.prepare(thread));
            (0..2).for_each(|thread| work.outside[thread].run());
            (0..2).for_each(|_| work.inside.run());
            assert_eq!((0..2).try_for_each(|thread| work.verify(thread, Executed::by_each(1))), Ok(()));
        }
        lines[9].0.fetch_sub(1, Relaxed);
        assert!(work.verify(0, Executed::by_each(1)).is_err());
        assert!(work.verify(1, Executed::by_each(2)).is_err(), "its own");
    }

    #[test]
    fn readers_find_what_another_thread_changes() {
        let work = work(Some(Work::Memory(4096)), None, true).unwrap();
        let Task::Read(lines, _) = &work.inside else { panic!("a walk") };
        work.inside.run();
        assert_eq!(work.verify(0, Executed::by_each(1)), Ok(()));
        lines[63].0.store(2, Relaxed);
        work.inside.run();
        assert!(work.verify(0, Executed::by_each(1)).is_err());
    }
}
