//! A lock without a value, and a value that such a lock protects.

use super::WaitTimeout;
use super::shim::UnsafeCell;

/// A lock without a value.
///
/// # Safety
/// From a successful [`Self::lock`] to the [`Self::unlock`] of the same thread state, no other `lock` succeeds. All
/// that a holder does happens before what the next holder does.
pub unsafe trait RawLock: Send + Sync + 'static {
    /// What a thread needs to take the lock: its queue node, for example.
    type ThreadState;

    /// The state of a thread, counted from 0.
    fn thread_state(&self, thread: usize) -> Self::ThreadState;

    /// Takes the lock.
    ///
    /// # Errors
    /// [`WaitTimeout`] when the lock did not become free within the limit.
    ///
    /// # Safety
    /// At any time one state of each thread number is in use. A state whose `lock` failed is not used again.
    unsafe fn lock(&self, state: &mut Self::ThreadState) -> Result<(), WaitTimeout>;

    /// Gives the lock back.
    ///
    /// # Errors
    /// [`WaitTimeout`] when the next holder began to queue and did not finish.
    ///
    /// # Safety
    /// The thread of this state holds the lock.
    unsafe fn unlock(&self, state: &mut Self::ThreadState) -> Result<(), WaitTimeout>;
}

/// A value that only the holder of the lock may touch. It is next to the lock, as in the standard library's `Mutex`:
/// the transfer that fetches the lock's line fetches the value, too.
#[derive(Debug)]
pub struct Guarded<L, T> {
    lock: L,
    value: UnsafeCell<T>,
}

// SAFETY: only the holder of the lock reaches the value, one thread at a time, and the accesses of one holder happen
// before those of the next (`RawLock`).
unsafe impl<L: RawLock, T: Send> Sync for Guarded<L, T> {}

/// The right of one thread to take a lock.
#[derive(Debug)]
pub struct ThreadState<L: RawLock>(L::ThreadState);

impl<L: RawLock, T> Guarded<L, T> {
    /// `value` behind `lock`.
    pub fn new(lock: L, value: T) -> Self {
        Self { lock, value: UnsafeCell::new(value) }
    }

    /// The state of a thread, counted from 0.
    ///
    /// # Safety
    /// The state is used for this lock only, and no other state of this number exists while it is in use. After a
    /// [`WaitTimeout`], no state of this number is made again.
    #[inline(always)]
    pub unsafe fn thread_state(&self, thread: usize) -> ThreadState<L> {
        ThreadState(self.lock.thread_state(thread))
    }

    /// Takes the lock, lets `critical` change the value, gives the lock back.
    ///
    /// # Errors
    /// [`WaitTimeout`] when the lock did not become free within its limit.
    #[inline(always)]
    pub fn with<R>(&self, state: &mut ThreadState<L>, critical: impl FnOnce(&mut T) -> R) -> Result<R, WaitTimeout> {
        // SAFETY: the caller of `thread_state` promised that this is the only state of its number.
        unsafe { self.lock.lock(&mut state.0) }?;
        let result = self.value.with_mut(|value| {
            // SAFETY: this thread holds the lock, so no other thread has a reference to the value.
            critical(unsafe { &mut *value })
        });
        // SAFETY: this state took the lock above.
        unsafe { self.lock.unlock(&mut state.0) }?;
        Ok(result)
    }
}
