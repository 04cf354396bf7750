//! The measuring bench: one device with everything that launches need, prepared before the first launch; and the order in which
//! the blocks of a launch are assigned to multiprocessors.

use std::rc::Rc;

use crate::cuda::compile::Program;
use crate::cuda::driver::{Attribute, Context, Device, Function, HostBuffer, Module, Stream, Way};
use crate::cuda::error::Called;
use crate::launch::arguments::{
    BenchArguments, DevicePointer, Finding, LoopArguments, MAX_BLOCK_THREADS, WARP_THREADS,
};
use crate::launch::device_context::{DeviceContext, Kernels};
use crate::launch::runner::{DeviceQueue, Outage, Runner};
use crate::launch::samples::{HEAD_WORDS, Timing, WORDS_OF_RATE, WORDS_OF_WARP, finding_of};
use syncscope_core::Shot;
use syncscope_core::profile::{self, Phase};

/// Launches per batch that a new bench has room for, with two full blocks on each multiprocessor.
const BATCH: usize = 32;

/// Memory of a new bench in bytes.
const MEMORY: usize = 1 << 20;

/// A device with everything that launches need; see the module documentation.
#[derive(Debug)]
pub(crate) struct Bench {
    /// The idle kernel of the first loaded program.
    idle: Option<Idle>,
    /// Host memory that kernels use instead of the device's.
    mapped: Option<DevicePointer>,
    /// Always has exactly one device.
    pub(crate) runner: Runner<DeviceContext>,
}

impl Bench {
    /// Sets up a bench for a pass, counted from 0, on a device with this many multiprocessors.
    pub(crate) fn new(device: Device, multiprocessors: u32, pass: u32) -> Called<Self> {
        let warps = 2 * multiprocessors * MAX_BLOCK_THREADS / WARP_THREADS;
        let words = BATCH * (WORDS_OF_RATE + WORDS_OF_WARP * warps as usize);
        let device = DeviceContext::new(device, pass, words, MEMORY)?;
        Ok(Self { idle: None, mapped: None, runner: Runner::new(vec![device]) })
    }

    fn device(&self) -> &DeviceContext {
        &self.runner.devices[0]
    }

    /// The context, made current, for launches that the bench does not make.
    pub(crate) fn context(&self) -> Called<&Context> {
        self.device().make_current()?;
        Ok(&self.device().context)
    }

    /// The streams for chains of launches.
    pub(crate) fn launch_streams(&self) -> [Rc<Stream>; 2] {
        self.device().launch_streams.clone()
    }

    /// Makes kernels work on host memory during `run`.
    pub(crate) fn on_memory_of_host<R>(
        &mut self,
        memory: &HostBuffer,
        run: impl FnOnce(&mut Self) -> Result<R, Outage>,
    ) -> Result<R, Outage> {
        self.device().make_current()?;
        self.mapped = Some(memory.device_pointer()?);
        let result = run(self);
        self.mapped = None;
        result
    }

    /// Loads a program, once, and makes the context current.
    pub(crate) fn load(&mut self, program: &Program, cubin: &[u8]) -> Called<Kernels> {
        let Self { idle, runner, .. } = self;
        runner.on_first(|context| {
            let device = context.device;
            let module = context.load(program, cubin)?;
            if idle.is_none() {
                *idle = Some(Idle::of(module, device)?);
            }
            Kernels::in_module(module)
        })
    }

    /// Loads a program with a third loop, once, and returns the kernel with that loop, launched in clusters of this many
    /// blocks.
    pub(crate) fn load_third_loop(&mut self, program: &Program, cubin: &[u8], cluster: u32) -> Called<Function> {
        let third = |device: &mut DeviceContext| device.load(program, cubin)?.function(c"syncscope_third");
        self.runner.on_first(|device| third(device)?.launched(Way::in_clusters(cluster)))
    }

    /// Provides `bytes` of variables, all zero.
    pub(crate) fn clear_memory(&mut self, bytes: usize) -> Called {
        self.runner.on_first(|device| {
            device.make_current()?;
            device.reserve_memory(bytes)?;
            device.clear_memory(0..bytes)
        })
    }

    /// Runs timed kernels one after the other and waits for all of them. Each batch has one copy of its results and one wait.
    pub(crate) fn run(&mut self, shape: Shape, launches: &[Launch]) -> Result<Vec<Timing>, Outage> {
        self.runner.begin(1)?;
        let words = launches.iter().map(|launch| launch.words(shape)).max().unwrap_or(1);
        let room = self.device().result_words() / words;
        if room == 0 {
            return Err(Outage::TooLarge(shape.warps()));
        }
        let mut timings = Vec::with_capacity(launches.len());
        for batch in launches.chunks(room.min(BATCH)) {
            profile::time(Phase::Queue, || {
                // A launch that was ended before all blocks had arrived left the gate half open.
                let cleared = self.device().clear_gate();
                self.runner.launched(cleared)?;
                for (at, launch) in batch.iter().enumerate() {
                    self.queue(shape, launch, at * words)?;
                }
                self.runner.fetch(1, HEAD_WORDS + batch.len() * words)
            })?;
            profile::time(Phase::Wait, || self.runner.wait(1))?;
            let timing = |(at, launch): (usize, &Launch)| {
                self.device().timing(at * words, launch.words(shape), launch.arguments.common().used_offsets())
            };
            timings.extend(batch.iter().enumerate().map(timing));
        }
        Ok(timings)
    }

    /// Runs `check` kernels and returns what they find.
    pub(crate) fn check(&mut self, shape: Shape, launches: &[Launch]) -> Result<Finding, Outage> {
        self.runner.begin(1)?;
        let cleared = self.device().clear_head();
        self.runner.launched(cleared)?;
        for launch in launches {
            self.queue(shape, launch, 0)?;
        }
        self.runner.fetch(1, HEAD_WORDS)?;
        self.runner.wait(1)?;
        Ok(finding_of(self.device().found()))
    }

    /// Queues a launch whose results start at `word`, preceded by the launches that set its block order.
    fn queue(&mut self, shape: Shape, launch: &Launch, word: usize) -> Result<(), Outage> {
        let device = self.device();
        let memory = self.mapped.unwrap_or(device.memory()) + launch.offset as u64;
        let mut arguments = launch.arguments;
        let common = arguments.common_mut();
        *common = LoopArguments { finding: device.head(), ..device.addressed(*common, memory, word) };
        self.runner.on_each(1, |_, device| {
            self.idle.map_or(Ok(()), |idle| launch.order.queue(&device.stream, idle))?;
            arguments.launch(&device.stream, launch.function, shape.blocks, shape.threads)
        })
    }
}

/// The block order of a launch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum BlockOrder {
    /// Any order.
    #[default]
    Any,
    /// A new order, in the same variant as the previous launch.
    New,
    /// A new order, in the other of its two variants.
    Other,
    /// The order of the previous launch.
    Same,
}

impl BlockOrder {
    /// The order for each shot; the shots of a pair have the same order.
    pub(crate) fn of(shots: &[Shot]) -> impl Iterator<Item = Self> {
        let before = std::iter::once(None).chain(shots.iter().map(|shot| Some(shot.pair)));
        shots.iter().zip(before).map(|(shot, before)| match before {
            Some(before) if before == shot.pair => Self::Same,
            _ if shot.pair.is_multiple_of(2) => Self::New,
            _ => Self::Other,
        })
    }

    /// Queues grids of empty blocks that give the next grid this order.
    pub(crate) fn queue(self, stream: &Stream, idle: Idle) -> Called {
        match self {
            Self::Any => Ok(()),
            Self::Same => idle.one_block(stream),
            Self::New => idle.more_than_fit(stream),
            Self::Other => idle.more_than_fit(stream).and_then(|()| idle.one_block(stream)),
        }
    }
}

/// An empty kernel, and the number of multiprocessors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Idle {
    kernel: Function,
    multiprocessors: u32,
}

impl Idle {
    /// The empty kernel of a module loaded on this device.
    pub(crate) fn of(module: &Module, device: Device) -> Called<Self> {
        let multiprocessors = device.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        Ok(Self { kernel: module.function(c"syncscope_idle")?, multiprocessors })
    }

    /// Queues one launch of one block, which changes the variant.
    fn one_block(self, stream: &Stream) -> Called {
        stream.launch(self.kernel, 1, 32, &())
    }

    /// Queues a grid that does not fit on the device, which changes the order. (On an H200, 240 such grids produced 14 of the
    /// 16 orders and variants. No multiprocessor holds more than 2,048 threads.)
    fn more_than_fit(self, stream: &Stream) -> Called {
        stream.launch(self.kernel, 4 * self.multiprocessors, 1024, &())
    }
}

// Launches: a kernel, its arguments and the shape of its grid.

/// The shape of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
}

impl Shape {
    /// Warps of the whole grid; a partial warp counts as one.
    pub(crate) const fn warps(self) -> u32 {
        self.blocks * self.threads.div_ceil(WARP_THREADS)
    }

    /// Threads of the whole grid.
    pub(crate) const fn grid_threads(self) -> usize {
        self.blocks as usize * self.threads as usize
    }
}

/// A launch of one kernel. The bench fills in the addresses in the arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Launch {
    pub(crate) function: Function,
    pub(crate) arguments: BenchArguments,
    /// The offset in bytes at which its variables begin in the memory.
    pub(crate) offset: usize,
    /// The order in which its blocks are assigned to multiprocessors.
    pub(crate) order: BlockOrder,
}

impl Launch {
    /// A launch on the first memory offset, with its blocks in any order.
    pub(crate) const fn of(function: Function, arguments: BenchArguments) -> Self {
        Self { function, arguments, offset: 0, order: BlockOrder::Any }
    }

    /// Words of 8 bytes that the launch leaves.
    pub(crate) const fn words(&self, shape: Shape) -> usize {
        words_of(shape, self.arguments.common().used_offsets())
    }
}

/// Words of 8 bytes that a launch leaves on one device: its rate, then the warps at each memory offset.
pub(crate) const fn words_of(shape: Shape, offsets: usize) -> usize {
    WORDS_OF_RATE + WORDS_OF_WARP * shape.warps() as usize * offsets
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::Side;

    #[test]
    fn the_order_changes_from_pair_to_pair_alone() {
        let shot = |side, pair| Shot { side, iterations: 1, pair };
        let shots = [
            shot(Side::Test, 4),
            shot(Side::Baseline, 4),
            shot(Side::Baseline, 5),
            shot(Side::Test, 5),
            shot(Side::Test, 6),
        ];
        let orders: Vec<BlockOrder> = BlockOrder::of(&shots).collect();
        assert_eq!(orders, [BlockOrder::New, BlockOrder::Same, BlockOrder::Other, BlockOrder::Same, BlockOrder::New]);
        assert_eq!(BlockOrder::of(&[]).count(), 0);
    }
}

#[cfg(test)]
mod request_tests {
    use super::*;

    #[test]
    fn a_part_of_a_warp_is_a_warp() {
        assert_eq!(Shape { blocks: 3, threads: 1 }.warps(), 3);
        assert_eq!(Shape { blocks: 3, threads: 33 }.warps(), 6);
        assert_eq!(Shape { blocks: 264, threads: 1024 }.warps(), 8448);
    }

    #[test]
    fn a_launch_leaves_its_rate_and_its_warps_at_each_offset() {
        assert_eq!(words_of(Shape { blocks: 2, threads: 33 }, 1), 2 + 3 * 4);
        assert_eq!(words_of(Shape { blocks: 2, threads: 33 }, 8), 2 + 8 * 3 * 4);
    }
}
