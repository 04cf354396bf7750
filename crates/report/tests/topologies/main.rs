//! Tests machines that do not exist, from the plan to the page: hwloc reads a description of each, and the quick plan gets
//! costs from a model. Each machine is described in its own process, which is this test program started again.
//!
//! `SYNCSCOPE_PAGES=DIR cargo test -p syncscope-report --test topologies` writes the pages to DIR.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test that fails is a failed test")]

#[path = "../synthetic/catalogue.rs"]
mod catalogue;
mod described;

use described::Part;

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;
use std::time::UNIX_EPOCH;

use serde_json::{Value, json};
use syncscope_core::machine::Machine;
use syncscope_core::run::Status;
use syncscope_core::stats::Interval;
use syncscope_core::{Case, Laboratory, Nanoseconds, Placement, Preset, Row, Run, Verdict};
use syncscope_cpu::{CpuLaboratory, Topology};
use syncscope_report::{Asked, Damage, Need, RunData, advise, page};

/// A machine, and what its page must contain.
struct Described {
    name: &'static str,
    /// The value of `HWLOC_SYNTHETIC`; without one, the hybrid processor of the stored file.
    synthetic: Option<&'static str>,
    /// Sizes of teams with one thread per core that the quick preset includes.
    sizes: &'static [u32],
    /// The lines of a chart over threads.
    lines: &'static [&'static str],
    /// Parts of its sentences.
    says: &'static [&'static str],
    /// What the machine lacks according to the note under the placements.
    lacks: &'static [&'static str],
    /// The columns of the first table about levels.
    levels: &'static [&'static str],
    /// What advice about locks must add for two threads and for all.
    advice: Option<&'static str>,
}

const SIBLINGS: &str = "With the SMT sibling busy";
const ONE_CORE: &str = "Two threads on one core instead of two";
const MEMORY: &str = "When two threads of NUMA node 0 contend for a line in memory of node";
const PLACEMENT: &str = "Placement matters: add takes";
const NO_SMT: &str = "SMT";
const NO_NUMA: &str = "remote memory";

const MACHINES: [Described; 6] = [
    Described {
        name: "two sockets with SMT",
        synthetic: Some("pack:2 [numa] l3:1 l2:10 core:1 pu:2"),
        sizes: &[2, 4, 8, 10, 20, 40],
        lines: &["second socket from 11", "hardware threads from 21", "CPUs: 40"],
        says: &[
            SIBLINGS,
            "With all 20 hardware threads of 10 cores",
            ONE_CORE,
            "With 10 threads across sockets",
            PLACEMENT,
            MEMORY,
            "At 40 threads",
        ],
        lacks: &[],
        levels: &["share one core", "share one L3", "share nothing"],
        advice: Some("on SMT siblings and across sockets"),
    },
    Described {
        name: "sub-NUMA clusters",
        synthetic: Some("pack:2 group:2 [numa] l3:1 l2:8 core:1 pu:2"),
        sizes: &[2, 4, 8, 16, 32, 64],
        lines: &["second node from 9", "second socket from 17", "hardware threads from 33", "CPUs: 64"],
        says: &[SIBLINGS, ONE_CORE, "With 16 threads across sockets", MEMORY],
        lacks: &[],
        levels: &["share one core", "share one L3", "share one package", "share nothing"],
        advice: Some("on SMT siblings and across sockets"),
    },
    Described {
        name: "performance and efficiency cores",
        synthetic: None,
        sizes: &[2, 4, 8, 16, 24, 32],
        lines: &["efficiency cores from 9", "hardware threads from 25", "CPUs: 32"],
        says: &[
            SIBLINGS,
            ONE_CORE,
            "With one thread on an efficiency core instead of a performance core, an atomic add takes 1.5 times as long",
            "Two threads on efficiency cores instead of performance cores: an atomic add takes 18.0 ns instead of 12.0 ns",
            "With one thread on a core of each kind instead of both on performance cores, an atomic add takes 24.0 ns instead of 12.0 ns",
        ],
        lacks: &[NO_NUMA],
        levels: &["share one core", "share one L2", "share one L3"],
        advice: Some("on SMT siblings and on performance and efficiency cores"),
    },
    Described {
        name: "four nodes",
        synthetic: Some("pack:1 group:4 [numa] l3:1 l2:24 core:1 pu:1"),
        sizes: &[2, 4, 8, 24, 96],
        lines: &["second node from 25", "CPUs: 96"],
        says: &[MEMORY, "A hand-off takes", "At 96 threads"],
        lacks: &[NO_SMT],
        levels: &["share one L3", "share one package"],
        advice: Some("across NUMA nodes"),
    },
    Described {
        name: "four caches",
        synthetic: Some("pack:1 [numa] l3:4 l2:4 core:1 pu:2"),
        sizes: &[2, 4, 8, 16, 32],
        lines: &["hardware threads from 17", "CPUs: 32"],
        says: &[SIBLINGS, ONE_CORE, "A hand-off takes"],
        lacks: &[NO_NUMA],
        levels: &["share one core", "share one L3", "share one node"],
        advice: Some("on SMT siblings"),
    },
    Described {
        name: "flat",
        synthetic: Some("pack:1 [numa] l3:1 l2:16 core:1 pu:1"),
        sizes: &[1, 2, 4, 8, 16],
        lines: &["CPUs: 16"],
        says: &["CPU pairs: a hand-off takes"],
        lacks: &[NO_SMT, NO_NUMA],
        levels: &[],
        advice: None,
    },
];

/// A cost that follows the machine: hand-offs cost by class, siblings slow each other down, and remote memory costs more.
fn cost(case: &Case, topology: &Topology) -> f64 {
    let threads = f64::from(case.threads.unwrap_or(1));
    let thread = |cpu: u32| topology.threads.iter().find(|thread| thread.os == cpu).unwrap();
    let of_family = match case.primitive.as_str() {
        id if id.starts_with("cpu.wake") => 60.0,
        "cpu.lock.cohort" => 2.0,
        id if id.starts_with("cpu.lock") => 3.0,
        id if id.starts_with("cpu.barrier") => 5.0,
        _ => 1.0,
    };
    let near = match case.group_word() {
        "sibling_busy" => 9.0,
        "sibling_idle" => 5.0,
        "performance_cores" => 6.0 * threads,
        "efficiency_cores" => 9.0 * threads,
        "low_power_cores" => 15.0 * threads,
        "mixed_cores" | "performance_and_efficiency_cores" => 24.0,
        "performance_and_low_power_cores" => 40.0,
        "efficiency_and_low_power_cores" => 45.0,
        "same_core" => 8.0,
        "same_l2" => 25.0,
        "same_l3" => 50.0,
        "same_node" => 90.0,
        "same_package" => 130.0,
        "across" => 250.0,
        "line_on_node #" => {
            let Some(Placement::List(cpus)) = &case.placement else { panic!("a pair of CPUs") };
            let homes: Vec<u32> = cpus.iter().map(|cpu| thread(*cpu).numa_node.unwrap()).collect();
            if homes.iter().all(|home| case.group_number("line_on_node #") == Some(*home)) { 100.0 } else { 160.0 }
        }
        _ => {
            let shared =
                threads > f64::from(topology.cores()) || case.placement == Some(Placement::Close) && topology.has_smt();
            let apart = if case.placement == Some(Placement::Spread) { 2.5 } else { 1.0 };
            20.0 * threads * apart * if shared { 1.6 } else { 1.0 }
        }
    };
    of_family * near
}

/// The quick run of the machine that the environment describes.
fn made_up(name: &str) -> RunData {
    let laboratory = CpuLaboratory::open().unwrap();
    let mut run = Run { status: Status::Done, ..Run::new("quick", UNIX_EPOCH) };
    run.machine = Machine { cpu: laboratory.machine(), ..Machine::default() };
    run.machine.cpu.model = format!("Made up: {name}");
    laboratory.describe(&mut run.environment);
    let around = |ns: f64, share: f64| Some(Interval { low: ns * (1.0 - share), high: ns * (1.0 + share) });
    let row = |case: Case| {
        let ns = cost(&case, laboratory.topology());
        Row {
            ns: Some(Nanoseconds(ns)),
            ns_within: around(ns, 0.01),
            ns_interval: around(ns, 0.05),
            ops_per_s_total: Some(f64::from(case.threads.unwrap_or(1)) * 1e9 / ns),
            ..Row::unmeasured(case, Verdict::Resolved)
        }
    };
    let planned = laboratory.within_time(Preset::Quick, laboratory.plan(Preset::Quick));
    let rows: Vec<Row> = planned.into_iter().map(row).collect();
    run.planned = rows.len() as u64;
    RunData {
        name: name.to_owned(),
        run,
        rows,
        details: HashMap::new(),
        damage: Damage::default(),
        catalogue: catalogue::catalogue(),
    }
}

#[test]
#[ignore = "started by the other tests of this file, in a process of its own"]
#[allow(clippy::print_stdout, reason = "its output is read by the process that started it")]
fn describe() {
    let name = std::env::var("SYNCSCOPE_MACHINE").unwrap();
    let data = made_up(&name);
    let html = page::render(std::slice::from_ref(&data));
    let drawing =
        html.split_once("<section id=\"machine\"").map_or("", |(_, rest)| rest.split("</section>").next().unwrap());
    let boxes = ["package", "node", "cache"].map(|kind| drawing.matches(&format!("class=\"box {kind}\"")).count());
    let strips: Vec<usize> =
        drawing.split("<path d=\"").skip(1).map(|rest| rest.split('"').next().unwrap().matches('M').count()).collect();
    let (_, rest) = html.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    let shown: Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    if let Ok(folder) = std::env::var("SYNCSCOPE_PAGES") {
        std::fs::write(PathBuf::from(folder).join(format!("{}.html", name.replace(' ', "-"))), html).unwrap();
    }
    let usual = if data.run.machine.cpu.cores < data.run.machine.cpu.hardware_threads { "cores" } else { "close" };
    let is_usual = |row: &&Row| {
        row.case.primitive == "cpu.lock.mcs" && row.case.placement.as_ref().is_some_and(|own| own.to_string() == usual)
    };
    let sizes: Vec<u32> = data.rows.iter().filter(is_usual).filter_map(|row| row.case.threads).collect();
    let advice: Vec<String> = advise(&data, Need::Protect, Asked::default())
        .into_iter()
        .flat_map(|advice| match advice.decision.choice {
            Some(choice) => choice.notes,
            None => vec![advice.decision.outcome.sentence],
        })
        .collect();
    let groups: Vec<String> = data.rows.iter().filter_map(|row| Some(row.case.group.as_ref()?.to_string())).collect();
    let run = &shown["runs"][0];
    let found = json!({
        "sizes": sizes, "usual": usual, "groups": groups, "advice": advice,
        "cpu": data.run.machine.cpu, "allowed": data.run.environment.allowed_cpus, "boxes": boxes, "strips": strips,
        "lines": run["lines"], "answers": run["answers"], "decisions": run["decisions"],
    });
    println!("FOUND {found}");
}

/// Describes a machine from hwloc's XML in a process of its own, and returns what its page has.
fn found_in(name: &str, xml: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("machine.xml");
    std::fs::write(&path, xml).unwrap();
    answer(name, "HWLOC_XMLFILE", path.as_os_str())
}

/// Describes a machine in a process of its own, and returns what its page has.
fn found(machine: &Described) -> Value {
    let hybrid: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "topologies", "hybrid.xml"].iter().collect();
    match machine.synthetic {
        Some(text) => answer(machine.name, "HWLOC_SYNTHETIC", text.as_ref()),
        None => answer(machine.name, "HWLOC_XMLFILE", hybrid.as_os_str()),
    }
}

fn answer(name: &str, variable: &str, value: &OsStr) -> Value {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--ignored", "--exact", "--nocapture", "describe"])
        .env("SYNCSCOPE_MACHINE", name)
        .env(variable, value);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (_, json) = text.split_once("FOUND ").unwrap_or_else(|| panic!("{name}: {text}"));
    serde_json::from_str(json.lines().next().unwrap()).unwrap()
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().filter_map(Value::as_str).collect()
}

fn decision<'a>(found: &'a Value, id: &str) -> Option<&'a Value> {
    found["decisions"].as_array().unwrap().iter().find(|decision| decision["id"] == id)
}

#[test]
fn every_machine_shows_what_it_has() {
    for machine in &MACHINES {
        let (found, name) = (found(machine), machine.name);
        // The plan.
        let sizes: Vec<u64> = found["sizes"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
        assert!(machine.sizes.iter().all(|size| sizes.contains(&u64::from(*size))), "{name}: {sizes:?}");
        // The lines of the usual placement.
        let lines = found["lines"][found["usual"].as_str().unwrap()].as_array().unwrap().iter();
        let labels: Vec<&str> = lines.map(|line| line[1].as_str().unwrap()).collect();
        assert_eq!(labels, machine.lines, "{name}");
        // Sentences: the first of each question about places is at the top, the others are with their tables. None is cut.
        let answers = found["answers"]["certain"].as_array().unwrap().iter();
        let top: Vec<&str> = answers.map(|answer| answer["text"].as_str().unwrap()).collect();
        let cards = found["decisions"].as_array().unwrap().iter();
        let cards = cards.flat_map(|one| one["claim"].as_array().unwrap()).filter_map(Value::as_str);
        let said = top.iter().copied().chain(cards).collect::<Vec<_>>().join(" ");
        assert!(
            machine.lacks.contains(&NO_SMT) || top.iter().any(|text| text.starts_with(SIBLINGS)),
            "{name}: {top:#?}"
        );
        for text in machine.says {
            assert!(said.contains(text), "{name}: no '{text}' in {said}");
        }
        // The parts that the machine lacks, in one line.
        let note = decision(&found, "decide-placement").unwrap()["note"].as_str().unwrap_or_default();
        let untold = note.split_once("says nothing about ").map_or("", |(_, untold)| untold);
        for lacking in [NO_SMT, NO_NUMA] {
            assert_eq!(untold.contains(lacking), machine.lacks.contains(&lacking), "{name}: {note}");
        }
        // The studies.
        let groups = texts(&found["groups"]);
        let has_smt = !machine.lacks.contains(&NO_SMT);
        for group in ["sibling_idle", "sibling_busy", "same_core"] {
            assert_eq!(groups.contains(&group), has_smt, "{name}: {group}");
        }
        assert_eq!(decision(&found, "decide-smt").is_some(), has_smt, "{name}");
        let is_hybrid = machine.synthetic.is_none();
        assert_eq!(decision(&found, "decide-kinds").is_some(), is_hybrid, "{name}");
        for group in ["performance_cores", "efficiency_cores", "mixed_cores"] {
            assert_eq!(groups.contains(&group), is_hybrid, "{name}: {group}");
        }
        let homes = groups.iter().any(|group| group.starts_with("line_on_node"));
        assert_eq!(homes, !machine.lacks.contains(&NO_NUMA), "{name}");
        let levels = decision(&found, "decide-levels").map(|one| texts(&one["charts"][0]["columns"]));
        assert_eq!(levels.unwrap_or_default(), machine.levels, "{name}");
        // Advice says where its threads ran.
        let advice = texts(&found["advice"]).join("; ");
        let expected = machine.advice.map(|on| format!("measured with threads {on}"));
        assert_eq!(advice.contains("measured with threads"), expected.is_some(), "{name}: {advice}");
        assert!(expected.is_none_or(|expected| advice.contains(&expected)), "{name}: {advice}");
    }
}

/// A machine with unequal parts, and what its page must contain.
struct Unequal {
    name: &'static str,
    parts: Vec<Part>,
    memory: &'static [u32],
    kinds: Vec<Vec<u32>>,
    /// Packages, NUMA nodes with CPUs, cores, hardware threads.
    counts: [u64; 4],
    /// The cores and hardware threads of each kind.
    of_kinds: &'static [(u64, u64)],
    lines: &'static [&'static str],
    /// Boxes of packages, of nodes, of caches, and the hardware threads in each picture of cores.
    boxes: [u64; 3],
    strips: &'static [u64],
}

fn range(first: u32, end: u32) -> Vec<u32> {
    (first..end).collect()
}

/// One package without kinds of cores, drawn as one box.
fn plain(name: &'static str, parts: Vec<Part>, counts: [u64; 4]) -> Unequal {
    let (kinds, of_kinds, lines, strips) = (Vec::new(), &[][..], &[][..], &[][..]);
    Unequal { name, parts, memory: &[], kinds, counts, of_kinds, lines, boxes: [1, 0, 1], strips }
}

fn one(cores: u32, siblings: &[u32]) -> Part {
    Part::of(0, 0, 0..cores, siblings)
}

fn unequal_machines() -> Vec<Unequal> {
    unequal_parts().into_iter().chain(kinds_of_cores()).collect()
}

fn unequal_parts() -> Vec<Unequal> {
    vec![
        Unequal {
            memory: &[1, 2, 3, 4, 5, 6, 7, 8],
            lines: &["CPUs: 72"],
            strips: &[72],
            ..plain("memory of a GPU", vec![one(72, &[])], [1, 1, 72, 72])
        },
        Unequal {
            memory: &[0],
            lines: &["second socket from 9", "CPUs: 16"],
            boxes: [2, 0, 2],
            strips: &[8, 8],
            ..plain("far memory", vec![Part::of(0, 1, 0..8, &[]), Part::of(1, 2, 8..16, &[])], [2, 2, 16, 16])
        },
        Unequal {
            lines: &["hardware threads from 9", "CPUs: 14"],
            strips: &[12, 2],
            ..plain("siblings offline", vec![one(8, &[8]).without(&[9, 12])], [1, 1, 8, 14])
        },
        Unequal {
            lines: &["second node from 2", "CPUs: 50"],
            boxes: [1, 6, 6],
            strips: &[1, 1, 12, 12, 12, 12],
            ..plain(
                "nodes of one core",
                [0..1, 1..2, 12..24, 24..36, 36..48, 48..60]
                    .into_iter()
                    .zip(0..)
                    .map(|(cores, node)| Part::of(0, node, cores, &[]))
                    .collect(),
                [1, 6, 50, 50],
            )
        },
        Unequal {
            lines: &["second socket from 5", "hardware threads from 13", "CPUs: 24"],
            boxes: [2, 0, 2],
            strips: &[8, 16],
            ..plain("unequal packages", vec![Part::of(0, 0, 0..4, &[12]), Part::of(1, 1, 4..12, &[12])], [2, 2, 12, 24])
        },
        Unequal { lines: &["CPUs: 288"], strips: &[288], ..plain("288 cores", vec![one(288, &[])], [1, 1, 288, 288]) },
        Unequal {
            lines: &["second socket from 65", "hardware threads from 129", "CPUs: 256"],
            boxes: [2, 0, 2],
            strips: &[128, 128],
            ..plain("two of 64", vec![Part::of(0, 0, 0..64, &[128]), Part::of(1, 1, 64..128, &[128])], [2, 2, 128, 256])
        },
        Unequal {
            lines: &["CPUs: 9"],
            boxes: [1, 2, 2],
            strips: &[8, 1],
            ..plain("a node offline", vec![one(8, &[]), Part::of(0, 1, 8..9, &[]).of_an_offline_node()], [1, 1, 9, 9])
        },
    ]
}

fn kinds_of_cores() -> Vec<Unequal> {
    vec![
        Unequal {
            kinds: vec![[range(5, 10), range(15, 20)].concat(), [range(0, 5), range(10, 15)].concat()],
            of_kinds: &[(10, 10), (10, 10)],
            // Without siblings the usual placement is `close`, and its first CPUs are slow ones.
            lines: &["performance cores from 6", "CPUs: 20"],
            boxes: [1, 0, 2],
            strips: &[5, 5, 5, 5],
            ..plain("ten and ten", vec![one(10, &[]), Part::of(0, 0, 10..20, &[])], [1, 1, 20, 20])
        },
        Unequal {
            kinds: vec![[range(0, 8), range(24, 32)].concat(), range(8, 24)],
            of_kinds: &[(8, 16), (16, 16)],
            lines: &["efficiency cores from 9", "hardware threads from 25", "CPUs: 32"],
            strips: &[16, 16],
            ..plain("eight and sixteen", vec![one(24, &[24]).without(&range(32, 48))], [1, 1, 24, 32])
        },
        Unequal {
            kinds: vec![[range(0, 2), range(12, 14)].concat(), range(2, 10), range(10, 12)],
            of_kinds: &[(2, 4), (8, 8), (2, 2)],
            lines: &["efficiency cores from 3", "low-power cores from 11", "hardware threads from 13", "CPUs: 14"],
            boxes: [1, 0, 2],
            strips: &[4, 8, 2],
            ..plain(
                "three kinds",
                vec![one(10, &[12]).without(&range(14, 22)), Part::of(0, 0, 10..12, &[]).without_cache()],
                [1, 1, 12, 14],
            )
        },
        Unequal {
            kinds: vec![[range(0, 4), range(12, 16)].concat(), [range(4, 12), range(16, 24)].concat()],
            of_kinds: &[(4, 8), (8, 16)],
            lines: &["efficiency cores from 5", "hardware threads from 13", "CPUs: 24"],
            boxes: [1, 0, 2],
            strips: &[8, 16],
            ..plain("kinds with siblings", vec![one(4, &[12]), Part::of(0, 0, 4..12, &[12])], [1, 1, 12, 24])
        },
    ]
}

#[test]
fn unequal_machines_are_as_they_are_described() {
    for Unequal { name, parts, memory, kinds, counts, of_kinds, lines, boxes, strips } in unequal_machines() {
        let found = found_in(name, &described::xml(&parts, memory, &kinds, None));
        let cpu = &found["cpu"];
        let numbers = ["packages", "numa_nodes", "cores", "hardware_threads"].map(|count| cpu[count].as_u64().unwrap());
        assert_eq!(numbers, counts, "{name}");
        let recorded: Machine = serde_json::from_value(json!({ "cpu": cpu, "gpus": [], "links": [] })).unwrap();
        assert_eq!(recorded.cpu.memory_nodes, memory, "{name}");
        let recorded: Vec<(u64, u64)> =
            recorded.cpu.core_kinds.iter().map(|kind| (kind.cores.into(), kind.hardware_threads.into())).collect();
        assert_eq!(recorded, of_kinds, "{name}");
        let usual = found["lines"][found["usual"].as_str().unwrap()].as_array().unwrap().iter();
        assert_eq!(usual.map(|line| line[1].as_str().unwrap()).collect::<Vec<_>>(), lines, "{name}");
        assert_eq!((&found["boxes"], &found["strips"]), (&json!(boxes), &json!(strips)), "{name}");
        // Every kind by itself and with every other kind.
        let groups = texts(&found["groups"]);
        let of_cores = groups.iter().filter(|group| group.ends_with("_cores")).collect::<HashSet<_>>();
        let kinds = kinds.len();
        assert_eq!(of_cores.len(), if kinds > 1 { kinds * (kinds + 1) / 2 } else { 0 }, "{name}: {of_cores:?}");
        let has_remote = groups.iter().any(|group| group.starts_with("line_on_node"));
        assert_eq!(has_remote, counts[1] > 1, "{name}");
    }
}

#[test]
fn headlines_name_the_kinds_of_cores() {
    let machines = unequal_machines();
    let machine = machines.iter().find(|machine| machine.name == "three kinds").unwrap();
    let found = found_in(machine.name, &described::xml(&machine.parts, &[], &machine.kinds, None));
    let said = found.to_string();
    for text in [
        "With one thread on a low-power core instead of a performance core, an atomic add takes 2.5 times as long",
        "Two threads on low-power cores instead of performance cores: an atomic add takes 30.0 ns instead of 12.0 ns",
        "With one thread on a low-power core and one on a performance core instead of both on performance cores, an atomic add takes \
         40.0 ns instead of 12.0 ns",
    ] {
        assert!(said.contains(text), "no '{text}' in {said}");
    }
}

#[test]
fn what_a_cpuset_forbids_is_not_allowed() {
    let parts = [Part::of(0, 0, 0..4, &[]), Part::of(1, 1, 4..8, &[])];
    let found = found_in("a part", &described::xml(&parts, &[], &[], Some(&[2, 3, 4])));
    assert_eq!((&found["allowed"], &found["cpu"]["cores"]), (&json!("2-4"), &json!(8)));
    let usual = found["lines"]["close"].as_array().unwrap();
    assert_eq!(usual[0][1], json!("second socket from 3"));
}
