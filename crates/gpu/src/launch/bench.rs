//! The measuring bench: a context with everything that launches need, prepared before the first one.

use std::collections::HashMap;
use std::ffi::CStr;
use std::time::{Duration, Instant};

use syncscope_core::profile::{self, Phase};

use crate::cuda::compile::Program;
use crate::cuda::driver::{Context, Device, DeviceBuffer, HostBuffer, Module, Stream};
use crate::cuda::error::CudaError;
use crate::launch::arguments::{DevicePointer, Finding, MAX_BLOCK_THREADS, Rate, WARP_THREADS};
use crate::launch::block_order::Idle;
use crate::launch::outage::{Health, Outage};
use crate::launch::request::{Kernels, Launch, Shape};
use crate::launch::timing::{Timing, WORDS_OF_RATE, WORDS_OF_WARP, finding_of};

/// The largest grid that a batch of [`BATCH`] launches is prepared for has two full blocks on each multiprocessor.
const BATCH: usize = 32;

/// Kernels are asked to stop when a batch lasts longer. The longest honest one, two samples of some hundred million
/// atomic additions to one variable, takes a second.
const LIMIT: Duration = Duration::from_secs(20);

/// How long a kernel may take that was asked to stop.
const GRACE: Duration = Duration::from_secs(2);

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

impl Bench {
    /// Sets up a bench on a device with this many multiprocessors.
    pub(crate) fn new(device: Device, multiprocessors: u32) -> Result<Self, CudaError> {
        let context = Context::new(device)?;
        let warps = 2 * multiprocessors * MAX_BLOCK_THREADS / WARP_THREADS;
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

    /// Whether it can run the next launch.
    pub(crate) const fn health(&self) -> Health {
        self.health
    }

    /// Frees the bench, unless a kernel occupies the device: that would wait for a kernel that does not end. Then the end
    /// of the process frees it.
    pub(crate) fn retire(self) {
        if self.health == Health::Occupied {
            std::mem::forget(self);
        }
    }

    /// The context, for launches that the bench does not make. It is now current on the calling thread.
    pub(crate) fn context(&self) -> Result<&Context, CudaError> {
        self.context.make_current()?;
        Ok(&self.context)
    }

    /// Lets kernels work on host memory during `run`.
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

    /// Notes that a kernel launched by other means broke the context or occupies the device.
    pub(crate) const fn suffered(&mut self, health: Health) {
        self.health = health;
    }

    /// Notes that the device was busy until now.
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
        self.last_use.map(|time| time.elapsed())
    }

    /// Loads a program, once.
    pub(crate) fn load(&mut self, program: &Program, cubin: &[u8]) -> Result<Kernels, CudaError> {
        // First, because the caller uses the kernels in this context, and there may be other contexts.
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
            self.idle = Some(Idle::of(&module, self.device)?);
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
            // Freed first: a device may not have room for both.
            self.memory = DeviceBuffer::new(&self.context, 1)?;
            self.memory = DeviceBuffer::new(&self.context, bytes)?;
        }
        self.stream.clear(&self.memory, bytes)
    }

    /// Runs timed kernels one after the other and waits for all of them. They run in batches, each with one copy of its
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
            timings.extend(left.map(|(words, launch)| {
                Timing::of(&words[..launch.words(shape)], launch.arguments.common().used_offsets())
            }));
        }
        Ok(timings)
    }

    /// Runs kernels `check` and waits for what they find.
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

    /// Queues a launch whose results start at `word`, after the launches that set its block order.
    fn queue(&mut self, shape: Shape, launch: &Launch, word: usize) -> Result<(), Outage> {
        let rate = self.results.pointer() + (word * size_of::<u64>()) as u64;
        let mut arguments = launch.arguments;
        let common = arguments.common_mut();
        common.memory = self.mapped.unwrap_or(self.memory.pointer()) + launch.offset as u64;
        common.rate = rate;
        common.warps = rate + size_of::<Rate>() as u64;
        common.finding = self.finding.pointer();
        common.abort = self.abort.device_pointer()?;
        let ordered = self.idle.map_or(Ok(()), |idle| launch.order.queue(&self.stream, idle));
        let queued =
            ordered.and_then(|()| arguments.launch(&self.stream, launch.function, shape.blocks, shape.threads));
        queued.map_err(|error| self.broken(error))
    }

    /// Waits until everything queued is done, at most as long as the limit.
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

    /// An error of a kernel makes its context unusable; the next call returns it, whatever it is.
    fn broken(&mut self, error: CudaError) -> Outage {
        self.health = Health::Broken;
        error.into()
    }
}
