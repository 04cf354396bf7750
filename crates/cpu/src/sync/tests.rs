//! The algorithms with more threads than test machines have CPUs, and with threads that do not come.

#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::*;

const LIMIT: Duration = Duration::from_secs(20);
const SHORT_LIMIT: Duration = Duration::from_millis(20);
const THREADS: u32 = 6;

fn excludes<L: RawLock>(name: &str, lock: L) {
    const TIMES: u64 = 2000;
    let guarded = Guarded::new(lock, 0_u64);
    let count = &|thread: u32| {
        // SAFETY: every thread has a number of its own, and no other states of this lock exist now.
        let mut state = unsafe { guarded.thread_state(thread as usize) };
        for _ in 0..TIMES {
            guarded.with(&mut state, |value| *value += 1).unwrap();
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || count(thread));
        }
    });
    // SAFETY: the threads are gone.
    let mut state = unsafe { guarded.thread_state(0) };
    assert_eq!(guarded.with(&mut state, |value| *value), Ok(u64::from(THREADS) * TIMES), "{name}");
}

struct Excludes;

impl LockVisitor for Excludes {
    fn visit<L: RawLock>(&mut self, name: &str, make: fn(u32, Duration) -> L, _: usize) {
        excludes(name, make(THREADS, LIMIT));
    }
}

#[test]
fn locks_exclude() {
    visit_locks(&mut Excludes);
    excludes("pthread_mutex", PthreadMutex::free());
    excludes("pthread_spin", PthreadSpin::free());
    excludes("pthread_mutex between processes", PthreadMutex::between_processes());
    excludes("futex between processes", SpinParkLock::between_processes(LIMIT));
}

struct TimesOut;

impl LockVisitor for TimesOut {
    fn visit<L: RawLock>(&mut self, name: &str, make: fn(u32, Duration) -> L, _: usize) {
        let lock = make(2, SHORT_LIMIT);
        let (mut first, mut second) = (lock.thread_state(0), lock.thread_state(1));
        // SAFETY: the states of two threads, each used once at a time.
        unsafe {
            lock.lock(&mut first).unwrap();
            assert_eq!(lock.lock(&mut second), Err(WaitTimeout), "{name}");
        }
    }
}

#[test]
fn a_lock_that_is_never_given_back_times_out() {
    visit_locks(&mut TimesOut);
}

/// Each thread publishes its phase, waits, and must find every other thread in the same phase or one ahead.
struct SeparatesPhases;

impl BarrierVisitor for SeparatesPhases {
    fn visit<B: Barrier>(&mut self, name: &str, make: fn(u32, Duration) -> B, _: u32) {
        for threads in [1, 2, 3, 6, 7] {
            let barrier = &make(threads, LIMIT);
            let phases: &Vec<AtomicU64> = &(0..threads).map(|_| AtomicU64::new(0)).collect();
            let locals: Vec<B::Local> = (0..threads).map(|thread| barrier.join(thread as usize)).collect();
            std::thread::scope(|scope| {
                for (thread, mut local) in locals.into_iter().enumerate() {
                    scope.spawn(move || {
                        for phase in 1..=200 {
                            phases[thread].store(phase, Ordering::Relaxed);
                            barrier.wait(&mut local).unwrap();
                            for other in phases {
                                let seen = other.load(Ordering::Relaxed);
                                assert!(seen == phase || seen == phase + 1, "{name}: {seen} in phase {phase}");
                            }
                        }
                    });
                }
            });
        }
    }
}

#[test]
fn barriers_separate_phases() {
    visit_barriers(&mut SeparatesPhases);
    SeparatesPhases.visit("pthread", |threads, _| PthreadBarrier::new(threads), 0);
    SeparatesPhases.visit("pthread between processes", |threads, _| PthreadBarrier::between_processes(threads), 0);
    SeparatesPhases.visit("futex between processes", FutexBarrier::between_processes, 0);
}

struct MissesAThread;

impl BarrierVisitor for MissesAThread {
    fn visit<B: Barrier>(&mut self, name: &str, make: fn(u32, Duration) -> B, _: u32) {
        for thread in [0, 1, 2] {
            let barrier = make(3, SHORT_LIMIT);
            assert_eq!(barrier.wait(&mut barrier.join(thread)), Err(WaitTimeout), "{name}");
        }
    }
}

#[test]
fn a_barrier_times_out_when_a_thread_is_missing() {
    visit_barriers(&mut MissesAThread);
}

#[test]
fn an_abort_ends_the_wait_of_others() {
    let barrier = SenseBarrier::new(3, Duration::from_secs(60));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| barrier.wait(&mut barrier.join(0)));
        barrier.abort();
        assert_eq!(waiting.join().unwrap(), Err(WaitTimeout));
    });
}
