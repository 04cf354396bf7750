//! Barriers: all threads of the team wait for each other.
//!
//! Start with the sense barrier in `own.rs`; its algorithm is `sync/barriers/sense.rs`. This file holds the loops and the
//! proof that no thread leaves a barrier early. `library.rs` holds the barriers of Rust, crossbeam, the C library and OpenMP.
//!
//! A new barrier is a block in one of these files, and a name in its `ENTRIES`. An algorithm of our own comes first, in
//! `sync/barriers`.

pub(super) mod library;
pub(super) mod own;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use syncscope_core::units::plural;

use crate::memory::Pages;
use crate::memory::inherited;
use crate::primitives::prelude::*;
use crate::sync::Barrier;

const FACTS: Facts =
    Facts { run_effect: facts::between_threads, at_once: OperationsAtOnce::One, ..Facts::of(Role::ThreadBarrier) };

/// The operation whose cost is `ns`, for every barrier.
const OPERATION: &str = "one barrier across all threads";

kinds! {
    /// A barrier whose waiters spin.
    spins: OPERATION, FACTS.waiting(Waits::Spins);
    /// A barrier whose waiters sleep.
    sleeps: OPERATION, FACTS.waiting(Waits::Sleeps);
    /// A barrier of OpenMP, which each runtime implements in its own way.
    of_openmp: OPERATION, Facts { has_designs: true, ..FACTS.waiting(Waits::AsConfigured) };
}

/// Why instructions of a barrier are not counted.
const PLAIN_STORES: Expected = Expected::Uncounted("a barrier made of plain stores has no instruction of its own");
pub(super) const IN_A_LIBRARY: Expected = Expected::Uncounted("the barrier is a call into a library");

/// The instruction of the central barriers.
pub(super) const ONE_DECREMENT: Expected =
    Expected::once(&["lock dec", "lock sub", "lock xadd", "lock add"], &["ldaddal", "outline ldaddal", "stlxr"]);

/// The loops of a barrier that `make` creates for a number of threads.
fn workload<B: Barrier>(case: &Case, make: impl Fn(u32) -> B, expected: Expected) -> Option<Workload> {
    let threads = case.threads?;
    let barriers = Pages::filled(SLOTS, |_| CachePadded::new(make(threads)));
    Some(loops_and_proof(threads, barriers, counts(threads)).expecting(expected))
}

/// The loops of a barrier whose threads belong to several processes.
pub(super) fn workload_between_processes<B: Barrier + BetweenProcesses>(
    case: &Case,
    make: fn(u32) -> B,
) -> Option<Workload> {
    let threads = case.threads?;
    let barriers = inherited::state(SLOTS, |_| CachePadded::new(make(threads)))?;
    let reached = inherited::state(threads as usize, |_| CachePadded::default())?;
    Some(loops_and_proof(threads, barriers, reached).in_processes())
}

fn loops_and_proof<B: Barrier>(threads: u32, barriers: Pages<CachePadded<B>>, reached: Counts) -> Workload {
    let barriers = Arc::new(barriers);
    let proof = Phases { barriers: Arc::clone(&barriers), reached, defects: counts(threads) };
    Workload::of(Wait(barriers)).with_proof(Arc::new(proof))
}

/// A count for each thread.
type Counts = Pages<CachePadded<AtomicU64>>;

fn counts(threads: u32) -> Counts {
    Pages::filled(threads as usize, |_| CachePadded::default())
}

/// The proof of the barriers in all slots.
pub(super) fn proof_of<B: Barrier>(threads: u32, barriers: Pages<CachePadded<B>>) -> Proof {
    Arc::new(Phases { barriers: Arc::new(barriers), reached: counts(threads), defects: counts(threads) })
}

/// One barrier in each slot.
struct Wait<B>(Arc<Pages<CachePadded<B>>>);

impl<B: Barrier> Operation for Wait<B> {
    type Local<'a> = (&'a B, B::Local);

    fn local(&self, slot: usize, thread: usize) -> Self::Local<'_> {
        let barrier = &*self.0[slot];
        (barrier, barrier.join(thread))
    }

    #[inline(always)]
    fn execute((barrier, local): &mut Self::Local<'_>) {
        or_unwind(barrier.wait(local));
    }

    fn prepare(&self, _slot: usize, _thread: usize) {}

    /// That all threads finished proves little; [`Phases`] is the proof.
    fn verify(&self, _slot: usize, _thread: usize, _executed: Executed) -> Result<(), String> {
        Ok(())
    }
}

/// Proves that no thread leaves the barrier before the last one has arrived. Each thread publishes its phase and waits.
/// Then every other thread must be in the same phase, or in the next one if it was faster.
struct Phases<B> {
    barriers: Arc<Pages<CachePadded<B>>>,
    reached: Counts,
    /// How often a thread found another one behind. Each thread accesses only its own count.
    defects: Counts,
}

impl<B: Barrier> Body for Phases<B> {
    fn prepare(&self, _shot: &Shot, thread: usize) {
        self.reached[thread].store(0, Ordering::Relaxed);
        self.defects[thread].store(0, Ordering::Relaxed);
    }

    fn run(&self, shot: &Shot, thread: usize) {
        let (barrier, reached) = (&*self.barriers[slot_of(shot.pair)], &self.reached);
        let mut local = barrier.join(thread);
        for phase in 1..=shot.iterations {
            // The threads arrive at different times, another one last each time: without a barrier, one leaves too early.
            for _ in 0..(thread as u64 * 7 + phase * 5) % 32 * 16 {
                std::hint::spin_loop();
            }
            // Relaxed: the barrier has to make the store visible to the other threads.
            reached[thread].store(phase, Ordering::Relaxed);
            or_unwind(barrier.wait(&mut local));
            let behind = reached.iter().filter(|other| other.load(Ordering::Relaxed) < phase).count();
            self.defects[thread].fetch_add(behind as u64, Ordering::Relaxed);
        }
    }

    fn verify(&self, shot: &Shot, thread: usize) -> Result<(), String> {
        match self.defects[thread].load(Ordering::Relaxed) {
            0 => Ok(()),
            behind => {
                let late = plural(behind, "thread");
                Err(format!("{late} had not arrived at a barrier that was passed {} times", shot.iterations))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::WaitTimeout;
    use crate::team::{Executor, Team};
    use crate::timing::clock::Clock;
    use std::time::Duration;
    use syncscope_core::Side;

    /// A barrier that stops no thread.
    struct Open;

    impl Barrier for Open {
        type Local = ();
        fn join(&self, _: usize) {}
        fn wait(&self, (): &mut ()) -> Result<(), WaitTimeout> {
            Ok(())
        }
    }

    #[test]
    fn a_barrier_that_stops_no_thread_is_a_defect() {
        let case = Case { threads: Some(2), ..Case::new("cpu.barrier.std") };
        let proof = workload(&case, |_| Open, PLAIN_STORES).unwrap().proof.unwrap();
        let mut team = Team::assemble(&[None, None], &Clock::calibrate()).unwrap();
        let shot = Shot { side: Side::Test, iterations: 100_000, pair: 0 };
        let records = team.run(&proof, &[shot], Duration::from_secs(20)).unwrap();
        assert!(records.iter().flatten().any(|record| record.defect.is_some()));
    }
}
