//! The loaded driver, its devices, their properties, their access to each other's memory, and contexts.

use crate::cuda::driver::library::{self, Driver, checked, written};
use crate::cuda::error::Called;
use cudarc::driver::sys;
use std::ffi::{CStr, c_int};
use std::ptr;
use syncscope_core::Waits;

impl Driver {
    /// The device with this number.
    pub(crate) fn device(self, index: u32) -> Called<Device> {
        // SAFETY: the pointer is valid for the call; the driver checks the number.
        let handle = written("cuDeviceGet", |handle| unsafe { sys::cuDeviceGet(handle, index.cast_signed()) })?;
        Ok(Device { driver: self, handle })
    }
}

/// The number of devices.
pub(crate) fn device_count(_initialized: Driver) -> Called<u32> {
    // SAFETY: the pointer is valid for the call.
    written("cuDeviceGetCount", |count| unsafe { sys::cuDeviceGetCount(count) }).map(c_int::unsigned_abs)
}

/// An address in device memory, or of host memory that the device can access.
pub(crate) type DevicePointer = u64;

/// A device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Device {
    driver: Driver,
    pub(super) handle: sys::CUdevice,
}

/// A numeric property of a device.
pub(crate) use sys::CUdevice_attribute as Attribute;

/// A numeric property of the connection from one device to another.
pub(crate) use sys::CUdevice_P2PAttribute as PeerAttribute;

impl Device {
    /// The device's name.
    pub(crate) fn name(self) -> Called<String> {
        const LENGTH: c_int = 256;
        let mut name = [0_u8; LENGTH as usize];
        // SAFETY: the buffer is as long as said; the driver ends the text with a zero.
        checked("cuDeviceGetName", unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast(), LENGTH, self.handle) })?;
        let text = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(text.to_string_lossy().into_owned())
    }

    /// The value of a property.
    pub(crate) fn attribute(self, attribute: Attribute) -> Called<u32> {
        // SAFETY: the pointer is valid for the call.
        written("cuDeviceGetAttribute", |value| unsafe { sys::cuDeviceGetAttribute(value, attribute, self.handle) })
            .map(or_zero)
    }

    /// The size of the device's memory in bytes.
    pub(crate) fn memory_bytes(self) -> Called<u64> {
        // SAFETY: the pointer is valid for the call.
        let bytes = written("cuDeviceTotalMem_v2", |bytes| unsafe { sys::cuDeviceTotalMem_v2(bytes, self.handle) })?;
        Ok(bytes as u64)
    }

    /// Whether kernels of this device can access another device's memory.
    pub(crate) fn can_reach(self, other: Self) -> Called<bool> {
        let (own, other) = (self.handle, other.handle);
        // SAFETY: the pointer is valid for the call.
        let can = written("cuDeviceCanAccessPeer", |can| unsafe { sys::cuDeviceCanAccessPeer(can, own, other) })?;
        Ok(can != 0)
    }

    /// A property of the connection to another device.
    pub(crate) fn peer_attribute(self, other: Self, attribute: PeerAttribute) -> Called<u32> {
        let ask = |value| {
            // SAFETY: the pointer is valid for the call.
            unsafe { sys::cuDeviceGetP2PAttribute(value, attribute, self.handle, other.handle) }
        };
        written("cuDeviceGetP2PAttribute", ask).map(or_zero)
    }
}

/// A number from the driver, with negative values as 0.
pub(super) fn or_zero(value: c_int) -> u32 {
    value.max(0).unsigned_abs()
}

// Contexts.

/// A context of our own. An error that makes it unusable disappears with it; an error in the primary context would not.
///
/// Everything made in it must be dropped before it. A structure that owns both declares the context last.
#[derive(Debug)]
pub(crate) struct Context {
    pub(super) handle: sys::CUcontext,
    /// The device, if this is its primary context.
    primary: Option<sys::CUdevice>,
}

impl Context {
    /// Makes a context and makes it current.
    pub(crate) fn new(device: Device) -> Called<Self> {
        // The host waits by polling; see `Stream::is_done`.
        let flags = sys::CUctx_flags::CU_CTX_SCHED_AUTO as u32 | sys::CUctx_flags::CU_CTX_MAP_HOST as u32;
        // SAFETY: the pointer is valid for the call; the function is the driver's, with its documented signature.
        let create = |context| unsafe { (device.driver.create_context)(context, flags, device.handle) };
        let handle = written("cuCtxCreate", create)?;
        Ok(Self { handle, primary: None })
    }

    /// The primary context of the device, made current; libraries on top of the CUDA runtime use it. Only for those libraries:
    /// an error that makes it unusable stays in the process.
    pub(crate) fn primary(device: Device) -> Called<Self> {
        let device = device.handle;
        // SAFETY: the pointer is valid for the call.
        let retain = |context| unsafe { sys::cuDevicePrimaryCtxRetain(context, device) };
        let context = Self { handle: written("cuDevicePrimaryCtxRetain", retain)?, primary: Some(device) };
        context.make_current()?;
        Ok(context)
    }

    /// Sets how the driver waits for work in this context on behalf of the calling thread; `None`: as the driver chooses.
    pub(crate) fn wait_by(&self, waits: Option<Waits>) -> Called {
        let scheduling = match waits {
            Some(Waits::Spins) => sys::CUctx_flags::CU_CTX_SCHED_SPIN,
            Some(Waits::Yields) => sys::CUctx_flags::CU_CTX_SCHED_YIELD,
            Some(Waits::Sleeps) => sys::CUctx_flags::CU_CTX_SCHED_BLOCKING_SYNC,
            _ => sys::CUctx_flags::CU_CTX_SCHED_AUTO,
        };
        self.make_current()?;
        let flags = scheduling as u32 | sys::CUctx_flags::CU_CTX_MAP_HOST as u32;
        // SAFETY: the context is current; `waits_as_asked` says whether the driver has the function.
        checked("cuCtxSetFlags", unsafe { sys::cuCtxSetFlags(flags) })
    }

    /// Makes the context current on the calling thread. Other calls need this on a thread that did not make the context.
    pub(crate) fn make_current(&self) -> Called {
        // SAFETY: the context is alive.
        checked("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(self.handle) })
    }

    /// Allows kernels of this context to access another context's memory.
    pub(crate) fn reach(&self, other: &Self) -> Called {
        self.make_current()?;
        // SAFETY: both contexts are alive.
        match unsafe { sys::cuCtxEnablePeerAccess(other.handle, 0) } {
            sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(()),
            result => checked("cuCtxEnablePeerAccess", result),
        }
    }

    /// Copies a structure of numbers to the device and waits for the copy.
    ///
    /// # Safety
    /// `to` must be memory of this context with room for a `T`, which no kernel is reading.
    pub(crate) unsafe fn write<T: Copy>(&self, to: DevicePointer, value: &T) -> Called {
        self.make_current()?;
        // SAFETY: the caller's promise; the source is as long as said.
        checked("cuMemcpyHtoD", unsafe { sys::cuMemcpyHtoD_v2(to, ptr::from_ref(value).cast(), size_of::<T>()) })
    }
}

/// Whether the loaded driver can change how it waits in an existing context: since CUDA 12.1.
pub(crate) fn waits_as_asked() -> bool {
    library::has(&["cuCtxSetFlags"])
}

impl Drop for Context {
    fn drop(&mut self) {
        // The error has no caller to go to. A context that a kernel made unusable reports that error here again.
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
