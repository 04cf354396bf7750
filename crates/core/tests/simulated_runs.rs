//! Does the interval within a run hold? Simulated runs of machines whose state changes in the course of a run. Runs that
//! differ from one another are in `another_run.rs`.
//!
//! `SYNCSCOPE_SIMULATIONS=2000 cargo test --release -p syncscope-core --test simulated_runs -- --nocapture` simulates as
//! many runs of each kind and shows the shares; without the variable there are fewer.
#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]
#![allow(clippy::print_stdout, reason = "the shares are read by people")]

mod altered;

use std::time::Duration;

use altered::Altered;
use syncscope_core::fake::{FakeExperiment, Noise};
use syncscope_core::run::repeats;
use syncscope_core::sample::ActorTime;
use syncscope_core::stopping::PrecisionRule;
use syncscope_core::{
    Actor, BlockCount, Cancel, Case, Catalogue, Engine, Experiment, ExperimentError, Measurement, Population, Row,
    Sample, Settings, Shot, Side, Ticks, Verdict,
};

const COST_NS: f64 = 5.0;

/// About as many blocks as the quick preset takes on a machine with 16 CPUs.
const BLOCKS: BlockCount = BlockCount { min: 120, max: 120 };

/// What differs from run to run and in the course of a run.
#[derive(Debug, Clone, Copy)]
enum Machine {
    /// Nothing but independent noise.
    Steady,
    /// Blocks differ by 5 %.
    Blocks,
    /// Each sample is off in proportion to its length, log-normal with this sigma.
    Proportional(f64),
    /// Only the samples of one loop are noisy, by a part of their length.
    OneLoop(Side, f64),
    /// A state that costs a fifth more, `share` of the time. A state lasts for `lasts` blocks on average.
    States { lasts: f64, share: f64 },
    /// Another hardware thread is busy for `share` of the time, in which an operation costs a fifth more.
    Neighbour { lasts: f64, share: f64 },
}

fn runs() -> u64 {
    std::env::var("SYNCSCOPE_SIMULATIONS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(50)
}

fn engine() -> Engine {
    let max_pairs = 6 * u64::from(BLOCKS.max);
    // Time is not simulated: pairs alone end a measurement.
    let rule = PrecisionRule { precision: 0.01, min_pairs: 6, max_pairs, max_time: Duration::from_secs(3600) };
    let settings = Settings { sample: Duration::from_micros(20), blocks: BLOCKS, ..Settings::with_rule(rule) };
    Engine::new(settings, Cancel::new())
}

/// The random course of one run.
struct Course {
    machine: Machine,
    random: fastrand::Rng,
    is_high: bool,
}

impl Course {
    fn new(machine: Machine, seed: u64) -> Self {
        let mut course = Self { machine, random: fastrand::Rng::with_seed(seed), is_high: false };
        if let Machine::States { share, .. } | Machine::Neighbour { share, .. } = machine {
            course.is_high = course.random.f64() < share;
        }
        course
    }

    /// The sum of twelve uniform numbers is all but normal.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.random.f64()).sum::<f64>() - 6.0
    }

    /// The cost in the next block, without a neighbour.
    fn next_block(&mut self) -> f64 {
        if let Machine::States { lasts, share } | Machine::Neighbour { lasts, share } = self.machine
            && self.random.f64() < 1.0 / lasts
        {
            self.is_high = self.random.f64() < share;
        }
        let factor = match self.machine {
            Machine::Blocks => 1.0 + 0.05 * self.normal(),
            Machine::States { .. } if self.is_high => 1.2,
            _ => 1.0,
        };
        COST_NS * factor
    }
}

/// One sample of a block whose operations cost this much.
fn sample(
    machine: Machine,
    is_beside: bool,
    fake: &mut FakeExperiment,
    shot: Shot,
    random: &mut fastrand::Rng,
) -> Result<Sample, ExperimentError> {
    let mut found = fake.sample(shot)?;
    let noise = match machine {
        Machine::OneLoop(side, sigma) if side == shot.side => {
            1.0 + sigma * ((0..12).map(|_| random.f64()).sum::<f64>() - 6.0)
        }
        Machine::Neighbour { .. } if is_beside => 1.2,
        _ => 1.0,
    };
    found.slowest = Ticks((found.slowest.0 as f64 * noise) as u64);
    if let Machine::Neighbour { .. } = machine {
        found.actors = vec![ActorTime { elapsed: found.slowest, smt_interference: is_beside }];
        found.median = found.slowest;
    }
    Ok(found)
}

fn measure(machine: Machine, population: Population, seed: u64) -> Measurement {
    let engine = engine();
    let mut course = Course::new(machine, seed);
    let mut random = fastrand::Rng::with_seed(!seed);
    let noise =
        if let Machine::Proportional(sigma) = machine { Noise::Proportional(sigma) } else { Noise::Normal(200.0) };
    let mut found: Option<Measurement> = None;
    while found.as_ref().is_none_or(|found| engine.needs_another_block(found)) {
        let cost_ns = course.next_block();
        let block = found.as_ref().map_or(0, |found| found.blocks);
        let fake = FakeExperiment::new(cost_ns, seed << 8 | u64::from(block)).with_noise(noise);
        let is_beside = course.is_high;
        let altered = Altered::of(fake, |fake, shot| sample(machine, is_beside, fake, shot, &mut random));
        let actor = if population == Population::Alone { Actor::Median } else { Actor::Slowest };
        let mut experiment = Altered { actor, population, ..altered };
        found = Some(engine.measure_block(&mut experiment, found, seed).unwrap());
    }
    found.unwrap()
}

/// The share of the runs whose interval within the run covers the true value, or that do not call it resolved; and the share
/// that is resolved.
fn covered(machine: Machine, population: Population, another: impl Fn(u64) -> f64) -> (f64, f64) {
    let (mut right, mut resolved) = (0, 0);
    for seed in 0..runs() {
        let found = measure(machine, population, seed);
        if found.verdict == Verdict::Resolved {
            resolved += 1;
            let estimate = found.estimate.unwrap();
            right += u64::from(estimate.ns_within.unwrap().contains(another(seed)));
        } else {
            right += 1;
        }
    }
    (right as f64 / runs() as f64, f64::from(resolved) / runs() as f64)
}

/// Simulates and demands that at least 93 of 100 figures hold.
fn demand(name: &str, machine: Machine, population: Population, least_resolved: f64, another: impl Fn(u64) -> f64) {
    let (coverage, resolved) = covered(machine, population, another);
    println!("{name:46} covered or not resolved {:5.1} %, resolved {:5.1} %", coverage * 100.0, resolved * 100.0);
    // The standard error of a share of 0.95 from 50 runs is 3.1 %.
    let allowance = 2.0 * (0.95 * 0.05 / runs() as f64).sqrt();
    let least = if runs() < 1000 { 0.95 - allowance } else { 0.93 };
    assert!(coverage >= least, "{name}: {coverage}");
    assert!(resolved >= least_resolved, "{name}: {resolved} resolved");
}

#[test]
fn a_steady_machine() {
    demand("steady", Machine::Steady, Population::All, 0.99, |_| COST_NS);
}

#[test]
fn blocks_that_differ() {
    demand("blocks differ by 5 %", Machine::Blocks, Population::All, 0.99, |_| COST_NS);
}

#[test]
fn noise_in_proportion_to_the_sample() {
    for (sigma, least_resolved) in [(0.02, 0.99), (0.1, 0.95), (0.3, 0.0)] {
        let machine = Machine::Proportional(sigma);
        demand(&format!("proportional noise of {sigma}"), machine, Population::All, least_resolved, |_| COST_NS);
    }
}

#[test]
fn noise_in_one_loop() {
    for side in [Side::Baseline, Side::Test] {
        let machine = Machine::OneLoop(side, 0.05);
        demand(&format!("noise in one loop, {side:?}"), machine, Population::All, 0.99, |_| COST_NS);
    }
}

/// The median over a very long run of blocks of six pairs, this share of them in the state that costs a fifth more.
fn median_of_block_medians(share: f64) -> f64 {
    let engine = engine();
    let mut random = fastrand::Rng::with_seed(1);
    let mut medians: Vec<f64> = (0..4_001)
        .map(|seed| {
            let cost_ns = COST_NS * if random.f64() < share { 1.2 } else { 1.0 };
            let mut experiment = FakeExperiment::new(cost_ns, seed).with_noise(Noise::Normal(200.0));
            engine.measure_block(&mut experiment, None, seed).unwrap().estimate.unwrap().ns.value()
        })
        .collect();
    medians.sort_unstable_by(f64::total_cmp);
    medians[2_000]
}

#[test]
fn a_state_that_lasts() {
    for lasts in [1.0, 5.0] {
        for share in [0.1, 0.35, 0.5] {
            let machine = Machine::States { lasts, share };
            let truth = median_of_block_medians(share);
            demand(&format!("a state of {lasts} blocks, {share} of them high"), machine, Population::All, 0.0, |_| {
                truth
            });
        }
    }
}

#[test]
fn a_neighbour_that_stays() {
    for lasts in [1.0, 5.0] {
        for share in [0.2, 0.5, 0.8] {
            let machine = Machine::Neighbour { lasts, share };
            let name = |population| format!("a neighbour for {lasts} blocks, {share} of them, {population}");
            demand(&name(Population::Alone), machine, Population::Alone, 0.9, |_| COST_NS);
            // All moments: the mean of both costs by their shares.
            let all = COST_NS * (1.0 + 0.2 * share);
            demand(&name(Population::All), machine, Population::All, 0.0, |_| all);
        }
    }
}

/// The row of a case in one run.
fn row(machine: Machine, seed: u64) -> Row {
    Row::measured(Case::new("cpu.barrier.std"), None, &measure(machine, Population::All, seed))
}

#[test]
fn a_state_that_lasts_for_a_good_part_of_a_run_needs_repeated_runs() {
    const RUNS: u64 = 5;
    let machine = Machine::States { lasts: 20.0, share: 0.35 };
    let trials = (runs() / 2).max(20);
    let covered = (0..trials).filter(|trial| {
        let first = trial * (RUNS + 1);
        let repeated: Vec<Vec<Row>> = (first..first + RUNS).map(|seed| vec![row(machine, seed)]).collect();
        let joined = repeats::join(&repeated, &Catalogue::default(), &[]).remove(0);
        let another = row(machine, first + RUNS).ns.unwrap().value();
        joined.verdict != Verdict::Resolved || joined.ns_interval.unwrap().contains(another)
    });
    let coverage = covered.count() as f64 / trials as f64;
    println!("five runs, a state of 20 blocks                covered or not resolved {:5.1} %", coverage * 100.0);
    assert!(coverage >= 0.95 - 2.0 * (0.95 * 0.05 / trials as f64).sqrt(), "{coverage}");
}
