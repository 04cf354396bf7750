//! The engine, driven by experiments that are made of numbers. One file for each subject; what several need is here.
#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]

#[path = "../altered/mod.rs"]
mod altered;
mod blocks;
mod estimates;
mod exclusion;
mod faults;
mod populations;
mod samples;
mod windows;

use std::time::Duration;

use syncscope_core::fake::FakeExperiment;
use syncscope_core::stopping::PrecisionRule;
use syncscope_core::{
    Cancel, Check, Engine, Evidence, Experiment, ExperimentError, Measurement, Protocol, Ruler, Sample, Settings, Shot,
    Side,
};

fn settings() -> Settings {
    let rule = PrecisionRule { precision: 0.01, min_pairs: 12, max_pairs: 60, max_time: Duration::from_secs(60) };
    Settings { sample: Duration::from_micros(20), ..Settings::with_rule(rule) }
}

fn measure(mut experiment: impl Experiment) -> Measurement {
    Engine::new(settings(), Cancel::new()).measure(&mut experiment, 42).unwrap()
}

/// Records the shots that it is asked for; each operation takes `operation_ns`.
pub(crate) struct Recorder {
    pub(crate) shots: Vec<Shot>,
    pub(crate) operation_ns: f64,
    pub(crate) most: u64,
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

    fn protocol(&self) -> Protocol {
        Protocol { max_iterations: self.most, ..Protocol::of(1) }
    }

    fn check(&mut self) -> Check {
        Check::NotApplicable
    }

    fn evidence(&mut self) -> Evidence {
        Evidence::NotAvailable("numbers have no machine code".into())
    }
}
