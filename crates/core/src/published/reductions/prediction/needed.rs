//! The costs that predictions need and use.

use super::super::costs::{Costs, SyncCost};
use super::super::row::ReductionRow;
use super::super::terms::Term;
use super::priced::{by_size, priced};
use crate::model::case::Case;

/// The cases whose costs are needed to predict these rows.
#[must_use]
pub fn needed_cases(rows: &[ReductionRow]) -> Vec<Case> {
    let mut cases: Vec<Case> = needed_terms(rows).into_iter().map(|term| term.case).collect();
    cases.sort();
    cases.dedup();
    cases
}

/// The costs that predictions of these rows use, each once.
#[must_use]
pub fn used_costs(rows: &[ReductionRow], costs: &Costs) -> Vec<SyncCost> {
    let mut used: Vec<SyncCost> = Vec::new();
    for term in needed_terms(rows) {
        if let Some(cost) = costs.of_term(&term).filter(|cost| !used.contains(cost)) {
            used.push(cost);
        }
    }
    used
}

/// The terms of all variants of these rows.
fn needed_terms(rows: &[ReductionRow]) -> Vec<Term> {
    let none = Costs::default();
    let groups = by_size(rows);
    let terms = groups.iter().flat_map(|problem| priced(problem, rows, &none)).flat_map(|priced| priced.terms);
    terms.map(|(term, _)| term).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::rows;
    use super::*;

    #[test]
    fn what_must_be_measured_follows_from_the_rows() {
        let needed = needed_cases(&rows());
        let ids: Vec<&str> = needed.iter().map(|case| case.primitive.as_str()).collect();
        assert_eq!(ids.iter().filter(|id| **id == "gpu.launch.stream").count(), 2, "{ids:?}");
        assert!(ids.contains(&"gpu.grid.cooperative") && !ids.contains(&"gpu.cluster.sync"), "{ids:?}");
    }
}
