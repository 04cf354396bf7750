//! One of the devices: its context, its queue, its memory, and the programs loaded on it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::ledger::{Ledger, WORDS_OF_LEDGER};
use super::stage::{Stage, WORD};
use super::{GRACE, Role, Round};
use crate::cuda::compile::Program;
use crate::cuda::driver::{Context, Device, DeviceBuffer, HostBuffer, Module, Part, Stream};
use crate::cuda::error::CudaError;
use crate::launch::arguments::{Arguments, DevicePointer, Rate};
use crate::launch::bench::Kernels;
use crate::launch::block_order::Idle;

/// A program, loaded on one device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loaded {
    pub(super) kernels: Kernels,
    pub(super) idle: Idle,
    pub(super) roster: DevicePointer,
}

/// One device.
#[derive(Debug)]
pub(super) struct Station {
    pub(super) device: Device,
    loaded: HashMap<Program, Loaded>,
    pub(super) abort: HostBuffer<u32>,
    pub(super) host: HostBuffer<u64>,
    pub(super) results: DeviceBuffer,
    pub(super) memory: DeviceBuffer,
    pub(super) stream: Stream,
    // The last field: it is dropped after all that lives in it.
    pub(super) context: Context,
}

impl Station {
    pub(super) fn new(device: Device) -> Result<Self, CudaError> {
        let context = Context::new(device)?;
        Ok(Self {
            device,
            loaded: HashMap::new(),
            abort: HostBuffer::new(&context, 1)?,
            host: HostBuffer::new(&context, WORDS_OF_LEDGER)?,
            results: DeviceBuffer::new(&context, size_of::<Ledger>())?,
            memory: DeviceBuffer::new(&context, 1)?,
            stream: Stream::new(&context)?,
            context,
        })
    }

    pub(super) fn load(&mut self, program: &Program, cubin: &[u8]) -> Result<Loaded, CudaError> {
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
        let loaded = Loaded { kernels, idle, roster: module.variable(c"roster")? };
        self.loaded.insert(program.clone(), loaded);
        Ok(loaded)
    }

    /// Provides memory, all zero, and room for results, with an empty ledger.
    pub(super) fn provide(&mut self, bytes: usize, result_words: usize) -> Result<(), CudaError> {
        self.context.make_current()?;
        if bytes > self.memory.bytes() {
            self.memory = DeviceBuffer::new(&self.context, bytes)?;
        }
        if result_words * WORD > self.results.bytes() {
            self.results = DeviceBuffer::new(&self.context, result_words * WORD)?;
            self.host = HostBuffer::new(&self.context, result_words)?;
        }
        self.stream.clear(&self.memory, bytes)?;
        self.stream.clear(&self.results, size_of::<Ledger>())
    }

    /// Waits for the clearing of memory; nothing else is queued.
    pub(super) fn settle(&self) -> Result<(), CudaError> {
        self.context.make_current()?;
        let started = Instant::now();
        while !self.stream.is_done()? && started.elapsed() < GRACE {
            std::hint::spin_loop();
        }
        Ok(())
    }

    pub(super) fn wait_until(&self, limit: Duration) -> Result<bool, CudaError> {
        self.context.make_current()?;
        self.stream.wait_until(limit)
    }

    /// The kernel and arguments of a round on this device.
    pub(super) fn part(
        &self,
        stage: &Stage,
        loaded: &Loaded,
        round: &Round,
        slot: usize,
    ) -> Result<Part<'_>, CudaError> {
        let rate = self.results.pointer() + ((WORDS_OF_LEDGER + slot * stage.words()) * WORD) as u64;
        let arguments = Arguments {
            memory: self.memory.pointer() + (stage.layout.places + round.offset) as u64,
            rate,
            warps: rate + size_of::<Rate>() as u64,
            abort: self.abort.device_pointer()?,
            ..round.arguments
        };
        let Kernels { baseline, test, check } = loaded.kernels;
        let function = match round.role {
            Role::Baseline => baseline,
            Role::Test => test,
            Role::Check => check,
        };
        Ok(Part { stream: &self.stream, function, arguments })
    }
}

impl Drop for Station {
    fn drop(&mut self) {
        // What it owns is given back in its context.
        let _ = self.context.make_current();
    }
}
