//! `gpu.reduction.*` on a device.

use std::time::Duration;

use syncscope_core::{Case, Check, Laboratory, Preset, Refusal, Shot, Side};
use syncscope_gpu::GpuLaboratory;

use super::{cycles, measure, ns, open};

/// The cases of the paper's plan with this many elements, of variants whose name begins with `start`.
fn of(laboratory: &GpuLaboratory, start: &str, elements: u64) -> Vec<Case> {
    let start = format!("gpu.reduction.{start}");
    let planned = laboratory.plan(Preset::Paper).into_iter();
    planned.filter(|case| case.primitive.starts_with(&start) && case.elements == Some(elements)).collect()
}

/// Whether the device or the headers lack something; fails for any other refusal.
fn is_left_out(case: &Case, refusal: &Refusal) -> bool {
    let Refusal::Skipped(reason) = refusal else { panic!("{case}: {refusal}") };
    ["needs compute capability", "CUB", "access to each other"].iter().any(|text| reason.contains(text))
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn every_reduction_gives_the_known_answer_at_every_size() {
    let mut laboratory = open();
    let planned = of(&laboratory, "", 1 << 10);
    assert!(planned.len() >= 35, "{}", planned.len());
    // Includes numbers that the devices do not divide evenly, and too few elements for every part to have one.
    for case in planned.into_iter().flat_map(|case| [1, 777, 65_537, 1 << 22].map(|elements| (case.clone(), elements)))
    {
        let case = Case { elements: Some(case.1), blocks: None, ..case.0 };
        match laboratory.experiment(&case) {
            Ok(mut experiment) => {
                for (side, iterations) in [(Side::Baseline, 1), (Side::Double, experiment.protocol().max_iterations)] {
                    let sample = experiment.sample(Shot { side, iterations, pair: 0 }).unwrap();
                    assert!(sample.slowest_ns() > 0.0, "{case}");
                }
                assert_eq!(experiment.check(), Check::Ok, "{case}");
            }
            Err(refusal) => assert!(is_left_out(&case, &refusal), "{case}: {refusal}"),
        }
    }
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn chains_behind_a_gate_are_queued_in_time() {
    let mut laboratory = open();
    for elements in [1 << 10, 1 << 16] {
        for case in
            ["atomic_queued", "grid_queued", "kernel_boundary_queued"].map(|name| of(&laboratory, name, elements))
        {
            let measurement = measure(&mut laboratory, &case[0]);
            println!("{}: {} ns, {}", case[0], ns(&measurement), measurement.verdict);
            assert_eq!(measurement.check, Check::Ok, "{}", case[0]);
            assert!((500.0..20_000.0).contains(&ns(&measurement)), "{}", case[0]);
        }
    }
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_large_reduction_is_as_fast_as_memory_and_the_listing_is_bound_by_its_atomics() {
    let mut laboratory = open();
    let [atomic, barrier, every_warp] = ["atomic", "grid_cooperative", "listing_2"].map(|name| {
        let case = of(&laboratory, name, 1 << 26).remove(0);
        ns(&measure(&mut laboratory, &case))
    });
    println!(
        "atomic {atomic:.0} ns, grid barrier {barrier:.0} ns, an atomic operation of every warp {every_warp:.0} ns"
    );
    assert!((barrier - atomic).abs() < 0.2 * atomic, "both read the same vector: {barrier} and {atomic} ns");
    assert!(every_warp > 3.0 * atomic, "{every_warp} and {atomic} ns");
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn an_idle_device_is_warmed_up_once() {
    let mut laboratory = open();
    let case = of(&laboratory, "atomic", 1 << 10).remove(0);
    let mut opened = || {
        let started = std::time::Instant::now();
        drop(laboratory.experiment(&case).unwrap());
        started.elapsed()
    };
    let (first, second) = (opened(), opened());
    assert!(second < Duration::from_millis(100), "{first:?}, then {second:?}");
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn sums_of_a_warp_are_right_and_one_instruction_is_the_fastest() {
    let mut laboratory = open();
    let cases: Vec<Case> = of(&laboratory, "warp_", 32).into_iter().filter(|case| case.threads == Some(32)).collect();
    let mut of_method = Vec::new();
    for case in &cases {
        let measurement = measure(&mut laboratory, case);
        println!("{case}: {} cycles, {}", cycles(&measurement), measurement.verdict);
        assert_eq!(measurement.check, Check::Ok, "{case}");
        of_method.push(cycles(&measurement));
    }
    // On an H200: 520, 419, 145 and 44.
    assert!(of_method.last() < of_method.first() && of_method[0] > 100.0, "{of_method:?}");
}
