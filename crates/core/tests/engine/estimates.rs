//! Costs, their intervals and verdicts, where the true cost is known.

use syncscope_core::fake::{FakeExperiment, Noise};
use syncscope_core::stopping::PrecisionRule;
use syncscope_core::{Cancel, Case, Engine, Experiment, Limit, Row, Sample, Settings, Side, Ticks, Verdict};

use super::altered::Altered;
use super::{Recorder, measure, settings};

#[test]
fn a_silent_cost_is_found_exactly_and_soon() {
    let measurement = measure(FakeExperiment::new(5.0, 1));
    let estimate = measurement.estimate.unwrap();
    assert_eq!(measurement.verdict, Verdict::Resolved);
    assert!((estimate.ns.value() - 5.0).abs() < 0.001, "{estimate:?}");
    assert!((estimate.cycles.unwrap().value() - 12.5).abs() < 0.005);
    assert!((estimate.fastest_ns.value() - 4.0).abs() < 0.001);
    assert!((estimate.median_ns.value() - 4.5).abs() < 0.001);
    assert_eq!((measurement.pairs, measurement.excluded), (12, 0));
    assert!((measurement.clock.unwrap().value() - 2.5e9).abs() < 1.0);
    // No interval is narrower than a step of the clock.
    let interval = estimate.ns_within.unwrap();
    assert!(interval.half_width() >= 0.0999 / (measurement.iterations * 10) as f64);
}

#[test]
fn what_is_wide_is_noisy_and_what_may_be_nothing_is_below_resolution() {
    let noisy = measure(FakeExperiment::new(5.0, 3).with_noise(Noise::Normal(4_000.0)));
    assert_eq!(noisy.verdict.name(), "Noisy", "{}", noisy.verdict);
    assert!(noisy.verdict.reason().contains('%'));
    let nothing = measure(FakeExperiment::new(0.0, 3));
    assert_eq!(nothing.verdict.name(), "BelowResolution");
    assert!(nothing.verdict.reason().starts_with("at most "), "{}", nothing.verdict);
    assert_eq!(Row::measured(Case::new("cpu.fence.acquire"), None, &nothing).ops_per_s_thread(), None);
}

#[test]
fn a_cost_below_a_limit_of_the_hardware_is_no_figure() {
    let limited = |least_cycles| {
        let limit = Limit { least_cycles, name: "4 instructions issued per clock".into() };
        let fake = Altered::of(FakeExperiment::new(5.0, 1), FakeExperiment::sample);
        measure(Altered { limit: Some(limit), ..fake })
    };
    // The cost is 12.5 cycles; the margin is for clocks that differ by little.
    assert_eq!(limited(12.8).verdict, Verdict::Resolved);
    let beyond = limited(13.0);
    let reason = beyond.verdict.reason();
    assert_eq!((beyond.verdict.name(), beyond.estimate.is_none()), ("NotTogether", true), "{reason}");
    assert!(
        reason.contains(
            "cycles per operation, less than the 13.00 that the hardware needs (4 instructions issued per clock"
        ),
        "{reason}"
    );
}

#[test]
fn a_test_that_is_faster_than_its_baseline_is_explained_not_retried() {
    let negative = measure(FakeExperiment::new(-1.0, 3).with_loop(100.0));
    assert_eq!(negative.verdict.name(), "Overlapped");
    assert!(negative.verdict.reason().contains("1.00 ns less per operation"), "{}", negative.verdict);
    assert!(negative.estimate.unwrap().ns.value() < 0.0);
}

#[test]
fn a_cost_is_resolved_in_cycles_where_the_clock_wanders() {
    let rule = PrecisionRule { min_pairs: 60, ..settings().rule };
    let engine = Engine::new(Settings { rule, ..settings() }, Cancel::new());
    // Every eight pairs the clock is another one.
    let mut wandering = Altered::of(FakeExperiment::new(5.0, 1), |fake, shot| {
        let sample = fake.sample(shot)?;
        let slower = 1.0 + 0.15 * ((shot.pair / 8) % 4) as f64;
        Ok(Sample { ns_per_tick: sample.ns_per_tick * slower, ..sample })
    });
    let measurement = engine.measure(&mut wandering, 1).unwrap();
    assert_eq!(measurement.verdict, Verdict::Resolved);
    assert!((measurement.estimate.as_ref().unwrap().cycles.unwrap().value() - 12.5).abs() < 0.01);
    let row = Row::measured(Case::new("cpu.fake.add"), None, &measurement).judged();
    assert!(row.verdict.reason().contains("in nanoseconds"), "its nanoseconds are not certain: {}", row.verdict);
    assert!(row.shown_width_in_cycles().is_some_and(|width| width < 0.01));
}

#[test]
fn a_second_copy_that_costs_something_else_is_said() {
    let additive = |second: f64| {
        let mut experiment = Altered::of(FakeExperiment::new(5.0, 1), move |fake, shot| {
            let extra = if shot.side == Side::Double { (second - 1.0) / 3.0 } else { 0.0 };
            let sample = fake.sample(shot)?;
            Ok(Sample { slowest: Ticks((sample.slowest.0 as f64 * (1.0 + extra)) as u64), ..sample })
        });
        let mut engine = Engine::new(settings(), Cancel::new());
        engine.tests_additivity = true;
        engine.measure(&mut experiment, 42).unwrap()
    };
    assert_eq!(additive(1.0).verdict, Verdict::Resolved);
    assert!(additive(1.0).details.iter().any(|detail| detail.name == "second_copy_ns"));
    let hidden = additive(0.4);
    assert_eq!(hidden.verdict.name(), "NonAdditive");
    assert!(hidden.verdict.reason().contains("the first copy costs 5.0"), "{}", hidden.verdict);
    assert!(measure(FakeExperiment::new(5.0, 1)).details.is_empty(), "only where it is asked for");
}

#[test]
fn a_clock_that_most_pairs_have_gives_cycles() {
    let without_clock = Altered::of(FakeExperiment::new(5.0, 1), |fake, shot| {
        let sample = fake.sample(shot)?;
        Ok(Sample { cycles_per_tick: sample.cycles_per_tick.filter(|_| !shot.pair.is_multiple_of(3)), ..sample })
    });
    let measurement = measure(without_clock);
    assert!((measurement.estimate.unwrap().cycles.unwrap().value() - 12.5).abs() < 0.01);
    assert_eq!(measurement.observations.iter().filter(|o| o.cycles.is_none()).count(), 4);
}

#[test]
fn repetition_difference_is_the_same_formula() {
    let measurement = measure(Recorder { shots: Vec::new(), operation_ns: 7.0, most: u64::MAX });
    assert!((measurement.estimate.unwrap().ns.value() - 7.0).abs() < 0.01);
}
