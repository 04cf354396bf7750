//! Topologies of other machines. hwloc reads a description of a machine from its environment, so each one is loaded in
//! a process of its own: this test program, started again.

#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]

use std::collections::{BTreeMap, HashSet};
use std::process::Command;
use std::sync::Mutex;

use syncscope_core::{Case, Group, Laboratory, Placement, Preset, Refusal};
use syncscope_cpu::{CpuLaboratory, Topology};
use syncscope_host::{cpu_list, scheduling};
use syncscope_machine::nearness;
use syncscope_machine::placement::place;

#[test]
#[ignore = "started by the other tests of this file, in a process of its own"]
#[allow(clippy::print_stdout, reason = "its output is read by the process that started it")]
fn print_topology() {
    match CpuLaboratory::open() {
        Ok(laboratory) => {
            println!("TOPOLOGY {}", serde_json::to_string(laboratory.topology()).unwrap());
            let plan = laboratory.plan(Preset::Standard);
            let group = |case: &Case| case.group.as_ref().map(Group::to_string).unwrap_or_default();
            let groups: Vec<String> = plan.iter().map(group).collect();
            let team =
                |case: &Case| Some((case.primitive.clone(), case.placement.as_ref()?.to_string(), case.threads?));
            let teams: Vec<_> = plan.iter().filter(|case| case.group.is_none()).filter_map(team).collect();
            println!("TEAMS {}", serde_json::to_string(&teams).unwrap());
            println!("PLAN {}", serde_json::to_string(&groups).unwrap());
        }
        Err(error) => println!("ERROR {error}"),
    }
}

/// What the process prints about the machine `description` after `label`.
fn ask(description: &str, label: &str) -> Result<String, String> {
    // Planning for a thousand CPUs takes a while.
    static SAID: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    let mut said = SAID.lock().unwrap();
    let text = said.entry(description.to_owned()).or_insert_with(|| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "--nocapture", "print_topology"]).env("HWLOC_SYNTHETIC", description);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    });
    match text.split_once(label) {
        Some((_, json)) => Ok(json.lines().next().unwrap().to_owned()),
        None => Err(text.clone()),
    }
}

fn topology_of(description: &str) -> Result<Topology, String> {
    Ok(serde_json::from_str(&ask(description, "TOPOLOGY ")?).unwrap())
}

/// The column `group` of all cases planned there.
fn plan_of(description: &str) -> Vec<String> {
    serde_json::from_str(&ask(description, "PLAN ").unwrap()).unwrap()
}

/// The sizes of the teams of a primitive there, for a placement.
fn sizes_of(description: &str, primitive: &str, placement: &str) -> Vec<u32> {
    let teams: Vec<(String, String, u32)> = serde_json::from_str(&ask(description, "TEAMS ").unwrap()).unwrap();
    let of = |team: &&(String, String, u32)| team.0 == primitive && team.1 == placement;
    let mut sizes: Vec<u32> = teams.iter().filter(of).map(|team| team.2).collect();
    sizes.dedup();
    sizes
}

fn cpus(topology: &Topology, placement: &Placement, threads: u32) -> Vec<u32> {
    place(topology, placement, threads).unwrap().cpus.into_iter().flatten().collect()
}

#[test]
fn two_packages_with_smt() {
    let topology = topology_of("pack:2 [numa] l3:1 l2:4 core:1 pu:2").unwrap();
    assert!(!topology.this_system);
    assert_eq!(
        (topology.packages(), topology.numa_nodes.len(), topology.cores(), topology.threads.len()),
        (2, 2, 8, 16)
    );
    assert!(topology.has_smt());
    assert_eq!(topology.numa_nodes[1].cpus, [8, 9, 10, 11, 12, 13, 14, 15]);
    assert_eq!(topology.caches.iter().map(|cache| (cache.level, cache.cpus.len())).max(), Some((3, 8)));
    assert_eq!(cpus(&topology, &Placement::Close, 4), [0, 1, 2, 3]);
    assert_eq!(cpus(&topology, &Placement::Spread, 4), [0, 2, 8, 10]);
}

#[test]
fn caches_smaller_than_a_numa_node() {
    let topology = topology_of("pack:1 [numa] l3:4 core:2 pu:1").unwrap();
    assert_eq!((topology.numa_nodes.len(), topology.cores()), (1, 8));
    assert_eq!(
        topology.cache_summary().iter().map(|cache| (cache.count, cache.shared_by)).collect::<Vec<_>>(),
        [(4, 2)]
    );
    assert_eq!(cpus(&topology, &Placement::Spread, 4), [0, 2, 4, 6]);
}

#[test]
fn four_numa_nodes_in_one_package() {
    let topology = topology_of("pack:1 numa:4 core:2 pu:1").unwrap();
    assert_eq!((topology.packages(), topology.numa_nodes.len()), (1, 4));
    assert!(topology.threads.iter().all(|thread| thread.numa_node == Some(thread.os / 2)));
    assert!(topology.threads.iter().all(|thread| thread.last_level_cache.is_none()));
    assert_eq!(cpus(&topology, &Placement::Spread, 4), [0, 2, 4, 6]);
}

#[test]
fn a_thousand_hardware_threads() {
    let topology = topology_of("pack:2 [numa] group:4 l3:4 l2:16 l1d:1 core:1 pu:2").unwrap();
    assert_eq!((topology.threads.len(), topology.cores(), topology.packages()), (1024, 512, 2));
    assert_eq!(topology.threads.iter().map(|thread| thread.last_level_cache).collect::<HashSet<_>>().len(), 32);
    let spread = cpus(&topology, &Placement::Spread, 32);
    let caches: HashSet<_> = topology
        .threads
        .iter()
        .filter(|thread| spread.contains(&thread.os))
        .map(|thread| thread.last_level_cache)
        .collect();
    assert_eq!(caches.len(), 32, "one thread in each cache");
}

#[test]
fn two_packages_of_four_nodes_with_smt() {
    let topology = topology_of("pack:2 numa:4 l3:2 l2:4 core:1 pu:2").unwrap();
    assert_eq!(
        (topology.packages(), topology.numa_nodes.len(), topology.cores(), topology.threads.len()),
        (2, 8, 64, 128)
    );
    let classes: Vec<_> = nearness::classes(&topology).into_iter().map(|(class, pair)| (class.group(), pair)).collect();
    assert_eq!(
        classes,
        [
            (Group::named("same_core"), [0, 1]),
            (Group::named("same_l3"), [0, 2]),
            (Group::named("same_node"), [0, 8]),
            (Group::named("same_package"), [0, 16]),
            (Group::named("across"), [0, 64])
        ]
    );
    let planned = plan_of("pack:2 numa:4 l3:2 l2:4 core:1 pu:2");
    let count = |wanted: &str| planned.iter().filter(|group| group.as_str() == wanted).count();
    // On each of eight nodes an addition and a hand-off, by a pair of each node and by the pair that is farthest apart.
    assert!((0..8).all(|node| count(&format!("line_on_node {node}")) == 2 * 9));
    let siblings = if cfg!(target_arch = "x86_64") { 5 } else { 8 };
    assert_eq!((count("line_on_node"), count("sibling_idle"), count("sibling_busy")), (0, siblings, siblings));
}

/// Most cases of the standard preset. On AArch64 relaxed and ordered atomic operations differ.
const MOST: usize = if cfg!(target_arch = "x86_64") { 7_000 } else { 10_500 };

#[test]
fn three_hundred_cpus_on_an_odd_machine() {
    // Three packages of 25 cores with four hardware threads each.
    let description = "pack:3 [numa] l3:5 core:5 pu:4";
    assert_eq!(topology_of(description).unwrap().threads.len(), 300);
    let planned = plan_of(description);
    let of_class = |class: &str| planned.iter().filter(|group| group.as_str() == class).count();
    for class in ["same_core", "same_l3", "same_node", "across"] {
        assert!(of_class(class) >= 100, "{class}: {}", of_class(class));
    }
    assert!(planned.len() < MOST, "{}", planned.len());
}

/// Packages of 64 cores with two hardware threads each, eight cores on a cache: locks and barriers are measured where a team
/// fills a core, a cache, one package and all.
#[test]
fn locks_and_barriers_are_planned_by_class_on_large_machines() {
    for (description, packages) in
        [("pack:2 [numa] l3:8 l2:8 core:1 pu:2", 2_u32), ("pack:8 [numa] l3:8 l2:8 core:1 pu:2", 8)]
    {
        let most = packages * 128;
        assert_eq!(topology_of(description).unwrap().threads.len(), most as usize);
        assert!((1_000..MOST).contains(&plan_of(description).len()), "{}", plan_of(description).len());
        // The cohort lock needs groups of CPUs, which the nodes are.
        for primitive in ["cpu.lock.ticket", "cpu.lock.mcs", "cpu.lock.clh", "cpu.lock.cohort", "cpu.barrier.tree"] {
            let cores = sizes_of(description, primitive, "cores");
            let across = (1..=packages.ilog2()).map(|power| 128 << power);
            let expected = [1, 2, 16, 128].into_iter().chain(across);
            assert!({ expected }.all(|size| cores.contains(&size)), "{primitive}: {cores:?}");
            assert!(cores.contains(&64) && cores.last() == Some(&most), "{primitive}: {cores:?}");
            // Where the plan would take too long, large teams have the usual placement alone.
            let close = sizes_of(description, primitive, "close");
            assert!([2, 16].iter().all(|size| close.contains(size)), "{primitive}: {close:?}");
            let spread = sizes_of(description, primitive, "spread");
            assert!([2, 16].iter().all(|size| spread.contains(size)), "{primitive}: {spread:?}");
        }
        assert_eq!(sizes_of(description, "cpu.process.futex_lock", "cores"), [2, 4, 8, 16]);
    }
}

#[test]
fn siblings_may_have_any_numbers() {
    let topology = topology_of("pack:1 core:2 pu:2(indexes=0,2,1,3)").unwrap();
    assert_eq!(
        topology.threads.iter().map(|thread| (thread.os, thread.core)).collect::<Vec<_>>(),
        [(0, 0), (2, 0), (1, 1), (3, 1)]
    );
}

#[test]
fn a_single_hardware_thread() {
    let topology = topology_of("pu:1").unwrap();
    assert_eq!((topology.packages(), topology.cores(), topology.threads.len()), (1, 1, 1));
    assert!(topology.to_string().contains("not this machine"));
}

#[test]
fn this_machine_is_this_machine() {
    if ["HWLOC_SYNTHETIC", "HWLOC_XMLFILE"].iter().any(|name| std::env::var_os(name).is_some()) {
        return;
    }
    let laboratory = CpuLaboratory::open().unwrap();
    let topology = laboratory.topology();
    assert!(topology.this_system);
    assert_eq!(topology.allowed_cpus(), scheduling::allowed_cpus(), "as the scheduler says");
    let mut known: Vec<u32> = topology.threads.iter().map(|thread| thread.os).collect();
    known.sort_unstable();
    // A sandbox may have no /sys.
    if let Ok(online) = std::fs::read_to_string("/sys/devices/system/cpu/online") {
        assert_eq!(Some(known), cpu_list::parse(online.trim()), "as the kernel says");
    }
    assert_eq!(laboratory.machine().hardware_threads as usize, topology.threads.len());
}

#[test]
fn only_allowed_cpus_are_used() {
    std::thread::spawn(|| {
        let first = scheduling::allowed_cpus()[0];
        scheduling::bind_to(&[first]).unwrap();
        let mut laboratory = CpuLaboratory::open().unwrap();
        assert_eq!(laboratory.topology().allowed_cpus(), [first]);
        // Hand-offs, waits, wake-ups and processes have two threads, which share the CPU here.
        let shares = |case: &Case| {
            ["cpu.handoff.", "cpu.wait.", "cpu.wake.", "cpu.process."]
                .iter()
                .any(|start| case.primitive.starts_with(start))
        };
        let alone = |case: &Case| case.threads == Some(1) || shares(case);
        for case in laboratory.plan(Preset::Standard).iter().filter(|case| !alone(case)) {
            assert!(
                matches!(laboratory.experiment(case), Err(Refusal::Skipped(reason)) if reason.contains("may use")),
                "{case}"
            );
        }
        let elsewhere = Case {
            placement: Some(Placement::List(vec![first + 1])),
            threads: Some(1),
            ..Case::new("cpu.barrier.std")
        };
        assert!(
            matches!(laboratory.experiment(&elsewhere), Err(Refusal::Skipped(reason)) if reason.contains("may not use"))
        );
    })
    .join()
    .unwrap();
}
