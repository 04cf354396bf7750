//! Are rivals ordered rightly where all of them meet the same disturbances? Simulated runs whose costs double and halve from process
//! to process, drift, and have outliers of their own.
#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]

use syncscope_core::detail::Details;
use syncscope_core::run::{another_run, rivals};
use syncscope_core::stats::Interval;
use syncscope_core::{Case, Catalogue, Detail, Facts, Nanoseconds, Primitive, Role, Row, Verdict};

const LOCKS: [&str; 8] =
    ["cpu.lock.a", "cpu.lock.b", "cpu.lock.c", "cpu.lock.d", "cpu.lock.e", "cpu.lock.f", "cpu.lock.g", "cpu.lock.h"];
const SIZES: [u32; 5] = [2, 4, 8, 16, 32];

fn catalogue() -> Catalogue {
    let primitive = |id| Primitive { id, summary: "", operation: "", source: "", facts: Facts::of(Role::ThreadLock) };
    LOCKS.into_iter().map(primitive).collect()
}

/// How the processes of a case differ beyond what all cases share.
#[derive(Debug, Clone, Copy)]
enum Law {
    Normal,
    /// Student's t with three degrees of freedom.
    HeavyTails,
    /// By ten times as much for one lock as for another.
    Unequal,
    /// One process in ten costs a half more.
    Outliers,
}

struct Random(fastrand::Rng);

impl Random {
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.0.f64()).sum::<f64>() - 6.0
    }

    fn own(&mut self, law: Law, lock: usize) -> f64 {
        let normal = 0.05 * self.normal();
        match law {
            Law::HeavyTails => normal / ((0..3).map(|_| self.normal().powi(2)).sum::<f64>() / 3.0).sqrt(),
            Law::Unequal => normal * 10_f64.powf(lock as f64 / 7.0) / 3.0,
            Law::Outliers if self.0.f64() < 0.1 => normal + 0.5_f64.ln_1p(),
            Law::Normal | Law::Outliers => normal,
        }
    }
}

/// A run in which every lock costs `step` times as much as the one before. What all share changes by a factor of two from process
/// to process, and grows while the run goes on.
fn run(law: Law, step: f64, processes: u32, seed: u64) -> Vec<Row> {
    let mut random = Random(fastrand::Rng::with_seed((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let states: Vec<f64> = (0..processes).map(|at| 0.7 * random.normal() + 0.2 * f64::from(at)).collect();
    let (mut rows, mut details) = (Vec::new(), Details::new());
    for threads in SIZES {
        for (at, lock) in LOCKS.into_iter().enumerate() {
            let case = Case { threads: Some(threads), ..Case::new(lock) };
            let of_process = |(process, state): (usize, &f64)| {
                let cost = 100.0 * step.powf(at as f64) * (state + random.own(law, at)).exp();
                Detail { name: Detail::PROCESS_NS.into(), actor: Some(process as u32), value: cost }
            };
            let of_processes: Vec<Detail> = states.iter().enumerate().map(of_process).collect();
            let mean = of_processes.iter().map(|of| of.value.ln()).sum::<f64>() / f64::from(processes);
            details.insert(case.id(), of_processes);
            let (ns, ns_within) = (Some(Nanoseconds(mean.exp())), Some(Interval { low: 0.0, high: f64::MAX }));
            rows.push(Row { ns, ns_within, ..Row::unmeasured(case, Verdict::Resolved) });
        }
    }
    another_run::derive(&mut rows, &details, &catalogue(), &[], &[]);
    rows
}

/// The ratios of each lock over each one before it.
fn ratios(rows: &[Row]) -> Vec<Interval> {
    let mut found = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let before = rows[..at].iter().filter(|other| other.case.threads == row.case.threads);
        found.extend(before.filter_map(|other| rivals::ratio(row, other)));
    }
    found
}

/// The shares of the ratios that lie wholly below 1 and wholly above 1.
fn ordered(law: Law, step: f64, processes: u32) -> [f64; 2] {
    let found: Vec<Interval> = (0..60).flat_map(|seed| ratios(&run(law, step, processes, seed))).collect();
    assert_eq!(found.len(), 60 * SIZES.len() * LOCKS.len() * (LOCKS.len() - 1) / 2);
    let share = |is_meant: fn(&Interval) -> bool| {
        found.iter().filter(|ratio| is_meant(ratio)).count() as f64 / found.len() as f64
    };
    [share(|ratio| ratio.high < 1.0), share(|ratio| ratio.low > 1.0)]
}

const LAWS: [Law; 4] = [Law::Normal, Law::HeavyTails, Law::Unequal, Law::Outliers];

#[test]
fn equal_rivals_are_not_ordered() {
    for law in LAWS {
        for processes in [3, 7] {
            let [below, above] = ordered(law, 1.0, processes);
            assert!(below + above <= 0.012, "{law:?}, {processes} processes: {below} and {above}");
        }
    }
}

#[test]
fn rivals_are_ordered_although_the_machine_doubles_the_costs_of_all() {
    for law in LAWS {
        let [wrong, right] = ordered(law, 1.5, 7);
        assert!(wrong == 0.0 && right >= 0.95, "{law:?}: {right} and {wrong}");
    }
    let [wrong, right] = ordered(Law::Normal, 1.2, 7);
    assert!(wrong == 0.0 && right >= 0.85, "{right} and {wrong}");
}

#[test]
fn two_processes_order_nothing() {
    let rows = run(Law::Normal, 4.0, 2, 1);
    assert_eq!(ratios(&rows), []);
}
