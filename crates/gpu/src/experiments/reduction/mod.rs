//! Reductions of a vector on one or several devices, timed by the host.
//!
//! The baseline is a chain of n reductions, the test one of 2 n, and both end in one wait. The wait and the way to the device
//! drop out of the difference, and n reductions remain (Zhang, Wahib, Matsuoka, formulas 1 and 2). The result of every
//! reduction of every chain is compared with the known answer. There is no figure in cycles, because the host launches.
//!
//! [`queue`] holds the devices with their parts of the vector, and queues one reduction.

mod queue;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use syncscope_core::{Check, Evidence, Experiment, ExperimentError, Protocol, Ruler, Sample, Shot, Side};
use syncscope_host::scheduling::AffinityGuard;

use crate::catalogue::recipe::{Joining, Queueing};
use crate::cuda::driver::ExecutableGraph;
use crate::cuda::error::{Called, CudaError};
use crate::launch::host_clock;
use crate::launch::ruler::is_warm;
use crate::launch::runner::Outage;
use crate::launch::samples::operations;
use crate::multi::LIMIT;

pub(crate) use self::queue::{Queue, ReductionRequest};

/// Reductions of the longest chain; each has a line for its result. A stream holds about 1,024 launches before one must wait
/// for the end of an earlier one, and a reduction has at most two kernels.
const MOST_RESULTS: u64 = 480;
const _: () = assert!(2 * MOST_RESULTS < 1024);

/// Reductions of the longest chain behind a closed gate. Nothing behind it ends, so a launch that found the queue full would
/// wait until the kernel at the gate gives up: half of the queue stays free.
const MOST_QUEUED: u64 = MOST_RESULTS / 2;

/// A chain that is not queued within this time is not timed: the kernel at the gate may have given up.
const QUEUED_WITHIN: Duration = Duration::from_millis(500);
const _: () = assert!(QUEUED_WITHIN.as_millis() < LIMIT.as_millis());

/// Reductions of the shortest baseline. As for launches, the host must be ahead of the device, or behind it, for all but a
/// small part of the chain. Long reductions hide the host whatever their number.
const FEWEST: u64 = 64;
const FEWEST_WAITS: u64 = 16;

/// Reducing a vector of this many elements takes about as long as the host needs for a launch.
const SHORT: u64 = 1 << 20;

/// Sizes at which a variant must also be right: fewer elements than a warp, a block or a quad, and numbers that are no multiple
/// of any of them.
const ODD_SIZES: [u64; 6] = [1, 31, 1000, 4099, 100_003, (1 << 20) + 3];

/// Elements that there is always room for: a vector of any of [`ODD_SIZES`] fits.
pub(crate) const LEAST_ROOM: u64 = (1 << 20) + 4;

/// How long an idle device is kept busy before the first sample.
const WARM_UP: Duration = Duration::from_millis(300);

/// A chain of reductions, ready to run; see the module documentation.
#[derive(Debug)]
pub(crate) struct ReductionExperiment<'a> {
    queue: Queue<'a>,
    evidence: Evidence,
    /// The host's clock.
    ruler: Ruler,
    /// The CPU of the launching thread.
    cpu: Option<u32>,
    /// Graphs by number of reductions.
    graphs: HashMap<u64, ExecutableGraph>,
    /// Whether its kernels have run. A first launch may load its kernel and wait for the device to do so.
    has_run: bool,
    /// The first wrong result.
    wrong: Option<String>,
}

/// The error of a host that was too slow. The device can still be used.
fn late(took: Duration) -> CudaError {
    let (took, limit) = (took.as_millis(), QUEUED_WITHIN.as_millis());
    let text = format!("the host took {took} ms to queue a chain, and at most {limit} ms are allowed");
    CudaError { call: "cuLaunchKernel", code: 0, name: String::new(), text }
}

impl<'a> ReductionExperiment<'a> {
    pub(crate) fn new(queue: Queue<'a>, (evidence, ruler): (Evidence, Ruler), cpu: Option<u32>) -> Self {
        Self { queue, evidence, ruler, cpu, graphs: HashMap::new(), has_run: false, wrong: None }
    }

    /// Keeps idle devices busy until their clocks have risen.
    pub(crate) fn warm_up(&mut self) -> Result<(), Outage> {
        if is_warm(self.queue.group.runner.idle()) {
            return Ok(());
        }
        let started = Instant::now();
        while started.elapsed() < WARM_UP {
            let warmed = self.time(Shot { side: Side::Test, iterations: 1, pair: 0 });
            self.queue.group.runner.noted(warmed)?;
        }
        Ok(())
    }

    /// Runs a chain, and compares its results with the answer.
    fn time(&mut self, shot: Shot) -> Result<Sample, Outage> {
        let count = operations(shot.side, shot.iterations, 1);
        let queueing = self.queue.recipe.queueing;
        if queueing == Queueing::QueuedFirst && !self.has_run {
            self.queue.reduce(0)?;
            self.queue.wait()?;
            self.queue.passed += 1;
        }
        self.has_run = true;
        self.queue.clear_results(count)?;
        match queueing {
            Queueing::GraphChain => self.capture(count)?,
            Queueing::GraphEach => self.capture(1)?,
            Queueing::Stream | Queueing::QueuedFirst => {}
        }
        self.queue.wait()?;
        let sample = if queueing == Queueing::QueuedFirst {
            self.queue_behind_gate(count)?;
            host_clock::sample_of(|| {
                self.queue.open_gate();
                self.queue.wait()
            })?
        } else {
            host_clock::sample_of(|| self.run(count))?
        };
        self.queue.passed += count;
        // A replayed graph writes the same result again.
        let results = if queueing == Queueing::GraphEach { 1 } else { count };
        let wrong = self.queue.wrong_result(results)?;
        self.note(wrong);
        if let timeouts @ 1.. = self.queue.timeouts() {
            self.wrong = Some(format!("{timeouts} waits outlasted their limit"));
        }
        Ok(sample)
    }

    fn note(&mut self, wrong: Option<u32>) {
        let (elements, answer) = (self.queue.elements, self.queue.answer());
        let text = |found| format!("the result of {elements} elements is {answer}, and {found} was found");
        self.wrong = self.wrong.take().or(wrong.map(text));
    }

    /// Launches a chain and waits for its end.
    fn run(&mut self, count: u64) -> Result<(), Outage> {
        let queueing = self.queue.recipe.queueing;
        match (queueing, self.queue.recipe.joining) {
            (Queueing::GraphChain, _) => self.replay(count)?,
            (Queueing::GraphEach, _) => (0..count).try_for_each(|_| self.replay(1))?,
            (_, Some(Joining::Host)) => {
                for number in 0..count {
                    self.queue.reduce(number)?;
                    self.queue.wait()?;
                    let wrong = self.queue.wrongly_joined(number);
                    self.note(wrong);
                }
            }
            _ => (0..count).try_for_each(|number| self.queue.reduce(number))?,
        }
        self.queue.wait()
    }

    /// Makes the graph of this many reductions, unless it exists.
    fn capture(&mut self, count: u64) -> Called {
        if !self.graphs.contains_key(&count) {
            let graph = self.queue.capture(count)?;
            self.graphs.insert(count, graph);
        }
        Ok(())
    }

    fn replay(&self, count: u64) -> Called {
        self.graphs.get(&count).map_or(Ok(()), |graph| self.queue.replay(graph))
    }

    /// Queues a chain behind a closed gate.
    fn queue_behind_gate(&mut self, count: u64) -> Result<(), Outage> {
        let closed = Instant::now();
        self.queue.close_gate()?;
        let queued = (0..count).try_for_each(|number| self.queue.reduce(number));
        let took = closed.elapsed();
        if queued.is_err() || took > QUEUED_WITHIN {
            self.queue.open_gate();
            queued?;
            self.queue.wait()?;
            return Err(late(took).into());
        }
        Ok(())
    }

    /// Reduces the beginning of the vector at every odd size.
    fn trial(&mut self) -> Result<(), Outage> {
        let elements = self.queue.elements;
        for size in ODD_SIZES {
            self.graphs.clear();
            self.queue.resize(size)?;
            self.time(Shot { side: Side::Baseline, iterations: 1, pair: 0 })?;
        }
        self.graphs.clear();
        self.queue.resize(elements)
    }
}

impl Experiment for ReductionExperiment<'_> {
    fn ruler(&self) -> Ruler {
        self.ruler.clone()
    }

    fn operations(&self, side: Side, iterations: u64) -> u64 {
        operations(side, iterations, 1)
    }

    fn sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError> {
        let _here = self.cpu.map(AffinityGuard::bind_to);
        let sample = self.time(shot);
        Ok(self.queue.group.runner.noted(sample)?)
    }

    fn protocol(&self) -> Protocol {
        let recipe = self.queue.recipe;
        let fewest = if recipe.joining == Some(Joining::Host) { FEWEST_WAITS } else { FEWEST };
        let longest = if recipe.queueing == Queueing::QueuedFirst { MOST_QUEUED } else { MOST_RESULTS };
        Protocol {
            min_iterations: (fewest * SHORT / self.queue.elements.max(SHORT)).max(1),
            max_iterations: longest / operations(Side::Double, 1, 1),
            // A chain of three times as many reductions shows whether all of them cost the same.
            has_double: true,
            ..Protocol::of(1)
        }
    }

    /// Checks every result of the samples, and one at each odd size.
    fn check(&mut self) -> Check {
        let trial = self.trial();
        match (self.queue.group.runner.noted(trial), self.wrong.take()) {
            (Err(outage), _) => Check::Failed(outage.to_string()),
            (Ok(()), Some(wrong)) => Check::Failed(wrong),
            (Ok(()), None) => Check::Ok,
        }
    }

    fn evidence(&mut self) -> Evidence {
        self.evidence.clone()
    }

    fn remark(&self) -> Option<String> {
        self.queue.remark()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(side: Side, iterations: u64) -> u64 {
        operations(side, iterations, 1)
    }

    #[test]
    fn the_test_has_as_many_reductions_more_as_the_baseline_has() {
        for iterations in [1, FEWEST, MOST_RESULTS / 3] {
            assert_eq!(chain(Side::Test, iterations) - chain(Side::Baseline, iterations), iterations);
            assert_eq!(chain(Side::Double, iterations) - chain(Side::Test, iterations), iterations);
        }
        assert!(chain(Side::Double, MOST_RESULTS / 3) <= MOST_RESULTS);
        const { assert!(FEWEST <= MOST_QUEUED / 3, "the shortest chain behind a gate is not longer than the longest") };
    }

    #[test]
    fn every_odd_size_has_room() {
        assert!(ODD_SIZES.iter().all(|size| *size < LEAST_ROOM));
    }
}
