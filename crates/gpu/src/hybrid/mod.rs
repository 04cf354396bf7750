//! CPU and GPU threads on one piece of the host's memory.
//!
//! The memory is mapped for the device, and the CPU caches it as any other memory. (Write-combined memory is faster to fill
//! for a device, but it is not cached: a CPU that polls it would read from memory each time.) Memory of the device cannot
//! be used by the CPU in this way.
//!
//! | file | contents |
//! |---|---|
//! | this one | what such a case needs to run |
//! | [`round_trip`] | a flag that a CPU thread and a GPU thread pass to each other |
//! | [`addition`] | additions to one variable by both sides, or by the CPU alone |
//! | [`cpu_threads`] | the CPU threads that take part |
//! | [`nearby_cpus`] | which CPUs are near a device |
//!
//! Start with [`round_trip`].

mod addition;
mod cpu_threads;
pub(crate) mod nearby_cpus;
mod round_trip;

use syncscope_core::{Actor, Disturbance, Evidence, ExperimentError, Ruler, RunEffect, Sample, Shot, Side};

use crate::cuda::driver::HostBuffer;
use crate::cuda::error::CudaError;
use crate::hybrid::cpu_threads::Report;
use crate::launch::arguments::{BenchArguments, LoopArguments};
use crate::launch::bench::Bench;
use crate::launch::request::{Kernels, Launch, Shape};
use crate::launch::samples::sample_of;

pub(crate) use crate::hybrid::addition::{Addition, CpuAddition};
pub(crate) use crate::hybrid::round_trip::{CpuThread, RoundTrip};

/// What a case with CPU and GPU threads needs to run.
#[derive(Debug)]
pub(crate) struct Setup<'a> {
    pub(crate) bench: &'a mut Bench,
    pub(crate) kernels: Kernels,
    pub(crate) evidence: Evidence,
    /// The clock of the multiprocessor, or of the host if no kernel takes part.
    pub(crate) ruler: Ruler,
    pub(crate) shape: Shape,
    /// Whose cost the figure is.
    pub(crate) actor: Actor,
    /// By how much two runs differ.
    pub(crate) run_effect: RunEffect,
    /// The CPUs of the threads that take part.
    pub(crate) cpus: Vec<u32>,
    pub(crate) remark: Option<String>,
}

impl Setup<'_> {
    /// Host memory of this size, all zero.
    pub(super) fn memory(&self, bytes: usize) -> Result<HostBuffer<u64>, CudaError> {
        HostBuffer::new(self.bench.context()?, bytes.div_ceil(size_of::<u64>()))
    }

    /// Runs one loop on the device and waits for it.
    pub(super) fn run(
        &mut self,
        memory: &HostBuffer<u64>,
        shot: Shot,
        arguments: BenchArguments,
    ) -> Result<Sample, ExperimentError> {
        let function = match shot.side {
            Side::Baseline => self.kernels.baseline,
            // There is no kernel with two more copies: `has_double` says so.
            Side::Test | Side::Double => self.kernels.test,
        };
        let launch = Launch::of(function, arguments);
        let shape = self.shape;
        let timings = self.bench.on_memory_of_host(memory, |bench| bench.run(shape, &[launch]))?;
        timings.first().and_then(|timing| sample_of(timing, shape.threads, &self.ruler)).ok_or_else(no_result)
    }
}

/// The common arguments of a launch with so many iterations.
pub(super) fn common(iterations: u64) -> LoopArguments {
    let iterations = u32::try_from(iterations).unwrap_or(u32::MAX);
    LoopArguments { iterations, ..LoopArguments::default() }
}

pub(super) fn no_result() -> ExperimentError {
    ExperimentError::Failed("a loop ran and left no result".to_owned())
}

/// A disturbance if a thread lost its CPU.
pub(super) fn disturbance<T>(reports: &[Report<T>]) -> Option<Disturbance> {
    reports.iter().any(|report| report.was_interrupted).then_some(Disturbance::InvoluntarySwitch)
}
