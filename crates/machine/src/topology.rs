//! What the machine is made of: packages, NUMA nodes, caches, cores and hardware threads, as plain data.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::env::consts::ARCH;
use std::fmt;

use serde::{Deserialize, Serialize};
use syncscope_core::machine::{self, Cluster, CoreKind, CpuMachine};
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
    /// The operating system's number of the NUMA node whose memory is nearest; `None` where that node is offline.
    pub numa_node: Option<u32>,
    /// The cache of the highest level, as an index of [`Topology::caches`]; `None` where no cache is known.
    pub last_level_cache: Option<u32>,
    /// The kind of its core, 0 for the fastest: performance and efficiency cores are different kinds.
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
    /// Whether this describes the machine that the program runs on. hwloc's variables, such as `HWLOC_XMLFILE`, describe others.
    pub this_system: bool,
    /// `x86_64` or `aarch64`: the available operations differ. The architecture of this program where nothing else is known.
    pub architecture: String,
    /// The hardware threads, allowed or not, in topology order.
    pub threads: Vec<HardwareThread>,
    /// The NUMA nodes.
    pub numa_nodes: Vec<NumaNode>,
    /// The caches, innermost level first, in topology order within a level.
    pub caches: Vec<Cache>,
    /// Main memory.
    pub memory_bytes: Option<u64>,
    /// The names of the kinds of cores, the fastest first, where they have some; empty where all cores are of one kind.
    pub kind_names: Vec<Option<String>>,
}

/// The kind of each CPU, 0 for the fastest; empty where all CPUs are of one kind or the kinds are unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CoreKinds {
    /// The kind of each CPU.
    pub of_cpu: HashMap<u32, u32>,
    /// The name of each kind's design, where it has one.
    pub names: Vec<Option<String>>,
}

/// The number of different values.
pub(super) fn distinct(values: impl Iterator<Item = u32>) -> u32 {
    values.collect::<HashSet<_>>().len() as u32
}

/// Limits on the topology of a description, so that a damaged description does not produce a huge one.
const MOST_CORES: u32 = 1 << 16;
const MOST_SIBLINGS: u32 = 8;

impl Topology {
    /// The hardware threads this process may use, in topology order.
    pub fn allowed(&self) -> impl Iterator<Item = &HardwareThread> {
        self.threads.iter().filter(|thread| thread.allowed)
    }

    /// The numbers of the allowed CPUs, in ascending order.
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

    /// The machine of a description: as it was recorded, or a regular one with its counts where only these are known.
    pub fn described(machine: &CpuMachine) -> Self {
        let mut topology = recorded(machine).unwrap_or_else(|| Self::of_counts(machine));
        if !machine.architecture.is_empty() {
            topology.architecture.clone_from(&machine.architecture);
        }
        topology
    }

    /// A machine of which only the numbers of its parts are recorded.
    fn of_counts(machine: &CpuMachine) -> Self {
        let all = machine.cores.clamp(1, MOST_CORES);
        let packages = machine.packages.clamp(1, all);
        let nodes = (machine.numa_nodes / packages).clamp(1, all / packages);
        let last_level = machine.caches.iter().max_by_key(|cache| cache.level).map_or(1, |cache| cache.count);
        let caches = (last_level / (packages * nodes)).clamp(1, all / (packages * nodes));
        let cores = all / (packages * nodes * caches);
        regular(packages, nodes, caches, cores, (machine.hardware_threads / all).clamp(1, MOST_SIBLINGS))
    }

    /// The topology with the memory that the system reports. A container may hide a part from hwloc or from the system, so the
    /// larger value counts. A topology of another machine keeps its own.
    pub fn with_memory_of_system(mut self, bytes: Option<u64>) -> Self {
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

    /// The NUMA nodes with CPUs. Others are memory: of a GPU, behind CXL, persistent.
    pub fn nodes_with_cpus(&self) -> impl Iterator<Item = &NumaNode> {
        self.numa_nodes.iter().filter(|node| !node.cpus.is_empty())
    }

    /// The numbers of the NUMA nodes without CPUs.
    pub fn memory_nodes(&self) -> Vec<u32> {
        self.numa_nodes.iter().filter(|node| node.cpus.is_empty()).map(|node| node.os).collect()
    }

    /// The CPUs whose NUMA node is offline.
    fn without_node(&self) -> Vec<u32> {
        self.threads.iter().filter(|thread| thread.numa_node.is_none()).map(|thread| thread.os).collect()
    }

    /// The CPUs of each NUMA node that has any; empty where there is only one such node.
    pub fn node_cpus(&self) -> BTreeMap<u32, String> {
        let lists: BTreeMap<u32, String> =
            self.nodes_with_cpus().map(|node| (node.os, cpu_list::format(&node.cpus))).collect();
        if lists.len() > 1 { lists } else { BTreeMap::new() }
    }

    /// The kinds of cores, the fastest first, where there are several.
    pub fn core_kinds(&self) -> Vec<CoreKind> {
        let of = |(kind, name): (u32, &Option<String>)| {
            let own = || self.threads.iter().filter(move |thread| thread.kind == kind);
            let (cores, hardware_threads) = (distinct(own().map(|thread| thread.core)), own().count() as u32);
            CoreKind { cores, hardware_threads, name: name.clone() }
        };
        (0..).zip(&self.kind_names).map(of).collect()
    }

    /// The topology with kinds of cores. All cores count as one kind where the kind of some CPU is unknown.
    pub fn with_core_kinds(mut self, kinds: &CoreKinds) -> Self {
        let rank = |thread: &HardwareThread| kinds.of_cpu.get(&thread.os).copied();
        let found: Option<Vec<u32>> = self.threads.iter().map(rank).collect();
        // A kind whose cores are all offline does not count.
        let there: BTreeSet<u32> = found.iter().flatten().copied().collect();
        let Some(found) = found.filter(|_| there.len() > 1) else { return self };
        for (thread, rank) in self.threads.iter_mut().zip(found) {
            thread.kind = there.range(..rank).count() as u32;
        }
        self.kind_names = there.into_iter().map(|rank| kinds.names.get(rank as usize).cloned().flatten()).collect();
        self
    }

    /// Whether a cache is of the third level or beyond: caches of lower levels belong to one core or a few.
    pub fn is_shared_level(&self, cache: u32) -> bool {
        self.caches.get(cache as usize).is_some_and(|cache| cache.level > 2)
    }

    /// The cores in topology order, with consecutive equal cores joined into one cluster.
    pub fn clusters(&self) -> Vec<Cluster> {
        let of_core = |core: &[HardwareThread]| Cluster {
            package: core[0].package,
            numa_node: core[0].numa_node,
            cache: core[0].last_level_cache.filter(|cache| self.is_shared_level(*cache)),
            kind: core[0].kind,
            cores: 1,
            cpus: vec![String::new(); core.len()],
        };
        let cores: Vec<&[HardwareThread]> = self.threads.chunk_by(|a, b| a.core == b.core).collect();
        let of_clusters = cores.chunk_by(|a, b| of_core(a) == of_core(b));
        let joined = |cores: &[&[HardwareThread]]| {
            let siblings = |place: usize| cores.iter().map(|core| core[place].os).collect::<Vec<_>>();
            let cpus = (0..cores[0].len()).map(|place| cpu_list::format(&siblings(place))).collect();
            Cluster { cores: cores.len() as u32, cpus, ..of_core(cores[0]) }
        };
        of_clusters.map(joined).collect()
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
            writeln!(f, "not this machine: hwloc's variables describe another")?;
        }
        writeln!(
            f,
            "{}, {}, {}, {}",
            plural(self.packages(), "package"),
            plural(self.nodes_with_cpus().count() as u32, "NUMA node"),
            plural(self.cores(), "core"),
            plural(self.threads.len() as u32, "hardware thread"),
        )?;
        let kinds = self.core_kinds();
        for (index, kind) in kinds.iter().enumerate() {
            let design = kind.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
            let (name, threads) =
                (machine::kind_name(index, kinds.len()), plural(kind.hardware_threads, "hardware thread"));
            writeln!(f, "{name} cores{design}: {}, {threads}", kind.cores)?;
        }
        for node in self.nodes_with_cpus() {
            writeln!(f, "NUMA node {}: {}", node.os, cpu_list::format(&node.cpus))?;
        }
        let (memory, homeless) = (self.memory_nodes(), self.without_node());
        if !memory.is_empty() {
            let s = if memory.len() == 1 { "" } else { "s" };
            writeln!(f, "memory without CPUs: NUMA node{s} {}", cpu_list::format(&memory))?;
        }
        if !homeless.is_empty() {
            writeln!(f, "CPUs whose NUMA node is offline: {}", cpu_list::format(&homeless))?;
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
        // A described machine reports the CPUs that its own processes may use.
        let whose = if self.this_system { "this process" } else { "a process there" };
        write!(f, "CPUs {whose} may use: {}", cpu_list::format(&self.allowed_cpus()))
    }
}

/// A regular machine, numbered as Linux numbers x86: first one thread of each core, then their siblings.
pub fn regular(packages: u32, nodes: u32, caches: u32, cores: u32, siblings: u32) -> Topology {
    let all_cores = packages * nodes * caches * cores;
    let threads: Vec<HardwareThread> = (0..all_cores)
        .flat_map(|core| {
            (0..siblings).map(move |sibling| HardwareThread {
                os: core + sibling * all_cores,
                core,
                package: core / (nodes * caches * cores),
                numa_node: Some(core / (caches * cores)),
                last_level_cache: Some(core / cores),
                kind: 0,
                allowed: true,
            })
        })
        .collect();
    let cpus_where = |belongs: &dyn Fn(&HardwareThread) -> bool| {
        threads.iter().filter(|thread| belongs(thread)).map(|thread| thread.os).collect::<Vec<_>>()
    };
    let numa_nodes = (0..packages * nodes)
        .map(|os| NumaNode { os, cpus: cpus_where(&|thread| thread.numa_node == Some(os)) })
        .collect();
    let caches = (0..packages * nodes * caches)
        .map(|index| Cache {
            level: 3,
            size_bytes: 32 << 20,
            line_bytes: Some(64),
            cpus: cpus_where(&|thread| thread.last_level_cache == Some(index)),
        })
        .collect();
    Topology {
        this_system: false,
        architecture: ARCH.to_owned(),
        threads,
        numa_nodes,
        caches,
        memory_bytes: None,
        kind_names: Vec::new(),
    }
}

/// A machine by its recorded clusters; `None` where none, or damaged ones, are recorded.
fn recorded(machine: &CpuMachine) -> Option<Topology> {
    let mut threads: Vec<HardwareThread> = Vec::new();
    let mut core = 0;
    for cluster in &machine.clusters {
        let siblings: Vec<Vec<u32>> = cluster.cpus.iter().map(|list| cpu_list::parse(list)).collect::<Option<_>>()?;
        if siblings.iter().any(|cpus| cpus.len() != cluster.cores as usize) {
            return None;
        }
        for place in 0..cluster.cores as usize {
            threads.extend(siblings.iter().map(|cpus| HardwareThread {
                os: cpus[place],
                core,
                package: cluster.package,
                numa_node: cluster.numa_node,
                last_level_cache: cluster.cache,
                kind: cluster.kind,
                allowed: true,
            }));
            core += 1;
        }
    }
    let groups = |of: fn(&HardwareThread) -> Option<u32>| {
        let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for thread in &threads {
            if let Some(at) = of(thread) {
                groups.entry(at).or_default().push(thread.os);
            }
        }
        groups
    };
    let caches = groups(|thread| thread.last_level_cache);
    // The numbers of the caches were those of all levels.
    let index: HashMap<u32, u32> = caches.keys().copied().zip(0..).collect();
    let numa_nodes = groups(|thread| thread.numa_node).into_iter().map(|(os, cpus)| NumaNode { os, cpus }).collect();
    for thread in &mut threads {
        thread.last_level_cache = thread.last_level_cache.and_then(|cache| index.get(&cache).copied());
    }
    let cache = |cpus| Cache { level: 3, size_bytes: 0, line_bytes: None, cpus };
    let caches = caches.into_values().map(cache).collect();
    let kind_names = machine.core_kinds.iter().map(|kind| kind.name.clone()).collect();
    let is_known = !threads.is_empty();
    let architecture = ARCH.to_owned();
    is_known.then_some(Topology {
        this_system: false,
        architecture,
        threads,
        numa_nodes,
        caches,
        memory_bytes: None,
        kind_names,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

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

    /// The topology with the kind of each CPU.
    pub(crate) fn of_kinds(topology: Topology, kind: impl Fn(u32) -> u32) -> Topology {
        let of_cpu: HashMap<u32, u32> = topology.threads.iter().map(|thread| (thread.os, kind(thread.os))).collect();
        let names = vec![None; of_cpu.values().max().map_or(0, |most| *most as usize + 1)];
        topology.with_core_kinds(&CoreKinds { of_cpu, names })
    }

    /// Eight cores with two hardware threads and 16 with one.
    pub(crate) fn hybrid() -> Topology {
        let mut hybrid = regular(1, 1, 1, 24, 2);
        hybrid.threads.retain(|thread| thread.core < 8 || thread.os < 24);
        of_kinds(hybrid, |cpu| u32::from((8..24).contains(&cpu)))
    }

    fn kinds(topology: &Topology) -> Vec<(u32, u32)> {
        topology.core_kinds().iter().map(|kind| (kind.cores, kind.hardware_threads)).collect()
    }

    #[test]
    fn kinds_of_cores_are_those_that_are_there_and_known() {
        assert_eq!(kinds(&hybrid()), [(8, 16), (16, 16)]);
        assert!(hybrid().to_string().contains("efficiency cores: 16, 16 hardware threads"));
        let three = of_kinds(regular(1, 1, 1, 12, 1), |cpu| if cpu < 2 { 0 } else { 1 + u32::from(cpu > 9) });
        let text = three.to_string();
        for line in ["performance cores: 2, 2", "efficiency cores: 8, 8", "low-power cores: 2, 2"] {
            assert!(text.contains(line), "{text}");
        }
        // The cores of a kind between the others are all offline.
        assert_eq!(kinds(&of_kinds(regular(1, 1, 1, 4, 1), |cpu| 2 * (cpu / 2))), [(2, 2), (2, 2)]);
        assert!(kinds(&of_kinds(regular(1, 1, 1, 4, 2), |_| 1)).is_empty(), "one kind is none");
        let some = CoreKinds { of_cpu: [(0, 0), (1, 1)].into(), names: vec![None, None] };
        assert!(kinds(&regular(1, 1, 1, 4, 1).with_core_kinds(&some)).is_empty(), "two CPUs of four");
    }

    /// The siblings of two cores of eight are offline.
    pub(crate) fn siblings_offline() -> Topology {
        let mut odd = regular(1, 1, 1, 8, 2);
        odd.threads.retain(|thread| ![9, 12].contains(&thread.os));
        odd
    }

    #[test]
    fn clusters_hold_the_cores_that_are_alike() {
        let of = |topology: &Topology| -> Vec<(u32, Vec<String>)> {
            topology.clusters().into_iter().map(|cluster| (cluster.cores, cluster.cpus)).collect()
        };
        let lists = |lists: &[&str]| lists.iter().map(|list| (*list).to_owned()).collect::<Vec<_>>();
        assert_eq!(of(&regular(1, 1, 1, 8, 2)), [(8, lists(&["0-7", "8-15"]))]);
        assert_eq!(of(&regular(2, 1, 1, 4, 1)), [(4, lists(&["0-3"])), (4, lists(&["4-7"]))]);
        assert_eq!(of(&hybrid()), [(8, lists(&["0-7", "24-31"])), (16, lists(&["8-23"]))]);
        let odd = of(&siblings_offline());
        assert_eq!(odd.iter().map(|(cores, _)| *cores).collect::<Vec<_>>(), [1, 1, 2, 1, 3]);
        assert_eq!(odd[1], (1, lists(&["1"])));
    }

    #[test]
    fn a_recorded_machine_is_the_same_again() {
        for topology in [regular(2, 2, 2, 3, 2), hybrid(), siblings_offline(), regular(1, 1, 1, 1, 1)] {
            let machine = CpuMachine {
                clusters: topology.clusters(),
                core_kinds: topology.core_kinds(),
                architecture: "riscv64".to_owned(),
                ..CpuMachine::default()
            };
            let again = Topology::described(&machine);
            assert_eq!((&*topology.architecture, &*again.architecture), (ARCH, "riscv64"));
            assert_eq!(again.threads, topology.threads);
            assert_eq!(again.clusters(), machine.clusters);
        }
        let mut damaged = regular(1, 1, 1, 4, 1).clusters();
        damaged[0].cores = 7;
        let machine = CpuMachine { clusters: damaged, cores: 4, hardware_threads: 4, ..CpuMachine::default() };
        assert_eq!(Topology::described(&machine).threads.len(), 4);
    }

    #[test]
    fn memory_without_cpus_and_cpus_without_memory_are_named() {
        let mut machine = regular(1, 1, 1, 4, 1);
        machine.numa_nodes.extend((1..9).map(|os| NumaNode { os, cpus: Vec::new() }));
        let text = machine.to_string();
        assert!(text.contains("1 package, 1 NUMA node, 4 cores") && !text.contains("offline"), "{text}");
        assert!(text.contains("\nmemory without CPUs: NUMA nodes 1-8\n"), "{text}");
        machine.threads[3].numa_node = None;
        assert!(machine.to_string().contains("\nCPUs whose NUMA node is offline: 3\n"), "{machine}");
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
        assert!(text.ends_with("CPUs a process there may use: 0-3"), "{text}");
    }

    #[test]
    fn it_survives_json() {
        let topology = regular(1, 2, 1, 2, 1);
        let json = serde_json::to_string(&topology).unwrap();
        assert_eq!(serde_json::from_str::<Topology>(&json).unwrap(), topology);
    }
}
