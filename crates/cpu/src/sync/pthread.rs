//! The locks and the barrier of the C library.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use super::{Barrier, RawLock, WaitTimeout};

/// `pthread_mutex_t` of the default kind. Its waits have no time limit.
pub struct PthreadMutex(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: a mutex is made to be shared; it is only touched by the C library's functions.
unsafe impl Sync for PthreadMutex {}
// SAFETY: it belongs to no thread while it is free, and it can only be moved while no reference to it exists.
unsafe impl Send for PthreadMutex {}

impl PthreadMutex {
    /// A free lock.
    pub fn free() -> Self {
        // The static initializer is a value: the mutex may be moved until it is first locked.
        Self(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER))
    }

    /// A free lock for the threads of several processes.
    pub fn between_processes() -> Self {
        let (mut attributes, mut mutex) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: the pointers are to memory of this thread's stack, which the calls fill; Linux lets none of them fail for
        // these values. A free mutex is numbers (glibc, musl), which may be moved until it is first locked.
        let mutex = unsafe {
            libc::pthread_mutexattr_init(attributes.as_mut_ptr());
            libc::pthread_mutexattr_setpshared(attributes.as_mut_ptr(), libc::PTHREAD_PROCESS_SHARED);
            libc::pthread_mutex_init(mutex.as_mut_ptr(), attributes.as_ptr());
            libc::pthread_mutexattr_destroy(attributes.as_mut_ptr());
            mutex.assume_init()
        };
        Self(UnsafeCell::new(mutex))
    }
}

// SAFETY: mutual exclusion and ordering are what POSIX promises of it (IEEE Std 1003.1, 4.12).
unsafe impl RawLock for PthreadMutex {
    type ThreadState = ();

    #[inline(always)]
    fn thread_state(&self, _thread: usize) {}

    #[inline(always)]
    unsafe fn lock(&self, (): &mut ()) -> Result<(), WaitTimeout> {
        // SAFETY: the mutex is initialized and, being borrowed, stays where it is. A thread locks it once at a time.
        check(unsafe { libc::pthread_mutex_lock(self.0.get()) })
    }

    #[inline(always)]
    unsafe fn unlock(&self, (): &mut ()) -> Result<(), WaitTimeout> {
        // SAFETY: as above; the caller holds it.
        check(unsafe { libc::pthread_mutex_unlock(self.0.get()) })
    }
}

/// `pthread_rwlock_t` of the default kind around a count. Its waits have no time limit.
pub struct PthreadRwLock(UnsafeCell<libc::pthread_rwlock_t>, UnsafeCell<u64>);

// SAFETY: a lock is made to be shared; the C library's functions alone touch it, and the count is touched while it is held.
unsafe impl Sync for PthreadRwLock {}
// SAFETY: it belongs to no thread while it is free, and it can only be moved while no reference to it exists.
unsafe impl Send for PthreadRwLock {}

impl Default for PthreadRwLock {
    fn default() -> Self {
        // The static initializer is a value: the lock may be moved until it is first taken.
        Self(UnsafeCell::new(libc::PTHREAD_RWLOCK_INITIALIZER), UnsafeCell::new(0))
    }
}

impl PthreadRwLock {
    /// Reads the count while other readers may, too.
    #[inline(always)]
    pub(crate) fn read(&self) -> u64 {
        // SAFETY: the lock is initialized and, being borrowed, stays where it is; while it is held for reading nobody writes.
        unsafe {
            libc::pthread_rwlock_rdlock(self.0.get());
            let count = *self.1.get();
            libc::pthread_rwlock_unlock(self.0.get());
            count
        }
    }

    /// Adds one to the count, with the lock to itself.
    #[inline(always)]
    pub(crate) fn add_one(&self) {
        // SAFETY: as above; while it is held for writing nobody else has the count.
        unsafe {
            libc::pthread_rwlock_wrlock(self.0.get());
            *self.1.get() += 1;
            libc::pthread_rwlock_unlock(self.0.get());
        }
    }
}

/// `pthread_spinlock_t`. Its waits have no time limit and never yield: with more threads than CPUs, a whole time slice
/// is lost whenever the holder is interrupted.
pub struct PthreadSpin(UnsafeCell<libc::pthread_spinlock_t>);

// SAFETY: a spin lock is made to be shared; it is only touched by the C library's functions.
unsafe impl Sync for PthreadSpin {}
// SAFETY: it belongs to no thread while it is free.
unsafe impl Send for PthreadSpin {}

impl PthreadSpin {
    /// A free lock.
    pub fn free() -> Self {
        let mut lock = MaybeUninit::uninit();
        // SAFETY: the pointer is to memory of this thread's stack, which the call fills; it cannot fail on Linux, where
        // the lock is a number, which may be moved until it is first taken.
        let lock = unsafe {
            libc::pthread_spin_init(lock.as_mut_ptr(), libc::PTHREAD_PROCESS_PRIVATE);
            lock.assume_init()
        };
        Self(UnsafeCell::new(lock))
    }
}

// SAFETY: mutual exclusion and ordering are what POSIX promises of it (IEEE Std 1003.1, 4.12).
unsafe impl RawLock for PthreadSpin {
    type ThreadState = ();

    #[inline(always)]
    fn thread_state(&self, _thread: usize) {}

    #[inline(always)]
    unsafe fn lock(&self, (): &mut ()) -> Result<(), WaitTimeout> {
        // SAFETY: the lock is initialized and, being borrowed, stays where it is. A thread takes it once at a time.
        check(unsafe { libc::pthread_spin_lock(self.0.get()) })
    }

    #[inline(always)]
    unsafe fn unlock(&self, (): &mut ()) -> Result<(), WaitTimeout> {
        // SAFETY: as above; the caller holds it.
        check(unsafe { libc::pthread_spin_unlock(self.0.get()) })
    }
}

/// The functions above fail only for invalid locks.
#[inline(always)]
fn check(result: i32) -> Result<(), WaitTimeout> {
    if result == 0 { Ok(()) } else { Err(WaitTimeout) }
}

/// `pthread_barrier_t`. Its waits have no time limit.
pub struct PthreadBarrier(UnsafeCell<libc::pthread_barrier_t>);

// SAFETY: a barrier is made to be shared; it is only touched by the C library's functions.
unsafe impl Sync for PthreadBarrier {}
// SAFETY: it belongs to no thread while none waits.
unsafe impl Send for PthreadBarrier {}

impl PthreadBarrier {
    /// A barrier for `threads` threads of this process.
    pub fn new(threads: u32) -> Self {
        Self::of(threads, libc::PTHREAD_PROCESS_PRIVATE)
    }

    /// A barrier for one thread in each of `processes` processes.
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
