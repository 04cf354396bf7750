//! One launch of a snippet and what it leaves.

use std::ffi::CString;
use std::time::Duration;

use syncscope_core::published::timeline::Snippet;
use syncscope_core::published::timeline::clock::{Step, Steps};
use syncscope_core::published::timeline::summary::{Block, LaunchRecord, Mark};

use super::arguments::{MARKS, ROUNDS, STEPS, TimelineArguments};
use super::versions::Prepared;
use crate::cuda::driver::{DeviceBuffer, Function, HostBuffer, Module};
use crate::cuda::error::CudaError;
use crate::launch::outage::Outage;
use crate::published::device::ExperimentDevice;

/// A launch ends by itself after some microseconds; every spin in it is limited.
const LIMIT: Duration = Duration::from_secs(10);

/// Bytes of the variables of a snippet.
const MEMORY_BYTES: usize = 4096;

/// Two indices for each thread of a block.
const INDEX_BYTES: usize = 2 * 1024 * size_of::<u32>();

/// What `memory[...] = 42.0f` leaves.
const WRITTEN: u32 = 0x4228_0000;

const WORD: usize = size_of::<u64>();

/// The grid of a snippet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) blocks: u32,
    pub(super) threads: u32,
    /// Whether its blocks wait for each other.
    pub(super) is_cooperative: bool,
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

/// The memory of a snippet.
#[derive(Debug)]
struct Buffers {
    results: DeviceBuffer,
    host: HostBuffer<u64>,
    indices: DeviceBuffer,
    memory: DeviceBuffer,
}

/// A snippet on a device, ready to be launched.
#[derive(Debug)]
pub(super) struct Launcher {
    /// Always there; taken only when this is dropped.
    buffers: Option<Buffers>,
    device: ExperimentDevice,
    function: Function,
    snippet: Snippet,
    shape: Shape,
    layout: Layout,
}

impl Launcher {
    pub(super) fn new(device: ExperimentDevice, prepared: &Prepared, shape: Shape) -> Result<Self, CudaError> {
        let layout = Layout::of(shape);
        let context = device.context()?;
        let module = Module::load(context, &prepared.cubin)?;
        let name = CString::new(prepared.snippet.as_str()).unwrap_or_default();
        let function = module.function(&name)?;
        let buffers = Buffers {
            results: DeviceBuffer::new(context, layout.end * WORD)?,
            host: HostBuffer::new(context, layout.end)?,
            indices: DeviceBuffer::new(context, INDEX_BYTES)?,
            memory: DeviceBuffer::new(context, MEMORY_BYTES)?,
        };
        Ok(Self { buffers: Some(buffers), device, function, snippet: prepared.snippet, shape, layout })
    }

    /// Runs the snippet and reads what it left.
    pub(super) fn launch(&mut self) -> Result<LaunchRecord, Outage> {
        let Self { buffers, device, function, snippet, shape, layout } = self;
        let Some(Buffers { results, host, indices, memory }) = buffers else {
            return Err(no_results(*snippet, 0).into());
        };
        let stream = device.stream()?;
        for buffer in [&*results, &*memory] {
            stream.clear(buffer, buffer.bytes())?;
        }
        let at = |word: usize| results.pointer() + (word * WORD) as u64;
        let arguments = TimelineArguments {
            marks: at(0),
            steps: at(layout.steps),
            multiprocessors: at(layout.multiprocessors),
            indices: indices.pointer(),
            memory: memory.pointer(),
            out: at(layout.out),
            late_cycles: late_cycles(*snippet),
            rounds: ROUNDS,
        };
        if shape.is_cooperative {
            stream.launch_cooperatively(*function, shape.blocks, shape.threads, &arguments)?;
        } else {
            stream.launch(*function, shape.blocks, shape.threads, &arguments)?;
        }
        device.fetch(results, host, layout.end, LIMIT)?;
        let words = host.values();
        if let Some(wrong) = wrong_results(*snippet, *shape, &words[layout.out..]) {
            return Err(no_results(*snippet, wrong).into());
        }
        Ok(record(words, *layout))
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        if self.device.is_occupied() {
            std::mem::forget(self.buffers.take());
        }
    }
}

/// By how many cycles the late warp or block is late: some times what the barrier takes.
const fn late_cycles(snippet: Snippet) -> u32 {
    match snippet {
        Snippet::GridBarrier => 3000,
        Snippet::SharedMemory | Snippet::GlobalAtomic | Snippet::LateWarp | Snippet::ProducerConsumer => 300,
    }
}

/// The error that a snippet did not compute what it must.
fn no_results(snippet: Snippet, wrong: usize) -> CudaError {
    CudaError {
        call: "cuLaunchKernel",
        code: 0,
        name: "wrong result".to_owned(),
        text: format!("{wrong} threads of the snippet {snippet} read another value than the one that was written"),
    }
}

/// The 32-bit value at a place of 64-bit words.
fn value(words: &[u64], at: usize) -> u32 {
    (words[at / 2] >> (32 * (at % 2))) as u32
}

/// How many threads got another value than they must, if any.
fn wrong_results(snippet: Snippet, shape: Shape, out: &[u64]) -> Option<usize> {
    let per_round = (shape.blocks * shape.threads) as usize;
    let additions = ROUNDS * shape.blocks * shape.threads / 32;
    let is_right = |at: usize| {
        let (round, thread) = ((at / per_round) as u32, at % shape.threads as usize);
        let found = value(out, at);
        match snippet {
            Snippet::SharedMemory => found == WRITTEN,
            Snippet::GlobalAtomic => found < additions,
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

    const SHAPE: Shape = Shape { blocks: 3, threads: 64, is_cooperative: false };

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
}
