//! A value behind a lock that knows nothing of it.

use super::Broken;
use super::shim::UnsafeCell;

/// A lock without a value.
///
/// # Safety
/// From a successful [`Self::lock`] to the [`Self::unlock`] of the same seat, no other `lock` may succeed; and all that
/// the holder did must happen before what the next holder does.
pub unsafe trait RawLock: Send + Sync + 'static {
    /// A thread's part of the lock.
    type Seat;

    /// The seat of a thread, counted from 0.
    fn seat(&self, thread: usize) -> Self::Seat;

    /// Takes the lock.
    ///
    /// # Errors
    /// [`Broken`] when it did not become free within the limit.
    ///
    /// # Safety
    /// At any time one seat of each number is in use; one that did not get the lock is not used again.
    unsafe fn lock(&self, seat: &mut Self::Seat) -> Result<(), Broken>;

    /// Gives the lock back.
    ///
    /// # Errors
    /// [`Broken`] when the next holder, who had announced itself, is gone.
    ///
    /// # Safety
    /// This seat holds the lock.
    unsafe fn unlock(&self, seat: &mut Self::Seat) -> Result<(), Broken>;
}

/// A value that only the holder of the lock may touch. It lies beside the lock, as it does in the standard library's
/// `Mutex`: what fetches the lock's line fetches the value, too.
#[derive(Debug)]
pub struct Guarded<L, T> {
    lock: L,
    value: UnsafeCell<T>,
}

// SAFETY: the value is only reached by the holder of the lock, one thread at a time, and each one's accesses happen
// before the next one's (`RawLock`).
unsafe impl<L: RawLock, T: Send> Sync for Guarded<L, T> {}

/// The right of one thread to take a lock.
#[derive(Debug)]
pub struct Seat<L: RawLock>(L::Seat);

impl<L: RawLock, T> Guarded<L, T> {
    /// `value` behind `lock`.
    pub fn new(lock: L, value: T) -> Self {
        Self { lock, value: UnsafeCell::new(value) }
    }

    /// The seat of a thread, counted from 0.
    ///
    /// # Safety
    /// It is used for this lock only, and no other one of this number exists while it is in use. After [`Broken`], none
    /// of this number is made again.
    #[inline(always)]
    pub unsafe fn seat(&self, thread: usize) -> Seat<L> {
        Seat(self.lock.seat(thread))
    }

    /// Takes the lock, lets `critical` change the value, gives the lock back.
    ///
    /// # Errors
    /// [`Broken`] when the lock did not become free within its limit.
    #[inline(always)]
    pub fn with<R>(&self, seat: &mut Seat<L>, critical: impl FnOnce(&mut T) -> R) -> Result<R, Broken> {
        // SAFETY: whoever made the seat promised that it is the only one of its number.
        unsafe { self.lock.lock(&mut seat.0) }?;
        let result = self.value.with_mut(|value| {
            // SAFETY: this thread holds the lock, so nobody else has a reference to the value.
            critical(unsafe { &mut *value })
        });
        // SAFETY: this seat took the lock above.
        unsafe { self.lock.unlock(&mut seat.0) }?;
        Ok(result)
    }
}
