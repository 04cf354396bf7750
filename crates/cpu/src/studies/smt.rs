//! What a hardware thread gets of its core while the other one is idle, and while it is busy.

use syncscope_core::{Case, Placement};

use crate::plan::Axes;
use crate::studies::cpu_pairs::PairClass;

/// `group` of one thread alone on its core.
pub const IDLE: &str = "sibling_idle";

/// `group` of two threads on one core, each doing the same on its own memory.
pub const BUSY: &str = "sibling_busy";

/// `private` (cases without threads or placement, whose threads share no line) on a core with one idle hardware thread and
/// on the same core with both busy. What a thread loses is the quotient of the two costs; what the core gains by its
/// second thread is two over that. Where no two CPUs are siblings, one case without a placement says so.
pub(crate) fn idle_and_busy(axes: &Axes, private: &[Case]) -> Vec<Case> {
    if !axes.vary_pairs {
        return Vec::new();
    }
    let pair = axes.pairs.iter().find(|(class, _)| *class == PairClass::SameCore).map(|(_, pair)| pair.to_vec());
    let on = |case: &Case, group: &str, cpus: Option<&[u32]>, threads: u32| Case {
        threads: Some(threads),
        placement: cpus.map(|cpus| Placement::List(cpus.to_vec())),
        group: Some(group.to_owned()),
        ..case.clone()
    };
    match &pair {
        Some(pair) => private
            .iter()
            .flat_map(|case| [on(case, IDLE, Some(&pair[..1]), 1), on(case, BUSY, Some(pair), 2)])
            .collect(),
        None => private.iter().take(1).map(|case| on(case, BUSY, None, 2)).collect(),
    }
}

/// Why a case of [`idle_and_busy`] cannot be measured: there are no siblings.
pub(crate) fn obstacle(case: &Case) -> Option<String> {
    let of_siblings = [IDLE, BUSY].iter().any(|group| case.group.as_deref() == Some(group));
    (of_siblings && case.placement.is_none()).then(|| PairClass::SameCore.lack().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::topology::tests::regular;
    use syncscope_core::Preset;

    fn studied(topology: &crate::Topology, preset: Preset) -> Vec<Case> {
        idle_and_busy(&Axes::of(preset, topology), &[Case::new("cpu.atomic.add")])
    }

    #[test]
    fn a_sibling_is_idle_and_then_busy() {
        let cases = studied(&regular(1, 1, 1, 4, 2).restricted(|cpu| cpu != 0), Preset::Standard);
        let facts: Vec<_> =
            cases.iter().map(|case| (case.group.as_deref().unwrap(), case.threads, case.placement.clone())).collect();
        assert_eq!(
            facts,
            [(IDLE, Some(1), Some(Placement::List(vec![1]))), (BUSY, Some(2), Some(Placement::List(vec![1, 5])))]
        );
        assert!(cases.iter().all(|case| obstacle(case).is_none()));
    }

    #[test]
    fn without_siblings_one_case_says_so() {
        let cases = studied(&regular(1, 1, 1, 4, 1), Preset::Paper);
        assert_eq!(cases.len(), 1);
        assert!(obstacle(&cases[0]).unwrap().contains("hardware threads of one core"));
        assert!(studied(&regular(1, 1, 1, 4, 1), Preset::Quick).is_empty());
    }
}
