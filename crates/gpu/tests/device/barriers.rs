//! Wide barriers in all their orders and designs, and launches that depend on another launch. The figures are printed, not
//! tested.

use std::time::{Duration, Instant};

use syncscope_core::{Case, Check, Group, Laboratory, MemoryOrder, Preset, Refusal, Verdict};
use syncscope_gpu::GpuLaboratory;

use super::{engine, measure, open, planned, short_engine, works};

/// The results of some cases.
struct Outcome {
    /// Cases whose check or verdict is bad.
    wrong: Vec<String>,
    /// Costs and verdicts of the measured cases.
    measured: Vec<String>,
    /// The other cases, each with the reason.
    skipped: Vec<String>,
}

impl Outcome {
    fn is_good(&self) -> bool {
        self.wrong.is_empty()
    }

    fn text(&self) -> String {
        let Self { wrong, measured, skipped } = self;
        format!("{}\n{}\n{} wrong:\n{}", skipped.join("\n"), measured.join("\n"), wrong.len(), wrong.join("\n"))
    }
}

/// Measures the cases of a plan that are `wanted`.
fn outcome(laboratory: &mut GpuLaboratory, preset: Preset, wanted: impl Fn(&Case) -> bool) -> Outcome {
    let cases: Vec<Case> = laboratory.plan(preset).into_iter().filter(wanted).collect();
    laboratory.prepare(&cases, &mut |_, _| {});
    let mut outcome = Outcome { wrong: Vec::new(), measured: Vec::new(), skipped: Vec::new() };
    for case in cases {
        let measurement = match laboratory.experiment(&case) {
            Ok(mut experiment) => short_engine().measure(experiment.as_mut(), 1).unwrap(),
            Err(Refusal::Skipped(reason)) => {
                outcome.skipped.push(format!("{case}: {reason}"));
                continue;
            }
            Err(refusal) => panic!("{case}: {refusal}"),
        };
        let cost = measurement.estimate.as_ref().map(|estimate| (estimate.ns, estimate.cycles));
        outcome.measured.push(format!("{case}: {cost:?}, {}", measurement.verdict));
        if measurement.check != Check::Ok || measurement.verdict.is_failure() {
            outcome.wrong.push(format!("{case}: {:?}, {}", measurement.check, measurement.verdict));
        }
    }
    outcome
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn at_relaxed_barriers_all_arrive() {
    let mut laboratory = open();
    let families = ["cluster", "grid", "multi"];
    let is_relaxed =
        |case: &Case| case.order == Some(MemoryOrder::Relaxed) && families.contains(&case.domain_and_family().1);
    let outcome = outcome(&mut laboratory, Preset::Standard, is_relaxed);
    println!("{}", outcome.text());
    assert!(outcome.is_good(), "{}", outcome.text());
    assert!(!outcome.measured.is_empty());
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn every_design_of_a_wide_barrier_orders_memory() {
    let mut laboratory = open();
    let is_design = |case: &Case| {
        let is_variant = case.in_group("near_flags") || case.in_group("direct");
        case.order.is_none()
            && (case.primitive == "gpu.grid.hierarchical" || (case.primitive == "gpu.multi.flags" && is_variant))
    };
    let outcome = outcome(&mut laboratory, Preset::Paper, is_design);
    println!("{}", outcome.text());
    assert!(outcome.is_good(), "{}", outcome.text());
    assert!(!outcome.measured.is_empty(), "the variants of the flags need no newer device");
}

/// The choice of counters, the polls and the pause end even if a block never arrives.
#[test]
#[ignore = "needs a CUDA device of compute capability 9.0: make test-gpu"]
fn a_design_that_misses_a_block_times_out_and_the_next_case_works() {
    let mut laboratory = open();
    for group in [Group::named("paused_acquire"), Group::named("near_counters"), Group::named("spread")] {
        let wanted = |case: &Case| {
            let is_small = case.threads == Some(32) && case.order.is_none();
            case.primitive == "gpu.grid.hierarchical" && case.group.as_ref() == Some(&group) && is_small
        };
        let case = planned(&laboratory, wanted);
        let started = Instant::now();
        let mut experiment = match laboratory.without_last_block(&case, Duration::from_millis(50)) {
            Ok(experiment) => experiment,
            Err(Refusal::Skipped(reason)) => {
                println!("{case}: {reason}");
                continue;
            }
            Err(refusal) => panic!("{case}: {refusal}"),
        };
        let measurement = engine().measure(experiment.as_mut(), 1).unwrap();
        drop(experiment);
        let Verdict::TimedOut(reason) = &measurement.verdict else { panic!("{case}: {}", measurement.verdict) };
        assert!(reason.contains("50ms"), "{reason}");
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        assert_eq!(measure(&mut laboratory, &case).check, Check::Ok, "{case}");
        works(&mut laboratory);
    }
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn dependent_launches_are_barriers() {
    let mut laboratory = open();
    let is_dependent = |case: &Case| {
        let is_one = ["wait_value", "event_wait", "grid_sync"].iter().any(|name| case.primitive.ends_with(name));
        let lengths = ["empty", "5 us", "100 us", "5 us line", "5 us sweep"];
        let is_of_length = case.group.as_ref().is_some_and(|group| lengths.contains(&group.to_string().as_str()));
        is_of_length && (is_one || case.primitive.starts_with("gpu.launch.programmatic"))
    };
    let outcome = outcome(&mut laboratory, Preset::Standard, is_dependent);
    println!("{}", outcome.text());
    assert!(outcome.is_good(), "{}", outcome.text());
    assert!(!outcome.measured.is_empty());
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn barrier_objects_and_handovers_work_on_every_grid() {
    let mut laboratory = open();
    let wanted = |case: &Case| {
        ["gpu.cluster.mbarrier_remote", "gpu.block.mbarrier_transaction"].contains(&case.primitive.as_str())
            || case.in_group("producer_consumer")
    };
    let outcome = outcome(&mut laboratory, Preset::Standard, wanted);
    println!("{}", outcome.text());
    assert!(outcome.is_good(), "{}", outcome.text());
    assert!(!outcome.measured.is_empty());
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn loops_of_a_graph_run_as_often_as_they_should() {
    let mut laboratory = open();
    let is_loop = |case: &Case| {
        ["gpu.launch.conditional", "gpu.launch.device_graph"].contains(&case.primitive.as_str())
            && [Group::named("empty"), Group::of_word("5 us"), Group::of_word("100 us")].map(Some).contains(&case.group)
    };
    // The check counts the turns; a driver without conditional nodes skips them.
    let outcome = outcome(&mut laboratory, Preset::Standard, is_loop);
    println!("{}", outcome.text());
    assert!(outcome.is_good(), "{}", outcome.text());
    assert!(!outcome.measured.is_empty());
}
