//! One device with a vector, room for results, and the kernels of the variants.

use std::collections::HashMap;
use std::time::Duration;

use syncscope_core::published::reductions::Operation;

use super::arguments::ReductionArguments;
use super::programs::{Recipe, THREADS};
use super::vector::PLANTED;
use crate::cuda::driver::{Context, DeviceBuffer, DevicePointer, Function, HostBuffer, Module, Stream};
use crate::cuda::error::{CudaError, GpuError};
use crate::launch::outage::Outage;
use crate::multi::DeviceTable;
use crate::published::device::ExperimentDevice;

/// A chain of reductions lasts some milliseconds, and its kernels end by themselves.
pub(super) const LIMIT: Duration = Duration::from_secs(10);

/// A wait inside a kernel that lasts longer has failed.
pub(super) const KERNEL_LIMIT: Duration = Duration::from_secs(1);

/// Bytes from one result to the next: a line.
pub(super) const RESULT_BYTES: usize = 128;

/// Results of the longest chain. A stream takes about 1,024 launches, and a reduction has two kernels at most.
pub(super) const MOST_RESULTS: usize = 480;

/// What the host writes for the kernel `hold`.
const OPEN: u32 = 1;

/// Blocks of the largest grid whose blocks write partial results or wait for each other.
const MOST_PARTIALS: usize = 1 << 16;

/// What is made in the context of the device.
#[derive(Debug)]
struct Buffers {
    data: DeviceBuffer,
    partials: DeviceBuffer,
    /// What waits counted (`PhaseCounts`), then a line for each result of a chain.
    results: DeviceBuffer,
    found: HostBuffer<u64>,
    state: DeviceBuffer,
    /// Never set: the host waits long enough for the limit of the kernels. Kept, because kernels read it.
    _abort: HostBuffer<u32>,
    /// Where the device sees it. Asked for once: a call of the driver for each launch would limit the launches.
    abort: DevicePointer,
    /// What the kernel `hold` waits for.
    gate: HostBuffer<u32>,
    /// Where the device sees it.
    gate_at: DevicePointer,
    /// By recipe and operation.
    loaded: HashMap<(&'static str, Operation), Loaded>,
}

/// The kernels of one variant.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loaded {
    pub(super) reduce: Function,
    /// The kernel that joins partial results.
    pub(super) combine: Option<Function>,
    /// CUB's kernel for a vector of one tile.
    pub(super) single: Option<Function>,
    /// The kernel that waits for the host.
    hold: Option<Function>,
    fill: Option<Function>,
    plant: Option<Function>,
}

/// See the module's description.
#[derive(Debug)]
pub(super) struct Session {
    /// Always there; leaked if a kernel still uses it.
    buffers: Option<Buffers>,
    /// The vector: what was filled in, and how many of its elements are reduced.
    filled: Option<(Operation, u64)>,
    planted: Option<u64>,
    capacity: u64,
    device: ExperimentDevice,
}

impl Session {
    /// With room for so many elements, or for half, a quarter and so on if the device has less memory free.
    pub(super) fn new(device: ExperimentDevice, elements: u64) -> Result<Self, GpuError> {
        let context = device.context()?;
        let (data, capacity) = allocated(context, elements)?;
        let results = (1 + MOST_RESULTS) * RESULT_BYTES;
        let (abort, gate) = (HostBuffer::new(context, 1)?, HostBuffer::new(context, 1)?);
        let buffers = Buffers {
            data,
            partials: DeviceBuffer::new(context, MOST_PARTIALS * size_of::<u32>())?,
            results: DeviceBuffer::new(context, results)?,
            found: HostBuffer::new(context, results / size_of::<u64>())?,
            // As `offset_bytes` of a barrier: a line, and two flags for each block.
            state: DeviceBuffer::new(context, RESULT_BYTES + 2 * MOST_PARTIALS)?,
            abort: abort.device_pointer()?,
            _abort: abort,
            gate_at: gate.device_pointer()?,
            gate,
            loaded: HashMap::new(),
        };
        Ok(Self { buffers: Some(buffers), filled: None, planted: None, capacity, device })
    }

    /// Elements that there is room for.
    pub(super) const fn capacity(&self) -> u64 {
        self.capacity
    }

    fn buffers(&self) -> Result<&Buffers, CudaError> {
        self.buffers.as_ref().ok_or_else(|| missing("the buffers"))
    }

    pub(super) fn stream(&self) -> Result<&Stream, CudaError> {
        self.device.stream()
    }

    pub(super) fn wait(&mut self) -> Result<(), Outage> {
        self.device.wait(LIMIT)
    }

    /// Loads the kernels of a variant, once.
    pub(super) fn load(&mut self, recipe: &Recipe, operation: Operation, cubin: &[u8]) -> Result<Loaded, CudaError> {
        if let Some(loaded) = self.buffers()?.loaded.get(&(recipe.id, operation)) {
            return Ok(*loaded);
        }
        let context = self.device.context()?;
        context.make_current()?;
        let module = Module::load(context, cubin)?;
        let reduce = module.function(c"reduce")?;
        let reduce = if recipe.cluster() > 0 { reduce.in_clusters(recipe.cluster())? } else { reduce };
        let own = |name| if recipe.is_cub() { Ok(None) } else { module.function(name).map(Some) };
        let loaded = Loaded {
            reduce,
            combine: if recipe.has_second { Some(module.function(c"combine")?) } else { None },
            single: if recipe.is_cub() { Some(module.function(c"single")?) } else { None },
            hold: own(c"hold")?,
            fill: own(c"fill")?,
            plant: own(c"plant")?,
        };
        if !recipe.is_cub() {
            self.write_table(&module)?;
        }
        if let Some(buffers) = self.buffers.as_mut() {
            buffers.loaded.insert((recipe.id, operation), loaded);
        }
        Ok(loaded)
    }

    /// Writes how long a wait may last, and where it counts if it lasts longer.
    fn write_table(&self, module: &Module) -> Result<(), CudaError> {
        let table = DeviceTable {
            limit_ns: u64::try_from(KERNEL_LIMIT.as_nanos()).unwrap_or(u64::MAX),
            counts: self.buffers()?.results.pointer(),
            devices: 1,
            ..DeviceTable::default()
        };
        let variable = module.variable(c"device_table")?;
        // SAFETY: it is the variable of the module that was just loaded, of this structure, and no kernel reads it yet.
        unsafe { self.device.context()?.write(variable, &table) }
    }

    /// Fills in the vector of an operation, unless it is there, and plants its largest element at the end of the first
    /// `elements`.
    pub(super) fn prepare(&mut self, loaded: &Loaded, operation: Operation, elements: u64) -> Result<(), Outage> {
        let (Some(fill), Some(plant)) = (loaded.fill, loaded.plant) else {
            return Err(missing("the kernel that fills the vector").into());
        };
        if self.filled.map(|(filled, _)| filled) != Some(operation) {
            let all = ReductionArguments { elements: self.capacity, ..self.arguments(0)? };
            self.stream()?.launch(fill, 1024, THREADS, &all)?;
            self.planted = None;
        }
        let at = |elements, count| self.arguments(0).map(|common| ReductionArguments { elements, count, ..common });
        if operation == Operation::Max && self.planted != Some(elements) {
            if let Some(before) = self.planted {
                self.stream()?.launch(plant, 1, THREADS, &at(before, 0)?)?;
            }
            self.stream()?.launch(plant, 1, THREADS, &at(elements, PLANTED)?)?;
            self.planted = Some(elements);
        }
        self.filled = Some((operation, elements));
        self.wait()
    }

    /// The addresses for one reduction, with its own place for the result.
    pub(super) fn arguments(&self, number: usize) -> Result<ReductionArguments, CudaError> {
        let buffers = self.buffers()?;
        Ok(ReductionArguments {
            data: buffers.data.pointer(),
            partials: buffers.partials.pointer(),
            result: buffers.results.pointer() + ((1 + number % MOST_RESULTS) * RESULT_BYTES) as DevicePointer,
            barrier: buffers.state.pointer(),
            abort: buffers.abort,
            ..ReductionArguments::default()
        })
    }

    /// What is queued from now on starts when the gate opens.
    pub(super) fn close_gate(&mut self, loaded: &Loaded) -> Result<(), CudaError> {
        let Some(hold) = loaded.hold else { return Err(missing("the kernel that waits for the host")) };
        let common = self.arguments(0)?;
        let Some(buffers) = self.buffers.as_mut() else { return Err(missing("the buffers")) };
        buffers.gate.write_volatile(0, 0);
        let barrier = buffers.gate_at;
        self.stream()?.launch(hold, 1, 1, &ReductionArguments { barrier, count: OPEN, ..common })
    }

    /// Lets what is behind the gate start.
    pub(super) fn open_gate(&mut self) {
        if let Some(buffers) = self.buffers.as_mut() {
            buffers.gate.write_volatile(0, OPEN);
        }
    }

    /// Clears the state of barriers, which stays from one launch to the next.
    pub(super) fn clear_state(&mut self) -> Result<(), Outage> {
        let buffers = self.buffers()?;
        self.stream()?.clear(&buffers.state, buffers.state.bytes())?;
        self.wait()
    }

    /// Sets all results and counts to 0.
    pub(super) fn clear_results(&mut self) -> Result<(), Outage> {
        let buffers = self.buffers()?;
        self.stream()?.clear(&buffers.results, buffers.results.bytes())?;
        self.wait()
    }

    /// How many of the first `count` results are `answer`.
    pub(super) fn right_results(&mut self, count: usize, answer: u32) -> Result<usize, Outage> {
        let Some(buffers) = self.buffers.as_mut() else { return Err(missing("the buffers").into()) };
        let words = (1 + count.min(MOST_RESULTS)) * RESULT_BYTES / size_of::<u64>();
        self.device.fetch(&buffers.results, &mut buffers.found, words, LIMIT)?;
        let lines = buffers.found.values()[..words].chunks_exact(RESULT_BYTES / size_of::<u64>());
        Ok(lines.skip(1).filter(|line| line[0] as u32 == answer).count())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.device.is_occupied() {
            std::mem::forget(self.buffers.take());
        } else if let Ok(context) = self.device.context() {
            // The buffers are freed in their context.
            let _ = context.make_current();
        }
    }
}

/// The vector, and how many elements it has.
fn allocated(context: &Context, elements: u64) -> Result<(DeviceBuffer, u64), CudaError> {
    let mut elements = elements.max(1);
    loop {
        let bytes = usize::try_from(elements.saturating_mul(4)).unwrap_or(usize::MAX).next_multiple_of(16);
        match DeviceBuffer::new(context, bytes) {
            Ok(buffer) => return Ok((buffer, elements)),
            Err(error) if error.is_out_of_memory() && elements > 1 << 20 => elements /= 2,
            Err(error) => return Err(error),
        }
    }
}

/// Cannot happen while the session lives.
pub(super) fn missing(what: &str) -> CudaError {
    CudaError { call: "cuLaunchKernel", code: 0, name: String::new(), text: format!("{what} is gone") }
}
