//! Additions to one variable in host memory: by GPU threads, alone or while CPU threads also add, and by CPU threads alone.
//!
//! If the GPU takes part, the device is timed. The CPU threads begin before the kernel and end after it. The cost of their
//! additions is the difference between the turns of the test and those of the baseline, so the time in which they are alone
//! drops out. CPU threads alone are timed by the host.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use syncscope_core::{Check, Detail, Dtype, ExperimentError, Sample, Shot, Side, Ticks};

use crate::cuda::driver::HostBuffer;
use crate::cuda::error::Called;
use crate::hybrid::cpu_threads::{Report, Turn, with_cpu_threads};
use crate::hybrid::{Setup, Work, common, disturbance, no_result};
use crate::launch::arguments::{BenchArguments, UNROLL, VariableArguments};
use crate::launch::host_clock;
use crate::launch::samples::{operations, with_warm_up};

/// How many additions a CPU thread makes between two tests of whether the turn has ended.
const ROUND: u64 = 64;

/// Additions by GPU threads, alone or while CPU threads add; see the module documentation.
#[derive(Debug)]
pub(crate) struct Addition {
    memory: HostBuffer,
    dtype: Dtype,
    /// What is known of atomic operations on the link, for the message about a wrong sum.
    link: String,
    /// Additions of both sides.
    additions: u64,
    /// What the CPU threads did during the baseline and during the test.
    cpu: [Added; 2],
}

/// Additions, and how long they took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Added {
    count: u64,
    ns: u64,
}

impl Addition {
    pub(crate) fn new(setup: &Setup<'_>, dtype: Dtype, link: String) -> Called<Self> {
        let memory = setup.memory(size_of::<u64>())?;
        Ok(Self { memory, dtype, link, additions: 0, cpu: [Added::default(); 2] })
    }
}

impl Work for Addition {
    fn samples(&mut self, setup: &mut Setup<'_>, shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError> {
        let Self { memory, dtype, additions, cpu, .. } = self;
        let (variable, gpu_threads) = (Variable::of(memory, *dtype), setup.shape.grid_threads() as u64);
        let arguments = |iterations| {
            let common = common(iterations);
            BenchArguments::Variable(VariableArguments {
                common,
                opaque_one: 1,
                value_bias: 1,
                ..VariableArguments::default()
            })
        };
        let note = |shot: Shot, reports: &[Report<Added>]| {
            *additions += gpu_threads * with_warm_up(shot.side, shot.iterations, UNROLL);
            let added = &mut cpu[usize::from(shot.side == Side::Test)];
            for report in reports {
                *additions += report.result.count;
                added.count += report.result.count;
                added.ns += report.result.ns;
            }
        };
        setup.samples_during(|turn| add_until_over(variable, turn), memory, shots, arguments, note)
    }

    fn check(&mut self, _: &mut Setup<'_>) -> Check {
        Variable::of(&self.memory, self.dtype).check(self.additions, &self.link)
    }

    fn remark(&self) -> Option<String> {
        ns_between(self.cpu).map(|ns| format!("an addition of a CPU thread takes {ns:.1} ns at the same time"))
    }

    fn details(&mut self, setup: &Setup<'_>) -> Vec<Detail> {
        let Some(ns) = ns_between(self.cpu) else { return Vec::new() };
        let per_second = setup.cpus.len() as f64 * 1e9 / ns;
        vec![Detail::of_case("cpu_ns", ns), Detail::of_case("cpu_ops_per_s", per_second)]
    }
}

fn add_until_over(variable: Variable, turn: &Turn) -> Added {
    let started = host_clock::now_ns();
    let mut count = 0;
    while !turn.is_over() {
        variable.add_ones(ROUND);
        count += ROUND;
    }
    Added { count, ns: host_clock::now_ns().saturating_sub(started) }
}

/// The cost of an addition in the extra time that the test's turns take over the baseline's; `None` if no threads added, or the
/// turns are not longer.
fn ns_between([baseline, test]: [Added; 2]) -> Option<f64> {
    let count = test.count.checked_sub(baseline.count).filter(|count| *count > 0)?;
    let ns = test.ns.checked_sub(baseline.ns).filter(|ns| *ns > 0)?;
    Some(ns as f64 / count as f64)
}

/// Additions by CPU threads alone; see the module documentation.
#[derive(Debug)]
pub(crate) struct CpuAddition {
    memory: HostBuffer,
    dtype: Dtype,
    additions: u64,
}

impl CpuAddition {
    pub(crate) fn new(setup: &Setup<'_>, dtype: Dtype) -> Called<Self> {
        Ok(Self { memory: setup.memory(size_of::<u64>())?, dtype, additions: 0 })
    }
}

impl Work for CpuAddition {
    fn samples(&mut self, setup: &mut Setup<'_>, shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError> {
        let variable = Variable::of(&self.memory, self.dtype);
        let (cpus, quota) = (&setup.cpus, AtomicU64::new(0));
        let work = |turn: &Turn| elapsed(variable, quota.load(Ordering::Relaxed), turn);
        let samples = with_cpu_threads(cpus, work, |coordinator| {
            let sample = |shot: &Shot| {
                // Relaxed: the beginning of the turn orders it.
                quota.store(operations(shot.side, shot.iterations, UNROLL), Ordering::Relaxed);
                coordinator.begin()?;
                sample_of(&coordinator.end()?)
            };
            shots.iter().map(sample).collect::<Result<Vec<_>, ExperimentError>>()
        })?;
        let each: u64 = shots.iter().map(|shot| operations(shot.side, shot.iterations, UNROLL)).sum();
        self.additions += each * cpus.len() as u64;
        Ok(samples)
    }

    fn check(&mut self, _: &mut Setup<'_>) -> Check {
        Variable::of(&self.memory, self.dtype).check(self.additions, "CPU threads alone lost some")
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

/// The variable, as wide as its type.
#[derive(Debug, Clone, Copy)]
enum Variable<'a> {
    Narrow(&'a AtomicU32),
    Wide(&'a AtomicU64),
}

impl<'a> Variable<'a> {
    /// The first variable in the memory. Signed and unsigned integers are added in the same way.
    fn of(memory: &'a HostBuffer, dtype: Dtype) -> Self {
        match dtype.size_bytes() {
            8 => Self::Wide(memory.atomic_u64(0)),
            _ => Self::Narrow(memory.atomic_u32(0)),
        }
    }

    /// Adds one `count` times. Relaxed: a counter orders no other memory.
    fn add_ones(self, count: u64) {
        match self {
            Self::Narrow(variable) => (0..count).for_each(|_| _ = variable.fetch_add(1, Ordering::Relaxed)),
            Self::Wide(variable) => (0..count).for_each(|_| _ = variable.fetch_add(1, Ordering::Relaxed)),
        }
    }

    /// Checks that the variable holds this many ones, with wrap-around. `cause` is a possible reason if it does not.
    fn check(self, additions: u64, cause: &str) -> Check {
        let (found, expected) = match self {
            Self::Narrow(variable) => (u64::from(variable.load(Ordering::Acquire)), additions & u64::from(u32::MAX)),
            Self::Wide(variable) => (variable.load(Ordering::Acquire), additions),
        };
        if found == expected {
            return Check::Ok;
        }
        let wrong = format!("{additions} additions of one should leave {expected}, and left {found}");
        Check::Failed(format!("{wrong}: {cause}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_alone_drops_out() {
        // 1,000 ns alone at 10 ns each in both turns; then 2,000 and 4,000 ns together with the GPU, at 100 ns each.
        let baseline = Added { count: 100 + 20, ns: 3000 };
        let test = Added { count: 100 + 40, ns: 5000 };
        assert_eq!(ns_between([baseline, test]), Some(100.0));
        assert_eq!(ns_between([test, baseline]), None);
        assert_eq!(ns_between([Added::default(); 2]), None);
    }

    #[test]
    fn a_wrong_sum_is_reported_with_its_cause() {
        let (narrow, wide) = (AtomicU32::new(0), AtomicU64::new(0));
        for variable in [Variable::Narrow(&narrow), Variable::Wide(&wide)] {
            variable.add_ones(1000);
            assert_eq!(variable.check(1000, ""), Check::Ok);
            let Check::Failed(reason) = variable.check(1001, "the link has none") else { panic!("it is wrong") };
            assert_eq!(reason, "1001 additions of one should leave 1001, and left 1000: the link has none");
        }
        assert_eq!(Variable::Narrow(&narrow).check((1 << 32) + 1000, ""), Check::Ok, "it wraps around");
        assert_ne!(Variable::Wide(&wide).check((1 << 32) + 1000, ""), Check::Ok);
    }
}
