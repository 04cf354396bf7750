//! Tests that need a CUDA device: `make test-gpu`. One file for each subject; shared helpers are here.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a missing requirement fails the test")]

mod barriers;
mod contexts;
mod costs;
mod grid;
mod host;
mod nccl;
mod primitives;
mod reductions;
mod sanitized;
mod stress;
mod together;

use std::time::Duration;

use syncscope_core::machine::Environment;
use syncscope_core::stopping::PrecisionRule;
use syncscope_core::{Cancel, Case, Check, Engine, Laboratory, Measurement, Preset, Settings, Verdict};
use syncscope_gpu::GpuLaboratory;

/// The variable that holds a part of the names of the cases to stress or to run under a sanitizer.
const ONLY: &str = "SYNCSCOPE_STRESS_ONLY";

fn open() -> GpuLaboratory {
    GpuLaboratory::open(None, &[], syncscope_core::OwnCode::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn engine() -> Engine {
    let rule = PrecisionRule { precision: 0.005, min_pairs: 8, max_pairs: 40, max_time: Duration::from_millis(100) };
    Engine::new(Settings { sample: Duration::from_micros(100), ..Settings::with_rule(rule) }, Cancel::new())
}

/// Two pairs are enough to see whether something works.
fn short_engine() -> Engine {
    let rule = PrecisionRule { precision: 0.1, min_pairs: 2, max_pairs: 2, max_time: Duration::from_millis(50) };
    Engine::new(Settings { sample: Duration::from_micros(20), ..Settings::with_rule(rule) }, Cancel::new())
}

fn measure(laboratory: &mut GpuLaboratory, case: &Case) -> Measurement {
    let mut experiment = laboratory.experiment(case).unwrap_or_else(|error| panic!("{case}: {error}"));
    engine().measure(experiment.as_mut(), 1).unwrap()
}

fn cycles(measurement: &Measurement) -> f64 {
    measurement.estimate.as_ref().unwrap().cycles.unwrap().value()
}

fn ns(measurement: &Measurement) -> f64 {
    measurement.estimate.as_ref().unwrap().ns.value()
}

fn detail(measurement: &Measurement, name: &str) -> f64 {
    measurement.details.iter().find(|detail| detail.name == name).unwrap().value
}

/// The case of a plan that `wanted` describes.
fn planned(laboratory: &GpuLaboratory, wanted: impl Fn(&Case) -> bool) -> Case {
    laboratory.plan(Preset::Standard).into_iter().find(|case| wanted(case)).unwrap()
}

/// Whether a case in its default form is of this primitive and on this grid.
fn on_grid(case: &Case, id: &str, blocks: u32, threads: u32) -> bool {
    case.form.is_none() && case.primitive == id && case.blocks == Some(blocks) && case.threads == Some(threads)
}

/// The wide barrier `id` on a grid of `each` blocks per multiprocessor.
fn wide(laboratory: &GpuLaboratory, id: &str, each: u32, threads: u32) -> Case {
    let blocks = each * laboratory.machine()[0].multiprocessors;
    planned(laboratory, |case| on_grid(case, id, blocks, threads) && case.group.is_none() && case.order.is_none())
}

fn works(laboratory: &mut GpuLaboratory) {
    let case = planned(laboratory, |case| on_grid(case, "gpu.block.syncthreads", 1, 32));
    let measurement = measure(laboratory, &case);
    assert_eq!((&measurement.verdict, &measurement.check), (&Verdict::Resolved, &Check::Ok), "{measurement:?}");
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn the_device_and_its_clock_are_described() {
    let laboratory = open();
    let machines = laboratory.machine();
    assert!(machines[0].multiprocessors > 0 && machines[0].max_threads_per_block >= 1024, "{machines:?}");
    let mut environment = Environment::default();
    laboratory.describe(&mut environment);
    let clock = &environment.clocks[0];
    assert!((5e8..5e9).contains(&clock.frequency_hz), "{clock:?}");
    assert!(clock.read_cost_ns > 0.0 && clock.read_cost_ns < 100.0, "{clock:?}");
    assert!(environment.cuda_driver.is_some() && environment.nvrtc.is_some() && environment.nvidia_driver.is_some());
    println!("{machines:#?}\n{environment:#?}\n{:#?}", laboratory.warnings());
}
