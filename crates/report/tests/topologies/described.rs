//! Describes machines with unequal parts as hwloc's XML.

/// Cores that have a package, a NUMA node and a last-level cache in common.
pub(crate) struct Part {
    package: u32,
    /// `None` if the node is offline.
    node: Option<u32>,
    /// Whether the cores have a third-level cache.
    has_cache: bool,
    /// The CPUs of each core.
    cores: Vec<Vec<u32>>,
}

impl Part {
    /// Cores with one thread for each of these numbers, and a further thread at each distance in `siblings`.
    pub(crate) fn of(package: u32, node: u32, cores: std::ops::Range<u32>, siblings: &[u32]) -> Self {
        let of_core = |core: u32| std::iter::once(core).chain(siblings.iter().map(|apart| core + apart)).collect();
        Self { package, node: Some(node), has_cache: true, cores: cores.map(of_core).collect() }
    }

    pub(crate) fn without_cache(self) -> Self {
        Self { has_cache: false, ..self }
    }

    pub(crate) fn of_an_offline_node(self) -> Self {
        Self { node: None, ..self }
    }

    /// Takes these CPUs offline.
    pub(crate) fn without(mut self, offline: &[u32]) -> Self {
        self.cores.iter_mut().for_each(|core| core.retain(|cpu| !offline.contains(cpu)));
        self
    }

    fn cpus(&self) -> Vec<u32> {
        self.cores.concat()
    }
}

/// A set as hwloc writes it.
fn mask(numbers: &[u32]) -> String {
    let words = numbers.iter().max().map_or(1, |most| most / 32 + 1);
    let word = |index: u32| {
        numbers.iter().filter(|number| **number / 32 == index).fold(0_u32, |word, number| word | 1 << (number % 32))
    };
    (0..words).rev().map(|index| format!("{:#010x}", word(index))).collect::<Vec<_>>().join(",")
}

struct Writer {
    text: String,
    count: u32,
}

impl Writer {
    fn open(&mut self, kind: &str, cpus: &[u32], nodes: &[u32], more: &str) {
        self.count += 1;
        let (cpus, nodes) = (mask(cpus), mask(nodes));
        self.text.extend([format!(
            "<object type=\"{kind}\" cpuset=\"{cpus}\" complete_cpuset=\"{cpus}\" nodeset=\"{nodes}\" \
             complete_nodeset=\"{nodes}\" gp_index=\"{}\" {more}>\n",
            self.count
        )]);
    }

    fn close(&mut self) {
        self.text += "</object>\n";
    }

    fn node(&mut self, cpus: &[u32], node: u32) {
        self.open("NUMANode", cpus, &[node], &format!("os_index=\"{node}\" local_memory=\"1073741824\""));
        self.close();
    }

    fn part(&mut self, part: &Part, nodes: &[u32]) {
        let cache = |level: u32| {
            format!(
                "cache_size=\"1048576\" depth=\"{level}\" cache_linesize=\"64\" cache_associativity=\"8\" cache_type=\"0\""
            )
        };
        if part.has_cache {
            self.open("L3Cache", &part.cpus(), nodes, &cache(3));
        }
        for core in &part.cores {
            self.open("L2Cache", core, nodes, &cache(2));
            self.open("Core", core, nodes, &format!("os_index=\"{}\"", core[0]));
            for cpu in core {
                self.open("PU", &[*cpu], nodes, &format!("os_index=\"{cpu}\""));
                self.close();
            }
            self.close();
            self.close();
        }
        if part.has_cache {
            self.close();
        }
    }
}

/// The machine with these parts, memory without CPUs, and kinds of cores, the fastest first. If a cpuset limits the CPUs,
/// `allowed` has the permitted ones.
pub(crate) fn xml(parts: &[Part], memory: &[u32], kinds: &[Vec<u32>], allowed: Option<&[u32]>) -> String {
    let all: Vec<u32> = parts.iter().flat_map(Part::cpus).collect();
    let with_memory = |own: &[u32]| [own, memory].concat();
    let nodes: Vec<u32> = parts.iter().filter_map(|part| part.node).collect();
    let mut to = Writer { text: String::new(), count: 0 };
    let allowed = mask(allowed.unwrap_or(&all));
    to.open(
        "Machine",
        &all,
        &with_memory(&nodes),
        &format!("os_index=\"0\" allowed_cpuset=\"{allowed}\" allowed_nodeset=\"{}\"", mask(&with_memory(&nodes))),
    );
    for node in memory {
        to.node(&all, *node);
    }
    for package in parts.chunk_by(|a, b| a.package == b.package) {
        let cpus: Vec<u32> = package.iter().flat_map(Part::cpus).collect();
        let own: Vec<u32> = package.iter().filter_map(|part| part.node).collect();
        to.open("Package", &cpus, &with_memory(&own), &format!("os_index=\"{}\"", package[0].package));
        for near in package.chunk_by(|a, b| a.node == b.node) {
            let cpus: Vec<u32> = near.iter().flat_map(Part::cpus).collect();
            let own: Vec<u32> = near[0].node.into_iter().collect();
            to.open("Group", &cpus, &with_memory(&own), "kind=\"1001\" subkind=\"0\"");
            for node in &own {
                to.node(&cpus, *node);
            }
            for part in near {
                to.part(part, &with_memory(&own));
            }
            to.close();
        }
        to.close();
    }
    to.close();
    let kind = |(rank, cpus): (usize, &Vec<u32>)| {
        format!("<cpukind cpuset=\"{}\" forced_efficiency=\"{rank}\"></cpukind>\n", mask(cpus))
    };
    let kinds: String = kinds.iter().rev().enumerate().map(kind).collect();
    let head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">\n";
    format!("{head}{}{kinds}</topology>\n", to.text)
}
