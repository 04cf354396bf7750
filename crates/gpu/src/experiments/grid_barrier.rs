//! Barriers of a grid, or of the grids of several devices: turns launches on a group of devices into samples.

use std::time::{Duration, Instant};

use syncscope_core::{Check, Evidence, Experiment, ExperimentError, Protocol, Ruler, Sample, Shot, Side, Ticks};

use crate::experiments::{ThirdLoop, no_third_loop};
use crate::launch::arguments::{GridBarrierArguments, LoopArguments, Rate, Warp};
use crate::launch::bench::BlockOrder;
use crate::launch::offsets::{MemoryOffsets, OffsetApart};
use crate::launch::runner::Outage;
use crate::launch::samples::{Timing, by_threads, joined, mark_clock_changes, ns_per_cycle, operations, with_warm_up};
use crate::launch::{host_clock, ruler};
use crate::multi::{DeviceGroup, GroupLaunch, LoadedProgram, PhaseCounts};

/// Barriers of one check in the kernel (`check_once` in `grid_barrier.cuh`): one after the writes, one after the reads.
const BARRIERS_OF_A_CHECK: u64 = 2;

/// Checks of the kernel `check` at each memory offset, in addition to the one that every kernel begins with.
const CHECKS: u32 = 32;

/// Barriers that each thread passes in the kernel `check` at each memory offset.
const BARRIERS_OF_A_TRIAL: u64 = BARRIERS_OF_A_CHECK * (1 + CHECKS as u64);

/// Far more than any sample needs; the kernels count in 32 bits.
const MAX_ITERATIONS: u64 = 1 << 24;

/// What a case needs to run, besides the devices.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) program: LoadedProgram,
    pub(crate) offsets: MemoryOffsets,
    /// The offset at which the barrier is proved; `None` if there are too few offsets.
    pub(crate) apart: Option<OffsetApart>,
    pub(crate) unroll: u32,
    pub(crate) evidence: Evidence,
    pub(crate) ruler: Ruler,
    pub(crate) remark: Option<String>,
}

/// Barriers of one or several grids, ready to run.
#[derive(Debug)]
pub struct GridBarrierExperiment<'a> {
    pub(crate) device_group: &'a mut DeviceGroup,
    pub(crate) setup: Setup,
    pub(crate) third: Option<ThirdLoop<'a, LoadedProgram>>,
    /// How often launches have used memory offsets so far, from 1.
    pub(crate) generation: u32,
}

impl GridBarrierExperiment<'_> {
    /// Keeps idle devices busy until the clock is stable.
    pub(crate) fn warm_up(&mut self) -> Result<(), Outage> {
        if ruler::is_warm(self.device_group.runner.idle()) {
            return Ok(());
        }
        ruler::run_until_stable(|| {
            let launch = self.launch(Shot { side: Side::Baseline, iterations: 100, pair: 0 });
            let timings = self.device_group.run(&self.setup.program, &[launch])?;
            let slowest = |devices: &Vec<Timing>| {
                devices.iter().filter_map(|timing| ns_per_cycle(timing.rate)).fold(0.0, f64::max)
            };
            Ok(timings.iter().map(slowest).collect())
        })?;
        Ok(())
    }

    /// The launch of a shot. It has to run: the next launch at the same memory offset continues its count of barriers.
    fn launch(&mut self, Shot { side, iterations, pair }: Shot) -> GroupLaunch {
        let iterations = iterations.min(MAX_ITERATIONS);
        let barriers = 2 * BARRIERS_OF_A_CHECK + with_warm_up(side, iterations, self.setup.unroll);
        self.counted(Some(side), iterations as u32, pair, barriers)
    }

    /// A launch in which each thread passes this many barriers at each memory offset; without a side, of the kernel `check`.
    fn counted(&mut self, side: Option<Side>, iterations: u32, pair: u64, barriers: u64) -> GroupLaunch {
        let offsets = &mut self.setup.offsets;
        let common = LoopArguments {
            iterations,
            offsets: offsets.per_sample(),
            offset_distance: offsets.distance() as u64,
            ..LoopArguments::default()
        };
        let arguments = GridBarrierArguments {
            common,
            barriers_passed: offsets.executed(pair).total,
            generation: self.generation,
            slot: offsets.index(pair) as u32,
            slot_distance: offsets.sets() as u32,
        };
        self.generation = self.generation.wrapping_add(offsets.per_sample());
        offsets.note(pair, barriers);
        GroupLaunch { side, arguments, offset: offsets.offset(pair), order: BlockOrder::Any }
    }

    fn sample_of(&self, devices: &[Timing]) -> Option<Sample> {
        let threads = self.setup.program.shape.threads;
        let nominal = 1e9 / self.setup.ruler.frequency.value();
        let length = |rate: Rate| ns_per_cycle(rate).unwrap_or(nominal);
        let first = length(devices.first()?.rate);
        // Each multiprocessor counts cycles of its own device; convert them to cycles of the first device.
        let ticks = |timing: &Timing, cycles: u64| Ticks((cycles as f64 * length(timing.rate) / first).round() as u64);
        // The warps of all devices at one memory offset.
        let each = |offset: usize, pick: fn(&Warp) -> u64| {
            let of = move |timing: &'_ Timing| {
                let warps = timing.at_each_offset().nth(offset).unwrap_or_default();
                by_threads(warps, threads).map(|warp| ticks(timing, pick(warp))).collect::<Vec<_>>()
            };
            devices.iter().flat_map(of).collect::<Vec<Ticks>>()
        };
        let at = |offset| {
            let fastest = each(offset, |warp| warp.fastest).into_iter().min()?;
            let sample = Sample::of_actors(&mut each(offset, |warp| warp.slowest), first)?;
            Some(Sample { fastest, cycles_per_tick: Some(1.0), ..sample })
        };
        (0..devices.first()?.offsets).map(at).reduce(joined)?
    }

    /// Loads the third loop if these shots run it.
    fn load_third_loop(&mut self, shots: &[Shot]) -> Result<(), ExperimentError> {
        if shots.iter().any(is_third) {
            let Self { device_group, setup, third, .. } = self;
            let third = third.as_mut().ok_or_else(no_third_loop)?;
            third.loaded(|program, cubin| device_group.load_third_loop(&setup.program, program, cubin))?;
        }
        Ok(())
    }

    /// Runs the launches of shots; either all of them run the third loop or none does.
    fn run(&mut self, shots: &[Shot], launches: &[GroupLaunch]) -> Result<Vec<Vec<Timing>>, ExperimentError> {
        let Self { device_group, setup, third, .. } = self;
        let program = match shots.first() {
            Some(shot) if is_third(shot) => third.as_ref().and_then(ThirdLoop::get).ok_or_else(no_third_loop)?,
            _ => &setup.program,
        };
        Ok(device_group.run(program, launches)?)
    }

    /// Times one launch by both clocks: the host's time from before the launch until after its end, the slowest thread's ticks
    /// between the readings in the kernel, and the measured frequency.
    ///
    /// # Errors
    /// Why the launch gave no times.
    pub fn by_both_clocks(&mut self, shot: Shot) -> Result<BothClocksOfLaunch, ExperimentError> {
        let launch = self.launch(shot);
        let started = host_clock::now_ns();
        let timings = self.run(&[shot], &[launch])?;
        let host_ns = host_clock::now_ns().saturating_sub(started);
        let devices = timings.first().ok_or_else(no_threads)?;
        let sample = self.sample_of(devices).ok_or_else(no_threads)?;
        let ns_per_cycle = devices.first().and_then(|timing| ns_per_cycle(timing.rate));
        Ok(BothClocksOfLaunch { host_ns, device_cycles: sample.slowest, ns_per_cycle })
    }

    /// Runs the kernel `check`, whose blocks arrive at different times, at the memory offsets of a pair.
    fn trial(&mut self, pair: u64) -> Result<Check, Outage> {
        let launch = self.counted(None, CHECKS, pair, BARRIERS_OF_A_TRIAL);
        self.device_group.run(&self.setup.program, &[launch])?;
        Ok(judged(self.device_group.counts(&self.setup.program)))
    }

    /// Runs the kernel `check` at the offset that was set apart, which takes a fraction of the time of a whole set.
    fn trial_apart(&mut self) -> Option<Result<Check, Outage>> {
        let apart = self.setup.apart.as_mut()?;
        let common = LoopArguments { iterations: CHECKS, offsets: 1, ..LoopArguments::default() };
        let (barriers_passed, generation, slot) = (apart.executed, self.generation, apart.number as u32);
        let arguments = GridBarrierArguments { common, barriers_passed, generation, slot, slot_distance: 0 };
        let launch = GroupLaunch { side: None, arguments, offset: apart.bytes, order: BlockOrder::Any };
        apart.executed += BARRIERS_OF_A_TRIAL;
        self.generation = self.generation.wrapping_add(1);
        let ran = self.device_group.run(&self.setup.program, &[launch]);
        Some(ran.map(|_| judged(self.device_group.counts(&self.setup.program))))
    }

    /// Runs the kernel `check` at one set of memory offsets after the other while `goes_on` holds for the number of barriers
    /// that each thread has passed. Returns that number, and what all checks found.
    pub(crate) fn stress_while(&mut self, goes_on: impl Fn(u64) -> bool) -> Result<(u64, Check), Outage> {
        let (mut pairs, mut passed, mut check) = (0.., 0, Check::Ok);
        while let Some(pair) = pairs.next().filter(|_| goes_on(passed) && check == Check::Ok) {
            check = self.trial(pair)?;
            passed += BARRIERS_OF_A_TRIAL * u64::from(self.setup.offsets.per_sample());
        }
        Ok((passed, check))
    }
}

/// The duration of one launch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BothClocksOfLaunch {
    /// From before the launch until after its end, by the host's clock.
    pub host_ns: u64,
    /// The slowest thread's ticks, by the clock of the multiprocessors.
    pub device_cycles: Ticks,
    /// The length of a cycle; `None` if the global timer did not step.
    pub ns_per_cycle: Option<f64>,
}

const fn is_third(shot: &Shot) -> bool {
    matches!(shot.side, Side::Double)
}

fn no_threads() -> ExperimentError {
    ExperimentError::Failed("a grid without threads".to_owned())
}

/// The result of a check with these counts.
pub(crate) fn judged(counts: PhaseCounts) -> Check {
    if counts.timeouts > 0 {
        return Check::Failed(format!("{} waits outlasted their limit", counts.timeouts));
    }
    let PhaseCounts { mismatches, thread, expected, found, .. } = counts;
    if mismatches == 0 {
        return Check::Ok;
    }
    Check::Failed(format!("{mismatches} mismatches; thread {thread} expected {expected} and found {found}"))
}

impl Experiment for GridBarrierExperiment<'_> {
    fn ruler(&self) -> Ruler {
        self.setup.ruler.clone()
    }

    fn operations(&self, side: Side, iterations: u64) -> u64 {
        operations(side, iterations, self.setup.unroll) * u64::from(self.setup.offsets.per_sample())
    }

    fn samples(&mut self, shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError> {
        self.load_third_loop(shots)?;
        let orders = BlockOrder::of(shots);
        let launches: Vec<GroupLaunch> =
            shots.iter().zip(orders).map(|(shot, order)| GroupLaunch { order, ..self.launch(*shot) }).collect();
        let mut timings = Vec::with_capacity(launches.len());
        for part in shots.chunk_by(|one, next| is_third(one) == is_third(next)) {
            let first = timings.len();
            timings.extend(self.run(part, &launches[first..first + part.len()])?);
        }
        let samples: Option<Vec<Sample>> = timings.iter().map(|devices| self.sample_of(devices)).collect();
        let mut samples = samples.ok_or_else(no_threads)?;
        mark_clock_changes(shots, &mut samples);
        Ok(samples)
    }

    fn protocol(&self) -> Protocol {
        Protocol {
            // All barriers cost the same from the first one on, so few iterations at each memory offset are enough.
            min_iterations: 2,
            max_iterations: MAX_ITERATIONS,
            has_double: self.third.is_some(),
            ..Protocol::of(self.setup.unroll)
        }
    }

    /// Each launch has checked the barrier before and after it was timed.
    fn check(&mut self) -> Check {
        judged(self.device_group.counts(&self.setup.program))
    }

    /// Proves the barrier under stress: with blocks that arrive at different times and writes that are late. At the eight
    /// offsets of a set that takes 0.4 s on average over the barriers of four H200s, many times as long as the samples do.
    fn prove(&mut self) -> Result<(), ExperimentError> {
        match self.trial_apart().unwrap_or_else(|| self.trial(0))? {
            Check::Failed(reason) => Err(ExperimentError::Failed(reason)),
            _ => Ok(()),
        }
    }

    fn stress(&mut self, time: Duration) -> Result<(u64, Check), ExperimentError> {
        let started = Instant::now();
        Ok(self.stress_while(|passed| passed == 0 || started.elapsed() < time)?)
    }

    fn evidence(&mut self) -> Evidence {
        self.setup.evidence.clone()
    }

    fn remark(&self) -> Option<String> {
        self.setup.remark.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_old_value_fails_the_check() {
        let clean = PhaseCounts::default();
        assert_eq!(judged(clean), Check::Ok);
        let stale = PhaseCounts { mismatches: 1, thread: 9, expected: 65, found: 64, ..clean };
        assert_eq!(judged(stale), Check::Failed("1 mismatches; thread 9 expected 65 and found 64".to_owned()));
        let late = PhaseCounts { timeouts: 132, ..stale };
        assert_eq!(judged(late), Check::Failed("132 waits outlasted their limit".to_owned()));
    }
}
