//! Which cases show whether their cost is additive.

use std::collections::{BTreeMap, HashSet};

use crate::model::case::{Case, CaseId, Layout};
use crate::model::primitive::Family;
use crate::session::preset::LARGE_PLAN;

/// One in so many cases of each family, and no fewer than [`LEAST_OF_FAMILY`], shows whether its cost is additive.
const ADDITIVITY_SHARE: usize = 10;

const LEAST_OF_FAMILY: usize = 2;

/// The cases whose third loop is run: of each family those with the lowest identities, which are as good as random. Of fences,
/// and of operations on one variable, all: nothing but the third loop shows what a fence waits for, and what contends for one
/// variable is seldom additive. A large plan for a GPU has time for some of them only. (Cases that are counted in windows run
/// it too.)
pub fn additivity_sample(cases: &[Case]) -> HashSet<CaseId> {
    let is_large = cases.len() > LARGE_PLAN;
    let (all, others): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| {
        let is_fence = case.domain_and_family().1 == Family::Fence.as_str();
        if case.is_on_cpus() { is_fence } else { !is_large && (is_fence || case.layout == Some(Layout::Shared)) }
    });
    let mut families: BTreeMap<(&str, &str), Vec<CaseId>> = BTreeMap::new();
    for case in others {
        families.entry(case.domain_and_family()).or_default().push(case.id());
    }
    let sample = families.into_values().flat_map(|mut ids| {
        ids.sort_unstable();
        let count = ids.len().div_ceil(ADDITIVITY_SHARE).max(LEAST_OF_FAMILY);
        ids.into_iter().take(count)
    });
    sample.chain(all.into_iter().map(Case::id)).collect()
}
