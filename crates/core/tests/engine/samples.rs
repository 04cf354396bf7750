//! How long samples are, in which order they are taken, and when they end.

use std::time::Duration;

use syncscope_core::fake::{FakeExperiment, Noise};
use syncscope_core::stopping::PrecisionRule;
use syncscope_core::{Cancel, Engine, Experiment, Settings, Shot, Side, Verdict};

use super::altered::Altered;
use super::{Recorder, measure, settings};

#[test]
fn samples_are_long_against_the_clock_and_no_longer_than_asked_for() {
    // 1.0 ns of loop and 10 operations of 5 ns: 20 us are 392 iterations.
    let measurement = measure(FakeExperiment::new(5.0, 1));
    assert!((314..=480).contains(&measurement.iterations), "{}", measurement.iterations);
}

#[test]
fn the_order_within_pairs_is_a_coin_that_the_seed_throws() {
    let order = |seed| {
        let mut experiment = FakeExperiment::new(5.0, 1).with_noise(Noise::Normal(500.0));
        let measurement = Engine::new(settings(), Cancel::new()).measure(&mut experiment, seed).unwrap();
        measurement.observations.iter().map(|o| o.baseline_first).collect::<Vec<_>>()
    };
    let first = order(1);
    assert_eq!(first, order(1));
    assert_ne!(first, order(2));
    let heads = first.iter().filter(|first| **first).count();
    assert!((15..=45).contains(&heads) && first.len() == 60, "{heads} of {}", first.len());
}

#[test]
fn a_test_that_takes_far_longer_than_its_baseline_decides_the_length_of_samples() {
    // 51 ns an iteration of the baseline, 25.5 us one of the test.
    let mut lopsided = Altered::of(FakeExperiment::new(5.0, 1), |fake, shot| {
        let iterations = if shot.side == Side::Test { 500 * shot.iterations } else { shot.iterations };
        fake.sample(Shot { side: Side::Baseline, iterations, ..shot })
    });
    lopsided.longest = Some(Duration::from_micros(80));
    let measurement = measure(lopsided);
    assert!((1..=4).contains(&measurement.iterations), "{}", measurement.iterations);
    assert_eq!(measurement.verdict, Verdict::Resolved);
    assert!((measurement.estimate.unwrap().ns.value() - 499.0 * 5.1).abs() < 10.0);
}

#[test]
fn both_shots_of_a_pair_are_back_to_back_and_share_iterations_and_number() {
    let mut recorder = Recorder { shots: Vec::new(), operation_ns: 7.0, most: 100 };
    let measurement = Engine::new(settings(), Cancel::new()).measure(&mut recorder, 1).unwrap();
    assert_eq!(measurement.iterations, 100, "an experiment's own bound holds");
    let taken = measurement.observations.len() * 2;
    let pairs = &recorder.shots[recorder.shots.len() - taken..];
    for (index, shots) in pairs.chunks(2).enumerate() {
        assert_eq!((shots[0].pair, shots[1].pair), (index as u64, index as u64));
        assert_ne!(shots[0].side, shots[1].side);
    }
}

#[test]
fn time_ends_a_measurement_when_pairs_do_not() {
    let noise = Noise::Normal(5_000.0);
    let mut experiment = FakeExperiment::new(5.0, 3).with_noise(noise).with_dwell(Duration::from_millis(2));
    let rule = PrecisionRule { max_time: Duration::from_millis(30), max_pairs: 1_000_000, ..settings().rule };
    let engine = Engine::new(Settings { rule, ..settings() }, Cancel::new());
    let measurement = engine.measure(&mut experiment, 1).unwrap();
    assert!((6..1_000).contains(&measurement.observations.len()), "{}", measurement.observations.len());
}

#[test]
fn an_experiment_may_want_less_time_than_the_rule_allows() {
    let noisy = || FakeExperiment::new(5.0, 3).with_noise(Noise::Normal(5000.0));
    assert_eq!(measure(noisy()).observations.len(), 60, "the rule's most");
    assert_eq!(
        measure(Altered { share: 1e-9, ..Altered::of(noisy(), FakeExperiment::sample) }).observations.len(),
        6,
        "as few as have an interval"
    );
}
