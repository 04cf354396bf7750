//! Loops in one kernel on one device: turns shots into launches, and launches into samples.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use syncscope_core::profile::{self, Phase};
use syncscope_core::sample::LEAST_OVERLAP;
use syncscope_core::{
    Actor, Check, Detail, Disturbance, Dtype, Evidence, Experiment, ExperimentError, Limit, Protocol, Ruler, Sample,
    Shot, Side,
};

use crate::catalogue::{Proof, SamplingPolicy};
use crate::cuda::compile::Program;
use crate::cuda::driver::Function;
use crate::cuda::nvml::{ClockState, Watch};
use crate::evidence::{AGGREGATED_ONCE, Loops};
use crate::experiments::{ThirdLoop, no_third_loop};
use crate::launch::arguments::{BenchArguments, Finding, UNROLL};
use crate::launch::bench::{Bench, BlockOrder, Launch, Shape};
use crate::launch::device_context::Kernels;
use crate::launch::offsets::{ALIGNMENT, Executed, MemoryOffsets};
use crate::launch::runner::Outage;
use crate::launch::samples::{
    CHUNKS_OF_SAMPLE, CLOCK_CHANGE, Timing, joined, mark_clock_changes, ns_per_cycle, operations, sample_of,
    with_warm_up,
};

/// The fewest runs of the loop that a window has room for, and the fewest iterations ([`ITERATIONS_OF_WINDOW`]), for a thread of the
/// mean rate.
const CHUNKS_OF_WINDOW: f64 = 8.0;

/// The ratio between the most and the least served thread from which threads count as starved, and the runs of the loop that a
/// window then has room for. Threads that get hardly anything do not advance evenly within a run of the loop: the part of it
/// that lies in the window is too much by up to a third of a run for each. (H200: two blocks of 1,024 threads seemed to add to
/// shared memory in 62.7 cycles, with 80 runs in a window in 63.7, and the unit needs 64.)
const STARVED: f64 = 8.0;
const CHUNKS_OF_STARVED: f64 = 128.0;

/// Upper limit in cycles to which starved threads extend their windows.
const LONGEST_OF_STARVED: f64 = 1e6;
const ITERATIONS_OF_WINDOW: f64 = 28.0;

/// Threads with fewer iterations in a window did not reach their steady state there. Fewer will do of longer iterations.
const FEWEST_ITERATIONS: f64 = 20.0;

/// The first guess at the length of an iteration, and the longest guess, in cycles.
const ITERATION_CYCLES: (f64, f64) = (1000.0, 4e6);

/// Longest window, for threads that wait for others most of the time.
const LONGEST_WINDOW_CYCLES: f64 = 1e9;

/// A chunk of this many cycles gives the length of an iteration to a few per cent.
const CHUNK_TO_TRUST: f64 = 3000.0;

/// Threads that differ by less are served alike: a kernel of equal work then takes as long as the mean says.
const UNEQUAL: f64 = 1.03;

/// Minimum length of the loop in a kernel of equal work: in seconds for all memory offsets of a sample together, and in
/// iterations at each offset. What threads do before the others begin and after they leave is a small part of it. (H200: 30 us
/// and 2 ms give the same to 0.7 %, except for loops of fewer than 12 iterations.)
const EQUAL_WORK: (f64, u64) = (60e-6, 12);

/// Length of the run-in before a window, as a fraction of the window. The schedulers of a full multiprocessor may serve some
/// warps first for so long that others have not begun by the window; the run-in is doubled until they have, up to a limit.
const RUN_IN: f64 = 0.125;
const LONGEST_RUN_IN_DOUBLINGS: u32 = 4;

/// Length of the run-out after a window, in the longest runs of the loop that a thread had, and its maximum in windows. Without
/// a run-out, 270,336 threads that add to neighbouring elements seemed to do 7 to 10 % more than they do (H100): the threads
/// that are served last finish their run when the others have left.
const RUN_OUT: f64 = 1.25;
const LONGEST_RUN_OUT: f64 = 2.0;

/// Time between the gate and the window, in which all blocks see that the gate is open.
const GATE_CYCLES: f64 = 4000.0;

/// Far more than any sample needs; the kernels count in 32 bits.
const MAX_ITERATIONS: u64 = 1 << 30;

/// Limit on the blocks of the launches that check a floating-point sum: sums of ones are exact only below 2^24 (f32). 64 blocks
/// * 1024 threads * (32 + 64 + 2 * 64) operations = 14,680,064.
const EXACT_BLOCKS: u32 = 64;

/// What a case asks for, the same for all its samples.
#[derive(Debug)]
pub(crate) struct KernelRequest {
    pub(crate) parameters: Parameters,
    /// The arguments that all launches of the case share.
    pub(crate) arguments: BenchArguments,
    pub(crate) proof: Proof,
    /// The program with the third loop.
    pub(crate) third: Option<Program>,
    /// State from earlier measurement blocks, and for later ones.
    pub(crate) carried: Rc<RefCell<Carried>>,
    /// Whether the context is the primitive itself.
    pub(crate) is_own_context: bool,
    /// Operations in one iteration of the baseline.
    pub(crate) unroll: u32,
    pub(crate) sampling: SamplingPolicy,
    /// How long a batch may take; `None` for the usual limit.
    pub(crate) limit: Option<Duration>,
    /// A lower limit of the cost.
    pub(crate) least: Option<Limit>,
}

/// What the experiment runs with, besides the bench.
#[derive(Debug)]
pub(crate) struct Setup<'a> {
    pub(crate) kernels: Kernels,
    pub(crate) evidence: Evidence,
    pub(crate) loops: Loops,
    pub(crate) ruler: Ruler,
    /// Reports the clocks of the device, if NVML provides them.
    pub(crate) watch: Option<Rc<Watch>>,
    pub(crate) third: Option<ThirdLoop<'a, Function>>,
}

/// The state that a case carries from one measurement block to the next.
#[derive(Debug, Default)]
pub(crate) struct Carried {
    /// Cycles that an iteration takes for a thread of the mean rate, by the number of copies in the loop; 0: not known yet.
    iteration: [f64; 3],
    /// The longest iteration of a thread in recent launches.
    longest_iteration: [f64; 3],
    /// How often threads were late; each time doubles the run-in.
    late: u32,
    /// Whether some threads were served [`STARVED`] times as often as others.
    is_starved: bool,
    /// Lowest and highest frequency of the samples, in hertz.
    clocks: Option<(f64, f64)>,
}

impl Carried {
    /// Notes the frequency of a sample.
    fn note(&mut self, hertz: f64) {
        let (low, high) = self.clocks.unwrap_or((hertz, hertz));
        self.clocks = Some((low.min(hertz), high.max(hertz)));
    }
}

/// A case, ready to run. Its memory has been cleared.
#[derive(Debug)]
pub(crate) struct KernelExperiment<'a> {
    bench: &'a mut Bench,
    setup: Setup<'a>,
    request: KernelRequest,
    offsets: MemoryOffsets,
    /// Whether some threads were served far more often than others in the last sample.
    is_unequal: bool,
    /// What the driver reported about the clocks after the samples.
    clock_state: Option<ClockState>,
}

impl<'a> KernelExperiment<'a> {
    pub(crate) const fn new(
        bench: &'a mut Bench,
        setup: Setup<'a>,
        request: KernelRequest,
        offsets: MemoryOffsets,
    ) -> Self {
        Self { bench, setup, request, offsets, is_unequal: false, clock_state: None }
    }

    /// How many loops one sample adds up.
    fn loops(&self) -> u64 {
        u64::from(self.offsets.per_sample())
    }

    /// The kernel of a side; loads the third loop now if it is not loaded yet.
    fn function(&mut self, side: Side) -> Result<Function, ExperimentError> {
        let Self { bench, setup, request, .. } = self;
        if side != Side::Double {
            return Ok(setup.kernels.of(side));
        }
        let cluster = request.parameters.cluster;
        let third = setup.third.as_mut().ok_or_else(no_third_loop)?;
        third.loaded(|program, cubin| Ok(bench.load_third_loop(program, cubin, cluster)?)).copied()
    }

    fn launch(&self, function: Function, Shot { side, iterations, pair }: Shot, window: f64) -> Launch {
        let mut arguments = self.request.arguments;
        let common = arguments.common_mut();
        let gate = if self.request.parameters.shape.blocks > 1 { GATE_CYCLES } else { 0.0 };
        common.iterations = iterations.min(MAX_ITERATIONS) as u32;
        common.offsets = self.offsets.per_sample();
        common.offset_distance = self.offsets.distance() as u64;
        common.window = window as u32;
        let run_in = RUN_IN * f64::from(1 << self.request.carried.borrow().late);
        common.run_in = (window * run_in + gate) as u32;
        let longest = self.request.carried.borrow().longest_iteration[side.copies() as usize] * iterations as f64;
        common.run_out = (RUN_OUT * longest).min(LONGEST_RUN_OUT * window).min(LONGEST_WINDOW_CYCLES) as u32;
        common.cycles_per_1024_ns = (self.setup.ruler.frequency.value() * 1024.0 / 1e9) as u32;
        Launch { offset: self.offsets.offset(pair), ..Launch::of(function, arguments) }
    }

    /// Length in cycles of the window for a loop with iterations of this length: as long as a sample should be, or longer if
    /// threads would have too few runs of the loop.
    fn window(&self, iteration: f64, iterations: u64) -> f64 {
        let chunk = iterations as f64 * iteration;
        let fewest = (CHUNKS_OF_WINDOW * chunk).max(ITERATIONS_OF_WINDOW * self.share_of_iterations() * iteration);
        let of_starved = if self.is_starved() { (CHUNKS_OF_STARVED * chunk).min(LONGEST_OF_STARVED) } else { 0.0 };
        let sample = self.request.sampling.sample.as_secs_f64() * self.setup.ruler.frequency.value();
        (sample / self.loops() as f64).max(fewest).max(of_starved).min(LONGEST_WINDOW_CYCLES)
    }

    fn is_starved(&self) -> bool {
        self.request.carried.borrow().is_starved
    }

    /// The share of the usual iterations that has the usual number of operations, if an iteration has more operations than
    /// usual.
    fn share_of_iterations(&self) -> f64 {
        (f64::from(UNROLL) / f64::from(self.request.unroll)).min(1.0)
    }

    /// The iterations of a chunk: an eighth of a window, or less if threads are starved.
    fn iterations_of_chunk(&mut self) -> Result<u64, ExperimentError> {
        // A fence takes a hundred times as long as the updates around it.
        let sides: &[Side] =
            if self.request.is_own_context { &[Side::Baseline] } else { &[Side::Baseline, Side::Test] };
        let mut longest = f64::MIN_POSITIVE;
        for &side in sides {
            let (function, copies) = (self.function(side)?, side.copies() as usize);
            let mut shot = Shot { side, iterations: 1, pair: 0 };
            // The beginning and end of a chunk make short iterations look longer than they are.
            let cycles = loop {
                self.time_iteration(function, shot)?;
                let cycles = self.request.carried.borrow().iteration[copies];
                let wanted = (CHUNK_TO_TRUST / cycles).ceil() as u64;
                if wanted <= shot.iterations {
                    break cycles;
                }
                shot.iterations = wanted.max(2 * shot.iterations);
                self.set_iteration(copies, 0.0);
            };
            longest = longest.max(cycles);
        }
        let chunks = if self.is_starved() { CHUNKS_OF_STARVED } else { CHUNKS_OF_WINDOW };
        Ok(((self.window(0.0, 0) / chunks / longest) as u64).clamp(1, MAX_ITERATIONS))
    }

    /// Measures how long an iteration takes, unless that is known.
    fn time_iteration(&mut self, function: Function, shot: Shot) -> Result<(), ExperimentError> {
        let copies = shot.side.copies() as usize;
        let mut guess = ITERATION_CYCLES.0;
        while self.request.carried.borrow().iteration[copies] == 0.0 {
            let window = self.window(guess, shot.iterations);
            let launch = self.launch(function, shot, window);
            let timings = self.bench.run(self.request.parameters.shape, &[launch])?;
            let chunk = timings.first().map_or(0.0, chunk_of);
            if chunk > 0.0 && 2.0 * window / chunk >= CHUNKS_OF_WINDOW {
                self.set_iteration(copies, chunk / shot.iterations as f64);
                for timing in &timings {
                    self.note_extremes(timing, shot);
                }
            } else if guess >= ITERATION_CYCLES.1 {
                self.set_iteration(copies, guess);
            }
            guess *= 8.0;
        }
        Ok(())
    }

    fn set_iteration(&self, copies: usize, cycles: f64) {
        self.request.carried.borrow_mut().iteration[copies] = cycles;
    }

    /// Notes how long the slowest thread of a launch took for an iteration, and whether a thread was starved. Earlier maxima
    /// are halved, so that an outlier is forgotten.
    fn note_extremes(&self, timing: &Timing, Shot { side, iterations, .. }: Shot) {
        let slowest = timing.warps.iter().map(|warp| warp.slowest).max().unwrap_or(0);
        let fastest = timing.warps.iter().map(|warp| warp.fastest).min().unwrap_or(0);
        let mut carried = self.request.carried.borrow_mut();
        carried.is_starved |= slowest as f64 > STARVED * fastest as f64;
        let longest = &mut carried.longest_iteration[side.copies() as usize];
        *longest = (*longest / 2.0).max(slowest as f64 / (CHUNKS_OF_SAMPLE * iterations) as f64);
    }

    /// Whether the threads of a launch ran apart from each other, or hardly at all. The next windows are then longer, or begin
    /// later.
    fn ran_apart(&self, timing: &Timing, shot: Shot, window: f64) -> bool {
        self.note_extremes(timing, shot);
        let late = timing.warps.iter().map(|warp| warp.late).max().unwrap_or(0);
        let chunk = chunk_of(timing);
        let iterations = window / chunk * shot.iterations as f64;
        let is_short = iterations < FEWEST_ITERATIONS * self.share_of_iterations();
        if is_short {
            let copies = shot.side.copies() as usize;
            self.set_iteration(copies, (chunk / shot.iterations as f64).min(ITERATION_CYCLES.1));
        }
        let is_late = f64::from(late) > (1.0 - LEAST_OVERLAP) * window;
        if is_late {
            let late = &mut self.request.carried.borrow_mut().late;
            *late = (*late + 1).min(LONGEST_RUN_IN_DOUBLINGS);
        }
        is_short || is_late
    }

    /// What the kernel `check` finds after two launches without a window, whose operations are known: one of each loop, with
    /// this many iterations. Adds ones where floating-point sums would not be exact.
    fn finding(&mut self, iterations: u64) -> Result<Finding, Outage> {
        let Parameters { mut shape, .. } = self.request.parameters;
        let Kernels { baseline, test, .. } = self.setup.kernels;
        let is_rounded = self.request.proof == Proof::Sum && self.request.parameters.is_floating();
        if is_rounded {
            shape.blocks = shape.blocks.min(EXACT_BLOCKS);
        }
        self.bench.clear_memory(self.request.parameters.memory_bytes().next_multiple_of(ALIGNMENT))?;
        let launches = [(Side::Baseline, baseline), (Side::Test, test)].map(|(side, function)| {
            let mut launch = self.launch(function, Shot { side, iterations, pair: 0 }, 0.0);
            launch.arguments.common_mut().offsets = 1;
            if is_rounded {
                launch.arguments.use_ones();
            }
            Launch { offset: 0, ..launch }
        });
        self.bench.run(shape, &launches)?;
        let [baseline, test] =
            [Side::Baseline, Side::Test].map(|side| with_warm_up(side, iterations, self.request.unroll));
        let arguments = launches[0].arguments.after(Executed { total: baseline + test, last: test });
        self.bench.check(shape, &[Launch::of(self.setup.kernels.check, arguments)])
    }

    /// The launches of a shot of equal work, one at each memory offset: finished blocks would otherwise begin the next offset
    /// early. Each thread is timed from its first reading of the clock to its second, and all begin with the kernel.
    fn launches_of_equal_work(&self, function: Function, shot: Shot) -> impl Iterator<Item = Launch> {
        let launch = self.launch(function, shot, 0.0);
        let distance = self.offsets.distance();
        (0..self.offsets.per_sample() as usize).map(move |number| {
            let mut launch = Launch { offset: launch.offset + number * distance, ..launch };
            let common = launch.arguments.common_mut();
            (common.offsets, common.skip_warm_up) = (1, 1);
            launch
        })
    }

    fn describe(&self, finding: Finding) -> String {
        let value = |bits: u64| match self.request.parameters.dtype {
            Some(Dtype::F32 | Dtype::F64) => f64::from_bits(bits).to_string(),
            Some(Dtype::I32) => bits.cast_signed().to_string(),
            _ => bits.to_string(),
        };
        let Finding { mismatches, thread, expected, found } = finding;
        let (expected, found) = (value(expected), value(found));
        if mismatches == 1 && self.request.proof == Proof::Sum {
            return format!("expected {expected} additions and found {found}");
        }
        format!("{mismatches} mismatches; thread {thread} expected {expected} and found {found}")
    }
}

impl Experiment for KernelExperiment<'_> {
    fn ruler(&self) -> Ruler {
        self.setup.ruler.clone()
    }

    fn operations(&self, side: Side, iterations: u64) -> u64 {
        operations(side, iterations, self.request.unroll) * self.loops() * CHUNKS_OF_SAMPLE
    }

    fn samples(&mut self, shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError> {
        let functions =
            shots.iter().map(|shot| self.function(shot.side)).collect::<Result<Vec<_>, ExperimentError>>()?;
        for (function, shot) in functions.iter().zip(shots) {
            self.time_iteration(*function, *shot)?;
        }
        let iteration = self.request.carried.borrow().iteration;
        let windows: Vec<f64> =
            shots.iter().map(|shot| self.window(iteration[shot.side.copies() as usize], shot.iterations)).collect();
        let each = functions.iter().zip(shots.iter().zip(&windows).zip(BlockOrder::of(shots)));
        let launches: Vec<Launch> = each
            .map(|(function, ((shot, window), order))| Launch { order, ..self.launch(*function, *shot, *window) })
            .collect();
        let timings = self.bench.run(self.request.parameters.shape, &launches)?;
        let mut samples = profile::time(Phase::Read, || {
            for length in timings.iter().filter_map(|timing| ns_per_cycle(timing.rate)) {
                self.request.carried.borrow_mut().note(1e9 / length);
            }
            let (ruler, threads) = (&self.setup.ruler, self.request.parameters.shape.threads);
            let sample = |(timing, (shot, window)): (&Timing, (&Shot, &f64))| {
                let disturbance = self.ran_apart(timing, *shot, *window).then_some(Disturbance::NotTogether);
                Some(Sample { disturbance, ..sample_of(timing, threads, ruler)? })
            };
            let samples: Option<Vec<Sample>> = timings.iter().zip(shots.iter().zip(&windows)).map(sample).collect();
            samples.ok_or_else(|| ExperimentError::Failed("a grid without threads".to_owned()))
        })?;
        self.is_unequal = is_unequal(shots, &samples);
        mark_clock_changes(shots, &mut samples);
        Ok(samples)
    }

    /// Threads that are served first leave the others behind, so the loops are long compared with their beginning and end.
    fn equal_work(&mut self, shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError> {
        let Some(first) = shots.first().filter(|_| self.is_unequal) else { return Ok(Vec::new()) };
        let iteration = self.request.carried.borrow().iteration[0].max(1.0);
        let length = EQUAL_WORK.0 * self.setup.ruler.frequency.value() / self.loops() as f64;
        let iterations = ((length / iteration) as u64).clamp(EQUAL_WORK.1, MAX_ITERATIONS);
        let longer = iterations as f64 / (first.iterations * CHUNKS_OF_SAMPLE) as f64;
        let is_one_loop = self.request.is_own_context && self.setup.loops.are_of_rate;
        let mut launches = Vec::new();
        for (shot, order) in shots.iter().zip(BlockOrder::of(shots)) {
            // If nothing reads the results, a longer loop leaves more of them outstanding at its end than a shorter one: up to
            // one iteration's. One loop that runs twice as often leaves equally many.
            let times = if is_one_loop { 1 + shot.side.copies() } else { 1 };
            let function = self.function(if is_one_loop { Side::Baseline } else { shot.side })?;
            let of_shot = self.launches_of_equal_work(function, Shot { iterations: times * iterations, ..*shot });
            launches.extend(of_shot.map(|launch| Launch { order, ..launch }));
        }
        let timings = self.bench.run(self.request.parameters.shape, &launches)?;
        let (ruler, threads) = (&self.setup.ruler, self.request.parameters.shape.threads);
        let sample = |timings: &[Timing]| {
            timings
                .iter()
                .map(|timing| sample_of(timing, threads, ruler))
                .reduce(joined)?
                .map(|all| all.scaled(1.0 / longer))
        };
        let samples: Option<Vec<Sample>> = timings.chunks(self.loops() as usize).map(sample).collect();
        let mut samples = samples.ok_or_else(|| ExperimentError::Failed("a grid without threads".to_owned()))?;
        mark_clock_changes(shots, &mut samples);
        Ok(samples)
    }

    fn known_iterations(&mut self) -> Result<Option<u64>, ExperimentError> {
        self.iterations_of_chunk().map(Some)
    }

    fn protocol(&self) -> Protocol {
        let KernelRequest { sampling, is_own_context, unroll, .. } = &self.request;
        Protocol {
            clock_tolerance: Some(CLOCK_CHANGE),
            actor: Actor::Mean,
            in_window: true,
            runs_in: true,
            has_double: self.setup.third.is_some(),
            is_own_context: *is_own_context,
            share_of_time: sampling.share_of_time,
            ..Protocol::of(*unroll)
        }
    }

    fn check(&mut self) -> Check {
        // Read here, while the samples are still the last work of the device.
        self.clock_state = self.setup.watch.as_ref().map(|watch| watch.state());
        match self.finding(1) {
            Ok(finding) if finding.mismatches == 0 => Check::Ok,
            Ok(finding) => Check::Failed(self.describe(finding)),
            Err(outage) => Check::Failed(outage.to_string()),
        }
    }

    /// Checks after few operations and after many, as far as sums are exact.
    fn stress(&mut self, time: Duration) -> Result<(u64, Check), ExperimentError> {
        let (started, mut uses) = (Instant::now(), 0);
        let longest = if self.request.parameters.is_floating() { 1 } else { 64 };
        for iterations in [1, 8, longest].into_iter().cycle() {
            let iterations = longest.min(iterations);
            let finding = self.finding(iterations)?;
            uses += [Side::Baseline, Side::Test]
                .map(|side| with_warm_up(side, iterations, self.request.unroll))
                .iter()
                .sum::<u64>();
            if finding.mismatches > 0 {
                return Ok((uses, Check::Failed(self.describe(finding))));
            }
            if started.elapsed() >= time {
                break;
            }
        }
        Ok((uses, Check::Ok))
    }

    fn evidence(&mut self) -> Evidence {
        self.setup.evidence.clone()
    }

    fn limit(&self) -> Option<Limit> {
        self.request.least.clone()
    }

    fn remark(&self) -> Option<String> {
        let slowdown = self.clock_state.as_ref().and_then(ClockState::slowdown);
        let aggregated = self.setup.loops.aggregates_once.then(|| AGGREGATED_ONCE.to_owned());
        let remarks: Vec<String> = slowdown.into_iter().chain(aggregated).collect();
        (!remarks.is_empty()).then(|| remarks.join("; "))
    }

    fn details(&mut self) -> Result<Vec<Detail>, ExperimentError> {
        let clocks = self.request.carried.borrow().clocks;
        let measured = clocks.map(|(low, high)| [("sm_clock_hz_low", low), ("sm_clock_hz_high", high)]);
        let reported = self.clock_state.as_ref().map(ClockState::details);
        let all = measured.into_iter().flatten().chain(reported.into_iter().flatten());
        Ok(all.map(|(name, value)| Detail::of_case(name, value)).collect())
    }
}

/// Whether most samples of a loop served their threads unequally. Each loop is judged alone: if a fence is near the memory of
/// some threads and far from that of others, the baseline without the fence serves all of them alike.
fn is_unequal(shots: &[Shot], samples: &[Sample]) -> bool {
    let is_so = |sample: &Sample| sample.slowest.0 as f64 > UNEQUAL * sample.fastest.0 as f64;
    [Side::Baseline, Side::Test, Side::Double].into_iter().any(|side| {
        let of_side = || shots.iter().zip(samples).filter(|(shot, _)| shot.side == side);
        2 * of_side().filter(|(_, sample)| is_so(sample)).count() > of_side().count()
    })
}

/// Cycles of one run of the loop in a window, for a warp of the mean rate; 0 without warps.
fn chunk_of(timing: &Timing) -> f64 {
    let rates: f64 = timing.warps.iter().map(|warp| CHUNKS_OF_SAMPLE as f64 / warp.slowest.max(1) as f64).sum();
    if rates > 0.0 { timing.warps.len() as f64 / rates } else { 0.0 }
}

/// The parameters of a case that its kernels get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parameters {
    pub(crate) shape: Shape,
    pub(crate) dtype: Option<Dtype>,
    /// Elements between the variables of neighbouring threads; 0: one variable for all.
    pub(crate) stride: u32,
    /// How many arrays of such variables.
    pub(crate) arrays: usize,
    /// Blocks of a cluster; 0: no clusters.
    pub(crate) cluster: u32,
}

impl Parameters {
    /// Bytes of the variables. Each thread may use its own element in addition to the shared variable.
    pub(crate) fn memory_bytes(self) -> usize {
        self.arrays.saturating_sub(1) * self.array_distance() + self.array_bytes()
    }

    /// Bytes from the beginning of one array to the next, as `array_distance` in `fence.cu`: as if the driver allocated one
    /// after the other.
    fn array_distance(self) -> usize {
        self.array_bytes().next_multiple_of(ALIGNMENT)
    }

    fn array_bytes(self) -> usize {
        let elements = self.shape.grid_threads() * self.stride.max(1) as usize;
        elements * self.dtype.map_or(8, Dtype::size_bytes)
    }

    pub(crate) fn is_floating(self) -> bool {
        self.dtype.is_some_and(Dtype::is_floating)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::program_of;
    use crate::cuda::discovery::Surroundings;
    use crate::cuda::nvrtc::{Nvrtc, Source};
    use crate::launch::arguments::UNROLL;
    use crate::launch::headers::headers;
    use std::fmt::Write as _;
    use syncscope_core::{Case, Layout, Scope, Ticks};

    #[test]
    fn later_blocks_know_the_range_of_clocks() {
        let mut carried = Carried::default();
        for hertz in [2e9, 1.5e9, 1.7e9] {
            carried.note(hertz);
        }
        assert_eq!(carried.clocks, Some((1.5e9, 2e9)));
    }

    #[test]
    fn an_operation_that_serves_unequally_is_noticed_beside_an_equal_baseline() {
        let sample =
            |fastest, slowest| Sample::of_actors(&mut [Ticks(fastest), Ticks(slowest)], 1.0).unwrap_or_default();
        let of = |baseline: &[(u64, u64)], test: &[(u64, u64)]| {
            let pairs = baseline.iter().zip(test).enumerate();
            let each = pairs.flat_map(|(pair, (&baseline, &test))| {
                [(Side::Baseline, baseline), (Side::Test, test)].map(|(side, (fastest, slowest))| {
                    (Shot { side, iterations: 1, pair: pair as u64 }, sample(fastest, slowest))
                })
            });
            let (shots, samples): (Vec<Shot>, Vec<Sample>) = each.unzip();
            is_unequal(&shots, &samples)
        };
        let (alike, apart) = ((100, 102), (100, 130));
        assert!(of(&[alike; 3], &[apart; 3]) && of(&[apart; 3], &[alike; 3]), "one side alone");
        assert!(!of(&[alike; 3], &[alike; 3]) && !of(&[alike; 3], &[apart, alike, alike]), "one sample of several");
        assert!(!is_unequal(&[], &[]));
    }

    #[test]
    fn sums_of_ones_are_exact() {
        let operations = with_warm_up(Side::Baseline, 1, UNROLL) + with_warm_up(Side::Test, 1, UNROLL);
        assert!(u64::from(EXACT_BLOCKS) * 1024 * operations < 1 << 24);
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
