//! What CPUs have in common: classes of pairs by what two CPUs share at the nearest level, and groups of CPUs with a memory or
//! a cache nearer to them than to the others.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use syncscope_core::Group;
use syncscope_core::words::words;

use super::placement::topology_of_teams;
use super::topology::{HardwareThread, Topology, distinct};

words! {
    /// The nearest thing that two CPUs share; the nearest first.
    pub enum PairClass ("pair class") {
        /// The core: they are its hardware threads.
        SameCore = "same_core",
        /// The second-level cache.
        SameL2 = "same_l2",
        /// A cache of the third level or beyond.
        SameL3 = "same_l3",
        /// The NUMA node.
        SameNode = "same_node",
        /// The package.
        SamePackage = "same_package",
        /// The machine.
        Across = "across",
    }
}

impl PairClass {
    /// The group of cases on such a pair.
    pub const fn group(self) -> Group {
        Group::named(self.as_str())
    }

    /// Why a machine has no pair of this class.
    pub const fn missing(self) -> &'static str {
        match self {
            Self::SameCore => "no two CPUs this process may use are hardware threads of one core",
            Self::SameL2 => "no two cores this process may use share a second-level cache",
            Self::SameL3 => "no two cores this process may use share a third-level cache and nothing nearer",
            Self::SameNode => "no two cores this process may use are in one NUMA node without a cache in common",
            Self::SamePackage => "no two NUMA nodes this process may use are in the same package",
            Self::Across => "all CPUs this process may use are in one package",
        }
    }
}

/// The CPUs this process may use, in topology order, with the caches of each. Looking them up once saves a search among the
/// caches for every pair.
pub struct SharedLevels<'a> {
    /// The CPUs that this process may use.
    pub threads: Vec<&'a HardwareThread>,
    caches: Vec<[Option<u32>; LEVELS]>,
}

/// Cache levels that hwloc knows.
const LEVELS: usize = 5;

/// Levels near a core: two cores that share a cache of these levels share more than the last-level cache.
const NEAR_LEVELS: usize = 2;

impl<'a> SharedLevels<'a> {
    /// The shared levels of a machine.
    pub fn of(topology: &'a Topology) -> Self {
        let threads: Vec<&HardwareThread> = topology.allowed().collect();
        let indices: HashMap<u32, usize> =
            threads.iter().enumerate().map(|(index, thread)| (thread.os, index)).collect();
        let mut caches = vec![[None; LEVELS]; threads.len()];
        for (number, cache) in topology.caches.iter().enumerate() {
            let level = (cache.level as usize).clamp(1, LEVELS) - 1;
            let members: Vec<usize> = cache.cpus.iter().filter_map(|cpu| indices.get(cpu)).copied().collect();
            // A cache of a single core is shared with no other core.
            if members.iter().any(|index| threads[*index].core != threads[members[0]].core) {
                for index in members {
                    caches[index][level] = Some(number as u32);
                }
            }
        }
        Self { threads, caches }
    }

    /// The class of the CPUs at two different indices.
    pub fn class(&self, a: usize, b: usize) -> PairClass {
        let (first, second) = (self.threads[a], self.threads[b]);
        let mut levels = self.caches[a].iter().zip(&self.caches[b]);
        let shared = |(one, other): (&Option<u32>, &Option<u32>)| one.is_some() && one == other;
        if first.core == second.core {
            PairClass::SameCore
        } else if levels.by_ref().take(NEAR_LEVELS).any(shared) {
            PairClass::SameL2
        } else if levels.any(shared) {
            PairClass::SameL3
        } else if first.numa_node.is_some() && first.numa_node == second.numa_node {
            PairClass::SameNode
        } else if first.package == second.package {
            PairClass::SamePackage
        } else {
            PairClass::Across
        }
    }
}

/// Two CPUs and their class.
pub type ClassedPair = (PairClass, [u32; 2]);

/// The classes of pairs that this machine has, the nearest first, each with its first pair in topology order.
///
/// CPUs of different cores that are in the same parts of the machine have the same class with all others. The first pair of a
/// class is therefore of one core, of the first CPUs of two sets of parts, or of the first two cores of one set: the millions
/// of other pairs of a large machine are not looked at.
pub fn classes(topology: &Topology) -> Vec<ClassedPair> {
    let levels = SharedLevels::of(topology);
    let mut found: Vec<(PairClass, [usize; 2])> = Vec::new();
    let mut add = |a: usize, b: usize| {
        let (class, pair) = (levels.class(a, b), [a, b]);
        match found.iter_mut().find(|(known, _)| *known == class) {
            Some((_, first)) => *first = pair.min(*first),
            None => found.push((class, pair)),
        }
    };
    let mut of_core: HashMap<u32, usize> = HashMap::new();
    let mut of_parts: HashMap<_, usize> = HashMap::new();
    for (index, thread) in levels.threads.iter().enumerate() {
        let core = *of_core.entry(thread.core).or_insert(index);
        let parts = *of_parts.entry((levels.caches[index], thread.numa_node, thread.package)).or_insert(index);
        for first in [core, parts].into_iter().filter(|first| *first != index) {
            add(first, index);
        }
    }
    let mut firsts: Vec<usize> = of_parts.into_values().collect();
    firsts.sort_unstable();
    for (number, a) in firsts.iter().enumerate() {
        for b in &firsts[number + 1..] {
            add(*a, *b);
        }
    }
    found.sort_unstable();
    found.into_iter().map(|(class, pair)| (class, pair.map(|index| levels.threads[index].os))).collect()
}

/// A division of the CPUs into several groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuGroups {
    of_cpu: HashMap<u32, usize>,
    count: usize,
}

impl CpuGroups {
    /// The groups of the CPUs that teams are placed on, looked up once.
    pub fn here() -> Option<&'static Self> {
        static HERE: LazyLock<Option<CpuGroups>> = LazyLock::new(|| topology_of_teams().and_then(CpuGroups::of));
        HERE.as_ref()
    }

    /// The groups by NUMA node. With a single node, the CPUs of each third-level cache, or else of each second-level cache that
    /// several cores share. `None` where no level has two groups of CPUs that this process may use.
    pub fn of(topology: &Topology) -> Option<Self> {
        let nodes = topology.numa_nodes.iter().map(|node| node.cpus.as_slice()).collect();
        let caches = |level| {
            let of_level = topology.caches.iter().filter(move |cache| cache.level == level);
            of_level.map(|cache| cache.cpus.as_slice()).collect()
        };
        [nodes, caches(3), caches(2)].into_iter().find_map(|level| Self::at(topology, level))
    }

    /// Why a machine has no groups.
    pub fn absence(topology: Option<&Topology>) -> &'static str {
        if topology.is_none_or(|topology| topology.caches.is_empty()) {
            "the CPUs' caches are unknown (is /sys mounted?), so groups of CPUs are unknown"
        } else {
            "the CPUs have one NUMA node and one last-level cache in common: there are no two groups of CPUs"
        }
    }

    /// The groups of one level: at least two, of which one has several cores.
    fn at<'a>(topology: &'a Topology, level: Vec<&'a [u32]>) -> Option<Self> {
        let number_of = |(number, group): (usize, &'a [u32])| group.iter().map(move |cpu| (*cpu, number));
        let numbers: HashMap<u32, usize> = level.into_iter().enumerate().flat_map(number_of).collect();
        let mut members: BTreeMap<usize, Vec<&HardwareThread>> = BTreeMap::new();
        for thread in topology.allowed() {
            if let Some(number) = numbers.get(&thread.os) {
                members.entry(*number).or_default().push(thread);
            }
        }
        let groups: Vec<Vec<&HardwareThread>> = members.into_values().collect();
        let cores = |group: &Vec<&HardwareThread>| distinct(group.iter().map(|thread| thread.core));
        let is_one = groups.len() < 2 || groups.iter().all(|group| cores(group) < 2);
        let numbered =
            groups.iter().enumerate().flat_map(|(number, group)| group.iter().map(move |cpu| (cpu.os, number)));
        (!is_one).then(|| Self { of_cpu: numbered.collect(), count: groups.len() })
    }

    /// The number of groups.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// The group of a CPU; the first one for a CPU that is in none.
    pub fn of_cpu(&self, cpu: u32) -> usize {
        self.of_cpu.get(&cpu).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use PairClass::{Across, SameCore, SameL2, SameL3, SameNode, SamePackage};

    use super::*;
    use crate::topology::Cache;
    use crate::topology::regular;

    #[test]
    fn two_packages_of_four_nodes_with_smt() {
        // Two cores to a third-level cache, two of these to a node, 32 cores; siblings are 32 apart.
        let machine = regular(2, 4, 2, 2, 2);
        assert_eq!(
            classes(&machine),
            [(SameCore, [0, 32]), (SameL3, [0, 1]), (SameNode, [0, 2]), (SamePackage, [0, 4]), (Across, [0, 16])]
        );
    }

    /// The classes, found by looking at every pair.
    fn classes_of_all_pairs(topology: &Topology) -> Vec<ClassedPair> {
        let levels = SharedLevels::of(topology);
        let mut found: Vec<ClassedPair> = Vec::new();
        for (b, a) in (0..levels.threads.len()).flat_map(|a| (a + 1..levels.threads.len()).map(move |b| (b, a))) {
            let class = levels.class(a, b);
            if found.iter().all(|(known, _)| *known != class) {
                found.push((class, [a, b].map(|index| levels.threads[index].os)));
            }
        }
        found.sort_unstable();
        found
    }

    /// Machines whose parts are numbered against the order of their CPUs, that have holes, pairs of cores with a cache, CPUs
    /// without a node or without caches.
    #[test]
    fn the_classes_of_a_machine_are_those_of_all_its_pairs() {
        for shape in
            [[1, 1, 1, 1, 1], [1, 1, 1, 5, 2], [2, 2, 2, 2, 2], [3, 1, 4, 2, 1], [2, 1, 1, 6, 8], [1, 4, 1, 4, 1]]
        {
            let [packages, nodes, caches, cores, siblings] = shape;
            for round in 0..40_u32 {
                let mut machine = regular(packages, nodes, caches, cores, siblings);
                // A hash, so that no two rounds leave out the same CPUs.
                let hash = |cpu: u32| (cpu + 31 * round).wrapping_mul(2_654_435_761) >> 29;
                machine = machine.restricted(|cpu| round == 0 || hash(cpu) > round % 3);
                let level_2 = |pair: u32| {
                    let cpus = machine.threads.iter().filter(|cpu| cpu.core / 2 == pair).map(|cpu| cpu.os).collect();
                    Cache { level: 2, size_bytes: 2 << 20, line_bytes: None, cpus }
                };
                let level_2: Vec<Cache> = (0..machine.cores() / 2).step_by(2).map(level_2).collect();
                match round % 4 {
                    0 => {}
                    1 => machine.caches.extend(level_2),
                    2 => machine.caches.clear(),
                    _ => machine
                        .threads
                        .iter_mut()
                        .filter(|thread| thread.core % 3 == 0)
                        .for_each(|thread| thread.numa_node = None),
                }
                assert_eq!(classes(&machine), classes_of_all_pairs(&machine), "{shape:?} {round}");
            }
        }
    }

    /// A look at all 33 million pairs takes most of a minute.
    #[test]
    fn the_largest_machine_has_classes_and_groups_at_once() {
        let machine = regular(32, 2, 8, 8, 2);
        assert_eq!(machine.threads.len(), 8192);
        let found: Vec<PairClass> = classes(&machine).into_iter().map(|(class, _)| class).collect();
        assert_eq!(found, [SameCore, SameL3, SameNode, SamePackage, Across]);
        assert_eq!(CpuGroups::of(&machine).map(|groups| groups.count()), Some(64));
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
        let level_2 = |cpus: Vec<u32>| Cache { level: 2, size_bytes: 2 << 20, line_bytes: Some(64), cpus };
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
    fn the_nearest_level_with_two_groups_counts() {
        assert_eq!(CpuGroups::of(&regular(1, 1, 1, 8, 2)), None, "one node, one cache");
        let nodes = CpuGroups::of(&regular(2, 2, 2, 2, 2)).unwrap();
        assert_eq!((nodes.count(), nodes.of_cpu(0), nodes.of_cpu(5), nodes.of_cpu(16)), (4, 0, 1, 0));
        let caches = CpuGroups::of(&regular(1, 1, 3, 2, 1)).unwrap();
        assert_eq!(
            (caches.count(), (0..6).map(|cpu| caches.of_cpu(cpu)).collect::<Vec<_>>()),
            (3, vec![0, 0, 1, 1, 2, 2])
        );
    }

    #[test]
    fn a_group_is_more_than_a_core_and_has_cpus_that_may_be_used() {
        assert_eq!(CpuGroups::of(&regular(1, 1, 4, 1, 2)), None, "a cache for each core");
        assert_eq!(CpuGroups::of(&regular(2, 1, 1, 4, 1).restricted(|cpu| cpu < 4)), None);
        let part = CpuGroups::of(&regular(3, 1, 1, 4, 1).restricted(|cpu| cpu >= 4)).unwrap();
        assert_eq!((part.count(), part.of_cpu(4), part.of_cpu(8)), (2, 0, 1));
    }
}
