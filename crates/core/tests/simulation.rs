//! Do the statistics hold? Thousands of simulated measurements of costs that are known.
#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]

use std::time::Duration;

use syncscope_core::fake::{FakeExperiment, Noise};
use syncscope_core::stopping::PrecisionRule;
use syncscope_core::{BlockCount, Settings};
use syncscope_core::{Cancel, Engine, Measurement};

const RUNS: u64 = 2_000;
const COST_NS: f64 = 5.0;

/// Samples of 20 us: 10 ns of noise are 0.05 % of a sample and, with an operation difference of about 2,000, 0.1 % of
/// the cost.
fn engine() -> Engine {
    Engine::new(
        Settings {
            sample: Duration::from_micros(20),
            noisy_above: 0.05,
            blocks: BlockCount::ONE,
            has_levels: false,
            rule: PrecisionRule {
                precision: 0.01,
                min_pairs: 12,
                max_pairs: 60,
                // Time is not simulated: pairs alone end a measurement.
                max_time: Duration::from_secs(3600),
            },
        },
        Cancel::new(),
    )
}

fn simulate(cost_ns: f64, noise: Noise) -> Vec<Measurement> {
    let engine = engine();
    (0..RUNS)
        .map(|seed| {
            let mut experiment = FakeExperiment::new(cost_ns, seed).with_noise(noise);
            engine.measure(&mut experiment, seed ^ 0x5eed).unwrap()
        })
        .collect()
}

/// Every shape of noise, small, middling and as large as the cost that it hides.
fn noises() -> Vec<(&'static str, Noise)> {
    let mut noises = Vec::new();
    for scale in [20.0, 200.0, 1_000.0] {
        noises.extend([
            ("normal", Noise::Normal(scale)),
            ("heavy-tailed", Noise::HeavyTailed(scale)),
            ("bimodal", Noise::Bimodal(scale)),
            ("drifting", Noise::Drifting(scale / 10.0)),
            ("periodic, incommensurable", Noise::Periodic { amplitude_ns: scale, period: 7.3 }),
            ("periodic, in step with the pairs", Noise::Periodic { amplitude_ns: scale, period: 4.0 }),
            ("periodic, slow", Noise::Periodic { amplitude_ns: scale, period: 41.0 }),
        ]);
    }
    noises
}

#[test]
fn the_interval_covers_the_true_cost_and_the_estimate_is_unbiased() {
    let mut failures = Vec::new();
    for (name, noise) in noises() {
        let estimates: Vec<_> =
            simulate(COST_NS, noise).into_iter().map(|m| m.estimate.expect("a fake gives a figure")).collect();
        let covered = estimates.iter().filter(|e| e.ns_within.expect("60 pairs").contains(COST_NS)).count();
        let coverage = covered as f64 / estimates.len() as f64;
        let bias = estimates.iter().map(|e| e.ns.value() / COST_NS - 1.0).sum::<f64>() / estimates.len() as f64;
        println!("{name:34} {noise:?}: coverage {:.1} %, bias {:+.3} %", coverage * 100.0, bias * 100.0);
        if !(0.93..=0.99).contains(&coverage) || bias.abs() >= 0.005 {
            failures.push(format!("{name} {noise:?}: coverage {coverage}, bias {bias}"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn a_cost_of_zero_is_below_resolution() {
    for (name, noise) in noises() {
        let below = simulate(0.0, noise).iter().filter(|m| m.verdict.name() == "BelowResolution").count();
        let share = below as f64 / RUNS as f64;
        println!("{name:34} {noise:?}: {:.1} % below resolution", share * 100.0);
        assert!(share >= 0.95, "{name} {noise:?}: {share}");
    }
}

/// Deviation of the cost between measurement blocks, relative to the cost. It stays the same within a block.
const MOMENTS: f64 = 0.05;

const RUNS_OF_VISITS: u64 = 300;

/// The share of intervals that cover the median over all blocks, and their mean half-width.
fn cover(blocks: BlockCount, max_pairs: u64) -> (f64, f64) {
    let rule = PrecisionRule { precision: 0.005, min_pairs: 6, max_pairs, max_time: Duration::from_secs(3600) };
    let settings = Settings { sample: Duration::from_micros(20), blocks, ..Settings::with_rule(rule) };
    let engine = Engine::new(settings, Cancel::new());
    let (mut covered, mut width) = (0, 0.0);
    for seed in 0..RUNS_OF_VISITS {
        let mut random = fastrand::Rng::with_seed(seed);
        // The sum of twelve uniform numbers is all but normal.
        let mut normal = || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        let mut found = None;
        while found.as_ref().is_none_or(|found| engine.needs_another_block(found)) {
            let cost_ns = COST_NS * (1.0 + MOMENTS * normal());
            let block = found.as_ref().map_or(0, |found: &Measurement| found.blocks);
            let mut experiment =
                FakeExperiment::new(cost_ns, seed << 8 | u64::from(block)).with_noise(Noise::Normal(200.0));
            found = Some(engine.measure_block(&mut experiment, found, seed).unwrap());
        }
        let interval = found.unwrap().estimate.unwrap().ns_within.unwrap();
        covered += u32::from(interval.contains(COST_NS));
        width += interval.half_width() / COST_NS / RUNS_OF_VISITS as f64;
    }
    (f64::from(covered) / RUNS_OF_VISITS as f64, width)
}

#[test]
fn blocks_at_several_times_give_intervals_that_hold() {
    for (blocks, pairs, least) in [
        (BlockCount::ONE, 600, 0.0),
        (BlockCount { min: 6, max: 8 }, 48, 0.88),
        (BlockCount { min: 6, max: 20 }, 120, 0.92),
        (BlockCount { min: 6, max: 40 }, 240, 0.93),
        (BlockCount { min: 8, max: 160 }, 960, 0.93),
    ] {
        let (coverage, width) = cover(blocks, pairs);
        println!("{blocks:?}: coverage {:.1} %, half-width {:.1} %", coverage * 100.0, width * 100.0);
        assert!(coverage >= least, "{blocks:?}: {coverage}");
        // The narrow interval of a single block is wrong: that is why there are several.
        assert!(blocks != BlockCount::ONE || coverage < 0.2, "{coverage}");
    }
}
