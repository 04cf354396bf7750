//! Pairs of CPUs by what is the nearest thing they share: the classes in which two threads are measured.

use syncscope_core::{Case, Placement};

use crate::plan::Axes;
use crate::topology::{HardwareThread, Topology};

/// The nearest thing that two CPUs share; a word of the column `group`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PairClass {
    /// The core: they are its hardware threads.
    SameCore,
    /// The second-level cache.
    SameL2,
    /// A cache of the third level or beyond.
    SameL3,
    /// The NUMA node.
    SameNode,
    /// The package.
    SamePackage,
    /// The machine.
    Across,
}

impl PairClass {
    /// All classes, the nearest first.
    pub const ALL: [Self; 6] =
        [Self::SameCore, Self::SameL2, Self::SameL3, Self::SameNode, Self::SamePackage, Self::Across];

    /// The word in the column `group`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SameCore => "same_core",
            Self::SameL2 => "same_l2",
            Self::SameL3 => "same_l3",
            Self::SameNode => "same_node",
            Self::SamePackage => "same_package",
            Self::Across => "across",
        }
    }

    /// What a machine without such a pair lacks.
    const fn lack(self) -> &'static str {
        match self {
            Self::SameCore => "no two CPUs this process may use are hardware threads of one core",
            Self::SameL2 => "no two cores this process may use share a second-level cache",
            Self::SameL3 => "no two cores this process may use share a third-level cache and nothing nearer",
            Self::SameNode => "no two cores this process may use share a NUMA node and no cache",
            Self::SamePackage => "no two NUMA nodes this process may use are in one package",
            Self::Across => "the CPUs this process may use are in one package",
        }
    }

    /// The class of two different CPUs.
    fn of(topology: &Topology, a: &HardwareThread, b: &HardwareThread) -> Self {
        let share_cache = |levels: std::ops::RangeInclusive<u32>| {
            let both = |cpus: &[u32]| cpus.contains(&a.os) && cpus.contains(&b.os);
            topology.caches.iter().any(|cache| levels.contains(&cache.level) && both(&cache.cpus))
        };
        if a.core == b.core {
            Self::SameCore
        } else if share_cache(1..=2) {
            Self::SameL2
        } else if share_cache(3..=u32::MAX) {
            Self::SameL3
        } else if a.numa_node == b.numa_node {
            Self::SameNode
        } else if a.package == b.package {
            Self::SamePackage
        } else {
            Self::Across
        }
    }
}

/// The classes of this machine, the nearest first, each with its first pair in topology order.
#[must_use]
pub fn classes(topology: &Topology) -> Vec<(PairClass, [u32; 2])> {
    let usable: Vec<&HardwareThread> = topology.allowed().collect();
    let mut found: Vec<(PairClass, [u32; 2])> = Vec::new();
    for (index, a) in usable.iter().enumerate() {
        for b in &usable[index + 1..] {
            let class = PairClass::of(topology, a, b);
            if found.iter().all(|(known, _)| *known != class) {
                found.push((class, [a.os, b.os]));
            }
        }
    }
    found.sort_unstable();
    found
}

/// `cases` of two threads, once for each class of pairs. Where the machine has no such pair, one case without a placement
/// says so.
pub(crate) fn on_pairs(axes: &Axes, cases: &[Case]) -> Vec<Case> {
    let on = |class: PairClass| {
        let pair = axes.pairs.iter().find(|(known, _)| *known == class).map(|(_, pair)| Placement::List(pair.to_vec()));
        let count = if pair.is_some() { cases.len() } else { 1 };
        cases.iter().take(count).map(move |case| Case {
            threads: Some(2),
            placement: pair.clone(),
            group: Some(class.as_str().to_owned()),
            ..case.clone()
        })
    };
    if axes.vary_pairs { PairClass::ALL.into_iter().flat_map(on).collect() } else { Vec::new() }
}

/// Why a case of [`on_pairs`] cannot be measured: it has a class and no pair of it.
pub(crate) fn obstacle(case: &Case) -> Option<String> {
    let class = PairClass::ALL.into_iter().find(|class| case.group.as_deref() == Some(class.as_str()))?;
    case.placement.is_none().then(|| class.lack().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::tests::regular;
    use crate::topology::{Cache, CacheKind};
    use PairClass::{Across, SameCore, SameL2, SameL3, SameNode, SamePackage};

    #[test]
    fn two_packages_of_four_nodes_with_smt() {
        // Two cores to a third-level cache, two of these to a node, 32 cores; siblings are 32 apart.
        let machine = regular(2, 4, 2, 2, 2);
        assert_eq!(
            classes(&machine),
            [(SameCore, [0, 32]), (SameL3, [0, 1]), (SameNode, [0, 2]), (SamePackage, [0, 4]), (Across, [0, 16])]
        );
    }

    #[test]
    fn three_hundred_cpus() {
        let machine = regular(2, 1, 1, 75, 2);
        assert_eq!(machine.threads.len(), 300);
        assert_eq!(classes(&machine), [(SameCore, [0, 150]), (SameL3, [0, 1]), (Across, [0, 75])]);
    }

    #[test]
    fn cores_that_share_a_second_level_cache() {
        let mut machine = regular(1, 1, 1, 4, 1);
        let level_2 = |cpus: Vec<u32>| Cache {
            level: 2,
            kind: CacheKind::Unified,
            size_bytes: 2 << 20,
            line_bytes: Some(64),
            cpus,
        };
        machine.caches.splice(0..0, [level_2(vec![0, 1]), level_2(vec![2, 3])]);
        assert_eq!(classes(&machine), [(SameL2, [0, 1]), (SameL3, [0, 2])]);
        machine.caches.clear();
        assert_eq!(classes(&machine), [(SameNode, [0, 1])]);
    }

    #[test]
    fn only_allowed_cpus_make_pairs() {
        let machine = regular(2, 1, 1, 4, 2).restricted(|cpu| [3, 5, 13].contains(&cpu));
        assert_eq!(classes(&machine), [(SameCore, [5, 13]), (Across, [3, 5])]);
        assert!(classes(&machine.restricted(|cpu| cpu == 3)).is_empty());
    }

    #[test]
    fn a_class_without_a_pair_is_said_once() {
        let axes = Axes::of(syncscope_core::Preset::Standard, &regular(1, 1, 1, 2, 1));
        let cases = on_pairs(&axes, &[Case::new("cpu.handoff.park"), Case::new("cpu.handoff.futex")]);
        let (real, missing): (Vec<_>, Vec<_>) = cases.iter().partition(|case| obstacle(case).is_none());
        assert_eq!((real.len(), missing.len()), (2, 5));
        assert!(real.iter().all(|case| case.placement == Some(Placement::List(vec![0, 1])) && case.threads == Some(2)));
        let quick = Axes::of(syncscope_core::Preset::Quick, &regular(1, 1, 1, 2, 1));
        assert!(on_pairs(&quick, &cases).is_empty());
    }
}
