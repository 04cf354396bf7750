//! One wake-up of one or several threads by another one.

use super::ways::Way;
use crate::primitives::prelude::*;
use crate::sync::WaitLimit;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use syncscope_host::scheduling;

/// The share of waiters that have to be seen asleep, and the wake-ups from which on it is checked.
const LEAST_SHARE: f64 = 0.99;
const FEWEST: u64 = 100;

/// Thread 0, the threads that it wakes, and the way to wake them.
pub(super) struct WakePair<W> {
    way: W,
    clock: Clock,
    waiters: Box<[CachePadded<Waiter>]>,
    /// The wake-ups that all waiters have seen.
    rounds: AtomicU32,
    /// The CPU of the waker, counted from 1; 0 where it is not known.
    waker_cpu: AtomicU32,
    found: Found,
    wait_limit: WaitLimit,
    /// How long the waiters wait before they are called.
    wait: Duration,
    /// Whether the waiters sleep for that time.
    sleeps: bool,
}

/// A thread that is woken. Only that thread writes here.
#[derive(Default)]
struct Waiter {
    /// What the kernel says of this thread. The team of an experiment stays the same.
    sleeper: OnceLock<Option<Sleeper>>,
    /// The CPU of this waiter, counted like that of the waker.
    cpu: AtomicU32,
    /// The wake-up that it is about to sleep for.
    announced: AtomicU32,
    /// The last wake-up that it has seen.
    seen: AtomicU32,
    /// When it ran again.
    woken_at: AtomicU64,
}

impl Waiter {
    /// The next wake-up. Only the waiter counts, and all have counted the last one before the waker goes on.
    fn number(&self) -> u32 {
        self.seen.load(Ordering::Acquire).wrapping_add(1)
    }
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
    /// From the start of the call until the last waiter runs.
    pub(super) latency: u64,
    /// How long the call takes the waker.
    pub(super) call: u64,
}

impl<W: Way + Default> WakePair<W> {
    /// Waiters that are woken after they have slept for this time.
    pub(super) fn asleep(waiters: usize, wait: Duration) -> Self {
        Self {
            way: W::default(),
            clock: Clock::uncalibrated(),
            waiters: (0..waiters).map(|_| CachePadded::default()).collect(),
            rounds: AtomicU32::new(0),
            waker_cpu: AtomicU32::new(0),
            found: Found::default(),
            wait_limit: WaitLimit::new(LIMIT),
            wait,
            sleeps: true,
        }
    }

    /// One waiter, which is called when it has waited about that long, whether it sleeps or not.
    pub(super) fn after(wait: Duration) -> Self {
        Self { sleeps: false, ..Self::asleep(1, wait) }
    }

    /// Whether the waiters are asleep when they are called.
    pub(super) const fn sleeps(&self) -> bool {
        self.sleeps
    }

    /// How long the waiters wait before they are called.
    pub(super) const fn wait(&self) -> Duration {
        self.wait
    }

    /// The waker and its waiters.
    pub(super) fn threads(&self) -> u32 {
        self.waiters.len() as u32 + 1
    }

    /// Called by all threads before they meet.
    pub(super) fn join(&self, thread: usize) {
        let cpu = scheduling::current_cpu().map_or(0, |cpu| cpu.wrapping_add(1));
        let Some(waiter) = thread.checked_sub(1).map(|index| &self.waiters[index]) else {
            return self.waker_cpu.store(cpu, Ordering::Relaxed);
        };
        waiter.cpu.store(cpu, Ordering::Relaxed);
        waiter.sleeper.get_or_init(|| Sleeper::here().ok());
        self.way.join();
    }

    /// When a wake-up would begin, and the ticks between the two readings of the clock alone.
    pub(super) fn without_a_wake_up(&self) -> (u64, u64) {
        let begin = self.clock.start();
        (begin, self.clock.stop().saturating_sub(begin))
    }

    /// Whether the waker has to leave its CPU before a waiter runs.
    fn on_one_cpu(&self) -> bool {
        let waker = self.waker_cpu.load(Ordering::Relaxed);
        waker > 0 && self.waiters.iter().any(|waiter| waiter.cpu.load(Ordering::Relaxed) == waker)
    }

    /// Waits for the other thread. To yield where both have a CPU of their own would be a context switch for nothing: to
    /// another program, or to a loop of idle priority that keeps the CPU awake.
    fn wait_until(&self, mut done: impl FnMut() -> bool) -> Result<(), WaitTimeout> {
        if self.on_one_cpu() { self.wait_limit.yield_until(&mut done) } else { self.wait_limit.wait(done) }
    }

    /// Waits until all waiters are `done`.
    fn all_wait_until(&self, done: impl Fn(&Waiter) -> bool) -> Result<(), WaitTimeout> {
        self.waiters.iter().try_for_each(|waiter| self.wait_until(|| done(waiter)))
    }

    /// The number of the next wake-up. Called by the waker.
    pub(super) fn next(&self) -> u32 {
        self.waiters[0].number()
    }

    /// Sleeps until the waker calls, and returns the number of this wake-up.
    pub(super) fn sleep(&self, thread: usize) -> Result<u32, WaitTimeout> {
        let own = &self.waiters[thread - 1];
        let number = own.number();
        if W::WAKES_ONE_OF_ALL {
            // A woken thread must not take the wake-up of another one.
            self.wait_until(|| self.rounds.load(Ordering::Acquire).wrapping_add(1) == number)?;
        }
        own.announced.store(number, Ordering::Release);
        self.way.sleep(number)?;
        let now = self.clock.stop();
        // Relaxed: the next store publishes it.
        own.woken_at.store(now, Ordering::Relaxed);
        own.seen.store(number, Ordering::Release);
        Ok(number)
    }

    /// How many waiters have seen this wake-up.
    fn woken(&self, number: u32) -> usize {
        self.waiters.iter().filter(|waiter| waiter.seen.load(Ordering::Acquire) == number).count()
    }

    /// Wakes the waiters once they sleep, then gives them the CPU, if they are on that of the waker. Where a call wakes one of
    /// them, the first one counts, and the others are woken after it.
    pub(super) fn wake(&self) -> Result<WakeUp, WaitTimeout> {
        let number = self.next();
        self.all_wait_until(|waiter| waiter.announced.load(Ordering::Acquire) == number)?;
        let asleep = if self.sleeps { self.let_sleep() } else { lets_wait(self.wait, number) };
        let called_at = self.clock.start();
        self.way.wake(number);
        let returned_at = self.clock.stop();
        let all = self.waiters.len();
        let called = if W::WAKES_ONE_OF_ALL { 1 } else { all };
        self.wait_until(|| self.woken(number) >= called)?;
        let woken = self.waiters.iter().filter(|waiter| waiter.seen.load(Ordering::Acquire) == number);
        let times: Vec<u64> = woken.map(|waiter| waiter.woken_at.load(Ordering::Relaxed)).collect();
        let first = times.iter().copied().min().unwrap_or_default();
        let last = times.iter().copied().max().unwrap_or_default();
        for woken in called..all {
            self.way.wake(number);
            self.wait_until(|| self.woken(number) > woken)?;
        }
        self.rounds.store(number, Ordering::Release);
        self.found.wake_ups.fetch_add(1, Ordering::Relaxed);
        self.found.asleep.fetch_add(asleep.into(), Ordering::Relaxed);
        self.found.early.fetch_add((first < called_at).into(), Ordering::Relaxed);
        Ok(WakeUp { latency: last.saturating_sub(called_at), call: returned_at.saturating_sub(called_at) })
    }

    /// Lets the waiters sleep for their time, and says whether all of them were seen asleep.
    fn let_sleep(&self) -> bool {
        let announced = Instant::now();
        let is_asleep = |waiter: &CachePadded<Waiter>| {
            waiter.sleeper.get().and_then(Option::as_ref).is_some_and(|it| it.falls_asleep(self.on_one_cpu()))
        };
        let asleep = self.waiters.iter().all(is_asleep);
        spin_until(announced, self.wait);
        asleep
    }

    /// The share of waiters that were seen asleep; `None` before the first wake-up, and where nobody looks.
    pub(super) fn asleep_share(&self) -> Option<f64> {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64;
        let share = of(&self.found.asleep) / of(&self.found.wake_ups);
        (share.is_finite() && self.sleeps).then_some(share)
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

/// Lets this time pass, give or take a quarter, so that a waiter that polls at fixed times is not always met at the
/// same point between two polls. Does not check whether the waiter sleeps then.
pub(super) fn lets_wait(wait: Duration, number: u32) -> bool {
    // Multiples of the golden ratio are spread evenly (Knuth, The Art of Computer Programming 3, 6.4).
    let share = f64::from(number.wrapping_mul(0x9E37_79B9)) / f64::from(u32::MAX);
    spin_until(Instant::now(), wait.mul_f64(0.75 + share / 2.0));
    false
}

/// Keeps the CPU until `length` has passed.
fn spin_until(started: Instant, length: Duration) {
    while started.elapsed() < length {
        std::hint::spin_loop();
    }
}

// Whether a thread sleeps, as the kernel says.

/// What the kernel says of the calling thread. An open file stays with the thread that opened it.
const PATH: &str = "/proc/thread-self/stat";

/// The state of a thread that sleeps until something wakes it (`proc_pid_stat(5)`).
const ASLEEP: u8 = b'S';

/// How many looks in a row have to find the thread asleep. A thread has this state a moment before it has left its CPU;
/// the second look comes microseconds later.
const LOOKS: u32 = 2;

/// How long the waker looks. Where other programs use the CPUs, a thread may wait for a time slice before it can sleep.
const PATIENCE: Duration = Duration::from_millis(200);

/// A thread whose state can be read.
#[derive(Debug)]
pub(super) struct Sleeper(File);

impl Sleeper {
    /// The calling thread.
    pub(super) fn here() -> io::Result<Self> {
        File::open(PATH).map(Self)
    }

    /// Waits until the thread sleeps. `false` if it did not within the patience of the waker. On one CPU it cannot fall
    /// asleep before the waker leaves.
    pub(super) fn falls_asleep(&self, on_one_cpu: bool) -> bool {
        let started = Instant::now();
        let mut looks = 0;
        while looks < LOOKS {
            if self.state() == Some(ASLEEP) {
                looks += 1;
            } else if started.elapsed() > PATIENCE {
                return false;
            } else {
                looks = 0;
                if on_one_cpu {
                    std::thread::yield_now();
                }
            }
        }
        true
    }

    /// The letter of the state; `None` where the file cannot be read.
    fn state(&self) -> Option<u8> {
        // Number, name and state are at the start of the file. No field behind the name has a parenthesis.
        let mut text = [0; 64];
        let length = self.0.read_at(&mut text, 0).ok()?;
        let name_end = text[..length].iter().rposition(|byte| *byte == b')')?;
        text[..length].get(name_end + 2).copied()
    }
}

/// Whether the kernel shows the states of threads.
///
/// # Errors
/// What is missing.
pub(super) fn states_are_shown() -> Result<(), String> {
    match Sleeper::here().map(|here| here.state()) {
        Ok(Some(b'R')) => Ok(()),
        Ok(found) => {
            let found = found.map_or_else(|| "no state".to_owned(), |state| format!("state {}", char::from(state)));
            Err(format!("{PATH} shows {found} for a running thread: whether a waiter sleeps cannot be seen here"))
        }
        Err(error) => Err(format!("{PATH} cannot be read ({error}): mount /proc to see whether a waiter sleeps")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    /// A waiter that spins.
    #[derive(Default)]
    struct Spinning(AtomicU32);

    impl Way for Spinning {
        fn sleep(&self, number: u32) -> Result<(), WaitTimeout> {
            WaitLimit::new(LIMIT).yield_until(&mut || self.0.load(Ordering::Acquire) == number)
        }
        fn wake(&self, number: u32) {
            self.0.store(number, Ordering::Release);
        }
    }

    #[test]
    fn a_waiter_that_does_not_sleep_is_a_defect() {
        let wake_pair = WakePair::<Spinning>::asleep(1, Duration::ZERO);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                wake_pair.join(1);
                wake_pair.sleep(1).unwrap();
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
    #[derive(Default)]
    struct Awake(AtomicBool);

    impl Way for Awake {
        fn sleep(&self, _: u32) -> Result<(), WaitTimeout> {
            Ok(())
        }
        fn wake(&self, _: u32) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_waiter_that_wakes_too_early_is_a_defect() {
        let wake_pair = WakePair::<Awake>::asleep(1, Duration::ZERO);
        wake_pair.join(0);
        wake_pair.sleep(1).unwrap();
        // The waiter has gone on; the waker is shown the wake-up that it was for.
        wake_pair.waiters[0].seen.store(0, Ordering::Relaxed);
        let called = wake_pair.without_a_wake_up().0;
        assert!(wake_pair.waiters[0].woken_at.load(Ordering::Relaxed) < called);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                WaitLimit::new(LIMIT).yield_until(&mut || wake_pair.way.0.load(Ordering::Relaxed)).unwrap();
                wake_pair.waiters[0].seen.store(1, Ordering::Release);
            });
            assert_eq!(wake_pair.wake().unwrap().latency, 0);
        });
        assert!(wake_pair.verify().is_err_and(|defect| defect.starts_with("1 of 1 waiters")));
    }
}

#[cfg(test)]
mod sleeper_tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_thread_that_waits_is_asleep_and_one_that_runs_is_not() {
        let here = Sleeper::here().unwrap();
        assert_eq!(here.state(), Some(b'R'));
        assert_eq!(states_are_shown(), Ok(()));
        let (known, sleeper) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name("odd) S (name".to_owned());
        let thread = thread.spawn(move || {
            known.send(Sleeper::here().unwrap()).unwrap();
            ended.recv().unwrap_err();
        });
        let sleeper = sleeper.recv().unwrap();
        assert!(sleeper.falls_asleep(false));
        drop(end);
        thread.unwrap().join().unwrap();
        // A thread that has ended is dead for a moment before the kernel forgets it, and an emulator's lives on to clean up.
        let (started, gone) = (Instant::now(), || matches!(sleeper.state(), None | Some(b'X' | b'Z')));
        while !gone() && started.elapsed() < Duration::from_secs(10) {
            std::thread::yield_now();
        }
        assert!(gone(), "the thread is gone");
        assert!(!here.falls_asleep(true), "the thread that looks runs");
    }
}
