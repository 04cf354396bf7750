//! A case of several processes, made ready for the engine.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use syncscope_core::{
    Case, Check, Disturbance, Evidence, Experiment, ExperimentError, Ruler, Sample, Shot, Side, Ticks,
};

use super::catalogue::{Call, functions_of};
use super::member::{Member, RECORD_WORDS, Record, phase_defect};
use super::message::{Loop, MOST_SHOTS, Message};
use super::process::{MpiProcess, short_version};
use super::world::{Sharing, Team};
use super::wrapper::SOURCE;

/// Sums stay far from the limits of their type.
const MAX_ITERATIONS: u64 = 1 << 20;

/// What an experiment needs.
pub(super) struct Setup<'a> {
    pub(super) process: &'a mut MpiProcess,
    pub(super) case: Case,
    pub(super) team: Team,
    pub(super) call: Call,
    /// Rank 0.
    pub(super) member: Member,
    pub(super) sharing: Sharing,
    /// Of the barriers so far, by team.
    pub(super) proofs: &'a mut HashMap<Team, Check>,
}

/// A primitive between processes, ready to run.
pub(super) struct MpiExperiment<'a> {
    setup: Setup<'a>,
    defect: Option<String>,
}

impl<'a> MpiExperiment<'a> {
    pub(super) const fn new(setup: Setup<'a>) -> Self {
        Self { setup, defect: None }
    }

    /// Runs at most [`MOST_SHOTS`] shots on all members.
    fn batch(&mut self, shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError> {
        let Setup { process, call, member, .. } = &mut self.setup;
        let loops: Vec<Loop> = shots.iter().map(Loop::of).collect();
        let message = Message::Run { slot: member.slot, call: *call, loops };
        let words = process.order(&message).map_err(ExperimentError::Failed)?;
        let ns_per_tick = process.clock.ns_per_tick();
        let records: Vec<Option<Record>> = words.chunks_exact(RECORD_WORDS).map(Record::from_words).collect();
        let of_members: Vec<&[Option<Record>]> = records.chunks_exact(shots.len().max(1)).collect();
        let samples = (0..shots.len()).map(|shot| {
            let seen: Option<Vec<Record>> = of_members.iter().map(|of_member| of_member[shot]).collect();
            self.sample_of(&seen?, ns_per_tick)
        });
        let samples: Vec<Option<Sample>> = samples.collect();
        self.note_defects(&of_members);
        let samples: Option<Vec<Sample>> = samples.into_iter().collect();
        samples.ok_or_else(|| ExperimentError::Failed("the processes reported no samples".to_owned()))
    }

    fn sample_of(&self, seen: &[Record], ns_per_tick: f64) -> Option<Sample> {
        // The process that has the counter adds nothing.
        let actors = if self.setup.call == Call::FetchOp { seen.get(1..)? } else { seen };
        let mut elapsed: Vec<Ticks> =
            actors.iter().map(|record| Ticks(record.elapsed.max(0).cast_unsigned())).collect();
        let is_switched = !self.setup.sharing.is_oversubscribed && seen.iter().any(|record| record.switched);
        let disturbance = is_switched.then_some(Disturbance::InvoluntarySwitch);
        Some(Sample { disturbance, ..Sample::of_actors(&mut elapsed, ns_per_tick)? })
    }

    fn note_defects(&mut self, of_members: &[&[Option<Record>]]) {
        let defects = of_members
            .iter()
            .enumerate()
            .flat_map(|(place, records)| records.iter().flatten().filter_map(move |record| record.defect(place)));
        self.defect = self.defect.take().or(defects.into_iter().next());
    }

    /// Whether the barrier of this team holds everyone back, tried once in a run.
    fn proof(&mut self) -> Check {
        let Setup { process, team, member, proofs, .. } = &mut self.setup;
        let unknown = match proofs.entry(*team) {
            Entry::Occupied(known) => return known.get().clone(),
            Entry::Vacant(unknown) => unknown,
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
        self.setup.process.clock.ruler()
    }

    fn operations(&self, side: Side, iterations: u64) -> u64 {
        let messages = if self.setup.call == Call::PingPong { 2 } else { 1 };
        iterations * (1 + side.copies()) * messages
    }

    fn sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError> {
        let samples = self.batch(&[shot])?;
        samples.into_iter().next().ok_or_else(|| ExperimentError::Failed("no sample".to_owned()))
    }

    fn samples(&mut self, shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError> {
        let mut samples = Vec::with_capacity(shots.len());
        for batch in shots.chunks(MOST_SHOTS) {
            samples.extend(self.batch(batch)?);
        }
        Ok(samples)
    }

    fn unroll(&self) -> u32 {
        1
    }

    fn max_iterations(&self) -> u64 {
        MAX_ITERATIONS
    }

    fn has_double(&self) -> bool {
        true
    }

    fn check(&mut self) -> Check {
        match &self.defect {
            Some(defect) => Check::Failed(defect.clone()),
            None if self.setup.call == Call::Barrier => self.proof(),
            None => Check::Ok,
        }
    }

    /// The function is called in both loops, and no compiler looks into the library or leaves a call out.
    fn evidence(&mut self) -> Evidence {
        let Setup { process, case, .. } = &self.setup;
        let (functions, version) = (functions_of(case), process.version());
        let summary = format!("library call {functions} ({})", short_version(&version));
        let listing = format!("{version}\n\ncompiled by: {}\n\n{SOURCE}", process.compiled_by);
        Evidence::Present { summary, listing }
    }

    fn remark(&self) -> Option<String> {
        Some(self.setup.sharing.remark.clone())
    }
}
