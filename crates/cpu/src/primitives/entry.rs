//! An entry of the catalogue: a primitive and how it is measured.

use std::env::consts::ARCH;

use syncscope_core::sweep::Sweep;
use syncscope_core::{Case, Primitive, Waits};

use super::workload::Workload;
use crate::axes::Axes;
use syncscope_machine::studies::Participation;

/// Makes the cases of a primitive.
pub(super) type Cases = fn(&Primitive, &Axes) -> Vec<Case>;

/// Teams of all sizes at all places.
pub(super) fn of_teams(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    axes.sweep(primitive).into_iter().flat_map(Sweep::cases).collect()
}

/// Two threads or processes on adjacent cores.
pub(super) fn of_two(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    axes.in_usual_places(primitive, &[2]).cases()
}

/// Makes a case ready to run.
pub(super) type MakeWorkload = fn(&Case) -> Option<Workload>;

/// Defines functions that make entries of a kind, with the operation and the facts that these have in common. They take an id, a
/// summary, a source, cases, and the workload of a case.
macro_rules! kinds {
    ($($(#[$about:meta])* $kind:ident: $operation:expr, $facts:expr;)+) => {$(
        $(#[$about])*
        const fn $kind(
            id: &'static str,
            summary: &'static str,
            source: &'static str,
            cases: $crate::primitives::entry::Cases,
            workload: $crate::primitives::entry::MakeWorkload,
        ) -> $crate::primitives::entry::Entry {
            let primitive = Primitive { id, summary, operation: $operation, source, facts: $facts };
            $crate::primitives::entry::Entry::of(primitive, cases, workload)
        }
    )+};
}
pub(super) use kinds;

/// A primitive and how it is measured.
pub(crate) struct Entry {
    /// The description of the primitive.
    pub(crate) primitive: Primitive,
    /// Makes its cases on the given axes.
    pub(crate) cases: Cases,
    /// Makes a case ready to run; `None` for parameters that this primitive does not have.
    pub(crate) workload: MakeWorkload,
    /// The studies that it takes part in.
    pub(crate) studies: &'static [Participation],
    /// What the quick preset plans of its cases.
    pub(crate) in_quick: InQuick,
    /// For an instruction of one architecture, which one; others have no cases of it.
    pub(super) instruction_of: Option<&'static str>,
    /// Checks what the primitive needs of the system.
    pub(super) requirement: fn() -> Result<(), String>,
    /// The architectures on which it is no instruction, each with why.
    pub(super) elided_by_nature: &'static [(&'static str, &'static str)],
}

/// What the quick preset plans of the cases of a primitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InQuick {
    All,
    MostThreads,
    Nothing,
}

impl Entry {
    /// An entry for a primitive, its cases, and the workload of a case. Unit tests call the family's function for a workload, or
    /// are in `tests/`: through the catalogue, every timed loop would be compiled once more.
    pub(super) const fn of(primitive: Primitive, cases: Cases, workload: MakeWorkload) -> Self {
        Self {
            primitive,
            cases,
            workload: if cfg!(test) {
                |_| unreachable!("no workloads of the catalogue in unit tests")
            } else {
                workload
            },
            studies: &[],
            in_quick: InQuick::All,
            instruction_of: None,
            requirement: || Ok(()),
            elided_by_nature: &[],
        }
    }

    /// Sets how the threads wait, where others of the kind wait in another way.
    pub(super) const fn waiting(mut self, waits: Waits) -> Self {
        self.primitive.facts.waits = waits;
        self
    }

    /// Replaces the cases, where others of the kind have other ones.
    pub(super) const fn over(self, cases: Cases) -> Self {
        Self { cases, ..self }
    }

    /// Marks a primitive whose groups are implementations of their own.
    pub(super) const fn with_designs(mut self) -> Self {
        self.primitive.facts.has_designs = true;
        self
    }

    /// Marks an algorithm that a program has to bring along.
    pub(super) const fn algorithm(mut self) -> Self {
        self.primitive.facts.is_algorithm = true;
        self
    }

    /// Lets the primitive take part in studies of the machine.
    pub(super) const fn in_studies(self, studies: &'static [Participation]) -> Self {
        Self { studies, ..self }
    }

    /// Leaves a primitive that few programs choose out of the quick preset.
    pub(super) const fn beyond_quick(self) -> Self {
        Self { in_quick: InQuick::Nothing, ..self }
    }

    /// Lets the quick preset plan the primitive with its largest teams alone.
    pub(super) const fn with_most_threads_in_quick(self) -> Self {
        Self { in_quick: InQuick::MostThreads, ..self }
    }

    /// Sets a requirement, for a primitive that not every system has. Its error says what is missing and how to get it.
    pub(super) const fn requiring(self, requirement: fn() -> Result<(), String>) -> Self {
        Self { requirement, ..self }
    }

    /// Restricts an instruction to one architecture (`std::env::consts::ARCH`).
    pub(super) const fn only_on(self, architecture: &'static str) -> Self {
        Self { instruction_of: Some(architecture), ..self }
    }

    /// Whether the primitive has cases on this architecture. An instruction that some processors of this machine's architecture
    /// lack has cases only if this processor has it.
    pub(crate) fn has_cases_on(&self, architecture: &str) -> bool {
        self.instruction_of.is_none_or(|own| own == architecture && (own != ARCH || self.unavailable().is_none()))
    }

    /// Names the architectures (`std::env::consts::ARCH`) on which the primitive is no instruction, each with why.
    pub(super) const fn elided_by_nature(self, architectures: &'static [(&'static str, &'static str)]) -> Self {
        Self { elided_by_nature: architectures, ..self }
    }

    /// Why the primitive is no instruction on this architecture; `None` where it is one.
    pub(crate) fn why_elided(&self, architecture: &str) -> Option<&'static str> {
        self.elided_by_nature.iter().find(|(name, _)| *name == architecture).map(|(_, why)| *why)
    }

    /// Why the primitive cannot be measured on this system, and what to do about it.
    pub(crate) fn unavailable(&self) -> Option<String> {
        let elsewhere = self.instruction_of.filter(|architecture| *architecture != ARCH);
        elsewhere.map(|name| format!("an instruction of {name} only")).or_else(|| (self.requirement)().err())
    }
}
