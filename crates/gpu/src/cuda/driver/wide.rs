//! What launches wider than a block need: clusters, cooperative grids, and devices that reach each other's memory.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use cudarc::driver::sys;

use super::{Context, Device, DevicePointer, Function, KernelArguments, Module, Stream, checked};
use crate::cuda::error::CudaError;

/// Functions this file calls; the newest came with CUDA 11.8.
pub(super) const FUNCTIONS: [&str; 9] = [
    "cuLaunchKernelEx",
    "cuLaunchCooperativeKernel",
    "cuOccupancyMaxActiveClusters",
    "cuFuncSetAttribute",
    "cuModuleGetGlobal_v2",
    "cuMemcpyHtoD_v2",
    "cuDeviceCanAccessPeer",
    "cuDeviceGetP2PAttribute",
    "cuCtxEnablePeerAccess",
];

/// One call for a grid on each of several devices: deprecated since CUDA 11.3, and one day gone.
const MULTI_DEVICE_LAUNCH: &[u8] = b"cuLaunchCooperativeKernelMultiDevice";

/// What the driver says of a property of the way from one device to another.
pub(crate) use sys::CUdevice_P2PAttribute as PeerAttribute;

/// Clusters of up to this many blocks run on every device that has clusters (CUDA C++ Programming Guide, Thread Block
/// Clusters).
const PORTABLE_CLUSTER: u32 = 8;

impl Function {
    /// The same kernel, launched in clusters of so many blocks.
    ///
    /// # Errors
    /// If the device does not allow larger clusters than portable ones.
    pub(crate) fn in_clusters(self, blocks: u32) -> Result<Self, CudaError> {
        if blocks > PORTABLE_CLUSTER {
            let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
            // SAFETY: the module is loaded.
            checked("cuFuncSetAttribute", unsafe { sys::cuFuncSetAttribute(self.handle, attribute, 1) })?;
        }
        Ok(Self { cluster: blocks, ..self })
    }

    /// How many clusters of its size the device holds at the same time; 0 if it cannot hold one.
    pub(crate) fn active_clusters(self, threads: u32) -> Result<u32, CudaError> {
        let mut attribute = cluster_attribute(self.cluster);
        let config = configuration(ptr::null_mut(), self.cluster, threads, &mut attribute);
        let mut clusters = 0;
        // SAFETY: the pointers are valid for the call, the module is loaded.
        let result = unsafe { sys::cuOccupancyMaxActiveClusters(&raw mut clusters, self.handle, &raw const config) };
        // The driver's answers where no cluster fits.
        if matches!(result, sys::CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE | sys::CUresult::CUDA_ERROR_INVALID_VALUE) {
            return Ok(0);
        }
        checked("cuOccupancyMaxActiveClusters", result)?;
        Ok(clusters.max(0).unsigned_abs())
    }
}

fn cluster_attribute(blocks: u32) -> sys::CUlaunchAttribute {
    // SAFETY: numbers, of which any bits are values; the one that `id` chooses is set below.
    let mut attribute: sys::CUlaunchAttribute = unsafe { std::mem::zeroed() };
    attribute.id = sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = blocks;
    attribute.value.clusterDim.y = 1;
    attribute.value.clusterDim.z = 1;
    attribute
}

fn configuration(
    stream: sys::CUstream,
    blocks: u32,
    threads: u32,
    attribute: &mut sys::CUlaunchAttribute,
) -> sys::CUlaunchConfig {
    sys::CUlaunchConfig {
        gridDimX: blocks,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: threads,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 0,
        hStream: stream,
        attrs: ptr::from_mut(attribute),
        numAttrs: 1,
    }
}

impl Module {
    /// The address of a variable of the module.
    pub(crate) fn variable(&self, name: &CStr) -> Result<DevicePointer, CudaError> {
        let (mut pointer, mut bytes) = (0, 0);
        // SAFETY: the pointers are valid for the call, the module is loaded.
        checked("cuModuleGetGlobal", unsafe {
            sys::cuModuleGetGlobal_v2(&raw mut pointer, &raw mut bytes, self.handle, name.as_ptr())
        })?;
        Ok(pointer)
    }
}

impl Context {
    /// Copies a structure of numbers to the device, and waits for it.
    ///
    /// # Safety
    /// `to` must be memory of this context with room for a `T`, which no kernel is reading.
    pub(crate) unsafe fn write<T: Copy>(&self, to: DevicePointer, value: &T) -> Result<(), CudaError> {
        self.make_current()?;
        // SAFETY: the caller's promise; the source is as long as said.
        checked("cuMemcpyHtoD", unsafe { sys::cuMemcpyHtoD_v2(to, ptr::from_ref(value).cast(), size_of::<T>()) })
    }

    /// Lets kernels of this context use the memory of another one.
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
    /// Whether kernels here can use the memory of another device.
    pub(crate) fn can_reach(self, other: Self) -> Result<bool, CudaError> {
        let mut can = 0;
        // SAFETY: the pointer is valid for the call.
        checked("cuDeviceCanAccessPeer", unsafe {
            sys::cuDeviceCanAccessPeer(&raw mut can, self.handle, other.handle)
        })?;
        Ok(can != 0)
    }

    /// A property of the way to another device.
    pub(crate) fn peer_attribute(self, other: Self, attribute: PeerAttribute) -> Result<u32, CudaError> {
        let mut value = 0;
        // SAFETY: the pointer is valid for the call.
        checked("cuDeviceGetP2PAttribute", unsafe {
            sys::cuDeviceGetP2PAttribute(&raw mut value, attribute, self.handle, other.handle)
        })?;
        Ok(value.max(0).unsigned_abs())
    }
}

/// One kernel on one device, of those that one call launches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a, A> {
    pub(crate) stream: &'a Stream,
    pub(crate) function: Function,
    pub(crate) arguments: A,
}

impl Stream {
    /// Queues a kernel in clusters.
    pub(super) fn launch_in_clusters<A: KernelArguments>(
        &self,
        function: Function,
        blocks: u32,
        threads: u32,
        arguments: &A,
    ) -> Result<(), CudaError> {
        let mut attribute = cluster_attribute(function.cluster);
        let config = configuration(self.0, blocks, threads, &mut attribute);
        let mut parameters = function.parameters(arguments)?;
        // SAFETY: as for every launch; see `Stream::launch`.
        checked("cuLaunchKernelEx", unsafe {
            sys::cuLaunchKernelEx(&raw const config, function.handle, parameters.as_mut_ptr(), ptr::null_mut())
        })
    }

    /// Queues a kernel whose blocks all run at the same time. An error if they cannot.
    pub(crate) fn launch_cooperatively<A: KernelArguments>(
        &self,
        function: Function,
        blocks: u32,
        threads: u32,
        arguments: &A,
    ) -> Result<(), CudaError> {
        let mut parameters = function.parameters(arguments)?;
        // SAFETY: as for every launch; see `Stream::launch`.
        checked("cuLaunchCooperativeKernel", unsafe {
            sys::cuLaunchCooperativeKernel(
                function.handle,
                blocks,
                1,
                1,
                threads,
                1,
                1,
                0,
                self.0,
                parameters.as_mut_ptr(),
            )
        })
    }
}

/// Whether the driver still launches on several devices by one call.
pub(crate) fn launches_on_several_devices() -> bool {
    // SAFETY: the library is loaded for as long as the process lives; the symbol is looked up and not called.
    unsafe { sys::culib().get::<unsafe extern "C" fn()>(MULTI_DEVICE_LAUNCH) }.is_ok()
}

/// Queues a kernel on each of several devices by one call, each grid with all its blocks at the same time. Only if
/// [`launches_on_several_devices`].
pub(crate) fn launch_together<A: KernelArguments>(
    parts: &[Part<'_, A>],
    blocks: u32,
    threads: u32,
) -> Result<(), CudaError> {
    let parameters: Result<Vec<[*mut c_void; 1]>, CudaError> =
        parts.iter().map(|part| part.function.parameters(&part.arguments)).collect();
    let mut parameters = parameters?;
    let mut launches: Vec<sys::CUDA_LAUNCH_PARAMS> = parts
        .iter()
        .zip(&mut parameters)
        .map(|(part, parameters)| sys::CUDA_LAUNCH_PARAMS {
            function: part.function.handle,
            gridDimX: blocks,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            hStream: part.stream.0,
            kernelParams: parameters.as_mut_ptr(),
        })
        .collect();
    let count = c_int::try_from(launches.len()).unwrap_or(c_int::MAX).unsigned_abs();
    // SAFETY: the list is as long as said; each entry is a launch like any other, on a stream of its own device.
    checked("cuLaunchCooperativeKernelMultiDevice", unsafe {
        sys::cuLaunchCooperativeKernelMultiDevice(launches.as_mut_ptr(), count, 0)
    })
}
