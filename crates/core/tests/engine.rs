//! The engine, driven by experiments that are made of numbers.
#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]

use std::time::Duration;

use syncscope_core::fake::{FakeExperiment, Fault, Noise};
use syncscope_core::sample::ActorTime;
use syncscope_core::stopping::{PrecisionRule, Stop};
use syncscope_core::{
    Actor, Cancel, Case, Check, Detail, Engine, Evidence, Experiment, ExperimentError, Measurement, Population, Row,
    Ruler, RunEffect, Sample, Shot, Side, Ticks, Verdict,
};
use syncscope_core::{BlockCount, Cancelled, Settings};

mod altered;

use altered::Altered;

fn settings() -> Settings {
    Settings {
        sample: Duration::from_micros(20),
        noisy_above: 0.05,
        rule: PrecisionRule { precision: 0.01, min_pairs: 12, max_pairs: 60, max_time: Duration::from_secs(60) },
    }
}

fn measure(mut experiment: impl Experiment) -> Measurement {
    Engine::new(settings(), Cancel::new()).measure(&mut experiment, 42).unwrap()
}

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
    let interval = estimate.ns_interval.unwrap();
    assert!(interval.half_width() >= 0.0999 / (measurement.iterations * 10) as f64);
}

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
fn what_is_wide_is_noisy_and_what_may_be_nothing_is_below_resolution() {
    let noisy = measure(FakeExperiment::new(5.0, 3).with_noise(Noise::Normal(4_000.0)));
    assert_eq!(noisy.verdict.name(), "Noisy", "{}", noisy.verdict);
    assert!(noisy.verdict.reason().contains('%'));
    let nothing = measure(FakeExperiment::new(0.0, 3));
    assert_eq!(nothing.verdict.name(), "BelowResolution");
    assert!(nothing.verdict.reason().starts_with("at most "), "{}", nothing.verdict);
    assert_eq!(Row::measured(Case::new("cpu.fence.acquire"), &nothing).ops_per_s_thread(), None);
}

#[test]
fn a_test_that_is_faster_than_its_baseline_is_explained_not_retried() {
    let negative = measure(FakeExperiment::new(-1.0, 3).with_loop(100.0));
    assert_eq!(negative.verdict.name(), "Overlapped");
    assert!(negative.verdict.reason().contains("1.000 ns less per operation"), "{}", negative.verdict);
    assert!(negative.estimate.unwrap().ns.value() < 0.0);
}

#[test]
fn pairs_are_excluded_for_causes_and_counted() {
    let disturbed = measure(FakeExperiment::new(5.0, 3).with_fault(Fault::Disturbed));
    assert_eq!(disturbed.verdict, Verdict::Resolved);
    assert!(disturbed.excluded > 0);
    assert_eq!(disturbed.pairs + disturbed.excluded, disturbed.observations.len() as u64);
    let lost = measure(FakeExperiment::new(5.0, 3).with_fault(Fault::AlwaysDisturbed));
    assert_eq!(lost.verdict, Verdict::Interfered("60 of 60 pairs excluded: involuntary context switch".into()));
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
fn a_case_is_measured_in_blocks_until_it_is_precise() {
    let engine = Engine::new(settings(), Cancel::new()).with_blocks(BlockCount { min: 2, max: 5 });
    let mut silent = FakeExperiment::new(5.0, 1);
    let once = engine.measure_block(&mut silent, None, 42).unwrap();
    assert_eq!((once.blocks, once.stop, engine.needs_another_block(&once)), (1, Some(Stop::Precise), true));
    let twice = engine.measure_block(&mut silent, Some(once.clone()), 42).unwrap();
    assert_eq!((twice.blocks, twice.pairs, engine.needs_another_block(&twice)), (2, 24, false));
    assert_eq!((twice.observations[..12].to_vec(), twice.iterations), (once.observations, once.iterations));
    assert_eq!(twice.observations[12].pair, 12, "memory that was not used before");
    let noisy = engine.measure(&mut FakeExperiment::new(5.0, 3).with_noise(Noise::Normal(4_000.0)), 1).unwrap();
    assert_eq!((noisy.blocks, noisy.pairs, noisy.stop), (5, 60, Some(Stop::BudgetSpent)), "the budget is divided");
    let failed = engine.measure_block(&mut FakeExperiment::new(5.0, 3).with_fault(Fault::Miscounts), None, 1).unwrap();
    assert!(!engine.needs_another_block(&failed), "it would fail again");
    let lost =
        engine.measure_block(&mut FakeExperiment::new(5.0, 3).with_fault(Fault::TimesOut), Some(twice), 1).unwrap();
    assert_eq!(
        (lost.blocks, lost.verdict.name(), lost.stop),
        (3, "TimedOut", None),
        "later than what was found before"
    );
}

/// The blocks of a few seconds agree without being right.
#[test]
fn a_case_that_was_interrupted_before_its_fewest_blocks_is_not_resolved() {
    let engine = Engine::new(settings(), Cancel::new()).with_blocks(BlockCount { min: 3, max: 5 });
    let mut silent = FakeExperiment::new(5.0, 1);
    let mut found = engine.measure_block(&mut silent, None, 42).unwrap();
    let reason = "1 of at least 3 measurement blocks: too few to see how they differ";
    assert_eq!(found.verdict, Verdict::Noisy(reason.to_owned()));
    assert!(found.estimate.is_some(), "the figure is there, and provisional");
    for _ in 0..2 {
        found = engine.measure_block(&mut silent, Some(found), 42).unwrap();
        found.settle();
    }
    assert_eq!((found.blocks, found.verdict), (3, Verdict::Resolved));
}

#[test]
fn few_pairs_that_nothing_disturbed_are_not_called_interfered() {
    let rule = PrecisionRule { min_pairs: 4, max_pairs: 4, ..settings().rule };
    let engine = Engine::new(Settings { rule, ..settings() }, Cancel::new());
    let found = engine.measure(&mut FakeExperiment::new(5.0, 1), 1).unwrap();
    assert_eq!(found.verdict, Verdict::Noisy("4 pairs are too few for an interval".to_owned()));
}

#[test]
fn a_block_can_be_the_last_though_more_are_allowed() {
    let engine = || Engine::new(settings(), Cancel::new()).with_blocks(BlockCount { min: 3, max: 5 });
    let noisy = || FakeExperiment::new(5.0, 3).with_noise(Noise::Normal(4_000.0));
    let first = engine().final_block(false).measure_block(&mut noisy(), None, 1).unwrap();
    let last = engine().final_block(true);
    let second = last.measure_block(&mut noisy(), Some(first), 1).unwrap();
    assert_eq!(
        (second.blocks, second.pairs, last.needs_another_block(&second)),
        (2, 24, false),
        "each block has its share alone"
    );
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
    assert!((measurement.estimate.unwrap().cycles.unwrap().value() - 12.5).abs() < 0.01);
    let remark = measurement.remark.unwrap();
    assert!(remark.contains("in nanoseconds") && remark.contains("the clock changed"), "{remark}");
}

/// Four actors. An operation costs 5 ns on a core alone and 7 ns beside another hardware thread; the actors below
/// `beside(pair)` are beside one.
fn with_smt_interference(actor: Actor, population: Population, beside: fn(u64) -> usize) -> Measurement {
    let experiment = Altered::of(FakeExperiment::new(5.0, 1), move |fake, shot| {
        let operations = fake.operations(shot.side, shot.iterations) as f64;
        let actors: Vec<ActorTime> = (0..4)
            .map(|actor| {
                let smt_interference = actor < beside(shot.pair);
                let ns = operations * if smt_interference { 7.0 } else { 5.0 };
                ActorTime { elapsed: Ticks((ns * 10.0) as u64), smt_interference }
            })
            .collect();
        let mut elapsed: Vec<Ticks> = actors.iter().map(|actor| actor.elapsed).collect();
        Ok(Sample { actors, cycles_per_tick: Some(0.25), ..Sample::of_actors(&mut elapsed, 0.1).unwrap() })
    });
    measure(Altered { actor, population, ..experiment })
}

#[test]
fn the_cost_of_actors_that_were_alone_does_not_depend_on_how_many_were() {
    for (beside, share) in
        [(|_| 0, 0.0), (|pair| usize::from(pair % 2 == 0), 0.125), (|_| 3, 0.75)] as [(fn(u64) -> usize, f64); 3]
    {
        let alone = with_smt_interference(Actor::Median, Population::Alone, beside);
        assert_eq!((&alone.verdict, alone.excluded), (&Verdict::Resolved, 0));
        let estimate = alone.estimate.unwrap();
        assert!((estimate.ns.value() - 5.0).abs() < 0.01, "{estimate:?}");
        assert_eq!(estimate.population, Population::Alone);
        let strata = estimate.strata.unwrap();
        assert!((strata.beside_share - share).abs() < 0.01, "{strata:?}");
        assert_eq!(strata.beside.is_some_and(|stratum| (stratum.ns.value() - 7.0).abs() < 0.01), share > 0.0);
    }
    let never = with_smt_interference(Actor::Median, Population::Alone, |_| 4);
    assert_eq!(never.verdict, Verdict::Interfered("60 of 60 pairs excluded: SMT interference".into()));
}

#[test]
fn all_moments_count_by_their_share_where_the_slowest_actor_does() {
    // The median of all pairs would be 5 or 7 ns, and jump from the one to the other at a share of a half.
    for (beside, cost) in
        [(|_| 0, 5.0), (|pair| usize::from(pair % 4 == 0), 5.5), (|pair| usize::from(pair % 2 == 0), 6.0), (|_| 1, 7.0)]
            as [(fn(u64) -> usize, f64); 4]
    {
        let all = with_smt_interference(Actor::Slowest, Population::All, beside);
        assert_eq!(all.excluded, 0);
        let estimate = all.estimate.unwrap();
        assert!((estimate.ns.value() - cost).abs() < 0.1, "{cost}: {estimate:?}");
        assert!(estimate.ns_within.unwrap().contains(cost));
        assert_eq!(estimate.population, Population::All);
    }
}

#[test]
fn the_cost_is_that_of_the_actors_it_is_asked_for() {
    let of = |actor| with_smt_interference(actor, Population::All, |_| 2).estimate.unwrap();
    assert!((of(Actor::Slowest).ns.value() - 7.0).abs() < 0.01);
    assert!((of(Actor::Median).ns.value() - 6.0).abs() < 0.01, "the mean of the two in the middle");
    let estimate = of(Actor::Median);
    assert!((estimate.slowest_ns.value() - 7.0).abs() < 0.01 && (estimate.fastest_ns.value() - 5.0).abs() < 0.01);
    // Two actors do an operation in 5 ns, two in 7: 0.2 * 2 + 0.1429 * 2 operations in a nanosecond.
    assert!((4.0 / estimate.mean_rate_ns.value() - (2.0 / 5.0 + 2.0 / 7.0)).abs() < 1e-3);
}

#[test]
fn the_interval_to_quote_holds_the_difference_between_runs() {
    let quiet = || FakeExperiment::new(5.0, 1);
    let steady = measure(quiet()).estimate.unwrap();
    assert_eq!(steady.ns_interval, steady.ns_within);
    let experiment = Altered { run_effect: RunEffect::of_both(0.03), ..Altered::of(quiet(), FakeExperiment::sample) };
    let estimate = measure(experiment).estimate.unwrap();
    assert_eq!(estimate.ns_within, steady.ns_within);
    let half_width = estimate.ns_interval.unwrap().half_width() / 5.0;
    assert!((half_width - 1.96 * 0.03 * 2.0_f64.sqrt()).abs() < 1e-4, "both runs are off: {half_width}");
    let drifting =
        Engine::new(settings(), Cancel::new()).with_drift(RunEffect::of_both(0.05)).measure(&mut quiet(), 42).unwrap();
    let half_width = drifting.estimate.unwrap().ns_interval.unwrap().half_width() / 5.0;
    assert!((half_width - 1.96 * 0.05 * 2.0_f64.sqrt()).abs() < 1e-4, "{half_width}");
}

#[test]
fn a_second_copy_that_costs_something_else_is_said() {
    let additive = |second: f64| {
        let mut experiment = Altered::of(FakeExperiment::new(5.0, 1), move |fake, shot| {
            let extra = if shot.side == Side::Double { (second - 1.0) / 3.0 } else { 0.0 };
            let sample = fake.sample(shot)?;
            Ok(Sample { slowest: Ticks((sample.slowest.0 as f64 * (1.0 + extra)) as u64), ..sample })
        });
        Engine::new(settings(), Cancel::new()).test_additivity(true).measure(&mut experiment, 42).unwrap()
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

/// Counts how often it is asked for what is costly to find out.
struct Asked(FakeExperiment, u32);

impl Experiment for Asked {
    fn ruler(&self) -> Ruler {
        self.0.ruler()
    }
    fn operations(&self, side: Side, iterations: u64) -> u64 {
        self.0.operations(side, iterations)
    }
    fn sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError> {
        self.0.sample(shot)
    }
    fn unroll(&self) -> u32 {
        self.0.unroll()
    }
    fn check(&mut self) -> Check {
        self.0.check()
    }
    fn evidence(&mut self) -> Evidence {
        self.0.evidence()
    }
    fn details(&mut self) -> Result<Vec<Detail>, String> {
        self.1 += 1;
        if self.1 == 1 { Ok(vec![Detail::of_case("p99_ns", 7.5)]) } else { Err("asked twice".to_owned()) }
    }
}

#[test]
fn details_are_asked_for_once_and_what_goes_amiss_then_is_a_failed_check() {
    let engine = Engine::new(settings(), Cancel::new()).with_blocks(BlockCount { min: 3, max: 3 });
    let mut experiment = Asked(FakeExperiment::new(5.0, 1), 0);
    let measurement = engine.measure(&mut experiment, 1).unwrap();
    assert_eq!((measurement.details.len(), measurement.verdict), (1, Verdict::Resolved));
    let failed = engine.measure(&mut experiment, 1).unwrap();
    assert_eq!(failed.verdict, Verdict::Failed("check failed: asked twice".to_owned()));
}

#[test]
fn faults_become_verdicts() {
    let verdict = |fault| measure(FakeExperiment::new(5.0, 3).with_fault(fault)).verdict;
    assert_eq!(verdict(Fault::TimesOut), Verdict::TimedOut("not done after 2s".into()));
    assert_eq!(verdict(Fault::Fails("no memory".into())), Verdict::Failed("no memory".into()));
    assert_eq!(verdict(Fault::Miscounts), Verdict::Failed("check failed: expected 2, found 1".into()));
    assert_eq!(verdict(Fault::Elided).name(), "Elided");
}

#[test]
fn a_raised_flag_ends_a_measurement_without_a_result() {
    let cancel = Cancel::new();
    cancel.cancel();
    let mut experiment = FakeExperiment::new(5.0, 3);
    assert_eq!(Engine::new(settings(), cancel).measure(&mut experiment, 1), Err(Cancelled));
}

/// Records the shots that it is asked for; each operation takes `operation_ns`.
struct Recorder {
    shots: Vec<Shot>,
    operation_ns: f64,
    most: u64,
}

impl Experiment for Recorder {
    fn ruler(&self) -> Ruler {
        FakeExperiment::new(1.0, 1).ruler()
    }

    /// As a test timed from the host: n against 3 n repetitions.
    fn operations(&self, side: Side, iterations: u64) -> u64 {
        if side == Side::Test { 3 * iterations } else { iterations }
    }

    fn sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError> {
        self.shots.push(shot);
        let ns = 500.0 + self.operations(shot.side, shot.iterations) as f64 * self.operation_ns;
        FakeExperiment::new(0.0, 1).with_loop(ns / shot.iterations as f64).sample(shot)
    }

    fn unroll(&self) -> u32 {
        1
    }

    fn max_iterations(&self) -> u64 {
        self.most
    }

    fn check(&mut self) -> Check {
        Check::NotApplicable
    }

    fn evidence(&mut self) -> Evidence {
        Evidence::NotAvailable("numbers have no machine code".into())
    }
}

#[test]
fn repetition_difference_is_the_same_formula() {
    let measurement = measure(Recorder { shots: Vec::new(), operation_ns: 7.0, most: u64::MAX });
    assert!((measurement.estimate.unwrap().ns.value() - 7.0).abs() < 0.01);
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
fn a_loop_that_does_not_grow_is_empty() {
    let measurement = measure(FakeExperiment::new(0.0, 1).with_loop(0.0));
    assert_eq!(measurement.verdict.name(), "Elided", "{}", measurement.verdict);
}

/// Both loops execute the same.
struct Twins(FakeExperiment);

impl Experiment for Twins {
    fn ruler(&self) -> Ruler {
        self.0.ruler()
    }
    fn operations(&self, _: Side, iterations: u64) -> u64 {
        iterations
    }
    fn sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError> {
        self.0.sample(shot)
    }
    fn unroll(&self) -> u32 {
        1
    }
    fn check(&mut self) -> Check {
        Check::Ok
    }
    fn evidence(&mut self) -> Evidence {
        Evidence::NotAvailable("numbers have no machine code".into())
    }
}

#[test]
fn a_difference_over_nothing_is_no_figure() {
    let measurement = measure(Twins(FakeExperiment::new(5.0, 1)));
    assert_eq!(measurement.verdict.name(), "Failed", "{}", measurement.verdict);
    assert_eq!(measurement.estimate, None);
}

#[test]
fn no_figure_of_whatever_kind_goes_unexplained() {
    let noises = [Noise::Silent, Noise::Normal(500.0), Noise::HeavyTailed(50.0), Noise::Bimodal(300.0)];
    let faults = [
        Fault::None,
        Fault::TimesOut,
        Fault::Fails("no memory".into()),
        Fault::Disturbed,
        Fault::AlwaysDisturbed,
        Fault::ClockSinks,
        Fault::Miscounts,
        Fault::Elided,
    ];
    for (cost, noise, fault) in [5.0, 0.001, 0.0, -2.0]
        .into_iter()
        .flat_map(|cost| noises.iter().map(move |noise| (cost, *noise)))
        .flat_map(|(cost, noise)| faults.iter().map(move |fault| (cost, noise, fault.clone())))
    {
        let context = format!("{cost} ns, {noise:?}, {fault:?}");
        let experiment = FakeExperiment::new(cost, 5).with_loop(100.0).with_noise(noise).with_fault(fault);
        let row = Row::measured(Case::new("cpu.barrier.std"), &measure(experiment));
        assert_eq!(row.defect(), None, "{context}: {row:?}");
    }
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
