//! One variant at one size: chains of reductions, timed by the host.
//!
//! A sample queues n reductions, one after the other, and waits for the end of the last. The device starts at once, or
//! when all of them are queued, so that no launch waits for the host. Two samples of different lengths
//! make a pair (`syncscope_core::published::reductions::sampling`). The result of every reduction of every chain is
//! compared with the known answer.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use syncscope_core::published::reductions::Operation;
use syncscope_core::published::reductions::sampling::{PairedTimes, Sampling, paired_times};
use syncscope_host::scheduling::AffinityGuard;

use super::arguments::ReductionArguments;
use super::programs::{CUB_TILE, Launching, Recipe, THREADS};
use super::session::{KERNEL_LIMIT, Loaded, MOST_RESULTS, Session};
use super::vector;
use crate::cuda::driver::ExecutableGraph;
use crate::cuda::error::CudaError;
use crate::launch::host_clock;
use crate::launch::outage::Outage;

/// Launches that a stream takes before one must wait for the end of an earlier one. A reduction has two kernels at most.
const QUEUE: usize = 1024;
const _: () = assert!(2 * MOST_RESULTS < QUEUE);

/// Reductions of the longest chain behind a closed gate. Nothing behind it ends, so a launch that found the queue full
/// would wait until the kernel at the gate gives up: half of the queue stays free.
const MOST_QUEUED: usize = MOST_RESULTS / 2;
const _: () = assert!(2 * MOST_QUEUED < QUEUE / 2);

/// A chain that is not queued within this time is not timed: the kernel at the gate may have given up.
const QUEUED_WITHIN: Duration = Duration::from_millis(500);
const _: () = assert!(QUEUED_WITHIN.as_millis() < KERNEL_LIMIT.as_millis());

/// A variant on a grid, ready to run.
pub(super) struct Chain<'a> {
    session: &'a mut Session,
    recipe: &'a Recipe,
    loaded: Loaded,
    operation: Operation,
    elements: u64,
    blocks: u32,
    /// By number of reductions.
    graphs: HashMap<u64, ExecutableGraph>,
    /// Since the state of barriers was cleared.
    barriers_passed: u64,
    /// Whether its kernels have run. A first launch may load its kernel, and wait for the device to do so.
    has_run: bool,
    cpu: Option<u32>,
}

/// The host was too slow. The device can still be used.
fn late(took: Duration) -> CudaError {
    let text = format!(
        "the host took {} ms to queue a chain, and at most {} ms are allowed",
        took.as_millis(),
        QUEUED_WITHIN.as_millis()
    );
    CudaError { call: "cuLaunchKernel", code: 0, name: String::new(), text }
}

/// What a chain reduces.
#[derive(Debug, Clone, Copy)]
pub(super) struct Problem {
    pub(super) operation: Operation,
    pub(super) elements: u64,
    pub(super) blocks: u32,
}

impl<'a> Chain<'a> {
    /// The vector of the problem must be prepared. `cpu` is the CPU that launches.
    pub(super) fn new(
        session: &'a mut Session,
        recipe: &'a Recipe,
        loaded: Loaded,
        problem: Problem,
        cpu: Option<u32>,
    ) -> Result<Self, Outage> {
        let Problem { operation, elements, blocks } = problem;
        session.clear_state()?;
        let (graphs, barriers_passed, has_run) = (HashMap::new(), 0, false);
        Ok(Self { session, recipe, loaded, operation, elements, blocks, graphs, barriers_passed, has_run, cpu })
    }

    /// Blocks of the first kernel.
    pub(super) const fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Whether one reduction gives the known answer.
    pub(super) fn is_right(&mut self) -> Result<bool, Outage> {
        let (_, wrong) = self.sample(1)?;
        Ok(wrong == 0)
    }

    /// Times pairs of chains. Returns them with the number of results that were not the known answer.
    pub(super) fn measure(&mut self, time: Duration, seed: u64) -> Result<(PairedTimes, u64), Outage> {
        let _here = self.cpu.map(AffinityGuard::bind_to);
        let mut wrong = 0;
        let longest = if self.recipe.launching.is_queued_first() { MOST_QUEUED } else { MOST_RESULTS };
        let sampling = Sampling { time, longest: longest as u64, seed };
        let times = paired_times(sampling, |count| {
            let (ns, wrong_here) = self.sample(count)?;
            wrong += wrong_here;
            Ok::<f64, Outage>(ns)
        })?;
        Ok((times, wrong))
    }

    /// Runs a chain. Returns its time in nanoseconds, and how many of its results are wrong.
    fn sample(&mut self, count: u64) -> Result<(f64, u64), Outage> {
        let is_queued_first = self.recipe.launching.is_queued_first();
        if is_queued_first && !self.has_run {
            self.run(1)?;
            self.session.wait()?;
            self.barriers_passed += 1;
            self.has_run = true;
        }
        self.session.clear_results()?;
        if matches!(self.recipe.launching, Launching::GraphChain | Launching::CooperativeGraphChain) {
            self.capture(count, count)?;
        } else if self.recipe.launching == Launching::GraphEach {
            self.capture(1, 1)?;
        }
        self.session.wait()?;
        let started = if is_queued_first { self.queue_and_start(count)? } else { self.start(count)? };
        self.session.wait()?;
        let elapsed = host_clock::now_ns().saturating_sub(started);
        self.barriers_passed += count;
        // A graph that is replayed writes the same result again.
        let results = if self.recipe.launching == Launching::GraphEach { 1 } else { count };
        let answer = vector::answer(self.operation, self.elements);
        let right = self.session.right_results(results as usize, answer)? as u64;
        Ok((elapsed as f64, results.saturating_sub(right)))
    }

    /// Launches a chain. Returns when that began.
    fn start(&self, count: u64) -> Result<u64, Outage> {
        let started = host_clock::now_ns();
        self.run(count)?;
        Ok(started)
    }

    /// Queues a chain behind a closed gate, then opens it. Returns when it was opened.
    fn queue_and_start(&mut self, count: u64) -> Result<u64, Outage> {
        let closed = Instant::now();
        self.session.close_gate(&self.loaded)?;
        let queued = self.run(count);
        let took = closed.elapsed();
        let started = host_clock::now_ns();
        self.session.open_gate();
        queued?;
        if took > QUEUED_WITHIN {
            self.session.wait()?;
            return Err(late(took).into());
        }
        Ok(started)
    }

    fn run(&self, count: u64) -> Result<(), CudaError> {
        match self.recipe.launching {
            Launching::Stream | Launching::StreamQueued | Launching::Cooperative | Launching::CooperativeQueued => {
                (0..count).try_for_each(|number| self.queue(number))
            }
            Launching::GraphEach => match self.graphs.get(&1) {
                Some(graph) => (0..count).try_for_each(|_| self.session.stream()?.replay(graph)),
                None => Ok(()),
            },
            Launching::GraphChain | Launching::CooperativeGraphChain => match self.graphs.get(&count) {
                Some(graph) => self.session.stream()?.replay(graph),
                None => Ok(()),
            },
        }
    }

    /// Makes the graph of so many reductions, unless it exists.
    fn capture(&mut self, key: u64, count: u64) -> Result<(), CudaError> {
        if self.graphs.contains_key(&key) {
            return Ok(());
        }
        let stream = self.session.stream()?;
        let graph = stream.capture(|_| (0..count).try_for_each(|number| self.queue(number)))?;
        stream.upload(&graph)?;
        self.graphs.insert(key, graph);
        Ok(())
    }

    /// Queues the kernels of one reduction of a chain.
    fn queue(&self, number: u64) -> Result<(), CudaError> {
        let Self { recipe, loaded, blocks, elements, .. } = *self;
        let arguments = ReductionArguments {
            elements,
            barriers_passed: self.barriers_passed + number,
            count: blocks,
            ..self.session.arguments(number as usize)?
        };
        let stream = self.session.stream()?;
        if let (Some(single), true) = (loaded.single, elements <= CUB_TILE) {
            return stream.launch(single, 1, recipe.threads(), &arguments);
        }
        if recipe.launching.is_cooperative() {
            stream.launch_cooperatively(loaded.reduce, blocks, recipe.threads(), &arguments)?;
        } else {
            stream.launch(loaded.reduce, blocks, recipe.threads(), &arguments)?;
        }
        let joining = if recipe.is_cub() { recipe.threads() } else { THREADS };
        loaded.combine.map_or(Ok(()), |combine| stream.launch(combine, 1, joining, &arguments))
    }
}
