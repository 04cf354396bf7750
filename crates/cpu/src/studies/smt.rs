//! One hardware thread of a core while its sibling is idle, and while it is busy.

use syncscope_core::{Case, Group, Placement, Preset};

use super::study::{Setting, Study};
use crate::machine::pair_class::PairClass;

/// What a hardware thread loses to its sibling. The loss is the quotient of the busy and the idle cost. The core gains two
/// over that quotient.
pub(crate) struct Smt;

impl Study for Smt {
    fn name(&self) -> &'static str {
        "smt"
    }

    /// Every template, whose threads share no line, on one hardware thread of a core and on two of them. A machine without
    /// SMT has one case, in the quick preset none.
    fn cases(&self, setting: &Setting, templates: &[Case]) -> Vec<Case> {
        let siblings = setting.classes.iter().find(|(class, _)| *class == PairClass::SameCore).map(|(_, pair)| pair);
        let on = |case: &Case, group: Group, cpus: Option<&[u32]>, threads: u32| Case {
            threads: Some(threads),
            placement: cpus.map(|cpus| Placement::List(cpus.to_vec())),
            group: Some(group),
            ..case.clone()
        };
        match siblings {
            Some(pair) => templates
                .iter()
                .flat_map(|case| {
                    [on(case, Group::SiblingIdle, Some(&pair[..1]), 1), on(case, Group::SiblingBusy, Some(pair), 2)]
                })
                .collect(),
            None if setting.preset == Preset::Quick => Vec::new(),
            None => templates.iter().take(1).map(|case| on(case, Group::SiblingBusy, None, 2)).collect(),
        }
    }

    fn unavailable(&self, case: &Case) -> Option<String> {
        let is_own = matches!(case.group, Some(Group::SiblingIdle | Group::SiblingBusy));
        (is_own && case.placement.is_none()).then(|| PairClass::SameCore.missing().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::topology::Topology;
    use crate::machine::topology::tests::regular;

    fn studied(topology: &Topology, preset: Preset) -> Vec<Case> {
        Smt.cases(&Setting::of(preset, topology), &[Case::new("cpu.atomic.add")])
    }

    #[test]
    fn the_sibling_is_idle_and_then_busy() {
        let cases = studied(&regular(1, 1, 1, 4, 2).restricted(|cpu| cpu != 0), Preset::Standard);
        assert_eq!(studied(&regular(1, 1, 1, 4, 2).restricted(|cpu| cpu != 0), Preset::Quick), cases);
        let facts: Vec<_> =
            cases.iter().map(|case| (case.group.clone().unwrap(), case.threads, case.placement.clone())).collect();
        assert_eq!(
            facts,
            [
                (Group::SiblingIdle, Some(1), Some(Placement::List(vec![1]))),
                (Group::SiblingBusy, Some(2), Some(Placement::List(vec![1, 5])))
            ]
        );
        assert!(cases.iter().all(|case| Smt.unavailable(case).is_none()));
    }

    #[test]
    fn a_machine_without_smt_has_one_case() {
        let cases = studied(&regular(1, 1, 1, 4, 1), Preset::Paper);
        assert_eq!(cases.len(), 1);
        assert!(Smt.unavailable(&cases[0]).unwrap().contains("hardware threads of one core"));
        assert!(studied(&regular(1, 1, 1, 4, 1), Preset::Quick).is_empty());
    }
}
