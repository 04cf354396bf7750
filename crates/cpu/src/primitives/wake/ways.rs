//! Ways to wake a sleeping thread: futex, condition variables, parking, an event counter of the kernel.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::thread::{self, Thread};

use syncscope_host::descriptors::EventFd;
use syncscope_host::futex::{self, FutexTimeout, Scope};
use syncscope_host::ring::Ring;

use crate::axes::SLEEPS_US;
use crate::primitives::prelude::*;
use crate::primitives::wait::park_until;
use crate::primitives::wake;

/// A way for one thread to wake another one, or all others. At first there is no wake-up. Wake-ups are numbered from 1, and after
/// the largest number comes 0.
pub(in crate::primitives) trait Way: Send + Sync + 'static {
    /// Whether a call wakes one of all that wait, whichever it is.
    const WAKES_ONE_OF_ALL: bool = false;

    /// Called by the waiter before it sleeps for the first time.
    fn join(&self) {}

    /// Sleeps until wake-up `number`, without spinning. Called by the waiter.
    ///
    /// # Errors
    /// [`WaitTimeout`] when it does not come within the limit.
    fn sleep(&self, number: u32) -> Result<(), WaitTimeout>;

    /// Makes wake-up `number`. Called by the waker.
    fn wake(&self, number: u32);
}

/// In theory: one system call that finds the waiter in a hash table and makes it runnable, an interrupt to its CPU where that CPU
/// is idle, and the waiter's way out of its own call. What the other wake-ups cost beyond this is their own.
pub(super) static FUTEX: Entry = wake::entry::<FutexWord>(
    "cpu.wake.futex",
    "A store and a futex call wake a thread asleep on the futex",
    "Linux, futex(2); Drepper, Futexes Are Tricky, 2011",
)
.over(|primitive, axes| wake::by_sleep(primitive, axes, &SLEEPS_US, &[2]))
.in_studies(&[
    Participation::plain(&CpuPairs),
    Participation::plain(&CoreKinds),
    Participation::plain(&OneCpu).reporting(),
]);

/// In theory: one system call that makes all waiters runnable one after the other, and an interrupt to each of their CPUs. The last one
/// runs later the more there are.
pub(super) static FUTEX_ALL: Entry = wake::entry_of_all::<FutexWord<true>>(
    "cpu.wake.futex_all",
    "A store and a futex call wake the team's other threads, which sleep on the futex",
    "Linux, futex(2)",
)
.with_most_threads_in_quick();

/// The number of the last wake-up, for one waiter or for all.
#[derive(Default)]
pub(super) struct FutexWord<const ALL: bool = false>(AtomicU32);

impl<const ALL: bool> FutexWord<ALL> {
    pub(super) fn word(&self) -> &AtomicU32 {
        &self.0
    }
}

impl<const ALL: bool> Way for FutexWord<ALL> {
    fn sleep(&self, number: u32) -> Result<(), WaitTimeout> {
        loop {
            // Acquire and release: a wake-up publishes what the waker wrote before.
            let found = self.0.load(Ordering::Acquire);
            if found == number {
                return Ok(());
            }
            futex::wait(&self.0, found, LIMIT, Scope::Process).map_err(|FutexTimeout| WaitTimeout)?;
        }
    }

    #[inline]
    fn wake(&self, number: u32) {
        self.0.store(number, Ordering::Release);
        if ALL {
            futex::wake_all(&self.0, Scope::Process);
        } else {
            futex::wake_one(&self.0, Scope::Process);
        }
    }
}

/// In theory: as `cpu.wake.futex`: the kernel takes the first of its list, however many there are.
pub(super) static FUTEX_ONE_OF_ALL: Entry = wake::entry_of_all::<Tokens>(
    "cpu.wake.futex_one_of_all",
    "A thread posts a token and wakes one of the team's other threads, which all sleep on the futex, by a futex call",
    "Linux, futex(2); Drepper, Futexes Are Tricky, 2011",
)
.beyond_quick();

/// A semaphore: the number of wake-ups that no waiter has taken.
#[derive(Default)]
pub(super) struct Tokens(AtomicU32);

impl Way for Tokens {
    const WAKES_ONE_OF_ALL: bool = true;

    fn sleep(&self, _: u32) -> Result<(), WaitTimeout> {
        // Acquire and release: a wake-up publishes what the waker wrote before.
        while self.0.compare_exchange(1, 0, Ordering::Acquire, Ordering::Relaxed).is_err() {
            futex::wait(&self.0, 0, LIMIT, Scope::Process).map_err(|FutexTimeout| WaitTimeout)?;
        }
        Ok(())
    }

    #[inline]
    fn wake(&self, _: u32) {
        self.0.store(1, Ordering::Release);
        futex::wake_one(&self.0, Scope::Process);
    }
}

/// In theory: as `cpu.wake.futex_one_of_all`, and the mutex, which nobody else wants.
pub(super) static CONDVAR_ONE_OF_ALL: Entry = wake::entry_of_all::<GuardedTokens>(
    "cpu.wake.condvar_one_of_all",
    "The waker adds a token under the mutex, then calls notify_one; the team's other threads sleep on the condition variable",
    "Rust std::sync::Condvar; POSIX.1-2017, pthread_cond_signal",
)
.beyond_quick();

/// A semaphore under a mutex.
#[derive(Default)]
pub(super) struct GuardedTokens(Mutex<u32>, Condvar);

impl Way for GuardedTokens {
    const WAKES_ONE_OF_ALL: bool = true;

    fn sleep(&self, _: u32) -> Result<(), WaitTimeout> {
        let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.1.wait_timeout_while(guard, LIMIT, |tokens| *tokens == 0);
        let (mut tokens, outcome) = waited.unwrap_or_else(PoisonError::into_inner);
        if outcome.timed_out() {
            return Err(WaitTimeout);
        }
        *tokens -= 1;
        Ok(())
    }

    #[inline]
    fn wake(&self, _: u32) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.1.notify_one();
    }
}

/// In theory: the waker takes and frees the mutex, then a futex call. The waiter takes the mutex again before it goes on.
pub(super) static CONDVAR: Entry = wake::entry::<StdSignal>(
    "cpu.wake.condvar",
    "The waker changes a value under the mutex, then calls notify_one; the waiter sleeps on the condition variable",
    "Rust std::sync::Condvar; POSIX.1-2017, pthread_cond_signal",
);

/// In theory: as `cpu.wake.futex_all`, after which all waiters want the mutex, one after the other.
pub(super) static CONDVAR_ALL: Entry = wake::entry_of_all::<StdSignal<true>>(
    "cpu.wake.condvar_all",
    "The waker changes a value under the mutex, then calls notify_all; the team's other threads sleep on the condition variable",
    "Rust std::sync::Condvar; POSIX.1-2017, pthread_cond_broadcast",
)
.beyond_quick();

/// The number of the last wake-up, and the signal that it has changed, for one waiter or for all.
#[derive(Default)]
pub(super) struct StdSignal<const ALL: bool = false>(Mutex<u32>, Condvar);

impl<const ALL: bool> Way for StdSignal<ALL> {
    fn sleep(&self, number: u32) -> Result<(), WaitTimeout> {
        let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.1.wait_timeout_while(guard, LIMIT, |last| *last != number);
        let timed_out = waited.unwrap_or_else(PoisonError::into_inner).1.timed_out();
        if timed_out { Err(WaitTimeout) } else { Ok(()) }
    }

    #[inline]
    fn wake(&self, number: u32) {
        // Unlocked first: the woken thread does not have to wait for the mutex.
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = number;
        if ALL {
            self.1.notify_all();
        } else {
            self.1.notify_one();
        }
    }
}

/// In theory: an atomic exchange on the state of the waiter and a futex call. There is no lock.
pub(super) static PARK: Entry = wake::entry::<Parked>(
    "cpu.wake.park",
    "The waker stores a flag and calls Thread::unpark on the waiting thread",
    "Rust std::thread::park, std::thread::Thread::unpark",
);

/// The number of the last wake-up, and the thread to wake.
#[derive(Default)]
pub(super) struct Parked {
    last: AtomicU32,
    waiter: OnceLock<Thread>,
}

impl Way for Parked {
    fn join(&self) {
        self.waiter.get_or_init(thread::current);
    }

    fn sleep(&self, number: u32) -> Result<(), WaitTimeout> {
        park_until(&self.last, number, || thread::park_timeout(LIMIT))
    }

    #[inline]
    fn wake(&self, number: u32) {
        self.last.store(number, Ordering::Release);
        if let Some(waiter) = self.waiter.get() {
            waiter.unpark();
        }
    }
}

/// In theory: as the standard library's, with one more step: the waiter is in a global table, whose bucket both
/// threads lock, and sleeps on a futex of its own thread.
pub(super) static PARKING_LOT: Entry = wake::entry::<ParkingLotSignal>(
    "cpu.wake.parking_lot",
    "The waker changes a value under the mutex, then calls notify_one; the waiter sleeps on parking_lot's condition variable",
    "parking_lot::Condvar; run.json records the library's version",
)
.beyond_quick();

/// The number of the last wake-up, and the signal that it has changed.
#[derive(Default)]
pub(super) struct ParkingLotSignal(parking_lot::Mutex<u32>, parking_lot::Condvar);

impl Way for ParkingLotSignal {
    fn sleep(&self, number: u32) -> Result<(), WaitTimeout> {
        let outcome = self.1.wait_while_for(&mut self.0.lock(), |last| *last != number, LIMIT);
        if outcome.timed_out() { Err(WaitTimeout) } else { Ok(()) }
    }

    #[inline]
    fn wake(&self, number: u32) {
        // Unlocked first: the woken thread does not have to wait for the mutex.
        *self.0.lock() = number;
        self.1.notify_one();
    }
}

/// In theory: a write system call that adds to the counter and wakes, and two calls of the waiter, which event loops make
/// too: poll, in which it sleeps, and read, which takes the counter. More work in the kernel than a futex.
pub(super) static EVENTFD: Entry = wake::entry::<Event>(
    "cpu.wake.eventfd",
    "A write to an eventfd wakes a thread asleep in poll(2); the thread then reads the eventfd",
    "Linux, eventfd(2), poll(2)",
)
.beyond_quick();

/// The counter: one for each wake-up that was not taken yet.
pub(super) struct Event(io::Result<EventFd>);

impl Event {
    fn counter(&self) -> &EventFd {
        or_fail(self.0.as_ref(), "no eventfd (see `ulimit -n`)")
    }
}

impl Default for Event {
    fn default() -> Self {
        Self(EventFd::new())
    }
}

impl Way for Event {
    fn sleep(&self, _: u32) -> Result<(), WaitTimeout> {
        match or_fail(self.counter().take(LIMIT), "the eventfd could not be read") {
            Some(_) => Ok(()),
            None => Err(WaitTimeout),
        }
    }

    #[inline]
    fn wake(&self, _: u32) {
        or_fail(self.counter().add(1), "the eventfd could not be written");
    }
}

/// In theory: as `cpu.wake.futex` for the waker. The waiter pays for a request and its answer, and can wait for files in the same call.
pub(super) static IO_URING: Entry = wake::entry::<Requested>(
    "cpu.wake.io_uring",
    "A store and a futex call wake a thread that is blocked in io_uring_enter, waiting on that futex",
    "Linux 6.7, io_uring_prep_futex_wait(3)",
)
.requiring(|| {
    Ring::new().map(drop).map_err(|error| {
        format!(
            "io_uring has no futex operations here ({error}): they \
                                                             came with Linux 6.7"
        )
    })
})
.beyond_quick();

/// The word, and the ring of the waiter.
pub(super) struct Requested(FutexWord, io::Result<Ring>);

impl Default for Requested {
    fn default() -> Self {
        Self(FutexWord::default(), Ring::new())
    }
}

impl Way for Requested {
    fn sleep(&self, number: u32) -> Result<(), WaitTimeout> {
        let (word, ring) = (self.0.word(), or_fail(self.1.as_ref(), "no io_uring instance"));
        loop {
            // Acquire: as for the futex alone.
            let found = word.load(Ordering::Acquire);
            if found == number {
                return Ok(());
            }
            if !or_fail(ring.wait(word, found, LIMIT), "io_uring_enter") {
                return Err(WaitTimeout);
            }
        }
    }

    #[inline]
    fn wake(&self, number: u32) {
        self.0.wake(number);
    }
}
