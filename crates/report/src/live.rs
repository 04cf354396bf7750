//! The cost ladder of the first screen while a run goes on.

use std::sync::Arc;

use syncscope_core::run::shown::ROUGH_UP_TO;
use syncscope_core::{Case, Catalogue, Nanoseconds, Row, Run, Verdict};

use crate::RunData;
use crate::analysis::ladder;
use crate::analysis::usual::short_name;
use crate::reading::has_figure;

/// The rungs that have results so far.
#[derive(Debug)]
pub struct LiveLadder(RunData);

impl LiveLadder {
    /// Creates the ladder of a run that begins.
    pub fn new(run: Run, catalogue: Arc<Catalogue>) -> Self {
        let (rows, details, damage) = Default::default();
        Self(RunData { name: String::new(), run, rows, details, damage, catalogue })
    }

    /// Whether a case may be on one of the rungs.
    pub fn follows(&self, case: &Case) -> bool {
        ladder::may_be_on_card(&self.0, case)
    }

    /// Takes what is known of a case so far. It gets a figure once its interval, widened to include the figure, is narrow
    /// enough; the interval may come from fewer pairs. A case without a figure is kept, because a rung may be about it.
    pub fn take(&mut self, row: Row) {
        let is_narrow = row.ns.zip(row.ns_within).is_some_and(|(Nanoseconds(ns), within)| {
            let (low, high) = (within.low.min(ns), within.high.max(ns));
            low > 0.0 && high - low < 2.0 * ROUGH_UP_TO * ns
        });
        let verdict = if is_narrow { Verdict::Resolved } else { Verdict::Interfered("too few pairs".to_owned()) };
        let row = Row { verdict, ns_interval: row.ns_within, ..row };
        match self.0.rows.iter_mut().find(|known| known.case == row.case) {
            Some(known) => *known = row,
            None => self.0.rows.push(row),
        }
    }

    /// The names of the rungs and their costs so far in nanoseconds, the cheapest first. A rung with several rival designs
    /// names the one it shows, because another may be the cheapest a moment later.
    pub fn lines(&self) -> Vec<(String, f64)> {
        let row = |id| self.0.rows.get(ladder::rung(&self.0, id)?.row).filter(|row| has_figure(row));
        let line = |(id, name): (_, String)| Some((name, row(id)?.ns?.value()));
        let named =
            ladder::card_naming(&self.0, |id, row| ladder::has_rivals(id).then(|| short_name(&row.case.primitive)));
        let mut all: Vec<(String, f64)> = named.into_iter().filter_map(line).collect();
        all.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::stats::Interval;
    use syncscope_core::{Dtype, Facts, Primitive, Role};

    #[test]
    fn a_rung_is_what_is_known_last_and_other_cases_are_not_followed() {
        let data = crate::testing::data(Vec::new());
        let mut live = LiveLadder::new(data.run, data.catalogue);
        let case = Case { threads: Some(1), ..Case::new("cpu.atomic.add") };
        assert!(live.follows(&case) && !live.follows(&Case { threads: Some(1), ..Case::new("cpu.atomic.max") }));
        let mut take = |ns: f64, half_width: Option<f64>| {
            let row = Row::unmeasured(case.clone(), Verdict::Noisy("few pairs".into()));
            let ns_within = half_width.map(|half| Interval { low: ns - half, high: ns + half });
            live.take(Row { ns: Some(Nanoseconds(ns)), ns_within, ..row });
            live.lines()
        };
        assert_eq!(take(9.0, None), [], "after few pairs it has no interval");
        assert_eq!(take(9.0, Some(1.0)), [("fetch_add, one thread".to_owned(), 9.0)]);
        assert_eq!(take(2.0, Some(0.2)), [("fetch_add, one thread".to_owned(), 2.0)]);
        assert_eq!(take(400.0, Some(150.0)), [], "no figure is written that is as wide");
        assert_eq!(take(2.0, Some(0.2)).len(), 1);
        assert_eq!(take(1.0, Some(3.0)), [], "it may be zero");
    }

    #[test]
    fn a_rung_of_rivals_names_the_one_that_it_shows() {
        let mut data = crate::testing::data(Vec::new());
        let lock = |id| Primitive { id, summary: "", operation: "", source: "", facts: Facts::of(Role::ThreadLock) };
        data.catalogue = Arc::new([lock("cpu.lock.ttas"), lock("cpu.lock.mcs")].into_iter().collect());
        let mut live = LiveLadder::new(data.run, data.catalogue);
        let mut take = |id: &str, ns: f64, half: f64| {
            let ns_within = Some(Interval { low: ns - half, high: ns + half });
            let case = Case { threads: Some(2), ..Case::new(id) };
            live.take(Row { ns: Some(Nanoseconds(ns)), ns_within, ..Row::unmeasured(case, Verdict::Resolved) });
            live.lines()
        };
        assert_eq!(take("cpu.lock.mcs", 484.0, 1.0), [("Lock, mcs, 2 threads".to_owned(), 484.0)]);
        assert_eq!(take("cpu.lock.ttas", 15.0, 1.0), [("Lock, ttas, 2 threads".to_owned(), 15.0)]);
        assert_eq!(take("cpu.lock.ttas", 15.0, 9.0), [("Lock, mcs, 2 threads".to_owned(), 484.0)]);
    }

    #[test]
    fn a_rung_is_not_shown_by_another_case_than_the_one_it_is_about() {
        let data = crate::testing::data(Vec::new());
        let mut live = LiveLadder::new(data.run, data.catalogue);
        let mut take = |dtype, half: Option<f64>| {
            let case = Case { threads: Some(1), dtype: Some(dtype), ..Case::new("cpu.atomic.add") };
            let ns_within = half.map(|half| Interval { low: 9.0 - half, high: 9.0 + half });
            live.take(Row { ns: Some(Nanoseconds(9.0)), ns_within, ..Row::unmeasured(case, Verdict::Resolved) });
            live.lines().len()
        };
        assert_eq!(take(Dtype::I32, None), 0);
        assert_eq!(take(Dtype::F64, Some(0.1)), 0, "additions of f64 are loops");
        assert_eq!(take(Dtype::I32, Some(0.1)), 1);
    }
}
