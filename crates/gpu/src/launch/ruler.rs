//! The ruler: the clock of the multiprocessors, warmed up and then measured.

use std::time::{Duration, Instant};

use syncscope_core::{Hertz, Ruler, Ticks};

use crate::cuda::driver::Function;
use crate::launch::arguments::{BenchArguments, LoopArguments, RegisterArguments, UNROLL};
use crate::launch::bench::{Bench, Launch, Shape};
use crate::launch::device_context::Kernels;
use crate::launch::runner::Outage;
use crate::launch::samples::ns_per_cycle;

/// A device idle for longer may have lowered its clock. (An idle H200 falls from 1,980 to 345 MHz.)
const IDLE: Duration = Duration::from_millis(200);

/// Shortest warm-up: a rising clock may stay at one frequency for a while before it rises again.
const SHORTEST: Duration = Duration::from_millis(50);

/// Longest time to wait for a stable clock. If it does not become stable, pairs with a clock change are excluded later.
const LONGEST: Duration = Duration::from_millis(500);

/// A clock is stable when this many launches agree within this fraction.
const AGREEING: usize = 4;
const AGREEMENT: f64 = 0.002;

/// Iterations per launch; a launch takes about half a millisecond.
const ITERATIONS: u32 = 1000;

/// Whether a device that has been idle for this long still has the clock it had under load.
pub(crate) fn is_warm(idle: Option<Duration>) -> bool {
    idle.is_some_and(|idle| idle < IDLE)
}

/// Calls `run`, which runs a launch and returns the cycle lengths it saw, until the clock is stable. Returns the last length.
///
/// # Errors
/// The first error of `run`.
pub fn run_until_stable(mut run: impl FnMut() -> Result<Vec<f64>, Outage>) -> Result<Option<f64>, Outage> {
    let started = Instant::now();
    let mut lengths: Vec<f64> = Vec::new();
    while started.elapsed() < LONGEST {
        lengths.extend(run()?);
        if started.elapsed() >= SHORTEST && is_stable(&lengths) {
            break;
        }
    }
    Ok(lengths.last().copied())
}

/// Keeps an idle device busy until its clock is stable. Returns the last frequency seen.
pub(crate) fn warm_up(bench: &mut Bench, kernels: Kernels, multiprocessors: u32) -> Result<Option<Hertz>, Outage> {
    if is_warm(bench.runner.idle()) {
        return Ok(None);
    }
    bench.clear_memory(multiprocessors as usize * 128 * size_of::<u64>())?;
    let shape = Shape { blocks: multiprocessors, threads: 128 };
    let launch = launch_of(kernels.baseline);
    let length = run_until_stable(|| {
        let timings = bench.run(shape, &[launch])?;
        Ok(timings.iter().filter_map(|timing| ns_per_cycle(timing.rate)).collect())
    })?;
    Ok(length.map(|length| Hertz(1e9 / length)))
}

/// Whether the last launches agree.
fn is_stable(lengths: &[f64]) -> bool {
    let Some(last) = lengths.len().checked_sub(AGREEING).and_then(|first| lengths.get(first..)) else { return false };
    let (low, high) =
        last.iter().fold((f64::MAX, 0.0_f64), |(low, high), length| (low.min(*length), high.max(*length)));
    high - low <= AGREEMENT * low
}

/// Measures the clock of a warm device.
pub(crate) fn measure(bench: &mut Bench, kernels: Kernels, frequency: Hertz) -> Result<Ruler, Outage> {
    bench.clear_memory(size_of::<u64>())?;
    let shape = Shape { blocks: 1, threads: 1 };
    let timings = bench.run(shape, &[launch_of(kernels.baseline), launch_of(kernels.test)])?;
    let cycles: Vec<f64> = timings.iter().flat_map(|timing| &timing.warps).map(|warp| warp.slowest as f64).collect();
    let read_cost = match cycles[..] {
        [baseline, test] => (test - baseline) / (f64::from(ITERATIONS) * f64::from(UNROLL)),
        _ => 0.0,
    };
    Ok(Ruler { name: "sm clock", frequency, resolution: Ticks(1), read_cost: Ticks(read_cost.round().max(0.0) as u64) })
}

fn launch_of(function: Function) -> Launch {
    let common = LoopArguments { iterations: ITERATIONS, ..LoopArguments::default() };
    Launch::of(function, BenchArguments::Register(RegisterArguments { common, ..RegisterArguments::default() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_stable_if_the_last_launches_agree() {
        assert!(!is_stable(&[0.5, 0.5, 0.5]), "too few");
        assert!(is_stable(&[2.9, 0.505, 0.5051, 0.505, 0.5049]));
        assert!(!is_stable(&[2.9, 0.6, 0.505, 0.505, 0.505]));
        assert!(!is_stable(&[]));
    }
}
