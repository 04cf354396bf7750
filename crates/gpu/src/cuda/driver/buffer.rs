//! Memory of the device, and host memory that the device can access.

use std::sync::atomic::{AtomicU32, AtomicU64};

use cudarc::driver::sys;

use super::device::{Context, DevicePointer};
use crate::cuda::driver::library::written;
use crate::cuda::error::Called;

/// Memory of the device.
#[derive(Debug)]
pub(crate) struct DeviceBuffer {
    pub(super) pointer: sys::CUdeviceptr,
    pub(super) bytes: usize,
    /// Whether a library frees the memory.
    is_borrowed: bool,
}

impl DeviceBuffer {
    /// Allocates `bytes` bytes, at least one.
    pub(crate) fn new(_context: &Context, bytes: usize) -> Called<Self> {
        let bytes = bytes.max(1);
        // SAFETY: the pointer is valid for the call.
        let pointer = written("cuMemAlloc", |pointer| unsafe { sys::cuMemAlloc_v2(pointer, bytes) })?;
        Ok(Self { pointer, bytes, is_borrowed: false })
    }

    /// Wraps a library's memory, which the library frees later.
    pub(crate) const fn borrowed(pointer: DevicePointer, bytes: usize) -> Self {
        Self { pointer, bytes, is_borrowed: true }
    }

    /// The address on the device.
    pub(crate) const fn pointer(&self) -> DevicePointer {
        self.pointer
    }

    /// The size in bytes.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        if !self.is_borrowed {
            // SAFETY: the memory is ours and no kernel uses it any more.
            let _ = unsafe { sys::cuMemFree_v2(self.pointer) };
        }
    }
}

/// Words of host memory that the device reads and writes; the host caches them.
#[derive(Debug)]
pub(crate) struct HostBuffer {
    pub(super) pointer: *mut u64,
    pub(super) len: usize,
}

impl HostBuffer {
    /// Allocates `len` words, all zero.
    pub(crate) fn new(_context: &Context, len: usize) -> Called<Self> {
        Self::with(len, sys::CU_MEMHOSTALLOC_DEVICEMAP)
    }

    /// Allocates `len` words for all contexts, at the same address in each (CUDA C++ Programming Guide, Unified Virtual
    /// Addressing).
    pub(crate) fn for_all(_context: &Context, len: usize) -> Called<Self> {
        Self::with(len, sys::CU_MEMHOSTALLOC_DEVICEMAP | sys::CU_MEMHOSTALLOC_PORTABLE)
    }

    fn with(len: usize, flags: u32) -> Called<Self> {
        let len = len.max(1);
        let bytes = len * size_of::<u64>();
        // SAFETY: the pointer is valid for the call.
        let pointer = written("cuMemHostAlloc", |pointer| unsafe { sys::cuMemHostAlloc(pointer, bytes, flags) })?;
        let pointer = pointer.cast::<u64>();
        // SAFETY: the memory is ours, of this size, and page-aligned.
        unsafe { pointer.write_bytes(0, len) };
        Ok(Self { pointer, len })
    }

    /// The address for the device.
    pub(crate) fn device_pointer(&self) -> Called<DevicePointer> {
        let host = self.pointer.cast();
        // SAFETY: the pointer is valid for the call; the memory was allocated to be mapped.
        written("cuMemHostGetDevicePointer", |to| unsafe { sys::cuMemHostGetDevicePointer_v2(to, host, 0) })
    }

    /// The values. Only call this when the stream that writes to the buffer is done.
    pub(crate) const fn values(&self) -> &[u64] {
        // SAFETY: the memory is ours and initialized; any bits make a word. Whoever holds `&self` has waited for the
        // stream: `copy_to_host` needs `&mut`.
        unsafe { std::slice::from_raw_parts(self.pointer, self.len) }
    }

    /// The 32-bit word at a multiple of 4 bytes, which the device uses at the same time.
    pub(crate) fn atomic_u32(&self, byte: usize) -> &AtomicU32 {
        assert!(byte.is_multiple_of(4) && byte + 4 <= self.len * 8, "host buffer of {} bytes, at {byte}", self.len * 8);
        // SAFETY: the word is inside, aligned and alive as long as `self`. Host and device access what is shared in this
        // way with atomic operations only.
        unsafe { AtomicU32::from_ptr(self.pointer.cast::<u32>().add(byte / 4)) }
    }

    /// The 64-bit word at a multiple of 8 bytes, which the device uses at the same time.
    pub(crate) fn atomic_u64(&self, byte: usize) -> &AtomicU64 {
        assert!(byte.is_multiple_of(8) && byte + 8 <= self.len * 8, "host buffer of {} bytes, at {byte}", self.len * 8);
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(self.pointer.add(byte / 8)) }
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        // SAFETY: the memory is ours and the device no longer writes to it.
        let _ = unsafe { sys::cuMemFreeHost(self.pointer.cast()) };
    }
}
