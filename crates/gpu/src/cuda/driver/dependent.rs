//! Launches and waits that depend on other work on the device: an earlier kernel, another stream, a word of memory.

use std::ptr;

use cudarc::driver::sys;

use super::buffer::DeviceBuffer;
use super::call::checked;
use super::graph::Event;
use super::module::{Function, KernelArguments};
use super::stream::Stream;
use crate::cuda::error::CudaError;

impl Stream {
    /// Queues a kernel that may start before the previous one of the stream has ended: its blocks wait for that themselves
    /// (`griddepcontrol.wait`).
    pub(crate) fn launch_programmatically<A: KernelArguments>(
        &self,
        function: Function,
        blocks: u32,
        threads: u32,
        arguments: &A,
    ) -> Result<(), CudaError> {
        // SAFETY: numbers, of which any bits are values; the one that `id` chooses is set below.
        let mut attribute: sys::CUlaunchAttribute = unsafe { std::mem::zeroed() };
        attribute.id = sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        attribute.value.programmaticStreamSerializationAllowed = 1;
        let config = sys::CUlaunchConfig {
            gridDimX: blocks,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            hStream: self.0,
            attrs: &raw mut attribute,
            numAttrs: 1,
        };
        let mut parameters = function.parameters(arguments)?;
        // SAFETY: as for every launch; see `Stream::launch`.
        checked("cuLaunchKernelEx", unsafe {
            sys::cuLaunchKernelEx(&raw const config, function.handle, parameters.as_mut_ptr(), ptr::null_mut())
        })
    }

    /// Lets what is queued from now on wait until the last recording of the event is reached.
    pub(crate) fn wait_for(&self, event: &Event) -> Result<(), CudaError> {
        // SAFETY: stream and event are alive; they may be of different contexts.
        checked("cuStreamWaitEvent", unsafe { sys::cuStreamWaitEvent(self.0, event.0, 0) })
    }

    /// Queues the writing of a value to the first word of a buffer.
    pub(crate) fn write_value(&self, buffer: &DeviceBuffer, value: u32) -> Result<(), CudaError> {
        // SAFETY: the stream is alive, and every buffer has a word (the driver's allocations are larger than one).
        checked("cuStreamWriteValue32", unsafe { sys::cuStreamWriteValue32_v2(self.0, buffer.pointer, value, 0) })
    }

    /// Lets what is queued from now on wait until the first word of a buffer is at least `value`, modulo 2^32.
    pub(crate) fn wait_for_value(&self, buffer: &DeviceBuffer, value: u32) -> Result<(), CudaError> {
        let flags = sys::CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_GEQ as u32;
        // SAFETY: as for `write_value`.
        checked("cuStreamWaitValue32", unsafe { sys::cuStreamWaitValue32_v2(self.0, buffer.pointer, value, flags) })
    }
}
