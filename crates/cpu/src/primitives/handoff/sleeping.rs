//! Hand-offs of threads that sleep: futex, condition variables and parking.

use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Thread};

use crossbeam::sync::{Parker, Unparker};
use syncscope_host::futex::{self, FutexTimeout, Scope};

use crate::primitives::handoff::{self, Handoff, Token};
use crate::primitives::prelude::*;
use crate::primitives::wait::park_until;

/// In theory: a system call to wake, a system call to block, and the time until the operating system runs the waiter
/// again. What condition variables, parking and channels cost beyond this is their own.
pub(super) static FUTEX: Entry = handoff::entry::<FutexToken>(
    "cpu.handoff.futex",
    "Two threads block on one word and wake each other with futex calls, without spinning",
    "Linux, futex(2); Drepper, Futexes Are Tricky, 2011",
)
.in_studies(&[handoff::ON_CPU_PAIRS]);

/// The word of the futex is the number of turns.
#[derive(Default)]
pub(super) struct FutexToken;

impl Handoff for FutexToken {
    const EXPECTED: Expected = Expected::Uncounted("a futex is a system call made by a library function");

    #[inline(always)]
    fn pass(Token { turns, .. }: &Token<Self>, _thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        loop {
            // Acquire and release: the token publishes what the other thread wrote before.
            let found = turns.load(Ordering::Acquire);
            if found == turn {
                break;
            }
            // The call does not block if the word has changed since.
            futex::wait(turns, found, LIMIT, Scope::Process).map_err(|FutexTimeout| WaitTimeout)?;
        }
        turns.store(turn.wrapping_add(1), Ordering::Release);
        futex::wake_one(turns, Scope::Process);
        Ok(())
    }
}

/// In theory: the mutex twice on each side, a futex call to wake and a futex call to block, and the time until the
/// operating system runs the waiter again: several microseconds, more when its core is idle and sleeps.
pub(super) static CONDVAR: Entry = handoff::entry::<StdSignal>(
    "cpu.handoff.condvar",
    "Two threads wait in turn on a standard-library condition variable and wake each other",
    "Rust std::sync::Condvar; POSIX.1-2017, pthread_cond_wait",
)
.in_studies(&[handoff::ON_CPU_PAIRS]);

/// The number of turns, and the signal that it has changed.
#[derive(Default)]
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

    fn reset(&self) {
        *self.lock() = 0;
    }

    #[inline(always)]
    fn pass(Token { way, .. }: &Token<Self>, _thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        let waited = way.changed.wait_timeout_while(way.lock(), LIMIT, |turns| *turns != turn);
        let (mut turns, outcome) = waited.unwrap_or_else(PoisonError::into_inner);
        if outcome.timed_out() {
            return Err(WaitTimeout);
        }
        *turns = turn.wrapping_add(1);
        // Unlocked first: the woken thread does not have to wait for the mutex.
        drop(turns);
        way.changed.notify_one();
        Ok(())
    }

    fn turns(token: &Token<Self>) -> u32 {
        *token.way.lock()
    }
}

/// In theory: as `cpu.handoff.condvar`; the waiter is also in a global table, whose bucket both threads lock.
pub(super) static PARKING_LOT_CONDVAR: Entry = handoff::entry::<ParkingLotSignal>(
    "cpu.handoff.parking_lot_condvar",
    "Two threads wait in turn on a parking_lot condition variable and wake each other",
    "parking_lot::Condvar; run.json records the library's version",
)
.beyond_quick();

/// The number of turns, and the signal that it has changed.
#[derive(Default)]
pub(super) struct ParkingLotSignal(parking_lot::Mutex<u32>, parking_lot::Condvar);

impl Handoff for ParkingLotSignal {
    const EXPECTED: Expected = Expected::Uncounted("a condition variable is a system call, not an instruction");

    fn reset(&self) {
        *self.0.lock() = 0;
    }

    #[inline(always)]
    fn pass(Token { way, .. }: &Token<Self>, _thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        let mut turns = way.0.lock();
        if way.1.wait_while_for(&mut turns, |turns| *turns != turn, LIMIT).timed_out() {
            return Err(WaitTimeout);
        }
        *turns = turn.wrapping_add(1);
        // Unlocked first: the woken thread does not have to wait for the mutex.
        drop(turns);
        way.1.notify_one();
        Ok(())
    }

    fn turns(token: &Token<Self>) -> u32 {
        *token.way.0.lock()
    }
}

/// In theory: an atomic exchange on the state of the waiter, a futex call to wake it if it blocks, the futex call of
/// the waiter, and the time until the operating system runs it again. There is no lock, so it costs less than a
/// condition variable.
pub(super) static PARK: Entry = handoff::entry::<Parked>(
    "cpu.handoff.park",
    "Two threads park in turn and unpark each other with std::thread::park and Thread::unpark",
    "Rust std::thread::park, std::thread::Thread::unpark",
)
.in_studies(&[handoff::ON_CPU_PAIRS]);

/// The threads to wake.
#[derive(Default)]
pub(super) struct Parked([OnceLock<Thread>; 2]);

impl Handoff for Parked {
    const EXPECTED: Expected = Expected::Uncounted("parking is a system call, not an instruction");

    fn join(&self, thread: usize) {
        // An experiment stays with one team: the first thread with this number is the only one.
        self.0[thread].get_or_init(thread::current);
    }

    #[inline(always)]
    fn pass(Token { turns, way, .. }: &Token<Self>, thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        park_until(turns, turn, || thread::park_timeout(LIMIT))?;
        turns.store(turn.wrapping_add(1), Ordering::Release);
        if let Some(other) = way.0[1 - thread].get() {
            other.unpark();
        }
        Ok(())
    }
}

/// In theory: a mutex and a condition variable of the standard library behind an atomic state, where the standard library's own
/// parking is a futex: more steps on both sides. A parker is an object of its own, so that no other part of a program can unpark
/// the thread by accident.
pub(super) static PARKER: Entry = handoff::entry::<Parkers>(
    "cpu.handoff.crossbeam_parker",
    "Two threads park in turn and unpark each other with crossbeam's Parker",
    "crossbeam::sync::Parker",
)
.beyond_quick();

/// The parker of each thread. Only its thread uses a parker. The mutex tells the compiler so; it is always free and costs about
/// ten nanoseconds.
pub(super) struct Parkers([(Mutex<Parker>, Unparker); 2]);

impl Default for Parkers {
    fn default() -> Self {
        Self([Parker::new(), Parker::new()].map(|parker| {
            let unparker = parker.unparker().clone();
            (Mutex::new(parker), unparker)
        }))
    }
}

impl Handoff for Parkers {
    const EXPECTED: Expected = Expected::Uncounted("parking is a system call, not an instruction");

    #[inline(always)]
    fn pass(Token { turns, way, .. }: &Token<Self>, thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        let own = &way.0[thread].0;
        park_until(turns, turn, || own.lock().unwrap_or_else(PoisonError::into_inner).park_timeout(LIMIT))?;
        turns.store(turn.wrapping_add(1), Ordering::Release);
        way.0[1 - thread].1.unpark();
        Ok(())
    }
}
