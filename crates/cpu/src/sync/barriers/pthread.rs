//! The barrier of the C library.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use super::{Barrier, WaitTimeout};

/// `pthread_barrier_t`. Its waits have no time limit.
pub struct PthreadBarrier(UnsafeCell<libc::pthread_barrier_t>);

// SAFETY: a barrier is made to be shared; it is only touched by the C library's functions.
unsafe impl Sync for PthreadBarrier {}
// SAFETY: it belongs to no thread while none waits.
unsafe impl Send for PthreadBarrier {}

impl PthreadBarrier {
    /// A barrier for `threads` threads of this process.
    #[must_use]
    pub fn new(threads: u32) -> Self {
        Self::of(threads, libc::PTHREAD_PROCESS_PRIVATE)
    }

    /// A barrier for one thread of each of so many processes.
    #[must_use]
    pub fn between_processes(processes: u32) -> Self {
        Self::of(processes, libc::PTHREAD_PROCESS_SHARED)
    }

    fn of(threads: u32, shared: i32) -> Self {
        let (mut attributes, mut barrier) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: the pointers are to memory of this thread's stack, which the calls fill. They fail for a count of zero
        // alone. The barrier is numbers (glibc, musl), which may be moved until it is first used.
        let barrier = unsafe {
            libc::pthread_barrierattr_init(attributes.as_mut_ptr());
            libc::pthread_barrierattr_setpshared(attributes.as_mut_ptr(), shared);
            libc::pthread_barrier_init(barrier.as_mut_ptr(), attributes.as_ptr(), threads.max(1));
            libc::pthread_barrierattr_destroy(attributes.as_mut_ptr());
            barrier.assume_init()
        };
        Self(UnsafeCell::new(barrier))
    }
}

impl Barrier for PthreadBarrier {
    type Local = ();

    fn join(&self, _thread: usize) {}

    #[inline(always)]
    fn wait(&self, (): &mut ()) -> Result<(), WaitTimeout> {
        // SAFETY: the barrier is initialized and, being borrowed, stays where it is.
        let result = unsafe { libc::pthread_barrier_wait(self.0.get()) };
        if result == 0 || result == libc::PTHREAD_BARRIER_SERIAL_THREAD { Ok(()) } else { Err(WaitTimeout) }
    }
}
