//! The cases of a family together.

use std::collections::BTreeMap;

use syncscope_core::stats::median;

use super::case::{Change, ComparedCase};
use crate::naming;

/// The cases of a family in both runs.
#[derive(Debug, Clone, PartialEq)]
pub struct FamilyChange {
    /// `cpu.atomic`.
    pub family: String,
    /// How many cases both runs have.
    pub cases: usize,
    /// The median of the ratios; `None` where no case has one.
    pub median_ratio: Option<f64>,
    /// How many cases became what, in the order of [`Change::ALL`].
    pub changes: [usize; 5],
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
            changes: Change::ALL.map(|change| cases.iter().filter(|case| case.change == change).count()),
        }
    };
    by_family(cases).into_iter().map(summary).collect()
}
