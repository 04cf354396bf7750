//! Hardware counters of the calling thread, as Linux offers them (`perf_event_open(2)`).

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{FromRawFd, RawFd};

/// `struct perf_event_attr` of `linux/perf_event.h` in its first version (`PERF_ATTR_SIZE_VER0`), which every kernel
/// accepts.
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
/// Always on the processor: a counter that shares its register with others only estimates.
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
        // SAFETY: the call reads `size` bytes of the attributes, which live until it returns; 0 is the calling thread,
        // the first -1 stands for every CPU it runs on, the second for no group.
        let descriptor =
            unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC) };
        let descriptor = RawFd::try_from(descriptor).ok().filter(|descriptor| *descriptor >= 0);
        let descriptor = descriptor.ok_or_else(io::Error::last_os_error)?;
        // SAFETY: the kernel has just made this descriptor, and nothing else owns it.
        Ok(Self(unsafe { File::from_raw_fd(descriptor) }))
    }

    /// The count so far; `None` when the processor had no free register for the counter.
    pub(crate) fn read(&self) -> Option<u64> {
        let mut count = [0; 8];
        // A pinned counter that lost its register reads as an empty file.
        (&self.0).read_exact(&mut count).ok()?;
        Some(u64::from_ne_bytes(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, Write};

    #[test]
    fn the_attributes_have_the_size_the_kernel_knows() {
        assert_eq!(size_of::<Attributes>(), 64);
    }

    #[test]
    fn a_counter_reads_eight_bytes_and_an_empty_file_is_no_count() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&42_u64.to_ne_bytes()).unwrap();
        file.rewind().unwrap();
        let counter = UserCycles(file);
        assert_eq!(counter.read(), Some(42));
        assert_eq!(counter.read(), None, "the file is at its end");
    }

    /// Where the system grants no counter this test can only check the error; the one above checks the reading.
    #[test]
    fn a_counter_counts_the_additions_of_this_thread_or_the_system_names_an_error() {
        const ADDITIONS: u64 = 100_000;
        match UserCycles::open() {
            Ok(counter) => {
                // A virtual machine may grant a counter that reads nothing.
                let Some(before) = counter.read() else { return };
                let sum: u64 = (0..ADDITIONS).map(std::hint::black_box).sum();
                assert_eq!(sum, ADDITIONS * (ADDITIONS - 1) / 2);
                let cycles = counter.read().unwrap() - before;
                // No core adds more than eight numbers in a cycle. A counter that stands still is refused by `Meter`.
                assert!(cycles == 0 || cycles > ADDITIONS / 8, "{cycles}");
            }
            Err(error) => {
                let known = [libc::EACCES, libc::EPERM, libc::ENOENT, libc::EOPNOTSUPP, libc::ENOSYS, libc::ENODEV];
                assert!(error.raw_os_error().is_some_and(|code| known.contains(&code)), "{error}");
            }
        }
    }
}
