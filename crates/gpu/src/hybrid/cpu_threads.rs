//! CPU threads that work while a kernel runs, each bound to its CPU. The threads work in turns, which the calling thread begins
//! and ends.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use syncscope_core::ExperimentError;
use syncscope_host::scheduling::{self, AffinityGuard, CpuSet};

/// Longest wait for a thread, and of a thread for its next turn: some seconds more than a batch of launches may take.
const LIMIT: Duration = Duration::from_secs(30);

/// The phase that tells the threads to end.
const END: u32 = u32::MAX;

/// The state that the threads share. Odd phases are turns, even phases are pauses.
struct Shared<T> {
    phase: AtomicU32,
    /// How many threads have begun, summed over all turns.
    begun: AtomicU32,
    reports: Mutex<Vec<Result<Report<T>, String>>>,
}

/// The result of one thread in one turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Report<T> {
    pub(crate) result: T,
    /// Whether the operating system took the CPU away during the turn, or the thread was moved to another one.
    pub(crate) was_interrupted: bool,
}

/// One turn, as a thread's work sees it.
pub(crate) struct Turn<'a> {
    phase: &'a AtomicU32,
    begun: &'a AtomicU32,
    this: u32,
    all_begun: u32,
}

impl Turn<'_> {
    /// Whether the turn has ended.
    pub(crate) fn is_over(&self) -> bool {
        // Relaxed: it orders no other memory; the result is passed on under the lock of the reports.
        self.phase.load(Ordering::Relaxed) != self.this
    }

    /// Waits until the other threads have begun, so that no thread works alone.
    pub(crate) fn wait_for_all(&self) {
        let started = Instant::now();
        while self.begun.load(Ordering::Acquire) < self.all_begun && started.elapsed() < LIMIT {
            std::hint::spin_loop();
        }
    }
}

/// Begins and ends the turns.
pub(crate) struct Coordinator<'a, T> {
    shared: &'a Shared<T>,
    count: usize,
    turns: u32,
}

impl<T> Coordinator<'_, T> {
    /// Begins a turn. All threads are working when this returns.
    pub(crate) fn begin(&mut self) -> Result<(), ExperimentError> {
        self.turns += 1;
        self.shared.phase.store(2 * self.turns - 1, Ordering::Release);
        let all_begun = self.turns * self.count as u32;
        wait_for(|| {
            let failed = lock(&self.shared.reports).iter().any(Result::is_err);
            (failed || self.shared.begun.load(Ordering::Acquire) >= all_begun).then_some(())
        })?;
        let mut reports = lock(&self.shared.reports);
        match reports.iter().position(Result::is_err).map(|index| reports.swap_remove(index)) {
            Some(Err(reason)) => Err(ExperimentError::Failed(reason)),
            _ => Ok(()),
        }
    }

    /// Ends the turn and returns the threads' results, in no particular order.
    pub(crate) fn end(&mut self) -> Result<Vec<Report<T>>, ExperimentError> {
        self.shared.phase.store(2 * self.turns, Ordering::Release);
        let reports = wait_for(|| {
            let mut reports = lock(&self.shared.reports);
            (reports.len() == self.count).then(|| std::mem::take(&mut *reports))
        })?;
        reports.into_iter().collect::<Result<_, _>>().map_err(ExperimentError::Failed)
    }
}

/// Runs `coordinate` on this thread while a thread on each of `cpus` does `work` in each turn. The threads have ended when this
/// returns, even after an error.
pub(crate) fn with_cpu_threads<T: Send, R>(
    cpus: &[u32],
    work: impl Fn(&Turn) -> T + Sync,
    coordinate: impl FnOnce(&mut Coordinator<T>) -> Result<R, ExperimentError>,
) -> Result<R, ExperimentError> {
    let shared = Shared { phase: AtomicU32::new(0), begun: AtomicU32::new(0), reports: Mutex::new(Vec::new()) };
    let (shared, work) = (&shared, &work);
    thread::scope(|scope| {
        let _end = EndOnDrop(&shared.phase);
        for cpu in cpus {
            let thread = move || run_thread(shared, cpus.len() as u32, *cpu, work);
            thread::Builder::new()
                .spawn_scoped(scope, thread)
                .map_err(|error| ExperimentError::Failed(format!("no thread could be started: {error}")))?;
        }
        let _elsewhere = AffinityGuard::keep_off(cpus);
        coordinate(&mut Coordinator { shared, count: cpus.len(), turns: 0 })
    })
}

/// Makes the threads end.
struct EndOnDrop<'a>(&'a AtomicU32);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(END, Ordering::Release);
    }
}

/// The body of one thread.
fn run_thread<T>(shared: &Shared<T>, count: u32, cpu: u32, work: &(impl Fn(&Turn) -> T + Sync)) {
    if let Err(error) = scheduling::bind_to_one(cpu) {
        lock(&shared.reports).push(Err(format!("CPU {cpu} cannot be used: {error}")));
        return;
    }
    let cpus = CpuSet::of_this_thread();
    let mut seen = 0;
    while let Some(phase) = next_phase(&shared.phase, seen) {
        seen = phase;
        if phase == END {
            return;
        }
        if phase % 2 == 1 {
            let all_begun = phase.div_ceil(2) * count;
            // A thread that was moved since the last turn returns to its CPU. If it cannot, the check after the turn finds it.
            let _ = cpus.as_ref().map(CpuSet::restore);
            let switches = scheduling::involuntary_switches();
            shared.begun.fetch_add(1, Ordering::AcqRel);
            let result = work(&Turn { phase: &shared.phase, begun: &shared.begun, this: phase, all_begun });
            let is_elsewhere = scheduling::current_cpu().is_some_and(|now| now != cpu);
            let was_interrupted = is_elsewhere || scheduling::involuntary_switches() != switches;
            lock(&shared.reports).push(Ok(Report { result, was_interrupted }));
        }
    }
}

/// Waits for the next phase; `None` if there is none within the limit.
fn next_phase(phase: &AtomicU32, seen: u32) -> Option<u32> {
    let started = Instant::now();
    loop {
        // Read the clock rarely: a reading costs as much as several of these loads.
        for _ in 0..1000 {
            let next = phase.load(Ordering::Acquire);
            if next != seen {
                return Some(next);
            }
            std::hint::spin_loop();
        }
        if started.elapsed() > LIMIT {
            return None;
        }
    }
}

fn wait_for<T>(mut ready: impl FnMut() -> Option<T>) -> Result<T, ExperimentError> {
    let started = Instant::now();
    while started.elapsed() < LIMIT {
        if let Some(found) = ready() {
            return Ok(found);
        }
        thread::yield_now();
    }
    Err(ExperimentError::TimedOut(LIMIT))
}

/// Locks the reports, even after a panic: a thread that panicked has left no report, and the others' are complete.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some_cpus(count: usize) -> Vec<u32> {
        scheduling::allowed_cpus().into_iter().cycle().take(count).collect()
    }

    /// Counts until the turn ends.
    fn count(turn: &Turn) -> u64 {
        turn.wait_for_all();
        let mut turns = 0;
        while !turn.is_over() {
            turns += 1;
            std::thread::yield_now();
        }
        turns
    }

    #[test]
    fn each_thread_reports_once_in_each_turn() {
        let cpus = some_cpus(3);
        let all = with_cpu_threads(
            &cpus,
            |turn| (count(turn), scheduling::allowed_cpus()),
            |coordinator| {
                (0..5).map(|_| coordinator.begin().and_then(|()| coordinator.end())).collect::<Result<Vec<_>, _>>()
            },
        );
        for reports in all.unwrap() {
            let mut where_they_ran: Vec<u32> = reports.iter().flat_map(|report| report.result.1.clone()).collect();
            where_they_ran.sort_unstable();
            let mut expected = cpus.clone();
            expected.sort_unstable();
            assert_eq!(where_they_ran, expected);
        }
    }

    #[test]
    fn threads_end_when_the_coordinator_fails_in_a_turn() {
        let result: Result<(), _> = with_cpu_threads(&some_cpus(2), count, |coordinator| {
            coordinator.begin()?;
            Err(ExperimentError::Failed("on purpose".to_owned()))
        });
        assert_eq!(result, Err(ExperimentError::Failed("on purpose".to_owned())));
    }

    #[test]
    fn a_cpu_that_may_not_be_used_is_named() {
        let result = with_cpu_threads(&[16_000], count, |coordinator| {
            coordinator.begin()?;
            coordinator.end()
        });
        let Err(ExperimentError::Failed(reason)) = result else { panic!("{result:?}") };
        assert!(reason.starts_with("CPU 16000 cannot be used"), "{reason}");
    }
}
