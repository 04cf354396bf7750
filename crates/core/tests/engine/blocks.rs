//! Cases that are measured in several blocks.

use syncscope_core::fake::{FakeExperiment, Fault, Noise};
use syncscope_core::stopping::Stop;
use syncscope_core::{
    BlockCount, Cancel, Check, Detail, Engine, Evidence, Experiment, ExperimentError, Protocol, Ruler, Sample,
    Settings, Shot, Side, Verdict,
};

use super::settings;

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
    fn protocol(&self) -> Protocol {
        Protocol::of(self.0.protocol().unroll)
    }
    fn check(&mut self) -> Check {
        self.0.check()
    }
    fn evidence(&mut self) -> Evidence {
        self.0.evidence()
    }
    fn details(&mut self) -> Result<Vec<Detail>, ExperimentError> {
        self.1 += 1;
        match self.1 {
            1 => Ok(vec![Detail::of_case("p99_ns", 7.5)]),
            2 => Err(ExperimentError::Failed("asked twice".to_owned())),
            _ => Err(ExperimentError::Interfered("no CPU was free".to_owned())),
        }
    }
}

/// Counts its samples, which may run in by themselves.
struct Cold {
    fake: FakeExperiment,
    runs_in: bool,
    samples: u32,
}

impl Experiment for Cold {
    fn ruler(&self) -> Ruler {
        self.fake.ruler()
    }
    fn operations(&self, side: Side, iterations: u64) -> u64 {
        self.fake.operations(side, iterations)
    }
    fn sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError> {
        self.samples += 1;
        self.fake.sample(shot)
    }
    fn protocol(&self) -> Protocol {
        Protocol { runs_in: self.runs_in, ..self.fake.protocol() }
    }
    fn check(&mut self) -> Check {
        self.fake.check()
    }
    fn evidence(&mut self) -> Evidence {
        self.fake.evidence()
    }
}

#[test]
fn a_later_block_pays_for_its_cold_caches_unless_each_sample_runs_in() {
    let engine = Engine::new(Settings { blocks: BlockCount { min: 2, max: 5 }, ..settings() }, Cancel::new());
    let samples_of_second = |runs_in| {
        let mut experiment = Cold { fake: FakeExperiment::new(5.0, 1), runs_in, samples: 0 };
        let first = engine.measure_block(&mut experiment, None, 42).unwrap();
        let of_first = std::mem::take(&mut experiment.samples);
        let both = engine.measure_block(&mut experiment, Some(first), 42).unwrap();
        assert_eq!((both.pairs, both.verdict), (24, Verdict::Resolved));
        (of_first > 24, experiment.samples)
    };
    assert_eq!([true, false].map(samples_of_second), [(true, 2 * 12), (true, 2 * 13)]);
}

/// Twelve contexts of a device, in three of which a launch is cheaper.
#[test]
fn the_usual_level_of_the_blocks_is_the_figure_and_the_other_one_is_named() {
    let found = |has_levels: bool| {
        let blocks = BlockCount { min: 12, max: 12 };
        let engine = Engine::new(Settings { blocks, has_levels, ..settings() }, Cancel::new());
        let take = |found, block: u64| {
            let ns = if block % 4 == 1 { 84.0 } else { 103.0 };
            Some(engine.measure_block(&mut FakeExperiment::new(ns, block), found, block).unwrap())
        };
        (0..12).fold(None, take).unwrap()
    };
    let both = found(true);
    assert_eq!(both.verdict, Verdict::Resolved);
    assert!((both.estimate.unwrap().ns.value() / 103.0 - 1.0).abs() < 0.01 && both.excluded == both.pairs / 3);
    assert_eq!(both.remark.as_deref(), Some("two states: 103 ns for 75 % of the run, 84.0 ns for 25 %"));
    assert_eq!((found(false).excluded, found(false).remark), (0, None));
}

#[test]
fn a_case_is_measured_in_blocks_until_it_is_precise() {
    let engine = Engine::new(Settings { blocks: BlockCount { min: 2, max: 5 }, ..settings() }, Cancel::new());
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
    let engine = Engine::new(Settings { blocks: BlockCount { min: 3, max: 5 }, ..settings() }, Cancel::new());
    let mut silent = FakeExperiment::new(5.0, 1);
    let mut found = engine.measure_block(&mut silent, None, 42).unwrap();
    let reason = "only 1 of 3 required measurement blocks were taken";
    assert_eq!(found.verdict, Verdict::Noisy(reason.to_owned()));
    assert!(found.estimate.is_some(), "the figure is there, and provisional");
    for _ in 0..2 {
        found = engine.measure_block(&mut silent, Some(found), 42).unwrap();
        found.settle();
    }
    assert_eq!((found.blocks, found.verdict), (3, Verdict::Resolved));
}

#[test]
fn a_block_can_be_the_last_though_more_are_allowed() {
    let engine = || Engine::new(Settings { blocks: BlockCount { min: 3, max: 5 }, ..settings() }, Cancel::new());
    let noisy = || FakeExperiment::new(5.0, 3).with_noise(Noise::Normal(4_000.0));
    let first = engine().measure_block(&mut noisy(), None, 1).unwrap();
    let mut last = engine();
    last.is_final = true;
    let second = last.measure_block(&mut noisy(), Some(first), 1).unwrap();
    assert_eq!(
        (second.blocks, second.pairs, last.needs_another_block(&second)),
        (2, 24, false),
        "each block has its share alone"
    );
}

#[test]
fn details_are_asked_for_once_and_what_goes_amiss_then_is_a_failed_check() {
    let engine = Engine::new(Settings { blocks: BlockCount { min: 3, max: 3 }, ..settings() }, Cancel::new());
    let mut experiment = Asked(FakeExperiment::new(5.0, 1), 0);
    let measurement = engine.measure(&mut experiment, 1).unwrap();
    assert_eq!((measurement.details.len(), measurement.verdict), (1, Verdict::Resolved));
    let failed = engine.measure(&mut experiment, 1).unwrap();
    assert_eq!(failed.verdict, Verdict::Failed("check failed: asked twice".to_owned()));
    let interfered = engine.measure(&mut experiment, 1).unwrap();
    assert_eq!(
        interfered.verdict,
        Verdict::Interfered("no CPU was free".to_owned()),
        "it says nothing of the primitive"
    );
    assert_eq!((interfered.check, interfered.estimate), (Check::NotApplicable, None));
}
