//! The locks and barriers under every interleaving of a few threads, and every value that the memory model lets them
//! read: `RUSTFLAGS="--cfg loom" cargo test --release -p syncscope-cpu --test loom`, in a build folder of its own
//! (`CARGO_TARGET_DIR`), for loom's atomics replace the real ones.
#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]

use std::time::Duration;

use loom::sync::Arc;
use loom::thread;
use syncscope_cpu::sync::{
    DisseminationBarrier, Guarded, McsLock, RawLock, SenseBarrier, TicketLock, TreeBarrier, TtasLock,
};

/// Loom's threads know no time.
const LIMIT: Duration = Duration::MAX;

/// Every interleaving with at most this many preemptions. A thread that waits gives way in any case, so even none leaves
/// many; more than one among three waiting threads leaves too many to try.
fn model(preemptions: usize, check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(check);
}

/// `threads` threads add one under the lock, each `times` times; loom fails if two are at the counter together or one
/// does not see what the other did.
fn excludes<L: RawLock>(threads: usize, times: usize, preemptions: usize, make: fn() -> L) {
    model(preemptions, move || {
        let guarded = Arc::new(Guarded::new(make(), 0));
        let count = move |guarded: &Guarded<L, usize>, thread| {
            // SAFETY: every thread of the model has a number of its own.
            let mut seat = unsafe { guarded.seat(thread) };
            for _ in 0..times {
                guarded.with(&mut seat, |value| *value += 1).unwrap();
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
        // SAFETY: thread 0's first seat is gone.
        let mut seat = unsafe { guarded.seat(0) };
        assert_eq!(guarded.with(&mut seat, |value| *value), Ok(threads * times));
    });
}

#[test]
fn ttas_excludes() {
    excludes(2, 2, 3, || TtasLock::new(LIMIT));
    excludes(3, 1, 1, || TtasLock::new(LIMIT));
}

#[test]
fn ticket_excludes() {
    excludes(2, 2, 3, || TicketLock::new(LIMIT));
    excludes(3, 1, 1, || TicketLock::new(LIMIT));
}

#[test]
fn mcs_excludes() {
    excludes(2, 2, 3, || McsLock::new(2, LIMIT));
    excludes(3, 1, 2, || McsLock::new(3, LIMIT));
}

/// Each thread writes its own cell before the barrier and reads all others' after it, with nothing else to order that:
/// loom fails if the barrier lets anyone pass early or does not make the writes visible. Several phases, because a
/// barrier that is used again may mix up its episodes.
fn separates_phases<B: Send + Sync + 'static>(
    threads: usize,
    phases: u32,
    preemptions: usize,
    make: fn(u32) -> B,
    wait: fn(&B, usize),
) {
    model(preemptions, move || {
        let shared = Arc::new((make(threads as u32), cells(threads)));
        let take_part = move |(barrier, cells): &(B, Vec<Cell>), thread: usize| {
            for phase in 1..=phases {
                cells[thread].set(phase);
                wait(barrier, thread);
                assert!(cells.iter().all(|cell| cell.get() == phase));
                if phase < phases {
                    wait(barrier, thread);
                }
            }
        };
        let others: Vec<_> = (1..threads)
            .map(|thread| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || take_part(&shared, thread))
            })
            .collect();
        take_part(&shared, 0);
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

/// A cell that only a barrier protects.
struct Cell(loom::cell::UnsafeCell<u32>);

// SAFETY: loom watches every access and fails if two are not ordered.
unsafe impl Sync for Cell {}

impl Cell {
    fn set(&self, value: u32) {
        // SAFETY: loom has just made sure that nobody else is here.
        self.0.with_mut(|cell| unsafe { *cell = value });
    }

    fn get(&self) -> u32 {
        // SAFETY: loom has just made sure that nobody writes here.
        self.0.with(|cell| unsafe { *cell })
    }
}

fn cells(count: usize) -> Vec<Cell> {
    (0..count).map(|_| Cell(loom::cell::UnsafeCell::new(0))).collect()
}

/// The sense barrier with what each of its threads remembers.
struct Sense(SenseBarrier, Vec<loom::sync::Mutex<syncscope_cpu::sync::LocalSense>>);

#[test]
fn the_sense_barrier_separates_phases() {
    let make = |threads| {
        let barrier = SenseBarrier::new(threads, LIMIT);
        let locals = (0..threads).map(|_| loom::sync::Mutex::new(barrier.join())).collect();
        Sense(barrier, locals)
    };
    let wait = |sense: &Sense, thread: usize| sense.0.wait(&mut sense.1[thread].lock().unwrap()).unwrap();
    separates_phases(2, 3, 3, make, wait);
    separates_phases(3, 2, 0, make, wait);
}

#[test]
fn the_dissemination_barrier_separates_phases() {
    let make = |threads| DisseminationBarrier::new(threads, LIMIT);
    separates_phases(2, 2, 3, make, |barrier, thread| barrier.wait(thread).unwrap());
    separates_phases(3, 2, 0, make, |barrier, thread| barrier.wait(thread).unwrap());
}

#[test]
fn the_tree_barrier_separates_phases() {
    let make = |threads| TreeBarrier::new(threads, LIMIT);
    separates_phases(2, 3, 3, make, |barrier, thread| barrier.wait(thread).unwrap());
    separates_phases(3, 2, 0, make, |barrier, thread| barrier.wait(thread).unwrap());
}
