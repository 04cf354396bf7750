//! The cases of a family together.

use std::collections::BTreeMap;

use serde::Serialize;
use syncscope_core::stats::median;

use super::case::{Change, ComparedCase};
use crate::naming;

/// The cases of a family in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FamilyChange {
    /// `cpu.atomic`.
    pub family: String,
    /// How many cases both runs have.
    pub cases: usize,
    /// The median of the ratios; `None` where no case has one.
    pub median_ratio: Option<f64>,
    /// How many cases became what; each change has a number.
    #[serde(flatten)]
    pub changes: BTreeMap<Change, usize>,
}

/// The cases by their families, in the order of reports.
pub(super) fn by_family<'c, 'a>(cases: &'c [ComparedCase<'a>]) -> Vec<(String, Vec<&'c ComparedCase<'a>>)> {
    let mut families: BTreeMap<_, Vec<&ComparedCase<'a>>> = BTreeMap::new();
    for case in cases {
        let (domain, family) = case.a.case.domain_and_family();
        families.entry((naming::family_order(domain, family), domain, family)).or_default().push(case);
    }
    families.into_iter().map(|((_, domain, family), cases)| (format!("{domain}.{family}"), cases)).collect()
}

/// What became of the cases of each family, in the order of reports.
pub(super) fn of(cases: &[ComparedCase<'_>]) -> Vec<FamilyChange> {
    let summary = |(family, cases): (String, Vec<&ComparedCase<'_>>)| {
        let ratios: Vec<f64> = cases.iter().filter_map(|case| case.ratio).collect();
        FamilyChange {
            family,
            cases: cases.len(),
            median_ratio: median(&ratios),
            changes: counts(cases.iter().copied()),
        }
    };
    by_family(cases).into_iter().map(summary).collect()
}

/// How many of these cases became what; each change has a number.
pub(super) fn counts<'c>(cases: impl Iterator<Item = &'c ComparedCase<'c>>) -> BTreeMap<Change, usize> {
    let mut counts = BTreeMap::from(Change::ALL.map(|change| (change, 0)));
    for case in cases {
        *counts.entry(case.change).or_default() += 1;
    }
    counts
}
