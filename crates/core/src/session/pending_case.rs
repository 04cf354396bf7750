//! A case that is not finished, and what is known of it.

use std::time::Duration;

use crate::engine::measurement::Measurement;
use crate::model::case::Case;
use crate::model::detail::Detail;
use crate::model::observation::Observation;
use crate::run::row::Row;
use crate::session::preset::{Budget, MIN_BLOCKS};

/// What of a case is in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recorded {
    Nothing,
    /// The provisional row of its first block.
    FirstRow,
    Everything,
}

/// A case in the course of its measurement blocks.
pub(super) struct PendingCase {
    pub(super) case: Case,
    pub(super) budget: Budget,
    pub(super) found: Option<Measurement>,
    pub(super) recorded: Recorded,
    /// How long its blocks took, setting it up included.
    pub(super) spent: Duration,
    /// Whether it needs no more blocks.
    pub(super) is_finished: bool,
}

impl PendingCase {
    pub(super) const fn new(case: Case, budget: Budget) -> Self {
        Self { case, budget, found: None, recorded: Recorded::Nothing, spent: Duration::ZERO, is_finished: false }
    }

    /// How many blocks were taken.
    pub(super) fn blocks(&self) -> u32 {
        self.found.as_ref().map_or(0, |found| found.blocks)
    }

    /// Its row for what was `found`.
    pub(super) fn row(&self, found: &Measurement) -> Row {
        Row { provisional: !self.is_finished, ..Row::measured(self.case.clone(), found) }
    }

    /// Its details for what was `found`.
    pub(super) fn details(&self, found: &Measurement) -> Vec<Detail> {
        // How many times the case was measured, where it could have been more than one.
        let blocks = (self.is_finished && self.budget.blocks.max > 1)
            .then(|| Detail::of_case(Detail::MEASUREMENT_BLOCKS, f64::from(found.blocks)));
        let interference = self.is_finished.then(|| smt_interference(&found.observations)).flatten();
        found.details.iter().cloned().chain(blocks).chain(interference).collect()
    }

    /// Whether it took the time of several cases. (On 64 virtual CPUs a block with a thread on each lasts 20 ms instead
    /// of five: the host always takes one of the CPUs away.)
    pub(super) fn is_over_budget(&self) -> bool {
        const SEVERAL: u32 = 4;
        self.blocks() + 1 >= MIN_BLOCKS && self.spent > SEVERAL * self.budget.settings.rule.max_time
    }
}

/// The share of the pairs with SMT interference, if there was any.
fn smt_interference(observations: &[Observation]) -> Option<Detail> {
    let disturbed = observations.iter().filter(|observation| observation.smt_interference).count();
    (disturbed > 0).then(|| Detail::of_case(Detail::SMT_INTERFERENCE, disturbed as f64 / observations.len() as f64))
}
