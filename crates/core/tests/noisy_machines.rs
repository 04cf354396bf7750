//! Whatever is called resolved on a busy machine is right: simulated cases of known cost, whose samples lose their CPU now
//! and then, seen or unseen. `make noise` asks the same of a real machine.
#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]
#![allow(clippy::print_stdout, reason = "the shares are read by people")]

mod altered;

use std::time::Duration;

use altered::Altered;
use syncscope_core::fake::{FakeExperiment, Noise};
use syncscope_core::stopping::PrecisionRule;
use syncscope_core::{
    BlockCount, Cancel, Disturbance, Engine, Experiment, Measurement, Sample, Settings, Ticks, Verdict,
};

/// A tick of a fake is a tenth of a nanosecond.
const TICKS_PER_US: f64 = 10_000.0;

/// How a machine disturbs the samples of a case.
#[derive(Debug, Clone, Copy)]
struct Busy {
    name: &'static str,
    /// Share of the samples in whose time the CPU is taken away.
    preempted: f64,
    /// Share of these in which the operating system counts it. A hypervisor takes CPUs unseen.
    seen: f64,
    /// The longest time for which it is taken away, in microseconds.
    slice_us: f64,
    /// Share of the measurement blocks in which another process on the core slows everything down by a half.
    slowed: f64,
    /// The least share of the cases that must be resolved.
    least_resolved: f64,
}

const MACHINES: [Busy; 6] = [
    Busy { name: "quiet", preempted: 0.0, seen: 1.0, slice_us: 0.0, slowed: 0.0, least_resolved: 0.95 },
    Busy { name: "busy, seen", preempted: 0.3, seen: 1.0, slice_us: 3_000.0, slowed: 0.0, least_resolved: 0.8 },
    Busy {
        name: "busy, a tenth unseen",
        preempted: 0.3,
        seen: 0.9,
        slice_us: 3_000.0,
        slowed: 0.0,
        least_resolved: 0.5,
    },
    Busy { name: "half a CPU", preempted: 0.05, seen: 0.5, slice_us: 50_000.0, slowed: 0.0, least_resolved: 0.5 },
    Busy {
        name: "a neighbour now and then",
        preempted: 0.02,
        seen: 0.9,
        slice_us: 500.0,
        slowed: 0.2,
        least_resolved: 0.0,
    },
    Busy { name: "never alone", preempted: 0.9, seen: 0.95, slice_us: 3_000.0, slowed: 0.3, least_resolved: 0.0 },
];

/// The verdict on a case that costs `cost_ns`, and its figure.
fn measure(busy: Busy, cost_ns: f64, seed: u64) -> (Verdict, Option<f64>) {
    // As many pairs and blocks as the quick preset takes.
    let rule = PrecisionRule { precision: 0.01, min_pairs: 6, max_pairs: 240, max_time: Duration::from_secs(3600) };
    let settings = Settings {
        sample: Duration::from_micros(40),
        blocks: BlockCount { min: 40, max: 40 },
        ..Settings::with_rule(rule)
    };
    let engine = Engine::new(settings, Cancel::new());
    let mut random = fastrand::Rng::with_seed(seed);
    let mut found = None;
    while found.as_ref().is_none_or(|found| engine.needs_another_block(found)) {
        let factor = if random.f64() < busy.slowed { 1.5 } else { 1.0 };
        let fake = FakeExperiment::new(cost_ns * factor, random.u64(..)).with_noise(Noise::Normal(50.0));
        let random = &mut random;
        let mut experiment = Altered::of(fake, move |fake, shot| {
            let mut sample = fake.sample(shot)?;
            if random.f64() < busy.preempted {
                // It may be taken away at any time of its slice.
                let lost = Ticks((busy.slice_us * TICKS_PER_US * random.f64()) as u64);
                for time in [&mut sample.fastest, &mut sample.median, &mut sample.slowest] {
                    time.0 += lost.0;
                }
                sample.disturbance = (random.f64() < busy.seen).then_some(Disturbance::InvoluntarySwitch);
            }
            Ok(sample)
        });
        found = Some(engine.measure_block(&mut experiment, found, seed).unwrap());
    }
    let mut found = found.unwrap();
    found.settle();
    (found.verdict, found.estimate.map(|estimate| estimate.ns.value()))
}

/// All but one of 40 blocks lose their CPU. What is left agrees with itself.
#[test]
fn what_is_left_of_one_block_is_not_resolved() {
    let verdict_of = |lost: u32, cause: Disturbance| {
        let rule = PrecisionRule { precision: 0.01, min_pairs: 6, max_pairs: 240, max_time: Duration::from_secs(3600) };
        let settings = Settings {
            sample: Duration::from_micros(40),
            blocks: BlockCount { min: 40, max: 40 },
            ..Settings::with_rule(rule)
        };
        let engine = Engine::new(settings, Cancel::new());
        let mut found: Option<Measurement> = None;
        while found.as_ref().is_none_or(|found| engine.needs_another_block(found)) {
            let is_lost = found.as_ref().map_or(0, |found| found.blocks) < lost;
            let fake = FakeExperiment::new(5.0, 3).with_noise(Noise::Normal(50.0));
            let disturbance = is_lost.then_some(cause);
            let mut experiment =
                Altered::of(fake, |fake, shot| fake.sample(shot).map(|sample| Sample { disturbance, ..sample }));
            found = Some(engine.measure_block(&mut experiment, found, 1).unwrap());
        }
        let mut found = found.unwrap();
        found.settle();
        found.verdict
    };
    assert_eq!(verdict_of(0, Disturbance::InvoluntarySwitch), Verdict::Resolved);
    assert_eq!(verdict_of(20, Disturbance::InvoluntarySwitch), Verdict::Resolved, "half of the blocks are enough");
    for cause in [Disturbance::InvoluntarySwitch, Disturbance::Migration] {
        let verdict = verdict_of(39, cause);
        assert!(
            verdict.name() == "Interfered" && verdict.reason().contains("39 of 40 measurement blocks"),
            "{verdict:?}"
        );
    }
    assert_eq!(verdict_of(10, Disturbance::NotTogether), Verdict::Resolved);
    let apart = verdict_of(21, Disturbance::NotTogether);
    assert!(apart.name() == "NotTogether" && apart.reason().contains("pairs excluded (not together"), "{apart:?}");
    assert_eq!(verdict_of(39, Disturbance::SmtInterference), Verdict::Resolved, "moments alone are what is asked for");
}

#[test]
fn what_is_resolved_is_right() {
    let cases: u64 = std::env::var("SYNCSCOPE_SIMULATIONS").map_or(40, |count| count.parse().unwrap());
    for busy in MACHINES {
        let (mut resolved, mut right) = (0, 0);
        for seed in 0..cases {
            let cost_ns = 1.5 * 1.1_f64.powf((seed % 50) as f64);
            if let (Verdict::Resolved, Some(ns)) = measure(busy, cost_ns, seed) {
                resolved += 1;
                right += u64::from((ns / cost_ns - 1.0).abs() <= 0.1);
            }
        }
        println!("{:26} {resolved:4} of {cases} resolved, {right:4} within 10 % of the true cost", busy.name);
        assert!(right as f64 >= 0.95 * f64::from(resolved), "{}: {right} of {resolved}", busy.name);
        assert!(f64::from(resolved) >= busy.least_resolved * cases as f64, "{}: {resolved} resolved", busy.name);
    }
}
