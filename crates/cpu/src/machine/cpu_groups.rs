//! Groups of CPUs that have a memory or a cache in common, nearer to them than to the others.

use std::collections::HashMap;

use super::topology::Topology;

/// Every CPU in one of several groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CpuGroups {
    of_cpu: HashMap<u32, usize>,
    count: usize,
}

impl CpuGroups {
    /// The NUMA nodes. Where there is one, the CPUs of each third-level cache, or else of each second-level cache that
    /// several cores share. `None` where no level has two groups of CPUs that this process may use.
    pub(crate) fn of(topology: &Topology) -> Option<Self> {
        let nodes = topology.numa_nodes.iter().map(|node| node.cpus.as_slice()).collect();
        let caches = |level| {
            let of_level = topology.caches.iter().filter(move |cache| cache.level == level);
            of_level.map(|cache| cache.cpus.as_slice()).collect()
        };
        [nodes, caches(3), caches(2)].into_iter().find_map(|level| Self::at(topology, level))
    }

    /// Why a machine has no such groups.
    pub(crate) fn absence(topology: Option<&Topology>) -> &'static str {
        if topology.is_none_or(|topology| topology.caches.is_empty()) {
            "the caches of the CPUs are not known (is /sys mounted?), so no groups of CPUs are"
        } else {
            "the CPUs have one NUMA node and one last-level cache in common: there are no two groups of CPUs"
        }
    }

    /// Groups of one level: two at least, of which one has several cores.
    fn at(topology: &Topology, level: Vec<&[u32]>) -> Option<Self> {
        let cpus = |group: &[u32]| -> Vec<Option<u32>> {
            topology.allowed().map(|thread| thread.os).filter(|cpu| group.contains(cpu)).map(Some).collect()
        };
        let groups: Vec<Vec<Option<u32>>> =
            level.into_iter().map(cpus).filter(|group: &Vec<_>| !group.is_empty()).collect();
        let cores = |group: &[Option<u32>]| {
            let of = |cpu: &Option<u32>| topology.threads.iter().find(|thread| Some(thread.os) == *cpu);
            let mut cores: Vec<u32> = group.iter().filter_map(of).map(|thread| thread.core).collect();
            cores.sort_unstable();
            cores.dedup();
            cores.len()
        };
        let is_one = groups.len() < 2 || groups.iter().all(|group| cores(group) < 2);
        let numbered =
            groups.iter().enumerate().flat_map(|(number, group)| group.iter().flatten().map(move |cpu| (*cpu, number)));
        (!is_one).then(|| Self { of_cpu: numbered.collect(), count: groups.len() })
    }

    /// How many there are.
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// The group of a CPU; the first one for a CPU that is in none.
    pub(crate) fn of_cpu(&self, cpu: u32) -> usize {
        self.of_cpu.get(&cpu).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::topology::tests::regular;

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
