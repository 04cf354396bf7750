//! Pairs of CPUs by what is the nearest thing they share: the classes in which two threads are measured.

use std::collections::HashMap;

use syncscope_core::{Case, Placement};

use crate::machine::topology::{HardwareThread, Topology};
use crate::plan::Axes;

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

    /// The class of a case of two threads, if it has one.
    pub(crate) fn of_case(case: &Case) -> Option<Self> {
        Self::ALL.into_iter().find(|class| case.group.as_deref() == Some(class.as_str()))
    }

    /// What a machine without such a pair lacks.
    pub(crate) const fn lack(self) -> &'static str {
        match self {
            Self::SameCore => "no two CPUs this process may use are hardware threads of one core",
            Self::SameL2 => "no two cores this process may use share a second-level cache",
            Self::SameL3 => "no two cores this process may use share a third-level cache and nothing nearer",
            Self::SameNode => "no two cores this process may use share a NUMA node and no cache",
            Self::SamePackage => "no two NUMA nodes this process may use are in one package",
            Self::Across => "the CPUs this process may use are in one package",
        }
    }
}

/// The CPUs this process may use, in topology order, and what each is part of: looked up once, so that the class of a pair
/// takes no search among the caches.
pub(crate) struct Neighbours<'a> {
    threads: Vec<&'a HardwareThread>,
    caches: Vec<[Option<u32>; LEVELS]>,
}

/// Levels of cache that hwloc knows.
const LEVELS: usize = 5;

/// Levels that stand near a core: what shares one of them shares more than the last-level cache.
const NEAR_LEVELS: usize = 2;

impl<'a> Neighbours<'a> {
    pub(crate) fn of(topology: &'a Topology) -> Self {
        let threads: Vec<&HardwareThread> = topology.allowed().collect();
        let places: HashMap<u32, usize> =
            threads.iter().enumerate().map(|(place, thread)| (thread.os, place)).collect();
        let mut caches = vec![[None; LEVELS]; threads.len()];
        for (number, cache) in topology.caches.iter().enumerate() {
            let level = (cache.level as usize).clamp(1, LEVELS) - 1;
            for place in cache.cpus.iter().filter_map(|cpu| places.get(cpu)) {
                caches[*place][level] = Some(number as u32);
            }
        }
        Self { threads, caches }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.threads.len()
    }

    /// The number of the CPU in a place.
    pub(crate) fn cpu(&self, place: usize) -> u32 {
        self.threads[place].os
    }

    /// The class of the CPUs in two different places.
    pub(crate) fn class(&self, a: usize, b: usize) -> PairClass {
        let (first, second) = (self.threads[a], self.threads[b]);
        let mut levels = self.caches[a].iter().zip(&self.caches[b]);
        let shared = |(one, other): (&Option<u32>, &Option<u32>)| one.is_some() && one == other;
        if first.core == second.core {
            PairClass::SameCore
        } else if levels.by_ref().take(NEAR_LEVELS).any(shared) {
            PairClass::SameL2
        } else if levels.any(shared) {
            PairClass::SameL3
        } else if first.numa_node == second.numa_node {
            PairClass::SameNode
        } else if first.package == second.package {
            PairClass::SamePackage
        } else {
            PairClass::Across
        }
    }
}

/// The classes of this machine, the nearest first, each with its first pair in topology order.
#[must_use]
pub fn classes(topology: &Topology) -> Vec<(PairClass, [u32; 2])> {
    let neighbours = Neighbours::of(topology);
    let mut found: Vec<(PairClass, [u32; 2])> = Vec::new();
    for a in 0..neighbours.len() {
        for b in a + 1..neighbours.len() {
            let class = neighbours.class(a, b);
            if found.iter().all(|(known, _)| *known != class) {
                found.push((class, [neighbours.cpu(a), neighbours.cpu(b)]));
            }
        }
        if found.len() == PairClass::ALL.len() {
            break;
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
    let class = PairClass::of_case(case)?;
    case.placement.is_none().then(|| class.lack().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::topology::tests::regular;
    use crate::machine::topology::{Cache, CacheKind};
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
