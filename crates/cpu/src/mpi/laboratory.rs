//! The processes of a run as a laboratory. It is rank 0's.

use std::collections::HashMap;

use syncscope_core::machine::Environment;
use syncscope_core::{Case, Check, Experiment, Laboratory, Listing, Preset, Refusal};

use super::catalogue::{call_of, cases, primitives};
use super::experiment::{MpiExperiment, Setup};
use super::message::Message;
use super::process::{MpiProcess, short_version};
use super::world::Team;

/// Slots of the shim.
const SLOTS: usize = 64;

/// All processes of a run, seen from rank 0. The others end when this is dropped.
#[derive(Debug)]
pub struct MpiLaboratory {
    process: MpiProcess,
    /// The communicator of each team, made once.
    slots: HashMap<Team, i32>,
    /// Of the barriers that have shown that they are some.
    proofs: HashMap<Team, Check>,
    is_over: bool,
}

impl MpiLaboratory {
    pub(super) fn new(process: MpiProcess) -> Self {
        Self { process, slots: HashMap::new(), proofs: HashMap::new(), is_over: false }
    }

    /// Fills in what the figures depend on.
    pub fn describe(&self, environment: &mut Environment) {
        environment.libraries.insert("mpi".to_owned(), short_version(&self.process.version()));
    }

    /// Ends the other processes, and this one's part in MPI. Nothing can be measured afterwards.
    ///
    /// # Errors
    /// What the MPI library says.
    pub fn dismiss(&mut self) -> Result<(), String> {
        if std::mem::replace(&mut self.is_over, true) {
            return Ok(());
        }
        self.process.order(&Message::End)?;
        self.process.finish()
    }

    /// The slot of a team, made now if it is new.
    fn slot(&mut self, team: Team) -> Result<i32, Refusal> {
        if let Some(slot) = self.slots.get(&team) {
            return Ok(*slot);
        }
        if self.process.world.members(team).is_none() {
            let count = self.process.world.processes.len();
            let Team { nodes, processes } = team;
            return Err(Refusal::Skipped(format!(
                "asked {processes} processes on {nodes} nodes, there are {count} in all"
            )));
        }
        let slot = i32::try_from(self.slots.len()).unwrap_or(i32::MAX);
        if self.slots.len() >= SLOTS {
            return Err(Refusal::Skipped(format!("more than {SLOTS} teams of processes")));
        }
        self.process.order(&Message::Prepare { slot, team }).map_err(Refusal::Failed)?;
        self.slots.insert(team, slot);
        Ok(slot)
    }
}

impl Drop for MpiLaboratory {
    fn drop(&mut self) {
        // Reported by `dismiss`; here an earlier error is on its way to the user.
        let _ = self.dismiss();
    }
}

impl Laboratory for MpiLaboratory {
    fn listing(&self) -> Vec<Listing> {
        primitives().iter().map(|primitive| Listing { primitive, unavailable: None }).collect()
    }

    fn plan(&self, _: Preset) -> Vec<Case> {
        cases(&self.process.world)
    }

    fn experiment(&mut self, case: &Case) -> Result<Box<dyn Experiment + '_>, Refusal> {
        if self.is_over {
            return Err(Refusal::Lost("the other processes have ended".to_owned()));
        }
        let (Some(call), Some(team)) = (call_of(case), Team::of_case(case)) else {
            return Err(Refusal::Skipped(format!("there is no {case} in this version")));
        };
        let slot = self.slot(team)?;
        let Some(member) = self.process.member(slot) else {
            return Err(Refusal::Failed("rank 0 is no member of the team".to_owned()));
        };
        let Self { process, proofs, .. } = self;
        let sharing = process.world.sharing(&process.world.members(team).unwrap_or_default());
        let setup = Setup { process, case: case.clone(), team, call, member, sharing, proofs };
        Ok(Box::new(MpiExperiment::new(setup)))
    }
}
