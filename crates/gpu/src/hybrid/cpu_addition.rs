//! CPU threads that add to one variable in host memory, without the device: the comparison for additions of both sides. The
//! host is timed.

use std::sync::atomic::{AtomicU64, Ordering};

use syncscope_core::{
    Actor, Check, Dtype, Evidence, Experiment, ExperimentError, Ruler, RunEffect, Sample, Shot, Side, Ticks,
};

use super::cpu_threads::{Report, Turn, with_cpu_threads};
use super::setup::{Setup, disturbance, no_result};
use super::variable::Variable;
use crate::cuda::driver::HostBuffer;
use crate::cuda::error::CudaError;
use crate::launch::arguments::UNROLL;
use crate::launch::host_clock;
use crate::launch::samples::operations;

/// Additions of CPU threads, ready to run. See the module's description.
#[derive(Debug)]
pub(crate) struct CpuAddition<'a> {
    setup: Setup<'a>,
    memory: HostBuffer<u64>,
    dtype: Dtype,
    additions: u64,
}

impl<'a> CpuAddition<'a> {
    pub(crate) fn new(setup: Setup<'a>, dtype: Dtype) -> Result<Self, CudaError> {
        let memory = setup.memory(size_of::<u64>())?;
        Ok(Self { setup, memory, dtype, additions: 0 })
    }
}

impl Experiment for CpuAddition<'_> {
    fn ruler(&self) -> Ruler {
        self.setup.ruler.clone()
    }

    fn operations(&self, side: Side, iterations: u64) -> u64 {
        operations(side, iterations)
    }

    fn sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError> {
        self.samples(&[shot])?.pop().ok_or_else(no_result)
    }

    fn samples(&mut self, shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError> {
        let variable = Variable::of(&self.memory, self.dtype);
        let (cpus, quota) = (&self.setup.cpus, AtomicU64::new(0));
        let work = |turn: &Turn| elapsed(variable, quota.load(Ordering::Relaxed), turn);
        let samples = with_cpu_threads(cpus, work, |coordinator| {
            let sample = |shot: &Shot| {
                // Relaxed: the begin of the turn orders it.
                quota.store(operations(shot.side, shot.iterations), Ordering::Relaxed);
                coordinator.begin()?;
                sample_of(&coordinator.end()?)
            };
            shots.iter().map(sample).collect::<Result<Vec<_>, ExperimentError>>()
        })?;
        let each: u64 = shots.iter().map(|shot| operations(shot.side, shot.iterations)).sum();
        self.additions += each * cpus.len() as u64;
        Ok(samples)
    }

    fn unroll(&self) -> u32 {
        UNROLL
    }

    /// As many take many seconds.
    fn max_iterations(&self) -> u64 {
        1 << 24
    }

    fn actor(&self) -> Actor {
        self.setup.actor
    }

    fn run_effect(&self) -> RunEffect {
        self.setup.run_effect
    }

    fn check(&mut self) -> Check {
        Variable::of(&self.memory, self.dtype).check(self.additions, "CPU threads alone lost some")
    }

    fn evidence(&mut self) -> Evidence {
        self.setup.evidence.clone()
    }

    fn remark(&self) -> Option<String> {
        self.setup.remark.clone()
    }
}

/// How long a thread takes that begins together with the others.
fn elapsed(variable: Variable, quota: u64, turn: &Turn) -> Ticks {
    turn.wait_for_all();
    let started = host_clock::now_ns();
    variable.add_ones(quota);
    Ticks(host_clock::now_ns().saturating_sub(started))
}

fn sample_of(reports: &[Report<Ticks>]) -> Result<Sample, ExperimentError> {
    let mut elapsed: Vec<Ticks> = reports.iter().map(|report| report.result).collect();
    let sample = Sample::of_actors(&mut elapsed, 1.0).ok_or_else(no_result)?;
    Ok(Sample { disturbance: disturbance(reports), ..sample })
}
