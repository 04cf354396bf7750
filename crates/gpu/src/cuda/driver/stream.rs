//! Streams: queues of work on a device.

use std::ffi::c_void;
use std::ptr;

use cudarc::driver::sys;

use super::buffer::{DeviceBuffer, HostBuffer, Plain};
use super::context::Context;
use crate::cuda::driver::library::checked;
use crate::cuda::error::CudaError;

/// A queue of work on a device.
#[derive(Debug)]
pub(crate) struct Stream(pub(super) sys::CUstream);

impl Stream {
    /// A stream that does not wait for the default stream.
    pub(crate) fn new(_context: &Context) -> Result<Self, CudaError> {
        let mut stream = ptr::null_mut();
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the pointer is valid for the call.
        checked("cuStreamCreate", unsafe { sys::cuStreamCreate(&raw mut stream, flags) })?;
        Ok(Self(stream))
    }

    /// The stream for a library that queues work itself.
    pub(crate) const fn handle(&self) -> *mut c_void {
        self.0.cast()
    }

    /// Whether everything queued is done. Errors of kernels are returned here.
    pub(crate) fn is_done(&self) -> Result<bool, CudaError> {
        // SAFETY: the stream is alive.
        match unsafe { sys::cuStreamQuery(self.0) } {
            sys::CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            result => checked("cuStreamQuery", result).map(|()| true),
        }
    }

    /// Queues the clearing of the first `bytes` of a buffer.
    pub(crate) fn clear(&self, buffer: &DeviceBuffer, bytes: usize) -> Result<(), CudaError> {
        let bytes = bytes.min(buffer.bytes);
        // SAFETY: the buffer has as many bytes.
        checked("cuMemsetD8Async", unsafe { sys::cuMemsetD8Async(buffer.pointer, 0, bytes, self.0) })
    }

    /// Queues the copy of the first `bytes` of a buffer into host memory, which may be read after [`Self::is_done`].
    pub(crate) fn copy_to_host<T: Plain>(
        &self,
        from: &DeviceBuffer,
        to: &mut HostBuffer<T>,
        bytes: usize,
    ) -> Result<(), CudaError> {
        let bytes = bytes.min(from.bytes).min(to.len * size_of::<T>());
        // SAFETY: both buffers have as many bytes, and any bits make a `T`.
        checked("cuMemcpyDtoHAsync", unsafe {
            sys::cuMemcpyDtoHAsync_v2(to.pointer.cast(), from.pointer, bytes, self.0)
        })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream is alive; work still in it runs on.
        let _ = unsafe { sys::cuStreamDestroy_v2(self.0) };
    }
}

// SAFETY: as for contexts: handles are not bound to a thread.
unsafe impl Sync for Stream {}
