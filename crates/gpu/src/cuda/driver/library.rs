//! Loads the driver, and turns the results of its calls into errors with an explanation.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;
use std::sync::OnceLock;

use cudarc::driver::sys;
use syncscope_host::loading::undisturbed;

use crate::cuda::error::{Called, CudaError, GpuError};

/// The call's signature in every driver since CUDA 3.2. cudarc's bindings of CUDA 13 know only the call of CUDA 12.5 and later,
/// which has another signature.
type CreateContext = unsafe extern "C" fn(*mut sys::CUcontext, u32, sys::CUdevice) -> sys::CUresult;

/// A loaded and initialized driver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Driver {
    pub(super) create_context: CreateContext,
    /// The CUDA version, 1000 * major + 10 * minor.
    pub(super) version: c_int,
}

impl Driver {
    /// The CUDA version, such as (13, 0).
    pub(crate) const fn cuda_version(self) -> (u32, u32) {
        (self.version.unsigned_abs() / 1000, self.version.unsigned_abs() % 1000 / 10)
    }
}

/// The functions that every supported driver must have. The newest came with CUDA 11.8; a library without one of them is too
/// old. Each kind begins a line.
#[rustfmt::skip]
const FUNCTIONS: &[&str] = &[
    "cuInit", "cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString",
    "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute", "cuDeviceTotalMem_v2",
    "cuDeviceCanAccessPeer", "cuDeviceGetP2PAttribute",
    "cuCtxSetCurrent", "cuCtxDestroy_v2", "cuCtxEnablePeerAccess", "cuCtxGetCurrent",
    "cuModuleLoadData", "cuModuleLoadDataEx", "cuModuleUnload", "cuModuleGetFunction", "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuOccupancyMaxActiveClusters", "cuFuncSetAttribute", "cuModuleGetGlobal_v2",
    "cuStreamCreate", "cuStreamDestroy_v2", "cuStreamQuery", "cuStreamSynchronize", "cuStreamBeginCapture_v2",
    "cuStreamEndCapture", "cuStreamWaitEvent", "cuStreamWriteValue32_v2", "cuStreamWaitValue32_v2",
    "cuEventCreate", "cuEventRecord", "cuEventSynchronize", "cuEventDestroy_v2",
    "cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc", "cuMemHostGetDevicePointer_v2", "cuMemFreeHost",
    "cuMemcpyDtoHAsync_v2", "cuMemsetD8Async", "cuMemcpyHtoD_v2",
    "cuLaunchKernel", "cuLaunchCooperativeKernel", "cuLaunchKernelEx",
    "cuGraphInstantiateWithFlags", "cuGraphUpload", "cuGraphLaunch", "cuGraphExecDestroy", "cuGraphDestroy",
    "cuGraphCreate",
];

/// Loads and initializes the driver, once.
pub(crate) fn load() -> Result<Driver, GpuError> {
    static DRIVER: OnceLock<Result<Driver, GpuError>> = OnceLock::new();
    DRIVER.get_or_init(|| undisturbed(load_now)).clone()
}

fn load_now() -> Result<Driver, GpuError> {
    // SAFETY: loading the driver runs its initializers, which is what every CUDA program does.
    if !unsafe { sys::is_culib_present() } {
        return Err(GpuError::NoDriver);
    }
    // SAFETY: the library is there, so this does not panic; it stays loaded from here on.
    let library = unsafe { sys::culib() };
    for function in FUNCTIONS {
        // SAFETY: the symbol is looked up and not called.
        unsafe { library.get::<unsafe extern "C" fn()>(function.as_bytes()) }
            .map_err(|_| GpuError::OldDriver(function))?;
    }
    // SAFETY: the signature is the documented one; see `CreateContext`.
    let create_context = unsafe { library.get::<CreateContext>(b"cuCtxCreate_v2") };
    let create_context = *create_context.map_err(|_| GpuError::OldDriver("cuCtxCreate_v2"))?;
    // SAFETY: the only requirement is the flag 0.
    match checked("cuInit", unsafe { sys::cuInit(0) }) {
        Ok(()) => {}
        // There is no device, or only a stub of the driver.
        Err(error) if [NO_DEVICE, NO_DRIVER_BEHIND_STUB].contains(&error.code) => return Err(no_device()),
        Err(error) => return Err(error.into()),
    }
    // SAFETY: the pointer is valid for the call.
    let version = written("cuDriverGetVersion", |version| unsafe { sys::cuDriverGetVersion(version) })?;
    Ok(Driver { create_context, version })
}

/// Whether the loaded driver has all of these functions, which are newer than [`FUNCTIONS`].
pub(super) fn has(functions: &[&str]) -> bool {
    // SAFETY: a context exists, so the library is loaded; it stays so.
    let library = unsafe { sys::culib() };
    // SAFETY: the symbols are looked up and not called.
    functions.iter().all(|name| unsafe { library.get::<unsafe extern "C" fn()>(name.as_bytes()) }.is_ok())
}

const NO_DEVICE: u32 = sys::CUresult::CUDA_ERROR_NO_DEVICE as u32;
const NO_DRIVER_BEHIND_STUB: u32 = sys::CUresult::CUDA_ERROR_STUB_LIBRARY as u32;

/// The error that the driver sees no device, with the variable that may hide it.
pub(crate) fn no_device() -> GpuError {
    let visible = std::env::var_os("CUDA_VISIBLE_DEVICES").map(|value| value.to_string_lossy().into_owned());
    GpuError::NoDevice { visible }
}

/// The value that a call writes through its pointer, which is valid for the call.
pub(super) fn written<T: Default>(call: &'static str, write: impl FnOnce(*mut T) -> sys::CUresult) -> Called<T> {
    let mut value = T::default();
    checked(call, write(&raw mut value))?;
    Ok(value)
}

/// A function of the driver that explains a result.
type Describe = unsafe fn(sys::CUresult, *mut *const c_char) -> sys::CUresult;

/// Turns a failed result into an error with the driver's name and explanation.
pub(super) fn checked(call: &'static str, result: sys::CUresult) -> Called {
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
