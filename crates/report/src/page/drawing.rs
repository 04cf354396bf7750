//! Draws the machine: what the system reports, next to what the run measured.
//!
//! The drawing consists of boxes that the browser arranges, so that it fits both a phone and a projector. Each core is drawn
//! where the system reports it; an older description has only counts, so one box holds all cores.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;

use syncscope_core::Evidence;
use syncscope_core::machine::{Cache, Cluster, CoreKind, CpuMachine, GpuLink, GpuMachine, kind_name};

use super::facts::bytes;
use crate::analysis::ladder::rung;
use crate::figure;
use crate::html::escape;
use crate::naming::plural;
use crate::reading::Reading;
use crate::{RunData, naming};
use syncscope_core::sets::in_groups;

/// The most machines that are drawn.
const MOST_RUNS: usize = 4;

/// The most columns in a picture of cores, and of multiprocessors.
const CORE_COLUMNS: u32 = 8;
const MULTIPROCESSOR_COLUMNS: u32 = 22;
const FEW_CORES: u32 = 64;

/// Draws the machines of these runs; empty for published experiments, which describe no machine, and for many runs.
pub(super) fn drawings(runs: &[RunData], labels: &[String]) -> String {
    if runs.len() > MOST_RUNS {
        return String::new();
    }
    let described = runs.iter().zip(labels).filter(|(data, _)| data.run.machine.cpu.cores > 0 && !data.rows.is_empty());
    let drawn = |(data, label): (&RunData, &String)| {
        let title = if runs.len() > 1 { format!("<h3>{}</h3>", escape(label)) } else { String::new() };
        title + &drawing(data)
    };
    let figures: String = described.map(drawn).collect();
    if figures.is_empty() {
        return String::new();
    }
    format!(
        "<section id=\"machine\" aria-labelledby=\"machine-title\"><h2 id=\"machine-title\">The machine</h2><p \
         class=\"lead\">Grey shows what the system reports, <b class=\"measured\">blue</b> what this run measured per \
         operation. At 1 ns each, a thousand operations take 1 µs.</p>{figures}</section>"
    )
}

fn drawing(data: &RunData) -> String {
    let machine = &data.run.machine;
    let figures = machine_figures(data);
    let devices = if data.has_devices() { machine.gpus.as_slice() } else { &[] };
    let gpus = if devices.is_empty() {
        String::new()
    } else {
        let host = measured(&figures, MachinePart::HostLink, "");
        let link = format!("<div class=\"link host-link\"><span>CPU and GPU</span>{host}</div>");
        format!("{link}{}", gpu_side(devices, &machine.links, &figures))
    };
    let contradictions = data.run.measured_topology.iter().flat_map(|measured| &measured.contradictions);
    let contradiction = |text: &String| format!("<li class=\"contradiction\">{}</li>", escape(text));
    let contradictions: String = contradictions.map(contradiction).collect();
    format!(
        "<div class=\"machine\"><div class=\"side cpu-side\">{}{}</div>{gpus}</div>",
        cpu_boxes(&machine.cpu),
        measured(&figures, MachinePart::Cpu, &contradictions),
    )
}

/// The measured figures of one part as a list.
fn measured(figures: &[MachineFigure], part: MachinePart, more: &str) -> String {
    let item = |(_, figure, words): &MachineFigure| format!("<li><b>{}</b> {}</li>", escape(figure), escape(words));
    let items: String = figures.iter().filter(|(of, ..)| *of == part).map(item).collect();
    if items.is_empty() && more.is_empty() {
        return String::new();
    }
    format!("<ul class=\"measured\">{items}{more}</ul>")
}

/// The cache of a level that holds data.
fn cache(cpu: &CpuMachine, level: u32) -> Option<&Cache> {
    cpu.caches.iter().find(|cache| cache.level == level && cache.kind != "instruction")
}

fn cpu_boxes(cpu: &CpuMachine) -> String {
    let clusters: Vec<&Cluster> = cpu.clusters.iter().collect();
    let boxes = if clusters.is_empty() { one_box(cpu) } else { packages(cpu, &clusters) };
    format!(
        "<h3>{}</h3><p class=\"claimed\">{}</p><div class=\"boxes\">{boxes}</div>",
        escape(&naming::processor(cpu)),
        claims(cpu)
    )
}

/// Few cores are drawn at a larger scale.
const fn scale(cpu: &CpuMachine) -> u32 {
    if cpu.cores <= FEW_CORES { 2 } else { 1 }
}

/// One box with all cores, for a machine of which only counts are known.
fn one_box(cpu: &CpuMachine) -> String {
    let threads = cpu.hardware_threads.checked_div(cpu.cores).unwrap_or(1);
    let is_even = cpu.cores.checked_mul(threads) == Some(cpu.hardware_threads);
    let kinds: Vec<(u32, u32)> =
        cpu.core_kinds.iter().map(|kind| (kind.cores, kind.hardware_threads / kind.cores.max(1))).collect();
    let pictures = if kinds.is_empty() { vec![(cpu.cores, if is_even { threads } else { 1 })] } else { kinds };
    let words = if cpu.packages > 1 { plural(cpu.packages, "package") } else { "package".to_owned() };
    let last = cpu.caches.iter().find(|cache| cache.level == 3).filter(|cache| cache.count == 1);
    let inner = cache_box(&pictures, scale(cpu), last.map(|cache| cache.size_bytes));
    format!("<div class=\"box package\"><span>{words}</span>{inner}</div>")
}

/// Cores that share a third-level cache. Each picture is a number of cores and their hardware threads.
fn cache_box(pictures: &[(u32, u32)], scale: u32, size: Option<u64>) -> String {
    let picture = |(cores, threads): &(u32, u32)| cells(*cores, *threads, CORE_COLUMNS, scale, "cores");
    let picture: String = pictures.iter().filter_map(picture).collect();
    let words = size.map(|size| format!("<span>L3 {}</span>", bytes(size))).unwrap_or_default();
    format!("<div class=\"box cache\">{picture}{words}</div>")
}

/// Groups clusters by the part they share, in the order in which the parts come.
fn parted<'c, T: PartialEq>(clusters: &[&'c Cluster], part: impl Fn(&Cluster) -> T) -> Vec<Vec<&'c Cluster>> {
    let mut parts: Vec<(T, Vec<&Cluster>)> = Vec::new();
    for cluster in clusters {
        let own = part(cluster);
        match parts.iter_mut().find(|(known, _)| *known == own) {
            Some((_, members)) => members.push(cluster),
            None => parts.push((own, vec![cluster])),
        }
    }
    parts.into_iter().map(|(_, members)| members).collect()
}

fn packages(cpu: &CpuMachine, clusters: &[&Cluster]) -> String {
    // The size is written only where all caches have the same size.
    let sizes: Vec<u64> = cpu.caches.iter().filter(|cache| cache.level == 3).map(|cache| cache.size_bytes).collect();
    let size = sizes.first().copied().filter(|size| sizes.iter().all(|own| own == size));
    let has_nodes =
        parted(clusters, |cluster| cluster.numa_node).len() > parted(clusters, |cluster| cluster.package).len();
    let group = |clusters: Vec<&Cluster>| {
        // Kinds of cores are stacked, the fastest first.
        let mut pictures: BTreeMap<(u32, Reverse<usize>), u32> = BTreeMap::new();
        for cluster in &clusters {
            let cores = pictures.entry((cluster.kind, Reverse(cluster.cpus.len()))).or_default();
            *cores = cores.saturating_add(cluster.cores);
        }
        let pictures: Vec<(u32, u32)> =
            pictures.into_iter().map(|((_, Reverse(threads)), cores)| (cores, threads as u32)).collect();
        cache_box(&pictures, scale(cpu), size.filter(|_| clusters[0].cache.is_some()))
    };
    let node = |clusters: Vec<&Cluster>| {
        let name = clusters[0].numa_node.map_or_else(|| "no NUMA node".to_owned(), |node| format!("NUMA node {node}"));
        let groups: String = parted(&clusters, |cluster| cluster.cache).into_iter().map(group).collect();
        if has_nodes { format!("<div class=\"box node\"><span>{name}</span>{groups}</div>") } else { groups }
    };
    let package = |clusters: Vec<&Cluster>| {
        let nodes: String = parted(&clusters, |cluster| cluster.numa_node).into_iter().map(node).collect();
        format!("<div class=\"box package\"><span>package</span>{nodes}</div>")
    };
    parted(clusters, |cluster| cluster.package).into_iter().map(package).collect()
}

/// What the system reports about the CPUs.
fn claims(cpu: &CpuMachine) -> String {
    let smt =
        cpu.hardware_threads.checked_div(cpu.cores).filter(|threads| *threads > 1 || cpu.hardware_threads > cpu.cores);
    let smt = smt.filter(|_| cpu.core_kinds.is_empty());
    let is_even = |threads: u32| cpu.cores.checked_mul(threads) == Some(cpu.hardware_threads);
    let smt = smt.map(|threads| {
        let each = if is_even(threads) { format!(" ({threads} hardware threads per core)") } else { String::new() };
        format!("{} CPUs{each}", cpu.hardware_threads)
    });
    let memory = plural(cpu.memory_nodes.len(), "NUMA node");
    let parts = [
        Some(plural(cpu.cores, "core")),
        kinds_in_words(cpu),
        smt,
        Some(plural(cpu.packages.max(1), "package")),
        (cpu.numa_nodes > 0).then(|| plural(cpu.numa_nodes, "NUMA node")),
        (!cpu.memory_nodes.is_empty()).then(|| format!("{memory} of memory without CPUs")),
        cache(cpu, 2).map(|cache| format!("L2 {} for {}", bytes(cache.size_bytes), plural(cache.shared_by, "CPU"))),
        cpu.memory_bytes.map(|size| format!("{} of memory", bytes(size))),
        cpu.hypervisor.as_ref().map(|name| format!("virtual machine ({name})")),
    ];
    escape(&parts.into_iter().flatten().collect::<Vec<_>>().join(" · "))
}

/// `8 performance cores with 16 CPUs, 16 efficiency cores with 16 CPUs`.
fn kinds_in_words(cpu: &CpuMachine) -> Option<String> {
    let words = |(index, kind): (usize, &CoreKind)| {
        let name = kind_name(index, cpu.core_kinds.len());
        let design = kind.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        format!("{}{design} with {}", plural(kind.cores, &format!("{name} core")), plural(kind.hardware_threads, "CPU"))
    };
    let kinds: Vec<String> = cpu.core_kinds.iter().enumerate().map(words).collect();
    (!kinds.is_empty()).then(|| kinds.join(", "))
}

fn gpu_side(devices: &[GpuMachine], links: &[GpuLink], figures: &[MachineFigure]) -> String {
    let boxes: String = devices.iter().map(gpu_box).collect();
    let between = (devices.len() > 1).then(|| {
        let (ways, figures) = (escape(&ways(links)), measured(figures, MachinePart::GpuLink, ""));
        format!("<div class=\"link gpu-link\"><span>{ways}</span>{figures}</div>")
    });
    format!(
        "<div class=\"side gpu-side\"><h3>{}</h3><p class=\"claimed\">{}</p><div class=\"boxes\">{boxes}</div>{}{}</div>",
        escape(&naming::gpus(devices).join(" + ")),
        escape(&gpu_claims(devices)),
        measured(figures, MachinePart::Gpu, ""),
        between.unwrap_or_default()
    )
}

fn gpu_box(gpu: &GpuMachine) -> String {
    let picture = cells(gpu.multiprocessors, 1, MULTIPROCESSOR_COLUMNS, 1, "multiprocessors").unwrap_or_default();
    format!("<div class=\"box gpu\"><span>GPU {}</span>{picture}</div>", gpu.index)
}

/// What the driver reports about the devices, written once where they are alike.
fn gpu_claims(devices: &[GpuMachine]) -> String {
    let claim = |gpu: &GpuMachine| {
        let (major, minor) = gpu.compute_capability;
        // Imported figures come without the driver's report.
        let cache = if gpu.l2_bytes > 0 { format!(" · L2 {}", bytes(gpu.l2_bytes)) } else { String::new() };
        let multiprocessors = plural(gpu.multiprocessors, "multiprocessor");
        let memory = bytes(gpu.memory_bytes);
        format!("{multiprocessors}{cache} · {memory} of memory · compute capability {major}.{minor}")
    };
    let mut all: Vec<String> = devices.iter().map(claim).collect();
    all.dedup();
    let each = if devices.len() > 1 && all.len() == 1 { "each: " } else { "" };
    format!("{each}{}", all.join("; "))
}

/// The links between devices: `NVLink between all pairs`, `NVLink 2 pairs, PCIe 4 pairs`.
fn ways(links: &[GpuLink]) -> String {
    let pairs = links.iter().filter(|link| link.from < link.to);
    match in_groups(pairs.map(|link| (link.kind.as_deref().unwrap_or("unknown link"), link))).as_slice() {
        [] => "between the GPUs".to_owned(),
        [(kind, pairs)] if pairs.len() == 1 => (*kind).to_owned(),
        [(kind, _)] => format!("{kind} between all pairs"),
        several => {
            let words = several.iter().map(|(kind, pairs)| format!("{kind} {}", plural(pairs.len(), "pair")));
            words.collect::<Vec<_>>().join(", ")
        }
    }
}

/// The side of a square, and the gap to the next square.
const SIDE: u32 = 10;
const GAP: u32 = 3;

/// The most parts that are drawn; more are only counted.
const MOST: u32 = 1024;

/// Draws `count` squares in rows, each cut into `parts` strips (a core with its hardware threads), at `scale` times the
/// smallest size. `None` if there are no squares, or too many to see.
fn cells(count: u32, parts: u32, columns: u32, scale: u32, class: &str) -> Option<String> {
    let (parts, columns) = (parts.clamp(1, 8), columns.clamp(1, count.max(1)));
    if count == 0 || count > MOST {
        return None;
    }
    let mut path = String::new();
    for cell in 0..count {
        let (x, y) = (cell % columns * (SIDE + GAP), cell / columns * (SIDE + GAP));
        for part in 0..parts {
            // Strips divide the side of the square, with a gap of 1 between them.
            let room = f64::from(SIDE - (parts - 1)) / f64::from(parts);
            let left = f64::from(x) + f64::from(part) * (room + 1.0);
            // Writing to a String cannot fail.
            let _ = write!(path, "M{} {y}h{}v{SIDE}h-{}z", round(left), round(room), round(room));
        }
    }
    let (width, height) = (columns * (SIDE + GAP) - GAP, count.div_ceil(columns) * (SIDE + GAP) - GAP);
    let (wide, high) = (width * scale, height * scale);
    Some(format!(
        "<svg class=\"cells-picture {class}\" width=\"{wide}\" height=\"{high}\" viewBox=\"0 0 {width} {height}\" \
         aria-hidden=\"true\"><path d=\"{path}\"/></svg>"
    ))
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// A part of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MachinePart {
    Cpu,
    /// Between CPU and GPU.
    HostLink,
    Gpu,
    /// Between GPUs.
    GpuLink,
}

/// A measured cost: the part, the figure such as `76.6 ns` or `~3.07 µs`, and what it costs.
type MachineFigure = (MachinePart, String, String);

/// The rungs of the cost ladder that are drawn: the part, the id of the rung, and the words for its figure.
const DRAWN: [(MachinePart, &str, &str); 18] = [
    (MachinePart::Cpu, "handoff.core", "hand-off between hardware threads of a core"),
    (MachinePart::Cpu, "handoff.l2", "hand-off within an L2 cache"),
    (MachinePart::Cpu, "handoff.l3", "hand-off within an L3 cache"),
    (MachinePart::Cpu, "handoff.node", "hand-off within a NUMA node"),
    (MachinePart::Cpu, "handoff.package", "hand-off between NUMA nodes of a package"),
    (MachinePart::Cpu, "handoff.across", "hand-off across packages"),
    (MachinePart::Cpu, "handoff.close", "hand-off within a close pair"),
    (MachinePart::Cpu, "wake", "to wake a sleeping thread"),
    (MachinePart::Cpu, "barrier.threads", "barrier across all threads"),
    (MachinePart::HostLink, "host.flag", "flag there and back"),
    (MachinePart::HostLink, "host.launch", "kernel launch and wait"),
    (MachinePart::Gpu, "warp.converged", "barrier across a converged warp"),
    (MachinePart::Gpu, "block.1024", "barrier across a 1,024-thread block"),
    (MachinePart::Gpu, "cluster.8", "barrier across an 8-block cluster"),
    (MachinePart::Gpu, "grid", "barrier across the grid"),
    (MachinePart::GpuLink, "devices.2", "barrier across 2 GPUs"),
    (MachinePart::GpuLink, "devices.4", "barrier across 4 GPUs"),
    (MachinePart::GpuLink, "devices.8", "barrier across 8 GPUs"),
];

/// The hand-off to draw only if the run has no class of pairs.
const WITHOUT_CLASS: &str = "handoff.close";

/// The measured costs of a machine's parts, in the order of [`DRAWN`]. Rows without a figure are left out.
fn machine_figures(data: &RunData) -> Vec<MachineFigure> {
    let mut has_class = false;
    let figure = |(part, id, words): (MachinePart, &str, &str)| {
        let selected = rung(data, id).filter(|_| id != WITHOUT_CLASS || !has_class)?;
        let row = &data.rows[selected.row];
        let cost = Reading::of(row);
        let own = cost.state.has_figure().then_some(cost.figure);
        let figure = selected.median_ns.map(figure::time).or(own)?;
        has_class |= id.starts_with("handoff.");
        // A barrier that compiles to a NOP costs an issue slot and waits for nothing.
        let is_nop = row.evidence.as_deref().is_some_and(Evidence::is_nop);
        let note = selected.note.or_else(|| is_nop.then(|| "compiled to a NOP".to_owned()));
        Some((part, figure, note.map_or_else(|| words.to_owned(), |note| format!("{words} ({note})"))))
    };
    DRAWN.into_iter().filter_map(figure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::machine::MeasuredTopology;
    use syncscope_core::{Case, Group, Nanoseconds, Placement, Row, Verdict};

    fn of(cpu: CpuMachine, gpus: Vec<GpuMachine>, links: Vec<GpuLink>) -> String {
        let skipped = Row::unmeasured(Case::new("gpu.block.syncthreads"), Verdict::Skipped("none".into()));
        let grid = Case { blocks: Some(4), threads: Some(32), ..Case::new("gpu.grid.counter") };
        let mut grid = Row::unmeasured(grid, Verdict::Resolved);
        grid.ns = Some(syncscope_core::Nanoseconds(805.0));
        let mut data = crate::testing::data(vec![skipped, grid]);
        data.run.machine = syncscope_core::machine::Machine { cpu, gpus, links };
        drawings(&[data], &["a".to_owned()]).replace('\u{a0}', " ")
    }

    fn cpu(packages: u32, numa_nodes: u32, cores: u32, hardware_threads: u32, l3: u32) -> CpuMachine {
        let cache = Cache {
            level: 3,
            kind: "unified".into(),
            size_bytes: 32 << 20,
            line_bytes: 64,
            shared_by: hardware_threads / l3.max(1),
            count: l3,
        };
        let caches = vec![cache];
        CpuMachine { model: "X".into(), packages, numa_nodes, cores, hardware_threads, caches, ..CpuMachine::default() }
    }

    fn gpu(index: u32) -> GpuMachine {
        GpuMachine { index, name: "NVIDIA H200".into(), multiprocessors: 4, ..GpuMachine::default() }
    }

    fn count(html: &str, class: &str) -> usize {
        html.matches(&format!("class=\"box {class}\"")).count()
    }

    #[test]
    fn one_cpu() {
        let html = of(cpu(1, 1, 1, 1, 1), vec![], vec![]);
        assert_eq!((count(&html, "package"), count(&html, "node"), count(&html, "cache")), (1, 0, 1));
        assert!(html.contains("1 core · 1 package · 1 NUMA node"), "{html}");
        assert!(!html.contains("gpu-side"));
    }

    /// A cluster of cores with `threads` threads each, of one kind, in a package, a node and a cache.
    fn cluster(cores: u32, threads: usize, [package, node, cache, kind]: [u32; 4]) -> Cluster {
        let cpus = vec![String::new(); threads];
        Cluster { package, numa_node: Some(node), cache: Some(cache), kind, cores, cpus }
    }

    /// The number of strips in each picture: the hardware threads of its cores.
    fn pictures(html: &str) -> Vec<usize> {
        let paths = html.split("<path d=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        paths.map(|path| path.matches('M').count()).collect()
    }

    #[test]
    fn two_packages_with_hardware_threads_and_nodes() {
        let clusters = (0..8).map(|cache| cluster(4, 2, [cache / 4, cache / 2, cache, 0])).collect();
        let html = of(CpuMachine { clusters, ..cpu(2, 4, 32, 64, 8) }, vec![], vec![]);
        assert_eq!((count(&html, "package"), count(&html, "node"), count(&html, "cache")), (2, 4, 8));
        assert!(html.contains("64 CPUs (2 hardware threads per core)"), "{html}");
        assert_eq!(pictures(&html), [8; 8], "four cores of two threads below each L3 cache");
    }

    #[test]
    fn every_kind_of_cores_is_drawn_with_its_hardware_threads() {
        let kinds = |counts: &[(u32, u32)]| -> Vec<CoreKind> {
            let kind = |(cores, hardware_threads): &(u32, u32)| CoreKind {
                cores: *cores,
                hardware_threads: *hardware_threads,
                name: None,
            };
            counts.iter().map(kind).collect()
        };
        let core_kinds = kinds(&[(2, 4), (8, 8), (2, 2)]);
        let mut clusters = vec![cluster(2, 2, [0, 0, 0, 0]), cluster(8, 1, [0, 0, 0, 1]), cluster(2, 1, [0, 0, 0, 2])];
        clusters[2].cache = None;
        let machine = CpuMachine { core_kinds: core_kinds.clone(), clusters, ..cpu(1, 1, 12, 14, 1) };
        let html = of(machine.clone(), vec![], vec![]);
        assert!(
            html.contains(
                "2 performance cores with 4 CPUs, 8 efficiency cores with 8 CPUs, 2 low-power cores with 2 CPUs"
            ),
            "{html}"
        );
        assert_eq!(
            (pictures(&html), html.matches("<span>L3 ").count()),
            (vec![4, 8, 2], 1),
            "the last have no L3 cache"
        );
        let older = of(CpuMachine { clusters: Vec::new(), ..machine }, vec![], vec![]);
        assert_eq!(pictures(&older), [4, 8, 2]);
        // Where kinds alternate, the cores that share a cache stay together.
        let alternating = (0..4).map(|at| cluster(5, 1, [0, 0, at / 2, (at + 1) % 2])).collect();
        let mut core_kinds = kinds(&[(10, 10), (10, 10)]);
        core_kinds[0].name = Some("Cortex-X925".into());
        let html = of(CpuMachine { core_kinds, clusters: alternating, ..cpu(1, 1, 20, 20, 2) }, vec![], vec![]);
        assert!(html.contains("10 performance cores (Cortex-X925) with 10 CPUs"), "{html}");
        assert_eq!(pictures(&html), [5; 4]);
    }

    #[test]
    fn unequal_parts_are_drawn_as_they_are() {
        // NUMA nodes with 1 core, with 12 and with memory only; two packages with 4 and 8 cores; one sibling offline.
        let nodes =
            [1, 1, 12, 12].iter().zip(0..).map(|(cores, node)| cluster(*cores, 1, [0, node, node, 0])).collect();
        let machine = CpuMachine { clusters: nodes, memory_nodes: vec![4, 5], ..cpu(1, 4, 26, 26, 4) };
        let html = of(machine, vec![], vec![]);
        assert_eq!((count(&html, "node"), pictures(&html)), (4, vec![1, 1, 12, 12]));
        assert!(html.contains("4 NUMA nodes · 2 NUMA nodes of memory without CPUs"), "{html}");
        let packages = vec![cluster(4, 1, [0, 0, 0, 0]), cluster(8, 1, [1, 1, 1, 0])];
        let html = of(CpuMachine { clusters: packages, ..cpu(2, 2, 12, 12, 2) }, vec![], vec![]);
        assert_eq!((count(&html, "package"), count(&html, "node"), pictures(&html)), (2, 0, vec![4, 8]));
        let offline = vec![cluster(1, 2, [0; 4]), cluster(1, 1, [0; 4]), cluster(6, 2, [0; 4])];
        let html = of(CpuMachine { clusters: offline, ..cpu(1, 1, 8, 15, 1) }, vec![], vec![]);
        assert_eq!(pictures(&html), [14, 1]);
        assert!(html.contains("15 CPUs · 1 package"), "{html}");
    }

    #[test]
    fn counts_that_no_machine_has_are_harmless() {
        let most = cpu(u32::MAX, u32::MAX, u32::MAX, u32::MAX, u32::MAX);
        assert_eq!(pictures(&of(most.clone(), vec![], vec![])), [0_usize; 0]);
        let clusters = vec![cluster(u32::MAX, 3, [u32::MAX; 4]), cluster(u32::MAX, 3, [u32::MAX; 4])];
        assert_eq!(count(&of(CpuMachine { clusters, ..most }, vec![], vec![]), "package"), 1);
    }

    #[test]
    fn nothing_is_divided_that_is_only_counted() {
        let html = of(cpu(2, 3, 7, 7, 5), vec![], vec![]);
        assert_eq!((count(&html, "package"), count(&html, "node"), pictures(&html)), (1, 0, vec![7]));
        assert!(html.contains("<span>2 packages</span>") && !html.contains("<span>L3"), "{html}");
        // The node count includes nodes of GPU memory.
        assert_eq!(count(&of(cpu(1, 9, 72, 72, 1), vec![], vec![]), "node"), 0);
    }

    #[test]
    fn four_gpus_with_their_links() {
        let link = |from, to, kind: &str| GpuLink { from, to, kind: Some(kind.into()), ..GpuLink::default() };
        let pairs = [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)];
        let html = of(cpu(1, 1, 8, 8, 1), (0..4).map(gpu).collect(), pairs.map(|(a, b)| link(a, b, "NVLink")).to_vec());
        assert_eq!(count(&html, "gpu"), 4);
        assert!(html.contains("4 × NVIDIA H200") && html.contains("NVLink between all pairs"), "{html}");
        assert!(html.contains("<b>805 ns</b> barrier across the grid (counter)"), "{html}");
        let mixed = of(cpu(1, 1, 8, 8, 1), (0..3).map(gpu).collect(), vec![link(0, 1, "NVLink"), link(0, 2, "PCIe")]);
        assert!(mixed.contains("NVLink 1 pair, PCIe 1 pair"), "{mixed}");
    }

    #[test]
    fn names_of_a_stored_run_are_text() {
        let hostile = "<img src=x onerror=alert(1)>";
        let mut data = crate::testing::data(vec![Row::unmeasured(Case::new("cpu.lock.mcs"), Verdict::Resolved)]);
        data.run.machine.cpu =
            CpuMachine { model: hostile.into(), hypervisor: Some(hostile.into()), ..cpu(1, 1, 2, 2, 1) };
        data.run.measured_topology =
            Some(MeasuredTopology { contradictions: vec![hostile.into()], ..MeasuredTopology::default() });
        let html = drawings(&[data.clone(), data], &[hostile.to_owned(), hostile.to_owned()]);
        assert!(!html.contains("<img") && html.contains("&lt;img"), "{html}");
    }

    #[test]
    fn nothing_is_drawn_of_an_unknown_machine() {
        assert_eq!(of(CpuMachine::default(), vec![], vec![]), "");
    }

    fn squares(picture: &str) -> usize {
        picture.matches('M').count()
    }

    #[test]
    fn each_part_is_drawn_once() {
        assert_eq!(squares(&cells(132, 1, 22, 1, "gpu").unwrap()), 132);
        assert_eq!(squares(&cells(16, 2, 8, 1, "cpu").unwrap()), 32);
        assert_eq!(cells(0, 1, 8, 1, "cpu"), None);
        assert_eq!(cells(100_000, 1, 8, 1, "cpu"), None);
        assert!(cells(1, 1, 8, 1, "cpu").unwrap().contains("viewBox=\"0 0 10 10\""));
    }

    use syncscope_core::stats::Interval;

    fn pair(group: Option<Group>, ns: f64) -> Row {
        let placement = if group.is_some() { Placement::List(vec![0, 1]) } else { Placement::Close };
        let case =
            Case { threads: Some(2), placement: Some(placement), group, ..Case::new("cpu.handoff.cas_pingpong") };
        Row {
            ns: Some(Nanoseconds(ns)),
            ns_within: Some(Interval { low: ns * 0.9, high: ns * 1.1 }),
            ns_interval: Some(Interval { low: ns * 0.8, high: ns * 1.2 }),
            ..Row::unmeasured(case, Verdict::Resolved)
        }
    }

    fn drawn(rows: Vec<Row>) -> Vec<(String, String)> {
        machine_figures(&crate::testing::data(rows)).into_iter().map(|(_, figure, words)| (figure, words)).collect()
    }

    #[test]
    fn a_class_of_pairs_replaces_the_close_pair() {
        let close = pair(None, 70.0);
        assert_eq!(drawn(vec![close.clone()]), [("70.0 ns".to_owned(), "hand-off within a close pair".to_owned())]);
        let with_class = drawn(vec![close, pair(Some(Group::named("same_l3")), 50.0)]);
        assert_eq!(with_class, [("50.0 ns".to_owned(), "hand-off within an L3 cache".to_owned())]);
    }

    #[test]
    fn a_barrier_without_an_instruction_says_so() {
        let group = Some(Group::named("converged"));
        let case = Case { threads: Some(32), blocks: Some(1), group, ..Case::new("gpu.warp.syncwarp") };
        let barrier = Row { ns: Some(Nanoseconds(0.505)), ..Row::unmeasured(case, Verdict::Resolved) };
        let with =
            |evidence: &str| drawn(vec![Row { evidence: Some(evidence.into()), ..barrier.clone() }])[0].1.clone();
        assert_eq!(with("NOP 32/64 for WARPSYNC"), "barrier across a converged warp (compiled to a NOP)");
        assert_eq!(with("WARPSYNC 32/64"), "barrier across a converged warp");
    }

    #[test]
    fn a_row_without_a_figure_is_no_cost_of_the_machine() {
        let noisy = Row { verdict: Verdict::Noisy("wide".into()), ..pair(None, 70.0) };
        assert_eq!(drawn(vec![noisy.clone()])[0].0, "~70 ns");
        let wide = Row { ns_within: Some(Interval { low: 1.0, high: 700.0 }), ..noisy };
        assert_eq!(drawn(vec![wide]), []);
    }
}
