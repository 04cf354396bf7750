//! A loop in one kernel on one device: shots become launches, launches become samples.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use syncscope_core::profile::{self, Phase};
use syncscope_core::{
    Actor, Check, Detail, Dtype, Evidence, Experiment, ExperimentError, Limit, Protocol, Ruler, Sample, Shot, Side,
};

use crate::catalogue::{Proof, SamplingPolicy, Saturates};
use crate::cuda::driver::Function;
use crate::cuda::nvml::{ClockState, Watch};
use crate::experiments::third_loop::{self, ThirdLoop};
use crate::launch::arguments::{BenchArguments, Finding, UNROLL, WARP_THREADS, Warp};
use crate::launch::bench::{Bench, BlockOrder};
use crate::launch::offsets::{ALIGNMENT, Executed, MemoryOffsets};
use crate::launch::outage::Outage;
use crate::launch::request::{Kernels, Launch, Shape};
use crate::launch::samples::{
    CLOCK_CHANGE, Timing, WarmUp, joined, mark_clock_changes, ns_per_cycle, operations, sample_of, with_warm_up,
};

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
    /// What the cost cannot be less than.
    pub(crate) least: Option<Limit>,
    pub(crate) parameters: Parameters,
    /// What all launches of the case have in common.
    pub(crate) arguments: BenchArguments,
    pub(crate) proof: Proof,
    /// Whose cost the figure is.
    pub(crate) actor: Actor,
    /// Whether the context is the primitive itself.
    pub(crate) is_own_context: bool,
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

    fn protocol(&self) -> Protocol {
        let Setup { sampling, min_iterations, actor, is_own_context, unroll, .. } = &self.setup;
        Protocol {
            min_iterations: *min_iterations,
            max_iterations: MAX_ITERATIONS,
            sample_length: Some(sampling.sample),
            clock_tolerance: Some(CLOCK_CHANGE),
            actor: *actor,
            actors_run_together: self.setup.waves.is_none(),
            has_double: self.third.is_some(),
            is_own_context: *is_own_context,
            share_of_time: sampling.share_of_time,
            ..Protocol::of(*unroll)
        }
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

    fn limit(&self) -> Option<Limit> {
        self.setup.least.clone()
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

/// The parameters of a case that its kernels get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parameters {
    pub(crate) shape: Shape,
    pub(crate) dtype: Option<Dtype>,
    /// Elements between the variables of neighbouring threads; 0: one variable for all.
    pub(crate) stride: u32,
    /// Arrays of such variables.
    pub(crate) arrays: usize,
    /// Blocks of a cluster; 0: no clusters.
    pub(crate) cluster: u32,
}

impl Parameters {
    /// Bytes of the variables. Each thread may use its own element in addition to the shared variable.
    pub(crate) fn memory_bytes(self) -> usize {
        self.arrays.saturating_sub(1) * self.array_distance() + self.array_bytes()
    }

    /// Bytes from the beginning of one array to that of the next, as `array_distance` in `fence.cu`: as if the driver
    /// allocated one after the other.
    fn array_distance(self) -> usize {
        self.array_bytes().next_multiple_of(ALIGNMENT)
    }

    fn array_bytes(self) -> usize {
        let elements = self.shape.grid_threads() * self.stride.max(1) as usize;
        elements * self.dtype.map_or(8, Dtype::size_bytes)
    }

    /// The fewest iterations that bring the loop into its steady state: the queues of the saturated resource are full for
    /// all but a small part of a sample.
    pub(crate) fn min_iterations(self, saturates: Saturates) -> u64 {
        /// Iterations of one warp that fill the queues of its multiprocessor: 512 operations.
        const OF_A_WARP: u32 = 16;
        /// Iterations in which warps that wait for one another are in their steady state: 128 operations.
        const OF_ALL_WARPS: u32 = 4;
        let (needed, warps) = match saturates {
            // Blocks of one multiprocessor share its queues; at least one block runs there.
            Saturates::Multiprocessors => (OF_A_WARP, self.shape.threads.div_ceil(WARP_THREADS)),
            // One warp waits for no other.
            Saturates::Device if self.shape.warps() > 1 => (OF_ALL_WARPS, self.shape.warps()),
            Saturates::Device | Saturates::Nothing => (1, 1),
        };
        u64::from(needed.div_ceil(warps.max(1)))
    }

    pub(crate) fn is_floating(self) -> bool {
        matches!(self.dtype, Some(Dtype::F32 | Dtype::F64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::program_of;
    use crate::cuda::discovery::Surroundings;
    use crate::cuda::nvrtc::{Nvrtc, Source};
    use crate::launch::headers::headers;
    use std::fmt::Write as _;
    use syncscope_core::{Case, Layout, Scope};

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

    #[test]
    fn the_more_warps_the_fewer_iterations_fill_the_queues() {
        let of = |blocks, threads, busy| {
            let shape = Shape { blocks, threads };
            Parameters { shape, dtype: None, stride: 0, arrays: 1, cluster: 0 }.min_iterations(busy)
        };
        assert_eq!(
            [1, 32, 64, 96, 512, 1024].map(|threads| of(1, threads, Saturates::Multiprocessors)),
            [16, 16, 8, 6, 1, 1]
        );
        assert_eq!(of(264, 32, Saturates::Multiprocessors), 16, "each multiprocessor has queues of its own");
        assert_eq!(
            [of(2, 32, Saturates::Device), of(3, 32, Saturates::Device), of(132, 32, Saturates::Device)],
            [2, 2, 1]
        );
        assert_eq!(
            [of(1, 32, Saturates::Device), of(1, 32, Saturates::Nothing)],
            [1, 1],
            "one warp waits for no other"
        );
    }

    #[test]
    fn memory_holds_every_threads_element() {
        let shape = Shape { blocks: 264, threads: 1024 };
        let bytes = |dtype, stride| Parameters { shape, dtype, stride, arrays: 2, cluster: 0 }.memory_bytes();
        assert_eq!(bytes(Some(Dtype::F64), 32), 2 * 264 * 1024 * 32 * 8);
        assert_eq!(bytes(Some(Dtype::I32), 0), 2 * 264 * 1024 * 4);
        assert_eq!(bytes(None, 0), 2 * 264 * 1024 * 8);
        let one = Shape { blocks: 1, threads: 1 };
        let of_one = |arrays| Parameters { shape: one, dtype: Some(Dtype::I32), stride: 1, arrays, cluster: 0 };
        assert_eq!([1, 2].map(|arrays| of_one(arrays).memory_bytes()), [4, 512 + 4], "the second shares no line");
    }

    /// The kernel finds the second array where the host reserves it.
    #[test]
    fn host_and_kernel_agree_on_the_distance_of_two_arrays() {
        let grids = [(1, 1, 1), (1, 32, 32), (2, 1024, 1), (3, 96, 7), (264, 1024, 128)];
        for dtype in [Dtype::I32, Dtype::U64, Dtype::F32, Dtype::F64] {
            let case = Case {
                dtype: Some(dtype),
                layout: Some(Layout::Private { stride: 1 }),
                scope: Some(Scope::Device),
                ..Case::new("gpu.fence.device")
            };
            let program = program_of(&case).unwrap();
            let mut text = program.text.to_owned();
            for (blocks, threads, stride) in grids {
                let shape = Shape { blocks, threads };
                let bytes = Parameters { shape, dtype: Some(dtype), stride, arrays: 2, cluster: 0 }.array_distance();
                let elements = shape.grid_threads() * stride as usize;
                let kernels = format!("array_distance({elements}) * sizeof(Value)");
                writeln!(text, "static_assert({kernels} == {bytes}, \"{dtype:?}, {elements} elements\");").unwrap();
            }
            let source = Source { file: program.file, text: &text, headers: headers() };
            let nvrtc = Nvrtc::find(&Surroundings::of_process(), None).unwrap();
            let definitions = program.definitions.iter().map(|definition| format!("-D{definition}"));
            let options: Vec<String> = definitions.chain(["--std=c++17".to_owned()]).collect();
            nvrtc.compile(source, "sm_90", &options).unwrap();
        }
    }
}
