//! The measuring bench: a context with everything that launches need, prepared before the first one.

use std::collections::HashMap;
use std::ffi::CStr;
use std::time::{Duration, Instant};

use syncscope_core::profile::{self, Phase};

use crate::cuda::compile::Program;
use crate::cuda::driver::{Context, Device, DeviceBuffer, Function, HostBuffer, Module, Stream};
use crate::cuda::error::CudaError;
use crate::launch::arguments::{Arguments, DevicePointer, Finding, Rate, WARP_THREADS, Warp};
use crate::launch::block_order::{BlockOrder, Idle};

/// The largest grid that a batch of [`BATCH`] launches is prepared for has two full blocks on each multiprocessor.
const BATCH: usize = 32;

/// Kernels are asked to stop when a batch lasts longer. The longest honest one, two samples of some hundred million
/// atomic additions to one variable, takes a second.
const LIMIT: Duration = Duration::from_secs(20);

/// So long a kernel that was asked to stop may take.
const GRACE: Duration = Duration::from_secs(2);

/// Whether a bench can go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Health {
    /// It can.
    Good,
    /// A kernel broke the context: a new bench is needed.
    Broken,
    /// A kernel does not end: nothing can be measured beside it, and to take down its context would mean to wait for it.
    Occupied,
}

/// Why a batch gave no results.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Outage {
    /// It lasted longer than the limit.
    #[error("not done after {0:?}")]
    TimedOut(Duration),
    /// A call or a kernel failed.
    #[error(transparent)]
    Cuda(#[from] CudaError),
    /// The results of one launch do not fit.
    #[error("a grid of {0} warps is too large")]
    TooLarge(u32),
}

/// The shape of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
}

impl Shape {
    /// Warps of the whole grid; a part of one is one.
    pub(crate) const fn warps(self) -> u32 {
        self.blocks * self.threads.div_ceil(WARP_THREADS)
    }

    /// Threads of the whole grid.
    pub(crate) const fn grid_threads(self) -> usize {
        self.blocks as usize * self.threads as usize
    }
}

/// The kernels of a program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernels {
    pub(crate) baseline: Function,
    pub(crate) test: Function,
    pub(crate) check: Function,
}

impl Kernels {
    /// The same, launched in clusters of so many blocks; 0: in none.
    pub(crate) fn in_clusters(self, blocks: u32) -> Result<Self, CudaError> {
        if blocks == 0 {
            return Ok(self);
        }
        let Self { baseline, test, check } = self;
        Ok(Self {
            baseline: baseline.in_clusters(blocks)?,
            test: test.in_clusters(blocks)?,
            check: check.in_clusters(blocks)?,
        })
    }
}

/// One kernel to run. Addresses in the arguments are the bench's to fill in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Launch {
    pub(crate) function: Function,
    pub(crate) arguments: Arguments,
    /// Where in the memory its variables begin, in bytes.
    pub(crate) offset: usize,
    /// In which order its blocks come to the multiprocessors.
    pub(crate) order: BlockOrder,
}

impl Launch {
    /// On the first place there is, its blocks in any order.
    pub(crate) const fn of(function: Function, arguments: Arguments) -> Self {
        Self { function, arguments, offset: 0, order: BlockOrder::Any }
    }

    /// Words of 8 bytes that it leaves: its rate, then the warps at each place.
    const fn words(&self, shape: Shape) -> usize {
        WORDS_OF_RATE + WORDS_OF_WARP * shape.warps() as usize * places_of(&self.arguments)
    }
}

/// Places that a launch visits.
pub(crate) const fn places_of(arguments: &Arguments) -> usize {
    if arguments.tour == 0 { 1 } else { arguments.tour as usize }
}

/// What one launch of a timed kernel left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Timing {
    pub(crate) rate: Rate,
    /// All at the first place, then all at the next one.
    pub(crate) warps: Vec<Warp>,
    /// Places that were visited.
    pub(crate) places: usize,
}

impl Timing {
    /// What a launch left that visited so many places.
    pub(crate) fn of(words: &[u64], places: usize) -> Self {
        let (rate, warps) = words.split_at(WORDS_OF_RATE);
        Self {
            rate: Rate { nanoseconds: rate[0], cycles: rate[1] },
            warps: warps.chunks_exact(WORDS_OF_WARP).map(|warp| Warp { slowest: warp[0], fastest: warp[1] }).collect(),
            places,
        }
    }

    /// The warps at each place.
    pub(crate) fn at_each_place(&self) -> impl Iterator<Item = &[Warp]> {
        self.warps.chunks(self.warps.len().div_ceil(self.places.max(1)).max(1))
    }
}

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Bench {
    health: Health,
    limit: Duration,
    last_use: Option<Instant>,
    modules: HashMap<Program, Kernels>,
    device: Device,
    /// That of whichever program was loaded first.
    idle: Option<Idle>,
    abort: HostBuffer<u32>,
    host: HostBuffer<u64>,
    results: DeviceBuffer,
    memory: DeviceBuffer,
    /// Host memory that kernels work on instead of `memory`.
    mapped: Option<DevicePointer>,
    finding: DeviceBuffer,
    stream: Stream,
    // The last field: it is dropped after all that lives in it.
    context: Context,
}

const WORDS_OF_RATE: usize = size_of::<Rate>() / size_of::<u64>();
const WORDS_OF_WARP: usize = size_of::<Warp>() / size_of::<u64>();

impl Bench {
    /// Sets up a bench on a device with this many multiprocessors.
    pub(crate) fn new(device: Device, multiprocessors: u32) -> Result<Self, CudaError> {
        let context = Context::new(device)?;
        let warps = 2 * multiprocessors * crate::launch::arguments::MAX_BLOCK_THREADS / WARP_THREADS;
        let words = BATCH * (WORDS_OF_RATE + WORDS_OF_WARP * warps as usize);
        Ok(Self {
            health: Health::Good,
            limit: LIMIT,
            last_use: None,
            modules: HashMap::new(),
            device,
            idle: None,
            abort: HostBuffer::new(&context, 1)?,
            host: HostBuffer::new(&context, words)?,
            results: DeviceBuffer::new(&context, words * size_of::<u64>())?,
            memory: DeviceBuffer::new(&context, 1 << 20)?,
            mapped: None,
            finding: DeviceBuffer::new(&context, size_of::<Finding>())?,
            stream: Stream::new(&context)?,
            context,
        })
    }

    /// Whether it can go on.
    pub(crate) const fn health(&self) -> Health {
        self.health
    }

    /// Takes the bench down, unless a kernel occupies it: that would mean to wait for one that does not end. The end of
    /// the process takes it down then.
    pub(crate) fn retire(self) {
        if self.health == Health::Occupied {
            std::mem::forget(self);
        }
    }

    /// The context, for what is launched by other means. It is the calling thread's from here on.
    pub(crate) fn context(&self) -> Result<&Context, CudaError> {
        self.context.make_current()?;
        Ok(&self.context)
    }

    /// Has kernels work on memory of the host while `run` lasts.
    pub(crate) fn on_memory_of_host<R>(
        &mut self,
        memory: &HostBuffer<u64>,
        run: impl FnOnce(&mut Self) -> Result<R, Outage>,
    ) -> Result<R, Outage> {
        self.context.make_current()?;
        self.mapped = Some(memory.device_pointer()?);
        let result = run(self);
        self.mapped = None;
        result
    }

    /// Notes that someone else's kernel broke the context or occupies the device.
    pub(crate) const fn suffered(&mut self, health: Health) {
        self.health = health;
    }

    /// Notes that the device had something to do.
    pub(crate) fn was_used(&mut self) {
        self.last_use = Some(Instant::now());
    }

    /// Changes how long a batch may take.
    pub(crate) const fn set_limit(&mut self, limit: Option<Duration>) {
        self.limit = match limit {
            Some(limit) => limit,
            None => LIMIT,
        };
    }

    /// How long the device has had nothing to do.
    pub(crate) fn idle(&self) -> Option<Duration> {
        self.last_use.map(|moment| moment.elapsed())
    }

    /// Loads a program, once.
    pub(crate) fn load(&mut self, program: &Program, cubin: &[u8]) -> Result<Kernels, CudaError> {
        // First of all: what is asked of the kernels next is asked in this context, and there may be others.
        self.context.make_current()?;
        if let Some(kernels) = self.modules.get(program) {
            return Ok(*kernels);
        }
        let kernels = self.load_now(cubin).map_err(|error| self.judged(error))?;
        self.modules.insert(program.clone(), kernels);
        Ok(kernels)
    }

    fn load_now(&mut self, cubin: &[u8]) -> Result<Kernels, CudaError> {
        self.context.make_current()?;
        let module = Module::load(&self.context, cubin)?;
        let function = |name: &CStr| module.function(name);
        if self.idle.is_none() {
            self.idle = Some(Idle::of(module, self.device)?);
        }
        Ok(Kernels { baseline: function(c"baseline")?, test: function(c"test")?, check: function(c"check")? })
    }

    /// Provides `bytes` of variables, all zero.
    pub(crate) fn clear_memory(&mut self, bytes: usize) -> Result<(), CudaError> {
        self.clear_now(bytes).map_err(|error| self.judged(error))
    }

    fn clear_now(&mut self, bytes: usize) -> Result<(), CudaError> {
        self.context.make_current()?;
        if bytes > self.memory.bytes() {
            // Given back first: a device may not have room for both.
            self.memory = DeviceBuffer::new(&self.context, 1)?;
            self.memory = DeviceBuffer::new(&self.context, bytes)?;
        }
        self.stream.clear(&self.memory, bytes)
    }

    /// Runs timed kernels one after the other and waits for all of them. Many go in batches, each with one copy of its
    /// results and one wait.
    pub(crate) fn run(&mut self, shape: Shape, launches: &[Launch]) -> Result<Vec<Timing>, Outage> {
        self.context.make_current()?;
        let words = launches.iter().map(|launch| launch.words(shape)).max().unwrap_or(1);
        let room = self.results.bytes() / size_of::<u64>() / words;
        if room == 0 {
            return Err(Outage::TooLarge(shape.warps()));
        }
        let mut timings = Vec::with_capacity(launches.len());
        for batch in launches.chunks(room.min(BATCH)) {
            let used = batch.len() * words;
            profile::time(Phase::Queue, || {
                for (slot, launch) in batch.iter().enumerate() {
                    self.queue(shape, launch, slot * words)?;
                }
                let copied = self.stream.copy_to_host(&self.results, &mut self.host, used * size_of::<u64>());
                copied.map_err(|error| self.broken(error))
            })?;
            profile::time(Phase::Wait, || self.wait())?;
            let left = self.host.values()[..used].chunks_exact(words).zip(batch);
            timings.extend(
                left.map(|(words, launch)| Timing::of(&words[..launch.words(shape)], places_of(&launch.arguments))),
            );
        }
        Ok(timings)
    }

    /// Runs kernels `check` and waits for what they find together.
    pub(crate) fn check(&mut self, shape: Shape, launches: &[Launch]) -> Result<Finding, Outage> {
        self.context.make_current()?;
        self.stream.clear(&self.finding, size_of::<Finding>()).map_err(|error| self.broken(error))?;
        for launch in launches {
            self.queue(shape, launch, 0)?;
        }
        self.stream
            .copy_to_host(&self.finding, &mut self.host, size_of::<Finding>())
            .map_err(|error| self.broken(error))?;
        self.wait()?;
        Ok(finding_of(self.host.values()))
    }

    /// Queues a launch whose results start at `word`, after what puts its blocks in order.
    fn queue(&mut self, shape: Shape, launch: &Launch, word: usize) -> Result<(), Outage> {
        let rate = self.results.pointer() + (word * size_of::<u64>()) as u64;
        let arguments = Arguments {
            memory: self.mapped.unwrap_or(self.memory.pointer()) + launch.offset as u64,
            rate,
            warps: rate + size_of::<Rate>() as u64,
            finding: self.finding.pointer(),
            abort: self.abort.device_pointer()?,
            ..launch.arguments
        };
        let ordered = self.idle.map_or(Ok(()), |idle| launch.order.queue(&self.stream, idle));
        let queued =
            ordered.and_then(|()| self.stream.launch(launch.function, shape.blocks, shape.threads, &arguments));
        queued.map_err(|error| self.broken(error))
    }

    /// Waits until everything queued is done, but not for ever.
    fn wait(&mut self) -> Result<(), Outage> {
        let done = self.wait_until(self.limit)?;
        self.last_use = Some(Instant::now());
        if done {
            return Ok(());
        }
        // Kernels that spin look at this word.
        self.abort.write_volatile(0, 1);
        let stopped = self.wait_until(GRACE);
        self.abort.write_volatile(0, 0);
        if !stopped? {
            self.health = Health::Occupied;
        }
        Err(Outage::TimedOut(self.limit))
    }

    /// Waits until everything queued is done; `false` if that lasts longer than `limit`.
    fn wait_until(&mut self, limit: Duration) -> Result<bool, Outage> {
        self.stream.wait_until(limit).map_err(|error| self.broken(error))
    }

    /// Not every error of a call that launches nothing means that the context is broken.
    fn judged(&mut self, error: CudaError) -> CudaError {
        if error.is_fatal() {
            self.health = Health::Broken;
        }
        error
    }

    /// An error of a kernel makes its context unusable, and shows in whatever call comes next.
    fn broken(&mut self, error: CudaError) -> Outage {
        self.health = Health::Broken;
        error.into()
    }
}

/// The words of a finding; CUDA devices and their hosts are little-endian.
pub(crate) fn finding_of(words: &[u64]) -> Finding {
    Finding { mismatches: words[0] as u32, thread: (words[0] >> 32) as u32, expected: words[1], found: words[2] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_warp_is_a_warp() {
        assert_eq!(Shape { blocks: 3, threads: 1 }.warps(), 3);
        assert_eq!(Shape { blocks: 3, threads: 33 }.warps(), 6);
        assert_eq!(Shape { blocks: 264, threads: 1024 }.warps(), 8448);
    }

    #[test]
    fn results_are_read_as_they_are_written() {
        let words = [100, 198, 7, 5, 9, 6];
        let (one, other) = (Warp { slowest: 7, fastest: 5 }, Warp { slowest: 9, fastest: 6 });
        let timing = Timing::of(&words, 1);
        assert_eq!(timing.rate, Rate { nanoseconds: 100, cycles: 198 });
        assert_eq!(timing.at_each_place().collect::<Vec<_>>(), [&[one, other][..]]);
        let tour = Timing::of(&words, 2);
        assert_eq!(tour.at_each_place().collect::<Vec<_>>(), [&[one][..], &[other][..]]);
        let finding = finding_of(&[(5 << 32) | 2, 10, 11]);
        assert_eq!(finding, Finding { mismatches: 2, thread: 5, expected: 10, found: 11 });
    }
}
