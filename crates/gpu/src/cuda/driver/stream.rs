//! Streams: queues of work on a device.

use super::buffer::{DeviceBuffer, HostBuffer};
use super::device::Context;
use crate::cuda::driver::library::{self, checked, written};
use crate::cuda::driver::module::{Function, KernelArguments, Way};
use crate::cuda::error::Called;
use cudarc::driver::sys;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

/// A queue of work on a device.
#[derive(Debug)]
pub(crate) struct Stream(pub(super) sys::CUstream);

impl Stream {
    /// Creates a stream that does not wait for the default stream.
    pub(crate) fn new(_context: &Context) -> Called<Self> {
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the pointer is valid for the call.
        written("cuStreamCreate", |stream| unsafe { sys::cuStreamCreate(stream, flags) }).map(Self)
    }

    /// The stream's handle, for a library that queues work itself.
    pub(crate) const fn handle(&self) -> *mut c_void {
        self.0.cast()
    }

    /// Whether everything queued is done. Returns errors of kernels.
    pub(crate) fn is_done(&self) -> Called<bool> {
        // SAFETY: the stream is alive.
        match unsafe { sys::cuStreamQuery(self.0) } {
            sys::CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            result => checked("cuStreamQuery", result).map(|()| true),
        }
    }

    /// Queues the clearing of these bytes of a buffer.
    pub(crate) fn clear(&self, buffer: &DeviceBuffer, part: Range<usize>) -> Called {
        let end = part.end.min(buffer.bytes);
        let start = part.start.min(end);
        // SAFETY: the buffer has these bytes.
        checked("cuMemsetD8Async", unsafe {
            sys::cuMemsetD8Async(buffer.pointer + start as u64, 0, end - start, self.0)
        })
    }

    /// Queues the copy of the first `bytes` of a buffer into host memory, which may be read after [`Self::is_done`].
    pub(crate) fn copy_to_host(&self, from: &DeviceBuffer, to: &mut HostBuffer, bytes: usize) -> Called {
        let bytes = bytes.min(from.bytes).min(to.len * size_of::<u64>());
        // SAFETY: both buffers have as many bytes, and any bits make a word.
        checked("cuMemcpyDtoHAsync", unsafe {
            sys::cuMemcpyDtoHAsync_v2(to.pointer.cast(), from.pointer, bytes, self.0)
        })
    }

    /// Queues a kernel on a grid of `blocks` blocks, launched as the function says.
    pub(crate) fn launch<A: KernelArguments>(
        &self,
        function: Function,
        blocks: u32,
        threads: u32,
        arguments: &A,
    ) -> Called {
        let mut parameters = function.parameters(arguments)?;
        self.launch_on(function, [[blocks, 1, 1], [threads, 1, 1]], &mut parameters)
    }

    /// Queues a user's kernel on a grid of several dimensions. Each argument must have as many bytes as the kernel's PTX
    /// declares.
    pub(crate) fn launch_own(&self, function: Function, shape: [[u32; 3]; 2], arguments: &[Vec<u64>]) -> Called {
        let mut parameters: Vec<*mut c_void> = arguments.iter().map(|words| words.as_ptr().cast_mut().cast()).collect();
        self.launch_on(function, shape, &mut parameters)
    }

    fn launch_on(
        &self,
        function: Function,
        shape @ [grid, block]: [[u32; 3]; 2],
        parameters: &mut [*mut c_void],
    ) -> Called {
        let (handle, shared, parameters) = (function.handle, function.shared_bytes, parameters.as_mut_ptr());
        let ([x, y, z], [threads, more, most]) = (grid, block);
        let mut attribute = match function.way {
            Way::Plain => {
                let extra = ptr::null_mut();
                // SAFETY: a pointer for each parameter of the kernel, to as many bytes as it takes by value, which the driver
                // copies before it returns: for our kernels one structure (or nothing), whose layout is asserted when the
                // kernel is compiled. The caller provides the addresses in them.
                return checked("cuLaunchKernel", unsafe {
                    sys::cuLaunchKernel(handle, x, y, z, threads, more, most, shared, self.0, parameters, extra)
                });
            }
            Way::Cooperative => {
                // SAFETY: as above.
                return checked("cuLaunchCooperativeKernel", unsafe {
                    sys::cuLaunchCooperativeKernel(handle, x, y, z, threads, more, most, shared, self.0, parameters)
                });
            }
            Way::InClusters(size) => cluster_attribute(size),
            Way::Programmatic => {
                let id = sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
                attribute(id, |value| value.programmaticStreamSerializationAllowed = 1)
            }
        };
        let config = configuration(self.0, shape, shared, &mut attribute);
        // SAFETY: as above.
        checked("cuLaunchKernelEx", unsafe {
            sys::cuLaunchKernelEx(&raw const config, handle, parameters, ptr::null_mut())
        })
    }

    /// Queues a host function that counts its calls; see [`host_calls`]. The driver calls it on a thread of its own.
    pub(crate) fn count_on_host(&self) -> Called {
        // SAFETY: the stream is alive; the function uses a static variable alone.
        checked("cuLaunchHostFunc", unsafe { sys::cuLaunchHostFunc(self.0, Some(count_call), ptr::null_mut()) })
    }

    /// Queues a write of `value` to the first word of host memory that the device can access.
    pub(crate) fn write_to_host(&self, buffer: &HostBuffer, value: u32) -> Called {
        let pointer = buffer.device_pointer()?;
        // SAFETY: the stream is alive, and the buffer has a word.
        checked("cuStreamWriteValue32", unsafe { sys::cuStreamWriteValue32_v2(self.0, pointer, value, 0) })
    }

    /// Queues a write of `value` to the first word of a buffer.
    pub(crate) fn write_value(&self, buffer: &DeviceBuffer, value: u32) -> Called {
        // SAFETY: the stream is alive, and every buffer has a word (the driver's allocations are larger than one).
        checked("cuStreamWriteValue32", unsafe { sys::cuStreamWriteValue32_v2(self.0, buffer.pointer, value, 0) })
    }

    /// Makes later work wait until the first word of a buffer is at least `value`, modulo 2^32.
    pub(crate) fn wait_for_value(&self, buffer: &DeviceBuffer, value: u32) -> Called {
        let flags = sys::CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_GEQ as u32;
        // SAFETY: as for `write_value`.
        checked("cuStreamWaitValue32", unsafe { sys::cuStreamWaitValue32_v2(self.0, buffer.pointer, value, flags) })
    }
}

static HOST_CALLS: AtomicU32 = AtomicU32::new(0);

extern "C" fn count_call(_: *mut c_void) {
    HOST_CALLS.fetch_add(1, Ordering::Release);
}

/// How often streams have called the host function of [`Stream::count_on_host`] so far, modulo 2^32.
pub(crate) fn host_calls() -> u32 {
    HOST_CALLS.load(Ordering::Acquire)
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream is alive; work still in it runs on.
        let _ = unsafe { sys::cuStreamDestroy_v2(self.0) };
    }
}

// SAFETY: as for contexts: handles are not bound to a thread.
unsafe impl Sync for Stream {}

/// Clusters of up to this many blocks run on every device that has clusters (CUDA C++ Programming Guide, Thread Block
/// Clusters).
const PORTABLE_CLUSTER: u32 = 8;

impl Function {
    /// Returns the same kernel, launched in this way.
    ///
    /// # Errors
    /// If the device does not allow clusters that are larger than portable ones.
    pub(crate) fn launched(self, way: Way) -> Called<Self> {
        if matches!(way, Way::InClusters(blocks) if blocks > PORTABLE_CLUSTER) {
            let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
            // SAFETY: the module is loaded.
            checked("cuFuncSetAttribute", unsafe { sys::cuFuncSetAttribute(self.handle, attribute, 1) })?;
        }
        Ok(Self { way, ..self })
    }

    /// How many blocks of the kernel run at the same time on a device with this many multiprocessors; 0 if not even one cluster
    /// fits.
    pub(crate) fn resident_blocks(self, threads: u32, multiprocessors: u32) -> Called<u32> {
        Ok(match self.way {
            Way::InClusters(blocks) => self.active_clusters(blocks, threads)?.saturating_mul(blocks),
            _ => self.blocks_per_multiprocessor(threads)?.saturating_mul(multiprocessors),
        })
    }

    /// How many clusters of this size the device runs at the same time; 0 if not even one fits.
    fn active_clusters(self, blocks: u32, threads: u32) -> Called<u32> {
        let mut attribute = cluster_attribute(blocks);
        let config =
            configuration(ptr::null_mut(), [[blocks, 1, 1], [threads, 1, 1]], self.shared_bytes, &mut attribute);
        let mut clusters = 0;
        // SAFETY: the pointers are valid for the call, the module is loaded.
        let result = unsafe { sys::cuOccupancyMaxActiveClusters(&raw mut clusters, self.handle, &raw const config) };
        // The driver's results if no cluster fits.
        if matches!(result, sys::CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE | sys::CUresult::CUDA_ERROR_INVALID_VALUE) {
            return Ok(0);
        }
        checked("cuOccupancyMaxActiveClusters", result)?;
        Ok(clusters.max(0).unsigned_abs())
    }
}

/// A launch attribute; `set` assigns its value.
fn attribute(
    id: sys::CUlaunchAttributeID,
    set: impl FnOnce(&mut sys::CUlaunchAttributeValue),
) -> sys::CUlaunchAttribute {
    // SAFETY: numbers, of which any bits are values; the one that `id` chooses is set below.
    let mut attribute: sys::CUlaunchAttribute = unsafe { std::mem::zeroed() };
    attribute.id = id;
    set(&mut attribute.value);
    attribute
}

fn cluster_attribute(blocks: u32) -> sys::CUlaunchAttribute {
    attribute(sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, |value| {
        value.clusterDim.x = blocks;
        value.clusterDim.y = 1;
        value.clusterDim.z = 1;
    })
}

fn configuration(
    stream: sys::CUstream,
    [grid, block]: [[u32; 3]; 2],
    shared_bytes: u32,
    attribute: &mut sys::CUlaunchAttribute,
) -> sys::CUlaunchConfig {
    sys::CUlaunchConfig {
        gridDimX: grid[0],
        gridDimY: grid[1],
        gridDimZ: grid[2],
        blockDimX: block[0],
        blockDimY: block[1],
        blockDimZ: block[2],
        sharedMemBytes: shared_bytes,
        hStream: stream,
        attrs: ptr::from_mut(attribute),
        numAttrs: 1,
    }
}

/// One call that launches a grid on each of several devices: deprecated since CUDA 11.3, and missing in future drivers.
const MULTI_DEVICE_LAUNCH: &str = "cuLaunchCooperativeKernelMultiDevice";

/// One device's part of a launch on several devices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeviceLaunch<'a, A> {
    pub(crate) stream: &'a Stream,
    pub(crate) function: Function,
    pub(crate) arguments: A,
}

/// Whether the driver still has the call for launches on several devices.
pub(crate) fn launches_on_several_devices() -> bool {
    library::has(&[MULTI_DEVICE_LAUNCH])
}

/// Queues a kernel on each of several devices with one call; all blocks of each grid run at the same time. Only if
/// [`launches_on_several_devices`].
pub(crate) fn launch_together<A: KernelArguments>(parts: &[DeviceLaunch<'_, A>], blocks: u32, threads: u32) -> Called {
    let parameters: Called<Vec<[*mut c_void; 1]>> =
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
    checked(MULTI_DEVICE_LAUNCH, unsafe { sys::cuLaunchCooperativeKernelMultiDevice(launches.as_mut_ptr(), count, 0) })
}
