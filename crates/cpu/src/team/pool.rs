//! Keeps teams for the next case: cases come in random order, and starting sixteen threads takes longer than measuring many of
//! them.

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use syncscope_core::Refusal;

use crate::team::openmp::Runtime;
use crate::team::{Executor, Team, TeamError};
use crate::timing::clock::Clock;

/// The most threads that are kept. They sleep and disturb nothing, but each counts for the process limit of a container.
const MAX_THREADS: usize = 512;

/// How long threads of failed teams may take to leave. Threads that wait for others see at once that the job has ended, and only
/// need a CPU to leave.
const PATIENCE: Duration = Duration::from_secs(3);

/// The teams, the one used last at the end.
pub(crate) struct TeamPool {
    teams: Vec<Team>,
    /// Threads of teams that failed. One that never returns from its job occupies its CPU.
    leaving: Vec<JoinHandle<()>>,
    patience: Duration,
}

impl Default for TeamPool {
    fn default() -> Self {
        Self { teams: Vec::new(), leaving: Vec::new(), patience: PATIENCE }
    }
}

impl TeamPool {
    /// Threads of this program or of `runtime` on these CPUs: a kept team that is fit, or a new one.
    pub(crate) fn team_on(
        &mut self,
        runtime: Option<&'static Runtime>,
        cpus: &[Option<u32>],
        clock: &Clock,
    ) -> Result<&mut dyn Executor, Refusal> {
        self.let_failed_go()?;
        let name = runtime.map(|runtime| runtime.name);
        let is_wanted = |team: &Team| team.cpus() == cpus && team.runtime() == name;
        // The threads of an OpenMP runtime spin while they wait for work: they end before other threads are timed. A runtime
        // has one team at a time.
        self.teams.retain(|team| team.runtime().is_none() || is_wanted(team));
        let team = kept_or_new(&mut self.teams, is_wanted, [cpus.len(), MAX_THREADS], || match runtime {
            None => Team::assemble(cpus, clock),
            Some(runtime) => Team::of_runtime(runtime, cpus, clock),
        })?;
        Ok(team)
    }

    /// Ends the threads of OpenMP runtimes, which spin: other processes are measured.
    pub(crate) fn end_runtimes(&mut self) {
        self.teams.retain(|team| team.runtime().is_none());
    }

    /// Waits until the threads of failed teams have left. While one of them works on, no figure of this process is right.
    fn let_failed_go(&mut self) -> Result<(), Refusal> {
        for team in self.teams.iter_mut().filter(|team| !team.is_fit()) {
            self.leaving.extend(team.let_go());
        }
        self.teams.retain(Executor::is_fit);
        match left_after(self.patience, &mut self.leaving) {
            0 => Ok(()),
            1 => Err(Refusal::Lost("a thread of an earlier case never returned and occupies its CPU".to_owned())),
            count => Err(Refusal::Lost(format!("{count} threads of an earlier case never returned and occupy CPUs"))),
        }
    }
}

/// Waits at most `patience` for threads to end, removes those that have, and returns how many are left.
pub(crate) fn left_after(patience: Duration, threads: &mut Vec<JoinHandle<()>>) -> usize {
    let deadline = Instant::now() + patience;
    while !threads.iter().all(JoinHandle::is_finished) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
    threads.retain(|thread| !thread.is_finished());
    threads.len()
}

/// Returns the wanted team, or a new one of `size` threads. `teams` are in order of use: for a new one, the least recently used
/// end until all together have at most `most` threads.
pub(crate) fn kept_or_new<T: Executor>(
    teams: &mut Vec<T>,
    is_wanted: impl Fn(&T) -> bool,
    [size, most]: [usize; 2],
    start: impl FnOnce() -> Result<T, TeamError>,
) -> Result<&mut T, Refusal> {
    let team = if let Some(index) = teams.iter().position(is_wanted) {
        teams.remove(index)
    } else {
        while !teams.is_empty() && teams.iter().map(|team| team.cpus().len()).sum::<usize>() + size > most {
            teams.remove(0);
        }
        start()?
    };
    teams.push(team);
    teams.last_mut().ok_or_else(|| Refusal::Failed("no team".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::{Body, openmp};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use syncscope_core::{Shot, Side};

    /// An address of the team used last, which distinguishes it from an equal one.
    fn address(teams: &mut TeamPool, runtime: Option<&'static Runtime>, threads: usize, clock: &Clock) -> usize {
        teams.team_on(runtime, &vec![None; threads], clock).unwrap();
        Arc::as_ptr(&teams.teams.last().unwrap().shared).addr()
    }

    fn threads(teams: &TeamPool) -> Vec<usize> {
        teams.teams.iter().map(|team| team.cpus().len()).collect()
    }

    #[test]
    fn a_kept_team_is_used_again() {
        let (mut teams, clock) = (TeamPool::default(), Clock::calibrate());
        let one = address(&mut teams, None, 1, &clock);
        let two = address(&mut teams, None, 2, &clock);
        assert_ne!(one, two);
        assert_eq!((address(&mut teams, None, 1, &clock), teams.teams.len()), (one, 2));
        assert_eq!(address(&mut teams, None, 2, &clock), two);
        assert!(teams.team_on(None, &[Some(16_000)], &clock).is_err());
        assert_eq!(
            (address(&mut teams, None, 1, &clock), threads(&teams)),
            (one, vec![2, 1]),
            "a failure changes nothing"
        );
    }

    /// Does not return before it is released.
    #[derive(Default)]
    struct Stuck(AtomicBool);

    impl Body for Stuck {
        fn prepare(&self, _: &Shot, _: usize) {}
        fn run(&self, _: &Shot, thread: usize) {
            while thread == 1 && !self.0.load(Ordering::Relaxed) {
                thread::yield_now();
            }
        }
        fn verify(&self, _: &Shot, _: usize) -> Result<(), String> {
            Ok(())
        }
    }

    #[test]
    fn nothing_is_measured_beside_a_thread_that_does_not_return() {
        let mut teams = TeamPool { patience: Duration::from_millis(20), ..TeamPool::default() };
        let clock = Clock::calibrate();
        let stuck = Arc::new(Stuck::default());
        let body: Arc<dyn Body> = Arc::clone(&stuck) as _;
        let shot = Shot { side: Side::Test, iterations: 1, pair: 0 };
        let team = teams.team_on(None, &[None; 2], &clock).unwrap();
        // Long enough for both threads to begin.
        assert!(team.run(&body, &[shot], Duration::from_millis(500)).is_err());
        for _ in 0..2 {
            let refused = teams.team_on(None, &[None], &clock).err();
            assert!(
                matches!(&refused, Some(Refusal::Lost(reason)) if reason.starts_with("a thread of an earlier case")),
                "{refused:?}"
            );
        }
        stuck.0.store(true, Ordering::Relaxed);
        teams.patience = PATIENCE;
        assert!(teams.team_on(None, &[None], &clock).is_ok(), "it has left");
    }

    #[test]
    fn the_least_recently_used_team_ends_when_there_are_too_many() {
        let (mut teams, clock) = (TeamPool::default(), Clock::calibrate());
        let two = address(&mut teams, None, 2, &clock);
        address(&mut teams, None, 3, &clock);
        assert_eq!(address(&mut teams, None, 2, &clock), two);
        kept_or_new(&mut teams.teams, |_| false, [1, 3], || Team::assemble(&[None], &clock)).unwrap();
        assert_eq!(threads(&teams), [2, 1], "the team of three was the least recently used");
    }

    #[test]
    fn a_team_of_a_runtime_ends_before_another_team_comes() {
        let (mut teams, clock) = (TeamPool::default(), Clock::calibrate());
        for runtime in openmp::runtimes() {
            let team = address(&mut teams, Some(runtime), 2, &clock);
            assert_eq!(address(&mut teams, Some(runtime), 2, &clock), team);
            address(&mut teams, Some(runtime), 3, &clock);
            assert!(teams.teams.iter().filter(|team| team.runtime().is_some()).count() == 1);
        }
        address(&mut teams, None, 1, &clock);
        assert!(teams.teams.iter().all(|team| team.runtime().is_none()));
    }
}
