//! The teams that stand ready: cases come in random order, and starting sixteen threads for each takes longer than many of
//! them need.

use syncscope_core::Refusal;

use crate::team::openmp::Runtime;
use crate::team::{Executor, OpenMpTeam, Team, TeamError};
use crate::timing::clock::Clock;

/// Threads that may stand ready. They sleep, and disturb nobody; but each is a process to the limits of a container.
const MOST_THREADS: usize = 512;

/// Teams of threads, the one used last at the end.
#[derive(Default)]
pub(crate) struct Teams(Vec<Box<dyn Executor>>);

impl Teams {
    /// Threads of this program or of `runtime` on these CPUs: those that stand there and are fit, or new ones.
    pub(crate) fn on(
        &mut self,
        runtime: Option<&'static Runtime>,
        cpus: &[Option<u32>],
        clock: &Clock,
    ) -> Result<&mut dyn Executor, Refusal> {
        let name = runtime.map(|runtime| runtime.name);
        // The threads of an OpenMP runtime wait for work on the CPU: they leave before others are timed.
        self.0.retain(|team| team.is_fit() && (team.runtime().is_none() || team.runtime() == name));
        let known = self.0.iter().position(|team| team.cpus() == cpus && team.runtime() == name);
        let team = if let Some(place) = known {
            self.0.remove(place)
        } else {
            self.make_room(cpus.len(), name);
            assemble(runtime, cpus, clock).map_err(|error| Refusal::Failed(error.to_string()))?
        };
        self.0.push(team);
        let last = self.0.last_mut().ok_or_else(|| Refusal::Failed("no team".to_owned()))?;
        Ok(last.as_mut())
    }

    /// Sends home who would be too many beside `newcomers`, those first who were not used for longest. A runtime has one
    /// team at a time.
    fn make_room(&mut self, newcomers: usize, runtime: Option<&'static str>) {
        self.0.retain(|team| team.runtime().is_none() || team.runtime() != runtime);
        while !self.0.is_empty() && self.threads() + newcomers > MOST_THREADS {
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

    /// Where the team stands in memory, to tell it from another one of its kind.
    fn place(teams: &mut Teams, runtime: Option<&'static Runtime>, threads: usize, clock: &Clock) -> usize {
        std::ptr::from_ref(teams.on(runtime, &vec![None; threads], clock).unwrap()).addr()
    }

    #[test]
    fn a_team_that_stands_there_is_used_again() {
        let (mut teams, clock) = (Teams::default(), Clock::calibrate());
        let one = place(&mut teams, None, 1, &clock);
        let two = place(&mut teams, None, 2, &clock);
        assert_ne!(one, two);
        assert_eq!((place(&mut teams, None, 1, &clock), teams.0.len()), (one, 2));
        assert_eq!(place(&mut teams, None, 2, &clock), two);
        assert!(teams.on(None, &[Some(16_000)], &clock).is_err());
        assert_eq!((place(&mut teams, None, 1, &clock), teams.threads()), (one, 3), "a failure changes nothing");
    }

    #[test]
    fn the_oldest_leave_when_there_are_too_many() {
        let (mut teams, clock) = (Teams::default(), Clock::calibrate());
        let two = place(&mut teams, None, 2, &clock);
        place(&mut teams, None, 3, &clock);
        assert_eq!(place(&mut teams, None, 2, &clock), two);
        teams.make_room(MOST_THREADS - 2, None);
        assert_eq!((teams.0.len(), teams.threads()), (1, 2), "the team of three was not used for longest");
    }

    #[test]
    fn the_threads_of_a_runtime_leave_before_others_come() {
        let (mut teams, clock) = (Teams::default(), Clock::calibrate());
        for runtime in openmp::runtimes() {
            let team = place(&mut teams, Some(runtime), 2, &clock);
            assert_eq!(place(&mut teams, Some(runtime), 2, &clock), team);
            place(&mut teams, Some(runtime), 3, &clock);
            assert!(teams.0.iter().filter(|team| team.runtime().is_some()).count() == 1);
        }
        place(&mut teams, None, 1, &clock);
        assert!(teams.0.iter().all(|team| team.runtime().is_none()));
    }
}
