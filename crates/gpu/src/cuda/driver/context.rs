//! Contexts.

use std::ptr;

use cudarc::driver::sys;

use super::device::{Device, DevicePointer};
use crate::cuda::driver::library::checked;
use crate::cuda::error::CudaError;

/// A context of our own. An error that makes it unusable ends with it; an error in the primary context would not.
///
/// Everything made in it must be dropped before it. A structure that owns both declares the context last.
#[derive(Debug)]
pub(crate) struct Context {
    pub(super) handle: sys::CUcontext,
    /// The device, where this is its primary context.
    primary: Option<sys::CUdevice>,
}

impl Context {
    /// Makes a context and makes it current.
    pub(crate) fn new(device: Device) -> Result<Self, CudaError> {
        let mut handle = ptr::null_mut();
        // The host waits by polling; see `Stream::is_done`.
        let flags = sys::CUctx_flags::CU_CTX_SCHED_AUTO as u32 | sys::CUctx_flags::CU_CTX_MAP_HOST as u32;
        // SAFETY: the pointer is valid for the call; the function is the driver's, with its documented signature.
        checked("cuCtxCreate", unsafe { (device.create_context())(&raw mut handle, flags, device.handle) })?;
        Ok(Self { handle, primary: None })
    }

    /// The context of the device that libraries on top of the CUDA runtime use, made current. For such libraries alone: an
    /// error that makes it unusable stays in the process.
    pub(crate) fn primary(device: Device) -> Result<Self, CudaError> {
        let mut handle = ptr::null_mut();
        // SAFETY: the pointer is valid for the call.
        checked("cuDevicePrimaryCtxRetain", unsafe { sys::cuDevicePrimaryCtxRetain(&raw mut handle, device.handle) })?;
        let context = Self { handle, primary: Some(device.handle) };
        context.make_current()?;
        Ok(context)
    }

    /// Makes it current on the calling thread. Needed before other calls on a thread that did not make the context.
    pub(crate) fn make_current(&self) -> Result<(), CudaError> {
        // SAFETY: the context is alive.
        checked("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(self.handle) })
    }

    /// Copies a structure of numbers to the device, and waits for it.
    ///
    /// # Safety
    /// `to` must be memory of this context with room for a `T`, which no kernel is reading.
    pub(crate) unsafe fn write<T: Copy>(&self, to: DevicePointer, value: &T) -> Result<(), CudaError> {
        self.make_current()?;
        // SAFETY: the caller's promise; the source is as long as said.
        checked("cuMemcpyHtoD", unsafe { sys::cuMemcpyHtoD_v2(to, ptr::from_ref(value).cast(), size_of::<T>()) })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // There is no caller left for an error. A context that a kernel made unusable reports that error here again.
        let _ = match self.primary {
            // SAFETY: the context was retained once for this value.
            Some(device) => unsafe { sys::cuDevicePrimaryCtxRelease_v2(device) },
            // SAFETY: the context is alive and nothing of it is used any more.
            None => unsafe { sys::cuCtxDestroy_v2(self.handle) },
        };
    }
}

// SAFETY: the driver's handles may be used by every thread, also at the same time (CUDA Driver API, "Difference between
// the driver and runtime APIs": contexts are made current to threads; handles are not bound to a thread).
unsafe impl Sync for Context {}
