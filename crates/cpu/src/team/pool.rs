//! The teams that are kept for the next case. Cases come in random order, and starting sixteen threads takes longer
//! than measuring many of them.

use syncscope_core::Refusal;

use crate::team::openmp::Runtime;
use crate::team::{Executor, OpenMpTeam, Team, TeamError};
use crate::timing::clock::Clock;

/// Threads that are kept at most. They sleep and disturb nothing, but each counts for the process limit of a container.
const MAX_THREADS: usize = 512;

/// TeamPool of threads, the one used last at the end.
#[derive(Default)]
pub(crate) struct TeamPool(Vec<Box<dyn Executor>>);

impl TeamPool {
    /// Threads of this program or of `runtime` on these CPUs: a kept team that is fit, or a new one.
    pub(crate) fn team_on(
        &mut self,
        runtime: Option<&'static Runtime>,
        cpus: &[Option<u32>],
        clock: &Clock,
    ) -> Result<&mut dyn Executor, Refusal> {
        let name = runtime.map(|runtime| runtime.name);
        // The threads of an OpenMP runtime spin while they wait for work: they end before other threads are timed.
        self.0.retain(|team| team.is_fit() && (team.runtime().is_none() || team.runtime() == name));
        let kept = self.0.iter().position(|team| team.cpus() == cpus && team.runtime() == name);
        let team = if let Some(index) = kept {
            self.0.remove(index)
        } else {
            self.make_room(cpus.len(), name);
            assemble(runtime, cpus, clock).map_err(|error| Refusal::Failed(error.to_string()))?
        };
        self.0.push(team);
        let last = self.0.last_mut().ok_or_else(|| Refusal::Failed("no team".to_owned()))?;
        Ok(last.as_mut())
    }

    /// Ends the threads of OpenMP runtimes, which spin: other processes are measured.
    pub(crate) fn end_runtimes(&mut self) {
        self.0.retain(|team| team.runtime().is_none());
    }

    /// Ends the least recently used teams until `new_threads` fit. A runtime has one team at a time.
    fn make_room(&mut self, new_threads: usize, runtime: Option<&'static str>) {
        self.0.retain(|team| team.runtime().is_none() || team.runtime() != runtime);
        while !self.0.is_empty() && self.threads() + new_threads > MAX_THREADS {
            self.0.remove(0);
        }
    }

    fn threads(&self) -> usize {
        self.0.iter().map(|team| team.cpus().len()).sum()
    }
}

fn assemble(
    runtime: Option<&'static Runtime>,
    cpus: &[Option<u32>],
    clock: &Clock,
) -> Result<Box<dyn Executor>, TeamError> {
    Ok(match runtime {
        None => Box::new(Team::assemble(cpus, clock)?),
        Some(runtime) => Box::new(OpenMpTeam::assemble(runtime, cpus, clock)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::openmp;

    /// The address of the team, which distinguishes it from an equal one.
    fn address(teams: &mut TeamPool, runtime: Option<&'static Runtime>, threads: usize, clock: &Clock) -> usize {
        std::ptr::from_ref(teams.team_on(runtime, &vec![None; threads], clock).unwrap()).addr()
    }

    #[test]
    fn a_kept_team_is_used_again() {
        let (mut teams, clock) = (TeamPool::default(), Clock::calibrate());
        let one = address(&mut teams, None, 1, &clock);
        let two = address(&mut teams, None, 2, &clock);
        assert_ne!(one, two);
        assert_eq!((address(&mut teams, None, 1, &clock), teams.0.len()), (one, 2));
        assert_eq!(address(&mut teams, None, 2, &clock), two);
        assert!(teams.team_on(None, &[Some(16_000)], &clock).is_err());
        assert_eq!((address(&mut teams, None, 1, &clock), teams.threads()), (one, 3), "a failure changes nothing");
    }

    #[test]
    fn the_least_recently_used_team_ends_when_there_are_too_many() {
        let (mut teams, clock) = (TeamPool::default(), Clock::calibrate());
        let two = address(&mut teams, None, 2, &clock);
        address(&mut teams, None, 3, &clock);
        assert_eq!(address(&mut teams, None, 2, &clock), two);
        teams.make_room(MAX_THREADS - 2, None);
        assert_eq!((teams.0.len(), teams.threads()), (1, 2), "the team of three was the least recently used");
    }

    #[test]
    fn a_team_of_a_runtime_ends_before_another_team_comes() {
        let (mut teams, clock) = (TeamPool::default(), Clock::calibrate());
        for runtime in openmp::runtimes() {
            let team = address(&mut teams, Some(runtime), 2, &clock);
            assert_eq!(address(&mut teams, Some(runtime), 2, &clock), team);
            address(&mut teams, Some(runtime), 3, &clock);
            assert!(teams.0.iter().filter(|team| team.runtime().is_some()).count() == 1);
        }
        address(&mut teams, None, 1, &clock);
        assert!(teams.0.iter().all(|team| team.runtime().is_none()));
    }
}
