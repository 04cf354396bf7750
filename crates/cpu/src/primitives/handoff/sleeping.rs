//! Hand-offs of threads that sleep: futex, condition variables and parking.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::Instant;

use crossbeam::sync::{Parker, Unparker};
use syncscope_host::futex::{self, FutexTimeout, Scope};

use crate::primitives::handoff::{self, Handoff};
use crate::primitives::prelude::*;

/// In theory: a system call to wake, a system call to block, and the time until the operating system runs the waiter
/// again. What condition variables, parking and channels cost beyond this is their own.
pub(super) static FUTEX: Entry = handoff::sleeps::<FutexToken>(
    "cpu.handoff.futex",
    "Two threads block on one word and wake each other by futex calls, without spinning",
    "Linux, futex(2); Drepper, Futexes Are Tricky, 2011",
)
.in_studies(&[handoff::ON_CPU_PAIRS]);

/// The number of turns, which is the word of the futex.
pub(super) struct FutexToken(AtomicU32);

impl Handoff for FutexToken {
    const EXPECTED: Expected = Expected::Uncounted("a futex is a system call behind a library function");

    fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    #[inline(always)]
    fn pass(&self, _thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        loop {
            // Acquire and release: the token publishes what the other thread wrote before.
            let found = self.0.load(Ordering::Acquire);
            if found == turn {
                break;
            }
            // The call does not block if the word has changed since.
            futex::wait(&self.0, found, LIMIT, Scope::Process).map_err(|FutexTimeout| WaitTimeout)?;
        }
        self.0.store(turn.wrapping_add(1), Ordering::Release);
        futex::wake_one(&self.0, Scope::Process);
        Ok(())
    }

    fn turns(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// In theory: the mutex twice on each side, a futex call to wake and a futex call to block, and the time until the
/// operating system runs the waiter again: several microseconds, more when its core is idle and sleeps.
pub(super) static CONDVAR: Entry = handoff::sleeps::<StdSignal>(
    "cpu.handoff.condvar",
    "Two threads wait for each other on a condition variable of the standard library",
    "Rust std::sync::Condvar; POSIX.1-2017, pthread_cond_wait",
)
.in_studies(&[handoff::ON_CPU_PAIRS]);

/// The number of turns, and the signal that it has changed.
pub(super) struct StdSignal {
    turns: Mutex<u32>,
    changed: Condvar,
}

impl StdSignal {
    fn lock(&self) -> MutexGuard<'_, u32> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Handoff for StdSignal {
    const EXPECTED: Expected = Expected::Uncounted("a condition variable is a system call, not an instruction");

    fn new() -> Self {
        Self { turns: Mutex::new(0), changed: Condvar::new() }
    }

    fn reset(&self) {
        *self.lock() = 0;
    }

    #[inline(always)]
    fn pass(&self, _thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        let waited = self.changed.wait_timeout_while(self.lock(), LIMIT, |turns| *turns != turn);
        let (mut turns, outcome) = waited.unwrap_or_else(PoisonError::into_inner);
        if outcome.timed_out() {
            return Err(WaitTimeout);
        }
        *turns = turn.wrapping_add(1);
        // Unlocked first: the woken thread does not have to wait for the mutex.
        drop(turns);
        self.changed.notify_one();
        Ok(())
    }

    fn turns(&self) -> u32 {
        *self.lock()
    }
}

/// In theory: as `cpu.handoff.condvar`; the waiter also stands in a global table, whose bucket both threads lock.
pub(super) static PARKING_LOT_CONDVAR: Entry = handoff::sleeps::<ParkingLotSignal>(
    "cpu.handoff.parking_lot_condvar",
    "Two threads wait for each other on a condition variable of parking_lot",
    "parking_lot::Condvar; run.json holds its version",
)
.in_studies(&[handoff::ON_PAIRS_THAT_EXIST])
.beyond_quick();

/// The number of turns, and the signal that it has changed.
pub(super) struct ParkingLotSignal(parking_lot::Mutex<u32>, parking_lot::Condvar);

impl Handoff for ParkingLotSignal {
    const EXPECTED: Expected = Expected::Uncounted("a condition variable is a system call, not an instruction");

    fn new() -> Self {
        Self(parking_lot::Mutex::new(0), parking_lot::Condvar::new())
    }

    fn reset(&self) {
        *self.0.lock() = 0;
    }

    #[inline(always)]
    fn pass(&self, _thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        let mut turns = self.0.lock();
        if self.1.wait_while_for(&mut turns, |turns| *turns != turn, LIMIT).timed_out() {
            return Err(WaitTimeout);
        }
        *turns = turn.wrapping_add(1);
        // Unlocked first: the woken thread does not have to wait for the mutex.
        drop(turns);
        self.1.notify_one();
        Ok(())
    }

    fn turns(&self) -> u32 {
        *self.0.lock()
    }
}

/// In theory: an atomic exchange on the state of the waiter, a futex call to wake it if it blocks, the futex call of
/// the waiter, and the time until the operating system runs it again. There is no lock, so it costs less than a
/// condition variable.
pub(super) static PARK: Entry = handoff::sleeps::<Parked>(
    "cpu.handoff.park",
    "Two threads park and unpark each other, as in the standard library",
    "Rust std::thread::park, std::thread::Thread::unpark",
)
.in_studies(&[handoff::ON_CPU_PAIRS]);

/// The number of turns, and the threads to wake.
pub(super) struct Parked {
    turns: AtomicU32,
    threads: [OnceLock<Thread>; 2],
}

impl Handoff for Parked {
    const EXPECTED: Expected = Expected::Uncounted("parking is a system call, not an instruction");

    fn new() -> Self {
        Self { turns: AtomicU32::new(0), threads: Default::default() }
    }

    fn join(&self, thread: usize) {
        // An experiment stays with one team: the first thread with this number is the only one.
        self.threads[thread].get_or_init(thread::current);
    }

    fn reset(&self) {
        self.turns.store(0, Ordering::Relaxed);
    }

    #[inline(always)]
    fn pass(&self, thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        let mut started = None;
        // Acquire and release: the token publishes what the other thread wrote before.
        while self.turns.load(Ordering::Acquire) != turn {
            thread::park_timeout(LIMIT);
            // Parking may end without a reason, and does so once after a turn that was seen without parking.
            if self.turns.load(Ordering::Acquire) != turn
                && started.get_or_insert_with(Instant::now).elapsed() > LIMIT / 2
            {
                return Err(WaitTimeout);
            }
        }
        self.turns.store(turn.wrapping_add(1), Ordering::Release);
        if let Some(other) = self.threads[1 - thread].get() {
            other.unpark();
        }
        Ok(())
    }

    fn turns(&self) -> u32 {
        self.turns.load(Ordering::Relaxed)
    }
}

/// In theory: a mutex and a condition variable of the standard library behind an atomic state, where the standard
/// library's own parking is a futex: more steps on both sides. An object of its own, so that no other part of a program
/// can unpark the thread by accident.
pub(super) static PARKER: Entry = handoff::sleeps::<Parkers>(
    "cpu.handoff.crossbeam_parker",
    "Two threads park and unpark each other with crossbeam's Parker",
    "crossbeam::sync::Parker",
)
.in_studies(&[handoff::ON_PAIRS_THAT_EXIST])
.beyond_quick();

/// The number of turns, and the parker of each thread. Only its thread uses it; the mutex says so to the compiler and is
/// always free: about ten nanoseconds.
pub(super) struct Parkers {
    turns: AtomicU32,
    threads: [(Mutex<Parker>, Unparker); 2],
}

impl Handoff for Parkers {
    const EXPECTED: Expected = Expected::Uncounted("parking is a system call, not an instruction");

    fn new() -> Self {
        let thread = || {
            let parker = Parker::new();
            let unparker = parker.unparker().clone();
            (Mutex::new(parker), unparker)
        };
        Self { turns: AtomicU32::new(0), threads: [thread(), thread()] }
    }

    fn reset(&self) {
        self.turns.store(0, Ordering::Relaxed);
    }

    #[inline(always)]
    fn pass(&self, thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        let mut started = None;
        // Acquire and release: the token publishes what the other thread wrote before.
        while self.turns.load(Ordering::Acquire) != turn {
            self.threads[thread].0.lock().unwrap_or_else(PoisonError::into_inner).park_timeout(LIMIT);
            // Parking ends once without a reason after a turn that was seen without parking.
            if self.turns.load(Ordering::Acquire) != turn
                && started.get_or_insert_with(Instant::now).elapsed() > LIMIT / 2
            {
                return Err(WaitTimeout);
            }
        }
        self.turns.store(turn.wrapping_add(1), Ordering::Release);
        self.threads[1 - thread].1.unpark();
        Ok(())
    }

    fn turns(&self) -> u32 {
        self.turns.load(Ordering::Relaxed)
    }
}
