//! One wake-up of one thread by another one.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use syncscope_host::scheduling;

use super::sleeper::Sleeper;
use super::ways::Way;
use crate::primitives::wait::LIMIT;
use crate::sync::{CachePadded, WaitLimit, WaitTimeout};
use crate::timing::clock::Clock;

/// The share of waiters that have to be seen asleep, and of how many it is asked.
const LEAST_SHARE: f64 = 0.99;
const FEWEST: u64 = 100;

/// Two threads and the way in which thread 0 wakes thread 1.
pub(super) struct WakePair<W> {
    way: W,
    clock: Clock,
    /// The thread that is woken. The team of an experiment stays the same.
    sleeper: OnceLock<Option<Sleeper>>,
    /// The CPUs of both threads, each counted from 1; 0 where it is not known.
    cpus: [AtomicU32; 2],
    /// The wake-up that the waiter is about to sleep for.
    announced: CachePadded<AtomicU32>,
    /// The last wake-up that the waiter has seen.
    seen: CachePadded<AtomicU32>,
    /// When the waiter ran again.
    woken_at: CachePadded<AtomicU64>,
    found: Found,
    wait_limit: WaitLimit,
}

/// What the waker found; only that thread writes it.
#[derive(Default)]
struct Found {
    wake_ups: AtomicU64,
    /// Wake-ups of a waiter that was seen asleep before.
    asleep: AtomicU64,
    /// Wake-ups before the call that wakes.
    early: AtomicU64,
}

/// The times of one wake-up, in ticks.
pub(super) struct WakeUp {
    /// From the begin of the call until the waiter runs.
    pub(super) latency: u64,
    /// How long the call takes the waker.
    pub(super) call: u64,
}

impl<W: Way> WakePair<W> {
    pub(super) fn new() -> Self {
        Self {
            way: W::new(),
            clock: Clock::uncalibrated(),
            sleeper: OnceLock::new(),
            cpus: Default::default(),
            announced: CachePadded::default(),
            seen: CachePadded::default(),
            woken_at: CachePadded::default(),
            found: Found::default(),
            wait_limit: WaitLimit::new(LIMIT),
        }
    }

    /// Called by both threads before they meet.
    pub(super) fn join(&self, thread: usize) {
        let cpu = scheduling::current_cpu().map_or(0, |cpu| cpu.wrapping_add(1));
        self.cpus[thread].store(cpu, Ordering::Relaxed);
        if thread == 1 {
            self.sleeper.get_or_init(|| Sleeper::here().ok());
            self.way.join();
        }
    }

    /// When a wake-up would begin, and the ticks between the two readings of the clock alone.
    pub(super) fn without_a_wake_up(&self) -> (u64, u64) {
        let begin = self.clock.start();
        (begin, self.clock.stop().saturating_sub(begin))
    }

    /// The next wake-up. Only the waiter counts, and it has counted the last one before the waker goes on.
    fn number(&self) -> u32 {
        self.seen.load(Ordering::Acquire).wrapping_add(1)
    }

    /// Whether one of the threads has to leave its CPU before the other one runs.
    fn on_one_cpu(&self) -> bool {
        let [waker, waiter] = [0, 1].map(|thread: usize| self.cpus[thread].load(Ordering::Relaxed));
        waker == waiter && waker > 0
    }

    /// Waits for the other thread. To yield where both have a CPU of their own would be a context switch for nothing: to
    /// another program, or to a loop of idle priority that keeps the CPU awake.
    fn wait_until(&self, done: impl FnMut() -> bool) -> Result<(), WaitTimeout> {
        if self.on_one_cpu() { self.wait_limit.yield_until(done) } else { self.wait_limit.wait(done) }
    }

    /// Sleeps until the waker calls.
    pub(super) fn sleep(&self) -> Result<(), WaitTimeout> {
        let number = self.number();
        self.announced.store(number, Ordering::Release);
        self.way.sleep(number)?;
        let now = self.clock.stop();
        // Relaxed: the next store publishes it.
        self.woken_at.store(now, Ordering::Relaxed);
        self.seen.store(number, Ordering::Release);
        Ok(())
    }

    /// Wakes the waiter once it sleeps, then gives it the CPU, should both be on one.
    pub(super) fn wake(&self) -> Result<WakeUp, WaitTimeout> {
        let number = self.number();
        self.wait_until(|| self.announced.load(Ordering::Acquire) == number)?;
        let sleeper = self.sleeper.get().and_then(Option::as_ref);
        let asleep = sleeper.is_some_and(|sleeper| sleeper.falls_asleep(self.on_one_cpu()));
        let called_at = self.clock.start();
        self.way.wake(number);
        let returned_at = self.clock.stop();
        self.wait_until(|| self.seen.load(Ordering::Acquire) == number)?;
        let woken_at = self.woken_at.load(Ordering::Relaxed);
        self.found.wake_ups.fetch_add(1, Ordering::Relaxed);
        self.found.asleep.fetch_add(asleep.into(), Ordering::Relaxed);
        self.found.early.fetch_add((woken_at < called_at).into(), Ordering::Relaxed);
        Ok(WakeUp { latency: woken_at.saturating_sub(called_at), call: returned_at.saturating_sub(called_at) })
    }

    /// The share of waiters that were seen asleep; `None` before the first.
    pub(super) fn asleep_share(&self) -> Option<f64> {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64;
        let share = of(&self.found.asleep) / of(&self.found.wake_ups);
        share.is_finite().then_some(share)
    }

    /// Whether the waiters slept, and woke because they were called.
    pub(super) fn verify(&self) -> Result<(), String> {
        let (early, wake_ups) = (self.found.early.load(Ordering::Relaxed), self.found.wake_ups.load(Ordering::Relaxed));
        if early > 0 {
            return Err(format!("{early} of {wake_ups} waiters woke before they were called"));
        }
        match self.asleep_share() {
            Some(share) if share < LEAST_SHARE && wake_ups >= FEWEST => {
                Err(format!("{:.1} % of {wake_ups} waiters were seen asleep, expected 99 %", share * 100.0))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    /// A waiter that spins.
    struct Spinning(AtomicU32);

    impl Way for Spinning {
        fn new() -> Self {
            Self(AtomicU32::new(0))
        }
        fn sleep(&self, number: u32) -> Result<(), WaitTimeout> {
            WaitLimit::new(LIMIT).yield_until(|| self.0.load(Ordering::Acquire) == number)
        }
        fn wake(&self, number: u32) {
            self.0.store(number, Ordering::Release);
        }
    }

    #[test]
    fn a_waiter_that_does_not_sleep_is_a_defect() {
        let wake_pair = WakePair::<Spinning>::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                wake_pair.join(1);
                wake_pair.sleep().unwrap();
            });
            wake_pair.wake().unwrap();
        });
        assert_eq!(wake_pair.asleep_share(), Some(0.0));
        assert_eq!(wake_pair.verify(), Ok(()), "one waiter is no share");
        wake_pair.found.wake_ups.store(FEWEST, Ordering::Relaxed);
        wake_pair.found.asleep.store(FEWEST - 1, Ordering::Relaxed);
        assert_eq!(wake_pair.verify(), Ok(()));
        wake_pair.found.asleep.store(FEWEST - 2, Ordering::Relaxed);
        assert!(wake_pair.verify().is_err_and(|defect| defect.starts_with("98.0 % of 100 waiters")));
        wake_pair.found.early.store(1, Ordering::Relaxed);
        assert!(wake_pair.verify().is_err_and(|defect| defect.contains("before they were called")));
    }

    /// A waiter that does not wait.
    struct Awake(AtomicBool);

    impl Way for Awake {
        fn new() -> Self {
            Self(AtomicBool::new(false))
        }
        fn sleep(&self, _: u32) -> Result<(), WaitTimeout> {
            Ok(())
        }
        fn wake(&self, _: u32) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_waiter_that_wakes_too_early_is_a_defect() {
        let wake_pair = WakePair::<Awake>::new();
        wake_pair.join(0);
        wake_pair.sleep().unwrap();
        // The waiter has gone on; the waker is shown the wake-up that it was for.
        wake_pair.seen.store(0, Ordering::Relaxed);
        let called = wake_pair.without_a_wake_up().0;
        assert!(wake_pair.woken_at.load(Ordering::Relaxed) < called);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                WaitLimit::new(LIMIT).yield_until(|| wake_pair.way.0.load(Ordering::Relaxed)).unwrap();
                wake_pair.seen.store(1, Ordering::Release);
            });
            assert_eq!(wake_pair.wake().unwrap().latency, 0);
        });
        assert!(wake_pair.verify().is_err_and(|defect| defect.starts_with("1 of 1 waiters")));
    }
}
