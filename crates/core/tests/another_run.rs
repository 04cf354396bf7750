//! Does the interval to quote hold for another run? Simulated runs by laws that the statistics are not told: processes that differ
//! with heavy tails or in two modes, drift, factors that all cases share, blocks with outliers.
//!
//! `SYNCSCOPE_SIMULATIONS=1000 cargo test --release -p syncscope-core --test another_run -- --nocapture` simulates as many pairs of
//! runs of each law and shows the shares; without the variable there are fewer.
#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]
#![allow(clippy::print_stdout, reason = "the shares are read by people")]

use std::collections::HashMap;

use syncscope_core::run::another_run::{self, Shared};
use syncscope_core::stats::{Clustered, Level, median};
use syncscope_core::{Case, Catalogue, Detail, Facts, Nanoseconds, Primitive, Role, Row, RunEffect, Verdict};

const CASES: usize = 24;
const PROCESSES: u32 = 7;
const BLOCKS: u32 = 12;

/// How processes differ in a case, beyond what all cases share.
#[derive(Debug, Clone, Copy)]
enum Law {
    /// By as much in each case.
    Normal,
    /// By 0.1 % in some cases and by several per cent in others.
    Unequal,
    /// Student's t with three degrees of freedom.
    HeavyTails,
    /// A fifth of the processes is 3 % more expensive.
    TwoModes,
    /// Neighbouring blocks resemble each other, and more so than those of different processes.
    Drift,
    /// A twentieth of the blocks costs a half more.
    Outliers,
}

struct Random(fastrand::Rng);

impl Random {
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.0.f64()).sum::<f64>() - 6.0
    }

    fn heavy(&mut self) -> f64 {
        self.normal() / ((0..3).map(|_| self.normal().powi(2)).sum::<f64>() / 3.0).sqrt()
    }

    fn of_process(&mut self, law: Law, case: usize) -> f64 {
        match law {
            Law::Normal | Law::Outliers => 0.01 * self.normal(),
            Law::Unequal => 0.001 * 1.2_f64.powf(case as f64) * self.normal(),
            Law::HeavyTails => 0.006 * self.heavy(),
            Law::TwoModes => 0.03 * f64::from(u8::from(self.0.f64() < 0.2)) + 0.002 * self.normal(),
            Law::Drift => 0.002 * self.normal(),
        }
    }

    fn of_block(&mut self, law: Law, drift: &mut f64) -> f64 {
        *drift = 0.9 * *drift + 0.01 * self.normal();
        match law {
            Law::Drift => *drift,
            Law::Outliers if self.0.f64() < 0.05 => 0.4,
            Law::HeavyTails => 0.01 * self.heavy(),
            _ => 0.02 * self.normal(),
        }
    }
}

/// A case of the class, and its role in it.
fn case(number: usize) -> Case {
    Case { threads: Some(2 + number as u32), ..Case::new("cpu.barrier.std") }
}

fn catalogue(assumed: f64) -> Catalogue {
    let effect: fn(&Case) -> RunEffect = if assumed > 0.0 { |_| RunEffect::of_both(0.02) } else { |_| RunEffect::NONE };
    let facts = Facts { run_effect: effect, ..Facts::of(Role::ThreadBarrier) };
    [Primitive { id: "cpu.barrier.std", summary: "", operation: "", source: "", facts }].into_iter().collect()
}

/// The rows of a run, and what they share.
fn run(law: Law, cases: usize, seed: u64) -> (Vec<Row>, Vec<Shared>) {
    let mut random = Random(fastrand::Rng::with_seed((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let common: Vec<f64> = (0..PROCESSES).map(|_| 0.03 * random.normal()).collect();
    let (mut rows, mut details) = (Vec::new(), HashMap::new());
    for number in 0..cases {
        let mut blocks = Vec::new();
        let (mut of_case, mut drift) = (Vec::new(), 0.0);
        for process in 0..PROCESSES {
            let level = common[process as usize] + random.of_process(law, number);
            let own = (0..BLOCKS).map(|_| 100.0 * (level + random.of_block(law, &mut drift)).exp());
            let own: Vec<f64> = own.collect();
            of_case.push(Detail::of_actor(Detail::PROCESS_NS, (process + 1) % PROCESSES, median(&own).unwrap()));
            blocks.extend(own);
        }
        let clustered = Clustered::of(&(1..).zip(blocks).collect::<Vec<_>>()).unwrap();
        let logs: Vec<f64> = of_case.iter().map(|detail| detail.value.ln()).collect();
        rows.push(Row {
            ns: Some(Nanoseconds((logs.iter().sum::<f64>() / f64::from(PROCESSES)).exp())),
            ns_within: clustered.interval(Level::P95),
            ..Row::unmeasured(case(number), Verdict::Resolved)
        });
        details.insert(case(number).id(), of_case);
    }
    let shared = another_run::derive(&mut rows, &details, &catalogue(0.02));
    (rows, shared)
}

fn pairs() -> u32 {
    std::env::var("SYNCSCOPE_SIMULATIONS").ok().and_then(|pairs| pairs.parse().ok()).unwrap_or(60)
}

/// The share of the cases whose interval holds the figure of another run, less what the runs share; and that of the shared.
fn coverage(law: Law) -> (f64, f64, f64) {
    let (mut held, mut all, mut shared_held, mut widths) = (0_u32, 0_u32, 0_u32, Vec::new());
    for seed in (0..pairs()).map(u64::from) {
        let ((a, shared), (b, _)) = (run(law, CASES, 2 * seed), run(law, CASES, 2 * seed + 1));
        let log = |row: &Row| row.ns.unwrap().value().ln();
        let shift = median(&a.iter().zip(&b).map(|(a, b)| log(b) - log(a)).collect::<Vec<_>>()).unwrap();
        shared_held += u32::from(shift.abs() <= shared[0].another_run);
        for (a, b) in a.iter().zip(&b) {
            let interval = a.ns_interval.unwrap();
            held += u32::from(interval.contains((log(b) - shift).exp()));
            all += 1;
            widths.push(interval.half_width() / a.ns.unwrap().value());
        }
    }
    (f64::from(held) / f64::from(all), f64::from(shared_held) / f64::from(pairs()), median(&widths).unwrap())
}

#[test]
fn intervals_hold_the_figures_of_another_run() {
    for law in [Law::Normal, Law::Unequal, Law::HeavyTails, Law::TwoModes, Law::Drift, Law::Outliers] {
        let (held, shared, width) = coverage(law);
        println!(
            "{law:?}: {:.1} % of cases, {:.1} % of the shared, ±{:.2} %",
            held * 100.0,
            shared * 100.0,
            width * 100.0
        );
        assert!((0.92..=0.98).contains(&held), "{law:?}: {held}");
        assert!(shared >= 0.86, "{law:?}: {shared} of the shared");
    }
}
