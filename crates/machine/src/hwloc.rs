//! The only module that calls hwloc.
//!
//! The `hwloc2` crate has two limits. Asking for NUMA nodes as objects panics, because hwloc keeps them at a virtual
//! depth: they are found through the node sets of the hardware threads. Instruction caches are filtered out.

use std::collections::{HashMap, HashSet};

use hwloc2::ObjectType::{L1Cache, L2Cache, L3Cache, L4Cache, L5Cache};
use hwloc2::{CpuSet, ObjectType, Topology as Hwloc, TopologyFlag, TopologyObject};

use crate::topology::{Cache, HardwareThread, NumaNode, Topology};

/// The caches of each level from 1 on.
const CACHES: [ObjectType; 5] = [L1Cache, L2Cache, L3Cache, L4Cache, L5Cache];

/// The topology that hwloc finds, `None` if it finds none. On this machine all CPUs are marked as allowed; on a described
/// machine, those that the description does not forbid.
pub(crate) fn load() -> Option<Topology> {
    // Hardware threads that this process may not use are part of the machine, too.
    let hwloc = Hwloc::with_flags(vec![TopologyFlag::IncludeDisallowed])?;
    // hwloc offers to bind threads only where it describes the machine it runs on.
    let this_system = hwloc.support().cpu().set_current_thread();
    let units = objects(&hwloc, &ObjectType::PU);
    let known: HashSet<u32> = units.iter().map(|unit| unit.os_index()).collect();
    let of_level = |(level, kind)| {
        objects(&hwloc, kind).into_iter().filter_map(|object| cache(level, object, &known)).collect::<Vec<_>>()
    };
    let caches: Vec<Cache> = (1..).zip(&CACHES).flat_map(of_level).collect();
    let [cores, packages] = [ObjectType::Core, ObjectType::Package].map(|kind| positions(&hwloc, &kind));
    let nodes = nodes(&hwloc);
    // Memory without CPUs, such as CXL memory, may be near to all CPUs: a CPU's own node is the one that the fewest CPUs share.
    let near = |unit: &&TopologyObject| -> Vec<u32> {
        members(unit.nodeset()).into_iter().filter(|node| nodes.contains(node)).collect()
    };
    let own_nodes: Vec<Vec<u32>> = units.iter().map(near).collect();
    let mut shared_by: HashMap<u32, u32> = HashMap::new();
    own_nodes.iter().flatten().for_each(|node| *shared_by.entry(*node).or_default() += 1);
    let last_level: HashMap<u32, u32> =
        (0..).zip(&caches).flat_map(|(index, cache)| cache.cpus.iter().map(move |cpu| (*cpu, index))).collect();
    let allowed = (!this_system).then(allowed).flatten();
    let thread = |(index, unit): (usize, &&TopologyObject)| {
        let os = unit.os_index();
        HardwareThread {
            os,
            core: cores.get(&os).copied().unwrap_or(index as u32),
            package: packages.get(&os).copied().unwrap_or(0),
            numa_node: own_nodes[index].iter().copied().min_by_key(|node| (shared_by[node], *node)),
            last_level_cache: last_level.get(&os).copied(),
            kind: 0,
            allowed: allowed.as_ref().is_none_or(|allowed| allowed.contains(&os)),
        }
    };
    let threads: Vec<HardwareThread> = units.iter().enumerate().map(thread).collect();
    let cpus_of =
        |os: u32| threads.iter().filter(|thread| thread.numa_node == Some(os)).map(|thread| thread.os).collect();
    let topology = Topology {
        this_system,
        architecture: std::env::consts::ARCH.to_owned(),
        numa_nodes: nodes.into_iter().map(|os| NumaNode { os, cpus: cpus_of(os) }).collect(),
        threads,
        caches,
        memory_bytes: Some(hwloc.object_at_root().total_memory()).filter(|bytes| *bytes > 0),
        kind_names: Vec::new(),
    };
    Some(topology).filter(|topology| !topology.threads.is_empty())
}

/// The CPUs that a description does not forbid; without `IncludeDisallowed` hwloc leaves out the others.
fn allowed() -> Option<HashSet<u32>> {
    let hwloc = Hwloc::with_flags(Vec::new())?;
    Some(objects(&hwloc, &ObjectType::PU).iter().map(|unit| unit.os_index()).collect())
}

/// The objects of one type in topology order; none where the topology has no such level.
fn objects<'a>(hwloc: &'a Hwloc, kind: &ObjectType) -> Vec<&'a TopologyObject> {
    hwloc.objects_with_type(kind).unwrap_or_default()
}

/// The number of the object of one type that each CPU is part of.
fn positions(hwloc: &Hwloc, kind: &ObjectType) -> HashMap<u32, u32> {
    let sets = objects(hwloc, kind).into_iter().map(TopologyObject::cpuset);
    (0..).zip(sets).flat_map(|(index, set)| members(set).into_iter().map(move |cpu| (cpu, index))).collect()
}

/// The numbers in a set; none for an infinite set, which belongs to no object of a machine.
fn members(set: Option<CpuSet>) -> Vec<u32> {
    set.filter(|set| set.last() >= 0).map(|set| set.into_iter().collect()).unwrap_or_default()
}

fn cache(level: u32, object: &TopologyObject, known: &HashSet<u32>) -> Option<Cache> {
    let attributes = object.cache_attributes()?;
    let cpus = members(object.cpuset()).into_iter().filter(|cpu| known.contains(cpu)).collect();
    let line_bytes = Some(attributes.linesize).filter(|bytes| *bytes > 0);
    Some(Cache { level, size_bytes: attributes.size(), line_bytes, cpus })
}

/// The NUMA nodes by the operating system's numbers.
fn nodes(hwloc: &Hwloc) -> Vec<u32> {
    members(hwloc.object_at_root().nodeset())
}
