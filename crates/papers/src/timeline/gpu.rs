//! Launches both versions of a snippet on a device and reads the marks that they leave.

use std::ffi::CString;
use std::time::Duration;

use syncscope_gpu::GpuLaboratory;
use syncscope_gpu::own_device::{Arguments, Launch, Memory, Outage, OwnDevice};

use super::clock::{Step, Steps};
use super::summary::{Block, LaunchRecord, Mark, Placed, summarize};
use super::versions::{Prepared, own_program, prepare, program};
use super::{OwnRegion, Snippet, Timeline, Version};
use crate::Error;

/// Launches of each version that count; one more comes first.
const LAUNCHES: usize = 31;

/// Threads of a block, as in the source: 4 warps.
const FEW_THREADS: u32 = 128;

/// Threads of a block where one warp is late.
const MANY_THREADS: u32 = 256;

/// Blocks whose warps add to the same variables.
const ADDING_BLOCKS: u32 = 4;

/// Steps of the global timer before and after the snippet; `STEPS` in the kernel.
const STEPS: usize = 64;

/// How often the snippet runs in one launch.
const ROUNDS: u32 = 2;

/// Clock reads of a warp.
const MARKS: usize = 3;

/// The limit for a launch, which ends by itself after some microseconds; every spin in it is limited.
const LIMIT: Duration = Duration::from_secs(10);

/// Bytes of the variables of a snippet.
const MEMORY_BYTES: usize = 4096;

/// Two indices for each thread of a block.
const INDEX_BYTES: usize = 2 * 1024 * size_of::<u32>();

/// What `memory[...] = 42.0f` leaves.
const WRITTEN: u32 = 0x4228_0000;

const WORD: usize = size_of::<u64>();

/// What was measured, and what could not be.
#[derive(Debug)]
pub struct MeasuredTimeline {
    /// The tables.
    pub timeline: Timeline,
    /// Snippets or versions that are missing, and why.
    pub warnings: Vec<String>,
}

/// Runs every snippet, or the user's region, in both versions on the first device. `has_time_for` gets the name of what
/// comes next, and may end the run, which then returns `None`.
///
/// # Errors
/// If the kernels cannot be compiled, or the device fails, or the user's region cannot be timed. A snippet that the device does
/// not have, or whose edits are refused, is a warning.
pub fn measure(
    gpu: &mut GpuLaboratory,
    own: Option<&OwnRegion>,
    has_time_for: &mut dyn FnMut(&str) -> bool,
) -> Result<Option<MeasuredTimeline>, Error> {
    if !has_time_for("compiling") {
        return Ok(None);
    }
    let cubin = gpu.cubin(&own.map_or_else(program, |own| own_program(&own.file, &own.text)))?;
    let multiprocessors = gpu.limits().multiprocessors;
    let mut measured = MeasuredTimeline { timeline: Timeline::default(), warnings: Vec::new() };
    for &snippet in Snippet::ALL.iter().filter(|snippet| (**snippet == Snippet::Own) == own.is_some()) {
        let versions = match prepare(&cubin, snippet) {
            Ok(versions) => versions,
            Err(why) if own.is_some() => return Err(why.into()),
            Err(why) => {
                measured.warnings.push(format!("{snippet}: {why}"));
                continue;
            }
        };
        for version in versions {
            if !has_time_for(&format!("{snippet} {}", version.version)) {
                return Ok(None);
            }
            let shape = own.map_or_else(|| Shape::of(snippet, multiprocessors), |own| own.shape);
            let mut launcher = Launcher::new(gpu.own_device()?, &version, shape)?;
            launcher.launch()?;
            let records = (0..LAUNCHES).map(|_| launcher.launch()).collect::<Result<Vec<_>, _>>()?;
            measured.take(version, &records);
        }
    }
    Ok(Some(measured))
}

impl MeasuredTimeline {
    /// Adds the results of one version's launches.
    fn take(&mut self, prepared: Prepared, launches: &[LaunchRecord]) {
        let Prepared { snippet, version, edits, code, .. } = prepared;
        self.timeline.edits.extend(edits);
        self.timeline.code.extend(code);
        for round in 0..ROUNDS {
            let placed = |launch: &LaunchRecord| launch.place(snippet, version, round as usize);
            let launches: Vec<Placed> = launches.iter().filter_map(placed).collect();
            let Some((shown, figure)) = summarize(snippet, version, round, &launches) else {
                self.warnings.push(format!("{snippet}: clocks of different multiprocessors cannot be compared"));
                return;
            };
            self.timeline.figures.push(figure);
            if round + 1 == ROUNDS {
                self.timeline.spans.extend(launches[shown].spans.iter().cloned());
            }
        }
        if matches!(snippet, Snippet::GridBarrier | Snippet::Own) && version == Version::Corrected {
            self.timeline.clocks = launches.last().map(LaunchRecord::clocks).unwrap_or_default();
        }
    }
}

/// The grid of a snippet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Blocks of the grid.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
}

impl Shape {
    const fn of(snippet: Snippet, multiprocessors: u32) -> Self {
        let (blocks, threads) = match snippet {
            Snippet::SharedMemory | Snippet::Own => (1, FEW_THREADS),
            Snippet::GlobalAtomic => (ADDING_BLOCKS, FEW_THREADS),
            Snippet::LateWarp | Snippet::ProducerConsumer => (1, MANY_THREADS),
            Snippet::GridBarrier => (multiprocessors, 32),
        };
        Self { blocks, threads }
    }
}

/// Where the parts of the results begin, in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    blocks: usize,
    warps: usize,
    steps: usize,
    multiprocessors: usize,
    out: usize,
    end: usize,
}

impl Layout {
    const fn of(shape: Shape) -> Self {
        let (blocks, threads, rounds) = (shape.blocks as usize, shape.threads as usize, ROUNDS as usize);
        let warps = threads.div_ceil(32);
        let steps = rounds * blocks * warps * MARKS;
        let multiprocessors = steps + blocks * 4 * STEPS;
        let out = multiprocessors + blocks.div_ceil(2);
        Self { blocks, warps, steps, multiprocessors, out, end: out + (rounds * blocks * threads).div_ceil(2) }
    }
}

/// A snippet on a device, ready to be launched.
#[derive(Debug)]
struct Launcher {
    device: OwnDevice,
    snippet: Snippet,
    shape: Shape,
    layout: Layout,
    results: Memory,
    memory: Memory,
    launch: Launch,
}

impl Launcher {
    fn new(mut device: OwnDevice, prepared: &Prepared, shape: Shape) -> Result<Self, Outage> {
        let (snippet, layout) = (prepared.snippet, Layout::of(shape));
        let name = CString::new(snippet.as_str()).unwrap_or_default();
        let kernel = device.load(&prepared.cubin)?.kernel(&name)?;
        // The blocks of these snippets wait for each other.
        let waits = matches!(snippet, Snippet::GridBarrier | Snippet::Own);
        let kernel = if waits { kernel.cooperative()? } else { kernel };
        let results = device.results(layout.end)?;
        let (indices, memory) = (device.memory(INDEX_BYTES)?, device.memory(MEMORY_BYTES)?);
        let at = |word: usize| results.address + (word * WORD) as u64;
        // `TimelineArguments`.
        let places =
            [at(0), at(layout.steps), at(layout.multiprocessors), indices.address, memory.address, at(layout.out)];
        let arguments = places.into_iter().fold(Arguments::default(), Arguments::wide);
        // The delay of the late warp or block in cycles: several times what the barrier takes.
        let late_cycles = if snippet == Snippet::GridBarrier { 3000 } else { 300 };
        let arguments = arguments.word(late_cycles).word(ROUNDS);
        let launch = Launch::new(kernel, (shape.blocks, shape.threads), arguments);
        Ok(Self { device, snippet, shape, layout, results, memory, launch })
    }

    /// Runs the snippet and reads what it left.
    fn launch(&mut self) -> Result<LaunchRecord, Error> {
        self.device.clear(self.results)?;
        self.device.clear(self.memory)?;
        self.device.launch(&self.launch)?;
        let words = self.device.fetch(self.results, self.layout.end, LIMIT)?;
        if let Some(wrong) = wrong_results(self.snippet, self.shape, &words[self.layout.out..]) {
            let threads = format!("{wrong} threads of the snippet {}", self.snippet);
            return Err(format!("{threads} read another value than the one that was written").into());
        }
        Ok(record(words, self.layout))
    }
}

/// The 32-bit value at a place of 64-bit words.
fn value(words: &[u64], at: usize) -> u32 {
    (words[at / 2] >> (32 * (at % 2))) as u32
}

/// How many threads got a wrong value, if any.
fn wrong_results(snippet: Snippet, shape: Shape, out: &[u64]) -> Option<usize> {
    let per_round = (shape.blocks * shape.threads) as usize;
    let additions = ROUNDS * shape.blocks * shape.threads / 32;
    let is_right = |at: usize| {
        let (round, thread) = ((at / per_round) as u32, at % shape.threads as usize);
        let found = value(out, at);
        match snippet {
            Snippet::SharedMemory => found == WRITTEN,
            Snippet::GlobalAtomic => found < additions,
            Snippet::Own => true,
            Snippet::ProducerConsumer if thread < 32 => found == 0,
            Snippet::LateWarp | Snippet::GridBarrier | Snippet::ProducerConsumer => found == round + 1,
        }
    };
    let wrong = (0..ROUNDS as usize * per_round).filter(|at| !is_right(*at)).count();
    (wrong > 0).then_some(wrong)
}

fn record(words: &[u64], layout: Layout) -> LaunchRecord {
    let steps = |from: usize| -> Vec<Step> {
        let pairs = words[from..from + 2 * STEPS].as_chunks::<2>().0;
        pairs.iter().map(|&[ns, cycles]| Step { ns, cycles }).collect()
    };
    let block = |block: usize| {
        let first = layout.steps + block * 4 * STEPS;
        Block {
            multiprocessor: value(&words[layout.multiprocessors..], block),
            steps: Steps { before: steps(first), after: steps(first + 2 * STEPS) },
        }
    };
    let warps = layout.blocks * layout.warps;
    let round = |round: usize| -> Vec<Mark> {
        let marks = words[round * warps * MARKS..(round + 1) * warps * MARKS].as_chunks::<MARKS>().0;
        let mark = |(at, &[start, arrival, stop]): (usize, &[u64; MARKS])| Mark {
            block: (at / layout.warps) as u32,
            warp: (at % layout.warps) as u32,
            start,
            arrival,
            stop,
        };
        marks.iter().enumerate().map(mark).collect()
    };
    LaunchRecord { blocks: (0..layout.blocks).map(block).collect(), rounds: (0..ROUNDS as usize).map(round).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { blocks: 3, threads: 64 };

    #[test]
    fn results_are_found_where_the_kernel_writes_them() {
        let layout = Layout::of(SHAPE);
        let mut words = vec![0; layout.end];
        // Round 1, block 2, warp 1: see the kernel.
        let marks = ((3 + 2) * 2 + 1) * 3;
        words[marks..marks + 3].copy_from_slice(&[10, 20, 30]);
        let after = layout.steps + 2 * 4 * STEPS + 2 * STEPS;
        words[after + 2 * 5..after + 2 * 5 + 2].copy_from_slice(&[77, 88]);
        words[layout.multiprocessors] = 5 | 9 << 32;
        let record = record(&words, layout);
        let mark = record.rounds[1][5];
        assert_eq!(mark, Mark { block: 2, warp: 1, start: 10, arrival: 20, stop: 30 });
        assert_eq!(record.blocks[2].steps.after[5], Step { ns: 77, cycles: 88 });
        assert_eq!(record.blocks.iter().map(|block| block.multiprocessor).collect::<Vec<_>>(), [5, 9, 0]);
    }

    #[test]
    fn results_that_are_wrong_are_noticed() {
        let values = |value: u64| vec![value | value << 32; (ROUNDS as usize * 192).div_ceil(2)];
        assert_eq!(wrong_results(Snippet::SharedMemory, SHAPE, &values(WRITTEN.into())), None);
        assert_eq!(wrong_results(Snippet::SharedMemory, SHAPE, &values(0)), Some(384));
        assert_eq!(wrong_results(Snippet::GridBarrier, SHAPE, &values(1)), Some(192), "the second round has 2");
        assert_eq!(wrong_results(Snippet::GlobalAtomic, SHAPE, &values(11)), None);
        assert_eq!(wrong_results(Snippet::GlobalAtomic, SHAPE, &values(12)), Some(384), "there are 12 additions");
    }

    #[test]
    fn the_kernel_takes_as_many_steps() {
        assert_eq!(crate::constant_of(include_str!("timeline.cu"), "STEPS"), STEPS.to_string());
    }
}
