//! One of several devices that reduce together, with its part of the vector.

use syncscope_core::published::reductions::Operation;

use super::arguments::ReductionArguments;
use super::programs::THREADS;
use super::session::{KERNEL_LIMIT, missing};
use super::vector::PLANTED;
use crate::cuda::driver::{Context, Device, DeviceBuffer, DevicePointer, Event, Function, HostBuffer, Module};
use crate::cuda::error::CudaError;
use crate::multi::DeviceTable;
use crate::published::device::ExperimentDevice;

/// `MOST_MEMBERS` in `kernels/published_reductions.cu`.
pub(super) const MOST_MEMBERS: usize = 8;

/// Words that each device has for the others: one from each, for every other reduction.
const WORDS: usize = 2 * MOST_MEMBERS;

/// Bytes of partial results: a word of each block, and at the end a word of each device.
const PARTIALS: usize = 1 << 16;
const PARTS_AT: usize = PARTIALS - MOST_MEMBERS * size_of::<u32>();

/// The kernels on one device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kernels {
    pub(super) alone: Function,
    pub(super) together: Function,
    /// Joins partial results.
    pub(super) combine: Function,
    fill: Function,
    plant: Function,
}

/// One device with its part of the vector.
#[derive(Debug)]
pub(super) struct Member {
    data: DeviceBuffer,
    partials: DeviceBuffer,
    counter: DeviceBuffer,
    pub(super) words: DeviceBuffer,
    counts: DeviceBuffer,
    /// Never set; see `Session`.
    _abort: HostBuffer<u32>,
    abort: DevicePointer,
    pub(super) kernels: Option<Kernels>,
    pub(super) elements: u64,
    /// Of the first device: its last reduction is done; of others: their part of one is.
    pub(super) event: Event,
    pub(super) device: ExperimentDevice,
}

impl Drop for Member {
    fn drop(&mut self) {
        // The fields are dropped next, in their context.
        let _ = self.device.context().and_then(Context::make_current);
    }
}

impl Member {
    pub(super) fn new(device: Device, elements: u64) -> Result<Self, CudaError> {
        let device = ExperimentDevice::on(device)?;
        let context = device.context()?;
        let bytes = usize::try_from(elements * 4).unwrap_or(usize::MAX).max(16);
        let (data, partials) = (DeviceBuffer::new(context, bytes)?, DeviceBuffer::new(context, PARTIALS)?);
        let (counter, counts) = (DeviceBuffer::new(context, 128)?, DeviceBuffer::new(context, 128)?);
        let words = DeviceBuffer::new(context, WORDS * size_of::<u64>())?;
        let abort = HostBuffer::new(context, 1)?;
        for buffer in [&counter, &counts, &words] {
            device.stream()?.clear(buffer, buffer.bytes())?;
        }
        let (pointer, event) = (abort.device_pointer()?, Event::new(context)?);
        Ok(Self {
            data,
            partials,
            counter,
            words,
            counts,
            _abort: abort,
            abort: pointer,
            kernels: None,
            elements,
            event,
            device,
        })
    }

    pub(super) fn arguments(&self) -> ReductionArguments {
        ReductionArguments {
            data: self.data.pointer(),
            partials: self.partials.pointer(),
            barrier: self.counter.pointer(),
            abort: self.abort,
            elements: self.elements,
            ..ReductionArguments::default()
        }
    }

    /// Where kernels of all devices leave a word each, for a kernel of this one.
    pub(super) fn parts(&self) -> DevicePointer {
        self.partials.pointer() + PARTS_AT as DevicePointer
    }

    pub(super) fn load(&mut self, alone: &[u8], together: &[u8]) -> Result<(), CudaError> {
        let context = self.device.context()?;
        context.make_current()?;
        let (alone, together) = (Module::load(context, alone)?, Module::load(context, together)?);
        let limit_ns = u64::try_from(KERNEL_LIMIT.as_nanos()).unwrap_or(u64::MAX);
        let table = DeviceTable { limit_ns, counts: self.counts.pointer(), devices: 1, ..DeviceTable::default() };
        let variable = together.variable(c"device_table")?;
        // SAFETY: it is the variable of the module that was just loaded, of this structure, and no kernel reads it yet.
        unsafe { context.write(variable, &table) }?;
        self.kernels = Some(Kernels {
            alone: alone.function(c"reduce")?,
            together: together.function(c"reduce")?,
            combine: alone.function(c"combine")?,
            fill: alone.function(c"fill")?,
            plant: alone.function(c"plant")?,
        });
        Ok(())
    }

    /// Fills the whole part, however many of its elements are reduced.
    pub(super) fn fill(&mut self) -> Result<(), CudaError> {
        let all = ReductionArguments { elements: self.data.bytes() as u64 / 4, ..self.arguments() };
        self.launch(|kernels| kernels.fill, 1024, &all)
    }

    /// Reduces so many elements from now on, with the largest at the end or where it was filled in.
    pub(super) fn plant(&mut self, operation: Operation, elements: u64, has_largest: bool) -> Result<(), CudaError> {
        self.launch(|kernels| kernels.plant, 1, &ReductionArguments { count: 0, ..self.arguments() })?;
        self.elements = elements;
        if operation == Operation::Max && has_largest && elements > 0 {
            self.launch(|kernels| kernels.plant, 1, &ReductionArguments { count: PLANTED, ..self.arguments() })?;
        }
        Ok(())
    }

    fn launch(
        &self,
        kernel: impl Fn(&Kernels) -> Function,
        blocks: u32,
        arguments: &ReductionArguments,
    ) -> Result<(), CudaError> {
        self.device.context()?.make_current()?;
        let kernels = self.kernels.as_ref().ok_or_else(|| missing("the kernels"))?;
        if arguments.elements == 0 {
            return Ok(());
        }
        self.device.stream()?.launch(kernel(kernels), blocks, THREADS, arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_has_as_many_members() {
        let of_kernel = crate::launch::headers::constant_of("reduction.cu", "MOST_MEMBERS");
        assert_eq!(of_kernel, MOST_MEMBERS.to_string());
    }
}
