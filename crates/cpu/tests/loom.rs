//! The locks and barriers under every interleaving of a few threads, and every value that the memory model lets them
//! read: `RUSTFLAGS="--cfg loom" cargo test --release -p syncscope-cpu --test loom`, in a build folder of its own
//! (`CARGO_TARGET_DIR`), because loom's atomics replace the real ones.
//!
//! `sync::visit_locks` and `sync::visit_barriers` list what is checked. `every_ordering_is_needed` weakens one ordering
//! after the other and wants the model to fail: `make loom-mutations`.
#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]

mod mutations;

use std::time::Duration;

use loom::sync::Arc;
use loom::thread;
use syncscope_cpu::sync::{Barrier, BarrierVisitor, Guarded, LockVisitor, RawLock, visit_barriers, visit_locks};

/// Loom's threads know no time.
const LIMIT: Duration = Duration::MAX;

/// Tries every interleaving with at most this many preemptions. A waiting thread yields in any case, so that even zero
/// preemptions leave many interleavings.
fn model(preemptions: usize, check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(check);
}

/// `threads` threads add one under the lock, each `times` times. Loom fails if two are at the counter together or one
/// does not see what the other did.
fn excludes<L: RawLock>(threads: usize, times: usize, preemptions: usize, make: fn(u32, Duration) -> L) {
    model(preemptions, move || {
        let guarded = Arc::new(Guarded::new(make(threads as u32, LIMIT), 0));
        let count = move |guarded: &Guarded<L, usize>, thread| {
            // SAFETY: every thread of the model has a number of its own.
            let mut state = unsafe { guarded.thread_state(thread) };
            for _ in 0..times {
                guarded.with(&mut state, |value| *value += 1).unwrap();
            }
        };
        let others: Vec<_> = (1..threads)
            .map(|thread| {
                let guarded = Arc::clone(&guarded);
                thread::spawn(move || count(&guarded, thread))
            })
            .collect();
        count(&guarded, 0);
        others.into_iter().for_each(|other| other.join().unwrap());
        // SAFETY: thread 0's first state is gone.
        let mut state = unsafe { guarded.thread_state(0) };
        assert_eq!(guarded.with(&mut state, |value| *value), Ok(threads * times));
    });
}

struct Excludes;

impl LockVisitor for Excludes {
    fn visit<L: RawLock>(&mut self, name: &str, make: fn(u32, Duration) -> L, preemptions: usize) {
        mutations::check(name, || {
            excludes(2, 2, 3, make);
            excludes(3, 1, preemptions, make);
        });
    }
}

#[test]
fn locks_exclude() {
    visit_locks(&mut Excludes);
}

/// Each thread writes its own cell before the barrier and reads all others' after it, with nothing else to order that.
/// Loom fails if the barrier lets a thread pass early or does not make the writes visible. Several phases, because a
/// barrier that is used again may mix up its episodes.
fn separates_phases<B: Barrier>(threads: usize, phases: u32, preemptions: usize, make: fn(u32, Duration) -> B) {
    model(preemptions, move || {
        let barrier = make(threads as u32, LIMIT);
        let locals: Vec<B::Local> = (1..threads).map(|thread| barrier.join(thread)).collect();
        let first = barrier.join(0);
        let shared = Arc::new((barrier, cells(threads)));
        let take_part = move |(barrier, cells): &(B, Vec<Cell>), thread: usize, mut local: B::Local| {
            for phase in 1..=phases {
                cells[thread].set(phase);
                barrier.wait(&mut local).unwrap();
                assert!(cells.iter().all(|cell| cell.get() == phase));
                if phase < phases {
                    barrier.wait(&mut local).unwrap();
                }
            }
        };
        let others: Vec<_> = (locals.into_iter().enumerate())
            .map(|(index, local)| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || take_part(&shared, index + 1, local))
            })
            .collect();
        take_part(&shared, 0, first);
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

/// A cell that only a barrier protects.
struct Cell(loom::cell::UnsafeCell<u32>);

// SAFETY: loom watches every access and fails if two are not ordered.
unsafe impl Sync for Cell {}

impl Cell {
    fn set(&self, value: u32) {
        // SAFETY: loom has just made sure that no other thread accesses it.
        self.0.with_mut(|cell| unsafe { *cell = value });
    }

    fn get(&self) -> u32 {
        // SAFETY: loom has just made sure that no thread writes it.
        self.0.with(|cell| unsafe { *cell })
    }
}

fn cells(count: usize) -> Vec<Cell> {
    (0..count).map(|_| Cell(loom::cell::UnsafeCell::new(0))).collect()
}

struct SeparatesPhases;

impl BarrierVisitor for SeparatesPhases {
    fn visit<B: Barrier>(&mut self, name: &str, make: fn(u32, Duration) -> B, phases: u32) {
        mutations::check(name, || {
            separates_phases(2, phases, 3, make);
            separates_phases(3, 2, 0, make);
        });
    }
}

#[test]
fn barriers_separate_phases() {
    visit_barriers(&mut SeparatesPhases);
}
