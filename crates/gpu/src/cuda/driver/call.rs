//! Results of calls of the driver as errors with their explanation.

use std::ffi::{CStr, c_char};
use std::ptr;

use cudarc::driver::sys;

use crate::cuda::error::CudaError;

/// A function of the driver that explains a result.
type Describe = unsafe fn(sys::CUresult, *mut *const c_char) -> sys::CUresult;

/// The result of a call as an error with the name and the explanation of the driver.
pub(super) fn checked(call: &'static str, result: sys::CUresult) -> Result<(), CudaError> {
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
