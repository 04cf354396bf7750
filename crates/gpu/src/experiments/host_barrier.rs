//! A barrier of several devices in the host: for each device, one thread launches a kernel, waits for its end, and waits for
//! the other threads. One launch, its end and the barrier are a phase.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use syncscope_core::{Check, Evidence, Experiment, ExperimentError, Protocol, Ruler, Sample, Shot, Side, Ticks};

use crate::cuda::driver::{Context, Function, Stream};
use crate::evidence::TIMED_BY_THE_HOST;
use crate::experiments::grid_barrier::judged;
use crate::launch::arguments::HostBarrierArguments;
use crate::launch::bench::Shape;
use crate::launch::host_clock;
use crate::launch::runner::Outage;
use crate::multi::{DeviceGroup, LoadedProgram};

/// A wait for the barrier of host threads or for the end of a kernel that exceeds this limit has failed.
const LIMIT: Duration = Duration::from_secs(5);

/// A phase takes some ten microseconds, so no sample needs more.
const MAX_ITERATIONS: u64 = 1 << 20;

/// A barrier of host threads with one counter that only grows. The threads spin, because each has a core and the waits are
/// short.
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

    /// Waits for all threads to arrive for the `phase`th time, from 1; `false` if they do not arrive within the limit.
    fn wait(&self, phase: u32) -> bool {
        // Release and acquire: after the barrier every thread sees what the others did before it.
        self.arrived.fetch_add(1, Ordering::AcqRel);
        let target = phase.wrapping_mul(self.threads);
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

/// The host barrier, ready to run.
#[derive(Debug)]
pub(crate) struct HostBarrierExperiment<'a> {
    device_group: &'a mut DeviceGroup,
    program: LoadedProgram,
    remark: Option<String>,
    /// Phases so far.
    phases: u64,
}

impl<'a> HostBarrierExperiment<'a> {
    pub(crate) const fn new(device_group: &'a mut DeviceGroup, program: LoadedProgram, remark: Option<String>) -> Self {
        Self { device_group, program, remark, phases: 0 }
    }

    /// Runs this many phases on all devices and returns how long each thread took.
    fn run(&mut self, phases: u64) -> Result<Vec<Ticks>, Outage> {
        let first = self.phases;
        self.phases += phases;
        let shape = self.program.shape;
        let devices: Vec<_> = self.device_group.tests(&self.program).collect();
        let barrier = &SpinBarrier::new(u32::try_from(devices.len()).unwrap_or(u32::MAX), LIMIT);
        let results = thread::scope(|scope| {
            let timed = |&device| scope.spawn(move || timed_phases(device, shape, barrier, first, phases));
            let threads: Vec<_> = devices.iter().map(timed).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
        });
        self.device_group.runner.noted(of_all(results))
    }
}

/// The times of all threads, or why they stopped. A thread that waits for one whose call failed runs out of time; the failed
/// call is the cause to report.
fn of_all(results: Vec<Result<Ticks, Outage>>) -> Result<Vec<Ticks>, Outage> {
    let failed =
        results.iter().find_map(|result| result.as_ref().err().filter(|outage| matches!(outage, Outage::Cuda(_))));
    match failed {
        Some(outage) => Err(outage.clone()),
        None => results.into_iter().collect(),
    }
}

fn timed_phases(
    (context, stream, kernel): (&Context, &Stream, Function),
    Shape { blocks, threads }: Shape,
    barrier: &SpinBarrier,
    first: u64,
    phases: u64,
) -> Result<Ticks, Outage> {
    let wait = |phase: u64| if barrier.wait(phase as u32) { Ok(()) } else { Err(Outage::TimedOut(LIMIT)) };
    context.make_current()?;
    wait(1)?;
    let started = host_clock::now_ns();
    for phase in 0..phases {
        stream.launch(kernel, blocks, threads, &HostBarrierArguments { phase: (first + phase) as u32 })?;
        let launched = Instant::now();
        while !stream.is_done()? {
            if launched.elapsed() > LIMIT {
                return Err(Outage::TimedOut(LIMIT));
            }
        }
        wait(2 + phase)?;
    }
    Ok(Ticks(host_clock::now_ns().saturating_sub(started)))
}

impl Experiment for HostBarrierExperiment<'_> {
    fn ruler(&self) -> Ruler {
        host_clock::measure()
    }

    fn operations(&self, side: Side, iterations: u64) -> u64 {
        iterations.min(MAX_ITERATIONS) * (1 + side.copies())
    }

    fn sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError> {
        let phases = self.operations(shot.side, shot.iterations);
        let mut elapsed = self.run(phases)?;
        Sample::of_actors(&mut elapsed, 1.0).ok_or_else(|| ExperimentError::Failed("no device".to_owned()))
    }

    fn protocol(&self) -> Protocol {
        Protocol {
            // Half a millisecond: the host disturbs the beginning and the end of a sample by tens of microseconds.
            min_iterations: 50,
            max_iterations: MAX_ITERATIONS,
            // Three times as many phases show whether all phases cost the same.
            has_double: true,
            ..Protocol::of(1)
        }
    }

    /// Each launch has compared what the previous launch left, on its own device and on another one.
    fn check(&mut self) -> Check {
        let counts = self.device_group.fetch_counts(&self.program);
        counts.map_or_else(|outage| Check::Failed(outage.to_string()), judged)
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
    use crate::launch::runner::testing::error;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn no_thread_passes_before_all_have_arrived() {
        const THREADS: u64 = 3;
        let barrier = SpinBarrier::new(3, Duration::from_secs(20));
        let arrivals = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for phase in 1..=200_u32 {
                        arrivals.fetch_add(1, Ordering::Relaxed);
                        assert!(barrier.wait(2 * phase - 1));
                        assert_eq!(arrivals.load(Ordering::Relaxed), THREADS * u64::from(phase));
                        assert!(barrier.wait(2 * phase));
                    }
                });
            }
        });
    }

    #[test]
    fn a_thread_alone_stops_at_the_limit() {
        assert!(!SpinBarrier::new(2, Duration::from_millis(20)).wait(1));
        assert!(SpinBarrier::new(1, Duration::from_millis(20)).wait(1));
    }

    #[test]
    fn a_failed_call_is_the_cause_of_the_threads_that_wait_for_it() {
        let failed = Outage::Cuda(error("cuStreamQuery", 700));
        let late = || Err(Outage::TimedOut(LIMIT));
        assert_eq!(of_all(vec![late(), Err(failed.clone()), Ok(Ticks(1))]), Err(failed));
        assert_eq!(of_all(vec![Ok(Ticks(1)), late()]), Err(Outage::TimedOut(LIMIT)));
        assert_eq!(of_all(vec![Ok(Ticks(1)), Ok(Ticks(2))]), Ok(vec![Ticks(1), Ticks(2)]));
    }

    #[test]
    fn the_count_may_wrap() {
        let barrier =
            SpinBarrier { arrived: AtomicU32::new(u32::MAX), ..SpinBarrier::new(1, Duration::from_millis(20)) };
        assert!(barrier.wait(0), "the 2^32th phase");
    }
}
