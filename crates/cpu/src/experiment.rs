//! A case of the CPU, made ready for the engine.

use std::sync::Arc;
use std::time::Duration;

use syncscope_core::{
    Check, Detail, Disturbance, Evidence, Experiment, ExperimentError, Ruler, Sample, Shot, Side, Ticks,
};

use crate::primitives::{UNROLL, Workload};
use crate::team::{Body, Executor, Record, TeamError};
use crate::timing::clock::Clock;
use crate::timing::cycles;
use crate::timing::smt_interference::Neighbours;

/// What is granted on top of what a batch is expected to take.
const GRACE: Duration = Duration::from_secs(2);

/// A batch may take this many times as long as the one before it lets expect: on a busy machine it does.
const PATIENCE: f64 = 20.0;

/// Length of a sample on threads that have CPUs of their own: some thousand readings of the clock. What disturbs a
/// contended loop is which thread happened to come first and in what step they then go, which is drawn anew with each
/// sample: many short samples say more about it than few long ones.
const SAMPLE: Duration = Duration::from_micros(40);

/// Length of a sample of threads that sleep: a dozen of their wake-ups and more, so that one of them is no sample of its own.
const SLEEPY_SAMPLE: Duration = Duration::from_micros(500);

/// The longest samples: stores to one line that threads share are merged, and stores to two lines in turn take several
/// hundred times as long, which made samples of many scheduler ticks.
const LONGEST: u32 = 4;

/// Threads that sleep have samples ten times as long.
const SLEEPY_SHARE: f64 = 4.0;

/// Threads that take turns: their figure is mostly the scheduler's, whose time slices no number of pairs averages out.
const CROWDED_SHARE: f64 = 0.5;

/// Iterations of the loop that proves a primitive.
const PROOF_ITERATIONS: u64 = 200;

/// How the threads of a team share the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sharing {
    /// What a reader must know: "4 threads on 2 CPUs".
    pub(crate) remark: Option<String>,
    /// Whether the threads have to take turns on the CPUs: then switches are part of what is measured.
    pub(crate) in_turns: bool,
    /// Whether the operating system chooses the CPUs: then migrations are part of what is measured.
    pub(crate) unbound: bool,
    /// Whether threads of the team are neighbours on one core: then that is part of what is measured.
    pub(crate) is_neighbourly: bool,
}

impl Sharing {
    /// The same with something else that a reader must know.
    pub(crate) fn also_saying(self, remark: Option<String>) -> Self {
        let remarks: Vec<String> = self.remark.into_iter().chain(remark).collect();
        Self { remark: (!remarks.is_empty()).then(|| remarks.join(", ")), ..self }
    }
}

/// A workload on a team.
pub(crate) struct TeamExperiment<'a> {
    team: &'a mut dyn Executor,
    clock: &'a Clock,
    neighbours: &'a mut Neighbours,
    workload: Workload,
    sharing: Sharing,
    /// What an iteration took at most in the last batch.
    ns_per_iteration: f64,
    defect: Option<String>,
}

impl<'a> TeamExperiment<'a> {
    pub(crate) fn new(
        team: &'a mut dyn Executor,
        clock: &'a Clock,
        neighbours: &'a mut Neighbours,
        workload: Workload,
        sharing: Sharing,
    ) -> Self {
        Self { team, clock, neighbours, workload, sharing, ns_per_iteration: 0.0, defect: None }
    }

    /// How long to wait for a batch.
    fn limit(&self, shots: &[Shot]) -> Duration {
        let iterations: u64 = shots.iter().map(|shot| shot.iterations).sum();
        let expected = Duration::try_from_secs_f64(iterations as f64 * self.ns_per_iteration * PATIENCE / 1e9);
        GRACE + expected.unwrap_or_default()
    }

    fn remember_pace(&mut self, shots: &[Shot], samples: &[Sample]) {
        let pace = |(shot, sample): (&Shot, &Sample)| sample.slowest_ns() / shot.iterations.max(1) as f64;
        self.ns_per_iteration = shots.iter().zip(samples).map(pace).fold(0.0, f64::max);
    }

    /// Runs one shot of another job and remembers what its verification finds.
    fn run_aside(&mut self, body: &Arc<dyn Body>) {
        let shot = Shot { side: Side::Test, iterations: PROOF_ITERATIONS, pair: 0 };
        match self.team.run(body, &[shot], GRACE) {
            Ok(records) => self.defect = records.into_iter().flatten().find_map(|record| record.defect),
            Err(error) => self.defect = Some(error.to_string()),
        }
    }

    /// How long each thread took.
    ///
    /// Threads with CPUs of their own are let go together, and each times itself. Threads that take turns begin when
    /// their turn comes: what they waited for it belongs to the time of the shot, which began with the first of them.
    fn elapsed(&self, seen: &[&Record]) -> Vec<Ticks> {
        let first = seen.iter().map(|record| record.started).min();
        let start = |record: &Record| first.filter(|_| self.sharing.in_turns).unwrap_or(record.started);
        seen.iter().map(|record| Ticks(record.stopped.0.saturating_sub(start(record).0))).collect()
    }

    /// The sample of shot `index`, from what each thread saw of it.
    fn sample_of(&self, records: &[Vec<Record>], index: usize) -> Option<Sample> {
        let seen: Vec<&Record> = records.iter().filter_map(|of_thread| of_thread.get(index)).collect();
        let mut elapsed = self.elapsed(&seen);
        let disturbance = if !self.sharing.unbound && seen.iter().any(|record| record.migrated) {
            Some(Disturbance::Migration)
        } else if !self.sharing.in_turns && seen.iter().any(|record| record.switched) {
            Some(Disturbance::InvoluntarySwitch)
        } else {
            None
        };
        let smt_interference = self.has_busy_neighbour(&seen);
        Some(Sample { disturbance, smt_interference, ..Sample::of_actors(&mut elapsed, self.clock.ns_per_tick())? })
    }

    /// What the threads' readings say of their cores from here on.
    fn learn_of_neighbours(&mut self, records: &[Vec<Record>]) {
        for (cpu, of_thread) in self.team.cpus().iter().zip(records) {
            let Some(cpu) = *cpu else { continue };
            of_thread.iter().flat_map(|record| record.crowding).flatten().for_each(|it| self.neighbours.note(cpu, it));
        }
    }

    /// Whether the core of a thread had someone else's work to do, before or after a shot.
    fn has_busy_neighbour(&self, seen: &[&Record]) -> bool {
        let is_busy = |(cpu, record): (&Option<u32>, &&Record)| {
            let busy = |crowding| cpu.is_some_and(|cpu| self.neighbours.is_busy(cpu, crowding));
            record.crowding.into_iter().flatten().any(busy)
        };
        let Sharing { in_turns, unbound, is_neighbourly, .. } = self.sharing;
        !(in_turns || unbound || is_neighbourly) && self.team.cpus().iter().zip(seen).any(is_busy)
    }
}

fn error_of(error: TeamError) -> ExperimentError {
    match error {
        TeamError::TimedOut(limit) => ExperimentError::TimedOut { limit },
        other => ExperimentError::Failed(other.to_string()),
    }
}

impl Experiment for TeamExperiment<'_> {
    fn ruler(&self) -> Ruler {
        self.clock.ruler()
    }

    fn operations(&self, side: Side, iterations: u64) -> u64 {
        self.workload.operations(side, iterations)
    }

    fn sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError> {
        let samples = self.samples(&[shot])?;
        samples.into_iter().next().ok_or_else(|| ExperimentError::Failed("the team has no threads".to_owned()))
    }

    fn samples(&mut self, shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError> {
        let records = self.team.run(&self.workload.body, shots, self.limit(shots)).map_err(error_of)?;
        if self.defect.is_none() {
            self.defect = records.iter().flatten().find_map(|record| record.defect.clone());
        }
        self.learn_of_neighbours(&records);
        // One value for the batch: a single reading is only as fine as the clock's steps.
        let readings = |reading: fn(&Record) -> Option<f64>| -> Vec<f64> {
            records.iter().flatten().filter_map(reading).collect()
        };
        let counted = readings(|record| record.counted_per_tick);
        let cycles_per_tick = cycles::of_batch(&counted, &readings(|record| record.chained_per_tick));
        let samples: Option<Vec<Sample>> = (0..shots.len()).map(|index| self.sample_of(&records, index)).collect();
        let samples = samples.ok_or_else(|| ExperimentError::Failed("the team has no threads".to_owned()))?;
        self.remember_pace(shots, &samples);
        Ok(samples.into_iter().map(|sample| Sample { cycles_per_tick, ..sample }).collect())
    }

    fn unroll(&self) -> u32 {
        UNROLL
    }

    fn max_iterations(&self) -> u64 {
        self.workload.max_iterations
    }

    fn sample_length(&self) -> Option<Duration> {
        match (self.sharing.in_turns, self.workload.blocks) {
            // The settings': a time slice is longer than any sample.
            (true, _) => None,
            (false, true) => Some(SLEEPY_SAMPLE),
            (false, false) => Some(SAMPLE),
        }
    }

    fn longest_sample(&self) -> Option<Duration> {
        self.sample_length().map(|length| length * LONGEST)
    }

    fn has_one_actor(&self) -> bool {
        self.team.cpus().len() == 1
    }

    fn share_of_time(&self) -> f64 {
        match (self.sharing.in_turns, self.workload.blocks) {
            (true, _) => CROWDED_SHARE,
            (false, true) => SLEEPY_SHARE,
            (false, false) => 1.0,
        }
    }

    /// What the shots themselves showed.
    fn check(&mut self) -> Check {
        self.defect.clone().map_or(Check::Ok, Check::Failed)
    }

    /// The proof that needs a loop of its own, and the run that follows the samples.
    fn details(&mut self) -> Result<Vec<Detail>, String> {
        if let Some(proof) = self.workload.proof.clone() {
            self.run_aside(&proof);
        }
        let follow_up = self.workload.follow_up.as_ref().map(|make| make(self.clock));
        if let (Some(follow_up), None) = (&follow_up, &self.defect) {
            self.run_aside(&(Arc::clone(follow_up) as Arc<dyn Body>));
        }
        let found = follow_up.map_or_else(Vec::new, |follow_up| follow_up.details());
        self.defect.clone().map_or(Ok(found), Err)
    }

    fn evidence(&mut self) -> Evidence {
        self.workload.evidence()
    }

    fn remark(&self) -> Option<String> {
        self.sharing.remark.clone()
    }
}
