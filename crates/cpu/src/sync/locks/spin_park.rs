//! A mutex whose waiters spin for a while and then sleep.

use std::time::Duration;

use super::shim::{Futex, Ordering, spin_for};
use super::{RawLock, WaitTimeout};

/// A word with three values (Drepper, *Futexes Are Tricky*, 2011, mutex 2). A waiter spins for a fixed time before it
/// sleeps on a futex. If that time is what a sleep costs, no waiter takes more than twice as long as with the better
/// choice (Karlin, Li, Manasse and Owicki, SOSP 1991).
#[derive(Debug)]
pub struct SpinParkLock {
    futex: Futex,
    spin: Duration,
    limit: Duration,
}

const FREE: u32 = 0;
const HELD: u32 = 1;
/// Held, and a thread may sleep.
const AWAITED: u32 = 2;

impl SpinParkLock {
    /// A free lock whose waiters spin for `spin` and then sleep, none of them longer than `limit`.
    pub fn new(spin: Duration, limit: Duration) -> Self {
        Self { futex: Futex::new(FREE), spin, limit }
    }

    /// A free lock for the threads of several processes, whose waiters sleep at once.
    pub fn between_processes(limit: Duration) -> Self {
        Self { futex: Futex::between_processes(FREE), spin: Duration::ZERO, limit }
    }

    /// Takes the lock if it is free.
    #[inline(always)]
    fn try_lock(&self) -> bool {
        self.futex.word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    #[inline(never)]
    fn lock_slowly(&self) -> Result<(), WaitTimeout> {
        // Relaxed: the attempt acquires.
        let takes = || self.futex.word.load(Ordering::Relaxed) == FREE && self.try_lock();
        if spin_for(self.spin, takes) {
            return Ok(());
        }
        // A thread that has slept cannot know whether others still do, so it leaves the lock as awaited.
        while self.futex.word.swap(AWAITED, Ordering::Acquire) != FREE {
            self.futex.sleep_while(AWAITED, self.limit)?;
        }
        Ok(())
    }
}

// SAFETY: the word leaves `FREE` by one thread's compare-and-swap or exchange at a time, and only the holder makes it
// `FREE`. These operations acquire what the releasing exchange of the last holder published.
unsafe impl RawLock for SpinParkLock {
    type ThreadState = ();

    #[inline(always)]
    fn thread_state(&self, _thread: usize) {}

    #[inline(always)]
    unsafe fn lock(&self, (): &mut ()) -> Result<(), WaitTimeout> {
        if self.try_lock() { Ok(()) } else { self.lock_slowly() }
    }

    #[inline(always)]
    unsafe fn unlock(&self, (): &mut ()) -> Result<(), WaitTimeout> {
        if self.futex.word.swap(FREE, Ordering::Release) == AWAITED {
            self.futex.wake_one();
        }
        Ok(())
    }
}
