//! The atomics that the algorithms are made of: the standard library's, or loom's under `--cfg loom`. Loom tries every
//! order in which threads may see each other's accesses.

use std::time::Duration;
#[cfg(not(loom))]
use std::time::Instant;

#[cfg(not(loom))]
use syncscope_host::futex::{self, Scope};

use super::WaitTimeout;

#[cfg(loom)]
pub(in crate::sync) use super::weakened::{AtomicBool, AtomicU32};
#[cfg(loom)]
pub(in crate::sync) use loom::{cell::UnsafeCell, sync::atomic::Ordering};
#[cfg(not(loom))]
pub(in crate::sync) use {
    cell::UnsafeCell,
    std::sync::atomic::{AtomicBool, AtomicU32, Ordering},
};

#[cfg(not(loom))]
mod cell {
    /// `std::cell::UnsafeCell` with the part of loom's interface that is used here.
    #[derive(Debug, Default)]
    pub(in crate::sync) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(in crate::sync) const fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        #[inline(always)]
        pub(in crate::sync) fn with_mut<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
            access(self.0.get())
        }
    }
}

/// Adds one to a word that no other thread changes at this time, orders nothing, and returns the new value.
#[inline(always)]
pub(in crate::sync) fn count_up(word: &AtomicU32) -> u32 {
    let next = word.load(Ordering::Relaxed).wrapping_add(1);
    word.store(next, Ordering::Relaxed);
    next
}

/// Looks for `time`, at least once, whether it is `done`, with a pause after each look. Returns whether it was.
#[cfg(not(loom))]
pub(in crate::sync) fn spin_for(time: Duration, mut done: impl FnMut() -> bool) -> bool {
    if time.is_zero() {
        return done();
    }
    let started = Instant::now();
    loop {
        if done() {
            return true;
        }
        if started.elapsed() >= time {
            return false;
        }
        std::hint::spin_loop();
    }
}

/// Loom has no time: this looks once.
#[cfg(loom)]
pub(in crate::sync) fn spin_for(_: Duration, mut done: impl FnMut() -> bool) -> bool {
    done()
}

/// A word on which threads sleep (`futex(2)`).
#[derive(Debug)]
pub(in crate::sync) struct Futex {
    pub(in crate::sync) word: AtomicU32,
    #[cfg(not(loom))]
    scope: Scope,
    /// Models the kernel: the comparison and the start of the sleep are one step for every thread that wakes. A model in which a
    /// wake-up is lost has a thread that sleeps for ever, which loom reports.
    #[cfg(loom)]
    sleepers: (loom::sync::Mutex<()>, loom::sync::Condvar),
}

#[cfg(not(loom))]
impl Futex {
    pub(in crate::sync) fn new(value: u32) -> Self {
        Self { word: AtomicU32::new(value), scope: Scope::Process }
    }

    /// A word for threads of several processes that map it.
    pub(in crate::sync) fn between_processes(value: u32) -> Self {
        Self { scope: Scope::System, ..Self::new(value) }
    }

    /// Sleeps while the word is `value`. It may also return without a reason.
    pub(in crate::sync) fn sleep_while(&self, value: u32, limit: Duration) -> Result<(), WaitTimeout> {
        futex::wait(&self.word, value, limit, self.scope).map_err(|futex::FutexTimeout| WaitTimeout)
    }

    /// Out of line, as all that ends in the kernel.
    #[cold]
    #[inline(never)]
    pub(in crate::sync) fn wake_one(&self) {
        futex::wake_one(&self.word, self.scope);
    }

    pub(in crate::sync) fn wake_all(&self) {
        futex::wake_all(&self.word, self.scope);
    }
}

#[cfg(loom)]
impl Futex {
    pub(in crate::sync) fn new(value: u32) -> Self {
        Self { word: AtomicU32::new(value), sleepers: Default::default() }
    }

    /// The algorithm is the same.
    pub(in crate::sync) fn between_processes(value: u32) -> Self {
        Self::new(value)
    }

    /// Loom's threads know no time.
    #[expect(clippy::unwrap_used, reason = "a model in which a thread panicked has failed")]
    pub(in crate::sync) fn sleep_while(&self, value: u32, _: Duration) -> Result<(), WaitTimeout> {
        let (lock, woken) = &self.sleepers;
        let guard = lock.lock().unwrap();
        if self.word.load(Ordering::Relaxed) == value {
            drop(woken.wait(guard).unwrap());
        }
        Ok(())
    }

    #[expect(clippy::unwrap_used, reason = "a model in which a thread panicked has failed")]
    pub(in crate::sync) fn wake_one(&self) {
        let (lock, woken) = &self.sleepers;
        let _guard = lock.lock().unwrap();
        woken.notify_one();
    }

    #[expect(clippy::unwrap_used, reason = "a model in which a thread panicked has failed")]
    pub(in crate::sync) fn wake_all(&self) {
        let (lock, woken) = &self.sleepers;
        let _guard = lock.lock().unwrap();
        woken.notify_all();
    }
}
