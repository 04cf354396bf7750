//! Studies of one or two threads on chosen CPUs: a pair of each class, a core whose sibling is idle or busy, one CPU.

use syncscope_core::{Case, Group, Placement, Preset};

use super::study::{Setting, Study};
use crate::machine::nearness::PairClass;

/// The group of one thread on a core whose other hardware thread is idle.
const SIBLING_IDLE: &str = "sibling_idle";

/// The group of two threads on the hardware threads of one core.
const SIBLING_BUSY: &str = "sibling_busy";

/// How the cost for two threads depends on what their CPUs share.
pub(crate) struct CpuPairs;

impl Study for CpuPairs {
    fn name(&self) -> &'static str {
        "cpu_pairs"
    }

    /// Every template on one pair of each class. A class without a pair has one case, in the quick preset none: there all
    /// pairs of a machine of one class are alike.
    fn cases(&self, setting: &Setting, templates: &[Case]) -> Vec<Case> {
        let is_quick = setting.preset == Preset::Quick;
        if is_quick && setting.classes.len() < 2 {
            return Vec::new();
        }
        let on = |class: PairClass| {
            let pair = setting.classes.iter().find(|(known, _)| *known == class);
            let placement = pair.map(|(_, pair)| Placement::List(pair.to_vec()));
            let count = if placement.is_some() { templates.len() } else { usize::from(!is_quick).min(templates.len()) };
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
        let on = |case: &Case, group: &'static str, cpus: Option<&[u32]>, threads: u32| Case {
            threads: Some(threads),
            placement: cpus.map(|cpus| Placement::List(cpus.to_vec())),
            group: Some(Group::named(group)),
            ..case.clone()
        };
        match siblings {
            Some(pair) => templates
                .iter()
                .flat_map(|case| [on(case, SIBLING_IDLE, Some(&pair[..1]), 1), on(case, SIBLING_BUSY, Some(pair), 2)])
                .collect(),
            None if setting.preset == Preset::Quick => Vec::new(),
            None => templates.iter().take(1).map(|case| on(case, SIBLING_BUSY, None, 2)).collect(),
        }
    }

    fn unavailable(&self, case: &Case) -> Option<String> {
        let is_own = case.in_group(SIBLING_IDLE) || case.in_group(SIBLING_BUSY);
        (is_own && case.placement.is_none()).then(|| PairClass::SameCore.missing().to_owned())
    }
}

/// The group of a thread that works on one hardware thread of a core, while the other one waits.
pub(crate) const SIBLING_WAITS: &str = "sibling_waits";

/// What a thread that waits takes from its sibling, by the way in which it waits.
pub(crate) struct WaitingSibling;

impl Study for WaitingSibling {
    fn name(&self) -> &'static str {
        "waiting_sibling"
    }

    /// Every template on the hardware threads of a core, beyond the quick preset. A machine without SMT has one case.
    fn cases(&self, setting: &Setting, templates: &[Case]) -> Vec<Case> {
        let siblings = setting.classes.iter().find(|(class, _)| *class == PairClass::SameCore).map(|(_, pair)| pair);
        let on = |case: &Case| Case {
            threads: Some(2),
            placement: siblings.map(|pair| Placement::List(pair.to_vec())),
            group: Some(Group::named(SIBLING_WAITS)),
            ..case.clone()
        };
        templates.iter().take(if siblings.is_some() { templates.len() } else { 1 }).map(on).collect()
    }

    fn unavailable(&self, case: &Case) -> Option<String> {
        (case.in_group(SIBLING_WAITS) && case.placement.is_none()).then(|| PairClass::SameCore.missing().to_owned())
    }
}

/// What it costs that two threads take turns on one CPU: the one that is woken has to wait for the other one to leave.
pub(crate) struct OneCpu;

impl Study for OneCpu {
    fn name(&self) -> &'static str {
        "one_cpu"
    }

    /// Every template with both threads on the first CPU.
    fn cases(&self, setting: &Setting, templates: &[Case]) -> Vec<Case> {
        let cpu = setting.topology.allowed().next().filter(|_| setting.preset != Preset::Quick);
        let on = |cpu: u32| {
            let placement = Some(Placement::List(vec![cpu; 2]));
            templates.iter().map(move |case| Case {
                threads: Some(2),
                placement: placement.clone(),
                group: Some(Group::named("one_cpu")),
                ..case.clone()
            })
        };
        cpu.into_iter().flat_map(|cpu| on(cpu.os)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::placement::place;
    use crate::machine::topology::Topology;
    use crate::machine::topology::tests::regular;

    #[test]
    fn a_class_without_a_pair_has_one_case() {
        let machine = regular(1, 1, 1, 2, 1);
        let templates = [Case::new("cpu.handoff.park"), Case::new("cpu.handoff.futex")];
        let cases = CpuPairs.cases(&Setting::of(Preset::Standard, &machine), &templates);
        let (real, missing): (Vec<_>, Vec<_>) = cases.iter().partition(|case| CpuPairs.unavailable(case).is_none());
        assert_eq!((real.len(), missing.len()), (2, 5));
        assert!(real.iter().all(|case| case.placement == Some(Placement::List(vec![0, 1])) && case.threads == Some(2)));
        let quick = |machine: &Topology| CpuPairs.cases(&Setting::of(Preset::Quick, machine), &templates).len();
        assert_eq!((quick(&machine), quick(&regular(2, 1, 1, 2, 2))), (0, 6), "a core, a cache, two sockets");
    }

    fn on_siblings(topology: &Topology, preset: Preset) -> Vec<Case> {
        Smt.cases(&Setting::of(preset, topology), &[Case::new("cpu.atomic.add")])
    }

    #[test]
    fn the_sibling_is_idle_and_then_busy() {
        let cases = on_siblings(&regular(1, 1, 1, 4, 2).restricted(|cpu| cpu != 0), Preset::Standard);
        assert_eq!(on_siblings(&regular(1, 1, 1, 4, 2).restricted(|cpu| cpu != 0), Preset::Quick), cases);
        let facts: Vec<_> =
            cases.iter().map(|case| (case.group.clone().unwrap(), case.threads, case.placement.clone())).collect();
        assert_eq!(
            facts,
            [
                (Group::named(SIBLING_IDLE), Some(1), Some(Placement::List(vec![1]))),
                (Group::named(SIBLING_BUSY), Some(2), Some(Placement::List(vec![1, 5])))
            ]
        );
        assert!(cases.iter().all(|case| Smt.unavailable(case).is_none()));
    }

    #[test]
    fn a_machine_without_smt_has_one_case() {
        let cases = on_siblings(&regular(1, 1, 1, 4, 1), Preset::Paper);
        assert_eq!(cases.len(), 1);
        assert!(Smt.unavailable(&cases[0]).unwrap().contains("hardware threads of one core"));
        assert!(on_siblings(&regular(1, 1, 1, 4, 1), Preset::Quick).is_empty());
    }

    #[test]
    fn both_threads_share_the_first_cpu_that_may_be_used() {
        let machine = regular(1, 1, 1, 4, 1).restricted(|cpu| cpu > 1);
        let cases = OneCpu.cases(&Setting::of(Preset::Standard, &machine), &[Case::new("cpu.wake.futex")]);
        let placed = place(&machine, cases[0].placement.as_ref().unwrap(), 2).unwrap();
        assert_eq!((cases.len(), placed.cpus.clone()), (1, vec![Some(2); 2]));
        assert!(placed.oversubscribed());
        assert!(OneCpu.cases(&Setting::of(Preset::Quick, &machine), &[Case::new("cpu.wake.futex")]).is_empty());
    }
}
