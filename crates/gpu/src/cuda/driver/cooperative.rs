//! Cooperative launches: all blocks of a grid run at the same time, on one device or on several.

use std::ffi::{c_int, c_void};

use cudarc::driver::sys;

use super::call::checked;
use super::module::{Function, KernelArguments};
use super::stream::Stream;
use crate::cuda::error::CudaError;

/// One call for a grid on each of several devices: deprecated since CUDA 11.3, and missing in future drivers.
const MULTI_DEVICE_LAUNCH: &[u8] = b"cuLaunchCooperativeKernelMultiDevice";

/// The part of a launch on several devices that runs on one of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a, A> {
    pub(crate) stream: &'a Stream,
    pub(crate) function: Function,
    pub(crate) arguments: A,
}

impl Stream {
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

/// Whether the driver still has the call that launches on several devices.
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
