//! The CUDA driver, as far as it is needed: every raw call of it stands in this file, in [`buffer`], in [`launching`] and
//! in [`wide`].
//!
//! cudarc loads the driver at run time and panics where the library or a function is missing; [`load`] asks first.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::size_of;
use std::ptr;
use std::sync::OnceLock;

use cudarc::driver::sys;

use crate::cuda::error::{CudaError, GpuError};

mod buffer;
mod launching;
mod wide;

pub(crate) use buffer::{DeviceBuffer, DevicePointer, HostBuffer, Plain};
pub(crate) use launching::{Event, ExecutableGraph};
pub(crate) use wide::{Part, PeerAttribute, launch_together, launches_on_several_devices};

/// Functions this file calls. All have been in the driver since CUDA 3.2 to 6.5; a library that lacks one is no usable
/// driver.
const FUNCTIONS: [&str; 26] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDeviceTotalMem_v2",
    "cuCtxSetCurrent",
    "cuCtxDestroy_v2",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamQuery",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemHostAlloc",
    "cuMemHostGetDevicePointer_v2",
    "cuMemFreeHost",
    "cuMemcpyDtoHAsync_v2",
    "cuMemsetD8Async",
    "cuLaunchKernel",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuGetErrorName",
    "cuGetErrorString",
];

/// The same signature in every driver since CUDA 3.2. cudarc's bindings of CUDA 13 know only the call of CUDA 12.5 and
/// later, with another signature.
type CreateContext = unsafe extern "C" fn(*mut sys::CUcontext, u32, sys::CUdevice) -> sys::CUresult;

/// A driver that is loaded and initialized.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Driver {
    create_context: CreateContext,
    /// The CUDA version, 1000 * major + 10 * minor.
    version: c_int,
}

/// Loads and initializes the driver, once.
pub(crate) fn load() -> Result<Driver, GpuError> {
    static DRIVER: OnceLock<Result<Driver, GpuError>> = OnceLock::new();
    DRIVER.get_or_init(load_now).clone()
}

fn load_now() -> Result<Driver, GpuError> {
    // SAFETY: loading the driver runs its initializers, which is what every CUDA program does.
    if !unsafe { sys::is_culib_present() } {
        return Err(GpuError::NoDriver);
    }
    // SAFETY: the library is there, so this does not panic; it stays loaded from here on.
    let library = unsafe { sys::culib() };
    for function in FUNCTIONS.into_iter().chain(launching::FUNCTIONS).chain(wide::FUNCTIONS) {
        // SAFETY: the symbol is looked up and not called.
        unsafe { library.get::<unsafe extern "C" fn()>(function.as_bytes()) }
            .map_err(|_| GpuError::OldDriver(function))?;
    }
    // SAFETY: the signature is the documented one; see `CreateContext`.
    let create_context = unsafe { library.get::<CreateContext>(b"cuCtxCreate_v2") };
    let create_context = *create_context.map_err(|_| GpuError::OldDriver("cuCtxCreate_v2"))?;
    // SAFETY: no requirement but the flag 0.
    match checked("cuInit", unsafe { sys::cuInit(0) }) {
        Ok(()) => {}
        // The driver's own way to say that there is none, or none that it could use.
        Err(error) if [NO_DEVICE, NO_DRIVER_BEHIND_STUB].contains(&error.code) => return Err(no_device()),
        Err(error) => return Err(error.into()),
    }
    let mut version = 0;
    // SAFETY: the pointer is valid for the call.
    checked("cuDriverGetVersion", unsafe { sys::cuDriverGetVersion(&raw mut version) })?;
    Ok(Driver { create_context, version })
}

const NO_DEVICE: u32 = sys::CUresult::CUDA_ERROR_NO_DEVICE as u32;
const NO_DRIVER_BEHIND_STUB: u32 = sys::CUresult::CUDA_ERROR_STUB_LIBRARY as u32;

/// That no device is seen, with what hides it.
pub(crate) fn no_device() -> GpuError {
    let visible = std::env::var_os("CUDA_VISIBLE_DEVICES").map(|value| value.to_string_lossy().into_owned());
    GpuError::NoDevice { visible }
}

/// One of the driver's functions that explain a result.
type Describe = unsafe fn(sys::CUresult, *mut *const c_char) -> sys::CUresult;

/// Turns a result of the driver into an error that speaks.
fn checked(call: &'static str, result: sys::CUresult) -> Result<(), CudaError> {
    if result == sys::CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let describe = |function: Describe| {
        let mut text = ptr::null();
        // SAFETY: the pointer is valid for the call; what comes back is a static string or null.
        unsafe {
            if function(result, &raw mut text) != sys::CUresult::CUDA_SUCCESS || text.is_null() {
                return "unknown error".to_owned();
            }
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    };
    Err(CudaError {
        call,
        code: result as u32,
        name: describe(sys::cuGetErrorName),
        text: describe(sys::cuGetErrorString),
    })
}

impl Driver {
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

/// A device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Device {
    driver: Driver,
    handle: sys::CUdevice,
}

/// A property of a device that is a number.
pub(crate) use sys::CUdevice_attribute as Attribute;

impl Device {
    /// The vendor's name.
    pub(crate) fn name(self) -> Result<String, CudaError> {
        const LENGTH: c_int = 256;
        let mut name = [0_u8; LENGTH as usize];
        // SAFETY: the buffer is as long as said; the driver ends the text with a zero.
        checked("cuDeviceGetName", unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast(), LENGTH, self.handle) })?;
        let text = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(text.to_string_lossy().into_owned())
    }

    /// A property.
    pub(crate) fn attribute(self, attribute: Attribute) -> Result<u32, CudaError> {
        let mut value = 0;
        // SAFETY: the pointer is valid for the call.
        checked("cuDeviceGetAttribute", unsafe { sys::cuDeviceGetAttribute(&raw mut value, attribute, self.handle) })?;
        Ok(value.max(0).unsigned_abs())
    }

    /// Its memory in bytes.
    pub(crate) fn memory_bytes(self) -> Result<u64, CudaError> {
        let mut bytes = 0;
        // SAFETY: the pointer is valid for the call.
        checked("cuDeviceTotalMem_v2", unsafe { sys::cuDeviceTotalMem_v2(&raw mut bytes, self.handle) })?;
        Ok(bytes as u64)
    }
}

/// A context of our own: errors that make it unusable end with it, which those of the primary context do not.
///
/// What is made in it must be dropped before it; whoever holds both declares it last.
#[derive(Debug)]
pub(crate) struct Context {
    handle: sys::CUcontext,
}

impl Context {
    /// Makes a context and makes it current.
    pub(crate) fn new(device: Device) -> Result<Self, CudaError> {
        let mut handle = ptr::null_mut();
        // The host waits by asking; see `Stream::is_done`.
        let flags = sys::CUctx_flags::CU_CTX_SCHED_AUTO as u32 | sys::CUctx_flags::CU_CTX_MAP_HOST as u32;
        // SAFETY: the pointer is valid for the call; the function is the driver's, with its documented signature.
        checked("cuCtxCreate", unsafe { (device.driver.create_context)(&raw mut handle, flags, device.handle) })?;
        Ok(Self { handle })
    }

    /// Makes it the calling thread's: needed before any other call on a thread that did not make it.
    pub(crate) fn make_current(&self) -> Result<(), CudaError> {
        // SAFETY: the context is alive.
        checked("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(self.handle) })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // Nobody is left to hear of an error; a context that a kernel broke reports that one again here.
        // SAFETY: the context is alive and nothing of it is used any more.
        let _ = unsafe { sys::cuCtxDestroy_v2(self.handle) };
    }
}

/// Compiled kernels, loaded. Unloaded together with its context, never before: kernels may still run.
#[derive(Debug)]
pub(crate) struct Module {
    handle: sys::CUmodule,
    /// What each kernel takes, by its name.
    parameter_bytes: BTreeMap<String, usize>,
}

/// What a kernel takes by value: one structure, or `()` for nothing.
///
/// # Safety
/// The type must be `repr(C)` and hold numbers and device addresses alone, as the kernel's structure does.
pub(crate) unsafe trait KernelArguments: Copy {}

// SAFETY: it holds nothing.
unsafe impl KernelArguments for () {}

/// A kernel, and how it is launched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Function {
    handle: sys::CUfunction,
    /// Size of the structure it takes.
    parameter_bytes: usize,
    /// Blocks of a cluster; 0: no clusters.
    cluster: u32,
}

// SAFETY: the driver's handles may be used by every thread, also at the same time (CUDA Driver API, "Difference between
// the driver and runtime APIs": contexts are made current to threads, what lives in them belongs to none).
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}
// SAFETY: as above.
unsafe impl Sync for Stream {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Module {
    /// Loads a CUBIN into the current context.
    pub(crate) fn load(_context: &Context, cubin: &[u8]) -> Result<Self, CudaError> {
        let mut module = ptr::null_mut();
        // SAFETY: the pointer is valid for the call; a CUBIN is an ELF file, which says how long it is itself. The cache
        // hands out only what NVRTC made, by its checksum.
        checked("cuModuleLoadData", unsafe { sys::cuModuleLoadData(&raw mut module, cubin.as_ptr().cast()) })?;
        let parameter_bytes = syncscope_sass::parameter_bytes(cubin).map_err(|error| CudaError {
            call: "cuModuleLoadData",
            code: sys::CUresult::CUDA_ERROR_INVALID_IMAGE as u32,
            name: "CUDA_ERROR_INVALID_IMAGE".to_owned(),
            text: error.to_string(),
        })?;
        Ok(Self { handle: module, parameter_bytes })
    }

    /// The kernel with this name.
    pub(crate) fn function(&self, name: &CStr) -> Result<Function, CudaError> {
        let mut function = ptr::null_mut();
        // SAFETY: the pointers are valid for the call, the module is loaded.
        let found = unsafe { sys::cuModuleGetFunction(&raw mut function, self.handle, name.as_ptr()) };
        checked("cuModuleGetFunction", found)?;
        let parameter_bytes = self.parameter_bytes.get(name.to_string_lossy().as_ref()).copied().unwrap_or(0);
        Ok(Function { handle: function, parameter_bytes, cluster: 0 })
    }
}

impl Function {
    /// The parameters of a launch: a pointer to `arguments`, if they have the size that the kernel takes.
    fn parameters<A: KernelArguments>(self, arguments: &A) -> Result<[*mut c_void; 1], CudaError> {
        if size_of::<A>() == self.parameter_bytes {
            return Ok([ptr::from_ref(arguments).cast_mut().cast()]);
        }
        Err(CudaError {
            call: "cuLaunchKernel",
            code: sys::CUresult::CUDA_ERROR_INVALID_VALUE as u32,
            name: "CUDA_ERROR_INVALID_VALUE".to_owned(),
            text: format!("the kernel takes {} bytes, and the host has {}", self.parameter_bytes, size_of::<A>()),
        })
    }

    /// How many blocks of this many threads one multiprocessor holds at the same time.
    pub(crate) fn blocks_per_multiprocessor(self, threads: u32) -> Result<u32, CudaError> {
        let mut blocks = 0;
        // SAFETY: the pointer is valid for the call, the module is loaded.
        checked("cuOccupancyMaxActiveBlocksPerMultiprocessor", unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut blocks, self.handle, threads.cast_signed(), 0)
        })?;
        Ok(blocks.max(0).unsigned_abs())
    }
}

/// A queue of work on a device.
#[derive(Debug)]
pub(crate) struct Stream(sys::CUstream);

impl Stream {
    /// A queue of its own, which does not wait for the default one.
    pub(crate) fn new(_context: &Context) -> Result<Self, CudaError> {
        let mut stream = ptr::null_mut();
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the pointer is valid for the call.
        checked("cuStreamCreate", unsafe { sys::cuStreamCreate(&raw mut stream, flags) })?;
        Ok(Self(stream))
    }

    /// Whether everything queued is done. Errors of kernels show here.
    pub(crate) fn is_done(&self) -> Result<bool, CudaError> {
        // SAFETY: the stream is alive.
        match unsafe { sys::cuStreamQuery(self.0) } {
            sys::CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            result => checked("cuStreamQuery", result).map(|()| true),
        }
    }

    /// Queues a kernel on a grid of `blocks` blocks.
    pub(crate) fn launch<A: KernelArguments>(
        &self,
        function: Function,
        blocks: u32,
        threads: u32,
        arguments: &A,
    ) -> Result<(), CudaError> {
        if function.cluster > 0 {
            return self.launch_in_clusters(function, blocks, threads, arguments);
        }
        let mut parameters = function.parameters(arguments)?;
        // SAFETY: the kernel takes one structure of this size by value (or nothing), which the driver copies before it
        // returns; its layout is asserted when the kernel is compiled. Whoever launches provides the addresses in it.
        checked("cuLaunchKernel", unsafe {
            sys::cuLaunchKernel(
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
                ptr::null_mut(),
            )
        })
    }

    /// Queues the clearing of the first `bytes` of a buffer.
    pub(crate) fn clear(&self, buffer: &DeviceBuffer, bytes: usize) -> Result<(), CudaError> {
        let bytes = bytes.min(buffer.bytes);
        // SAFETY: the buffer has as many bytes.
        checked("cuMemsetD8Async", unsafe { sys::cuMemsetD8Async(buffer.pointer, 0, bytes, self.0) })
    }

    /// Queues the copy of the first `bytes` of a buffer into host memory, which may be read when
    /// [`Self::is_done`] says so.
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
