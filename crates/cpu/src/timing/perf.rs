//! Hardware counters of the calling thread, as Linux offers them (`perf_event_open(2)`).

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{FromRawFd, RawFd};

/// `struct perf_event_attr` of `linux/perf_event.h`, in its first published version (`PERF_ATTR_SIZE_VER0`), which every
/// kernel still takes.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

const PERF_TYPE_HARDWARE: u32 = 0;
const PERF_COUNT_HW_CPU_CYCLES: u64 = 0;
/// Always on the processor: a counter that takes turns with others only estimates.
const PINNED: u64 = 1 << 2;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const PERF_FLAG_FD_CLOEXEC: u64 = 1 << 3;

/// The core cycles that the calling thread spends in user mode. Each thread opens its own.
#[derive(Debug)]
pub(crate) struct UserCycles(File);

impl UserCycles {
    /// The counter of the calling thread, running.
    ///
    /// # Errors
    /// What the operating system says: `EACCES` where `perf_event_paranoid` or a seccomp filter forbids it, `ENOENT` or
    /// `EOPNOTSUPP` where there is no such counter, as in most virtual machines.
    pub(crate) fn open() -> io::Result<Self> {
        let attributes = Attributes {
            kind: PERF_TYPE_HARDWARE,
            size: size_of::<Attributes>() as u32,
            config: PERF_COUNT_HW_CPU_CYCLES,
            flags: PINNED | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
            ..Attributes::default()
        };
        // SAFETY: the call reads `size` bytes of the attributes, which live until it returns; 0 is the calling thread, the
        // first -1 stands for every CPU it runs on, the second for no group.
        let descriptor =
            unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC) };
        let descriptor = RawFd::try_from(descriptor).ok().filter(|descriptor| *descriptor >= 0);
        let descriptor = descriptor.ok_or_else(io::Error::last_os_error)?;
        // SAFETY: the kernel has just made this descriptor, and nobody else knows of it.
        Ok(Self(unsafe { File::from_raw_fd(descriptor) }))
    }

    /// The count so far; `None` when the processor had no room for the counter.
    pub(crate) fn read(&self) -> Option<u64> {
        let mut count = [0; 8];
        // A pinned counter that was pushed off reads as an empty file.
        (&self.0).read_exact(&mut count).ok()?;
        Some(u64::from_ne_bytes(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attributes_have_the_size_the_kernel_knows() {
        assert_eq!(size_of::<Attributes>(), 64);
    }

    #[test]
    fn a_counter_counts_or_says_why_not() {
        match UserCycles::open() {
            Ok(counter) => {
                let before = counter.read();
                let sum: u64 = (0..100_000_u64).map(std::hint::black_box).sum();
                assert!(sum > 0 && before.is_none_or(|before| counter.read().unwrap() > before));
            }
            Err(error) => assert!(error.raw_os_error().is_some(), "{error}"),
        }
    }
}
