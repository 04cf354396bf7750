//! The primitives: one small file each, all of them listed in [`catalogue`].
//!
//! To add one, write a file with a `pub(super) static ENTRY: Entry` and name it in `ENTRIES`.

#![allow(
    clippy::inline_always,
    reason = "an operation must stand in the timed loop itself, whatever the optimizer thinks of its size"
)]

mod atomic_add;
mod atomic_add_capture;
mod atomic_cas;
mod atomic_exchange;
mod atomic_max;
mod atomic_read;
mod atomic_write;
mod atomics;
mod barrier_dissemination;
mod barrier_openmp;
mod barrier_sense;
mod barrier_std;
mod barrier_tree;
mod barriers;
mod contest;
mod fence_flush;
mod fences;
mod handoff_cas;
mod handoff_channel;
mod handoff_condvar;
mod handoff_futex;
mod handoff_park;
mod handoff_store;
mod handoffs;
mod lines;
mod lock_mcs;
mod lock_openmp_critical;
mod lock_parking_lot;
mod lock_pthread_mutex;
mod lock_pthread_spin;
mod lock_rwlock_read;
mod lock_rwlock_write;
mod lock_std;
mod lock_ticket;
mod lock_ttas;
mod locks;
mod number;
mod opaque;
pub mod operation;
mod orders;
mod round_trips;
mod study;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use syncscope_core::{Case, Evidence, Primitive, Refusal};

use crate::openmp;
use crate::plan::Axes;
use crate::sync::Broken;
use crate::team::Body;

pub use operation::{LoopFunctions, Operation, Workload};

/// A primitive and how to measure it.
pub struct Entry {
    /// Its description.
    pub primitive: Primitive,
    /// Its cases on the given axes.
    pub(crate) cases: fn(&Primitive, &Axes) -> Vec<Case>,
    /// Makes a case ready to run; `None` for parameters this primitive does not have.
    pub(crate) workload: fn(&Case) -> Option<Workload>,
}

/// Every primitive of this crate.
static ENTRIES: &[&Entry] = &[
    &atomic_add::ENTRY,
    &atomic_add_capture::ENTRY,
    &atomic_read::ENTRY,
    &atomic_write::ENTRY,
    &atomic_exchange::ENTRY,
    &atomic_cas::PASS,
    &atomic_cas::FAIL,
    &atomic_max::ENTRY,
    &fences::ACQUIRE,
    &fences::RELEASE,
    &fences::ACQ_REL,
    &fences::SEQ_CST,
    &fence_flush::ENTRY,
    &barrier_std::ENTRY,
    &barrier_sense::ENTRY,
    &barrier_dissemination::ENTRY,
    &barrier_tree::ENTRY,
    &barrier_openmp::ENTRY,
    &lock_std::ENTRY,
    &lock_parking_lot::ENTRY,
    &lock_pthread_mutex::ENTRY,
    &lock_pthread_spin::ENTRY,
    &lock_ttas::ENTRY,
    &lock_ticket::ENTRY,
    &lock_mcs::ENTRY,
    &lock_rwlock_read::ENTRY,
    &lock_rwlock_write::ENTRY,
    &lock_openmp_critical::ENTRY,
    &handoff_store::ENTRY,
    &handoff_cas::ENTRY,
    &handoff_channel::ENTRY,
    &handoff_condvar::ENTRY,
    &handoff_park::ENTRY,
    &handoff_futex::ENTRY,
];

/// The descriptions of all primitives, whether they can be measured here or not.
#[must_use]
pub fn catalogue() -> &'static [Primitive] {
    static CATALOGUE: LazyLock<Vec<Primitive>> =
        LazyLock::new(|| ENTRIES.iter().map(|entry| entry.primitive).collect());
    &CATALOGUE
}

/// All entries, in the catalogue's order.
pub(crate) fn entries() -> impl Iterator<Item = &'static Entry> {
    ENTRIES.iter().copied()
}

/// The entry of a primitive.
pub(crate) fn find(id: &str) -> Option<&'static Entry> {
    entries().find(|entry| entry.primitive.id == id)
}

/// How long a thread of the project's own locks, barriers and hand-offs waits for another one before it gives up.
const LIMIT: Duration = Duration::from_secs(2);

/// Leaves the timed loop when a wait found no end: without a test in the path of the others, and without a message. The
/// team reports it.
#[inline(always)]
fn or_leave<T>(outcome: Result<T, Broken>) -> T {
    match outcome {
        Ok(value) => value,
        Err(broken) => leave(broken),
    }
}

#[cold]
#[inline(never)]
fn leave(broken: Broken) -> ! {
    std::panic::resume_unwind(Box::new(broken))
}

/// The primitives of OpenMP runtimes; their cases name the runtime in the column `group`.
static OF_OPENMP: [&Entry; 2] = [&barrier_openmp::ENTRY, &lock_openmp_critical::ENTRY];

/// Why a primitive cannot be measured on this system, if so, and what to do about it.
pub(crate) fn obstacle(entry: &Entry) -> Option<String> {
    let needs_runtime = OF_OPENMP.iter().any(|of_openmp| std::ptr::eq(*of_openmp, entry));
    if needs_runtime && openmp::runtimes().is_empty() { openmp::runtime(openmp::USUAL).err() } else { None }
}

/// What the machine code of a case shows, without running it.
///
/// # Errors
/// [`Refusal::Skipped`] when there is no such primitive here, or no such variant of it.
pub fn evidence_of(case: &Case) -> Result<Evidence, Refusal> {
    workload_of(case).map(|workload| workload.evidence())
}

/// A case made ready to run.
pub(crate) fn workload_of(case: &Case) -> Result<Workload, Refusal> {
    let entry =
        find(&case.primitive).ok_or_else(|| Refusal::Skipped(format!("there is no primitive {}", case.primitive)))?;
    if let Some(obstacle) = obstacle(entry) {
        return Err(Refusal::Skipped(obstacle));
    }
    (entry.workload)(case).ok_or_else(|| Refusal::Skipped(format!("{} has no such variant", case.primitive)))
}

/// A job that proves, outside the timed shots, that a primitive does its work.
pub(crate) type Proof = Arc<dyn Body>;

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::{Domain, Preset};

    #[test]
    fn descriptions_keep_the_contract() {
        for primitive in catalogue() {
            assert_eq!(primitive.defect(), None);
            assert_eq!(primitive.domain(), Some(Domain::Cpu));
        }
        let mut ids: Vec<_> = catalogue().iter().map(|primitive| primitive.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), ENTRIES.len(), "an id stands for one primitive");
    }

    #[test]
    fn every_planned_case_can_be_made() {
        let topology = crate::topology::tests::regular(1, 1, 1, 2, 2);
        for preset in Preset::ALL {
            let axes = Axes::of(*preset, &topology);
            for entry in entries() {
                let cases = (entry.cases)(&entry.primitive, &axes);
                assert!(!cases.is_empty(), "{}", entry.primitive.id);
                for case in cases {
                    assert_eq!(case.primitive, entry.primitive.id);
                    assert!((entry.workload)(&case).is_some() || obstacle(entry).is_some(), "{case}");
                }
            }
        }
        assert!(find("cpu.atomic.add").is_some() && find("cpu.atomic.nothing").is_none());
    }
}
