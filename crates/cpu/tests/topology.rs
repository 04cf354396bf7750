//! What hwloc says becomes the right topology, for machines that are not here. hwloc takes a description from its
//! environment, so each machine is looked at in a process of its own: this very test program.

#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]

use std::process::Command;

use syncscope_core::{Case, Laboratory, Placement, Preset, Refusal};
use syncscope_cpu::placement::place;
use syncscope_cpu::{CpuLaboratory, Topology};

#[test]
#[ignore = "started by the other tests of this file, in a process of its own"]
#[allow(clippy::print_stdout, reason = "its output is read by the process that started it")]
fn print_topology() {
    match CpuLaboratory::open() {
        Ok(laboratory) => println!("TOPOLOGY {}", serde_json::to_string(laboratory.topology()).unwrap()),
        Err(error) => println!("ERROR {error}"),
    }
}

fn look_at(description: &str) -> Result<Topology, String> {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "print_topology"])
        .env("HWLOC_SYNTHETIC", description)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    match text.split_once("TOPOLOGY ") {
        Some((_, json)) => Ok(serde_json::from_str(json.lines().next().unwrap()).unwrap()),
        None => Err(text),
    }
}

fn cpus(topology: &Topology, placement: &Placement, threads: u32) -> Vec<u32> {
    place(topology, placement, threads).unwrap().cpus.into_iter().flatten().collect()
}

#[test]
fn two_packages_with_smt() {
    let topology = look_at("pack:2 [numa] l3:1 l2:4 core:1 pu:2").unwrap();
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
    let topology = look_at("pack:1 [numa] l3:4 core:2 pu:1").unwrap();
    assert_eq!((topology.numa_nodes.len(), topology.cores()), (1, 8));
    assert_eq!(
        topology.cache_summary().iter().map(|cache| (cache.count, cache.shared_by)).collect::<Vec<_>>(),
        [(4, 2)]
    );
    assert_eq!(cpus(&topology, &Placement::Spread, 4), [0, 2, 4, 6]);
}

#[test]
fn four_numa_nodes_in_one_package() {
    let topology = look_at("pack:1 numa:4 core:2 pu:1").unwrap();
    assert_eq!((topology.packages(), topology.numa_nodes.len()), (1, 4));
    assert!(topology.threads.iter().all(|thread| thread.numa_node == thread.os / 2));
    assert!(topology.threads.iter().all(|thread| thread.last_level_cache.is_none()));
    assert_eq!(cpus(&topology, &Placement::Spread, 4), [0, 2, 4, 6]);
}

#[test]
fn the_system_numbers_siblings_as_it_likes() {
    let topology = look_at("pack:1 core:2 pu:2(indexes=0,2,1,3)").unwrap();
    assert_eq!(
        topology.threads.iter().map(|thread| (thread.os, thread.core)).collect::<Vec<_>>(),
        [(0, 0), (2, 0), (1, 1), (3, 1)]
    );
}

#[test]
fn a_single_hardware_thread() {
    let topology = look_at("pu:1").unwrap();
    assert_eq!((topology.packages(), topology.cores(), topology.threads.len()), (1, 1, 1));
    assert!(topology.to_string().contains("not this machine"));
}

#[test]
fn this_machine_is_this_machine() {
    let laboratory = CpuLaboratory::open().unwrap();
    assert!(laboratory.topology().this_system || std::env::var_os("HWLOC_SYNTHETIC").is_some());
    assert!(laboratory.machine().hardware_threads >= laboratory.topology().allowed().count() as u32);
}

#[test]
fn only_allowed_cpus_are_used() {
    std::thread::spawn(|| {
        let first = core_affinity::get_core_ids().unwrap()[0];
        assert!(core_affinity::set_for_current(first));
        let mut laboratory = CpuLaboratory::open().unwrap();
        assert_eq!(laboratory.topology().allowed_cpus(), [first.id as u32]);
        // Hand-offs need two threads, which share the CPU then; pairs of CPUs there are none.
        let alone = |case: &Case| case.threads == Some(1) || case.primitive.starts_with("cpu.handoff.");
        for case in laboratory.plan(Preset::Standard).iter().filter(|case| !alone(case)) {
            assert!(
                matches!(laboratory.experiment(case), Err(Refusal::Skipped(reason)) if reason.contains("may use")),
                "{case}"
            );
        }
        let elsewhere = Case {
            placement: Some(Placement::List(vec![first.id as u32 + 1])),
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
