//! The algorithms with more threads than test machines have CPUs, and with threads that do not come.

#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::*;

const LIMIT: Duration = Duration::from_secs(20);
const THREADS: u32 = 6;

fn excludes<L: RawLock>(lock: L) {
    const TIMES: u64 = 2000;
    let guarded = Guarded::new(lock, 0_u64);
    let count = &|thread: u32| {
        // SAFETY: every thread has a number of its own, and this lock's seats are made nowhere else at this time.
        let mut seat = unsafe { guarded.seat(thread as usize) };
        for _ in 0..TIMES {
            guarded.with(&mut seat, |value| *value += 1).unwrap();
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || count(thread));
        }
    });
    // SAFETY: the threads are gone.
    let mut seat = unsafe { guarded.seat(0) };
    assert_eq!(guarded.with(&mut seat, |value| *value), Ok(u64::from(THREADS) * TIMES));
}

#[test]
fn locks_exclude() {
    excludes(TtasLock::new(LIMIT));
    excludes(TicketLock::new(LIMIT));
    excludes(McsLock::new(THREADS, LIMIT));
    excludes(PthreadMutex::free());
    excludes(PthreadSpin::free());
}

fn gives_up(lock: &impl RawLock) {
    let (mut first, mut second) = (lock.seat(0), lock.seat(1));
    // SAFETY: two seats, each used once at a time.
    unsafe {
        lock.lock(&mut first).unwrap();
        assert_eq!(lock.lock(&mut second), Err(Broken));
    }
}

#[test]
fn spin_locks_that_are_never_given_back_break() {
    let limit = Duration::from_millis(20);
    gives_up(&TtasLock::new(limit));
    gives_up(&TicketLock::new(limit));
    gives_up(&McsLock::new(2, limit));
}

/// `wait` must keep `parties` threads in step.
fn separates_phases(parties: u32, wait: &(impl Fn(usize) -> Result<(), Broken> + Sync)) {
    let phases: Vec<AtomicU64> = (0..parties).map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|scope| {
        for thread in 0..parties as usize {
            let phases = &phases;
            scope.spawn(move || {
                for phase in 1..=200 {
                    phases[thread].store(phase, Ordering::Relaxed);
                    wait(thread).unwrap();
                    for other in phases {
                        let seen = other.load(Ordering::Relaxed);
                        assert!(seen == phase || seen == phase + 1, "{seen} in phase {phase}");
                    }
                }
            });
        }
    });
}

#[test]
fn barriers_separate_phases() {
    for parties in [1, 2, 3, 6, 7] {
        let tree = TreeBarrier::new(parties, LIMIT);
        separates_phases(parties, &|thread| tree.wait(thread));
        let dissemination = DisseminationBarrier::new(parties, LIMIT);
        separates_phases(parties, &|thread| dissemination.wait(thread));
        let sense = SenseBarrier::new(parties, LIMIT);
        let locals: Vec<_> = (0..parties).map(|_| std::sync::Mutex::new(sense.join())).collect();
        separates_phases(parties, &|thread| sense.wait(&mut locals[thread].lock().unwrap()));
    }
}

#[test]
fn a_missing_party_breaks_a_barrier() {
    let limit = Duration::from_millis(20);
    let sense = SenseBarrier::new(2, limit);
    assert_eq!(sense.wait(&mut sense.join()), Err(Broken));
    for thread in [0, 1, 2] {
        assert_eq!(DisseminationBarrier::new(3, limit).wait(thread), Err(Broken));
        assert_eq!(TreeBarrier::new(3, limit).wait(thread), Err(Broken));
    }
}

#[test]
fn breaking_it_down_frees_the_waiting() {
    let barrier = SenseBarrier::new(3, Duration::from_secs(60));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| barrier.wait(&mut barrier.join()));
        barrier.break_down();
        assert_eq!(waiting.join().unwrap(), Err(Broken));
    });
}
