//! Access of a device to the memory of another one.

use cudarc::driver::sys;

use super::call::checked;
use super::context::Context;
use super::device::Device;
use crate::cuda::error::CudaError;

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
