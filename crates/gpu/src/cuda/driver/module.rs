//! Modules and their kernels.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_void};
use std::ptr;

use cudarc::driver::sys;

use super::device::{Context, DevicePointer, or_zero};
use crate::cuda::driver::library::{checked, written};
use crate::cuda::error::{Called, CudaError};

/// A module with loaded kernels. It is unloaded with its context and never before, because kernels may still run.
#[derive(Debug)]
pub(crate) struct Module {
    pub(super) handle: sys::CUmodule,
    /// The size of the structure that each kernel takes, by kernel name.
    parameter_bytes: BTreeMap<String, usize>,
    /// Shared memory per block that launches of the module's kernels allocate.
    shared_bytes: u32,
}

/// The arguments of a kernel: one structure, passed by value, or `()` for none.
///
/// # Safety
/// The type must be `repr(C)` and contain only numbers and device addresses, like the structure of the kernel; or the methods
/// must name memory that does.
pub(crate) unsafe trait KernelArguments: Sized {
    /// The size of the structure.
    fn bytes(&self) -> usize {
        size_of::<Self>()
    }

    /// The address of the structure.
    fn address(&self) -> *const c_void {
        ptr::from_ref(self).cast()
    }
}

// SAFETY: it holds nothing.
unsafe impl KernelArguments for () {}

/// A kernel, and how it is launched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Function {
    pub(super) handle: sys::CUfunction,
    /// Size of the structure that the kernel takes.
    pub(super) parameter_bytes: usize,
    pub(super) way: Way,
    /// Shared memory per block that a launch allocates.
    pub(super) shared_bytes: u32,
}

/// How a kernel is launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Plain, without any guarantee.
    Plain,
    /// All blocks run at the same time, or the launch fails.
    Cooperative,
    /// In clusters of this many blocks.
    InClusters(u32),
    /// The kernel may start before the previous kernel of the stream has ended; its blocks wait for that end themselves
    /// (`griddepcontrol.wait`).
    Programmatic,
}

impl Way {
    /// Launches in clusters of this many blocks; plainly for 0.
    pub(crate) const fn in_clusters(blocks: u32) -> Self {
        if blocks == 0 { Self::Plain } else { Self::InClusters(blocks) }
    }
}

impl Module {
    /// Loads a CUBIN into the current context; launches of its kernels allocate `shared_bytes` of shared memory per block.
    pub(crate) fn load(_context: &Context, cubin: &[u8], shared_bytes: u32) -> Called<Self> {
        // SAFETY: the pointer is valid for the call; a CUBIN is an ELF file, which says how long it is itself. The cache
        // hands out only what NVRTC made, by its checksum.
        let load = |module| unsafe { sys::cuModuleLoadData(module, cubin.as_ptr().cast()) };
        let handle = written("cuModuleLoadData", load)?;
        let parameter_bytes = syncscope_sass::parameter_bytes(cubin).map_err(|error| CudaError {
            call: "cuModuleLoadData",
            code: sys::CUresult::CUDA_ERROR_INVALID_IMAGE as u32,
            name: "CUDA_ERROR_INVALID_IMAGE".to_owned(),
            text: error.to_string(),
        })?;
        Ok(Self { handle, parameter_bytes, shared_bytes })
    }

    /// Loads a user's code, as CUBIN or as PTX, which the driver compiles.
    pub(crate) fn load_own(_context: &Context, image: &[u8], shared_bytes: u32) -> Called<Self> {
        Ok(Self { handle: loaded_saying_why(image)?, parameter_bytes: BTreeMap::new(), shared_bytes })
    }

    /// The address of a variable of the module.
    pub(crate) fn variable(&self, name: &CStr) -> Called<DevicePointer> {
        let (name, mut bytes) = (name.as_ptr(), 0);
        // SAFETY: the pointers are valid for the call, the module is loaded.
        let find = |pointer| unsafe { sys::cuModuleGetGlobal_v2(pointer, &raw mut bytes, self.handle, name) };
        written("cuModuleGetGlobal", find)
    }

    /// The kernel with this name.
    pub(crate) fn function(&self, name: &CStr) -> Called<Function> {
        // SAFETY: the pointers are valid for the call, the module is loaded.
        let find = |function| unsafe { sys::cuModuleGetFunction(function, self.handle, name.as_ptr()) };
        let handle = written("cuModuleGetFunction", find)?;
        let parameter_bytes = self.parameter_bytes.get(name.to_string_lossy().as_ref()).copied().unwrap_or(0);
        if self.shared_bytes > 0 {
            let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the module is loaded; the driver refuses more than the device has.
            let set = unsafe { sys::cuFuncSetAttribute(handle, attribute, self.shared_bytes.cast_signed()) };
            checked("cuFuncSetAttribute", set).map_err(|error| CudaError {
                text: format!("{}: {} bytes of shared memory for a block", error.text, self.shared_bytes),
                ..error
            })?;
        }
        Ok(Function { handle, parameter_bytes, way: Way::Plain, shared_bytes: self.shared_bytes })
    }
}

/// Loads CUBIN or PTX into the current context. An error contains the messages of the driver's compiler.
fn loaded_saying_why(image: &[u8]) -> Called<sys::CUmodule> {
    const ROOM: usize = 4096;
    // PTX must end with a zero; an ELF file states its own length.
    let (image, mut log) = ([image, &[0]].concat(), [0_u8; ROOM]);
    let mut options =
        [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(ROOM)];
    let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
    // SAFETY: the pointers are valid for the call, and the log has as many bytes as said.
    let load = |module| unsafe { sys::cuModuleLoadDataEx(module, image.as_ptr().cast(), 2, options, values) };
    written("cuModuleLoadDataEx", load).map_err(|error| {
        let said = CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy();
        let said: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        CudaError { text: [&[error.text.as_str()], &said[..]].concat().join("; "), ..error }
    })
}

impl Function {
    /// The parameters of a launch: a pointer to `arguments`, which must have the size that the kernel takes.
    pub(super) fn parameters<A: KernelArguments>(self, arguments: &A) -> Called<[*mut c_void; 1]> {
        if arguments.bytes() == self.parameter_bytes {
            return Ok([arguments.address().cast_mut()]);
        }
        Err(CudaError {
            call: "cuLaunchKernel",
            code: sys::CUresult::CUDA_ERROR_INVALID_VALUE as u32,
            name: "CUDA_ERROR_INVALID_VALUE".to_owned(),
            text: format!("the kernel takes {} bytes, and the host has {}", self.parameter_bytes, arguments.bytes()),
        })
    }

    /// How many blocks of `threads` threads one multiprocessor runs at the same time.
    pub(crate) fn blocks_per_multiprocessor(self, threads: u32) -> Called<u32> {
        let (kernel, threads, bytes) = (self.handle, threads.cast_signed(), self.shared_bytes as usize);
        // SAFETY: the pointer is valid for the call, the module is loaded.
        let ask = |blocks| unsafe { sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, bytes) };
        written("cuOccupancyMaxActiveBlocksPerMultiprocessor", ask).map(or_zero)
    }
}

// SAFETY: as for contexts: handles are not bound to a thread.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}
