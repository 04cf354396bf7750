//! A case on the bench: shots become launches, launches become samples.

use std::rc::Rc;
use std::time::Duration;

use syncscope_core::profile::{self, Phase};
use syncscope_core::{
    Check, Detail, Disturbance, Dtype, Evidence, Experiment, ExperimentError, Ruler, Sample, Shot, Side, Ticks,
};

use crate::arguments::{Arguments, Finding, Rate, UNROLL, WARM_UP, WARP_THREADS, Warp};
use crate::bench::{Bench, Kernels, Launch, Outage, Shape, Timing};
use crate::block_order::BlockOrder;
use crate::catalogue::{Busy, Pace, Proof};
use crate::nvml::{ClockState, Watch};
use crate::places::{Executed, Places};

/// Where a sample of as few iterations as there may be takes so long, nothing is gained by warming up: a cold start costs
/// less than a microsecond, most of it in both loops.
const NEEDS_NO_WARMING: Duration = Duration::from_micros(500);

/// Far more than any sample needs; the kernels count in 32 bits.
const MAX_ITERATIONS: u64 = 1 << 30;

/// The two samples of a pair whose clocks differ by more did not run on the same machine, as it were.
const CLOCK_CHANGE: f64 = 0.02;

/// Floating-point sums of ones are exact as long as they stay below 2^24 (f32): the launches that check them have no more
/// blocks. 64 blocks * 1024 threads * (32 + 64 + 2 * 64) operations = 14,680,064.
const EXACT_BLOCKS: u32 = 64;

/// The parameters of a case that its kernels are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parameters {
    pub(crate) shape: Shape,
    pub(crate) dtype: Option<Dtype>,
    /// Elements between the variables of neighbouring threads; 0: one variable for all.
    pub(crate) stride: u32,
    /// Arrays of such variables, one behind the other.
    pub(crate) arrays: usize,
    /// Blocks of a cluster; 0: no clusters.
    pub(crate) cluster: u32,
}

impl Parameters {
    /// Bytes of the variables. Each thread may use an element of its own besides the shared variable.
    pub(crate) fn memory_bytes(self) -> usize {
        let elements = self.shape.grid_threads() * self.stride.max(1) as usize;
        self.arrays * elements * self.dtype.map_or(8, Dtype::size_bytes)
    }

    /// The fewest iterations that bring the loop into its steady state, with the queues in front of what it keeps busy
    /// full for all but a small part of a sample.
    pub(crate) fn min_iterations(self, busy: Busy) -> u64 {
        /// Iterations of one warp that fill the queues of its multiprocessor: 512 operations.
        const OF_A_WARP: u32 = 16;
        /// Iterations in which warps that wait for one another have met often enough: 128 operations.
        const OF_ALL_WARPS: u32 = 4;
        let (needed, warps) = match busy {
            // Blocks of one multiprocessor share its queues; one block is sure to be there.
            Busy::Multiprocessors => (OF_A_WARP, self.shape.threads.div_ceil(WARP_THREADS)),
            // One warp waits for no other.
            Busy::Device if self.shape.warps() > 1 => (OF_ALL_WARPS, self.shape.warps()),
            Busy::Device | Busy::Nothing => (1, 1),
        };
        u64::from(needed.div_ceil(warps.max(1)))
    }

    fn is_floating(self) -> bool {
        matches!(self.dtype, Some(Dtype::F32 | Dtype::F64))
    }
}

/// What a case needs to run, besides the bench.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) kernels: Kernels,
    pub(crate) evidence: Evidence,
    pub(crate) parameters: Parameters,
    pub(crate) proof: Proof,
    pub(crate) ruler: Ruler,
    pub(crate) remark: Option<String>,
    /// As many as bring the loop into its steady state.
    pub(crate) min_iterations: u64,
    pub(crate) pace: Pace,
    /// Who knows about the device's clocks, if anyone does.
    pub(crate) watch: Option<Rc<Watch>>,
}

/// A case made ready to run. Its memory has been cleared.
#[derive(Debug)]
pub(crate) struct GpuExperiment<'a> {
    bench: &'a mut Bench,
    setup: Setup,
    places: Places,
    warm_up: WarmUp,
    /// Lowest and highest frequency that samples had, in hertz.
    clocks: Option<(f64, f64)>,
    /// What the driver said about the clocks after the samples.
    clock_state: Option<ClockState>,
}

/// Whether the loop runs before it is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WarmUp {
    /// It does.
    Short,
    /// It does not.
    None,
}

impl WarmUp {
    /// Operations of each thread before the clock is read.
    const fn operations(self) -> u64 {
        match self {
            Self::Short => WARM_UP as u64,
            Self::None => 0,
        }
    }
}

impl<'a> GpuExperiment<'a> {
    pub(crate) const fn new(bench: &'a mut Bench, setup: Setup, places: Places) -> Self {
        let warm_up = if setup.pace.cold { WarmUp::None } else { WarmUp::Short };
        Self { bench, setup, places, warm_up, clocks: None, clock_state: None }
    }

    /// The launches of a shot: more than one where each begins by chance in one of several states.
    fn launches(&self, shot: Shot, order: BlockOrder) -> impl Iterator<Item = Launch> {
        // Two launches one after the other have the two variants of an order.
        let orders = std::iter::once(order).chain(std::iter::repeat(BlockOrder::Any));
        self.pairs_of(shot).zip(orders).map(move |(pair, order)| Launch { order, ..self.launch(Shot { pair, ..shot }) })
    }

    /// Each launch makes a tour of its own: those of a shot, as if they were pairs.
    fn pairs_of(&self, Shot { pair, .. }: Shot) -> std::ops::Range<u64> {
        let launches = u64::from(self.setup.pace.launches);
        pair * launches..(pair + 1) * launches
    }

    /// Loops that one sample is the sum of.
    fn loops(&self) -> u64 {
        u64::from(self.setup.pace.launches) * u64::from(self.places.tour())
    }

    fn launch(&self, Shot { side, iterations, pair }: Shot) -> Launch {
        let function = match side {
            Side::Baseline => self.setup.kernels.baseline,
            Side::Test => self.setup.kernels.test,
        };
        let arguments = Arguments {
            iterations: iterations.min(MAX_ITERATIONS) as u32,
            stride: self.setup.parameters.stride,
            value_scale: 1,
            cold: u32::from(self.warm_up == WarmUp::None),
            tour: self.places.tour(),
            distance: self.places.distance() as u64,
            ..Arguments::default()
        };
        Launch { offset: self.places.offset(pair), ..Launch::of(function, arguments) }
    }

    fn note(&mut self, shots: &[Shot]) {
        for shot in shots {
            let executed = operations(shot.side, shot.iterations) + self.warm_up.operations();
            self.pairs_of(*shot).for_each(|pair| self.places.note(pair, executed));
        }
    }

    /// Leaves out what is of no use to loops as long as these, once and for all: before the first pair, a sample of the
    /// fewest iterations decides.
    fn decide_about_warming(&mut self, shots: &[Shot], timings: &[Timing]) {
        let nominal = 1e9 / self.setup.ruler.frequency.value();
        let is_long = |warp: &Warp| warp.slowest as f64 * nominal > NEEDS_NO_WARMING.as_nanos() as f64;
        if let ([shot], [timing, ..]) = (shots, timings)
            && shot.iterations <= self.setup.min_iterations
            && timing.warps.iter().any(is_long)
        {
            self.warm_up = WarmUp::None;
        }
    }

    fn check_launch(&self, offset: usize, arguments: Arguments) -> Launch {
        Launch { offset, ..Launch::of(self.setup.kernels.check, arguments) }
    }

    /// Adds ones where the sum of the samples is not exact.
    fn add_exactly(&mut self) -> Result<(Shape, Launch), Outage> {
        let Parameters { shape, .. } = self.setup.parameters;
        let shape = Shape { blocks: shape.blocks.min(EXACT_BLOCKS), ..shape };
        self.bench.clear_memory(self.setup.parameters.memory_bytes())?;
        let launches = [Side::Baseline, Side::Test].map(|side| {
            let launch = self.launch(Shot { side, iterations: 1, pair: 0 });
            let arguments = Arguments { value_scale: 0, value_bias: 1, cold: 0, tour: 1, ..launch.arguments };
            Launch { arguments, offset: 0, ..launch }
        });
        self.bench.run(shape, &launches)?;
        let total_operations = with_warm_up(Side::Baseline, 1) + with_warm_up(Side::Test, 1);
        Ok((shape, self.check_launch(0, Arguments { total_operations, ..launches[0].arguments })))
    }

    /// Asks the kernel `check` of every place that was worked on.
    fn finding(&mut self) -> Result<Finding, Outage> {
        if self.setup.proof == Proof::Sum && self.setup.parameters.is_floating() {
            let (shape, launch) = self.add_exactly()?;
            return self.bench.check(shape, &[launch]);
        }
        let arguments = self.launch(Shot { side: Side::Baseline, iterations: 0, pair: 0 }).arguments;
        let of_place = |(offset, executed): (usize, Executed)| {
            let Executed { total: total_operations, last: last_operations } = executed;
            self.check_launch(offset, Arguments { total_operations, last_operations, ..arguments })
        };
        let mut launches: Vec<Launch> = self.places.used().map(of_place).collect();
        if self.setup.proof == Proof::Trial {
            // The trial does not look at what the samples left.
            launches.truncate(1);
        }
        self.bench.check(self.setup.parameters.shape, &launches)
    }

    fn note_clocks(&mut self, timings: &[Timing]) {
        for hertz in timings.iter().filter_map(|timing| ns_per_cycle(timing.rate)).map(|length| 1e9 / length) {
            let (low, high) = self.clocks.unwrap_or((hertz, hertz));
            self.clocks = Some((low.min(hertz), high.max(hertz)));
        }
    }
}

/// What the threads of one launch saw. `None` if there were none.
pub(crate) fn sample_of(timing: &Timing, ruler: &Ruler) -> Option<Sample> {
    let length = ns_per_cycle(timing.rate).unwrap_or(1e9 / ruler.frequency.value());
    timing.at_each_place().map(|warps| sample_at(warps, length)).reduce(joined)?
}

/// What they saw at one place, where a cycle has this length in nanoseconds.
fn sample_at(warps: &[Warp], length: f64) -> Option<Sample> {
    let mut ends: Vec<u64> = warps.iter().map(|warp| warp.slowest).collect();
    let slowest = *ends.iter().max()?;
    let fastest = warps.iter().map(|warp| warp.fastest).min()?;
    // A warp's threads run together: the one in the middle of the warps is the one in the middle of the threads.
    let middle = ends.len() / 2;
    let median = *ends.select_nth_unstable(middle).1;
    Some(Sample {
        fastest: Ticks(fastest),
        median: Ticks(median),
        slowest: Ticks(slowest),
        ns_per_tick: length,
        cycles_per_tick: Some(1.0),
        disturbance: None,
        smt_interference: false,
    })
}

/// One loop after the other as one sample: the slowest, the fastest and the middle one of each are added up.
pub(crate) fn joined(one: Option<Sample>, other: Option<Sample>) -> Option<Sample> {
    let (one, other) = (one?, other?);
    let sum = |of: fn(&Sample) -> Ticks| Ticks(of(&one).0 + of(&other).0);
    let slowest = sum(|sample| sample.slowest);
    Some(Sample {
        fastest: sum(|sample| sample.fastest),
        median: sum(|sample| sample.median),
        slowest,
        ns_per_tick: (one.slowest_ns() + other.slowest_ns()) / slowest.0.max(1) as f64,
        ..one
    })
}

/// Operations of each thread in one launch, the harness's warm-up included.
pub(crate) const fn with_warm_up(side: Side, iterations: u64) -> u64 {
    operations(side, iterations) + WarmUp::Short.operations()
}

pub(crate) const fn operations(side: Side, iterations: u64) -> u64 {
    let repeat = match side {
        Side::Baseline => 1,
        Side::Test => 2,
    };
    iterations * UNROLL as u64 * repeat
}

/// The length of a cycle; `None` if the global timer did not say, or said what no device's clock is. (Its two halves are
/// read one after the other; when the lower one wraps in between, every 4.3 s, the reading is off by that much.)
pub(crate) fn ns_per_cycle(rate: Rate) -> Option<f64> {
    const PLAUSIBLE_HERTZ: std::ops::Range<f64> = 5e7..1e10;
    let length = rate.nanoseconds as f64 / rate.cycles as f64;
    PLAUSIBLE_HERTZ.contains(&(1e9 / length)).then_some(length)
}

/// Marks the pairs in whose course the clock changed.
pub(crate) fn mark_clock_changes(shots: &[Shot], samples: &mut [Sample]) {
    for (index, pair) in shots.windows(2).enumerate() {
        let [one, other] = [index, index + 1];
        let ratio = samples[one].ns_per_tick / samples[other].ns_per_tick;
        if pair[0].pair == pair[1].pair && pair[0].side != pair[1].side && (ratio - 1.0).abs() > CLOCK_CHANGE {
            samples[one].disturbance = Some(Disturbance::ClockChange);
            samples[other].disturbance = Some(Disturbance::ClockChange);
        }
    }
}

impl From<Outage> for ExperimentError {
    fn from(outage: Outage) -> Self {
        match outage {
            Outage::TimedOut(limit) => Self::TimedOut { limit },
            Outage::TooLarge(_) => Self::Unsupported(outage.to_string()),
            Outage::Cuda(error) => Self::Failed(error.to_string()),
        }
    }
}

impl Experiment for GpuExperiment<'_> {
    fn ruler(&self) -> Ruler {
        self.setup.ruler.clone()
    }

    fn operations(&self, side: Side, iterations: u64) -> u64 {
        operations(side, iterations) * self.loops()
    }

    fn sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError> {
        let mut samples = self.samples(&[shot])?;
        samples.pop().ok_or_else(|| ExperimentError::Failed("a launch left no result".to_owned()))
    }

    fn samples(&mut self, shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError> {
        let orders = BlockOrder::of(shots);
        let launches: Vec<Launch> =
            shots.iter().zip(orders).flat_map(|(shot, order)| self.launches(*shot, order)).collect();
        let timings = self.bench.run(self.setup.parameters.shape, &launches)?;
        self.note(shots);
        let mut samples = profile::time(Phase::Read, || {
            self.decide_about_warming(shots, &timings);
            self.note_clocks(&timings);
            let ruler = &self.setup.ruler;
            let of_shot = timings.chunks(self.setup.pace.launches as usize);
            let samples: Option<Vec<Sample>> =
                of_shot.map(|timings| timings.iter().map(|timing| sample_of(timing, ruler)).reduce(joined)?).collect();
            samples.ok_or_else(|| ExperimentError::Failed("a grid without threads".to_owned()))
        })?;
        mark_clock_changes(shots, &mut samples);
        Ok(samples)
    }

    fn unroll(&self) -> u32 {
        UNROLL
    }

    fn min_iterations(&self) -> u64 {
        self.setup.min_iterations
    }

    fn sample_length(&self) -> Option<Duration> {
        Some(self.setup.pace.sample)
    }

    fn share_of_time(&self) -> f64 {
        self.setup.pace.share_of_time
    }

    fn clock_tolerance(&self) -> Option<f64> {
        Some(CLOCK_CHANGE)
    }

    fn max_iterations(&self) -> u64 {
        MAX_ITERATIONS
    }

    fn check(&mut self) -> Check {
        // Asked here, while what was measured is still the last that the device did.
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

    fn remark(&self) -> Option<String> {
        let slowdown = self.clock_state.as_ref().and_then(ClockState::slowdown);
        let remarks: Vec<String> = [self.setup.remark.clone(), slowdown].into_iter().flatten().collect();
        (!remarks.is_empty()).then(|| remarks.join("; "))
    }

    fn details(&mut self) -> Result<Vec<Detail>, String> {
        let measured = self.clocks.map(|(low, high)| [("sm_clock_hz_low", low), ("sm_clock_hz_high", high)]);
        let told = self.clock_state.as_ref().map(ClockState::details);
        let all = measured.into_iter().flatten().chain(told.into_iter().flatten());
        Ok(all.map(|(name, value)| Detail::of_case(name, value)).collect())
    }
}

impl GpuExperiment<'_> {
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

    fn sample(ns_per_tick: f64) -> Sample {
        Sample::of_actors(&mut [Ticks(10)], ns_per_tick).unwrap()
    }

    fn shot(side: Side, pair: u64) -> Shot {
        Shot { side, iterations: 1, pair }
    }

    #[test]
    fn pairs_with_two_clocks_are_set_aside_and_no_others() {
        let shots = [
            shot(Side::Baseline, 0),
            shot(Side::Test, 0),
            shot(Side::Test, 1),
            shot(Side::Baseline, 1),
            shot(Side::Baseline, 2),
            shot(Side::Test, 2),
        ];
        let mut samples = [0.5, 0.501, 0.51, 0.6, 0.6, 0.6].map(sample);
        mark_clock_changes(&shots, &mut samples);
        let marked: Vec<bool> = samples.iter().map(|sample| sample.disturbance.is_some()).collect();
        assert_eq!(marked, [false, false, true, true, false, false]);
    }

    #[test]
    fn the_test_has_twice_the_operations() {
        assert_eq!(operations(Side::Baseline, 10), 320);
        assert_eq!(operations(Side::Test, 10), 640);
        assert_eq!(with_warm_up(Side::Test, 10), 640 + 64);
        assert_eq!(with_warm_up(Side::Baseline, 10), 320 + 64, "as many to warm up");
    }

    #[test]
    fn a_clock_that_cannot_be_is_not_believed() {
        let length = |nanoseconds, cycles| ns_per_cycle(Rate { nanoseconds, cycles });
        assert_eq!(length(1000, 2000), Some(0.5));
        assert_eq!(length(0, 2000), None, "the timer did not step");
        assert_eq!(length(0, 0), None);
        assert_eq!(length((1 << 32) + 1000, 2000), None, "a torn reading");
        assert_eq!(length(1000_u64.wrapping_sub(1 << 32), 2000), None);
    }

    #[test]
    fn the_more_warps_the_fewer_iterations_fill_the_queues() {
        let of = |blocks, threads, busy| {
            let shape = Shape { blocks, threads };
            Parameters { shape, dtype: None, stride: 0, arrays: 1, cluster: 0 }.min_iterations(busy)
        };
        assert_eq!(
            [1, 32, 64, 96, 512, 1024].map(|threads| of(1, threads, Busy::Multiprocessors)),
            [16, 16, 8, 6, 1, 1]
        );
        assert_eq!(of(264, 32, Busy::Multiprocessors), 16, "each multiprocessor has queues of its own");
        assert_eq!([of(2, 32, Busy::Device), of(3, 32, Busy::Device), of(132, 32, Busy::Device)], [2, 2, 1]);
        assert_eq!([of(1, 32, Busy::Device), of(1, 32, Busy::Nothing)], [1, 1], "one warp waits for no other");
    }

    #[test]
    fn a_tour_is_the_sum_of_what_the_slowest_warp_of_each_place_saw() {
        let ruler =
            Ruler { name: "test", frequency: syncscope_core::Hertz(2e9), resolution: Ticks(1), read_cost: Ticks(1) };
        let of = |warps: [(u64, u64); 4], places| {
            let warps = warps.map(|(slowest, fastest)| Warp { slowest, fastest }).to_vec();
            let timing = Timing { rate: Rate { nanoseconds: 0, cycles: 0 }, warps, places };
            let sample = sample_of(&timing, &ruler).unwrap();
            (sample.fastest.0, sample.median.0, sample.slowest.0, sample.ns_per_tick)
        };
        let warps = [(10, 9), (50, 40), (30, 20), (21, 20)];
        assert_eq!(of(warps, 1), (9, 30, 50, 0.5));
        assert_eq!(of(warps, 2), (9 + 20, 50 + 30, 50 + 30, 0.5));
        let none = Timing { rate: Rate { nanoseconds: 0, cycles: 0 }, warps: Vec::new(), places: 1 };
        assert_eq!(sample_of(&none, &ruler), None);
    }

    #[test]
    fn sums_of_ones_are_exact() {
        let operations = with_warm_up(Side::Baseline, 1) + with_warm_up(Side::Test, 1);
        assert!(u64::from(EXACT_BLOCKS) * 1024 * operations < 1 << 24);
    }

    #[test]
    fn memory_holds_every_threads_element() {
        let shape = Shape { blocks: 264, threads: 1024 };
        let bytes = |dtype, stride| Parameters { shape, dtype, stride, arrays: 2, cluster: 0 }.memory_bytes();
        assert_eq!(bytes(Some(Dtype::F64), 32), 2 * 264 * 1024 * 32 * 8);
        assert_eq!(bytes(Some(Dtype::I32), 0), 2 * 264 * 1024 * 4);
        assert_eq!(bytes(None, 0), 2 * 264 * 1024 * 8);
    }
}
