//! CPU and GPU threads on one piece of the host's memory.
//!
//! The memory is mapped for the device, and the CPU caches it like any other memory. (Write-combined memory is faster for a
//! device to fill, but it is not cached: a CPU that polls it would read from memory each time.) The CPU cannot use device
//! memory in this way.
//!
//! | file | contents |
//! |---|---|
//! | this one | what such a case needs to run, and what all these experiments share |
//! | [`round_trip`] | a flag that a CPU thread and a GPU thread pass to each other |
//! | [`addition`] | additions to one variable by both sides, or by the CPU alone |
//! | [`cpu_threads`] | the CPU threads that take part |
//! | [`nearby_cpus`] | the CPUs near a device |
//!
//! Start with [`round_trip`].

mod addition;
mod cpu_threads;
pub(crate) mod nearby_cpus;
mod round_trip;

use syncscope_core::{
    Actor, Check, Detail, Disturbance, Evidence, Experiment, ExperimentError, Protocol, Ruler, Sample, Shot, Side,
};

use crate::cuda::driver::HostBuffer;
use crate::cuda::error::Called;
use crate::hybrid::cpu_threads::{Report, Turn, with_cpu_threads};
use crate::launch::arguments::{BenchArguments, LoopArguments, UNROLL};
use crate::launch::bench::{Bench, Launch, Shape};
use crate::launch::device_context::Kernels;
use crate::launch::samples::{mark_clock_changes, operations, sample_of};

pub(crate) use crate::hybrid::addition::{Addition, CpuAddition};
pub(crate) use crate::hybrid::round_trip::{CpuThread, RoundTrip};

/// What a case with CPU and GPU threads needs to run.
#[derive(Debug)]
pub(crate) struct Setup<'a> {
    pub(crate) bench: &'a mut Bench,
    pub(crate) kernels: Kernels,
    pub(crate) evidence: Evidence,
    /// The clock of the multiprocessor, or the host's if no kernel takes part.
    pub(crate) ruler: Ruler,
    pub(crate) shape: Shape,
    /// Whose cost the figure is.
    pub(crate) actor: Actor,
    /// The CPUs of the threads that take part.
    pub(crate) cpus: Vec<u32>,
    pub(crate) remark: Option<String>,
}

impl Setup<'_> {
    /// Host memory of this size, all zero.
    fn memory(&self, bytes: usize) -> Called<HostBuffer> {
        HostBuffer::new(self.bench.context()?, bytes.div_ceil(size_of::<u64>()))
    }

    /// Runs one loop on the device and waits for it.
    fn run(&mut self, memory: &HostBuffer, shot: Shot, arguments: BenchArguments) -> Result<Sample, ExperimentError> {
        // No kernel with two more copies exists: `has_double` says so.
        let launch = Launch::of(self.kernels.of(shot.side), arguments);
        let shape = self.shape;
        let timings = self.bench.on_memory_of_host(memory, |bench| bench.run(shape, &[launch]))?;
        timings.first().and_then(|timing| sample_of(timing, shape.threads, &self.ruler)).ok_or_else(no_result)
    }

    /// Takes a sample of the device for each shot while CPU threads do `work`. `note` gets what the threads did.
    fn samples_during<T: Send>(
        &mut self,
        work: impl Fn(&Turn) -> T + Sync,
        memory: &HostBuffer,
        shots: &[Shot],
        arguments: impl Fn(u64) -> BenchArguments,
        mut note: impl FnMut(Shot, &[Report<T>]),
    ) -> Result<Vec<Sample>, ExperimentError> {
        let cpus = self.cpus.clone();
        let mut samples = with_cpu_threads(&cpus, work, |coordinator| {
            let sample = |shot: &Shot| {
                coordinator.begin()?;
                let sample = self.run(memory, *shot, arguments(shot.iterations))?;
                let reports = coordinator.end()?;
                note(*shot, &reports);
                Ok(Sample { disturbance: disturbance(&reports), ..sample })
            };
            shots.iter().map(sample).collect::<Result<Vec<_>, ExperimentError>>()
        })?;
        mark_clock_changes(shots, &mut samples);
        Ok(samples)
    }
}

/// The part of an experiment that differs; [`WithHost`] does what all of them share.
pub(crate) trait Work {
    fn samples(&mut self, setup: &mut Setup<'_>, shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError>;

    fn check(&mut self, setup: &mut Setup<'_>) -> Check;

    /// A remark for the row, besides the setup's.
    fn remark(&self) -> Option<String> {
        None
    }

    fn details(&mut self, _setup: &Setup<'_>) -> Vec<Detail> {
        Vec::new()
    }
}

/// A case with CPU threads, ready to run.
#[derive(Debug)]
pub(crate) struct WithHost<'a, W> {
    pub(crate) setup: Setup<'a>,
    pub(crate) work: W,
}

impl<W: Work> Experiment for WithHost<'_, W> {
    fn ruler(&self) -> Ruler {
        self.setup.ruler.clone()
    }

    fn operations(&self, side: Side, iterations: u64) -> u64 {
        operations(side, iterations, UNROLL)
    }

    fn samples(&mut self, shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError> {
        self.work.samples(&mut self.setup, shots)
    }

    fn protocol(&self) -> Protocol {
        // This many iterations take many seconds: an operation over the link takes more than 100 ns. Turns are counted in 32
        // bits.
        Protocol { max_iterations: 1 << 24, actor: self.setup.actor, ..Protocol::of(UNROLL) }
    }

    fn check(&mut self) -> Check {
        self.work.check(&mut self.setup)
    }

    fn evidence(&mut self) -> Evidence {
        self.setup.evidence.clone()
    }

    fn remark(&self) -> Option<String> {
        let remarks: Vec<String> = self.work.remark().into_iter().chain(self.setup.remark.clone()).collect();
        (!remarks.is_empty()).then(|| remarks.join("; "))
    }

    fn details(&mut self) -> Result<Vec<Detail>, ExperimentError> {
        Ok(self.work.details(&self.setup))
    }
}

/// The common arguments of a launch with this many iterations.
fn common(iterations: u64) -> LoopArguments {
    let iterations = u32::try_from(iterations).unwrap_or(u32::MAX);
    LoopArguments { iterations, ..LoopArguments::default() }
}

fn no_result() -> ExperimentError {
    ExperimentError::Failed("a loop ran but left no result".to_owned())
}

/// A disturbance if a thread lost its CPU.
fn disturbance<T>(reports: &[Report<T>]) -> Option<Disturbance> {
    reports.iter().any(|report| report.was_interrupted).then_some(Disturbance::InvoluntarySwitch)
}
