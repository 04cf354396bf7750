//! A loop in one kernel on one device: shots become launches, launches become samples.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use syncscope_core::profile::{self, Phase};
use syncscope_core::{
    Actor, Check, Detail, Dtype, Evidence, Experiment, ExperimentError, Ruler, RunEffect, Sample, Shot, Side,
};

use crate::catalogue::{Proof, SamplingPolicy};
use crate::cuda::driver::Function;
use crate::cuda::nvml::{ClockState, Watch};
use crate::experiments::parameters::Parameters;
use crate::experiments::third_loop::{self, ThirdLoop};
use crate::launch::arguments::{BenchArguments, Finding, UNROLL, Warp};
use crate::launch::bench::Bench;
use crate::launch::block_order::BlockOrder;
use crate::launch::offsets::{Executed, MemoryOffsets};
use crate::launch::outage::Outage;
use crate::launch::request::{Kernels, Launch, Shape};
use crate::launch::samples::{
    CLOCK_CHANGE, WarmUp, joined, mark_clock_changes, ns_per_cycle, operations, sample_of, with_warm_up,
};
use crate::launch::timing::Timing;

/// If a sample with the fewest iterations takes longer, the loop needs no warm-up: a cold start costs less than a
/// microsecond, most of it in both loops.
const NEEDS_NO_WARMING: Duration = Duration::from_micros(500);

/// Far more than any sample needs; the kernels count in 32 bits.
const MAX_ITERATIONS: u64 = 1 << 30;

/// Floating-point sums of ones are exact below 2^24 (f32), so the launches that check them have no more blocks. 64 blocks * 1024 threads * (32 + 64 + 2 * 64) operations = 14,680,064.
const EXACT_BLOCKS: u32 = 64;

/// What a case needs to run, in addition to the bench.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) kernels: Kernels,
    pub(crate) evidence: Evidence,
    pub(crate) parameters: Parameters,
    /// What all launches of the case have in common.
    pub(crate) arguments: BenchArguments,
    pub(crate) proof: Proof,
    /// Whose cost the figure is.
    pub(crate) actor: Actor,
    /// Whether the context is the primitive itself.
    pub(crate) is_own_context: bool,
    /// By how much two runs differ.
    pub(crate) run_effect: RunEffect,
    pub(crate) ruler: Ruler,
    /// What a reader must know if the blocks of the grid do not all run at the same time.
    pub(crate) waves: Option<String>,
    /// Enough to bring the loop into its steady state.
    pub(crate) min_iterations: u64,
    /// Operations in one iteration of the baseline; a factor of [`UNROLL`].
    pub(crate) unroll: u32,
    pub(crate) sampling: SamplingPolicy,
    /// From the measurement blocks before, and for those that follow.
    pub(crate) carried: Rc<Cell<Carried>>,
    /// Reports the clocks of the device, if NVML does.
    pub(crate) watch: Option<Rc<Watch>>,
}

/// What a case carries from one measurement block to the next. All blocks must time the same loop.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Carried {
    /// Whether the loop proved to be too long to need a warm-up.
    is_long: bool,
    /// Lowest and highest frequency of the samples, in hertz.
    clocks: Option<(f64, f64)>,
}

impl Carried {
    /// The same after samples at this frequency.
    fn at(self, hertz: f64) -> Self {
        let (low, high) = self.clocks.unwrap_or((hertz, hertz));
        Self { clocks: Some((low.min(hertz), high.max(hertz))), ..self }
    }

    /// Whether the loop runs before it is timed.
    const fn warm_up(self, sampling: &SamplingPolicy) -> WarmUp {
        if self.is_long || sampling.skip_warm_up { WarmUp::None } else { WarmUp::Short }
    }
}

/// A case, ready to run. Its memory has been cleared.
#[derive(Debug)]
pub(crate) struct KernelExperiment<'a> {
    bench: &'a mut Bench,
    setup: Setup,
    third: Option<ThirdLoop<'a, Function>>,
    offsets: MemoryOffsets,
    warm_up: WarmUp,
    /// What the driver reported about the clocks after the samples.
    clock_state: Option<ClockState>,
}

impl<'a> KernelExperiment<'a> {
    pub(crate) fn new(
        bench: &'a mut Bench,
        setup: Setup,
        third: Option<ThirdLoop<'a, Function>>,
        offsets: MemoryOffsets,
    ) -> Self {
        let warm_up = setup.carried.get().warm_up(&setup.sampling);
        Self { bench, setup, third, offsets, warm_up, clock_state: None }
    }

    /// The launches of a shot: more than one if a launch begins by chance in one of several states.
    fn launches(&self, function: Function, shot: Shot, order: BlockOrder) -> impl Iterator<Item = Launch> {
        // Two successive launches have the two variants of a block order.
        let orders = std::iter::once(order).chain(std::iter::repeat(BlockOrder::Any));
        self.pairs_of(shot)
            .zip(orders)
            .map(move |(pair, order)| Launch { order, ..self.launch(function, Shot { pair, ..shot }) })
    }

    /// Each launch of a shot uses its own set of memory offsets, as if it were a pair.
    fn pairs_of(&self, Shot { pair, .. }: Shot) -> std::ops::Range<u64> {
        let launches = u64::from(self.setup.sampling.launches);
        pair * launches..(pair + 1) * launches
    }

    /// How many loops one sample adds up.
    fn loops(&self) -> u64 {
        u64::from(self.setup.sampling.launches) * u64::from(self.offsets.per_sample())
    }

    /// The kernel of a side; that of the third loop is loaded now unless it was.
    fn function(&mut self, side: Side) -> Result<Function, ExperimentError> {
        let Self { bench, setup, third, .. } = self;
        match side {
            Side::Baseline => Ok(setup.kernels.baseline),
            Side::Test => Ok(setup.kernels.test),
            Side::Double => {
                let cluster = setup.parameters.cluster;
                let third = third.as_mut().ok_or_else(third_loop::absent)?;
                third.loaded(|program, cubin| Ok(bench.load_third_loop(program, cubin, cluster)?)).copied()
            }
        }
    }

    fn launch(&self, function: Function, Shot { iterations, pair, .. }: Shot) -> Launch {
        let mut arguments = self.setup.arguments;
        let common = arguments.common_mut();
        common.iterations = iterations.min(MAX_ITERATIONS) as u32;
        common.skip_warm_up = u32::from(self.warm_up == WarmUp::None);
        common.offsets = self.offsets.per_sample();
        common.offset_distance = self.offsets.distance() as u64;
        Launch { offset: self.offsets.offset(pair), ..Launch::of(function, arguments) }
    }

    fn note(&mut self, shots: &[Shot]) {
        for shot in shots {
            let executed = operations(shot.side, shot.iterations) + self.warm_up.operations(shot.side, UNROLL);
            self.pairs_of(*shot).for_each(|pair| self.offsets.note(pair, executed));
        }
    }

    /// Turns the warm-up off for loops that are too long to need it. A sample with the fewest iterations, before the first
    /// pair of the first measurement block, decides this once for the case.
    fn decide_about_warming(&mut self, shots: &[Shot], timings: &[Timing]) {
        let nominal = 1e9 / self.setup.ruler.frequency.value();
        let is_long = |warp: &Warp| warp.slowest as f64 * nominal > NEEDS_NO_WARMING.as_nanos() as f64;
        if let ([shot], [timing, ..]) = (shots, timings)
            && shot.iterations <= self.setup.min_iterations
            && timing.warps.iter().any(is_long)
        {
            self.warm_up = WarmUp::None;
            self.setup.carried.set(Carried { is_long: true, ..self.setup.carried.get() });
        }
    }

    fn check_launch(&self, offset: usize, arguments: BenchArguments) -> Launch {
        Launch { offset, ..Launch::of(self.setup.kernels.check, arguments) }
    }

    /// Adds ones in two launches of their own, because the floating-point sum of the samples is not exact.
    fn add_exactly(&mut self) -> Result<(Shape, Launch), Outage> {
        let Parameters { shape, .. } = self.setup.parameters;
        let shape = Shape { blocks: shape.blocks.min(EXACT_BLOCKS), ..shape };
        self.bench.clear_memory(self.setup.parameters.memory_bytes())?;
        let launches = [Side::Baseline, Side::Test].map(|side| {
            let Kernels { baseline, test, .. } = self.setup.kernels;
            let function = if side == Side::Baseline { baseline } else { test };
            let mut launch = self.launch(function, Shot { side, iterations: 1, pair: 0 });
            launch.arguments.use_ones();
            let common = launch.arguments.common_mut();
            (common.skip_warm_up, common.offsets) = (0, 1);
            Launch { offset: 0, ..launch }
        });
        self.bench.run(shape, &launches)?;
        let total = with_warm_up(Side::Baseline, 1) + with_warm_up(Side::Test, 1);
        let arguments = launches[0].arguments.after(Executed { total, last: 0 });
        Ok((shape, self.check_launch(0, arguments)))
    }

    /// Runs the kernel `check` at every memory offset that was used.
    fn finding(&mut self) -> Result<Finding, Outage> {
        if self.setup.proof == Proof::Sum && self.setup.parameters.is_floating() {
            let (shape, launch) = self.add_exactly()?;
            return self.bench.check(shape, &[launch]);
        }
        let none = Shot { side: Side::Baseline, iterations: 0, pair: 0 };
        let arguments = self.launch(self.setup.kernels.check, none).arguments;
        let at_offset = |(offset, executed): (usize, Executed)| self.check_launch(offset, arguments.after(executed));
        let mut launches: Vec<Launch> = self.offsets.used().map(at_offset).collect();
        if self.setup.proof == Proof::Trial {
            // A trial does not depend on what the samples left.
            launches.truncate(1);
        }
        self.bench.check(self.setup.parameters.shape, &launches)
    }

    fn note_clocks(&mut self, timings: &[Timing]) {
        for hertz in timings.iter().filter_map(|timing| ns_per_cycle(timing.rate)).map(|length| 1e9 / length) {
            self.setup.carried.set(self.setup.carried.get().at(hertz));
        }
    }
}

impl Experiment for KernelExperiment<'_> {
    fn ruler(&self) -> Ruler {
        self.setup.ruler.clone()
    }

    fn operations(&self, side: Side, iterations: u64) -> u64 {
        operations(side, iterations) / u64::from(UNROLL / self.setup.unroll) * self.loops()
    }

    fn sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError> {
        let mut samples = self.samples(&[shot])?;
        samples.pop().ok_or_else(|| ExperimentError::Failed("a launch left no result".to_owned()))
    }

    fn samples(&mut self, shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError> {
        let functions =
            shots.iter().map(|shot| self.function(shot.side)).collect::<Result<Vec<_>, ExperimentError>>()?;
        let each = functions.iter().zip(shots.iter().zip(BlockOrder::of(shots)));
        let launches: Vec<Launch> =
            each.flat_map(|(function, (shot, order))| self.launches(*function, *shot, order)).collect();
        let timings = self.bench.run(self.setup.parameters.shape, &launches)?;
        self.note(shots);
        let mut samples = profile::time(Phase::Read, || {
            self.decide_about_warming(shots, &timings);
            self.note_clocks(&timings);
            let (ruler, threads) = (&self.setup.ruler, self.setup.parameters.shape.threads);
            let of_shot = timings.chunks(self.setup.sampling.launches as usize);
            let samples: Option<Vec<Sample>> = of_shot
                .map(|timings| timings.iter().map(|timing| sample_of(timing, threads, ruler)).reduce(joined)?)
                .collect();
            samples.ok_or_else(|| ExperimentError::Failed("a grid without threads".to_owned()))
        })?;
        mark_clock_changes(shots, &mut samples);
        Ok(samples)
    }

    fn unroll(&self) -> u32 {
        self.setup.unroll
    }

    fn min_iterations(&self) -> u64 {
        self.setup.min_iterations
    }

    fn sample_length(&self) -> Option<Duration> {
        Some(self.setup.sampling.sample)
    }

    fn actor(&self) -> Actor {
        self.setup.actor
    }

    fn run_effect(&self) -> RunEffect {
        self.setup.run_effect
    }

    fn has_double(&self) -> bool {
        self.third.is_some()
    }

    fn is_own_context(&self) -> bool {
        self.setup.is_own_context
    }

    fn share_of_time(&self) -> f64 {
        self.setup.sampling.share_of_time
    }

    fn clock_tolerance(&self) -> Option<f64> {
        Some(CLOCK_CHANGE)
    }

    fn max_iterations(&self) -> u64 {
        MAX_ITERATIONS
    }

    fn check(&mut self) -> Check {
        // Read here, while the samples are still the last work of the device.
        self.clock_state = self.setup.watch.as_ref().map(|watch| watch.state());
        match self.finding() {
            Ok(finding) if finding.mismatches == 0 => Check::Ok,
            Ok(finding) => Check::Failed(self.describe(finding)),
            Err(outage) => Check::Failed(outage.to_string()),
        }
    }

    fn evidence(&mut self) -> Evidence {
        self.setup.evidence.clone()
    }

    fn actors_run_together(&self) -> bool {
        self.setup.waves.is_none()
    }

    fn remark(&self) -> Option<String> {
        let slowdown = self.clock_state.as_ref().and_then(ClockState::slowdown);
        let remarks: Vec<String> = [self.setup.waves.clone(), slowdown].into_iter().flatten().collect();
        (!remarks.is_empty()).then(|| remarks.join("; "))
    }

    fn details(&mut self) -> Result<Vec<Detail>, String> {
        let measured =
            self.setup.carried.get().clocks.map(|(low, high)| [("sm_clock_hz_low", low), ("sm_clock_hz_high", high)]);
        let reported = self.clock_state.as_ref().map(ClockState::details);
        let all = measured.into_iter().flatten().chain(reported.into_iter().flatten());
        Ok(all.map(|(name, value)| Detail::of_case(name, value)).collect())
    }
}

impl KernelExperiment<'_> {
    fn describe(&self, finding: Finding) -> String {
        let value = |bits: u64| match self.setup.parameters.dtype {
            Some(Dtype::F32 | Dtype::F64) => f64::from_bits(bits).to_string(),
            Some(Dtype::I32) => bits.cast_signed().to_string(),
            _ => bits.to_string(),
        };
        let Finding { mismatches, thread, expected, found } = finding;
        format!("{mismatches} mismatches; thread {thread} expected {} and found {}", value(expected), value(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_blocks_know_what_earlier_ones_found() {
        let carried = Carried::default();
        assert_eq!(carried.warm_up(&SamplingPolicy::USUAL), WarmUp::Short);
        assert_eq!(carried.warm_up(&SamplingPolicy { skip_warm_up: true, ..SamplingPolicy::USUAL }), WarmUp::None);
        let long = Carried { is_long: true, ..carried.at(2e9).at(1.5e9).at(1.7e9) };
        assert_eq!(long.warm_up(&SamplingPolicy::USUAL), WarmUp::None);
        assert_eq!(long.clocks, Some((1.5e9, 2e9)));
    }

    #[test]
    fn sums_of_ones_are_exact() {
        let operations = with_warm_up(Side::Baseline, 1) + with_warm_up(Side::Test, 1);
        assert!(u64::from(EXACT_BLOCKS) * 1024 * operations < 1 << 24);
    }
}
