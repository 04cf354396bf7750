//! The costs of the first screen while a run goes on.

use std::sync::Arc;

use syncscope_core::{Case, Catalogue, Nanoseconds, Row, Run};

use crate::RunData;
use crate::analysis::ladder;
use crate::figure::Cost;

/// The rungs of which something is known.
#[derive(Debug)]
pub struct LiveLadder(RunData);

impl LiveLadder {
    /// Of a run that begins.
    #[must_use]
    pub fn new(run: Run, catalogue: Catalogue) -> Self {
        let catalogue = Arc::new(catalogue);
        let (rows, details, sections, damage) = Default::default();
        Self(RunData { name: String::new(), run, rows, details, sections, damage, catalogue })
    }

    /// Whether a case may be one of its rungs.
    #[must_use]
    pub fn follows(&self, case: &Case) -> bool {
        ladder::may_be_on_card(&self.0, case)
    }

    /// Takes what is known so far of a case.
    pub fn take(&mut self, row: Row) {
        match self.0.rows.iter_mut().find(|known| known.case == row.case) {
            Some(known) => *known = row,
            None => self.0.rows.push(row),
        }
    }

    /// What the rungs are called and cost, the cheapest first.
    #[must_use]
    pub fn lines(&self) -> Vec<(String, String)> {
        let cost = |(id, name)| {
            let row = self.0.rows.get(ladder::rung(&self.0, id)?.row)?;
            Some((row.ns.map(Nanoseconds::value)?, name, Cost::of(row).figure))
        };
        let mut all: Vec<(f64, String, String)> = ladder::card(&self.0).into_iter().filter_map(cost).collect();
        all.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
        all.into_iter().map(|(_, name, text)| (name, text)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::Verdict;
    use syncscope_core::stats::Interval;

    #[test]
    fn a_rung_is_what_is_known_last_and_other_cases_are_not_followed() {
        let data = crate::testing::data(Vec::new());
        let mut live = LiveLadder::new(data.run, (*data.catalogue).clone());
        let case = Case { threads: Some(1), ..Case::new("cpu.atomic.add") };
        assert!(live.follows(&case) && !live.follows(&Case { threads: Some(1), ..Case::new("cpu.atomic.max") }));
        for ns in [9.0, 2.0] {
            let interval = Some(Interval { low: 0.99 * ns, high: 1.01 * ns });
            live.take(Row {
                ns: Some(Nanoseconds(ns)),
                ns_interval: interval,
                ns_within: interval,
                ..Row::unmeasured(case.clone(), Verdict::Resolved)
            });
        }
        assert_eq!(live.lines(), [("fetch_add, one thread".to_owned(), "2.00 ns".to_owned())]);
    }
}
