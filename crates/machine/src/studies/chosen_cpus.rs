//! Studies of one or two threads on chosen CPUs: a pair of each class, a core whose sibling is idle or busy, one CPU.

use std::collections::HashSet;

use syncscope_core::{Case, Group, Preset, SpinBudget};

use super::{Setting, Study, on_cpus};
use crate::nearness::PairClass;

/// The group of one thread on a core whose other hardware thread is idle.
const SIBLING_IDLE: &str = "sibling_idle";

/// The group of two threads on the hardware threads of one core.
pub(super) const SIBLING_BUSY: &str = "sibling_busy";

/// How the cost for two threads depends on what their CPUs share.
pub struct CpuPairs;

impl Study for CpuPairs {
    /// Every template on one pair of each class. A class without a pair has one case, in the quick preset none. The quick
    /// preset has no case at all where all pairs are of one class.
    fn cases(&self, setting: &Setting, templates: &[Case]) -> Vec<Case> {
        if setting.preset == Preset::Quick && setting.classes.len() < 2 {
            return Vec::new();
        }
        let of_class = |class: &PairClass| match setting.pair_of(*class) {
            Some(pair) => templates.iter().map(|case| on_cpus(case, class.group(), &pair)).collect(),
            None => setting.lacking(templates, &class.group()),
        };
        PairClass::ALL.iter().flat_map(of_class).collect()
    }
}

/// The class of CPU pairs that the group of a case names.
pub(super) fn class_of(case: &Case) -> Option<PairClass> {
    case.group_word().parse().ok()
}

/// What a hardware thread loses to its sibling: the quotient of the busy and the idle cost. The core's throughput changes by the
/// factor two over that quotient.
pub struct Smt;

impl Study for Smt {
    /// Every template, whose threads share no line, on one hardware thread of a core and on two of them. A machine without
    /// SMT has one case, in the quick preset none.
    fn cases(&self, setting: &Setting, templates: &[Case]) -> Vec<Case> {
        let (idle, busy) = (Group::named(SIBLING_IDLE), Group::named(SIBLING_BUSY));
        let Some(pair) = setting.pair_of(PairClass::SameCore) else { return setting.lacking(templates, &busy) };
        let both = |case: &Case| [on_cpus(case, idle.clone(), &pair[..1]), on_cpus(case, busy.clone(), &pair)];
        templates.iter().flat_map(both).collect()
    }
}

/// The group of a thread that works on one hardware thread of a core, while the other one waits.
pub const SIBLING_WAITS: &str = "sibling_waits";

/// What a thread that waits takes from its sibling, by the way in which it waits.
pub struct WaitingSibling;

impl Study for WaitingSibling {
    /// Every template on the hardware threads of a core, beyond the quick preset. A machine without SMT has one case.
    fn cases(&self, setting: &Setting, templates: &[Case]) -> Vec<Case> {
        let group = Group::named(SIBLING_WAITS);
        let Some(pair) = setting.pair_of(PairClass::SameCore) else { return setting.lacking(templates, &group) };
        templates.iter().map(|case| on_cpus(case, group.clone(), &pair)).collect()
    }
}

/// What spinning before a sleep costs the competitors for the CPU, and what they cost the spinning thread.
pub struct Competing;

impl Study for Competing {
    /// Every template on the nearest pair of two cores: the waker on one CPU, the waiter and its competitor on the other.
    fn cases(&self, setting: &Setting, templates: &[Case]) -> Vec<Case> {
        let pair = setting.classes.iter().find(|(class, _)| *class != PairClass::SameCore);
        let Some((_, [waker, waiter])) = pair.filter(|_| setting.preset != Preset::Quick) else { return Vec::new() };
        let competes = |case: &Case| Some(SpinBudget { competes: true, ..SpinBudget::of(case)? }.group());
        let beside = |case: &Case| Some(on_cpus(case, competes(case)?, &[*waker, *waiter, *waiter]));
        templates.iter().filter_map(beside).collect()
    }
}

/// How fast each core is.
pub struct EachCore;

/// The group of one thread on each core in turn.
const EACH_CORE: &str = "each core";

/// The most cores in the standard preset; of more cores an even sample is taken. The paper preset measures all.
const MOST_CORES: usize = 64;

impl Study for EachCore {
    /// Every template on the first hardware thread of each core, beyond the quick preset.
    fn cases(&self, setting: &Setting, templates: &[Case]) -> Vec<Case> {
        let mut cores = HashSet::new();
        let first: Vec<u32> =
            setting.topology.allowed().filter(|thread| cores.insert(thread.core)).map(|thread| thread.os).collect();
        let step = match setting.preset {
            Preset::Quick => return Vec::new(),
            Preset::Standard => first.len().div_ceil(MOST_CORES).max(1),
            Preset::Paper => 1,
        };
        let on = |cpu: u32| templates.iter().map(move |case| on_cpus(case, Group::named(EACH_CORE), &[cpu]));
        first.into_iter().step_by(step).flat_map(on).collect()
    }
}

/// What it costs when two threads take turns on one CPU: the woken thread has to wait until the other one leaves.
pub struct OneCpu;

impl Study for OneCpu {
    /// Every template with both threads on the first CPU.
    fn cases(&self, setting: &Setting, templates: &[Case]) -> Vec<Case> {
        let cpu = setting.topology.allowed().next().filter(|_| setting.preset != Preset::Quick);
        let on = |cpu: u32| templates.iter().map(move |case| on_cpus(case, Group::named("one_cpu"), &[cpu; 2]));
        cpu.into_iter().flat_map(|cpu| on(cpu.os)).collect()
    }
}

#[cfg(test)]
mod tests {
    use syncscope_core::Placement;

    use super::*;
    use crate::placement::place;
    use crate::studies::unavailable;
    use crate::topology::Topology;
    use crate::topology::regular;

    #[test]
    fn a_class_without_a_pair_has_one_case() {
        let machine = regular(1, 1, 1, 2, 1);
        let templates = [Case::new("cpu.handoff.park"), Case::new("cpu.handoff.futex")];
        let cases = CpuPairs.cases(&Setting::of(Preset::Standard, &machine), &templates);
        let (real, missing): (Vec<_>, Vec<_>) = cases.iter().partition(|case| unavailable(case).is_none());
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
        assert!(cases.iter().all(|case| unavailable(case).is_none()));
    }

    #[test]
    fn a_machine_without_smt_has_one_case() {
        let cases = on_siblings(&regular(1, 1, 1, 4, 1), Preset::Paper);
        assert_eq!(cases.len(), 1);
        assert!(unavailable(&cases[0]).unwrap().contains("hardware threads of one core"));
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
