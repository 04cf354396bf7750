//! The primitives: one small file each, in a folder for each family, all of them listed in [`catalogue`].
//!
//! To add one, write a file with a `pub(super) static ENTRY: Entry` and name it in the `ENTRIES` of its family.

#![allow(
    clippy::inline_always,
    reason = "an operation must stand in the timed loop itself, whatever the optimizer thinks of its size"
)]

mod atomic;
mod barrier;
mod fairness;
mod fence;
mod follow_up;
mod handoff;
mod lines;
mod lock;
mod number;
mod opaque;
pub mod operation;
mod orders;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use syncscope_core::{Case, Evidence, Primitive, Refusal};

use crate::plan::Axes;
use crate::sync::Broken;
use crate::team::Body;
use crate::team::openmp;

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

/// The families, in the order of the catalogue.
static FAMILIES: [&[&Entry]; 5] = [atomic::ENTRIES, fence::ENTRIES, barrier::ENTRIES, lock::ENTRIES, handoff::ENTRIES];

/// The descriptions of all primitives, whether they can be measured here or not.
#[must_use]
pub fn catalogue() -> &'static [Primitive] {
    static CATALOGUE: LazyLock<Vec<Primitive>> = LazyLock::new(|| entries().map(|entry| entry.primitive).collect());
    &CATALOGUE
}

/// All entries, in the catalogue's order.
pub(crate) fn entries() -> impl Iterator<Item = &'static Entry> {
    FAMILIES.into_iter().flatten().copied()
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
static OF_OPENMP: [&Entry; 2] = [&barrier::openmp::ENTRY, &lock::openmp_critical::ENTRY];

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
        assert_eq!(ids.len(), entries().count(), "an id stands for one primitive");
    }

    #[test]
    fn every_planned_case_can_be_made() {
        let topology = crate::machine::topology::tests::regular(1, 1, 1, 2, 2);
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
