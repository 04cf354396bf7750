//! Launches of chains by both clocks.

use std::collections::HashMap;
use std::time::Duration;

use syncscope_core::published::crosscheck::{BothClocks, CrosscheckPair};

use super::plan::{Chain, ChainCase};
use crate::GpuLaboratory;
use crate::cuda::compile::Program;
use crate::cuda::driver::{Context, DeviceBuffer, Function, HostBuffer};
use crate::cuda::error::{CudaError, GpuError};
use crate::launch::arguments::{ChainArguments, ChainResult, Rate};
use crate::launch::host_clock;
use crate::launch::outage::Outage;
use crate::launch::ruler;
use crate::launch::samples::ns_per_cycle;
use crate::published::device::ExperimentDevice;

/// A chain lasts some milliseconds at most.
const LIMIT: Duration = Duration::from_secs(5);

/// Cycles over which the clock is measured next to each pair: some 50 us. The global timer is read to about 20 ns at both
/// ends, so the measurement is exact to a thousandth, and the median of the pairs to less.
const CLOCK_CYCLES: u32 = 100_000;

/// Words of a [`ChainResult`].
const WORDS: usize = size_of::<ChainResult>() / size_of::<u64>();

/// A chain that is loaded.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoadedChain {
    chain: Chain,
    function: Function,
    clock: Function,
    threads: u32,
}

/// A shorter and a longer chain that are loaded.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoadedCase {
    few: LoadedChain,
    many: LoadedChain,
}

/// What kernels write, and its copy.
#[derive(Debug)]
struct Results {
    device: DeviceBuffer,
    host: HostBuffer<u64>,
}

/// Runs chains on one device.
#[derive(Debug)]
pub(super) struct ChainRunner {
    /// The kernels `chain` and `clock_rate` of each program.
    loaded: HashMap<Program, (Function, Function)>,
    /// Always there; taken only when this is dropped.
    results: Option<Results>,
    /// The last field: it is dropped after all that lives in it.
    device: ExperimentDevice,
}

impl ChainRunner {
    pub(super) fn new(laboratory: &GpuLaboratory) -> Result<Self, GpuError> {
        let device = laboratory.experiment_device()?;
        let bytes = WORDS * size_of::<u64>();
        let results = Results {
            device: DeviceBuffer::new(device.context()?, bytes)?,
            host: HostBuffer::new(device.context()?, WORDS)?,
        };
        device.stream()?.clear(&results.device, bytes)?;
        Ok(Self { loaded: HashMap::new(), results: Some(results), device })
    }

    /// Loads the kernels of a case, each program once.
    pub(super) fn load(&mut self, laboratory: &mut GpuLaboratory, case: &ChainCase) -> Result<LoadedCase, GpuError> {
        let mut load = |chain: Chain| -> Result<LoadedChain, GpuError> {
            let program = chain.program();
            let (function, clock) = if let Some(loaded) = self.loaded.get(&program) {
                *loaded
            } else {
                let module = laboratory.load_for(&self.device, &program)?;
                let functions = (module.function(c"chain")?, module.function(c"clock_rate")?);
                *self.loaded.entry(program).or_insert(functions)
            };
            Ok(LoadedChain { chain, function, clock, threads: case.threads })
        };
        Ok(LoadedCase { few: load(case.few)?, many: load(case.many)? })
    }

    /// Keeps the whole device busy until its clock is stable.
    pub(super) fn warm_up(&mut self, multiprocessors: u32) -> Result<(), GpuError> {
        let Some(clock) = self.loaded.values().next().map(|(_, clock)| *clock) else { return Ok(()) };
        ruler::run_until_stable(|| {
            self.launch(clock, (multiprocessors, 128), 10 * CLOCK_CYCLES, 0)?;
            Ok(ns_per_cycle(self.fetched()?.rate).into_iter().collect())
        })?;
        Ok(())
    }

    /// The shorter and the longer chain, and the clock right after them.
    pub(super) fn pair(&mut self, case: &LoadedCase, many_first: bool) -> Result<CrosscheckPair, GpuError> {
        let [first, second] = if many_first { [case.many, case.few] } else { [case.few, case.many] };
        let (first, second) = (self.by_both_clocks(first)?, self.by_both_clocks(second)?);
        let (few, many) = if many_first { (second, first) } else { (first, second) };
        self.launch(case.many.clock, (1, 32), CLOCK_CYCLES, 0)?;
        let ns_per_cycle = ns_per_cycle(self.fetched()?.rate).ok_or(GpuError::NoTimer)?;
        Ok(CrosscheckPair { many_first, few, many, cycles_per_ns: 1.0 / ns_per_cycle })
    }

    /// What all launches so far found: `ok`, or how often something else than expected.
    pub(super) fn check(&self) -> Option<String> {
        let mismatches = self.results.as_ref().map(|results| result_of(results.host.values()).mismatches)?;
        Some(match mismatches {
            0 => "ok".to_owned(),
            count => format!("{count} threads found something else than expected at the end of their chain"),
        })
    }

    /// One launch of a chain. The host's time is from before the launch until it sees its end.
    fn by_both_clocks(&mut self, loaded: LoadedChain) -> Result<BothClocks, Outage> {
        let LoadedChain { chain, function, threads, .. } = loaded;
        let started = host_clock::now_ns();
        self.launch(function, (1, threads), chain.iterations, chain.expected())?;
        let outside_ns = host_clock::now_ns().saturating_sub(started) as f64;
        Ok(BothClocks { outside_ns, inside_cycles: self.fetched()?.cycles as f64 })
    }

    /// Launches a kernel and waits for its end.
    fn launch(
        &mut self,
        function: Function,
        (blocks, threads): (u32, u32),
        iterations: u32,
        expected: u32,
    ) -> Result<(), Outage> {
        let result = self.results()?.device.pointer();
        let arguments = ChainArguments { result, iterations, expected, opaque_one: 1, opaque_zero: 0 };
        self.device.stream()?.launch(function, blocks, threads, &arguments)?;
        self.device.wait(LIMIT)
    }

    /// What the last launches left.
    fn fetched(&mut self) -> Result<ChainResult, Outage> {
        let Self { results, device, .. } = self;
        let Results { device: from, host } = results.as_mut().ok_or_else(gone)?;
        device.fetch(from, host, WORDS, LIMIT)?;
        Ok(result_of(host.values()))
    }

    fn results(&self) -> Result<&Results, CudaError> {
        self.results.as_ref().ok_or_else(gone)
    }
}

impl Drop for ChainRunner {
    fn drop(&mut self) {
        // What is freed here is that of its context.
        let _ = self.device.context().and_then(Context::make_current);
        // To free memory would wait for the kernel that occupies the device.
        if self.device.is_occupied() {
            std::mem::forget(self.results.take());
        }
    }
}

/// The words of a result; CUDA devices and their hosts are little-endian.
fn result_of(words: &[u64]) -> ChainResult {
    let word = |index: usize| words.get(index).copied().unwrap_or(0);
    let rate = Rate { nanoseconds: word(2), cycles: word(3) };
    ChainResult { cycles: word(0), mismatches: word(1) as u32, reserved: 0, rate }
}

/// Cannot happen while the runner lives.
fn gone() -> CudaError {
    CudaError { call: "cuMemAlloc", code: 0, name: String::new(), text: "the results are gone".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_as_they_are_written() {
        assert_eq!(WORDS, 4);
        let found = result_of(&[2_048, (9 << 32) | 3, 50_000, 99_000]);
        assert_eq!((found.cycles, found.mismatches), (2_048, 3));
        assert_eq!(found.rate, Rate { nanoseconds: 50_000, cycles: 99_000 });
    }
}
