//! A barrier wider than a block on the device_group: rounds of launches become samples.

use std::time::{Duration, Instant};

use syncscope_core::{Check, Evidence, Experiment, ExperimentError, Ruler, Sample, Shot, Side, Ticks};

use crate::launch::arguments::{Finding, GridBarrierArguments, LoopArguments, Rate, Warp};
use crate::launch::block_order::BlockOrder;
use crate::launch::host_clock;
use crate::launch::offsets::MemoryOffsets;
use crate::launch::outage::Outage;
use crate::launch::samples::{joined, mark_clock_changes, ns_per_cycle};
use crate::launch::timing::Timing;
use crate::multi::{DeviceGroup, GroupLaunch, LoadedProgram, PhaseCounts, Role};

/// Barriers of one meeting, in `grid_barrier.cuh`: after what was written, and after what was read.
const MEETING: u64 = 2;

/// Meetings of the kernel `check` at each place, besides the one that it begins with there.
const CHECKED_ROUNDS: u32 = 32;

/// Far more than any sample needs; the kernels count in 32 bits.
const MAX_ITERATIONS: u64 = 1 << 24;

/// By which clock samples are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimedBy {
    /// That of the multiprocessors, around the loop in the kernel.
    Device,
    /// That of the host, from before the launch until after the end of the kernel: what is common to kernels with many
    /// barriers and with few drops out (Zhang et al., IPDPS 2020, formula 1).
    Host,
}

/// What a case needs to run, besides the device_group.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) stage: LoadedProgram,
    pub(crate) offsets: MemoryOffsets,
    pub(crate) unroll: u32,
    pub(crate) evidence: Evidence,
    pub(crate) ruler: Ruler,
    pub(crate) remark: Option<String>,
    pub(crate) timed_by: TimedBy,
}

/// A barrier of one grid or several, made ready to run.
#[derive(Debug)]
pub(crate) struct MeetingExperiment<'a> {
    device_group: &'a mut DeviceGroup,
    setup: Setup,
    /// MemoryOffsets visited so far by all launches.
    generation: u32,
}

impl<'a> MeetingExperiment<'a> {
    pub(crate) const fn new(device_group: &'a mut DeviceGroup, setup: Setup) -> Self {
        Self { device_group, setup, generation: 1 }
    }

    /// Keeps the devices busy until the clock is stable, if they were idle.
    pub(crate) fn warm_up(&mut self) -> Result<(), Outage> {
        /// A device that had nothing to do for longer may have lowered its clock.
        const IDLE: Duration = Duration::from_millis(200);
        const SHORTEST: Duration = Duration::from_millis(50);
        const LONGEST: Duration = Duration::from_millis(500);
        if self.device_group.idle().is_some_and(|idle| idle < IDLE) {
            return Ok(());
        }
        let started = Instant::now();
        let mut lengths = Vec::new();
        while started.elapsed() < LONGEST {
            let round = self.round(Shot { side: Side::Baseline, iterations: 100, pair: 0 });
            for devices in self.device_group.run(&self.setup.stage, &[round])? {
                lengths.push(devices.iter().filter_map(|timing| ns_per_cycle(timing.rate)).fold(0.0, f64::max));
            }
            if started.elapsed() >= SHORTEST && crate::launch::ruler::is_stable(&lengths) {
                break;
            }
        }
        Ok(())
    }

    /// Barriers that each thread passes in the loop at each place of one launch.
    fn looped(&self, side: Side, iterations: u64) -> u64 {
        iterations * u64::from(self.setup.unroll) * if side == Side::Baseline { 1 } else { 2 }
    }

    /// The launch of a shot. It must run: the barriers of the next one at the same place are counted on from its.
    fn round(&mut self, Shot { side, iterations, pair }: Shot) -> GroupLaunch {
        let iterations = iterations.min(MAX_ITERATIONS);
        let role = if side == Side::Baseline { Role::Baseline } else { Role::Test };
        let warm_up = 2 * u64::from(self.setup.unroll);
        let barriers = 2 * MEETING + warm_up + self.looped(side, iterations);
        self.counted(role, iterations as u32, pair, barriers)
    }

    /// A launch in which each thread passes so many barriers at each place.
    fn counted(&mut self, role: Role, iterations: u32, pair: u64, barriers: u64) -> GroupLaunch {
        let offsets = &mut self.setup.offsets;
        let common = LoopArguments {
            iterations,
            offsets: offsets.per_sample(),
            offset_distance: offsets.distance() as u64,
            opaque_one: 1,
            ..LoopArguments::default()
        };
        let arguments = GridBarrierArguments {
            common,
            barriers_passed: offsets.executed(pair).total,
            generation: self.generation,
            slot: offsets.number(pair),
            slot_distance: offsets.sets() as u32,
        };
        self.generation = self.generation.wrapping_add(offsets.per_sample());
        offsets.note(pair, barriers);
        GroupLaunch { role, arguments, offset: offsets.offset(pair), order: BlockOrder::Any }
    }

    fn sample_of(&self, devices: &[Timing]) -> Option<Sample> {
        let nominal = 1e9 / self.setup.ruler.frequency.value();
        let length = |rate: Rate| ns_per_cycle(rate).unwrap_or(nominal);
        let first = length(devices.first()?.rate);
        // Each multiprocessor counts its own device's cycles: those of the others are told in the first one's.
        let ticks = |timing: &Timing, cycles: u64| Ticks((cycles as f64 * length(timing.rate) / first).round() as u64);
        // What the warps of all devices saw at one place.
        let each = |place: usize, pick: fn(&Warp) -> u64| {
            let of = move |timing: &'_ Timing| {
                let warps = timing.at_each_offset().nth(place).unwrap_or_default();
                warps.iter().map(|warp| ticks(timing, pick(warp))).collect::<Vec<_>>()
            };
            devices.iter().flat_map(of).collect::<Vec<Ticks>>()
        };
        let at = |place| {
            let fastest = each(place, |warp| warp.fastest).into_iter().min()?;
            let sample = Sample::of_actors(&mut each(place, |warp| warp.slowest), first)?;
            Some(Sample { fastest, cycles_per_tick: Some(1.0), ..sample })
        };
        (0..devices.first()?.offsets).map(at).reduce(joined)?
    }

    /// One launch, timed from outside.
    fn host_sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError> {
        let round = self.round(shot);
        let started = host_clock::now_ns();
        let timings = self.device_group.run(&self.setup.stage, &[round])?;
        let elapsed = Ticks(host_clock::now_ns().saturating_sub(started));
        let cycles = timings.first().and_then(|devices| ns_per_cycle(devices.first()?.rate)).map(|length| 1.0 / length);
        let sample = Sample::of_actors(&mut [elapsed], 1.0).ok_or_else(no_threads)?;
        Ok(Sample { cycles_per_tick: cycles, ..sample })
    }

    fn device_samples(&mut self, shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError> {
        let orders = BlockOrder::of(shots);
        let rounds: Vec<GroupLaunch> =
            shots.iter().zip(orders).map(|(shot, order)| GroupLaunch { order, ..self.round(*shot) }).collect();
        let timings = self.device_group.run(&self.setup.stage, &rounds)?;
        let samples: Option<Vec<Sample>> = timings.iter().map(|devices| self.sample_of(devices)).collect();
        let mut samples = samples.ok_or_else(no_threads)?;
        mark_clock_changes(shots, &mut samples);
        Ok(samples)
    }

    /// Blocks that come at different times, at the places of the first pair.
    fn trial(&mut self) -> Result<PhaseCounts, Outage> {
        let barriers = MEETING * u64::from(1 + CHECKED_ROUNDS);
        let round = self.counted(Role::Check, CHECKED_ROUNDS, 0, barriers);
        self.device_group.run(&self.setup.stage, &[round])?;
        Ok(self.device_group.counts(&self.setup.stage))
    }
}

fn no_threads() -> ExperimentError {
    ExperimentError::Failed("a grid without threads".to_owned())
}

/// What a counts says about a barrier, if nothing timed out.
pub(crate) fn judged(counts: PhaseCounts) -> Check {
    if counts.timeouts > 0 {
        return Check::Failed(format!("{} waits outlasted their limit", counts.timeouts));
    }
    let Finding { mismatches, thread, expected, found } = counts.into();
    if mismatches == 0 {
        return Check::Ok;
    }
    Check::Failed(format!("{mismatches} mismatches; thread {thread} expected {expected} and found {found}"))
}

impl Experiment for MeetingExperiment<'_> {
    fn ruler(&self) -> Ruler {
        match self.setup.timed_by {
            TimedBy::Device => self.setup.ruler.clone(),
            TimedBy::Host => host_clock::measure(),
        }
    }

    fn operations(&self, side: Side, iterations: u64) -> u64 {
        self.looped(side, iterations) * u64::from(self.setup.offsets.per_sample())
    }

    fn sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError> {
        let mut samples = self.samples(&[shot])?;
        samples.pop().ok_or_else(|| ExperimentError::Failed("a launch left no result".to_owned()))
    }

    fn samples(&mut self, shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError> {
        match self.setup.timed_by {
            TimedBy::Device => self.device_samples(shots),
            TimedBy::Host => shots.iter().map(|shot| self.host_sample(*shot)).collect(),
        }
    }

    fn unroll(&self) -> u32 {
        self.setup.unroll
    }

    /// One barrier is like the next from the start: those of a few turns at each place are enough.
    fn min_iterations(&self) -> u64 {
        2
    }

    fn max_iterations(&self) -> u64 {
        MAX_ITERATIONS
    }

    fn check(&mut self) -> Check {
        match self.trial() {
            Ok(counts) => judged(counts),
            Err(outage) => Check::Failed(outage.to_string()),
        }
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
    fn one_value_too_old_fails_a_barrier() {
        let clean = PhaseCounts::default();
        assert_eq!(judged(clean), Check::Ok);
        let stale = PhaseCounts { mismatches: 1, thread: 9, expected: 65, found: 64, ..clean };
        assert_eq!(judged(stale), Check::Failed("1 mismatches; thread 9 expected 65 and found 64".to_owned()));
        let late = PhaseCounts { timeouts: 132, ..stale };
        assert_eq!(judged(late), Check::Failed("132 waits outlasted their limit".to_owned()));
    }
}
