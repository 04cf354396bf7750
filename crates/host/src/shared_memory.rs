//! Memory that several processes map (`memfd_create(2)`, `mmap(2)`).

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};

use crate::{done, opened};

/// A file that exists only in memory (`memfd_create(2)`). It needs no folder, and it is gone with the last process that has it
/// open.
///
/// # Errors
/// Returns the system's error, also where it has no such files.
pub fn memory_file() -> io::Result<File> {
    // SAFETY: the name is ended by a zero; the call returns a new descriptor or -1.
    unsafe { opened(libc::memfd_create(c"syncscope".as_ptr(), libc::MFD_CLOEXEC)) }.map(File::from)
}

/// A range of a descriptor, mapped into this process, that all processes which map it can read and write.
#[derive(Debug)]
pub(crate) struct Mapping {
    pub(crate) first: NonNull<u8>,
    pub(crate) bytes: usize,
}

// SAFETY: a `Mapping` gives out nothing but its address.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    pub(crate) fn of(descriptor: &impl AsRawFd, offset: libc::off_t, bytes: usize) -> io::Result<Self> {
        let (access, descriptor) = (libc::PROT_READ | libc::PROT_WRITE, descriptor.as_raw_fd());
        // SAFETY: a new mapping at an address of the system's choice overlaps no memory in use.
        let first = unsafe { libc::mmap(ptr::null_mut(), bytes, access, libc::MAP_SHARED, descriptor, offset) };
        let mapped = NonNull::new(first.cast()).filter(|_| first != libc::MAP_FAILED);
        mapped.map(|first| Self { first, bytes }).ok_or_else(io::Error::last_os_error)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is this mapping; holders of its address do not use it after this value is dropped.
        unsafe { libc::munmap(self.first.as_ptr().cast(), self.bytes) };
    }
}

/// A file in memory, mapped into this process and filled with zeros at first.
#[derive(Debug)]
pub struct SharedMemory {
    file: File,
    mapping: Mapping,
}

impl SharedMemory {
    /// Creates and maps new memory.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn create(bytes: usize) -> io::Result<Self> {
        let file = memory_file()?;
        file.set_len(bytes as u64)?;
        Self::of_file(file)
    }

    /// Maps all of the memory that another process created.
    ///
    /// # Errors
    /// The operating system's error; `EINVAL` for an empty file.
    pub fn of_file(file: File) -> io::Result<Self> {
        let bytes = usize::try_from(file.metadata()?.len()).unwrap_or_default();
        let mapping = Mapping::of(&file, 0, bytes)?;
        Ok(Self { file, mapping })
    }

    /// The first byte, at the beginning of a page.
    pub const fn first(&self) -> NonNull<u8> {
        self.mapping.first
    }

    /// The length in bytes.
    pub const fn bytes(&self) -> usize {
        self.mapping.bytes
    }

    /// Gives all pages back to the system, for every process: the next reads see zeros, on other pages.
    ///
    /// # Errors
    /// The operating system's error.
    ///
    /// # Safety
    /// No process uses what is in the memory, now or later.
    pub unsafe fn renew(&self) -> io::Result<()> {
        // SAFETY: the range is this mapping; the caller promised the rest.
        done(unsafe { libc::madvise(self.first().as_ptr().cast(), self.bytes(), libc::MADV_REMOVE) })
    }
}

impl AsFd for SharedMemory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt as _;
    use std::process::{Command, Stdio};
    use std::sync::atomic::{AtomicU32, Ordering};

    fn word(memory: &SharedMemory) -> &AtomicU32 {
        // SAFETY: the memory begins a page and has at least one; it is borrowed, and every bit pattern is a valid word.
        unsafe { memory.first().cast().as_ref() }
    }

    #[test]
    fn two_mappings_of_one_file_hold_the_same() {
        let one = SharedMemory::create(8192).unwrap();
        let other = SharedMemory::of_file(File::from(one.as_fd().try_clone_to_owned().unwrap())).unwrap();
        assert_eq!((other.bytes(), word(&other).load(Ordering::Relaxed)), (8192, 0));
        word(&one).store(7, Ordering::Relaxed);
        assert_eq!(word(&other).load(Ordering::Relaxed), 7);
        // SAFETY: nothing else uses the memory.
        unsafe { other.renew() }.unwrap();
        assert_eq!(word(&one).load(Ordering::Relaxed), 0);
    }

    #[test]
    fn an_empty_file_is_no_memory() {
        assert!(SharedMemory::create(0).is_err());
    }

    #[test]
    fn a_child_sees_the_memory_of_its_parent() {
        let file = memory_file().unwrap();
        file.write_all_at(b"seen\n", 0).unwrap();
        let child = Command::new("cat").stdin(Stdio::from(file.try_clone().unwrap())).output();
        assert_eq!(child.unwrap().stdout, b"seen\n");
    }
}
