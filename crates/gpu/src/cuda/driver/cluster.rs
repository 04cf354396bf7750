//! Launches in clusters of blocks.

use std::ptr;

use cudarc::driver::sys;

use super::call::checked;
use super::module::{Function, KernelArguments};
use crate::cuda::error::CudaError;

/// Clusters of up to this many blocks run on every device that has clusters (CUDA C++ Programming Guide, Thread Block
/// Clusters).
const PORTABLE_CLUSTER: u32 = 8;

impl Function {
    /// The same kernel, launched in clusters of so many blocks.
    ///
    /// # Errors
    /// If the device does not allow clusters that are larger than portable ones.
    pub(crate) fn in_clusters(self, blocks: u32) -> Result<Self, CudaError> {
        if blocks > PORTABLE_CLUSTER {
            let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
            // SAFETY: the module is loaded.
            checked("cuFuncSetAttribute", unsafe { sys::cuFuncSetAttribute(self.handle, attribute, 1) })?;
        }
        Ok(Self { cluster: blocks, ..self })
    }

    /// Whether it is launched in clusters.
    pub(crate) const fn is_in_clusters(self) -> bool {
        self.cluster > 0
    }

    /// How many clusters of its size the device runs at the same time; 0 if it cannot run one.
    pub(crate) fn active_clusters(self, threads: u32) -> Result<u32, CudaError> {
        let mut attribute = cluster_attribute(self.cluster);
        let config = configuration(ptr::null_mut(), self.cluster, threads, &mut attribute);
        let mut clusters = 0;
        // SAFETY: the pointers are valid for the call, the module is loaded.
        let result = unsafe { sys::cuOccupancyMaxActiveClusters(&raw mut clusters, self.handle, &raw const config) };
        // The results of the driver if no cluster fits.
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

/// Queues a kernel in clusters on a stream.
pub(super) fn launch<A: KernelArguments>(
    stream: sys::CUstream,
    function: Function,
    blocks: u32,
    threads: u32,
    arguments: &A,
) -> Result<(), CudaError> {
    let mut attribute = cluster_attribute(function.cluster);
    let config = configuration(stream, blocks, threads, &mut attribute);
    let mut parameters = function.parameters(arguments)?;
    // SAFETY: as for every launch; see `Stream::launch`.
    checked("cuLaunchKernelEx", unsafe {
        sys::cuLaunchKernelEx(&raw const config, function.handle, parameters.as_mut_ptr(), ptr::null_mut())
    })
}
