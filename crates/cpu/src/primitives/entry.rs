//! An entry of the catalogue: a primitive and how it is measured.

use syncscope_core::{Case, Primitive};

use super::workload::Workload;
use crate::axes::Axes;
use crate::studies::Participation;

/// A primitive and how it is measured.
pub(crate) struct Entry {
    /// Its description.
    pub(crate) primitive: Primitive,
    /// Its cases on the given axes.
    pub(crate) cases: fn(&Primitive, &Axes) -> Vec<Case>,
    /// Makes a case ready to run; `None` for parameters that this primitive does not have.
    pub(crate) workload: fn(&Case) -> Option<Workload>,
    /// The studies that it takes part in.
    pub(crate) studies: &'static [Participation],
    /// What it needs of the system.
    requirement: fn() -> Result<(), String>,
}

impl Entry {
    /// A primitive, its cases, and the workload of a case.
    pub(super) const fn of(
        primitive: Primitive,
        cases: fn(&Primitive, &Axes) -> Vec<Case>,
        workload: fn(&Case) -> Option<Workload>,
    ) -> Self {
        Self { primitive, cases, workload, studies: &[], requirement: || Ok(()) }
    }

    /// The same for a primitive that takes part in studies of the machine.
    pub(super) const fn in_studies(self, studies: &'static [Participation]) -> Self {
        Self { studies, ..self }
    }

    /// The same for a primitive that not every system has. The error says what is missing and how to get it.
    pub(super) const fn requiring(self, requirement: fn() -> Result<(), String>) -> Self {
        Self { requirement, ..self }
    }

    /// Why the primitive cannot be measured on this system, and what to do about it.
    pub(crate) fn unavailable(&self) -> Option<String> {
        (self.requirement)().err()
    }
}
