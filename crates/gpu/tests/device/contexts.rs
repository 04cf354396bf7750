//! Contexts that are given up, break and are made again, and missing devices.

use std::time::{Duration, Instant};

use syncscope_core::{BlockCount, Case, Check, Laboratory, Measurement, Refusal, Verdict};
use syncscope_gpu::{Fault, GpuError, GpuLaboratory, NvrtcError};

use super::{engine, measure, on_grid, open, planned, wide, works};

/// One block in each of three passes. Each pass has a new context, and all figures are of the same thing.
#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_case_goes_on_in_the_contexts_of_later_passes() {
    let mut laboratory = open();
    let blocks = BlockCount { min: 3, max: 3 };
    let mut engine = engine();
    engine.settings.blocks = blocks;
    let wanted = [
        ("gpu.block.syncthreads", 1),
        ("gpu.atomic.add", 2),
        ("gpu.lock.ticket", 1),
        ("gpu.grid.counter", 1),
        ("gpu.launch.stream", 1),
    ];
    let cases = wanted.map(|(id, at_least)| {
        planned(&laboratory, |case| case.primitive == id && case.blocks.is_some_and(|blocks| blocks >= at_least))
    });
    let mut found: Vec<Option<Measurement>> = vec![None; cases.len()];
    for pass in 0..blocks.max {
        let started = Instant::now();
        laboratory.begin_pass(pass);
        let destroyed = started.elapsed();
        for (case, found) in cases.iter().zip(&mut found) {
            let started = Instant::now();
            let mut experiment = laboratory.experiment(case).unwrap_or_else(|error| panic!("{case}: {error}"));
            println!("pass {pass}, {case}: {destroyed:?} to give up, {:?} to set up", started.elapsed());
            *found = Some(engine.measure_block(experiment.as_mut(), found.take(), 1).unwrap());
        }
    }
    for (case, measurement) in cases.iter().zip(found) {
        let measurement = measurement.unwrap();
        assert_eq!((measurement.blocks, &measurement.check), (blocks.max, &Check::Ok), "{case}");
        assert!(!measurement.verdict.is_failure(), "{case}: {}", measurement.verdict);
        let of_block = |block| {
            let mut all: Vec<f64> = Vec::new();
            all.extend(measurement.observations.iter().filter(|pair| pair.block == block).map(|pair| pair.ns));
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        };
        let medians = [1, 2, 3].map(of_block);
        println!("{case}: {medians:?} ns in the three blocks");
        let (low, high) = medians.iter().fold((f64::MAX, f64::MIN), |(low, high), ns| (low.min(*ns), high.max(*ns)));
        assert!(high < 1.5 * low, "{case}: {medians:?}");
    }
}

#[test]
#[ignore = "needs a CUDA device with clusters: make test-gpu"]
fn a_cluster_is_measured_after_a_grid_and_after_a_cluster() {
    // The two cases use different contexts of one device.
    let mut laboratory = open();
    let cluster = planned(&laboratory, |case| case.primitive == "gpu.cluster.sync" && case.threads == Some(32));
    let limits = wide(&laboratory, "gpu.grid.counter", 1, 32);
    for case in [&cluster, &limits, &cluster, &limits] {
        let measurement = measure(&mut laboratory, case);
        assert_eq!((&measurement.verdict, &measurement.check), (&Verdict::Resolved, &Check::Ok), "{case}");
    }
}

const CHILD: &str = "SYNCSCOPE_TEST_CHILD";

fn in_a_process_of_its_own(test: &str) {
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", test])
        .env(CHILD, "1")
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_kernel_that_hangs_is_stopped_and_later_cases_go_on() {
    let mut laboratory = open();
    let started = Instant::now();
    let mut experiment = laboratory.faulty(Fault::Hang, Duration::from_millis(300)).unwrap();
    let measurement = engine().measure(experiment.as_mut(), 1).unwrap();
    assert!(matches!(measurement.verdict, Verdict::TimedOut(_)), "{}", measurement.verdict);
    drop(experiment);
    assert!(started.elapsed() < Duration::from_secs(10));
    works(&mut laboratory);
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_kernel_that_breaks_its_context_fails_and_nothing_hangs() {
    // Such an error stays in the process: the driver returns it from every later call.
    if std::env::var_os(CHILD).is_none() {
        return in_a_process_of_its_own("contexts::a_kernel_that_breaks_its_context_fails_and_nothing_hangs");
    }
    let mut laboratory = open();
    let mut experiment = laboratory.faulty(Fault::Trap, Duration::from_secs(5)).unwrap();
    let measurement = engine().measure(experiment.as_mut(), 1).unwrap();
    let Verdict::Failed(reason) = &measurement.verdict else { panic!("{}", measurement.verdict) };
    assert!(reason.contains("CUDA_ERROR"), "{reason}");
    drop(experiment);
    let case = planned(&laboratory, |case| on_grid(case, "gpu.block.syncthreads", 1, 32));
    let again = laboratory.experiment(&case).map(drop);
    match again {
        Ok(()) => works(&mut laboratory),
        Err(Refusal::Lost(reason)) => assert!(reason.contains("CUDA_ERROR"), "{reason}"),
        Err(other) => panic!("{other}"),
    }
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_missing_device_is_named() {
    let error = GpuLaboratory::open(Some(&[99]), &[], syncscope_core::OwnCode::default()).unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("there is no device 99; there "), "{error}");
    assert!(!matches!(error, GpuError::Nvrtc(NvrtcError::NotFound)));
    let mut laboratory = open();
    let mut case = planned(&laboratory, |case| on_grid(case, "gpu.block.syncthreads", 1, 32));
    case.threads = Some(2048);
    assert!(matches!(laboratory.experiment(&case), Err(Refusal::Skipped(_))));
    assert!(matches!(laboratory.experiment(&Case::new("gpu.block.none")), Err(Refusal::Skipped(_))));
}
