//! Pairs that are excluded, and their number.

use syncscope_core::fake::{FakeExperiment, Fault, Noise};
use syncscope_core::stopping::PrecisionRule;
use syncscope_core::{Cancel, Disturbance, Engine, Hertz, Settings, Verdict};

use super::{measure, settings};

#[test]
fn pairs_are_excluded_for_causes_and_counted() {
    let disturbed = measure(FakeExperiment::new(5.0, 3).with_fault(Fault::Disturbed));
    assert_eq!(disturbed.verdict, Verdict::Resolved);
    assert!(disturbed.excluded > 0);
    assert_eq!(disturbed.pairs + disturbed.excluded, disturbed.observations.len() as u64);
    let lost = measure(FakeExperiment::new(5.0, 3).with_fault(Fault::AlwaysDisturbed));
    assert_eq!(lost.verdict, Verdict::Interfered("60 of 60 pairs excluded (involuntary context switch)".into()));
    assert_eq!(lost.estimate, None);
    assert_eq!(lost.observations.len(), 60);
}

#[test]
fn pairs_with_another_clock_are_excluded() {
    // A clock that falls by a tenth between two pairs changes nanoseconds and is in neither pair's difference.
    let fallen =
        measure(FakeExperiment::new(5.0, 3).with_noise(Noise::Normal(400.0)).with_fault(Fault::ClockFalls(20)));
    assert_eq!(fallen.verdict, Verdict::Resolved);
    assert!(fallen.excluded >= 1 && fallen.pairs > fallen.excluded, "{}", fallen.excluded);
    let clocks_agree = fallen.observations.iter().skip(20).all(|observation| observation.excluded.is_none());
    assert!(clocks_agree, "the clock that most pairs had is the case's");
    assert!((fallen.estimate.unwrap().ns.value() - 5.0 / 0.9).abs() < 0.1, "no mixture of two clocks");
    let sunk = measure(FakeExperiment::new(5.0, 3).with_fault(Fault::ClockSinks));
    assert!(
        matches!(&sunk.verdict, Verdict::Interfered(reason) if reason.contains("clock change")),
        "{}",
        sunk.verdict
    );
}

#[test]
fn few_pairs_that_nothing_disturbed_are_not_called_interfered() {
    let rule = PrecisionRule { min_pairs: 4, max_pairs: 4, ..settings().rule };
    let engine = Engine::new(Settings { rule, ..settings() }, Cancel::new());
    let found = engine.measure(&mut FakeExperiment::new(5.0, 1), 1).unwrap();
    assert_eq!(found.verdict, Verdict::Noisy("4 pairs are too few for an interval".to_owned()));
}

#[test]
fn the_clock_of_a_case_is_that_of_the_pairs_that_count() {
    let engine = Engine::new(settings(), Cancel::new());
    let block = |earlier| engine.measure_block(&mut FakeExperiment::new(5.0, 3), earlier, 1).unwrap();
    let mut found = block(None);
    let usual = found.clock.unwrap();
    for pair in &mut found.observations {
        pair.excluded = Some(Disturbance::Migration);
        pair.clock = Some(Hertz(0.995 * usual.value()));
    }
    // Most pairs do not count, at a clock that is near enough.
    found.observations.extend(found.observations.clone());
    let mut found = block(Some(found));
    found.settle();
    assert!(found.pairs > 0 && found.excluded > found.pairs, "{} and {}", found.pairs, found.excluded);
    assert_eq!(found.clock, Some(usual));
}
