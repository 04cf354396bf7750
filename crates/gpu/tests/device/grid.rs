//! Barriers of a grid and of several devices.

use std::time::{Duration, Instant};

use syncscope_core::{Case, Check, Laboratory, Preset, Refusal, Shot, Side, Verdict};

use super::{cycles, engine, measure, open, short_engine, wide, works};

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_grid_barrier_costs_about_a_microsecond() {
    let mut laboratory = open();
    let mut of = |id| {
        let case = wide(&laboratory, id, 1, 32);
        let measurement = measure(&mut laboratory, &case);
        assert_eq!((&measurement.verdict, &measurement.check), (&Verdict::Resolved, &Check::Ok), "{measurement:?}");
        println!("{case}: {} cycles", cycles(&measurement));
        cycles(&measurement)
    };
    let cooperative = of("gpu.grid.cooperative");
    let own = of("gpu.grid.counter").min(of("gpu.grid.lock_free"));
    assert!((800.0..6000.0).contains(&cooperative), "{cooperative}");
    assert!(own < 0.95 * cooperative, "the better own barrier is faster: {own}, {cooperative}");
}

/// The verification of Zhang, Wahib, Matsuoka, section 3.3, for the barriers they time from the host.
#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn the_hosts_clock_and_the_devices_agree_on_a_grid_barrier() {
    // Long launches, because the cost of a launch varies by some microseconds.
    const FEW: u64 = 100;
    const MANY: u64 = 2500;
    let mut laboratory = open();
    for id in ["gpu.grid.cooperative", "gpu.grid.counter", "gpu.grid.lock_free"] {
        let case = wide(&laboratory, id, 1, 32);
        let mut experiment = laboratory.grid_barrier_by_both_clocks(&case).unwrap_or_else(|error| panic!("{error}"));
        let mut ratio = |pair| {
            let [few, many] = [FEW, MANY].map(|iterations| {
                let shot = Shot { side: Side::Baseline, iterations, pair };
                experiment.by_both_clocks(shot).unwrap_or_else(|error| panic!("{case}: {error}"))
            });
            let cycles = (many.device_cycles.0 - few.device_cycles.0) as f64;
            (many.host_ns as f64 - few.host_ns as f64) / (cycles * many.ns_per_cycle.unwrap())
        };
        let mut ratios: Vec<f64> = (0..41).map(&mut ratio).collect();
        ratios.sort_by(f64::total_cmp);
        println!("{case}: the host's time is {} of the device's", ratios[20]);
        assert!((ratios[20] - 1.0).abs() < 0.02, "{case}: {ratios:?}");
    }
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_barrier_that_misses_a_block_times_out_and_the_next_one_works() {
    let mut laboratory = open();
    for id in ["gpu.grid.cooperative", "gpu.grid.counter", "gpu.grid.lock_free"] {
        let case = wide(&laboratory, id, 1, 32);
        let started = Instant::now();
        let limit = Duration::from_millis(50);
        let mut experiment = laboratory.without_last_block(&case, limit).unwrap_or_else(|error| panic!("{error}"));
        let measurement = engine().measure(experiment.as_mut(), 1).unwrap();
        drop(experiment);
        let Verdict::TimedOut(reason) = &measurement.verdict else { panic!("{case}: {}", measurement.verdict) };
        assert!(reason.contains("50ms"), "{reason}");
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        let measurement = measure(&mut laboratory, &case);
        assert_eq!((&measurement.verdict, &measurement.check), (&Verdict::Resolved, &Check::Ok), "{measurement:?}");
        works(&mut laboratory);
    }
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_grid_that_does_not_fit_is_skipped_with_the_numbers() {
    let mut laboratory = open();
    let machine = laboratory.machine().remove(0);
    let mut case = wide(&laboratory, "gpu.grid.counter", 1, 1024);
    let asked = machine.multiprocessors * (machine.max_threads_per_multiprocessor / 1024 + 1);
    case.blocks = Some(asked);
    let Err(Refusal::Skipped(reason)) = laboratory.experiment(&case).map(drop) else { panic!("{case} was set up") };
    assert!(
        reason.starts_with("resident maximum ") && reason.ends_with(&format!(" blocks, asked {asked}")),
        "{reason}"
    );
    case.devices = Some(99);
    let Err(Refusal::Skipped(reason)) = laboratory.experiment(&case).map(drop) else { panic!("{case} was set up") };
    assert!(reason.starts_with("asked 99 devices, there "), "{reason}");
}

#[test]
#[ignore = "needs CUDA devices: make test-gpu"]
fn a_barrier_of_all_devices_is_checked_on_every_number_of_devices() {
    let mut laboratory = open();
    let devices = u32::try_from(laboratory.machine().len()).unwrap();
    let chosen = |case: &Case| case.primitive.starts_with("gpu.multi.") && case.threads == Some(32);
    let cases: Vec<Case> = laboratory.plan(Preset::Standard).into_iter().filter(chosen).collect();
    assert!(cases.iter().any(|case| case.devices == Some(devices)));
    for case in cases {
        let measurement = match laboratory.experiment(&case) {
            Ok(mut experiment) => short_engine().measure(experiment.as_mut(), 1).unwrap(),
            Err(Refusal::Skipped(reason)) => {
                println!("{case}: {reason}");
                continue;
            }
            Err(refusal) => panic!("{case}: {refusal}"),
        };
        assert_eq!(measurement.check, Check::Ok, "{case}: {}", measurement.verdict);
        assert!(!measurement.verdict.is_failure(), "{case}: {}", measurement.verdict);
    }
    println!("{:#?}", laboratory.links());
}
