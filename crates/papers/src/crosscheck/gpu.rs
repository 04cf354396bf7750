//! The GPU side: chains of one operation and the barrier of a grid, timed by the clock of the multiprocessors and by the host.

use std::collections::HashMap;
use std::time::Duration;

use syncscope_core::{Case, Check, Experiment, ExperimentError, Shot, Side};
use syncscope_gpu::compile::Program;
use syncscope_gpu::own_device::{self, Arguments, Kernel, Launch, Memory, Outage, OwnDevice, ns_per_cycle};
use syncscope_gpu::{BothClocksOfLaunch, GpuError, GpuLaboratory, GridBarrierExperiment};
use syncscope_host::clock::raw_ns;

use super::chains::{Chain, ChainCase, chain_of_a_check, chains};
use super::{
    BASIC_REPEATS, BothClocks, CrosscheckPair, CrosscheckRow, CrosscheckSeries, Executor, Form, Operation,
    REPEAT_DIFFERENCES, Schedule,
};
use crate::Error;

/// Pairs of the check at the start of a run: some ten milliseconds. (On an H200, medians of 25 were off by up to 1.2 % from
/// outside, where the host disturbs a launch by a microsecond.)
const PAIRS_OF_A_CHECK: usize = 101;

/// Threads of each block of a grid; there is one block on each multiprocessor, as in the first line of the paper's table 8.
const GRID_THREADS: [u32; 2] = [32, 256];

/// The limit for a chain, which lasts some milliseconds at most.
const LIMIT: Duration = Duration::from_secs(5);

/// Cycles over which the clock is measured next to each pair: some 50 us. The global timer is read to about 20 ns at both
/// ends, so the measurement is exact to a thousandth, and the median of the pairs to less.
const CLOCK_CYCLES: u32 = 100_000;

/// Words of a `ChainResult` in `crosscheck.cu`.
const WORDS: usize = 4;

/// Measures all chains and the barrier of a grid on the first device, in about half a minute with the compilation of
/// the longest chains. Returns the series, and why some are missing. `has_time_for` gets what comes next, and can end
/// the measurement.
///
/// # Errors
/// When a kernel cannot be compiled, launched, or does not end.
pub fn measure(
    gpu: &mut GpuLaboratory,
    seed: u64,
    has_time_for: &mut dyn FnMut(&str) -> bool,
) -> Result<(Vec<CrosscheckSeries>, Vec<String>), GpuError> {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    let sets = chains(gpu.limits().max_threads);
    if !has_time_for("compiling the longest chains takes seconds the first time") {
        return Ok((found, missing));
    }
    // All programs are compiled at once on all CPUs: the longest take seconds each.
    let programs: Vec<Program> = sets.iter().flat_map(|(_, cases)| cases).flat_map(ChainCase::programs).collect();
    gpu.prepare_programs(&programs);
    for (name, cases) in sets {
        if !has_time_for(name) {
            return Ok((found, missing));
        }
        found.extend(measure_chains(gpu, &cases, Schedule::MEASURED, seed)?);
    }
    for threads in GRID_THREADS {
        if !has_time_for("grid barrier") {
            break;
        }
        match grid_barrier(gpu, threads, seed) {
            Ok(series) => found.extend(series),
            Err(reason) => missing.push(format!("grid barrier with blocks of {threads}: {reason}")),
        }
    }
    Ok((found, missing))
}

/// Measures a chain of float additions by both clocks, for the check at the start of a run.
///
/// # Errors
/// As [`measure`].
pub fn measure_check(gpu: &mut GpuLaboratory, seed: u64) -> Result<Option<CrosscheckSeries>, GpuError> {
    Ok(measure_chains(gpu, &[chain_of_a_check()], Schedule::of_a_check(PAIRS_OF_A_CHECK), seed)?.pop())
}

/// The programs that the check compiles.
pub fn programs_of_a_check() -> [Program; 2] {
    chain_of_a_check().programs()
}

fn measure_chains(
    gpu: &mut GpuLaboratory,
    cases: &[ChainCase],
    schedule: Schedule,
    seed: u64,
) -> Result<Vec<CrosscheckSeries>, GpuError> {
    let mut runner = ChainRunner::new(gpu)?;
    let loaded = cases.iter().map(|case| runner.load(gpu, case)).collect::<Result<Vec<_>, _>>()?;
    runner.warm_up(gpu.limits().multiprocessors)?;
    let pairs = schedule.take(seed, cases.len(), |case, many_first| runner.pair(loaded[case], many_first))?;
    let check = match runner.mismatches {
        0 => "ok".to_owned(),
        count => format!("{count} threads found something else than expected at the end of their chain"),
    };
    let capability = gpu.machine().first().map(|machine| machine.compute_capability);
    let series = |(case, pairs): (&ChainCase, Vec<CrosscheckPair>)| {
        let evidence = case.evidence(&gpu.cubin(&case.many.program())?);
        let known_cycles = capability.and_then(|capability| case.known_cycles(capability));
        let case = CrosscheckRow { check: Some(check.clone()), evidence, known_cycles, ..case.case.clone() };
        Ok(CrosscheckSeries { case, pairs })
    };
    cases.iter().zip(pairs).map(series).collect()
}

/// A loaded chain.
#[derive(Debug, Clone, Copy)]
struct LoadedChain {
    chain: Chain,
    kernel: Kernel,
    clock: Kernel,
    threads: u32,
}

/// What a chain left: its cycles, and the last measurement of the clock.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ChainResult {
    cycles: u64,
    mismatches: u32,
    ns_per_cycle: Option<f64>,
}

impl ChainResult {
    fn of(words: &[u64]) -> Self {
        let word = |index: usize| words.get(index).copied().unwrap_or(0);
        // The upper half of the second word is reserved.
        Self { cycles: word(0), mismatches: word(1) as u32, ns_per_cycle: ns_per_cycle(word(2), word(3)) }
    }
}

/// Runs chains on one device.
#[derive(Debug)]
struct ChainRunner {
    /// The kernels `chain` and `clock_rate` of each program.
    loaded: HashMap<Program, (Kernel, Kernel)>,
    results: Memory,
    device: OwnDevice,
    /// Threads that found something else than expected, in all launches so far.
    mismatches: u32,
}

impl ChainRunner {
    fn new(gpu: &GpuLaboratory) -> Result<Self, GpuError> {
        let mut device = gpu.own_device()?;
        Ok(Self { loaded: HashMap::new(), results: device.results(WORDS)?, device, mismatches: 0 })
    }

    /// Loads the kernels of a case, each program once.
    fn load(&mut self, gpu: &mut GpuLaboratory, case: &ChainCase) -> Result<[LoadedChain; 2], GpuError> {
        let mut load = |chain: Chain| -> Result<LoadedChain, GpuError> {
            let program = chain.program();
            let (kernel, clock) = if let Some(loaded) = self.loaded.get(&program) {
                *loaded
            } else {
                let module = self.device.load(&gpu.cubin(&program)?)?;
                let kernels = (module.kernel(c"chain")?, module.kernel(c"clock_rate")?);
                *self.loaded.entry(program).or_insert(kernels)
            };
            Ok(LoadedChain { chain, kernel, clock, threads: case.threads })
        };
        Ok([load(case.few)?, load(case.many)?])
    }

    /// Keeps the whole device busy until its clock is stable.
    fn warm_up(&mut self, multiprocessors: u32) -> Result<(), GpuError> {
        let Some(clock) = self.loaded.values().next().map(|(_, clock)| *clock) else { return Ok(()) };
        own_device::run_until_stable(|| {
            self.launch(clock, (multiprocessors, 128), 10 * CLOCK_CYCLES, 0)?;
            Ok(self.fetched()?.ns_per_cycle.into_iter().collect())
        })?;
        Ok(())
    }

    /// The shorter and the longer chain, and the clock right after them.
    fn pair(&mut self, loaded: [LoadedChain; 2], many_first: bool) -> Result<CrosscheckPair, GpuError> {
        let (few, many) = CrosscheckPair::in_order(many_first, |is_many| self.time(loaded[usize::from(is_many)]))?;
        self.launch(loaded[1].clock, (1, 32), CLOCK_CYCLES, 0)?;
        let ns_per_cycle = self.fetched()?.ns_per_cycle.ok_or(GpuError::NoTimer)?;
        Ok(CrosscheckPair { many_first, few, many, cycles_per_ns: 1.0 / ns_per_cycle })
    }

    /// Launches a chain once. The host's time runs from before the launch until the host sees its end.
    fn time(&mut self, loaded: LoadedChain) -> Result<BothClocks, Outage> {
        let LoadedChain { chain, kernel, threads, .. } = loaded;
        let started = raw_ns();
        self.launch(kernel, (1, threads), chain.iterations, chain.expected())?;
        let outside_ns = raw_ns().saturating_sub(started) as f64;
        Ok(BothClocks { outside_ns, inside_cycles: self.fetched()?.cycles as f64 })
    }

    /// Launches a kernel with `ChainArguments` and waits for its end.
    fn launch(&mut self, kernel: Kernel, grid: (u32, u32), iterations: u32, expected: u32) -> Result<(), Outage> {
        let arguments = Arguments::default().wide(self.results.address).word(iterations).word(expected);
        // An opaque one and an opaque zero.
        let arguments = arguments.word(1).word(0);
        self.device.launch(&Launch::new(kernel, grid, arguments))?;
        self.device.wait(LIMIT)
    }

    /// What the last launches left.
    fn fetched(&mut self) -> Result<ChainResult, Outage> {
        let found = ChainResult::of(self.device.fetch(self.results, WORDS, LIMIT)?);
        self.mismatches = found.mismatches;
        Ok(found)
    }
}

/// Measures the barrier behind `grid_group::sync`, with one block of `threads` threads for each multiprocessor, by the
/// project's own kernels with their checks.
fn grid_barrier(gpu: &mut GpuLaboratory, threads: u32, seed: u64) -> Result<Vec<CrosscheckSeries>, Error> {
    let blocks = gpu.limits().multiprocessors;
    let case = Case { threads: Some(threads), blocks: Some(blocks), ..Case::new("gpu.grid.cooperative") };
    let mut experiment = gpu.grid_barrier_by_both_clocks(&case)?;
    let unroll = u64::from(experiment.protocol().unroll);
    let mut number = 0;
    let pairs = Schedule::MEASURED.take(seed, REPEAT_DIFFERENCES.len(), |at, many_first| {
        number += 1;
        pair_of_barriers(&mut experiment, number, (REPEAT_DIFFERENCES[at], unroll), many_first)
    })?;
    let check = match experiment.check() {
        Check::Ok => Some("ok".to_owned()),
        Check::Failed(reason) => Some(reason),
        Check::NotApplicable => None,
    };
    let evidence = experiment.evidence().summary().map(str::to_owned);
    let series = REPEAT_DIFFERENCES.iter().zip(pairs).map(|(difference, pairs)| CrosscheckSeries {
        case: CrosscheckRow {
            executor: Executor::Gpu,
            operation: Operation::GridBarrier,
            form: Form::Looped,
            body: unroll,
            blocks: Some(blocks),
            threads: Some(threads),
            repeats_few: BASIC_REPEATS,
            repeats_many: BASIC_REPEATS + difference,
            check: check.clone(),
            evidence: evidence.clone(),
            ..CrosscheckRow::default()
        },
        pairs,
    });
    Ok(series.collect())
}

/// Takes few and many barriers at the same memory offset, the pair's.
fn pair_of_barriers(
    experiment: &mut GridBarrierExperiment<'_>,
    pair: u64,
    (difference, unroll): (u64, u64),
    many_first: bool,
) -> Result<CrosscheckPair, ExperimentError> {
    let (few, many) = CrosscheckPair::in_order(many_first, |is_many| {
        let repeats = BASIC_REPEATS + if is_many { difference } else { 0 };
        experiment.by_both_clocks(Shot { side: Side::Baseline, iterations: repeats / unroll, pair })
    })?;
    let side = |times: BothClocksOfLaunch| BothClocks {
        outside_ns: times.host_ns as f64,
        inside_cycles: times.device_cycles.0 as f64,
    };
    // The longer launch's measurement of the clock comes first: the end of the global timer's step counts for less
    // there.
    let stands_still = || ExperimentError::Failed("the global timer does not advance".to_owned());
    let ns_per_cycle = many.ns_per_cycle.or(few.ns_per_cycle).ok_or_else(stands_still)?;
    Ok(CrosscheckPair { many_first, few: side(few), many: side(many), cycles_per_ns: 1.0 / ns_per_cycle })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_as_they_are_written() {
        let found = ChainResult::of(&[2_048, (9 << 32) | 3, 50_000, 99_000]);
        assert_eq!((found.cycles, found.mismatches), (2_048, 3));
        assert!(found.ns_per_cycle.is_some_and(|length| (length - 50.0 / 99.0).abs() < 1e-12), "{found:?}");
    }
}
