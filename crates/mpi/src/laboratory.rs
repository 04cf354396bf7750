//! Rank 0 drives the engine: it presents all processes of the run as one laboratory and sets up each case on them.

use std::collections::{HashMap, hash_map};
use std::time::Duration;

use syncscope_core::machine::Environment;
use syncscope_core::{
    Case, Check, Disturbance, Evidence, Experiment, ExperimentError, Laboratory, Listing, Preset, Protocol, Refusal,
    Ruler, Sample, Shot, Side, Ticks,
};

use crate::catalogue::{Call, Entry, cases, entry, primitives};
use crate::member::{Member, Record, phase_defect};
use crate::message::{Loop, MOST_SHOTS, Message};
use crate::process::{MpiProcess, member, short_version};
use crate::world::{Sharing, Team};
use crate::wrapper::SOURCE;

/// The number of slots in the shim.
const SLOTS: usize = 64;

/// What a process does in a common run.
pub enum Started {
    /// Rank 0, which measures.
    First(Box<MpiLaboratory>),
    /// Any other process, which takes part.
    Other(Box<MpiProcess>),
}

impl Started {
    /// The role of a process that has joined the others.
    pub fn of(process: MpiProcess) -> Self {
        if process.rank == 0 {
            let (slots, proofs) = (HashMap::new(), HashMap::new());
            Self::First(Box::new(MpiLaboratory { process, slots, proofs, is_over: false, time_of_others: None }))
        } else {
            Self::Other(Box::new(process))
        }
    }
}

/// All processes of a run, seen from rank 0. The other processes end when this is dropped.
#[derive(Debug)]
pub struct MpiLaboratory {
    process: MpiProcess,
    /// The communicator slot of each team, made once, or why it could not be made.
    slots: HashMap<Team, Result<i32, String>>,
    /// The check of each team's barrier, made once.
    proofs: HashMap<Team, Check>,
    is_over: bool,
    /// The CPU time of the other processes on this node, once all have ended.
    time_of_others: Option<Duration>,
}

impl MpiLaboratory {
    /// The CPUs of all processes on this node.
    pub fn cpus(&self) -> Vec<u32> {
        self.process.world.cpus_beside(self.process.rank)
    }

    /// The CPU time that the other processes on this node spent on the run; `None` before [`Self::dismiss`], or if they
    /// did not report it.
    pub const fn time_of_others(&self) -> Option<Duration> {
        self.time_of_others
    }

    /// Records the MPI library, on which the figures depend.
    pub fn describe(&self, environment: &mut Environment) {
        environment.libraries.insert("mpi".to_owned(), short_version(&self.process.shim.version()));
    }

    /// Ends the other processes and this process's part in MPI. Nothing can be measured afterwards.
    ///
    /// # Errors
    /// If the MPI library reports one.
    pub fn dismiss(&mut self) -> Result<(), String> {
        if std::mem::replace(&mut self.is_over, true) {
            return Ok(());
        }
        let times = self.process.order(&Message::End)?;
        self.time_of_others = Some(self.process.world.time_beside(self.process.rank, &times));
        self.process.finish()
    }

    /// The slot of a team, made on first use.
    fn slot(&mut self, team: Team) -> Result<i32, Refusal> {
        if let Some(known) = self.slots.get(&team) {
            return known.clone().map_err(Refusal::Failed);
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
        let prepared = self.process.order(&Message::Prepare { slot, team }).map(|_| slot);
        self.slots.entry(team).or_insert(prepared).clone().map_err(Refusal::Failed)
    }
}

impl Drop for MpiLaboratory {
    fn drop(&mut self) {
        // `dismiss` reports its errors to a caller; here an earlier error is on its way to the user.
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

    fn fitting(&self, _: Preset, cases: Vec<Case>) -> Vec<Result<Case, String>> {
        let is_there = |case: &Case| Team::of_case(case).is_some_and(|team| self.process.world.members(team).is_some());
        let reason =
            |case: &Case| format!("{} processes are not there, or not equally many on each node", case.actors());
        cases.into_iter().map(|case| if is_there(&case) { Ok(case) } else { Err(reason(&case)) }).collect()
    }

    fn experiment(&mut self, case: &Case) -> Result<Box<dyn Experiment + '_>, Refusal> {
        if self.is_over {
            return Err(Refusal::Lost("the other processes have ended".to_owned()));
        }
        let (Some(entry), Some(team)) = (entry(&case.primitive), Team::of_case(case)) else {
            return Err(Refusal::Skipped(format!("there is no {case} in this version")));
        };
        let slot = self.slot(team)?;
        let Some(member) = member(&self.process.slots, slot) else {
            return Err(Refusal::Failed("rank 0 is not a member of the team".to_owned()));
        };
        let Self { process, proofs, .. } = self;
        let sharing = process.world.sharing(&process.world.members(team).unwrap_or_default());
        Ok(Box::new(MpiExperiment { process, entry, team, member, sharing, proofs, defect: None }))
    }
}

/// The most iterations, so that sums stay far from the limits of their type.
const MAX_ITERATIONS: u64 = 1 << 20;

/// A primitive between processes, ready to run.
struct MpiExperiment<'a> {
    process: &'a mut MpiProcess,
    entry: &'static Entry,
    team: Team,
    /// Rank 0 as a member of the team.
    member: Member,
    sharing: Sharing,
    /// The checks of the barriers so far, by team.
    proofs: &'a mut HashMap<Team, Check>,
    defect: Option<String>,
}

impl MpiExperiment<'_> {
    /// Runs at most [`MOST_SHOTS`] shots on all members.
    fn batch(&mut self, shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError> {
        let loops: Vec<Loop> = shots.iter().map(Loop::of).collect();
        let message = Message::Run { slot: self.member.slot, call: self.entry.call, loops };
        let words = self.process.order(&message).map_err(ExperimentError::Failed)?;
        let ns_per_tick = self.process.clock.ns_per_tick();
        let records: Vec<Record> = words.as_chunks().0.iter().map(Record::from_words).collect();
        let of_members: Vec<&[Record]> = records.chunks_exact(shots.len().max(1)).collect();
        let mut defects = of_members
            .iter()
            .enumerate()
            .flat_map(|(place, records)| records.iter().filter_map(move |record| record.defect(place)));
        self.defect = self.defect.take().or_else(|| defects.next());
        let seen = |shot: usize| of_members.iter().map(|of_member| of_member[shot]).collect::<Vec<_>>();
        let samples: Option<Vec<Sample>> =
            (0..shots.len()).map(|shot| self.sample_of(&seen(shot), ns_per_tick)).collect();
        samples.ok_or_else(|| ExperimentError::Failed("the processes reported no samples".to_owned()))
    }

    fn sample_of(&self, seen: &[Record], ns_per_tick: f64) -> Option<Sample> {
        // The process that holds the counter adds nothing.
        let actors = if self.entry.call == Call::FetchOp { seen.get(1..)? } else { seen };
        let mut elapsed: Vec<Ticks> =
            actors.iter().map(|record| Ticks(record.elapsed.max(0).cast_unsigned())).collect();
        let is_switched = !self.sharing.is_oversubscribed && seen.iter().any(|record| record.switched);
        let disturbance = is_switched.then_some(Disturbance::InvoluntarySwitch);
        Some(Sample { disturbance, ..Sample::of_actors(&mut elapsed, ns_per_tick)? })
    }

    /// Whether this team's barrier holds every process back, tried once in a run.
    fn proof(&mut self) -> Check {
        let Self { process, team, member, proofs, .. } = self;
        let unknown = match proofs.entry(*team) {
            hash_map::Entry::Occupied(known) => return known.get().clone(),
            hash_map::Entry::Vacant(unknown) => unknown,
        };
        let check = match process.order(&Message::Prove { slot: member.slot }) {
            Ok(words) => {
                let of_each = words.chunks_exact((words.len() / member.size as usize).max(1));
                let mut defects = of_each.map(|seen| phase_defect(seen, member.size));
                defects.find_map(|defect| defect).map_or(Check::Ok, Check::Failed)
            }
            Err(error) => Check::Failed(error),
        };
        unknown.insert(check).clone()
    }
}

impl Experiment for MpiExperiment<'_> {
    fn ruler(&self) -> Ruler {
        self.process.clock.ruler()
    }

    fn operations(&self, side: Side, iterations: u64) -> u64 {
        let messages = if self.entry.call == Call::PingPong { 2 } else { 1 };
        iterations * (1 + side.copies()) * messages
    }

    fn samples(&mut self, shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError> {
        let mut samples = Vec::with_capacity(shots.len());
        for batch in shots.chunks(MOST_SHOTS) {
            samples.extend(self.batch(batch)?);
        }
        Ok(samples)
    }

    fn protocol(&self) -> Protocol {
        Protocol { max_iterations: MAX_ITERATIONS, has_double: true, ..Protocol::of(1) }
    }

    fn check(&mut self) -> Check {
        match &self.defect {
            Some(defect) => Check::Failed(defect.clone()),
            None if self.entry.call == Call::Barrier => self.proof(),
            None => Check::Ok,
        }
    }

    /// Both loops call the function, and no compiler looks into the library or leaves a call out.
    fn evidence(&mut self) -> Evidence {
        let Self { process, entry, .. } = self;
        let version = process.shim.version();
        let summary = format!("library call {} ({})", entry.functions, short_version(&version));
        let listing = format!("{version}\n\ncompiled by: {}\n\n{SOURCE}", process.compiled_by);
        Evidence::Present { summary, listing, receipt: None }
    }

    fn remark(&self) -> Option<String> {
        Some(self.sharing.remark.clone())
    }
}
