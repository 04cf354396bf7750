//! The primitives: one small file each, all of them listed in [`catalogue`].
//!
//! To add one, write a file with a `pub(super) static ENTRY: Entry` and name it in `ENTRIES`.

#![allow(
    clippy::inline_always,
    reason = "an operation must stand in the timed loop itself, whatever the optimizer thinks of its size"
)]

mod atomic_add;
mod barrier_sense;
mod barrier_std;
mod barriers;
mod lines;
mod lock_parking_lot;
mod lock_std;
mod locks;
mod number;
pub mod operation;

use std::sync::{Arc, LazyLock};

use syncscope_core::{Case, Primitive};

use crate::plan::Axes;
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
static ENTRIES: [&Entry; 5] =
    [&atomic_add::ENTRY, &barrier_std::ENTRY, &barrier_sense::ENTRY, &lock_std::ENTRY, &lock_parking_lot::ENTRY];

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
                    assert!((entry.workload)(&case).is_some(), "{case}");
                }
            }
        }
        assert!(find("cpu.atomic.add").is_some() && find("cpu.atomic.nothing").is_none());
    }
}
