//! The kinds of a machine's cores, such as performance and efficiency cores, as the processor reports them.
//!
//! A different number of hardware threads or a different frequency does not make a kind: a sibling may be offline, and the
//! firmware promises equal cores speeds that differ by some per cent. CPUs of one design with close speeds are therefore one
//! kind, and where nothing says which design is faster there are no kinds.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use super::system::{CPUINFO, Registers, System, cpuid_on};
use super::topology::{CoreKinds, Topology};

/// What is known of one CPU or of several alike.
#[derive(Debug, Clone, Default)]
struct Known {
    cpus: Vec<u32>,
    /// Its design: the type of core, or the part.
    design: String,
    name: Option<String>,
    /// The rank of the design: a higher one is faster.
    order: Option<u32>,
    /// Its speed, in the same unit for all CPUs.
    speed: Option<u32>,
}

/// Speeds of one kind reach at least this fraction of its fastest core: firmware gives the best of equal cores a higher clock.
const ALIKE: f64 = 0.9;

/// The kinds of cores, from what is known of the CPUs.
fn of(known: Vec<Known>) -> CoreKinds {
    let mut by_design: BTreeMap<String, Vec<Known>> = BTreeMap::new();
    for one in known {
        by_design.entry(one.design.clone()).or_default().push(one);
    }
    let mut kinds: Vec<Known> = by_design.into_values().flat_map(alike).collect();
    let has_order = kinds.iter().all(|kind| kind.order.is_some());
    if kinds.len() < 2 || !(has_order || kinds.iter().all(|kind| kind.speed.is_some())) {
        return CoreKinds::default();
    }
    kinds.sort_by_key(|kind| std::cmp::Reverse((kind.order.filter(|_| has_order), kind.speed)));
    let numbered = (0..).zip(&kinds).flat_map(|(rank, kind)| kind.cpus.iter().map(move |cpu| (*cpu, rank)));
    CoreKinds { of_cpu: numbered.collect(), names: kinds.iter().map(|kind| kind.name.clone()).collect() }
}

/// The kinds of the machine whose files `system` reads: by the names of the kernel's counters on Intel's hybrid processors, by
/// the design that each ARM core reports, and, on this machine only, by what AMD's cores report.
pub(crate) fn of_system(system: &System, topology: &Topology) -> CoreKinds {
    let named = intel(system, topology);
    if !named.is_empty() {
        return of(named);
    }
    match system.field(CPUINFO, ':', "vendor_id").as_deref() {
        None => of(by_part(system)),
        Some("AuthenticAMD") if topology.this_system => {
            let cpus: Vec<u32> = topology.threads.iter().map(|thread| thread.os).collect();
            of(cpus_by_registers(&cpus, topology, cpuid_on))
        }
        // The kernel's capacities of x86 CPUs reflect their boost clocks.
        Some(_) => CoreKinds::default(),
    }
}

/// The kinds in a folder of registers that `hwloc-gather-cpuid` wrote.
pub(crate) fn of_dump(folder: &Path, topology: &Topology) -> CoreKinds {
    let read = |cpu: u32| std::fs::read_to_string(folder.join(format!("pu{cpu}"))).unwrap_or_default();
    let cpus: Vec<u32> = topology.threads.iter().map(|thread| thread.os).collect();
    let dumps: HashMap<u32, String> = cpus.iter().map(|cpu| (*cpu, read(*cpu))).collect();
    of(cpus_by_registers(&cpus, topology, |cpu, leaf| dumped(dumps.get(&cpu)?, leaf)))
}

/// The kinds that an XML file of hwloc describes.
pub(crate) fn of_xml(text: &str) -> CoreKinds {
    let kinds = text.split("<cpukind ").skip(1).map(|rest| rest.split_once("</cpukind>").map_or(rest, |(own, _)| own));
    of(kinds.filter_map(described).collect())
}

/// The CPUs of one design, split into fast and slow ones.
fn alike(mut known: Vec<Known>) -> Vec<Known> {
    if known.iter().any(|one| one.speed.is_none()) {
        for one in &mut known {
            one.speed = None;
        }
    }
    known.sort_by_key(|one| std::cmp::Reverse(one.speed));
    let mut kinds: Vec<Known> = Vec::new();
    for one in known {
        let is_alike = |kind: &&mut Known| match (kind.speed, one.speed) {
            (Some(fastest), Some(own)) => f64::from(own) >= ALIKE * f64::from(fastest),
            _ => true,
        };
        match kinds.last_mut().filter(is_alike) {
            Some(kind) => {
                kind.order = kind.order.max(one.order);
                kind.cpus.extend(one.cpus);
            }
            None => kinds.push(one),
        }
    }
    kinds
}

/// Types of Intel's cores, a faster one with a higher number.
const LOW_POWER: u32 = 1;
const ATOM: u32 = 2;
const CORE: u32 = 3;

fn of_type(cpu: u32, order: u32) -> Known {
    Known { cpus: vec![cpu], design: order.to_string(), order: Some(order), ..Known::default() }
}

/// The CPUs with a third-level cache.
fn with_third_level(topology: &Topology) -> HashSet<u32> {
    topology.caches.iter().filter(|cache| cache.level == 3).flat_map(|cache| cache.cpus.iter().copied()).collect()
}

/// Efficiency cores without the third-level cache that all others share are low-power cores; older kernels do not tell the two
/// apart.
fn type_of_atom(cpu: u32, with_third_level: &HashSet<u32>) -> u32 {
    if with_third_level.is_empty() || with_third_level.contains(&cpu) { ATOM } else { LOW_POWER }
}

fn intel(system: &System, topology: &Topology) -> Vec<Known> {
    let cached = with_third_level(topology);
    let of_name = |(name, order): (&str, u32)| {
        let typed = |cpu| of_type(cpu, if order == ATOM { type_of_atom(cpu, &cached) } else { order });
        system.list(&format!("sys/devices/{name}/cpus")).into_iter().map(typed).collect::<Vec<_>>()
    };
    [("cpu_core", CORE), ("cpu_atom", ATOM), ("cpu_lowpower", LOW_POWER)].into_iter().flat_map(of_name).collect()
}

/// By part and speed: ARM, and systems without parts such as RISC-V.
fn by_part(system: &System) -> Vec<Known> {
    let (designs, speeds) = (system.arm_designs(), system.speeds());
    let known = |cpu: u32| {
        let design = designs.get(&cpu);
        Known {
            cpus: vec![cpu],
            design: design.map(ToString::to_string).unwrap_or_default(),
            name: design.map(|design| design.short_name()),
            order: None,
            speed: speeds.get(&cpu).copied(),
        }
    };
    system.online_cpus().into_iter().map(known).collect()
}

/// The types of the CPUs by CPUID; `read` returns a leaf of a CPU. Empty where one CPU does not answer.
fn cpus_by_registers(cpus: &[u32], topology: &Topology, read: impl Fn(u32, u32) -> Option<Registers>) -> Vec<Known> {
    let cached = with_third_level(topology);
    let Some(first) = cpus.first() else { return Vec::new() };
    let of_cpu =
        |cpu: &u32| Some(of_type(*cpu, type_by_registers(|leaf| read(*cpu, leaf), || type_of_atom(*cpu, &cached))?));
    // If the processor has one type of core, the other CPUs need not be asked.
    let is_hybrid = type_by_registers(|leaf| read(*first, leaf), || ATOM).is_some();
    let all: Option<Vec<Known>> = if is_hybrid { cpus.iter().map(of_cpu).collect() } else { None };
    all.unwrap_or_default()
}

/// The type of a core, a faster one with a higher number; `None` where the processor has one type. Intel says it in leaf 0x1A
/// (Intel SDM 2A, CPUID), AMD in leaf 0x80000026 (APM 3, E.4.24).
fn type_by_registers(read: impl Fn(u32) -> Option<Registers>, atom: impl Fn() -> u32) -> Option<u32> {
    let vendor = read(0)?;
    let most_extended = || read(0x8000_0000).is_some_and(|registers| registers.eax >= 0x8000_0026);
    match &[vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).concat()[..] {
        b"GenuineIntel" if vendor.eax >= 7 && read(7)?.edx >> 15 & 1 == 1 => match read(0x1a)?.eax >> 24 {
            0x40 => Some(CORE),
            0x20 => Some(atom()),
            _ => None,
        },
        b"AuthenticAMD" if most_extended() => {
            let topology = read(0x8000_0026)?;
            let has_types = topology.eax >> 30 & 1 == 1;
            // 0, 1 and 2: performance, efficiency and low-power cores.
            has_types.then(|| CORE.checked_sub(topology.ebx >> 28))?.filter(|order| *order > 0)
        }
        _ => None,
    }
}

/// A leaf in a file of `hwloc-gather-cpuid`. Its lines hold a mask of the input registers, their values, `=>` and the output
/// registers.
fn dumped(text: &str, leaf: u32) -> Option<Registers> {
    let number = |word: &str| u32::from_str_radix(word, 16).ok();
    let answer = |line: &str| {
        let (asked, answer) = line.split_once("=>")?;
        let asked: Vec<u32> = asked.split_whitespace().map_while(number).collect();
        let [_, eax, _, 0, _] = asked[..] else { return None };
        let values: Vec<u32> = answer.split_whitespace().map_while(number).collect();
        let [a, ebx, ecx, edx] = values[..] else { return None };
        (eax == leaf).then_some(Registers { eax: a, ebx, ecx, edx })
    };
    text.lines().find_map(answer)
}

/// A `<cpukind>` of hwloc's XML: its attributes and its `<info>` elements.
fn described(text: &str) -> Option<Known> {
    let (attributes, infos) = text.split_once('>')?;
    let info = |name: &str| {
        let (_, rest) = infos.split_once(&format!("<info name=\"{name}\""))?;
        attribute(rest.split_once('>')?.0, "value")
    };
    let number = |name: &str| info(name)?.parse().ok();
    let cpuset = attribute(attributes, "cpuset")?;
    let speed = ["LinuxCapacity", "FrequencyMaxMHz", "FrequencyBaseMHz"].into_iter().find_map(number);
    // Only speeds can show that two entries of one design are alike: without a speed, each entry is a kind of its own.
    let own = if speed.is_none() { cpuset } else { "" };
    Some(Known {
        cpus: cpus_of_mask(cpuset)?,
        design: [info("CoreType").unwrap_or_default(), info("CPUPart").unwrap_or_default(), own].join(" "),
        name: None,
        order: attribute(attributes, "forced_efficiency").and_then(|text| text.parse().ok()),
        speed,
    })
}

/// The value of an attribute of an XML element.
pub(super) fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = element.split_once(&format!("{name}=\""))?;
    Some(rest.split_once('"')?.0)
}

/// hwloc writes sets as words of 32 bits, the highest first: `0x000000ff,0xffffffff`; an empty word is 0.
fn cpus_of_mask(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for (index, word) in text.rsplit(',').enumerate() {
        let bits = match word.trim_start_matches("0x") {
            "" => 0,
            word => u32::from_str_radix(word, 16).ok()?,
        };
        cpus.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| 32 * index as u32 + bit));
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::super::system::tests::system;
    use super::super::topology::regular;
    use super::*;

    /// The CPUs of each kind, the fastest first.
    fn listed(kinds: &CoreKinds) -> Vec<String> {
        let of = |rank: u32| {
            let cpus: Vec<u32> = kinds.of_cpu.iter().filter(|(_, own)| **own == rank).map(|(cpu, _)| *cpu).collect();
            syncscope_host::cpu_list::format(&cpus)
        };
        (0..).zip(&kinds.names).map(|(rank, _)| of(rank)).collect()
    }

    /// A Linux system whose CPUs have these parts, and in the `file` of each CPU its value.
    fn arm_system(parts: &[&str], file: &str, values: &[u32]) -> CoreKinds {
        let cpu =
            |(cpu, part): (usize, &&str)| format!("processor : {cpu}\nCPU implementer : 0x41\nCPU part : {part}\n\n");
        let cpuinfo: String = parts.iter().enumerate().map(cpu).collect();
        let cpuinfo = if parts.iter().all(|part| part.is_empty()) { String::new() } else { cpuinfo };
        let value =
            |(cpu, value): (usize, &u32)| (format!("sys/devices/system/cpu/cpu{cpu}/{file}"), value.to_string());
        let values: Vec<(String, String)> = values.iter().enumerate().map(value).collect();
        let online = format!("0-{}", parts.len() - 1);
        let mut files = vec![(CPUINFO, cpuinfo.as_str()), ("sys/devices/system/cpu/online", online.as_str())];
        files.extend(values.iter().map(|(path, value)| (path.as_str(), value.as_str())));
        let (_root, system) = system(&files);
        of_system(&system, &regular(1, 1, 1, parts.len() as u32, 1))
    }

    const CAPACITY: &str = "cpu_capacity";

    #[test]
    fn equal_cores_of_different_bins_are_one_kind() {
        // Ten Cortex-A725 and ten Cortex-X925 of an NVIDIA GB10, with the capacities of its firmware.
        let (slow, fast) = (["0xd87"; 5], ["0xd85"; 5]);
        let parts = [slow, fast, slow, fast].concat();
        let capacities = [[718; 5], [997; 5], [731; 5], [1017, 1017, 1017, 1017, 1024]].concat();
        let kinds = arm_system(&parts, CAPACITY, &capacities);
        assert_eq!(listed(&kinds), ["5-9,15-19", "0-4,10-14"]);
        assert_eq!(kinds.names, ["Cortex-X925", "Cortex-A725"].map(|name| Some(name.to_owned())));
        // The same kinds without the parts, and by frequencies.
        assert_eq!(listed(&arm_system(&[""; 20], CAPACITY, &capacities)), ["5-9,15-19", "0-4,10-14"]);
        let frequencies = [[2_808_000; 5], [3_900_000; 5], [2_808_000; 5], [3_900_000; 5]].concat();
        assert_eq!(listed(&arm_system(&parts, "cpufreq/cpuinfo_max_freq", &frequencies)), ["5-9,15-19", "0-4,10-14"]);
    }

    #[test]
    fn other_designs_are_other_kinds_however_close_they_are() {
        let parts = ["0xd80", "0xd80", "0xd81", "0xd81", "0xd81", "0xd82"];
        assert_eq!(listed(&arm_system(&parts, CAPACITY, &[250, 250, 960, 960, 960, 1024])), ["5", "2-4", "0-1"]);
        // One design at two clocks that are far apart.
        assert_eq!(listed(&arm_system(&["0xd81"; 4], CAPACITY, &[1024, 1000, 600, 590])), ["0-1", "2-3"]);
    }

    #[test]
    fn nothing_is_guessed() {
        // Two designs, and nothing says which is faster.
        assert_eq!(arm_system(&["0xd87", "0xd85"], CAPACITY, &[]), CoreKinds::default());
        assert_eq!(arm_system(&["0xd87", "0xd85"], CAPACITY, &[718]), CoreKinds::default());
        assert_eq!(arm_system(&["0xd4f"; 4], CAPACITY, &[1024, 1000, 1010, 980]), CoreKinds::default());
        // The capacities of x86 are those of favoured cores.
        let (_root, x86) = system(&[
            (CPUINFO, "vendor_id : GenuineIntel\n"),
            ("sys/devices/system/cpu/online", "0-1"),
            ("sys/devices/system/cpu/cpu0/cpu_capacity", "1024"),
            ("sys/devices/system/cpu/cpu1/cpu_capacity", "500"),
        ]);
        assert_eq!(of_system(&x86, &regular(1, 1, 1, 2, 1)), CoreKinds::default());
    }

    #[test]
    fn the_kernel_names_the_kinds_of_intel() {
        let (_root, system) = system(&[
            ("sys/devices/cpu_core/cpus", "0-3"),
            ("sys/devices/cpu_atom/cpus", "4-11"),
            ("sys/devices/cpu_lowpower/cpus", "12-13"),
        ]);
        let mut machine = regular(1, 1, 1, 14, 1);
        assert_eq!(listed(&of_system(&system, &machine)), ["0-3", "4-11", "12-13"]);
        // Older kernels count the low-power cores among the others; they have no third-level cache.
        let (_root, older) = super::super::system::tests::system(&[
            ("sys/devices/cpu_core/cpus", "0-3"),
            ("sys/devices/cpu_atom/cpus", "4-13"),
        ]);
        machine.caches[0].cpus.retain(|cpu| *cpu < 12);
        assert_eq!(listed(&of_system(&older, &machine)), ["0-3", "4-11", "12-13"]);
    }

    /// The leaves of processors of AMD (Zen 5 and Zen 5c) and of Intel.
    fn registers(vendor: &[u8; 12], leaves: &[(u32, Registers)]) -> String {
        let word = |at: usize| u32::from_le_bytes(vendor[at..at + 4].try_into().unwrap());
        let head = Registers { eax: 0x20, ebx: word(0), edx: word(4), ecx: word(8) };
        let extended = Registers { eax: 0x8000_0028, ..Registers::default() };
        let lines = [(0, head), (0x8000_0000, extended)].into_iter().chain(leaves.iter().copied());
        let line = |(leaf, Registers { eax, ebx, ecx, edx }): (u32, Registers)| {
            format!("5 {leaf:x} 0 0 0 => {eax:x} {ebx:x} {ecx:x} {edx:x}\n5 {leaf:x} 0 1 0 => ffffffff 0 0 0\n")
        };
        std::iter::once("# mask e[abcd]x => e[abcd]x\n".to_owned()).chain(lines.map(line)).collect()
    }

    fn dumped_kinds(of_cpu: &[String]) -> CoreKinds {
        let folder = tempfile::tempdir().unwrap();
        for (cpu, text) in of_cpu.iter().enumerate() {
            std::fs::write(folder.path().join(format!("pu{cpu}")), text).unwrap();
        }
        of_dump(folder.path(), &regular(1, 1, 1, of_cpu.len() as u32, 1))
    }

    #[test]
    fn the_registers_of_amd_name_the_type_of_a_core() {
        let amd = |eax, core_type: u32| {
            let leaf = Registers { eax, ebx: core_type << 28 | 2, ecx: 0x100, edx: 0 };
            registers(b"AuthenticAMD", &[(0x8000_0026, leaf)])
        };
        let strix: Vec<String> = (0..12).map(|cpu| amd(0x6000_0001, u32::from(cpu > 3))).collect();
        assert_eq!(listed(&dumped_kinds(&strix)), ["0-3", "4-11"]);
        let with_low_power: Vec<String> = (0..4).map(|cpu| amd(0x4000_0001, cpu.min(2))).collect();
        assert_eq!(listed(&dumped_kinds(&with_low_power)), ["0", "1", "2-3"]);
        // Without the bit that announces several types, the field means nothing.
        let epyc: Vec<String> = (0..4).map(|cpu| amd(1, cpu % 2)).collect();
        assert_eq!(dumped_kinds(&epyc), CoreKinds::default());
        assert_eq!(
            dumped_kinds(&[strix, vec![String::new()]].concat()),
            CoreKinds::default(),
            "one CPU does not answer"
        );
    }

    #[test]
    fn the_registers_of_intel_name_the_type_of_a_core() {
        let intel = |hybrid: u32, core_type: u32| {
            let hybrid = Registers { edx: hybrid << 15, ..Registers::default() };
            let core_type = Registers { eax: core_type << 24 | 1, ..Registers::default() };
            registers(b"GenuineIntel", &[(7, hybrid), (0x1a, core_type)])
        };
        let raptor: Vec<String> = (0..6).map(|cpu| intel(1, if cpu < 4 { 0x40 } else { 0x20 })).collect();
        assert_eq!(listed(&dumped_kinds(&raptor)), ["0-3", "4-5"]);
        assert_eq!(dumped_kinds(&[intel(0, 0x40), intel(0, 0x20)]), CoreKinds::default());
        assert_eq!(dumped_kinds(&[String::new(), "garbage => x\n5 0 => 1".to_owned()]), CoreKinds::default());
    }

    #[test]
    fn a_description_has_the_kinds_that_it_names() {
        let kind = |cpuset: &str, more: &str, infos: &[(&str, &str)]| {
            let info = |(name, value): &(&str, &str)| format!("<info name=\"{name}\" value=\"{value}\"/>\n");
            let infos: String = infos.iter().map(info).collect();
            format!("  <cpukind cpuset=\"{cpuset}\" {more}>\n{infos}  </cpukind>\n")
        };
        let kinds = |texts: &[String]| listed(&of_xml(&texts.concat()));
        let atom = kind("0x000000f0,0x00000000", "forced_efficiency=\"0\"", &[("CoreType", "IntelAtom")]);
        let core = kind("0x0000000f", "forced_efficiency=\"1\"", &[("CoreType", "IntelCore")]);
        assert_eq!(kinds(&[atom.clone(), core]), ["0-3", "36-39"]);
        // Bins of one design, in capacities and in frequencies.
        let bin = |cpuset, capacity| kind(cpuset, "", &[("LinuxCapacity", capacity)]);
        let bins = [bin("0x0f", "718"), bin("0xf0", "731"), bin("0xf00", "997"), bin("0xf000", "1024")];
        assert_eq!(kinds(&bins), ["8-15", "0-7"]);
        let turbo = |cpuset, mhz| {
            kind(cpuset, "forced_efficiency=\"0\"", &[("CoreType", "IntelCore"), ("FrequencyMaxMHz", mhz)])
        };
        assert!(kinds(&[turbo("0x3", "5600"), turbo("0xc", "5800")]).is_empty());
        let plain = |cpuset, rank: &str| kind(cpuset, &format!("forced_efficiency=\"{rank}\""), &[]);
        assert_eq!(kinds(&[plain("0x3", "0"), plain("0xc", "2"), plain("0x30", "1")]), ["2-3", "4-5", "0-1"]);
        // One kind, no kind, and a text that is not a set.
        assert!(kinds(&[atom]).is_empty() && kinds(&[]).is_empty());
        assert!(kinds(&[kind("x", "", &[]), kind("0x1", "", &[])]).is_empty());
        assert_eq!(cpus_of_mask("0x00000001,,0x80000000"), Some(vec![31, 64]));
    }
}
