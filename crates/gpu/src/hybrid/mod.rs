//! CPU and GPU threads on one piece of the host's memory: mapped for the device, and cached by the CPU as any other
//! memory. (Write-combined memory, which is faster to fill for a device, is not cached: a CPU that polled it would read
//! from memory each time.) Memory of the device cannot be had by the CPU in this way.

use syncscope_core::{Disturbance, Evidence, ExperimentError, Ruler, Sample, Shot, Side};

use crate::cuda::driver::HostBuffer;
use crate::cuda::error::CudaError;
use crate::experiments::kernel::sample_of;
use crate::hybrid::partners::Report;
use crate::launch::arguments::Arguments;
use crate::launch::bench::{Bench, Kernels, Launch, Shape};

mod addition;
mod cpu_addition;
pub(crate) mod neighbourhood;
pub(crate) mod partners;
mod round_trip;
mod variable;

pub(crate) use addition::Addition;
pub(crate) use cpu_addition::CpuAddition;
pub(crate) use round_trip::{Partner, RoundTrip};

/// What a case of both sides needs to run.
#[derive(Debug)]
pub(crate) struct Setup<'a> {
    pub(crate) bench: &'a mut Bench,
    pub(crate) kernels: Kernels,
    pub(crate) evidence: Evidence,
    /// The multiprocessor's clock, or the host's where no kernel takes part.
    pub(crate) ruler: Ruler,
    pub(crate) shape: Shape,
    /// The CPUs whose threads take part.
    pub(crate) cpus: Vec<u32>,
    pub(crate) remark: Option<String>,
}

impl Setup<'_> {
    /// Host memory of this size, all zero.
    fn memory(&self, bytes: usize) -> Result<HostBuffer<u64>, CudaError> {
        HostBuffer::new(self.bench.context()?, bytes.div_ceil(size_of::<u64>()))
    }

    /// Runs one loop on the device and waits for it.
    fn run(&mut self, memory: &HostBuffer<u64>, shot: Shot, arguments: Arguments) -> Result<Sample, ExperimentError> {
        let function = match shot.side {
            Side::Baseline => self.kernels.baseline,
            Side::Test => self.kernels.test,
        };
        let launch = Launch::of(function, arguments);
        let shape = self.shape;
        let timings = self.bench.on_memory_of_host(memory, |bench| bench.run(shape, &[launch]))?;
        timings.first().and_then(|timing| sample_of(timing, &self.ruler)).ok_or_else(no_result)
    }
}

/// Arguments of a launch with so many iterations.
fn arguments(iterations: u64) -> Arguments {
    Arguments { iterations: u32::try_from(iterations).unwrap_or(u32::MAX), ..Arguments::default() }
}

fn no_result() -> ExperimentError {
    ExperimentError::Failed("a loop was run and left no result".to_owned())
}

/// That a thread lost its CPU, if one did.
fn disturbance<T>(reports: &[Report<T>]) -> Option<Disturbance> {
    reports.iter().any(|report| report.was_interrupted).then_some(Disturbance::InvoluntarySwitch)
}
