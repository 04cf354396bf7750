//! The costs of the first screen while a run goes on.

use std::sync::Arc;

use syncscope_core::stats::Interval;
use syncscope_core::{Case, Catalogue, Nanoseconds, Row, Run, Verdict};

use crate::RunData;
use crate::analysis::ladder;

/// The rungs of which something is known.
#[derive(Debug)]
pub struct LiveLadder(RunData);

impl LiveLadder {
    /// Of a run that begins.
    pub fn new(run: Run, catalogue: Arc<Catalogue>) -> Self {
        let (rows, details, sections, damage) = Default::default();
        Self(RunData { name: String::new(), run, rows, details, sections, damage, catalogue })
    }

    /// Whether a case may be one of its rungs.
    pub fn follows(&self, case: &Case) -> bool {
        ladder::may_be_on_card(&self.0, case)
    }

    /// Takes what is known so far of a case. After few pairs a cost has no interval yet; all that is shown is rough.
    pub fn take(&mut self, row: Row) {
        let Some(ns) = row.ns.map(Nanoseconds::value).filter(|ns| *ns > 0.0) else { return };
        let within = row.ns_within.or(Some(Interval { low: ns, high: ns }));
        let row = Row { verdict: Verdict::Resolved, ns_within: within, ns_interval: within, ..row };
        match self.0.rows.iter_mut().find(|known| known.case == row.case) {
            Some(known) => *known = row,
            None => self.0.rows.push(row),
        }
    }

    /// What the rungs are called and cost so far, in nanoseconds, the cheapest first.
    pub fn lines(&self) -> Vec<(String, f64)> {
        let cost = |(id, name)| Some((name, self.0.rows.get(ladder::rung(&self.0, id)?.row)?.ns?.value()));
        let mut all: Vec<(String, f64)> = ladder::card(&self.0).into_iter().filter_map(cost).collect();
        all.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rung_is_what_is_known_last_and_other_cases_are_not_followed() {
        let data = crate::testing::data(Vec::new());
        let mut live = LiveLadder::new(data.run, data.catalogue);
        let case = Case { threads: Some(1), ..Case::new("cpu.atomic.add") };
        assert!(live.follows(&case) && !live.follows(&Case { threads: Some(1), ..Case::new("cpu.atomic.max") }));
        for ns in [9.0, 2.0] {
            let row = Row::unmeasured(case.clone(), Verdict::Noisy("few pairs".into()));
            live.take(Row { ns: Some(Nanoseconds(ns)), ..row });
        }
        assert_eq!(live.lines(), [("fetch_add, one thread".to_owned(), 2.0)]);
    }
}
