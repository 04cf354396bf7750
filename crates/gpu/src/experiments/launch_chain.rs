//! Kernel launches as barriers, timed by the host.
//!
//! The baseline is a chain of n launches. The test is a chain of 2 n launches, each of which does half the work (see
//! `launch.cu`; for primitives that change the work of kernels, the first n launches are plain). Both end in one wait. The
//! wait, the first launch and the work drop out of the difference, and n additional launches remain: the method of Zhang,
//! Wahib, Matsuoka (*A Study of Synchronization Methods in Modern GPUs*, formulas 1 and 2). There is no figure in cycles,
//! because driver calls run on the host.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use syncscope_core::{
    Check, Detail, Evidence, Experiment, ExperimentError, Hertz, Protocol, Ruler, Sample, Shot, Side,
};

use crate::catalogue::{HostWait, Launching, Traffic, Work};
use crate::cuda::driver::{DeviceBuffer, Event, ExecutableGraph, Function, HostBuffer, Stream};
use crate::cuda::error::Called;
use crate::experiments::host_wait::{LIMIT, Waiter};
use crate::launch::arguments::{Finding, LaunchChainArguments};
use crate::launch::bench::{Bench, Shape};
use crate::launch::device_context::Kernels;
use crate::launch::host_clock;
use crate::launch::runner::{Health, HostClock, Outage, poll};
use crate::launch::samples::{finding_of, operations};
use syncscope_host::clock::process_cpu_time;
use syncscope_host::scheduling::AffinityGuard;

/// Launches of the longest baseline. The test has twice as many, the third loop three times. A stream holds about 1,024
/// launches; beyond that, a launch waits for the end of an earlier one, which would be timed too.
const MOST_LAUNCHES: u64 = 256;

/// Launches of the shortest baseline. The host must be ahead of the device, or behind it, for all but a small part of the
/// chain. More launches would not be better: the speed of the host drifts, on a virtual machine by 4 to 9 % for tens of
/// milliseconds, and the two samples of a pair agree only if they are close in time.
const FEWEST_LAUNCHES: u64 = 64;

/// Launches of the shortest baseline if the host waits for each launch.
const FEWEST_WAITS: u64 = 32;

/// Launches of the check. An even number: with two streams, the first stream then gets the next launch and the finding.
const PHASES: u64 = 64;

/// Launches, sweeps of each launch, and repetitions, for measuring how long one sweep takes. Kernels this long hide the time in
/// which the host launches them.
const FITTED_LAUNCHES: u64 = 8;
const FITTED_SWEEPS: u32 = 8;
const FITS: usize = 3;

/// Divisor for the share of the L2 cache that both arrays may take: if the cache has two halves, data may be in both.
const WORKING_SHARE: usize = 4;

/// Words in a line of the L2 cache.
const LINE_WORDS: u32 = 32;

/// How long untimed chains precede the first timed one. The first chain after an idle period takes 8 to 40 µs more (H200, 10 to
/// 30 ms idle): over 64 launches that is 0.1 to 0.6 µs each, too much or too little depending on whether the pair began with
/// the test or the baseline.
const WARM_UP: Duration = Duration::from_millis(2);

/// A device counts as idle after this pause. After 1 ms a chain takes 2 µs more.
const IDLE: Duration = Duration::from_micros(200);

/// What a case needs to run.
#[derive(Debug)]
pub(crate) struct Setup<'a> {
    pub(crate) bench: &'a mut Bench,
    pub(crate) kernels: Kernels,
    /// The kernels launched without attributes.
    pub(crate) plain: Kernels,
    pub(crate) evidence: Evidence,
    pub(crate) launching: Launching,
    pub(crate) shape: Shape,
    /// The work of a part of a kernel.
    pub(crate) work: Work,
    /// The frequency of the multiprocessors' clock, which sets how long kernels last.
    pub(crate) frequency: Hertz,
    /// Size of the L2 cache.
    pub(crate) cache_bytes: u64,
    /// The host's clock.
    pub(crate) ruler: Ruler,
    /// The CPU of the launching thread.
    pub(crate) cpu: Option<u32>,
}

/// A chain of launches, ready to run; see the module documentation.
#[derive(Debug)]
pub(crate) struct LaunchChain<'a> {
    setup: Setup<'a>,
    /// Graphs by side and number of launches.
    graphs: HashMap<(Side, u64), ExecutableGraph>,
    event: Event,
    /// The waiter, if the launching names a way to wait.
    waiter: Option<Waiter>,
    phases: DeviceBuffer,
    finding: DeviceBuffer,
    found: HostBuffer,
    /// The arrays that kernels with traffic sweep, and how much of them.
    arrays: DeviceBuffer,
    words: u32,
    sweeps: u32,
    stream: Rc<Stream>,
    /// The second stream of chains that use two in turn.
    other: Rc<Stream>,
    /// The word that these streams write for each other and in which loops count.
    word: DeviceBuffer,
    /// The last value written to the word.
    written: Cell<u32>,
    /// CPU time of all threads of the process in nanoseconds, and the length of the samples.
    busy: (u64, u64),
    /// When the last chain ended, by the host's clock.
    ended_ns: u64,
}

impl<'a> LaunchChain<'a> {
    pub(crate) fn new(setup: Setup<'a>) -> Result<Self, Outage> {
        let context = setup.bench.context()?;
        let phases = DeviceBuffer::new(context, 2 * setup.shape.blocks as usize * size_of::<u32>())?;
        let finding = DeviceBuffer::new(context, size_of::<Finding>())?;
        let found = HostBuffer::new(context, size_of::<Finding>() / size_of::<u64>())?;
        let event = Event::new(context)?;
        let waiter = match setup.launching {
            Launching::Waiting(wait) => Some(Waiter::new(context, wait)?),
            _ => None,
        };
        let [stream, other] = setup.bench.launch_streams();
        let word = DeviceBuffer::new(context, size_of::<u32>())?;
        stream.clear(&word, 0..word.bytes())?;
        let Shape { blocks, threads } = setup.shape;
        let share = setup.cache_bytes as usize / (WORKING_SHARE * 2 * size_of::<u32>() * blocks.max(1) as usize);
        let (words, sweeps) = match setup.work.traffic {
            Traffic::Nothing => (0, 0),
            Traffic::Line => (LINE_WORDS, 1),
            Traffic::Sweep => (lines((32 * threads).min(u32::try_from(share).unwrap_or(u32::MAX))), FITTED_SWEEPS),
        };
        let most = if words > LINE_WORDS { lines(u32::try_from(share).unwrap_or(u32::MAX)) } else { words };
        let arrays = DeviceBuffer::new(context, (2 * blocks as usize * most as usize * size_of::<u32>()).max(1))?;
        stream.clear(&arrays, 0..arrays.bytes())?;
        // The other stream must not find an old value in the word.
        stream.synchronize()?;
        let (graphs, written) = (HashMap::new(), Cell::new(0));
        let mut chain = Self {
            setup,
            graphs,
            event,
            waiter,
            phases,
            finding,
            found,
            arrays,
            words,
            sweeps,
            stream,
            other,
            word,
            written,
            busy: (0, 0),
            ended_ns: 0,
        };
        if chain.setup.work.traffic == Traffic::Sweep {
            chain.fit(most)?;
        }
        if let (Launching::Waiting(HostWait::Function), Some(waiter)) = (chain.setup.launching, &chain.waiter) {
            // Make the driver create its thread for host functions now, while this thread may run on any CPU: later both would
            // share one.
            waiter.wait(HostWait::Function, &chain.stream)?;
        }
        Ok(chain)
    }

    /// Chooses how much of its part of the arrays a kernel sweeps, and how often, so that it lasts as long as it should.
    fn fit(&mut self, most: u32) -> Result<(), Outage> {
        let wanted = f64::from(self.setup.work.ns);
        for _ in 0..FITS {
            let each = self.sweep_ns()? / f64::from(self.words);
            self.words = lines((wanted / each) as u32).min(most);
        }
        let sweep_ns = self.sweep_ns()?;
        self.sweeps = ((wanted / sweep_ns).round() as u32).max(1);
        Ok(())
    }

    /// Measures one sweep: the median of differences between kernels that sweep twice as much and kernels that do not.
    fn sweep_ns(&mut self) -> Result<f64, Outage> {
        let mut lengths = [0.0; 5];
        for length in &mut lengths {
            let [twice, once] = [Side::Baseline, Side::Test].map(|side| self.queued_ns(side));
            *length = twice?.saturating_sub(once?) as f64 / (FITTED_LAUNCHES as f64 * f64::from(FITTED_SWEEPS));
        }
        lengths.sort_by(f64::total_cmp);
        Ok(lengths[lengths.len() / 2].max(1.0))
    }

    /// Measures a short chain that is not a graph.
    fn queued_ns(&mut self, side: Side) -> Result<u64, Outage> {
        let started = host_clock::now_ns();
        self.queue(self.setup.plain.test, self.arguments(side), 0..FITTED_LAUNCHES)?;
        self.wait()?;
        Ok(host_clock::now_ns().saturating_sub(started))
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
            Launching::Waiting(wait) => self.waiter.as_ref().map_or(Ok(()), |waiter| waiter.wait(wait, own)),
            Launching::EventWait => {
                own.record(&self.event)?;
                next.wait_for(&self.event)
            }
            // The write is queued before the wait for it, so no wait lasts forever.
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
            | Launching::ProgrammaticGraph
            | Launching::Within
            | Launching::Conditional
            | Launching::DeviceGraph => Ok(()),
        }
    }

    /// Makes the graphs of these shots, and keeps device and host as busy as they will be.
    fn warm_up(&mut self, shots: &[Shot]) -> Result<(), Outage> {
        for Shot { side, iterations, .. } in shots {
            if self.setup.launching.is_graph() {
                self.capture(*side, operations(*side, *iterations, 1))?;
            }
        }
        let now = host_clock::now_ns;
        if now().saturating_sub(self.ended_ns) < IDLE.as_nanos() as u64 {
            return Ok(());
        }
        let until = now() + WARM_UP.as_nanos() as u64;
        shots.iter().cycle().take_while(|_| now() < until).try_for_each(|shot| self.time(*shot).map(drop))
    }

    /// Times the shots, in a context in which the driver waits as the case says, and measures how busy the CPUs are meanwhile.
    fn timed(&mut self, shots: &[Shot]) -> Result<Vec<Sample>, Outage> {
        let waits = match self.setup.launching {
            Launching::Waiting(HostWait::Stream(waits)) => Some(waits),
            _ => None,
        };
        if waits.is_some() {
            self.setup.bench.context()?.wait_by(waits)?;
        }
        self.warm_up(shots)?;
        let (busy, started) = (process_cpu_time(), host_clock::now_ns());
        let samples = shots.iter().map(|shot| self.time(*shot)).collect();
        let busy = process_cpu_time().saturating_sub(busy).as_nanos() as u64;
        self.ended_ns = host_clock::now_ns();
        self.busy = (self.busy.0 + busy, self.busy.1 + self.ended_ns.saturating_sub(started));
        if waits.is_some() {
            self.setup.bench.context()?.wait_by(None)?;
        }
        samples
    }

    /// The stream of a launch of a chain, and the stream of the next launch.
    fn streams(&self, number: u64) -> (&Stream, &Stream) {
        match (self.setup.launching.alternates(), number % 2) {
            (false, _) => (&self.stream, &self.stream),
            (true, 0) => (&self.stream, &self.other),
            (true, _) => (&self.other, &self.stream),
        }
    }

    /// Queues the kernels of these numbers, from 0.
    fn queue(&self, function: Function, any: LaunchChainArguments, numbers: Range<u64>) -> Called {
        numbers.into_iter().try_for_each(|number| {
            let arguments = LaunchChainArguments { phase: number as u32 + 1, ..any };
            self.launch(number, function, &arguments)
        })
    }

    /// Queues a chain. If the primitive changes the work of kernels, the baseline's launches, and equally many in the other
    /// chains, are plain.
    fn queue_chain(&self, side: Side, count: u64) -> Called {
        let Setup { kernels, plain, launching, .. } = &self.setup;
        let first = match side {
            _ if !launching.changes_work() => 0,
            Side::Baseline => count,
            Side::Test => count / 2,
            Side::Double => count / 3,
        };
        self.queue(plain.test, self.arguments(side), 0..first)?;
        self.queue_rest(kernels.test, self.arguments(side), first..count)
    }

    /// Queues kernels, or one kernel with equally many parts.
    fn queue_rest(&self, function: Function, any: LaunchChainArguments, numbers: Range<u64>) -> Called {
        if self.setup.launching != Launching::Within || numbers.is_empty() {
            return self.queue(function, any, numbers);
        }
        let turns = (numbers.end - numbers.start) as u32;
        self.queue(function, LaunchChainArguments { turns, ..any }, numbers.start..numbers.start + 1)
    }

    /// Makes the graph of a chain, unless it exists.
    fn capture(&mut self, side: Side, count: u64) -> Called {
        if !self.graphs.contains_key(&(side, count)) {
            let queue = || self.queue_chain(side, count);
            let graph = self.graph_of(self.setup.kernels.test, self.arguments(side), count, queue)?;
            self.stream.upload(&graph)?;
            self.graphs.insert((side, count), graph);
        }
        Ok(())
    }

    /// The graph of a chain: `count` kernels, or one kernel that runs `count` times.
    fn graph_of(
        &self,
        function: Function,
        any: LaunchChainArguments,
        count: u64,
        queue: impl FnOnce() -> Called,
    ) -> Called<ExecutableGraph> {
        let looped = |condition| LaunchChainArguments { turns: count as u32, condition, ..any };
        match self.setup.launching {
            Launching::Conditional => {
                self.stream.capture_loop(|_, condition| self.launch(0, function, &looped(condition)))
            }
            Launching::DeviceGraph => self.stream.capture_for_device(|_| self.launch(0, function, &looped(0))),
            _ => self.stream.capture(|_| queue()),
        }
    }

    /// A kernel of the baseline does two parts of the work; in longer chains the same code does one part.
    fn arguments(&self, side: Side) -> LaunchChainArguments {
        let Setup { work, frequency, .. } = &self.setup;
        let cycles = (f64::from(work.ns) * 1e-9 * frequency.value()).round() as u32;
        let (arrays, words, sweeps, turn) = (self.arrays.pointer(), self.words, self.sweeps, self.word.pointer());
        let parts = if side == Side::Baseline { 2 } else { 1 };
        LaunchChainArguments { turn, arrays, parts, cycles, words, sweeps, ..LaunchChainArguments::default() }
    }

    /// Launches a chain and waits for its end.
    fn run(&mut self, side: Side, count: u64) -> Result<(), Outage> {
        if let Some(graph) = self.graphs.get(&(side, count)) {
            self.stream.replay(graph)?;
        } else {
            self.queue_chain(side, count)?;
        }
        self.wait()
    }

    /// Waits by polling, in the same way for both sides.
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

    /// Launches phases, each of which reads what the previous one wrote.
    fn trial(&mut self) -> Result<Finding, Outage> {
        self.stream.clear(&self.phases, 0..self.phases.bytes())?;
        self.stream.clear(&self.finding, 0..self.finding.bytes())?;
        let (phases, finding) = (self.phases.pointer(), self.finding.pointer());
        let any = LaunchChainArguments { phases, finding, ..self.arguments(Side::Test) };
        let function = self.setup.kernels.check;
        if self.setup.launching.is_graph() {
            if self.setup.launching.is_loop() {
                self.stream.clear(&self.word, 0..self.word.bytes())?;
            }
            let graph = self.graph_of(function, any, PHASES, || self.queue(function, any, 0..PHASES))?;
            self.stream.upload(&graph)?;
            self.stream.replay(&graph)?;
            self.wait()?;
        } else {
            self.queue_rest(function, any, 0..PHASES)?;
        }
        self.stream.copy_to_host(&self.finding, &mut self.found, size_of::<Finding>())?;
        self.wait()?;
        Ok(finding_of(self.found.values()))
    }

    /// How many turns of the check's loop all blocks have finished. The next chain begins at 0 again.
    fn turns(&mut self) -> Result<u64, Outage> {
        self.stream.copy_to_host(&self.word, &mut self.found, size_of::<u32>())?;
        self.stream.clear(&self.word, 0..self.word.bytes())?;
        self.wait()?;
        // The upper half holds part of the finding that was read before.
        let ended = self.found.values().first().map_or(0, |value| *value & u64::from(u32::MAX));
        Ok(ended / u64::from(self.setup.shape.blocks.max(1)))
    }

    /// Checks that a loop ran as often as it should: its kernels decide that, and a loop that ends early finds nothing wrong.
    fn check_turns(&mut self) -> Check {
        let turns = self.turns();
        match self.setup.bench.runner.noted(turns) {
            Ok(PHASES) => Check::Ok,
            Ok(turns) => Check::Failed(format!("the graph ran {turns} times instead of {PHASES}")),
            Err(outage) => Check::Failed(outage.to_string()),
        }
    }
}

/// `words` rounded down to whole lines, at least one, so that blocks share no line.
const fn lines(words: u32) -> u32 {
    if words < LINE_WORDS { LINE_WORDS } else { words - words % LINE_WORDS }
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
        let samples = self.timed(shots);
        Ok(self.setup.bench.runner.noted(samples)?)
    }

    fn protocol(&self) -> Protocol {
        Protocol {
            min_iterations: if self.setup.launching.waits_each_time() { FEWEST_WAITS } else { FEWEST_LAUNCHES },
            max_iterations: MOST_LAUNCHES,
            // A chain of three times as many empty kernels shows whether all launches cost the same. Kernels that last for a
            // time would have to be even shorter to do the same work, and other launches would hide behind them.
            has_double: self.setup.work.ns == 0,
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

    /// The share of a CPU that the host takes while it waits, and what fitted kernels sweep.
    fn details(&mut self) -> Result<Vec<Detail>, ExperimentError> {
        let (busy, length) = self.busy;
        let waits = self.setup.launching.waits_each_time() && length > 0;
        let share = waits.then(|| Detail::of_case(Detail::CPU_SHARE, busy as f64 / length as f64));
        let sweeps = self.setup.work.traffic == Traffic::Sweep;
        let words = sweeps.then(|| Detail::of_case(Detail::SWEPT_WORDS, f64::from(self.words * self.sweeps)));
        Ok(share.into_iter().chain(words).collect())
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
