//! Which cases show whether their cost is additive.

use std::collections::{BTreeMap, HashSet};

use crate::model::case::{Case, CaseId};
use crate::model::primitive::Family;

/// One in so many cases of each family, and no fewer than [`LEAST_OF_FAMILY`], shows whether its cost is additive.
const ADDITIVITY_SHARE: usize = 10;

const LEAST_OF_FAMILY: usize = 2;

/// The cases whose third loop is run: of each family those with the lowest identities, which are as good as random. Of fences
/// on CPUs all: nothing but the third loop shows what a fence waits for. (Cases that are counted in windows run it too.)
#[must_use]
pub fn additivity_sample(cases: &[Case]) -> HashSet<CaseId> {
    let (fences, others): (Vec<&Case>, Vec<&Case>) =
        cases.iter().partition(|case| case.is_on_cpus() && case.domain_and_family().1 == Family::Fence.as_str());
    let mut families: BTreeMap<(&str, &str), Vec<CaseId>> = BTreeMap::new();
    for case in others {
        families.entry(case.domain_and_family()).or_default().push(case.id());
    }
    let sample = families.into_values().flat_map(|mut ids| {
        ids.sort_unstable();
        let count = ids.len().div_ceil(ADDITIVITY_SHARE).max(LEAST_OF_FAMILY);
        ids.into_iter().take(count)
    });
    sample.chain(fences.into_iter().map(Case::id)).collect()
}
