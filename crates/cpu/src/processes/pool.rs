//! The teams of processes that are kept for the next case.

use syncscope_core::{Case, Refusal};

use super::team::ProcessTeam;
use crate::team::{Executor, TeamError};

/// Processes that are kept at most. They sleep, but each has a process number and a share of memory.
const MAX_PROCESSES: usize = 64;

/// Teams of processes, the one used last at the end.
#[derive(Default)]
pub(crate) struct ProcessPool(Vec<ProcessTeam>);

impl ProcessPool {
    /// Processes on these CPUs that have made the workload of the case, on new memory.
    pub(crate) fn team_for(&mut self, case: &Case, cpus: &[Option<u32>]) -> Result<&mut dyn Executor, Refusal> {
        let failed = |error: TeamError| Refusal::Failed(error.to_string());
        self.0.retain(Executor::is_fit);
        let kept = self.0.iter().position(|team| team.cpus() == cpus).map(|index| self.0.remove(index));
        let team = if let Some(team) = kept {
            team
        } else {
            self.make_room(cpus.len());
            ProcessTeam::start(cpus).map_err(failed)?
        };
        self.0.push(team);
        let last = self.0.last_mut().ok_or_else(|| Refusal::Failed("no process".to_owned()))?;
        last.renew(case).map_err(failed)?;
        Ok(last)
    }

    /// Ends the least recently used teams until `new` processes fit.
    fn make_room(&mut self, new: usize) {
        while !self.0.is_empty() && self.0.iter().map(|team| team.cpus().len()).sum::<usize>() + new > MAX_PROCESSES {
            self.0.remove(0);
        }
    }
}
