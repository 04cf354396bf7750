//! The only module that calls hwloc.
//!
//! The `hwloc2` crate has two limits. Asking for NUMA nodes as objects panics, because hwloc keeps them at a virtual
//! depth: they are found through the node sets of the hardware threads. Instruction caches are filtered out.

use hwloc2::ObjectType::{L1Cache, L2Cache, L3Cache, L4Cache, L5Cache};
use hwloc2::{CpuSet, ObjectType, Topology as Hwloc, TopologyFlag, TopologyObject};

use crate::machine::topology::{Cache, HardwareThread, NumaNode, Topology};

/// The caches of each level from 1 on.
const CACHES: [ObjectType; 5] = [L1Cache, L2Cache, L3Cache, L4Cache, L5Cache];

/// The topology that hwloc finds, all CPUs marked as allowed. `None` if hwloc cannot load one.
pub(crate) fn load() -> Option<Topology> {
    // Hardware threads that this process may not use are part of the machine, too.
    let hwloc = Hwloc::with_flags(vec![TopologyFlag::IncludeDisallowed])?;
    let units = objects(&hwloc, &ObjectType::PU);
    let cpus: Vec<u32> = units.iter().map(|unit| unit.os_index()).collect();
    let of_level =
        |(level, kind)| objects(&hwloc, kind).into_iter().filter_map(|object| cache(level, object, &cpus)).collect();
    let caches: Vec<Cache> = (1..).zip(&CACHES).flat_map::<Vec<Cache>, _>(of_level).collect();
    let cores = cpu_sets(&hwloc, &ObjectType::Core);
    let packages = cpu_sets(&hwloc, &ObjectType::Package);
    let threads: Vec<HardwareThread> = units
        .iter()
        .enumerate()
        .map(|(index, unit)| HardwareThread {
            os: unit.os_index(),
            core: position(&cores, unit.os_index()).unwrap_or(index as u32),
            package: position(&packages, unit.os_index()).unwrap_or(0),
            numa_node: unit.nodeset().and_then(|nodes| u32::try_from(nodes.first()).ok()).unwrap_or(0),
            last_level_cache: last_level_cache(&caches, unit.os_index()),
            kind: 0,
            allowed: true,
        })
        .collect();
    let memory = Some(hwloc.object_at_root().total_memory()).filter(|bytes| *bytes > 0);
    Some(Topology {
        // hwloc offers to bind threads only where it describes the machine it runs on.
        this_system: hwloc.support().cpu().set_current_thread(),
        numa_nodes: numa_nodes(&hwloc, &threads),
        threads,
        caches,
        memory_bytes: memory,
    })
}

/// The objects of one type in topology order; none where the topology has no such level.
fn objects<'a>(hwloc: &'a Hwloc, kind: &ObjectType) -> Vec<&'a TopologyObject> {
    hwloc.objects_with_type(kind).unwrap_or_default()
}

fn cpu_sets(hwloc: &Hwloc, kind: &ObjectType) -> Vec<CpuSet> {
    objects(hwloc, kind).into_iter().filter_map(TopologyObject::cpuset).collect()
}

fn position(sets: &[CpuSet], cpu: u32) -> Option<u32> {
    sets.iter().position(|set| set.is_set(cpu)).map(|index| index as u32)
}

fn cache(level: u32, object: &TopologyObject, cpus: &[u32]) -> Option<Cache> {
    let attributes = object.cache_attributes()?;
    let shared_by = object.cpuset()?;
    Some(Cache {
        level,
        size_bytes: attributes.size(),
        line_bytes: Some(attributes.linesize).filter(|bytes| *bytes > 0),
        cpus: cpus.iter().copied().filter(|cpu| shared_by.is_set(*cpu)).collect(),
    })
}

fn last_level_cache(caches: &[Cache], cpu: u32) -> Option<u32> {
    caches.iter().rposition(|cache| cache.cpus.contains(&cpu)).map(|index| index as u32)
}

fn numa_nodes(hwloc: &Hwloc, threads: &[HardwareThread]) -> Vec<NumaNode> {
    let Some(nodes) = hwloc.object_at_root().nodeset() else { return Vec::new() };
    let last = u32::try_from(nodes.last()).unwrap_or(0);
    (0..=last)
        .filter(|os| nodes.is_set(*os))
        .map(|os| NumaNode {
            os,
            cpus: threads.iter().filter(|thread| thread.numa_node == os).map(|thread| thread.os).collect(),
        })
        .collect()
}
