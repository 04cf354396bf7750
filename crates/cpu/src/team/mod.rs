//! The team: threads, each bound to its CPU, that run the shots of an experiment together.
//!
//! - This file: [`Body`], what a thread does in a shot; [`Executor`], what runs it; [`Team`], an executor made of threads. Start
//!   here.
//! - `reports.rs`: what the main thread and the threads of the team exchange.
//! - `team_thread.rs`: the loop of a team's thread, and one shot of one thread, with its clock readings.
//! - [`openmp`]: loading an OpenMP runtime, and a batch on its threads.
//! - `pool.rs`: the teams that are kept for the next case.
//!
//! The main thread posts one batch of shots at a time and then blocks, so that it disturbs no measurement. The threads
//! of the team start each shot together through a barrier of their own, and each times its own part. A job is `'static`
//! and shared, so a team whose threads do not come back can be abandoned without dangling references.

mod reports;
mod team_thread;

pub mod openmp;
pub(crate) mod pool;

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use syncscope_core::{Refusal, Shot, Ticks};
use syncscope_host::limits;

use self::openmp::Runtime;
use self::reports::{Batch, Shared};
use crate::sync::SenseBarrier;
use crate::timing::clock::Clock;

pub(crate) use self::reports::{Numbered, PEER_TIMEOUT, Report, Stopped, collect};
pub(crate) use self::team_thread::TeamThread;

/// What the threads of a team do in a shot.
pub trait Body: Send + Sync {
    /// Initializes this thread's part of the state, before the shot and outside its time.
    fn prepare(&self, shot: &Shot, thread: usize);

    /// The timed part.
    fn run(&self, shot: &Shot, thread: usize);

    /// When the timed part began and ended for this thread, in ticks of the clock, for a job that times a part of `run`
    /// itself. Asked once all threads are done.
    fn interval(&self, _shot: &Shot, _thread: usize) -> Option<[u64; 2]> {
        None
    }

    /// How many turns of its loop the thread executed in the window that the team shared, for a job that is timed in one.
    /// Asked once all threads are done.
    fn counted(&self, _thread: usize) -> Option<f64> {
        None
    }

    /// Checks this thread's part of the state after all threads are done. Only this part: other threads may already
    /// prepare theirs for the next shot.
    ///
    /// # Errors
    /// What was expected and what was found.
    fn verify(&self, shot: &Shot, thread: usize) -> Result<(), String>;
}

/// What one thread saw of one shot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// When [`Body::run`] began.
    pub started: Ticks,
    /// When [`Body::run`] returned.
    pub stopped: Ticks,
    /// How many turns of its loop the thread executed in a window that the team shared.
    pub counted: Option<f64>,
    /// Whether the operating system took the CPU away in between.
    pub switched: bool,
    /// Whether a bound thread was on another CPU, or an unbound thread lost some of its CPUs.
    pub migrated: bool,
    /// Core cycles per tick during the shot, as the processor counted them in user mode; only thread 0 counts.
    pub counted_per_tick: Option<f64>,
    /// Core cycles per tick right after the shot, from a chain of dependent additions; only thread 0 measures it.
    pub chained_per_tick: Option<f64>,
    /// The contention ratio of the core right before and right after the shot, where it can be measured (see
    /// `timing::smt_interference`).
    pub contention_ratio: [Option<f64>; 2],
    /// The error of [`Body::verify`].
    pub defect: Option<String>,
}

/// Why a team gave no records.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TeamError {
    /// Some threads did not finish.
    #[error("not done after {0:?}")]
    TimedOut(Duration),
    /// A thread or a process failed; the text holds what a user needs to act.
    #[error("{0}")]
    Failed(String),
    /// The system refused to start or bind a thread or a process, or ended one; another attempt may succeed.
    #[error("{0}")]
    Prevented(String),
    /// The team failed before and takes no more jobs.
    #[error("this team failed earlier")]
    Poisoned,
}

impl From<TeamError> for Refusal {
    fn from(error: TeamError) -> Self {
        match error {
            TeamError::Prevented(reason) => Self::Prevented(reason),
            other => Self::Failed(other.to_string()),
        }
    }
}

/// A case that cannot be made ready, for workers.
impl From<Refusal> for TeamError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Prevented(reason) => Self::Prevented(reason),
            other => Self::Failed(other.to_string()),
        }
    }
}

impl TeamError {
    /// The error of a wait that began at `started`.
    pub(crate) fn timed_out(started: Instant) -> Self {
        Self::TimedOut(Duration::from_millis(started.elapsed().as_millis() as u64))
    }
}

/// How long starting and binding all threads may take.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(20);

/// Which loops of a case the shots run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// The timed loops.
    Samples,
    /// The loops that are timed in windows, which all threads share.
    Windows,
    /// The loops that prove that the primitive works.
    Proof,
}

/// Threads that run the shots of an experiment together: a [`Team`], or processes.
pub trait Executor {
    /// The CPUs its threads are bound to.
    fn cpus(&self) -> &[Option<u32>];

    /// Whether the executor takes another job.
    fn is_fit(&self) -> bool;

    /// Runs `shots` one after the other. The records come by thread, then by shot. `body` is the job for `purpose`.
    ///
    /// # Errors
    /// When a thread panics or not all are done after `limit`; the threads then take no more jobs.
    fn run_for(
        &mut self,
        purpose: Purpose,
        body: &Arc<dyn Body>,
        shots: &[Shot],
        limit: Duration,
    ) -> Result<Vec<Vec<Record>>, TeamError>;

    /// Runs shots of the timed loops.
    ///
    /// # Errors
    /// As [`Self::run_for`].
    fn run(&mut self, body: &Arc<dyn Body>, shots: &[Shot], limit: Duration) -> Result<Vec<Vec<Record>>, TeamError> {
        self.run_for(Purpose::Samples, body, shots, limit)
    }
}

/// A persistent team: threads of this program, or those of an OpenMP runtime.
pub struct Team {
    /// The runtime whose threads form the team; `None` for threads of this program.
    runtime: Option<&'static Runtime>,
    cpus: Vec<Option<u32>>,
    shared: Arc<Shared>,
    reports: Receiver<Numbered>,
    /// The channels by which threads that this program started get their batches; when they are dropped, the threads leave.
    batches: Vec<Sender<Arc<Batch>>>,
    started: Vec<JoinHandle<()>>,
    failed: bool,
}

impl Team {
    /// Starts one thread for each entry of `cpus` and binds it to that CPU.
    ///
    /// # Errors
    /// When a thread cannot be started or bound.
    pub fn assemble(cpus: &[Option<u32>], clock: &Clock) -> Result<Self, TeamError> {
        is_room_for(cpus.len(), limits::threads_left()).map_err(TeamError::Failed)?;
        let mut team = Self::of(None, cpus, clock);
        for (thread, cpu) in cpus.iter().copied().enumerate() {
            team.start(format!("team-{thread}"), move |shared, batches| {
                team_thread::serve(thread, cpu, shared, batches);
            })?;
        }
        team.collect(STARTUP_TIMEOUT).map_err(|error| TeamError::Prevented(error.to_string()))?;
        Ok(team)
    }

    /// Starts the thread that enters the runtime's parallel regions; the runtime starts its own threads in the first one.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn of_runtime(runtime: &'static Runtime, cpus: &[Option<u32>], clock: &Clock) -> Result<Self, TeamError> {
        openmp::is_room_for_stacks(cpus.len(), |name| std::env::var(name).ok()).map_err(TeamError::Failed)?;
        let mut team = Self::of(Some(runtime), cpus, clock);
        let cpus = cpus.to_vec();
        team.start("openmp-0".to_owned(), move |shared, batches| openmp::serve(runtime, &cpus, shared, batches))?;
        team.failed = false;
        Ok(team)
    }

    /// Creates a team without threads. Until it is assembled it counts as failed: its threads do not read commands yet and are
    /// not waited for.
    fn of(runtime: Option<&'static Runtime>, cpus: &[Option<u32>], clock: &Clock) -> Self {
        let (sender, reports) = mpsc::channel();
        let barrier = SenseBarrier::new(cpus.len() as u32, PEER_TIMEOUT);
        let shared = Arc::new(Shared { clock: clock.clone(), barrier, reports: sender });
        let (batches, started) = (Vec::new(), Vec::new());
        Self { runtime, cpus: cpus.to_vec(), shared, reports, batches, started, failed: true }
    }

    fn start(
        &mut self,
        name: String,
        serve: impl FnOnce(&Shared, &Receiver<Arc<Batch>>) + Send + 'static,
    ) -> Result<(), TeamError> {
        let (thread, shared) = (self.started.len(), Arc::clone(&self.shared));
        let (sender, batches) = mpsc::channel();
        let spawned = thread::Builder::new().name(name).spawn(move || serve(&shared, &batches));
        let failed = |error| {
            TeamError::Prevented(format!(
                "could not start thread {thread}: {error}; check the limits on processes and memory (`ulimit -u -v`, pids.max, \
                 RUST_MIN_STACK)"
            ))
        };
        self.started.push(spawned.map_err(failed)?);
        self.batches.push(sender);
        Ok(())
    }

    /// The name of the runtime whose threads form the team.
    fn runtime(&self) -> Option<&'static str> {
        self.runtime.map(|runtime| runtime.name)
    }

    /// Lets the threads leave and returns their handles. Threads of a failed team may never return from their job.
    fn let_go(&mut self) -> Vec<JoinHandle<()>> {
        self.batches.clear();
        std::mem::take(&mut self.started)
    }

    /// Waits for the reports of all threads; after an error the team takes no more jobs.
    fn collect(&mut self, limit: Duration) -> Result<Vec<Vec<Record>>, TeamError> {
        let started = Instant::now();
        let found = collect(&self.reports, 0..self.cpus.len(), limit).map_err(|(_, stopped)| {
            self.shared.barrier.abort();
            match stopped {
                Stopped::Failed(cause) => TeamError::Failed(cause),
                _ => TeamError::timed_out(started),
            }
        });
        self.failed = found.is_err();
        found
    }
}

/// Refuses more threads than the system has mappings of memory for.
fn is_room_for(threads: usize, left: Option<usize>) -> Result<(), String> {
    match left {
        Some(left) if threads > left => Err(format!(
            "{threads} threads are too many: this process may have the memory mappings of {left} (vm.max_map_count); name \
             fewer, or raise it (`sysctl vm.max_map_count`)"
        )),
        _ => Ok(()),
    }
}

impl Executor for Team {
    fn cpus(&self) -> &[Option<u32>] {
        &self.cpus
    }

    fn is_fit(&self) -> bool {
        !self.failed
    }

    /// Ignores the purpose: the threads run the given body.
    fn run_for(
        &mut self,
        _: Purpose,
        body: &Arc<dyn Body>,
        shots: &[Shot],
        limit: Duration,
    ) -> Result<Vec<Vec<Record>>, TeamError> {
        if self.failed {
            return Err(TeamError::Poisoned);
        }
        let batch = Arc::new(Batch { body: Arc::clone(body), shots: shots.to_vec() });
        // A thread that is gone has reported why.
        self.batches.iter().for_each(|sender| drop(sender.send(Arc::clone(&batch))));
        self.collect(limit)
    }
}

impl Drop for Team {
    /// Ends the threads and, with the thread that enters its regions, those of a runtime. Threads of a failed team may never come
    /// back and are not waited for.
    fn drop(&mut self) {
        let started = self.let_go();
        if !self.failed {
            // The threads catch panics of their jobs, so joining them has no result of interest.
            for thread in started {
                let _ = thread.join();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic;
    use std::sync::atomic::{AtomicU64, Ordering};
    use syncscope_core::Side;

    fn shots(count: u64) -> Vec<Shot> {
        (0..count).map(|pair| Shot { side: Side::Baseline, iterations: 1, pair }).collect()
    }

    fn team(threads: usize) -> Team {
        Team::assemble(&vec![None; threads], &Clock::calibrate()).unwrap()
    }

    const LIMIT: Duration = Duration::from_secs(20);

    #[test]
    fn more_threads_than_there_are_mappings_for_are_refused() {
        assert!(is_room_for(65_536, None).is_ok() && is_room_for(16_000, Some(16_000)).is_ok());
        let refused = is_room_for(65_536, Some(16_000)).unwrap_err();
        assert!(refused.starts_with("65536 threads are too many") && refused.contains("max_map_count"), "{refused}");
        assert!(limits::threads_left().is_none_or(|left| (1000..1 << 30).contains(&left)));
    }

    /// Counts the runs of each thread, a byte for each pair.
    #[derive(Default)]
    struct Runs([AtomicU64; 8]);

    impl Body for Runs {
        fn prepare(&self, _: &Shot, _: usize) {}
        fn run(&self, shot: &Shot, thread: usize) {
            self.0[thread].fetch_add(1 << (8 * shot.pair), Ordering::Relaxed);
        }
        fn verify(&self, shot: &Shot, thread: usize) -> Result<(), String> {
            // All threads have run this shot by now.
            let all = self.0.iter().take(4).all(|count| count.load(Ordering::Relaxed) >> (8 * shot.pair) & 0xff == 1);
            if all { Ok(()) } else { Err(format!("seen by {thread}")) }
        }
    }

    #[test]
    fn every_thread_runs_every_shot_once() {
        // Four threads are more than some test machines have CPUs.
        let (mut team, runs) = (team(4), Arc::new(Runs::default()));
        let body: Arc<dyn Body> = Arc::clone(&runs) as _;
        let records = team.run(&body, &shots(5), LIMIT).unwrap();
        assert_eq!(records.iter().map(Vec::len).collect::<Vec<_>>(), [5; 4]);
        assert!(records.iter().flatten().all(|record| record.defect.is_none()));
        let counts: Vec<u64> = runs.0.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        assert_eq!(counts[..4], [0x01_01_01_01_01; 4]);
        assert_eq!(counts[4..], [0; 4]);
    }

    #[test]
    fn defects_reach_the_records() {
        let (mut team, body): (_, Arc<dyn Body>) = (team(2), Arc::new(Runs::default()));
        let records = team.run(&body, &shots(1), LIMIT).unwrap();
        assert_eq!(records[1][0].defect.as_deref(), Some("seen by 1"));
    }

    /// Lets one thread panic or stay away while the others wait for it.
    struct Misbehaving {
        barrier: std::sync::Barrier,
        panics: bool,
    }

    impl Body for Misbehaving {
        fn prepare(&self, _: &Shot, _: usize) {}
        fn run(&self, _: &Shot, thread: usize) {
            if thread == 1 && self.panics {
                panic::resume_unwind(Box::new("misbehave"));
            }
            if thread != 1 {
                self.barrier.wait();
            }
        }
        fn verify(&self, _: &Shot, _: usize) -> Result<(), String> {
            Ok(())
        }
    }

    fn misbehave(panics: bool, limit: Duration) -> (Team, TeamError) {
        let mut team = team(3);
        let body: Arc<dyn Body> = Arc::new(Misbehaving { barrier: std::sync::Barrier::new(3), panics });
        let error = team.run(&body, &shots(1), limit).unwrap_err();
        (team, error)
    }

    #[test]
    fn a_panic_is_an_error() {
        let (mut team, error) = misbehave(true, LIMIT);
        assert_eq!(error, TeamError::Failed("thread 1 panicked: misbehave".to_owned()));
        assert!(!team.is_fit());
        let body: Arc<dyn Body> = Arc::new(Runs::default());
        assert_eq!(team.run(&body, &shots(1), LIMIT), Err(TeamError::Poisoned));
    }

    #[test]
    fn a_team_whose_threads_do_not_finish_times_out() {
        let limit = Duration::from_millis(50);
        let (team, error) = misbehave(false, limit);
        assert!(matches!(error, TeamError::TimedOut(waited) if waited >= limit), "{error}");
        assert!(!team.is_fit());
    }

    /// Moves the calling thread to another CPU in its second shot, as the system does when a CPU is taken away.
    struct Moved(u32);

    impl Body for Moved {
        fn prepare(&self, shot: &Shot, _: usize) {
            if shot.pair == 1 {
                syncscope_host::scheduling::bind_to_one(self.0).unwrap();
            }
        }
        fn run(&self, _: &Shot, _: usize) {}
        fn verify(&self, _: &Shot, _: usize) -> Result<(), String> {
            Ok(())
        }
    }

    #[test]
    fn a_thread_whose_cpu_is_taken_away_counts_as_migrated_and_comes_back() {
        let [cpu, other, ..] = syncscope_host::scheduling::allowed_cpus()[..] else { return };
        let mut team = Team::assemble(&[Some(cpu)], &Clock::calibrate()).unwrap();
        let body: Arc<dyn Body> = Arc::new(Moved(other));
        for _ in 0..2 {
            let records = team.run(&body, &shots(3), LIMIT).unwrap();
            let migrated: Vec<bool> = records[0].iter().map(|record| record.migrated).collect();
            assert_eq!(migrated, [false, true, true]);
        }
    }

    /// A thread bound to no CPU counts as migrated while it may not use all CPUs that it had.
    #[test]
    fn an_unbound_thread_that_loses_cpus_counts_as_migrated_and_gets_them_back() {
        let [_, other, ..] = syncscope_host::scheduling::allowed_cpus()[..] else { return };
        let mut team = Team::assemble(&[None], &Clock::calibrate()).unwrap();
        let moved: Arc<dyn Body> = Arc::new(Moved(other));
        for (body, is_moved) in [(Arc::new(Runs::default()) as _, false), (moved, true)].into_iter().cycle().take(5) {
            let records = team.run(&body, &shots(3), LIMIT).unwrap();
            assert!(records[0].iter().all(|record| record.migrated == is_moved), "{is_moved}: {records:?}");
        }
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_named() {
        let error = Team::assemble(&[None, Some(16_000)], &Clock::calibrate()).err().unwrap();
        let text = error.to_string();
        assert!(text.contains("thread 1 to CPU 16000") && text.contains("Invalid argument"), "{text}");
    }
}
