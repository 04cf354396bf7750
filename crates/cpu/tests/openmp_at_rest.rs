//! The threads of an OpenMP runtime do not spin while something else is measured. The only test of its process, because
//! it reads the CPU time of the whole process.

#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]

use std::time::Duration;

use syncscope_core::{Case, Group, Laboratory, Placement, Shot, Side};
use syncscope_cpu::CpuLaboratory;

/// The CPU time of all threads of this process, in ticks of the kernel's clock (10 ms on Linux).
fn cpu_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The name, in parentheses, may contain blanks. User and system time are the 14th and 15th field.
    let (_, fields) = stat.rsplit_once(')').unwrap();
    fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<u64>().unwrap()).sum()
}

#[test]
fn a_measured_runtime_does_not_spin_afterwards() {
    let mut laboratory = CpuLaboratory::open().unwrap();
    for runtime in syncscope_cpu::team::openmp::runtimes() {
        for threads in [2, 4, 3] {
            let case = |primitive, group: Option<&str>| Case {
                threads: Some(threads),
                placement: Some(Placement::Close),
                group: group.map(Group::of_word),
                ..Case::new(primitive)
            };
            let shot = Shot { side: Side::Test, iterations: 20, pair: 0 };
            let mut run = |case: &Case| laboratory.experiment(case).unwrap().sample(shot);
            // Where other programs use the CPUs, the threads may not meet in time.
            let (openmp, own) = (case("cpu.barrier.openmp", Some(runtime.name)), case("cpu.barrier.sense", None));
            assert!((0..5).any(|_| run(&openmp).is_ok()), "{} never ran", runtime.name);
            assert!((0..5).any(|_| run(&own).is_ok()));
            let before = cpu_ticks();
            std::thread::sleep(Duration::from_millis(150));
            let spent = cpu_ticks() - before;
            assert!(spent <= 3, "{} used the CPUs for {spent} ticks", runtime.name);
        }
    }
}
