//! File descriptors that threads wait on: event counters (`eventfd(2)`) and waiting until one is readable (`poll(2)`). Also the
//! standard output of this process, to which foreign code may write.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;

use crate::{done, limits, opened};

/// Waits until the descriptor can be read without blocking. Returns `false` if that did not happen within `limit`.
///
/// # Errors
/// The operating system's error.
#[inline]
pub fn wait_readable(descriptor: &impl AsFd, limit: Duration) -> io::Result<bool> {
    let mut polled = libc::pollfd { fd: descriptor.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let limit_ms = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: the pointer is to one entry on this thread's stack, which the call reads and fills. The descriptor is
    // borrowed, so it stays open.
    let ready = unsafe { libc::poll(&raw mut polled, 1, limit_ms) };
    if ready < 0 { Err(io::Error::last_os_error()) } else { Ok(ready > 0) }
}

/// Redirected standard output and standard error of this process; dropping this value restores them.
#[derive(Debug)]
pub struct SilentOutput {
    before: Option<[OwnedFd; 2]>,
}

impl SilentOutput {
    /// Restores both outputs.
    ///
    /// # Errors
    /// The standard error of before, if foreign code forbade these descriptors for good (`setrlimit(2)`): messages can still be
    /// written to it.
    pub fn end(mut self) -> Result<(), OwnedFd> {
        self.restore()
    }

    fn restore(&mut self) -> Result<(), OwnedFd> {
        let Some(before) = self.before.take() else { return Ok(()) };
        // SAFETY: a null pointer stands for all streams of the C library. What foreign code left in them is discarded too.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        limits::allow_open_files();
        replace_output(before.each_ref().map(AsFd::as_fd)).map_err(|_| {
            let [_, errors] = before;
            errors
        })
    }
}

/// Discards what foreign code writes to standard output from now on, and sends its standard error to `errors`.
///
/// # Errors
/// The operating system's error.
pub fn silence_output(errors: Option<BorrowedFd<'_>>) -> io::Result<SilentOutput> {
    io::stdout().flush()?;
    let nowhere = File::options().write(true).open("/dev/null")?;
    let before = [io::stdout().as_fd().try_clone_to_owned()?, io::stderr().as_fd().try_clone_to_owned()?];
    let silent = SilentOutput { before: Some(before) };
    replace_output([nowhere.as_fd(), errors.unwrap_or(nowhere.as_fd())])?;
    Ok(silent)
}

fn replace_output(by: [BorrowedFd<'_>; 2]) -> io::Result<()> {
    for (number, by) in [libc::STDOUT_FILENO, libc::STDERR_FILENO].into_iter().zip(by) {
        // SAFETY: the call takes two numbers, of descriptors that are open.
        done(unsafe { libc::dup2(by.as_raw_fd(), number) })?;
    }
    Ok(())
}

impl Drop for SilentOutput {
    fn drop(&mut self) {
        // If this fails, the remaining output is lost, and the exit code still tells the outcome.
        let _ = self.restore();
    }
}

/// A counter in the kernel: a thread that reads it waits until the counter is not zero.
#[derive(Debug)]
pub struct EventFd(File);

impl EventFd {
    /// Creates a counter of zero.
    ///
    /// # Errors
    /// The operating system's error (`EMFILE`: the process has too many open files).
    pub fn new() -> io::Result<Self> {
        // SAFETY: the call takes two numbers and returns a new descriptor or -1.
        Ok(Self(unsafe { opened(libc::eventfd(0, libc::EFD_CLOEXEC)) }?.into()))
    }

    /// Adds to the counter and wakes a thread that waits for it.
    ///
    /// # Errors
    /// The operating system's error.
    #[inline]
    pub fn add(&self, count: u64) -> io::Result<()> {
        (&self.0).write_all(&count.to_ne_bytes())
    }

    /// Waits until the counter is not zero, and resets it to zero. Returns its value, or `None` if it stayed zero for `limit`.
    ///
    /// # Errors
    /// The operating system's error.
    #[inline]
    pub fn take(&self, limit: Duration) -> io::Result<Option<u64>> {
        if !wait_readable(self, limit)? {
            return Ok(None);
        }
        let mut count = [0; 8];
        (&self.0).read_exact(&mut count)?;
        Ok(Some(u64::from_ne_bytes(count)))
    }
}

impl From<OwnedFd> for EventFd {
    /// Takes a counter that another process created.
    fn from(descriptor: OwnedFd) -> Self {
        Self(File::from(descriptor))
    }
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_taken_once() {
        let event = EventFd::new().unwrap();
        assert_eq!(event.take(Duration::from_millis(5)).unwrap(), None);
        event.add(2).unwrap();
        event.add(3).unwrap();
        assert_eq!(event.take(Duration::ZERO).unwrap(), Some(5));
        assert_eq!(event.take(Duration::ZERO).unwrap(), None);
    }

    #[test]
    fn a_waiting_thread_is_woken() {
        let event = EventFd::new().unwrap();
        let taken = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| event.take(Duration::from_secs(60)).unwrap());
            event.add(1).unwrap();
            waiting.join().unwrap()
        });
        assert_eq!(taken, Some(1));
    }

    #[test]
    fn a_pipe_can_be_read_once_it_was_written() {
        let (reader, mut writer) = io::pipe().unwrap();
        assert!(!wait_readable(&reader, Duration::ZERO).unwrap());
        writer.write_all(&[1]).unwrap();
        assert!(wait_readable(&reader, Duration::from_secs(60)).unwrap());
    }
}
