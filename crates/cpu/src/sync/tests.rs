//! The algorithms with more threads than test machines have CPUs, and with threads that do not come.

#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::*;

const LIMIT: Duration = Duration::from_secs(20);
const SHORT_LIMIT: Duration = Duration::from_millis(20);
const THREADS: u32 = 6;

fn excludes<L: RawLock>(name: &str, lock: L) {
    excludes_threads(name, lock, THREADS, 2000);
}

/// `threads` threads add one under the lock, each `times` times.
fn excludes_threads<L: RawLock>(name: &str, lock: L, threads: u32, times: u64) {
    let guarded = Guarded::new(lock, 0_u64);
    let count = &|thread: u32| {
        // SAFETY: every thread has a number of its own, and no other states of this lock exist now.
        let mut state = unsafe { guarded.thread_state(thread as usize) };
        for _ in 0..times {
            guarded.with(&mut state, |value| *value += 1).unwrap();
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || count(thread));
        }
    });
    // SAFETY: the threads are gone.
    let mut state = unsafe { guarded.thread_state(0) };
    assert_eq!(guarded.with(&mut state, |value| *value), Ok(u64::from(threads) * times), "{name}");
}

/// As many threads as the largest machines have CPUs.
const MANY: u32 = 1024;

/// With that many threads on a few CPUs a thread waits long for its turn.
const LONG_LIMIT: Duration = Duration::from_secs(240);

struct ServesMany;

impl LockVisitor for ServesMany {
    fn visit<L: RawLock>(&mut self, name: &str, make: fn(u32, Duration) -> L, _: usize) {
        excludes_threads(name, make(MANY, LONG_LIMIT), MANY, 2);
    }
}

#[test]
fn a_thousand_threads_get_every_lock() {
    visit_locks(&mut ServesMany);
}

struct SeparatesMany;

impl BarrierVisitor for SeparatesMany {
    fn visit<B: Barrier>(&mut self, name: &str, make: fn(u32, Duration) -> B, _: u32) {
        separates_phases(name, &make(MANY, LONG_LIMIT), MANY, 2);
    }
}

#[test]
fn a_thousand_threads_pass_every_barrier() {
    visit_barriers(&mut SeparatesMany);
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
fn separates_phases<B: Barrier>(name: &str, barrier: &B, threads: u32, phases: u64) {
    let reached: &Vec<AtomicU64> = &(0..threads).map(|_| AtomicU64::new(0)).collect();
    let locals: Vec<B::Local> = (0..threads).map(|thread| barrier.join(thread as usize)).collect();
    std::thread::scope(|scope| {
        for (thread, mut local) in locals.into_iter().enumerate() {
            scope.spawn(move || {
                for phase in 1..=phases {
                    reached[thread].store(phase, Ordering::Relaxed);
                    barrier.wait(&mut local).unwrap();
                    for other in reached {
                        let seen = other.load(Ordering::Relaxed);
                        assert!(seen == phase || seen == phase + 1, "{name}: {seen} in phase {phase}");
                    }
                }
            });
        }
    });
}

struct SeparatesPhases;

impl BarrierVisitor for SeparatesPhases {
    fn visit<B: Barrier>(&mut self, name: &str, make: fn(u32, Duration) -> B, _: u32) {
        for threads in [1, 2, 3, 6, 7] {
            separates_phases(name, &make(threads, LIMIT), threads, 200);
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
