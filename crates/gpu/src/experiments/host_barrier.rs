//! A barrier of several devices by way of the host: a thread for each device launches, waits, and meets the other threads.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use syncscope_core::{Check, Evidence, Experiment, ExperimentError, Ruler, Sample, Shot, Side, Ticks};

use crate::cuda::error::CudaError;
use crate::evidence::TIMED_BY_THE_HOST;
use crate::experiments::grid_barrier::judged;
use crate::launch::arguments::HostBarrierArguments;
use crate::launch::host_clock;
use crate::multi::{DeviceGroup, DeviceHandle, LoadedProgram};

/// A barrier of host threads, or the end of a kernel, that is waited for longer has failed.
const LIMIT: Duration = Duration::from_secs(5);

/// A round takes some ten microseconds: no sample needs more.
const MAX_ITERATIONS: u64 = 1 << 20;

/// A barrier of host threads: one counter that only grows. They spin, as there is a core for each and little to wait for.
#[derive(Debug)]
struct SpinBarrier {
    threads: u32,
    arrived: AtomicU32,
    limit: Duration,
}

impl SpinBarrier {
    const fn new(threads: u32, limit: Duration) -> Self {
        Self { threads, arrived: AtomicU32::new(0), limit }
    }

    /// Waits for all threads for the `round`th time, from 1; `false` if they do not come within the limit.
    fn wait(&self, round: u32) -> bool {
        // Release and acquire: what a thread did before is seen by all others after.
        self.arrived.fetch_add(1, Ordering::AcqRel);
        let target = round.wrapping_mul(self.threads);
        let mut spins = 0_u32;
        let mut started = None;
        while self.arrived.load(Ordering::Acquire).wrapping_sub(target).cast_signed() < 0 {
            std::hint::spin_loop();
            spins = spins.wrapping_add(1);
            if spins.is_multiple_of(1024) {
                // There may be fewer cores than devices.
                thread::yield_now();
                if started.get_or_insert_with(Instant::now).elapsed() > self.limit {
                    return false;
                }
            }
        }
        true
    }
}

/// Why the threads stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Stopped {
    #[error(transparent)]
    Cuda(#[from] CudaError),
    #[error("not done after {LIMIT:?}")]
    TimedOut,
}

/// The barrier by way of the host, made ready to run.
#[derive(Debug)]
pub(crate) struct VisitExperiment<'a> {
    device_group: &'a mut DeviceGroup,
    stage: LoadedProgram,
    remark: Option<String>,
    /// Rounds so far.
    rounds: u64,
}

impl<'a> VisitExperiment<'a> {
    pub(crate) const fn new(device_group: &'a mut DeviceGroup, stage: LoadedProgram, remark: Option<String>) -> Self {
        Self { device_group, stage, remark, rounds: 0 }
    }

    /// So many rounds on all devices: how long each thread took.
    fn visit(&mut self, rounds: u64) -> Result<Vec<Ticks>, Stopped> {
        let first = self.rounds;
        self.rounds += rounds;
        let handles: Vec<DeviceHandle<'_>> = self.device_group.handles(&self.stage).collect();
        let barrier = SpinBarrier::new(u32::try_from(handles.len()).unwrap_or(u32::MAX), LIMIT);
        thread::scope(|scope| {
            let threads: Vec<_> = handles
                .iter()
                .map(|handle| {
                    let barrier = &barrier;
                    scope.spawn(move || timed_rounds(handle, barrier, first, rounds))
                })
                .collect();
            let gone = || Err(Stopped::TimedOut);
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| gone())).collect()
        })
    }
}

fn timed_rounds(handle: &DeviceHandle<'_>, barrier: &SpinBarrier, first: u64, rounds: u64) -> Result<Ticks, Stopped> {
    let meet = |round: u64| if barrier.wait(round as u32) { Ok(()) } else { Err(Stopped::TimedOut) };
    handle.take()?;
    meet(1)?;
    let started = host_clock::now_ns();
    for round in 0..rounds {
        handle.launch(HostBarrierArguments { phase: (first + round) as u32 })?;
        let launched = Instant::now();
        while !handle.is_done()? {
            if launched.elapsed() > LIMIT {
                return Err(Stopped::TimedOut);
            }
        }
        meet(2 + round)?;
    }
    Ok(Ticks(host_clock::now_ns().saturating_sub(started)))
}

impl From<Stopped> for ExperimentError {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Cuda(error) => Self::Failed(error.to_string()),
            Stopped::TimedOut => Self::TimedOut { limit: LIMIT },
        }
    }
}

impl Experiment for VisitExperiment<'_> {
    fn ruler(&self) -> Ruler {
        host_clock::measure()
    }

    fn operations(&self, side: Side, iterations: u64) -> u64 {
        iterations.min(MAX_ITERATIONS) * if side == Side::Baseline { 1 } else { 2 }
    }

    fn sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError> {
        let rounds = self.operations(shot.side, shot.iterations);
        let mut elapsed = self.visit(rounds)?;
        Sample::of_actors(&mut elapsed, 1.0).ok_or_else(|| ExperimentError::Failed("no device".to_owned()))
    }

    fn unroll(&self) -> u32 {
        1
    }

    fn min_iterations(&self) -> u64 {
        10
    }

    fn max_iterations(&self) -> u64 {
        MAX_ITERATIONS
    }

    /// Each visit looked for what the one before left, here and on another device.
    fn check(&mut self) -> Check {
        match self.device_group.fetch_counts(&self.stage) {
            Ok(counts) => judged(counts),
            Err(outage) => Check::Failed(outage.to_string()),
        }
    }

    fn evidence(&mut self) -> Evidence {
        Evidence::NotAvailable(TIMED_BY_THE_HOST.to_owned())
    }

    fn remark(&self) -> Option<String> {
        self.remark.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn nobody_passes_before_all_have_come() {
        const THREADS: u64 = 3;
        let barrier = SpinBarrier::new(3, Duration::from_secs(20));
        let visits = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for round in 1..=200_u32 {
                        visits.fetch_add(1, Ordering::Relaxed);
                        assert!(barrier.wait(2 * round - 1));
                        assert_eq!(visits.load(Ordering::Relaxed), THREADS * u64::from(round));
                        assert!(barrier.wait(2 * round));
                    }
                });
            }
        });
    }

    #[test]
    fn a_thread_that_is_alone_does_not_wait_for_ever() {
        assert!(!SpinBarrier::new(2, Duration::from_millis(20)).wait(1));
        assert!(SpinBarrier::new(1, Duration::from_millis(20)).wait(1));
    }

    #[test]
    fn the_count_may_wrap() {
        let barrier =
            SpinBarrier { arrived: AtomicU32::new(u32::MAX), ..SpinBarrier::new(1, Duration::from_millis(20)) };
        assert!(barrier.wait(0), "the 2^32th round");
    }
}
