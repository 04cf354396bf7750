//! Makes a CPU case ready for the engine: runs its shots on a team and turns the threads' records into samples.

use crate::primitives::window::operations_in_turns;
use crate::primitives::{Blocking, Workload};
use crate::team::{Body, Executor, Purpose, Record, TeamError};
use crate::timing::clock::Clock;
use crate::timing::cycles;
use crate::timing::smt_interference::InterferenceDetector;
use std::sync::Arc;
use std::time::Duration;
use syncscope_core::sample::ActorTime;
use syncscope_core::{
    Actor, Check, Detail, Disturbance, Evidence, Experiment, ExperimentError, Population, Protocol, Ruler, Sample,
    Shot, Side, Ticks, stats,
};
use syncscope_host::forks;
use syncscope_machine::cpu_time::Occupancy;

/// Time that a batch gets beyond its expected time.
const GRACE: Duration = Duration::from_secs(2);

/// A batch may take this many times as long as expected from the one before, as it does on a busy machine.
const TOLERANCE: f64 = 20.0;

/// Length of a sample of threads with CPUs of their own: some thousand readings of the clock. A contended loop varies with which
/// thread comes first and how the threads then interleave. Each sample draws that order anew, so many short samples show more of
/// it than few long ones.
pub(crate) const SAMPLE: Duration = Duration::from_micros(40);

/// Length of a sample of threads that block: a dozen wake-ups and more, so that a sample is not a single wake-up.
const BLOCKING_SAMPLE: Duration = Duration::from_micros(500);

/// Limit of a sample, in sample lengths. A test whose baseline is much faster (plain updates against updates with a fence
/// in between) would make samples of many scheduler ticks.
const MAX_SAMPLE_LENGTHS: u32 = 4;

/// Share of the time of a case whose threads block: their samples are ten times as long.
const BLOCKING_SHARE: f64 = 4.0;

/// Share of the time of a case whose threads share CPUs: its figure is mostly the scheduler's, and no number of pairs
/// averages out the time slices.
const OVERSUBSCRIBED_SHARE: f64 = 0.5;

/// Windows after the samples, for the details of a case besides its cost.
const MORE_WINDOWS: u64 = 10;

/// Longer windows, in which locks with work show how fair they are: a thread that waits for milliseconds may get its share in a second.
const LONG_WINDOWS: [(&str, Duration, u32); 2] =
    [("jain_index_10ms", Duration::from_millis(10), 5), ("jain_index_1s", Duration::from_secs(1), 1)];

/// Iterations of the loop that proves a primitive.
const PROOF_ITERATIONS: u64 = 200;

/// The least share of their CPUs' time with which spinning threads could have finished a batch in time.
const LEAST_SHARE: f64 = 0.5;

/// How the threads of a team share the machine.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sharing {
    /// What a reader must know: "4 threads on 2 CPUs".
    pub(crate) remarks: Vec<String>,
    /// How many CPUs the threads have.
    pub(crate) cpus: u32,
    /// Whether there are more threads than CPUs: then context switches are part of what is measured.
    pub(crate) oversubscribed: bool,
    /// Whether the operating system chooses the CPUs: then migrations are part of what is measured.
    pub(crate) unbound: bool,
    /// Whether threads of the team are siblings on one core: then SMT interference is part of what is measured.
    pub(crate) has_siblings: bool,
    /// The actor whose cost the figure is.
    pub(crate) actor: Actor,
}

/// A workload on a team.
pub(crate) struct TeamExperiment<'a> {
    team: &'a mut dyn Executor,
    clock: &'a Clock,
    interference: &'a mut InterferenceDetector,
    workload: Workload,
    /// The job that runs in windows, if the threads are timed in windows.
    windowed: Option<Arc<dyn Body>>,
    fairness: Fairness,
    sharing: Sharing,
    /// The longest time of an iteration in the last batch.
    ns_per_iteration: f64,
    defect: Option<String>,
}

impl<'a> TeamExperiment<'a> {
    pub(crate) fn new(
        team: &'a mut dyn Executor,
        clock: &'a Clock,
        interference: &'a mut InterferenceDetector,
        workload: Workload,
        sharing: Sharing,
    ) -> Self {
        // Threads that take turns on CPUs have no window in which all of them run.
        let workload = if sharing.oversubscribed { workload.without_windows() } else { workload };
        let windowed = workload.windows.as_ref().map(|windows| windows.body(clock));
        let (fairness, ns_per_iteration, defect) = (Fairness::default(), 0.0, None);
        Self { team, clock, interference, workload, windowed, fairness, sharing, ns_per_iteration, defect }
    }

    /// Whether a side is timed; windows may have no baseline.
    fn is_timed(&self, side: Side) -> bool {
        self.workload.windows.as_ref().is_none_or(|windows| windows.is_timed(side))
    }

    /// The time limit of a batch.
    fn limit(&self, shots: &[Shot]) -> Duration {
        let iterations: u64 = shots.iter().map(|shot| shot.iterations).sum();
        let expected = Duration::try_from_secs_f64(iterations as f64 * self.ns_per_iteration * TOLERANCE / 1e9);
        GRACE + expected.unwrap_or_default()
    }

    /// Why a batch was not done in time, if its threads lacked CPU time. Spinning threads use all the time that they get. (A fair
    /// spin lock passes from thread to thread in order of arrival: where fourteen other threads want the CPUs, every hand-over
    /// waits until the next thread in the queue gets one, 20 ms and more.)
    fn lacked_cpus(&self, error: &TeamError, started: &Occupancy) -> Option<ExperimentError> {
        let TeamError::TimedOut(limit) = error else { return None };
        // The CPU time of this process does not contain that of its workers.
        if self.workload.blocking == Blocking::Yes || self.workload.in_processes {
            return None;
        }
        // A user's own code may sleep for ever.
        if self.workload.blocking == Blocking::Unknown && started.was_mostly_asleep(self.sharing.cpus) == Some(true) {
            return None;
        }
        let share = started.share(self.sharing.cpus);
        (share < LEAST_SHARE).then(|| {
            ExperimentError::Interfered(format!(
                "not done after {:.1} s, in which its threads got {:.0} % of the time of their CPUs: stop other \
                 programs",
                limit.as_secs_f64(),
                share * 100.0
            ))
        })
    }

    fn error_of(&self, error: TeamError, started: &Occupancy) -> ExperimentError {
        if forks::has_child_returned(self.workload.functions.baseline) {
            return ExperimentError::Failed(forks::CHILD_RETURNED.to_owned());
        }
        self.lacked_cpus(&error, started).unwrap_or_else(|| error_of(error))
    }

    fn record_speed(&mut self, shots: &[Shot], samples: &[Sample]) {
        let ns = |(shot, sample): (&Shot, &Sample)| sample.slowest_ns() / shot.iterations.max(1) as f64;
        self.ns_per_iteration = shots.iter().zip(samples).map(ns).fold(0.0, f64::max);
    }

    /// Runs further windows for details: how fair they are, and how often a lock passes to another thread.
    fn of_windows(&mut self) -> Result<Vec<Detail>, ExperimentError> {
        let Some(windows) = self.workload.windows.as_ref().filter(|_| self.defect.is_none()) else {
            return Ok(Vec::new());
        };
        let (length, in_a_turn) = (windows.length, operations_in_turns(Side::Test, 1));
        let handovers = windows.handovers(self.clock).filter(|_| !self.workload.in_processes);
        self.samples(&tests(MORE_WINDOWS, 1))?;
        let mut details = self.fairness.details(length, in_a_turn, self.workload.timed);
        if let Some(handovers) = handovers {
            self.run_untimed(Purpose::Samples, &handovers.body, MORE_WINDOWS)?;
            let each = (handovers.acquisitions_per_handover)();
            details.extend(each.map(|each| Detail::of_case(Detail::ACQUISITIONS_PER_HANDOVER, each)));
        }
        Ok(details)
    }

    /// Jain's index in the median window of each long length.
    fn of_long_windows(&mut self) -> Result<Vec<Detail>, ExperimentError> {
        let mut found = Vec::new();
        for (name, length, count) in LONG_WINDOWS {
            let windows = self.workload.windows.as_mut().filter(|_| self.defect.is_none());
            let Some(body) = windows.and_then(|windows| windows.long_body(length, self.clock)) else { break };
            let shots = tests(count.into(), 1);
            let records = self.team.run_for(Purpose::Windows, &body, &shots, GRACE + 4 * length * count);
            let records = records.map_err(error_of)?;
            let index = |shot: usize| jain_index(&turns(&records, shot)?);
            let indices: Vec<f64> = (0..shots.len()).filter_map(index).collect();
            found.extend(stats::median(&indices).map(|index| Detail::of_case(name, index)));
        }
        Ok(found)
    }

    /// Runs shots of another job, whose time does not count, and keeps the defect that its verification finds.
    fn run_untimed(&mut self, purpose: Purpose, body: &Arc<dyn Body>, shots: u64) -> Result<(), ExperimentError> {
        let shots = tests(shots, PROOF_ITERATIONS);
        // A busy machine, which made the samples longer, makes this longer too.
        let limit = self.limit(&shots);
        let started = Occupancy::begin();
        let outcome = self.team.run_for(purpose, body, &shots, limit);
        let records = outcome.map_err(|error| self.error_of(error, &started))?;
        self.defect = records.into_iter().flatten().find_map(|record| record.defect);
        Ok(())
    }

    /// How long each thread took; with windows, how long it would take for the shot's iterations at its rate in the window.
    ///
    /// Threads with CPUs of their own start together, and each times itself. Threads that share CPUs start when they get one;
    /// their wait belongs to the time of the shot, which begins with the first thread.
    fn elapsed(&self, shot: &Shot, seen: &[&Record]) -> Vec<Ticks> {
        if let Some(windows) = &self.workload.windows {
            let all = shot.iterations as f64 * windows.length.as_nanos() as f64 / self.clock.ns_per_tick();
            // A thread that executed nothing was kept waiting longer than the window.
            let counted = |record: &&Record| record.counted.filter(|counted| *counted > 0.0).unwrap_or(1.0);
            return seen.iter().map(|record| Ticks((all / counted(record)) as u64)).collect();
        }
        let first = seen.iter().map(|record| record.started).min();
        let start = |record: &Record| first.filter(|_| self.sharing.oversubscribed).unwrap_or(record.started);
        seen.iter().map(|record| Ticks(record.stopped.0.saturating_sub(start(record).0))).collect()
    }

    /// The sample of a shot, from the records of all threads in the shot number `index` that took time.
    fn sample_of(&self, shot: &Shot, records: &[Vec<Record>], index: usize) -> Option<Sample> {
        let seen: Vec<&Record> = records.iter().filter_map(|of_thread| of_thread.get(index)).collect();
        let mut elapsed = self.elapsed(shot, &seen);
        let disturbance = if seen.iter().any(|record| record.migrated) {
            Some(Disturbance::Migration)
        } else if !self.sharing.oversubscribed && seen.iter().any(|record| record.switched) {
            Some(Disturbance::InvoluntarySwitch)
        } else {
            None
        };
        let actors = self.actors(&elapsed, &seen);
        let is_starved = seen.iter().any(|record| record.counted.is_some_and(|counted| counted < 1.0));
        let sample = Sample::of_actors(&mut elapsed, self.clock.ns_per_tick())?;
        Some(Sample { disturbance, actors, is_starved, ..sample })
    }

    /// The samples of all shots. A shot that is not timed gets a sample of zero ticks for each thread.
    fn samples_of(&mut self, shots: &[Shot], records: &[Vec<Record>]) -> Option<Vec<Sample>> {
        let nothing = |threads: usize| {
            let actors = vec![ActorTime { elapsed: Ticks(0), smt_interference: false }; threads];
            Sample { actors, ..Sample::of_one(Ticks(0), self.clock.ns_per_tick()) }
        };
        let mut timed = 0..;
        let sample = |shot: &Shot| {
            if !self.is_timed(shot.side) {
                return Some(nothing(records.len()));
            }
            self.sample_of(shot, records, timed.next()?)
        };
        shots.iter().map(sample).collect()
    }

    /// Adds the windows of the test that nothing disturbed.
    fn record_fairness(&mut self, shots: &[Shot], samples: &[Sample], records: &[Vec<Record>]) {
        let timed: Vec<_> = shots.iter().zip(samples).filter(|(shot, _)| self.is_timed(shot.side)).collect();
        for (index, (shot, sample)) in timed.into_iter().enumerate() {
            if let (Side::Test, None, Some(turns)) = (shot.side, &sample.disturbance, turns(records, index)) {
                self.fairness.add(&turns);
            }
        }
    }

    /// Adds the contention ratios of a batch to those of its CPUs.
    fn record_contention(&mut self, records: &[Vec<Record>]) {
        for (cpu, of_thread) in self.team.cpus().iter().zip(records) {
            let Some(cpu) = *cpu else { continue };
            let ratios = of_thread.iter().flat_map(|record| record.contention_ratio).flatten();
            ratios.for_each(|ratio| self.interference.add(cpu, ratio));
        }
    }

    /// The time of each thread, and whether another hardware thread was active on its core before or after. Empty where such
    /// interference is part of what is measured, or cannot be detected.
    fn actors(&self, elapsed: &[Ticks], seen: &[&Record]) -> Vec<ActorTime> {
        let Sharing { oversubscribed, unbound, has_siblings, .. } = self.sharing;
        if oversubscribed || unbound || has_siblings {
            return Vec::new();
        }
        let actor = |((cpu, record), elapsed): ((&Option<u32>, &&Record), &Ticks)| {
            let [before, after] = record.contention_ratio;
            let ((before, after), cpu) = (before.zip(after)?, (*cpu)?);
            let smt_interference = [before, after].into_iter().any(|ratio| self.interference.detects(cpu, ratio));
            Some(ActorTime { elapsed: *elapsed, smt_interference })
        };
        let actors: Option<Vec<ActorTime>> = self.team.cpus().iter().zip(seen).zip(elapsed).map(actor).collect();
        actors.unwrap_or_default()
    }
}

/// `count` shots of the test.
fn tests(count: u64, iterations: u64) -> Vec<Shot> {
    (0..count).map(|pair| Shot { side: Side::Test, iterations, pair }).collect()
}

/// What each thread executed in a window.
fn turns(records: &[Vec<Record>], window: usize) -> Option<Vec<f64>> {
    records.iter().map(|of_thread| of_thread.get(window)?.counted).collect()
}

fn error_of(error: TeamError) -> ExperimentError {
    match error {
        TeamError::TimedOut(limit) => ExperimentError::TimedOut(limit),
        TeamError::Prevented(reason) => ExperimentError::Prevented(reason),
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

    fn samples(&mut self, shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError> {
        let started = Occupancy::begin();
        let timed: Vec<Shot> = shots.iter().filter(|shot| self.is_timed(shot.side)).copied().collect();
        let limit = self.limit(&timed);
        let windowed = self.windowed.as_ref().map(|body| (Purpose::Windows, body));
        let (purpose, body) = windowed.unwrap_or((Purpose::Samples, &self.workload.body));
        let outcome = self.team.run_for(purpose, body, &timed, limit);
        let records = outcome.map_err(|error| self.error_of(error, &started))?;
        if self.defect.is_none() {
            self.defect = records.iter().flatten().find_map(|record| record.defect.clone());
        }
        self.record_contention(&records);
        // One value for the batch: a single reading is as coarse as the clock's steps.
        let readings = |reading: fn(&Record) -> Option<f64>| -> Vec<f64> {
            records.iter().flatten().filter_map(reading).collect()
        };
        let counted = readings(|record| record.counted_per_tick);
        let cycles_per_tick = cycles::of_batch(&counted, &readings(|record| record.chained_per_tick));
        let count = self.workload.timed.unwrap_or(records.len()).min(records.len());
        let samples = self.samples_of(shots, &records[..count]);
        let samples = samples.ok_or_else(|| ExperimentError::Failed("the team has no threads".to_owned()))?;
        self.record_speed(shots, &samples);
        self.record_fairness(shots, &samples, &records);
        Ok(samples.into_iter().map(|sample| Sample { cycles_per_tick, ..sample }).collect())
    }

    fn protocol(&self) -> Protocol {
        let windows = self.workload.windows.as_ref();
        let (sample_length, share_of_time) =
            match (self.sharing.oversubscribed, self.workload.blocking == Blocking::Yes) {
                // `None` is the length in the settings: a time slice is longer than any sample.
                (true, _) => (None, OVERSUBSCRIBED_SHARE),
                (false, true) => (Some(BLOCKING_SAMPLE), BLOCKING_SHARE),
                (false, false) => (Some(SAMPLE), 1.0),
            };
        Protocol {
            max_iterations: self.workload.max_iterations,
            sample_length,
            longest_sample: sample_length.map(|length| length * MAX_SAMPLE_LENGTHS),
            // What the slowest thread does not get in a window, others do, and a window cannot tell how long that lasts.
            actor: if windows.is_some() { Actor::Mean } else { self.sharing.actor },
            // One thread with a core of its own shows the cost of the operation. Several show what a program meets: all samples
            // count, as for the rate of all threads, and samples of threads that were alone on their cores are stored in addition
            // (`alone_ns`).
            population: if self.team.cpus().len() > 1 { Population::All } else { Population::Alone },
            in_window: windows.is_some(),
            counted_for: windows.map(|windows| windows.length),
            has_double: true,
            is_own_context: windows.is_none_or(|windows| !windows.has_baseline),
            share_of_time,
            ..Protocol::of(windows.map_or(self.workload.functions, |windows| windows.functions).unroll)
        }
    }

    /// The first defect that the shots showed.
    fn check(&mut self) -> Check {
        self.defect.clone().map_or(Check::Ok, Check::Failed)
    }

    fn prove(&mut self) -> Result<(), ExperimentError> {
        let Some(proof) = self.workload.proof.clone() else { return Ok(()) };
        self.run_untimed(Purpose::Proof, &proof, self.workload.proofs)?;
        self.defect.clone().map_or(Ok(()), |defect| Err(ExperimentError::Failed(defect)))
    }

    /// Runs more windows, then the follow-up.
    fn details(&mut self) -> Result<Vec<Detail>, ExperimentError> {
        let mut found = self.of_windows()?;
        found.extend(self.of_long_windows()?);
        let follow_up = self.workload.follow_up.as_ref().map(|make| make(self.clock));
        if let (Some(follow_up), None) = (&follow_up, &self.defect) {
            self.run_untimed(Purpose::Samples, &(Arc::clone(follow_up) as Arc<dyn Body>), 1)?;
        }
        found.extend(follow_up.into_iter().flat_map(|follow_up| follow_up.details()));
        self.defect.clone().map_or(Ok(found), |defect| Err(ExperimentError::Failed(defect)))
    }

    fn evidence(&mut self) -> Evidence {
        self.workload.evidence()
    }

    fn remark(&self) -> Option<String> {
        let remarks = &self.sharing.remarks;
        (!remarks.is_empty()).then(|| remarks.join(", "))
    }
}

// How fair threads that contend are to each other, by what they executed in the windows that they shared.

/// What each thread executed in all windows so far.
#[derive(Debug, Default)]
pub(crate) struct Fairness {
    turns: Vec<f64>,
    windows: u32,
}

impl Fairness {
    /// Adds a window: the turns of each thread's loop.
    pub(crate) fn add(&mut self, turns: &[f64]) {
        self.turns.resize(turns.len(), 0.0);
        self.turns.iter_mut().zip(turns).for_each(|(all, turns)| *all += turns);
        self.windows += 1;
    }

    /// The rate of each thread over windows of `length` with `in_a_turn` operations in a turn, and Jain's index of the first
    /// `timed` threads, or of all.
    pub(crate) fn details(&self, length: Duration, in_a_turn: u64, timed: Option<usize>) -> Vec<Detail> {
        let seconds = length.as_secs_f64() * f64::from(self.windows);
        let rate = |turns: &f64| turns * in_a_turn as f64 / seconds;
        let of_actor = |(actor, turns)| Detail::of_actor("acquisitions_per_s", actor as u32, rate(turns));
        let timed = timed.unwrap_or(self.turns.len()).min(self.turns.len());
        let index = jain_index(&self.turns[..timed]).map(|index| Detail::of_case("jain_index", index));
        let window = index.is_some().then(|| Detail::of_case("window_ns", length.as_nanos() as f64));
        self.turns.iter().enumerate().map(of_actor).chain(index).chain(window).collect()
    }
}

/// Jain's fairness index: 1 where all shares are equal, 1/n where one of n is everything (Jain, Chiu, Hawe, *A Quantitative
/// Measure of Fairness and Discrimination*, DEC-TR-301, 1984). `None` where all shares are zero.
pub(crate) fn jain_index(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    let index = sum * sum / (shares.len() as f64 * squares);
    index.is_finite().then_some(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_jains() {
        assert_eq!(jain_index(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain_index(&[0.0, 5.0, 0.0, 0.0]), Some(0.25));
        // The paper's example: 100 dollars for 20 of 100 people is 0.2.
        let shares: Vec<f64> = (0..100).map(|person| if person < 20 { 5.0 } else { 0.0 }).collect();
        assert!((jain_index(&shares).unwrap() - 0.2).abs() < 1e-12);
        assert_eq!((jain_index(&[]), jain_index(&[0.0; 3])), (None, None));
    }

    #[test]
    fn details_hold_the_rate_of_each_thread_over_all_windows() {
        let mut fairness = Fairness::default();
        assert!(fairness.details(Duration::from_micros(1), 1, None).is_empty(), "no window");
        fairness.add(&[200.0, 50.0]);
        fairness.add(&[100.0, 50.0]);
        let details = fairness.details(Duration::from_micros(100), 2, None);
        let of = |name: &str, actor| details.iter().find(|d| d.name == name && d.actor == actor).unwrap().value;
        let rates = [0, 1].map(|actor| of("acquisitions_per_s", Some(actor)));
        assert!((rates[0] - 3e6).abs() < 1e-3 && (rates[1] - 1e6).abs() < 1e-3, "{details:?}");
        assert!((of("jain_index", None) - 0.8).abs() < 1e-9, "{details:?}");
        assert!((of("window_ns", None) - 1e5).abs() < 1e-9, "{details:?}");
    }
}
