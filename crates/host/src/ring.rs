//! Sleeping in `io_uring(7)`: a thread sleeps until one of its requests is done, such as a wait for a futex.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::opened;
use crate::shared_memory::Mapping;

// linux/io_uring.h and linux/futex.h; the C library has no names for them.
const NO_SQARRAY: u32 = 1 << 16;
const GETEVENTS: u32 = 1;
const EXT_ARG: u32 = 1 << 3;
const FUTEX_WAIT: u32 = 51;
const FUTEX_OF_32_BITS: u32 = 2;

/// Places in `struct io_uring_params`, in words.
mod parameter {
    pub(super) const COUNT: usize = 30;
    /// The number of places for answers.
    pub(super) const PLACES: usize = 1;
    pub(super) const FLAGS: usize = 2;
    pub(super) const REQUEST_TAIL: usize = 11;
    pub(super) const ANSWER_HEAD: usize = 20;
    pub(super) const ANSWER_TAIL: usize = 21;
    pub(super) const ANSWERS: usize = 25;
}

/// The offset of the requests in the descriptor; the rings are at 0.
const AT_REQUESTS: libc::off_t = 0x1000_0000;

/// Memory of the kernel that both sides read and write. The kernel may write to it after the descriptor is closed, which rules
/// out memory of this process.
#[derive(Debug)]
struct Mapped(Mapping);

impl Mapped {
    fn new(descriptor: &OwnedFd, at: libc::off_t, count: usize) -> io::Result<Self> {
        Mapping::of(descriptor, at, count * size_of::<u32>()).map(Self)
    }

    fn words(&self) -> &[AtomicU32] {
        // SAFETY: this many words are mapped there until this value is dropped, and both sides access them as atomics.
        unsafe { std::slice::from_raw_parts(self.0.first.as_ptr().cast(), self.0.bytes / size_of::<u32>()) }
    }
}

/// The two words of a number, in little-endian order.
fn halves(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

/// A ring with room for one request and its answer.
#[derive(Debug)]
pub struct Ring {
    descriptor: OwnedFd,
    rings: Mapped,
    request: Mapped,
    /// `struct io_uring_params`, as the kernel filled it.
    parameters: [u32; parameter::COUNT],
}

impl Ring {
    /// Creates a ring that supports futexes.
    ///
    /// # Errors
    /// The operating system's error (`EINVAL`: Linux before 6.7; `EPERM`: `kernel.io_uring_disabled`).
    pub fn new() -> io::Result<Self> {
        let mut parameters = [0; parameter::COUNT];
        parameters[parameter::FLAGS] = NO_SQARRAY;
        // SAFETY: the kernel fills the parameters, which are as large as it knows them, and returns a new descriptor or -1.
        let descriptor =
            unsafe { opened(libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) as libc::c_int) }?;
        // One request of 16 words. The answers, of four words each, are the last part of the rings.
        let words =
            parameters[parameter::ANSWERS] as usize / size_of::<u32>() + 4 * parameters[parameter::PLACES] as usize;
        let rings = Mapped::new(&descriptor, 0, words)?;
        let request = Mapped::new(&descriptor, AT_REQUESTS, 16)?;
        let ring = Self { descriptor, rings, request, parameters };
        ring.wait(&AtomicU32::new(0), 1, Duration::from_secs(1)).map(|_| ring)
    }

    /// A word of the rings, by its place in the parameters.
    fn word(&self, parameter: usize, further: usize) -> &AtomicU32 {
        &self.rings.words()[self.parameters[parameter] as usize / size_of::<u32>() + further]
    }

    /// Sleeps while the word is `value`, until a wake for threads of this process. Returns `false` if nothing woke it within
    /// `limit`.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn wait(&self, word: &AtomicU32, value: u32, limit: Duration) -> io::Result<bool> {
        let private = libc::FUTEX_PRIVATE_FLAG.cast_unsigned();
        let ([address, rest], mut request) = (halves(word.as_ptr() as u64), [0; 16]);
        // The code, the kind of futex in place of a descriptor, the value, the address, and a mask that matches all wakers.
        request[..6].copy_from_slice(&[FUTEX_WAIT, FUTEX_OF_32_BITS | private, 0, 0, address, rest]);
        request[2..4].copy_from_slice(&halves(value.into()));
        request[12..14].copy_from_slice(&halves(u32::MAX.into()));
        self.request.words().iter().zip(request).for_each(|(to, word)| to.store(word, Ordering::Relaxed));
        self.word(parameter::REQUEST_TAIL, 0).fetch_add(1, Ordering::Release);
        let (started, mut requests) = (Instant::now(), 1);
        let (head, tail) = (self.word(parameter::ANSWER_HEAD, 0), self.word(parameter::ANSWER_TAIL, 0));
        while head.load(Ordering::Relaxed) == tail.load(Ordering::Acquire) {
            let Some(left) = limit.checked_sub(started.elapsed()) else { return Ok(false) };
            self.enter(std::mem::take(&mut requests), left)?;
        }
        // Answers take turns in places of four words, of which the third is the result.
        let number = head.fetch_add(1, Ordering::Release) as usize;
        let places = self.parameters[parameter::PLACES] as usize;
        match self.word(parameter::ANSWERS, number % places * 4 + 2).load(Ordering::Relaxed).cast_signed() {
            0.. => Ok(true),
            error if error == -libc::EAGAIN => Ok(true),
            error => Err(io::Error::from_raw_os_error(-error)),
        }
    }

    /// Submits this many requests, and sleeps until there is an answer or the limit has passed.
    fn enter(&self, requests: u32, limit: Duration) -> io::Result<()> {
        let limit = libc::timespec { tv_sec: limit.as_secs().cast_signed(), tv_nsec: limit.subsec_nanos().into() };
        // `struct io_uring_getevents_arg`: no signals, the limit.
        let argument = [0, 0, (&raw const limit) as u64];
        let (descriptor, flags) = (self.descriptor.as_raw_fd(), GETEVENTS | EXT_ARG);
        // SAFETY: the argument and the limit lie on this thread's stack and are only read. The request names a futex by its
        // address, which the kernel checks.
        let result = unsafe {
            let (argument, size) = (argument.as_ptr(), size_of_val(&argument));
            libc::syscall(libc::SYS_io_uring_enter, descriptor, requests, 1, flags, argument, size)
        };
        let error = io::Error::last_os_error();
        let may_go_on = matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR));
        if result >= 0 || may_go_on { Ok(()) } else { Err(error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::futex::{Scope, wake_one};

    #[test]
    fn a_sleeper_wakes_or_times_out() {
        // Older kernels and some sandboxes have no such rings.
        let Ok(ring) = Ring::new() else { return };
        let word = AtomicU32::new(0);
        assert!(!ring.wait(&word, 0, Duration::from_millis(5)).unwrap());
        let ring = Ring::new().unwrap();
        for value in 0..5 {
            assert!(ring.wait(&word, value + 1, Duration::from_secs(60)).unwrap(), "another value: no sleep");
            std::thread::scope(|threads| {
                threads.spawn(|| {
                    while word.load(Ordering::Acquire) == value {
                        assert!(ring.wait(&word, value, Duration::from_secs(60)).unwrap());
                    }
                });
                word.store(value + 1, Ordering::Release);
                wake_one(&word, Scope::Process);
            });
        }
    }
}
