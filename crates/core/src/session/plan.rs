//! The plan of a run: which cases, in which order.

use std::collections::{BTreeMap, HashSet};

use crate::{Case, CaseId, Catalogue};

/// The cases of a run: one list for each laboratory.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The cases of each laboratory, in the order of the first pass.
    pub parts: Vec<Vec<Case>>,
    /// What is known of their primitives.
    pub catalogue: Catalogue,
}

impl Plan {
    /// These cases, a list for each laboratory, each in a random order that `seed` decides.
    ///
    /// Cases are shuffled within a laboratory, not across: while the CPU is measured, the clock of a GPU falls.
    pub fn shuffled(mut parts: Vec<Vec<Case>>, catalogue: Catalogue, seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        for part in &mut parts {
            random.shuffle(part);
        }
        Self { parts, catalogue }
    }

    /// All cases.
    pub fn cases(&self) -> impl Iterator<Item = &Case> {
        self.parts.iter().flatten()
    }

    /// The number of cases of each primitive.
    pub fn count_by_primitive(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for case in self.cases() {
            *counts.entry(case.primitive.clone()).or_default() += 1;
        }
        counts
    }

    /// Number of cases.
    pub fn len(&self) -> usize {
        self.parts.iter().map(Vec::len).sum()
    }

    /// Whether there is nothing to measure.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Leaves out the cases that are finished.
    pub fn leave_out(&mut self, finished: &HashSet<CaseId>) {
        for part in &mut self.parts {
            part.retain(|case| !finished.contains(&case.id()));
        }
    }
}
