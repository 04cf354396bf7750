//! Launches, and cases in which host and device work together.

use std::time::{Duration, Instant};

use syncscope_core::{Case, Check, Group, Laboratory, Preset, Refusal, Verdict};
use syncscope_gpu::GpuLaboratory;

use super::{detail, engine, measure, ns, on_grid, open, planned, short_engine, works};

/// The case of the standard plan with this primitive, group and shape.
fn with_host(laboratory: &GpuLaboratory, id: &str, group: &Group, blocks: u32, threads: u32) -> Case {
    planned(laboratory, |case| on_grid(case, id, blocks, threads) && case.group.as_ref() == Some(group))
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn launches_are_barriers_and_waiting_for_each_costs_more() {
    let mut laboratory = open();
    let mut of = |id: &str, group: &Group| {
        let case = with_host(&laboratory, id, group, 1, 32);
        let measurement = measure(&mut laboratory, &case);
        assert_eq!(measurement.check, Check::Ok, "{case}");
        assert!(!measurement.verdict.is_failure(), "{case}: {}", measurement.verdict);
        println!("{case}: {} ns, {}", ns(&measurement), measurement.verdict);
        ns(&measurement)
    };
    let [stream, graph, waited] =
        ["gpu.launch.stream", "gpu.launch.graph", "gpu.launch.stream_sync"].map(|id| of(id, &Group::named("empty")));
    assert!((200.0..20_000.0).contains(&stream), "a launch takes microseconds: {stream}");
    assert!(graph < stream, "a graph is launched once: {graph}, {stream}");
    assert!(waited > 1.5 * stream, "there and back: {waited}, {stream}");
    let [cooperative, event] =
        ["gpu.launch.cooperative", "gpu.launch.event_sync"].map(|id| of(id, &Group::named("empty")));
    assert!(cooperative > 200.0 && event > stream);
    let hidden = of("gpu.launch.stream", &Group::of_word("5 us"));
    assert!(hidden < 5000.0, "a kernel's own length is not its launch's: {hidden}");
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_chain_of_full_grids_is_a_chain_of_barriers() {
    let mut laboratory = open();
    let multiprocessors = laboratory.machine()[0].multiprocessors;
    for id in ["stream", "cooperative", "graph", "stream_sync", "event_sync"] {
        let case = with_host(&laboratory, &format!("gpu.launch.{id}"), &Group::named("empty"), multiprocessors, 1024);
        let mut experiment = laboratory.experiment(&case).unwrap();
        assert_eq!(experiment.check(), Check::Ok, "{case}");
    }
    let too_many = Case {
        blocks: Some(100 * multiprocessors),
        ..with_host(&laboratory, "gpu.launch.cooperative", &Group::named("empty"), 1, 32)
    };
    let Err(Refusal::Skipped(reason)) = laboratory.experiment(&too_many).map(drop) else { panic!("{too_many}") };
    assert!(reason.contains("cannot run at the same time"), "{reason}");
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn the_clocks_of_both_sides_agree_on_a_round_trip() {
    let mut laboratory = open();
    let case = with_host(&laboratory, "hybrid.flag.round_trip", &Group::named("near"), 1, 1);
    let measurement = measure(&mut laboratory, &case);
    assert_eq!(measurement.check, Check::Ok, "{case}");
    println!("{case}: {} ns, {:?}", ns(&measurement), measurement.details);
    assert!((300.0..20_000.0).contains(&ns(&measurement)), "{}", ns(&measurement));
    let [device, host] = ["device_clock_ns", "host_clock_ns"].map(|name| detail(&measurement, name));
    assert!((host / device - 1.0).abs() < 0.02, "{host} and {device}");
    assert!((device / ns(&measurement) - 1.0).abs() < 0.1, "{device} and {}", ns(&measurement));
    assert!(detail(&measurement, "p50_ns") <= detail(&measurement, "p99_ns"));
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_cpu_thread_that_does_not_answer_is_given_up() {
    let mut laboratory = open();
    let case = with_host(&laboratory, "hybrid.flag.round_trip", &Group::named("near"), 1, 1);
    let started = Instant::now();
    let mut experiment = laboratory.silent_round_trip(&case, Duration::from_millis(300)).unwrap();
    let measurement = engine().measure(experiment.as_mut(), 1).unwrap();
    assert!(matches!(measurement.verdict, Verdict::TimedOut(_)), "{}", measurement.verdict);
    drop(experiment);
    assert!(started.elapsed() < Duration::from_secs(10));
    works(&mut laboratory);
    assert_eq!(measure(&mut laboratory, &case).check, Check::Ok);
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn additions_of_one_side_are_never_lost() {
    let mut laboratory = open();
    let alone: Vec<Case> = laboratory
        .plan(Preset::Standard)
        .into_iter()
        .filter(|case| case.primitive == "hybrid.atomic.add")
        .filter(|case| !case.in_group("both"))
        .collect();
    assert!(!alone.is_empty());
    for case in alone {
        let mut experiment = laboratory.experiment(&case).unwrap_or_else(|error| panic!("{case}: {error}"));
        let measurement = short_engine().measure(experiment.as_mut(), 1).unwrap();
        assert_eq!(measurement.check, Check::Ok, "{case}");
    }
}
