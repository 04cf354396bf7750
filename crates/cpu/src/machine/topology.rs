//! What the machine is made of: packages, NUMA nodes, caches, cores and hardware threads, as plain data.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use syncscope_core::machine::{self, CoreKind, CpuMachine};
use syncscope_core::units::plural;
use syncscope_host::cpu_list;

/// One hardware thread ("PU" in hwloc, "CPU" in Linux) and what it is part of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HardwareThread {
    /// The operating system's number.
    pub os: u32,
    /// The core, numbered through the whole machine in topology order.
    pub core: u32,
    /// The package (socket), numbered in the same way.
    pub package: u32,
    /// The operating system's number of the NUMA node whose memory is nearest.
    pub numa_node: u32,
    /// The cache of the highest level, as an index of [`Topology::caches`]; `None` where no cache is known.
    pub last_level_cache: Option<u32>,
    /// The kind of its core, the fastest counted as 0: efficiency cores are another kind than performance cores.
    pub kind: u32,
    /// Whether this process may use it (taskset, cpuset).
    pub allowed: bool,
}

/// One cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// 1, 2, 3.
    pub level: u32,
    /// Its size.
    pub size_bytes: u64,
    /// Length of a line; `None` where the system does not report it.
    pub line_bytes: Option<u32>,
    /// The hardware threads that share it, by the operating system's numbers.
    pub cpus: Vec<u32>,
}

/// A NUMA node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumaNode {
    /// The operating system's number.
    pub os: u32,
    /// The hardware threads next to it; empty for memory without CPUs.
    pub cpus: Vec<u32>,
}

/// The hardware threads of a machine in topology order (adjacent ones share most), and what they share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// Whether this describes the machine that the program runs on. `HWLOC_SYNTHETIC` and `HWLOC_XMLFILE` describe
    /// others.
    pub this_system: bool,
    /// The hardware threads, allowed or not, in topology order.
    pub threads: Vec<HardwareThread>,
    /// The NUMA nodes.
    pub numa_nodes: Vec<NumaNode>,
    /// The caches, innermost level first, in topology order within a level.
    pub caches: Vec<Cache>,
    /// Main memory.
    pub memory_bytes: Option<u64>,
}

/// How many different ones there are.
pub(super) fn distinct(values: impl Iterator<Item = u32>) -> u32 {
    values.collect::<HashSet<_>>().len() as u32
}

/// What no description exceeds, so that a damaged one makes no huge topology.
const MOST_CORES: u32 = 1 << 16;
const MOST_SIBLINGS: u32 = 8;

impl Topology {
    /// The hardware threads this process may use, in topology order.
    pub fn allowed(&self) -> impl Iterator<Item = &HardwareThread> {
        self.threads.iter().filter(|thread| thread.allowed)
    }

    /// Their numbers, in ascending order.
    pub fn allowed_cpus(&self) -> Vec<u32> {
        let mut cpus: Vec<u32> = self.allowed().map(|thread| thread.os).collect();
        cpus.sort_unstable();
        cpus
    }

    /// Restricts the allowed CPUs to those for which `may_use` is true.
    pub fn restricted(mut self, may_use: impl Fn(u32) -> bool) -> Self {
        for thread in &mut self.threads {
            thread.allowed &= may_use(thread.os);
        }
        self
    }

    /// A regular machine with the counts of a description, which do not say where irregular ones differ.
    pub(crate) fn described(machine: &CpuMachine) -> Self {
        let all = machine.cores.clamp(1, MOST_CORES);
        let packages = machine.packages.clamp(1, all);
        let nodes = (machine.numa_nodes / packages).clamp(1, all / packages);
        let last_level = machine.caches.iter().max_by_key(|cache| cache.level).map_or(1, |cache| cache.count);
        let caches = (last_level / (packages * nodes)).clamp(1, all / (packages * nodes));
        let cores = all / (packages * nodes * caches);
        regular(packages, nodes, caches, cores, (machine.hardware_threads / all).clamp(1, MOST_SIBLINGS))
    }

    /// With what the system says of its memory. A container may hide a part from hwloc or from the system, so the larger
    /// value counts. A topology of another machine keeps its own.
    pub(crate) fn with_memory_of_system(mut self, bytes: Option<u64>) -> Self {
        if self.this_system {
            self.memory_bytes = self.memory_bytes.max(bytes);
        }
        self
    }

    /// Number of packages.
    pub fn packages(&self) -> u32 {
        distinct(self.threads.iter().map(|thread| thread.package))
    }

    /// Number of physical cores.
    pub fn cores(&self) -> u32 {
        distinct(self.threads.iter().map(|thread| thread.core))
    }

    /// Whether some core has more than one hardware thread.
    pub fn has_smt(&self) -> bool {
        (self.cores() as usize) < self.threads.len()
    }

    /// The CPUs of each NUMA node, where there are several that have some.
    pub fn node_cpus(&self) -> BTreeMap<u32, String> {
        let own = self.numa_nodes.iter().filter(|node| !node.cpus.is_empty());
        let lists: BTreeMap<u32, String> = own.map(|node| (node.os, cpu_list::format(&node.cpus))).collect();
        if lists.len() > 1 { lists } else { BTreeMap::new() }
    }

    /// The kinds of cores, the fastest first, where there are several.
    pub fn core_kinds(&self) -> Vec<CoreKind> {
        let mut kinds: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for thread in &self.threads {
            kinds.entry(thread.kind).or_default().push(thread.core);
        }
        let of =
            |cores: Vec<u32>| CoreKind { hardware_threads: cores.len() as u32, cores: distinct(cores.into_iter()) };
        if kinds.len() > 1 { kinds.into_values().map(of).collect() } else { Vec::new() }
    }

    /// With the kinds of the cores by how fast the system says that the CPUs are. A described machine has no system: there the
    /// cores with more hardware threads are the fast ones, as in all processors that have both.
    pub(crate) fn with_core_kinds(mut self, speeds: &HashMap<u32, u32>) -> Self {
        let siblings = |core| self.threads.iter().filter(|thread| thread.core == core).count() as u32;
        let of = |thread: &HardwareThread| {
            if self.this_system { speeds.get(&thread.os).copied().unwrap_or_default() } else { siblings(thread.core) }
        };
        let found: Vec<u32> = self.threads.iter().map(of).collect();
        let faster = |own: &u32| found.iter().filter(|speed| *speed > own).collect::<HashSet<_>>().len() as u32;
        let kinds: Vec<u32> = found.iter().map(faster).collect();
        for (thread, kind) in self.threads.iter_mut().zip(kinds) {
            thread.kind = kind;
        }
        self
    }

    /// Whether two of these CPUs are reported as hardware threads of one core.
    pub fn share_a_core(&self, cpus: &[Option<u32>]) -> bool {
        let core = |cpu: &u32| self.threads.iter().find(|thread| thread.os == *cpu).map(|thread| thread.core);
        let cores = cpus.iter().flatten().filter_map(core);
        distinct(cores.clone()) < cores.count() as u32
    }

    /// The caches, those of one level, kind and size counted together.
    pub fn cache_summary(&self) -> Vec<machine::Cache> {
        let mut summary: Vec<machine::Cache> = Vec::new();
        for cache in &self.caches {
            let one = machine::Cache {
                level: cache.level,
                // hwloc's L1 to L5 hold data, or data and instructions; the crate does not export which. In every current
                // processor the first level is split and the others are not.
                kind: if cache.level == 1 { "data" } else { "unified" }.to_owned(),
                size_bytes: cache.size_bytes,
                line_bytes: cache.line_bytes.unwrap_or_default(),
                shared_by: cache.cpus.len() as u32,
                count: 1,
            };
            let same = summary.iter_mut().find(|known| machine::Cache { count: 1, ..(*known).clone() } == one);
            match same {
                Some(known) => known.count += 1,
                None => summary.push(one),
            }
        }
        summary
    }
}

fn binary_size(bytes: u64) -> String {
    const UNITS: [(&str, u32); 3] = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match UNITS.iter().find(|(_, shift)| bytes >= 1 << shift) {
        Some((unit, shift)) if bytes.is_multiple_of(1 << shift) => format!("{} {unit}", bytes >> shift),
        Some((unit, shift)) => format!("{:.1} {unit}", bytes as f64 / f64::from(1_u32 << shift)),
        None => format!("{bytes} B"),
    }
}

impl fmt::Display for Topology {
    /// A few lines for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.this_system {
            writeln!(f, "not this machine: HWLOC_SYNTHETIC or HWLOC_XMLFILE describes another")?;
        }
        writeln!(
            f,
            "{}, {}, {}, {}",
            plural(self.packages(), "package"),
            plural(self.numa_nodes.len() as u32, "NUMA node"),
            plural(self.cores(), "core"),
            plural(self.threads.len() as u32, "hardware thread"),
        )?;
        for (rank, kind) in (1..).zip(self.core_kinds()) {
            let name = match rank {
                1 => "performance cores".to_owned(),
                2 => "efficiency cores".to_owned(),
                _ => format!("cores of kind {rank}"),
            };
            writeln!(f, "{name}: {}, {}", kind.cores, plural(kind.hardware_threads, "hardware thread"))?;
        }
        for node in &self.numa_nodes {
            let cpus = if node.cpus.is_empty() { "no CPUs".to_owned() } else { cpu_list::format(&node.cpus) };
            writeln!(f, "NUMA node {}: {cpus}", node.os)?;
        }
        for cache in self.cache_summary() {
            let line = if cache.line_bytes == 0 { String::new() } else { format!(", {} B lines", cache.line_bytes) };
            writeln!(
                f,
                "L{} {}: {} x {}{line}, {}",
                cache.level,
                cache.kind,
                cache.count,
                binary_size(cache.size_bytes),
                match cache.shared_by {
                    1 => "one for each hardware thread".to_owned(),
                    shared_by => format!("each shared by {shared_by} hardware threads"),
                }
            )?;
        }
        if let Some(bytes) = self.memory_bytes {
            writeln!(f, "memory: {}", binary_size(bytes))?;
        }
        write!(f, "CPUs this process may use: {}", cpu_list::format(&self.allowed_cpus()))
    }
}

/// A regular machine, numbered as Linux numbers x86: first one thread of each core, then their siblings.
pub(crate) fn regular(packages: u32, nodes: u32, caches: u32, cores: u32, siblings: u32) -> Topology {
    let all_cores = packages * nodes * caches * cores;
    let threads: Vec<HardwareThread> = (0..all_cores)
        .flat_map(|core| {
            (0..siblings).map(move |sibling| HardwareThread {
                os: core + sibling * all_cores,
                core,
                package: core / (nodes * caches * cores),
                numa_node: core / (caches * cores),
                last_level_cache: Some(core / cores),
                kind: 0,
                allowed: true,
            })
        })
        .collect();
    let cpus_where = |belongs: &dyn Fn(&HardwareThread) -> bool| {
        threads.iter().filter(|thread| belongs(thread)).map(|thread| thread.os).collect::<Vec<_>>()
    };
    let numa_nodes =
        (0..packages * nodes).map(|os| NumaNode { os, cpus: cpus_where(&|thread| thread.numa_node == os) }).collect();
    let caches = (0..packages * nodes * caches)
        .map(|index| Cache {
            level: 3,
            size_bytes: 32 << 20,
            line_bytes: Some(64),
            cpus: cpus_where(&|thread| thread.last_level_cache == Some(index)),
        })
        .collect();
    Topology { this_system: false, threads, numa_nodes, caches, memory_bytes: None }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) use super::regular;

    /// The CPUs that the calling thread may use, for tests that bind threads.
    pub(crate) fn usable_cpus() -> Vec<u32> {
        syncscope_host::scheduling::allowed_cpus()
    }

    #[test]
    fn counts_follow_from_the_threads() {
        let topology = regular(2, 2, 2, 3, 2);
        assert_eq!((topology.packages(), topology.cores(), topology.threads.len()), (2, 24, 48));
        assert!(topology.has_smt());
        assert!(!regular(1, 1, 1, 4, 1).has_smt());
        // CPUs 0 and 24 are the hardware threads of the first core.
        assert!(topology.share_a_core(&[Some(0), Some(5), Some(24)]));
        assert!(!topology.share_a_core(&[Some(0), Some(5), Some(25), None, None, Some(1000)]));
        assert_eq!(topology.numa_nodes[1].cpus, [6, 30, 7, 31, 8, 32, 9, 33, 10, 34, 11, 35]);
    }

    /// Eight cores with two hardware threads and 16 with one.
    pub(crate) fn hybrid() -> Topology {
        let mut hybrid = regular(1, 1, 1, 24, 2);
        hybrid.threads.retain(|thread| thread.core < 8 || thread.os < 24);
        hybrid.with_core_kinds(&HashMap::new())
    }

    #[test]
    fn kinds_of_cores_are_those_of_the_system_or_of_their_hardware_threads() {
        let kinds = |topology: &Topology| -> Vec<(u32, u32)> {
            topology.core_kinds().iter().map(|kind| (kind.cores, kind.hardware_threads)).collect()
        };
        assert_eq!(kinds(&hybrid()), [(8, 16), (16, 16)]);
        let speeds = |fast: u32| (0..24).map(|cpu| (cpu, u32::from(cpu < fast))).collect::<HashMap<_, _>>();
        let real = |topology: Topology| Topology { this_system: true, ..topology };
        assert_eq!(kinds(&real(regular(1, 1, 1, 24, 1)).with_core_kinds(&speeds(4))), [(4, 4), (20, 20)]);
        // A CPU that is offline makes no other kind of its core.
        let mut odd = real(regular(1, 1, 1, 4, 2));
        odd.threads.retain(|thread| thread.os != 7);
        assert!(kinds(&odd.with_core_kinds(&HashMap::new())).is_empty());
        assert!(hybrid().to_string().contains("efficiency cores: 16, 16 hardware threads"));
    }

    #[test]
    fn equal_caches_are_counted_together() {
        let mut topology = regular(2, 1, 2, 4, 2);
        topology.caches[3].size_bytes = 96 << 20;
        let counts: Vec<_> =
            topology.cache_summary().iter().map(|cache| (cache.size_bytes >> 20, cache.count)).collect();
        assert_eq!(counts, [(32, 3), (96, 1)]);
        assert!(topology.cache_summary().iter().all(|cache| cache.shared_by == 8 && cache.kind == "unified"));
    }

    #[test]
    fn a_restriction_only_removes_cpus() {
        let topology = regular(1, 1, 1, 4, 2).restricted(|cpu| cpu != 2).restricted(|cpu| cpu < 6);
        assert_eq!(topology.allowed_cpus(), [0, 1, 3, 4, 5]);
        assert_eq!(topology.threads.len(), 8);
    }

    #[test]
    fn the_text_has_the_memory_that_a_container_hides_from_hwloc() {
        let of = |this_system, hwloc, system| {
            let topology = Topology { this_system, memory_bytes: hwloc, ..regular(1, 1, 1, 4, 1) };
            topology.with_memory_of_system(system).to_string()
        };
        let (less, more) = (Some(8 << 30), Some(16 << 30));
        for (hwloc, system) in [(less, more), (more, less), (None, more), (more, None)] {
            let text = of(true, hwloc, system);
            assert!(text.contains("memory: 16 GiB") || text.contains("memory: 16.0 GiB"), "{text}");
        }
        assert!(of(false, less, more).contains("memory: 8"), "the memory of the machine that is described");
        assert!(!of(false, None, more).contains("memory:"));
    }

    #[test]
    fn the_text_names_all_levels() {
        let text = regular(1, 1, 2, 2, 2).restricted(|cpu| cpu < 4).to_string();
        assert!(text.contains("1 package, 1 NUMA node, 4 cores, 8 hardware threads"), "{text}");
        assert!(text.contains("L3 unified: 2 x 32 MiB, 64 B lines, each shared by 4 hardware threads"), "{text}");
        assert!(text.ends_with("may use: 0-3"), "{text}");
    }

    #[test]
    fn it_survives_json() {
        let topology = regular(1, 2, 1, 2, 1);
        let json = serde_json::to_string(&topology).unwrap();
        assert_eq!(serde_json::from_str::<Topology>(&json).unwrap(), topology);
    }
}
