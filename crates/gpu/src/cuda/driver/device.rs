//! The loaded driver, its devices, their properties, and the access of one to the memory of another.

use std::ffi::{CStr, c_int};

use cudarc::driver::sys;

use crate::cuda::driver::context::Context;
use crate::cuda::driver::library::checked;
use crate::cuda::error::CudaError;

/// The same signature in every driver since CUDA 3.2. cudarc's bindings of CUDA 13 know only the call of CUDA 12.5 and
/// later, with another signature.
pub(super) type CreateContext = unsafe extern "C" fn(*mut sys::CUcontext, u32, sys::CUdevice) -> sys::CUresult;

/// A driver that is loaded and initialized.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Driver {
    create_context: CreateContext,
    /// The CUDA version, 1000 * major + 10 * minor.
    version: c_int,
}

impl Driver {
    pub(super) const fn new(create_context: CreateContext, version: c_int) -> Self {
        Self { create_context, version }
    }

    /// The CUDA version, such as (13, 0).
    pub(crate) const fn cuda_version(self) -> (u32, u32) {
        (self.version.unsigned_abs() / 1000, self.version.unsigned_abs() % 1000 / 10)
    }

    /// The device with this number.
    pub(crate) fn device(self, index: u32) -> Result<Device, CudaError> {
        let mut handle = 0;
        // SAFETY: the pointer is valid for the call; the driver checks the number.
        checked("cuDeviceGet", unsafe { sys::cuDeviceGet(&raw mut handle, index.cast_signed()) })?;
        Ok(Device { driver: self, handle })
    }
}

/// How many devices there are.
pub(crate) fn device_count(_initialized: Driver) -> Result<u32, CudaError> {
    let mut count = 0;
    // SAFETY: the pointer is valid for the call.
    checked("cuDeviceGetCount", unsafe { sys::cuDeviceGetCount(&raw mut count) })?;
    Ok(count.unsigned_abs())
}

/// An address in device memory, or one of host memory that the device can access.
pub(crate) type DevicePointer = u64;

/// A device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Device {
    driver: Driver,
    pub(super) handle: sys::CUdevice,
}

/// A numeric property of a device.
pub(crate) use sys::CUdevice_attribute as Attribute;

impl Device {
    /// The driver's function that makes contexts.
    pub(super) const fn create_context(self) -> CreateContext {
        self.driver.create_context
    }

    /// The name that the vendor gave it.
    pub(crate) fn name(self) -> Result<String, CudaError> {
        const LENGTH: c_int = 256;
        let mut name = [0_u8; LENGTH as usize];
        // SAFETY: the buffer is as long as said; the driver ends the text with a zero.
        checked("cuDeviceGetName", unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast(), LENGTH, self.handle) })?;
        let text = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(text.to_string_lossy().into_owned())
    }

    /// The value of a property.
    pub(crate) fn attribute(self, attribute: Attribute) -> Result<u32, CudaError> {
        let mut value = 0;
        // SAFETY: the pointer is valid for the call.
        checked("cuDeviceGetAttribute", unsafe { sys::cuDeviceGetAttribute(&raw mut value, attribute, self.handle) })?;
        Ok(value.max(0).unsigned_abs())
    }

    /// The size of its memory in bytes.
    pub(crate) fn memory_bytes(self) -> Result<u64, CudaError> {
        let mut bytes = 0;
        // SAFETY: the pointer is valid for the call.
        checked("cuDeviceTotalMem_v2", unsafe { sys::cuDeviceTotalMem_v2(&raw mut bytes, self.handle) })?;
        Ok(bytes as u64)
    }
}

/// A numeric property of the connection from one device to another.
pub(crate) use sys::CUdevice_P2PAttribute as PeerAttribute;

impl Context {
    /// Lets kernels of this context access the memory of another one.
    pub(crate) fn reach(&self, other: &Self) -> Result<(), CudaError> {
        self.make_current()?;
        // SAFETY: both contexts are alive.
        match unsafe { sys::cuCtxEnablePeerAccess(other.handle, 0) } {
            sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(()),
            result => checked("cuCtxEnablePeerAccess", result),
        }
    }
}

impl Device {
    /// Whether kernels of this device can access the memory of another one.
    pub(crate) fn can_reach(self, other: Self) -> Result<bool, CudaError> {
        let mut can = 0;
        // SAFETY: the pointer is valid for the call.
        checked("cuDeviceCanAccessPeer", unsafe {
            sys::cuDeviceCanAccessPeer(&raw mut can, self.handle, other.handle)
        })?;
        Ok(can != 0)
    }

    /// A property of the connection to another device.
    pub(crate) fn peer_attribute(self, other: Self, attribute: PeerAttribute) -> Result<u32, CudaError> {
        let mut value = 0;
        // SAFETY: the pointer is valid for the call.
        checked("cuDeviceGetP2PAttribute", unsafe {
            sys::cuDeviceGetP2PAttribute(&raw mut value, attribute, self.handle, other.handle)
        })?;
        Ok(value.max(0).unsigned_abs())
    }
}
