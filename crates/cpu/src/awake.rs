//! Whether the CPUs are kept awake during a run. A short trial decides, because the loops that keep them awake help on some
//! machines and harm on others.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{hint, io};

use syncscope_core::engine::PairOrder;
use syncscope_core::machine::AwakeDecision;
use syncscope_core::{
    CPU_BLOCK_PAIRS, Case, Dtype, Experiment, Laboratory, Layout, MemoryOrder, Placement, Sample, Shot, Side, stats,
};
use syncscope_host::cpu_list;
use syncscope_host::scheduling::{self, CpuSet};

use crate::experiment::SAMPLE;
use crate::team::pool::left_after;

/// The environment variable that replaces the trial by `on` or `off`; see docs/GUIDE.md.
const VARIABLE: &str = "SYNCSCOPE_KEEP_AWAKE";

/// Numbers of CPUs at which a trial decides. On 16 virtual CPUs the loops added noise.
const CPUS: RangeInclusive<usize> = 2..=8;

/// Phases with the loops on, and as many with the loops off.
const PHASES_OF_EACH: usize = 3;

/// Length of a phase. The host moves a CPU long after the CPU has halted: with phases of one block, both states had nearly the
/// same noise.
const PHASE: Duration = Duration::from_millis(220);

/// The start of a phase, which does not count: it shows what the other state has left behind.
const SETTLING: Duration = Duration::from_millis(50);

/// The fewest blocks with which a phase counts.
const FEWEST_BLOCKS: usize = 10;

/// Pause before a block, in which CPUs without a loop halt, as they do between the samples of a run.
const PAUSE: Duration = Duration::from_millis(1);

/// Most iterations of a sample, in case more of them do not make it longer.
const MAX_ITERATIONS: u64 = 1 << 16;

/// The loops must lower the noise to this share or below.
const LARGEST_SHARE: f64 = 2.0 / 3.0;

/// Noise below which there is nothing to gain: the width that ends the measuring of a case in the quick preset.
const LEAST_NOISE: f64 = 0.01;

/// Whether the CPUs are kept awake, and why.
pub(crate) struct AwakePolicy {
    /// The threads that keep the CPUs awake, until they are dropped.
    pub(crate) loops: Option<KeepAwake>,
    pub(crate) decision: AwakeDecision,
}

/// The noise of a workload without loops and with them.
type Noise = [f64; 2];

impl AwakePolicy {
    /// Decides for a run on these CPUs, by a trial of at most one and a half seconds.
    pub(crate) fn decide(laboratory: &mut dyn Laboratory, cpus: &[u32], quota: Option<f64>, is_guest: bool) -> Self {
        let variable = std::env::var(VARIABLE).ok();
        let plan = plan(cpus.len(), is_guest, quota, variable.as_deref());
        if let Some(AwakeDecision::Off(reason)) = plan {
            return Self::off(&reason);
        }
        let loops = match KeepAwake::start(cpus) {
            Ok(loops) => loops,
            Err(error) => return Self::off(&format!("no loops at idle priority: {error}")),
        };
        if let Some(AwakeDecision::On(reason)) = plan {
            return Self::on(loops, cpus, &reason);
        }
        match trial(laboratory, &loops) {
            None => Self::off("the trial gave no figures"),
            Some(noise) if is_worth_it(&noise) => Self::on(loops, cpus, &in_words(&noise)),
            Some(noise) => Self::off(&in_words(&noise)),
        }
    }

    fn on(loops: KeepAwake, cpus: &[u32], reason: &str) -> Self {
        loops.switch(true);
        let how = format!("idle-priority PAUSE loops on CPUs {} ({reason})", cpu_list::format(cpus));
        Self { loops: Some(loops), decision: AwakeDecision::On(how) }
    }

    /// The policy that another process of the run decided on.
    pub(crate) fn inherited(is_on: bool, cpus: &[u32]) -> io::Result<Self> {
        let loops = is_on.then(|| KeepAwake::start(cpus)).transpose()?;
        Ok(Self { loops, ..Self::off("inherited") })
    }

    /// Lets the CPUs idle for a while, or keeps them awake again where they were to be.
    pub(crate) fn let_idle(&self, idle: bool) {
        if let Some(loops) = &self.loops {
            loops.switch(!idle);
        }
    }

    fn off(reason: &str) -> Self {
        Self { loops: None, decision: AwakeDecision::Off(reason.to_owned()) }
    }
}

/// The decision and its reason, where the number of CPUs, the kind of machine, a quota of CPU time or the value of [`VARIABLE`]
/// settles it; `None` where a trial decides.
fn plan(cpus: usize, is_guest: bool, quota: Option<f64>, variable: Option<&str>) -> Option<AwakeDecision> {
    use AwakeDecision::{Off, On};
    if variable == Some("off") {
        return Some(Off(format!("{VARIABLE}=off")));
    }
    if let Some(quota) = quota.filter(|quota| *quota < cpus as f64) {
        return Some(Off(format!("no trial: a control group limits this process to the time of {quota} CPUs")));
    }
    match cpus {
        _ if variable == Some("on") => Some(On(format!("{VARIABLE}=on"))),
        // Each of two guests with two CPUs resolved twice as many cases with the loops. A trial of a second there decides one way
        // and then the other, because the host moves CPUs within seconds, and two runs would be in two states.
        2 if is_guest => Some(On("a guest with 2 CPUs".to_owned())),
        cpus if CPUS.contains(&cpus) => None,
        cpus if cpus < *CPUS.start() => Some(Off("no trial: one CPU".to_owned())),
        cpus => Some(Off(format!("no trial: {cpus} CPUs, more than {}", CPUS.end()))),
    }
}

/// Whether the loops lower the noise by a third, in the mean over the workloads.
fn is_worth_it(noise: &[Noise]) -> bool {
    let [without, with] = means(noise);
    without >= LEAST_NOISE && with <= LARGEST_SHARE * without
}

/// The mean over the workloads.
fn means(noise: &[Noise]) -> Noise {
    [0, 1].map(|state| noise.iter().map(|noise| noise[state]).sum::<f64>() / noise.len().max(1) as f64)
}

fn in_words(noise: &[Noise]) -> String {
    let [without, with] = means(noise);
    format!("noise {:.1} % without, {:.1} % with", 100.0 * without, 100.0 * with)
}

/// The workloads of the trial: an addition for which two threads contend, and a hand-off between them.
fn workloads() -> [Case; 2] {
    let two_threads = |id| Case { threads: Some(2), placement: Some(Placement::Close), ..Case::new(id) };
    [
        Case {
            dtype: Some(Dtype::I32),
            layout: Some(Layout::Shared),
            order: Some(MemoryOrder::Relaxed),
            ..two_threads("cpu.atomic.add")
        },
        two_threads("cpu.handoff.cas_pingpong"),
    ]
}

/// Measures every workload in phases with and without loops, in random order, and leaves the loops switched off. `None`
/// where that gives too few figures.
fn trial(laboratory: &mut dyn Laboratory, loops: &KeepAwake) -> Option<Vec<Noise>> {
    let mut random = fastrand::Rng::new();
    let cases = workloads();
    let iterations: Option<Vec<u64>> =
        cases.iter().map(|case| fitting_iterations(laboratory.experiment(case).ok()?.as_mut())).collect();
    let with_iterations: Vec<(&Case, u64)> = cases.iter().zip(iterations?).collect();
    // The noise of every phase, by workload, then without and with loops.
    let mut found = cases.each_ref().map(|_| [Vec::new(), Vec::new()]);
    for _ in 0..PHASES_OF_EACH {
        let first = random.bool();
        for on in [first, !first] {
            loops.switch(on);
            let costs = phase(laboratory, &with_iterations, &mut random)?;
            for (found, costs) in found.iter_mut().zip(costs) {
                found[usize::from(on)].extend(noise(&costs));
            }
        }
    }
    loops.switch(false);
    // The host may move a CPU within a phase of either state, so the median phase counts.
    let noise = |[without, with]: &[Vec<f64>; 2]| Some([stats::median(without)?, stats::median(with)?]);
    found.iter().map(noise).collect()
}

/// The costs of the blocks of one phase, for every case.
fn phase(laboratory: &mut dyn Laboratory, cases: &[(&Case, u64)], random: &mut fastrand::Rng) -> Option<Vec<Vec<f64>>> {
    let begun = Instant::now();
    let mut costs = vec![Vec::new(); cases.len()];
    while begun.elapsed() < PHASE {
        thread::sleep(PAUSE);
        for ((case, iterations), costs) in cases.iter().zip(&mut costs) {
            let cost = block(laboratory.experiment(case).ok()?.as_mut(), *iterations, random);
            costs.extend(cost.filter(|_| begun.elapsed() > SETTLING));
        }
    }
    Some(costs)
}

fn noise(costs: &[f64]) -> Option<f64> {
    if costs.len() < FEWEST_BLOCKS { None } else { stats::noise(costs) }
}

/// The number of iterations with which a baseline is as long as a sample.
fn fitting_iterations(experiment: &mut dyn Experiment) -> Option<u64> {
    let most = experiment.protocol().max_iterations.min(MAX_ITERATIONS);
    let mut iterations = 1;
    while iterations < most {
        let shot = |pair| Shot { side: Side::Baseline, iterations, pair };
        let samples = experiment.samples(&[shot(0), shot(1), shot(2)]).ok()?;
        if samples.iter().map(Sample::slowest_ns).fold(f64::INFINITY, f64::min) >= SAMPLE.as_nanos() as f64 {
            break;
        }
        iterations *= 2;
    }
    Some(iterations.min(most))
}

/// The median of the costs that the undisturbed pairs of a block show, in nanoseconds. The block has as many pairs as a
/// measurement block of a run.
fn block(experiment: &mut dyn Experiment, iterations: u64, random: &mut fastrand::Rng) -> Option<f64> {
    let shots = PairOrder::new(random.u64(..), iterations, 0).shots(CPU_BLOCK_PAIRS);
    let samples = experiment.samples(&shots).ok()?;
    let operations = |side| experiment.operations(side, iterations) as f64;
    let more = operations(Side::Test) - operations(Side::Baseline);
    let costs = shots.chunks_exact(2).zip(samples.chunks_exact(2)).filter_map(|(shots, samples)| {
        let difference = samples[1].slowest_ns() - samples[0].slowest_ns();
        let sign = if shots[1].side == Side::Test { 1.0 } else { -1.0 };
        samples.iter().all(|sample| sample.disturbance.is_none()).then_some(sign * difference / more)
    });
    stats::median(&costs.collect::<Vec<f64>>())
}

// The loops: one thread at idle priority on each CPU. A CPU of a virtual machine that halts gives its core back to the host.
// Later it may get another core, and costs change.

/// More CPUs than this are not kept awake.
const MAX_THREADS: usize = 64;

/// How long the threads may take to start, at normal priority on CPUs that others use.
const START_LIMIT: Duration = Duration::from_secs(20);

/// How long the threads may take to end. At idle priority they wait for a CPU that others use.
const PATIENCE: Duration = Duration::from_secs(2);

/// Repetitions of PAUSE between two looks at the state: some microseconds.
const PAUSES: u32 = 64;

/// After how many rounds a thread checks whether it was moved: some tens of milliseconds.
const LOOK_EVERY: u64 = 1 << 14;

const OFF: u8 = 0;
const ON: u8 = 1;
const ENDED: u8 = 2;

/// Threads at idle priority, one bound to each CPU, that repeat PAUSE while they are switched on and sleep otherwise. They
/// give way to every thread of normal priority. They end when this is dropped.
#[derive(Debug)]
pub(crate) struct KeepAwake {
    state: Arc<AtomicU8>,
    threads: Vec<JoinHandle<()>>,
}

impl KeepAwake {
    /// Starts the threads, switched off.
    ///
    /// # Errors
    /// When a thread cannot be started, bound or given idle priority. No thread is left then: at normal priority it would
    /// disturb what is measured.
    pub(crate) fn start(cpus: &[u32]) -> io::Result<Self> {
        if cpus.len() > MAX_THREADS {
            return Err(io::Error::other(format!("more than {MAX_THREADS} CPUs")));
        }
        let (sender, started) = mpsc::channel();
        let mut loops = Self { state: Arc::new(AtomicU8::new(OFF)), threads: Vec::new() };
        for cpu in cpus.iter().copied() {
            let (state, started) = (Arc::clone(&loops.state), sender.clone());
            let builder = thread::Builder::new().name(format!("awake-{cpu}"));
            loops.threads.push(builder.spawn(move || serve(cpu, &state, &started))?);
        }
        // The threads report their numbers, then wait for `switch`. They get idle priority from here and only then: with it, on
        // CPUs that others use, they would not come to report.
        for _ in cpus {
            let bound = started.recv_timeout(START_LIMIT);
            let late = |_| io::Error::new(io::ErrorKind::TimedOut, "threads of idle priority did not start");
            scheduling::lower_to_idle_priority(bound.map_err(late)??)?;
        }
        Ok(loops)
    }

    /// Switches the loops on or off.
    pub(crate) fn switch(&self, on: bool) {
        self.set(if on { ON } else { OFF });
    }

    fn set(&self, state: u8) {
        if self.state.swap(state, Ordering::AcqRel) == state {
            return;
        }
        self.threads.iter().for_each(|handle| handle.thread().unpark());
    }
}

impl Drop for KeepAwake {
    /// Ends the threads. Those that find no CPU in time end later and are not waited for.
    fn drop(&mut self) {
        self.set(ENDED);
        left_after(PATIENCE, &mut self.threads);
    }
}

/// The life of one thread.
fn serve(cpu: u32, state: &AtomicU8, started: &Sender<io::Result<i32>>) {
    let bound = scheduling::bind_to_one(cpu).map(|()| scheduling::current_thread());
    let is_bound = bound.is_ok();
    if started.send(bound).is_err() || !is_bound {
        return;
    }
    let cpus = CpuSet::of_this_thread();
    for round in 0_u64.. {
        match state.load(Ordering::Acquire) {
            OFF => thread::park(),
            ON => (0..PAUSES).for_each(|_| hint::spin_loop()),
            _ => return,
        }
        if round.is_multiple_of(LOOK_EVERY) {
            // Where that fails, this process may no longer use the CPU.
            let _ = cpus.as_ref().map(CpuSet::restore);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use syncscope_core::Preset;
    use syncscope_host::clock;

    use super::*;
    use syncscope_host::scheduling::allowed_cpus;
    use syncscope_machine::topology::regular;

    const fn noise_of(without: f64, with: f64) -> Noise {
        [without, with]
    }

    #[test]
    fn loops_must_lower_the_mean_noise_by_a_third() {
        assert!(is_worth_it(&[noise_of(0.12, 0.05)]));
        assert!(is_worth_it(&[noise_of(0.20, 0.06), noise_of(0.04, 0.06)]), "the mean counts");
        assert!(!is_worth_it(&[noise_of(0.12, 0.09)]), "a quarter is not enough");
        assert!(!is_worth_it(&[noise_of(0.05, 0.12)]));
        assert!(!is_worth_it(&[noise_of(0.006, 0.001)]), "nothing to gain");
        assert!(!is_worth_it(&[]));
        assert!(!is_worth_it(&[noise_of(f64::NAN, 0.1)]));
    }

    #[test]
    fn the_trial_needs_two_to_eight_cpus_and_their_whole_time() {
        assert_eq!(plan(2, false, None, None), None);
        assert_eq!(plan(2, true, None, None), Some(AwakeDecision::On("a guest with 2 CPUs".to_owned())));
        assert_eq!(plan(4, true, None, None), None);
        assert_eq!(plan(8, false, Some(8.0), None), None);
        assert_eq!(plan(4, false, None, Some("perhaps")), None);
        assert_eq!(plan(1, false, None, None), Some(AwakeDecision::Off("no trial: one CPU".to_owned())));
        assert_eq!(plan(16, false, None, None), Some(AwakeDecision::Off("no trial: 16 CPUs, more than 8".to_owned())));
        assert!(
            matches!(plan(4, false, Some(3.5), None), Some(AwakeDecision::Off(reason)) if reason.contains("3.5 CPUs"))
        );
    }

    #[test]
    fn the_variable_replaces_the_trial() {
        assert_eq!(plan(2, false, None, Some("off")), Some(AwakeDecision::Off("SYNCSCOPE_KEEP_AWAKE=off".to_owned())));
        assert_eq!(plan(16, false, None, Some("on")), Some(AwakeDecision::On("SYNCSCOPE_KEEP_AWAKE=on".to_owned())));
        assert!(
            matches!(plan(2, false, Some(1.0), Some("on")), Some(AwakeDecision::Off(_))),
            "loops would use up the quota"
        );
    }

    #[test]
    fn the_noise_is_written_in_percent() {
        let text = in_words(&[noise_of(0.02, 0.01), noise_of(0.04, 0.02)]);
        assert_eq!(text, "noise 3.0 % without, 1.5 % with");
    }

    #[test]
    fn the_workloads_of_the_trial_are_in_the_plan() {
        let planned = crate::plan::plan(Preset::Paper, &regular(1, 1, 1, 2, 1));
        for case in workloads() {
            assert!(planned.contains(&case), "{case}");
        }
    }

    #[test]
    fn few_blocks_decide_nothing() {
        assert_eq!(noise(&[1.0; FEWEST_BLOCKS - 1]), None);
        assert_eq!(noise(&[1.0; FEWEST_BLOCKS]), Some(0.0));
    }

    /// How many threads of this process have a name that `KeepAwake` gives, and the CPU time that they have used.
    fn threads_and_ticks() -> (usize, u64) {
        let mut found = (0, 0);
        for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
            // A thread of another test may end meanwhile.
            let Ok(stat) = std::fs::read_to_string(task.path().join("stat")) else { continue };
            let Some((name, fields)) = stat.rsplit_once(") ") else { continue };
            if name.contains("(awake-") {
                let fields: Vec<&str> = fields.split(' ').collect();
                // Fields 14 and 15 of proc_pid_stat(5); `fields` begins with the third.
                found.0 += 1;
                found.1 += fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
            }
        }
        found
    }

    /// On a busy machine threads of this priority find no CPU to end on for a while.
    fn wait_until_all_ended() {
        let begun = Instant::now();
        while threads_and_ticks().0 > 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "{} threads are left", threads_and_ticks().0);
            thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn loops_use_time_while_they_are_on_and_are_gone_after_drop() {
        let cpus = allowed_cpus();
        let Ok(loops) = KeepAwake::start(&cpus) else { return };
        assert_eq!(threads_and_ticks(), (cpus.len(), 0), "switched off at first");
        loops.switch(true);
        let begun = Instant::now();
        while threads_and_ticks().1 < 2 && begun.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(10));
        }
        assert!(threads_and_ticks().1 >= 2, "{} ticks a second", clock::ticks_per_second());
        loops.switch(false);
        let begun = Instant::now();
        drop(loops);
        assert!(begun.elapsed() < 2 * PATIENCE);
        wait_until_all_ended();
        // In the same test, because threads of another one would be counted.
        assert!(KeepAwake::start(&[cpus[0], 16_000]).is_err(), "a CPU that does not exist");
        assert!(KeepAwake::start(&[cpus[0]; MAX_THREADS + 1]).is_err());
        let running = KeepAwake::start(&cpus[..1]).unwrap();
        running.switch(true);
        drop(running);
        wait_until_all_ended();
    }
}
