//! Two threads, once for each class of CPU pairs.

use syncscope_core::{Case, Placement, Preset};

use super::study::{Setting, Study};
use crate::machine::pair_class::PairClass;

/// How the cost for two threads depends on what their CPUs share.
pub(crate) struct CpuPairs;

impl Study for CpuPairs {
    fn name(&self) -> &'static str {
        "cpu_pairs"
    }

    /// Every template on one pair of each class. A class without a pair has one case.
    fn cases(&self, setting: &Setting, templates: &[Case]) -> Vec<Case> {
        if setting.preset == Preset::Quick {
            return Vec::new();
        }
        let on = |class: PairClass| {
            let pair = setting.classes.iter().find(|(known, _)| *known == class);
            let placement = pair.map(|(_, pair)| Placement::List(pair.to_vec()));
            let count = if placement.is_some() { templates.len() } else { 1 };
            templates.iter().take(count).map(move |case| Case {
                threads: Some(2),
                placement: placement.clone(),
                group: Some(class.group()),
                ..case.clone()
            })
        };
        PairClass::ALL.into_iter().flat_map(on).collect()
    }

    fn unavailable(&self, case: &Case) -> Option<String> {
        let class = class_of(case)?;
        case.placement.is_none().then(|| class.missing().to_owned())
    }
}

/// The class of CPU pairs that the group of a case names.
pub(super) fn class_of(case: &Case) -> Option<PairClass> {
    case.group.as_ref().and_then(PairClass::of_group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::topology::tests::regular;

    #[test]
    fn a_class_without_a_pair_has_one_case() {
        let machine = regular(1, 1, 1, 2, 1);
        let templates = [Case::new("cpu.handoff.park"), Case::new("cpu.handoff.futex")];
        let cases = CpuPairs.cases(&Setting::of(Preset::Standard, &machine), &templates);
        let (real, missing): (Vec<_>, Vec<_>) = cases.iter().partition(|case| CpuPairs.unavailable(case).is_none());
        assert_eq!((real.len(), missing.len()), (2, 5));
        assert!(real.iter().all(|case| case.placement == Some(Placement::List(vec![0, 1])) && case.threads == Some(2)));
        assert!(CpuPairs.cases(&Setting::of(Preset::Quick, &machine), &templates).is_empty());
    }
}
