//! Kernel launches as barriers, timed by the host.
//!
//! The baseline is a chain of n launches. The test is a chain of 2 n launches, each of which does half the work (see
//! `launch.cu`). Both end in one wait. The wait, the first launch and the work drop out of the difference, and n additional
//! launches remain: the method of Zhang, Wahib, Matsuoka (*A Study of Synchronization Methods in Modern GPUs*, formulas 1 and 2). There is no figure in
//! cycles, because calls of the driver run on the host.

use std::cell::Cell;
use std::collections::HashMap;
use std::time::Duration;

use syncscope_core::{Check, Evidence, Experiment, ExperimentError, Protocol, Ruler, Sample, Shot, Side};

use crate::catalogue::Launching;
use crate::cuda::driver::{DeviceBuffer, Event, ExecutableGraph, Function, HostBuffer, Stream};
use crate::cuda::error::Called;
use crate::launch::arguments::{Finding, LaunchChainArguments};
use crate::launch::bench::{Bench, Shape};
use crate::launch::device_context::Kernels;
use crate::launch::host_clock;
use crate::launch::runner::{Health, HostClock, Outage, poll};
use crate::launch::samples::{finding_of, operations};
use syncscope_host::scheduling::AffinityGuard;

/// Launches of the longest baseline. The test has twice as many, the third loop three times. A stream takes about 1,024 launches; then a launch must wait
/// for the end of an earlier one, and that would be timed as well.
const MOST_LAUNCHES: u64 = 256;

/// Launches of the shortest baseline. The host must be ahead of the device, or behind it, for all but a small part of the
/// chain. More launches would not be better: the speed of the host drifts, on a virtual machine by 4 to 9 % for tens of
/// milliseconds, and the two samples of a pair agree only if they are close in time.
const FEWEST_LAUNCHES: u64 = 64;

/// The same, if the host waits for each launch.
const FEWEST_WAITS: u64 = 32;

/// Launches of the check. An even number: with two streams the first one gets the next launch, and what the check found.
const PHASES: u64 = 64;

/// A chain lasts some milliseconds, and its kernels end by themselves. After this time the device does not run it.
const LIMIT: Duration = Duration::from_secs(10);

/// What a case needs to run.
#[derive(Debug)]
pub(crate) struct Setup<'a> {
    pub(crate) bench: &'a mut Bench,
    pub(crate) kernels: Kernels,
    pub(crate) evidence: Evidence,
    pub(crate) launching: Launching,
    pub(crate) shape: Shape,
    /// Length of a kernel `test` in cycles of the multiprocessor; 0 for an empty one.
    pub(crate) cycles: u32,
    /// The host's clock.
    pub(crate) ruler: Ruler,
    /// The CPU of the launching thread.
    pub(crate) cpu: Option<u32>,
}

/// A chain of launches, ready to run. See the module's description.
#[derive(Debug)]
pub(crate) struct LaunchChain<'a> {
    setup: Setup<'a>,
    /// By side and number of launches.
    graphs: HashMap<(Side, u64), ExecutableGraph>,
    event: Event,
    phases: DeviceBuffer,
    finding: DeviceBuffer,
    found: HostBuffer,
    stream: Stream,
    /// For chains that go to two streams in turn.
    other: Stream,
    /// What these streams write for each other, and where loops count.
    word: DeviceBuffer,
    /// The last value that was written there.
    written: Cell<u32>,
}

impl<'a> LaunchChain<'a> {
    pub(crate) fn new(setup: Setup<'a>) -> Called<Self> {
        let context = setup.bench.context()?;
        let phases = DeviceBuffer::new(context, 2 * setup.shape.blocks as usize * size_of::<u32>())?;
        let finding = DeviceBuffer::new(context, size_of::<Finding>())?;
        let found = HostBuffer::new(context, size_of::<Finding>() / size_of::<u64>())?;
        let (event, stream, other) = (Event::new(context)?, Stream::new(context)?, Stream::new(context)?);
        let word = DeviceBuffer::new(context, size_of::<u32>())?;
        stream.clear(&word, 0..word.bytes())?;
        // The other stream must not find an old value.
        stream.synchronize()?;
        let written = Cell::new(0);
        Ok(Self { graphs: HashMap::new(), event, phases, finding, found, stream, other, word, written, setup })
    }

    /// Queues one kernel, and waits for it if the wait is part of the primitive.
    fn launch(&self, number: u64, function: Function, arguments: &LaunchChainArguments) -> Called {
        let Setup { shape: Shape { blocks, threads }, launching, .. } = self.setup;
        let (own, next) = self.streams(number);
        own.launch(function, blocks, threads, arguments)?;
        match launching {
            Launching::StreamSync => own.synchronize(),
            Launching::EventSync => {
                own.record(&self.event)?;
                self.event.synchronize()
            }
            Launching::EventWait => {
                own.record(&self.event)?;
                next.wait_for(&self.event)
            }
            // The write is queued before the wait for it, so no wait lasts for ever.
            Launching::WaitValue => {
                let value = self.written.get().wrapping_add(1);
                own.write_value(&self.word, value)?;
                self.written.set(value);
                next.wait_for_value(&self.word, value)
            }
            Launching::Stream
            | Launching::Cooperative
            | Launching::Graph
            | Launching::Programmatic
            | Launching::Conditional
            | Launching::DeviceGraph => Ok(()),
        }
    }

    /// The stream of a launch of a chain, and that of the next one.
    const fn streams(&self, number: u64) -> (&Stream, &Stream) {
        match (self.setup.launching.alternates(), number % 2) {
            (false, _) => (&self.stream, &self.stream),
            (true, 0) => (&self.stream, &self.other),
            (true, _) => (&self.other, &self.stream),
        }
    }

    /// Queues `count` kernels that differ only in their arguments.
    fn queue(&self, function: Function, arguments: impl Fn(u64) -> LaunchChainArguments, count: u64) -> Called {
        (0..count).try_for_each(|number| self.launch(number, function, &arguments(number)))
    }

    /// Makes the graph of a chain, unless it exists.
    fn capture(&mut self, side: Side, count: u64) -> Called {
        if !self.graphs.contains_key(&(side, count)) {
            let arguments = self.arguments();
            let graph = self.graph_of(self.setup.kernels.of(side), |_| arguments, count)?;
            self.stream.upload(&graph)?;
            self.graphs.insert((side, count), graph);
        }
        Ok(())
    }

    /// The graph of a chain: as many kernels, or one that runs as often.
    fn graph_of(
        &self,
        function: Function,
        arguments: impl Fn(u64) -> LaunchChainArguments,
        count: u64,
    ) -> Called<ExecutableGraph> {
        let looped = |condition| LaunchChainArguments {
            turn: self.word.pointer(),
            turns: count as u32,
            condition,
            ..arguments(0)
        };
        match self.setup.launching {
            Launching::Conditional => {
                self.stream.capture_loop(|_, condition| self.launch(0, function, &looped(condition)))
            }
            Launching::DeviceGraph => self.stream.capture_for_device(|_| self.launch(0, function, &looped(0))),
            _ => self.stream.capture(|_| self.queue(function, arguments, count)),
        }
    }

    fn arguments(&self) -> LaunchChainArguments {
        LaunchChainArguments { cycles: self.setup.cycles, ..LaunchChainArguments::default() }
    }

    /// Launches a chain and waits for its end.
    fn run(&mut self, side: Side, count: u64) -> Result<(), Outage> {
        if let Some(graph) = self.graphs.get(&(side, count)) {
            self.stream.replay(graph)?;
        } else {
            let arguments = self.arguments();
            self.queue(self.setup.kernels.of(side), |_| arguments, count)?;
        }
        self.wait()
    }

    /// Waits by polling, the same way for both sides.
    fn wait(&mut self) -> Result<(), Outage> {
        if poll(&HostClock, LIMIT, LIMIT, || self.is_done())?.is_none() {
            self.setup.bench.runner.health = Health::Occupied;
            return Err(Outage::TimedOut(LIMIT));
        }
        Ok(())
    }

    fn is_done(&self) -> Called<bool> {
        let is_done = self.stream.is_done()?;
        Ok(is_done && (!self.setup.launching.alternates() || self.other.is_done()?))
    }

    fn time(&mut self, Shot { side, iterations, .. }: Shot) -> Result<Sample, Outage> {
        let count = operations(side, iterations, 1);
        if self.setup.launching.is_graph() {
            self.capture(side, count)?;
            self.wait()?;
        }
        host_clock::sample_of(|| self.run(side, count))
    }

    /// Launches phases, each of which reads what the phase before wrote.
    fn trial(&mut self) -> Result<Finding, Outage> {
        self.stream.clear(&self.phases, 0..self.phases.bytes())?;
        self.stream.clear(&self.finding, 0..self.finding.bytes())?;
        let (phases, finding) = (self.phases.pointer(), self.finding.pointer());
        let any = LaunchChainArguments { phases, finding, cycles: 0, ..self.arguments() };
        let phase = |number| LaunchChainArguments { phase: number as u32 + 1, ..any };
        let function = self.setup.kernels.check;
        if self.setup.launching.is_graph() {
            if self.setup.launching.is_loop() {
                self.stream.clear(&self.word, 0..self.word.bytes())?;
            }
            let graph = self.graph_of(function, phase, PHASES)?;
            self.stream.upload(&graph)?;
            self.stream.replay(&graph)?;
            self.wait()?;
        } else {
            self.queue(function, phase, PHASES)?;
        }
        self.stream.copy_to_host(&self.finding, &mut self.found, size_of::<Finding>())?;
        self.wait()?;
        Ok(finding_of(self.found.values()))
    }

    /// How many turns of the check's loop all blocks have ended. The next chain begins at 0 again.
    fn turns(&mut self) -> Result<u64, Outage> {
        self.stream.copy_to_host(&self.word, &mut self.found, size_of::<u32>())?;
        self.stream.clear(&self.word, 0..self.word.bytes())?;
        self.wait()?;
        // The upper half is of the finding that was read before.
        let ended = self.found.values().first().map_or(0, |value| *value & u64::from(u32::MAX));
        Ok(ended / u64::from(self.setup.shape.blocks.max(1)))
    }

    /// Whether a loop ran as often as it should: its kernels decide that, and a loop that ends early finds nothing wrong.
    fn check_turns(&mut self) -> Check {
        let turns = self.turns();
        match self.setup.bench.runner.noted(turns) {
            Ok(PHASES) => Check::Ok,
            Ok(turns) => Check::Failed(format!("the graph ran {turns} times instead of {PHASES}")),
            Err(outage) => Check::Failed(outage.to_string()),
        }
    }
}

impl Experiment for LaunchChain<'_> {
    fn ruler(&self) -> Ruler {
        self.setup.ruler.clone()
    }

    fn operations(&self, side: Side, iterations: u64) -> u64 {
        operations(side, iterations, 1)
    }

    fn samples(&mut self, shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError> {
        let _here = self.setup.cpu.map(AffinityGuard::bind_to);
        let samples: Result<Vec<Sample>, Outage> = shots.iter().map(|shot| self.time(*shot)).collect();
        Ok(self.setup.bench.runner.noted(samples)?)
    }

    fn protocol(&self) -> Protocol {
        Protocol {
            min_iterations: if self.setup.launching.waits_each_time() { FEWEST_WAITS } else { FEWEST_LAUNCHES },
            max_iterations: MOST_LAUNCHES,
            // A chain of three times as many empty kernels: shows whether all launches cost the same. Kernels that last for
            // a time would have to be shorter still to do the same work, and other launches would hide behind them.
            has_double: self.setup.cycles == 0,
            ..Protocol::of(1)
        }
    }

    fn check(&mut self) -> Check {
        let finding = self.trial();
        match self.setup.bench.runner.noted(finding) {
            Ok(Finding { mismatches: 0, .. }) if self.setup.launching.is_loop() => self.check_turns(),
            Ok(Finding { mismatches: 0, .. }) => Check::Ok,
            Ok(Finding { mismatches, expected, found, .. }) => Check::Failed(format!(
                "{mismatches} blocks began before the previous launch had ended: one expected phase {expected} and found \
                 {found}"
            )),
            Err(outage) => Check::Failed(outage.to_string()),
        }
    }

    fn evidence(&mut self) -> Evidence {
        self.setup.evidence.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launches(side: Side, iterations: u64) -> u64 {
        operations(side, iterations, 1)
    }

    #[test]
    fn the_test_has_as_many_launches_more_as_the_baseline_has() {
        for iterations in [1, FEWEST_LAUNCHES, MOST_LAUNCHES] {
            assert_eq!(launches(Side::Test, iterations) - launches(Side::Baseline, iterations), iterations);
            assert_eq!(launches(Side::Double, iterations) - launches(Side::Test, iterations), iterations);
        }
    }

    #[test]
    fn no_chain_fills_the_queue_of_a_stream() {
        const QUEUE: u64 = 1024;
        assert!(launches(Side::Double, MOST_LAUNCHES) < QUEUE && PHASES < QUEUE);
        assert!(PHASES.is_multiple_of(2), "the first of two streams copies what the check found");
    }

    #[test]
    fn chains_that_wait_each_time_may_be_shorter() {
        let waiting: Vec<Launching> = [Launching::Stream, Launching::Cooperative, Launching::Graph]
            .into_iter()
            .chain([Launching::StreamSync, Launching::EventSync])
            .filter(|launching| launching.waits_each_time())
            .collect();
        assert_eq!(waiting, [Launching::StreamSync, Launching::EventSync]);
    }
}
