//! One of the devices: its context, its stream, its memory, and the programs loaded on it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::cuda::compile::Program;
use crate::cuda::driver::{Context, Device, DeviceBuffer, HostBuffer, Module, Part, Stream};
use crate::cuda::error::CudaError;
use crate::launch::arguments::{Arguments, Rate};
use crate::launch::block_order::Idle;
use crate::launch::request::Kernels;
use crate::launch::timing::WORD;
use crate::multi::group_launch::{GRACE, GroupLaunch, Role};
use crate::multi::loaded_program::{LoadedModule, LoadedProgram};
use crate::multi::phase_counts::{PhaseCounts, WORDS_OF_COUNTS};

/// One device.
#[derive(Debug)]
pub(crate) struct DeviceContext {
    pub(crate) device: Device,
    loaded: HashMap<Program, LoadedModule>,
    pub(crate) abort: HostBuffer<u32>,
    pub(crate) host: HostBuffer<u64>,
    pub(crate) results: DeviceBuffer,
    pub(crate) memory: DeviceBuffer,
    pub(crate) stream: Stream,
    // The last field: it is dropped after all that lives in it.
    pub(crate) context: Context,
}

impl DeviceContext {
    pub(crate) fn new(device: Device) -> Result<Self, CudaError> {
        let context = Context::new(device)?;
        Ok(Self {
            device,
            loaded: HashMap::new(),
            abort: HostBuffer::new(&context, 1)?,
            host: HostBuffer::new(&context, WORDS_OF_COUNTS)?,
            results: DeviceBuffer::new(&context, size_of::<PhaseCounts>())?,
            memory: DeviceBuffer::new(&context, 1)?,
            stream: Stream::new(&context)?,
            context,
        })
    }

    pub(crate) fn load(&mut self, program: &Program, cubin: &[u8]) -> Result<LoadedModule, CudaError> {
        if let Some(loaded) = self.loaded.get(program) {
            return Ok(*loaded);
        }
        self.context.make_current()?;
        let module = Module::load(&self.context, cubin)?;
        let kernels = Kernels {
            baseline: module.function(c"baseline")?,
            test: module.function(c"test")?,
            check: module.function(c"check")?,
        };
        let idle = Idle::of(module, self.device)?;
        let loaded = LoadedModule { kernels, idle, device_table: module.variable(c"roster")? };
        self.loaded.insert(program.clone(), loaded);
        Ok(loaded)
    }

    /// Provides memory and counts, all zero, and room for results.
    pub(crate) fn provide(&mut self, bytes: usize, result_words: usize) -> Result<(), CudaError> {
        self.context.make_current()?;
        if bytes > self.memory.bytes() {
            self.memory = DeviceBuffer::new(&self.context, bytes)?;
        }
        if result_words * WORD > self.results.bytes() {
            self.results = DeviceBuffer::new(&self.context, result_words * WORD)?;
            self.host = HostBuffer::new(&self.context, result_words)?;
        }
        self.stream.clear(&self.memory, bytes)?;
        self.stream.clear(&self.results, size_of::<PhaseCounts>())
    }

    /// Waits until memory is cleared; nothing else is queued.
    pub(crate) fn settle(&self) -> Result<(), CudaError> {
        self.context.make_current()?;
        let started = Instant::now();
        while !self.stream.is_done()? && started.elapsed() < GRACE {
            std::hint::spin_loop();
        }
        Ok(())
    }

    pub(crate) fn wait_until(&self, limit: Duration) -> Result<bool, CudaError> {
        self.context.make_current()?;
        self.stream.wait_until(limit)
    }

    /// The kernel and the arguments of a launch on this device.
    pub(crate) fn part(
        &self,
        program: &LoadedProgram,
        module: &LoadedModule,
        launch: &GroupLaunch,
        slot: usize,
    ) -> Result<Part<'_>, CudaError> {
        let rate = self.results.pointer() + ((WORDS_OF_COUNTS + slot * program.words()) * WORD) as u64;
        let arguments = Arguments {
            memory: self.memory.pointer() + (program.layout.offsets + launch.offset) as u64,
            rate,
            warps: rate + size_of::<Rate>() as u64,
            abort: self.abort.device_pointer()?,
            ..launch.arguments
        };
        let Kernels { baseline, test, check } = module.kernels;
        let function = match launch.role {
            Role::Baseline => baseline,
            Role::Test => test,
            Role::Check => check,
        };
        Ok(Part { stream: &self.stream, function, arguments })
    }
}

impl Drop for DeviceContext {
    fn drop(&mut self) {
        // Its buffers are freed in its context.
        let _ = self.context.make_current();
    }
}
