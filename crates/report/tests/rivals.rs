//! How often is the cheaper of two rivals known, and does the next run agree? Locks and barriers with two and more threads,
//! in the runs of `results/calibration`, most of which were measured next to neighbours that took half of the samples.
//!
//! `SYNCSCOPE_UPDATE=1 cargo test -p syncscope-report --test rivals` writes `rivals.csv` there. Two runs count as opposed
//! only if both order the pair. The tables with two CPUs include runs on hosts that moved the CPUs in between, which
//! reverses locks by a factor.
#![allow(clippy::unwrap_used, reason = "what a test needs and does not get fails the test")]

mod common;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use syncscope_core::run::rivals;
use syncscope_core::stats::{Interval, median};
use syncscope_core::{Case, Nanoseconds, Role, Row};
use syncscope_report::RunData;

/// What the runs of a table say about two rivals.
#[derive(Default)]
struct Pair {
    /// The logarithm of the ratio of their costs.
    ratios: Vec<f64>,
    /// Which of the two each run calls cheaper, by the interval of the ratio and by the intervals of both costs.
    orders: [Vec<Option<bool>>; 2],
}

/// Rows that can replace each other in a program, with two or more threads.
fn rows(run: &RunData) -> impl Iterator<Item = (&Row, Role)> {
    let role = |row: &Row| run.catalogue.facts(&row.case.primitive).map(|facts| facts.role);
    let is_meant = |row: &&Row| row.case.form.is_none() && row.case.threads > Some(1) && row.run_to_run.is_some();
    let all = run.rows.iter().filter(is_meant).filter_map(move |row| Some((row, role(row)?)));
    all.filter(|(_, role)| [Role::ThreadLock, Role::ThreadBarrier].contains(role))
}

fn pairs(runs: &[RunData]) -> BTreeMap<[Case; 2], Pair> {
    let mut pairs: BTreeMap<[Case; 2], Pair> = BTreeMap::new();
    let same = |case: &Case| Case { primitive: String::new(), ..case.clone() };
    for run in runs {
        let all: Vec<(&Row, Role)> = rows(run).collect();
        for (at, (one, role)) in all.iter().enumerate() {
            for (other, _) in all[..at].iter().filter(|(other, of)| of == role && same(&other.case) == same(&one.case))
            {
                let mut both = [*one, *other];
                both.sort_by(|a, b| a.case.cmp(&b.case));
                let [a, b] = both;
                let cost = |row: &Row| row.ns.map(Nanoseconds::value);
                let (Some(ratio), Some(ns), Some(other_ns)) = (rivals::ratio(a, b), cost(a), cost(b)) else { continue };
                let pair = pairs.entry(both.map(|row| row.case.clone())).or_default();
                pair.ratios.push((ns / other_ns).ln());
                pair.orders[0].push(order(ratio, Interval { low: 1.0, high: 1.0 }));
                pair.orders[1].push(a.ns_within.zip(b.ns_within).and_then(|(a, b)| order(a, b)));
            }
        }
    }
    pairs.retain(|_, pair| pair.ratios.len() > 1);
    pairs
}

/// Whether `one` is above `other`; `None` if they overlap.
fn order(one: Interval, other: Interval) -> Option<bool> {
    (one.low > other.high || one.high < other.low).then_some(one.low > other.high)
}

/// The number of orders asked for and of those known, and the number of pairs of runs that know an order and of those that
/// contradict each other.
fn counted(orders: &[Option<bool>]) -> [usize; 4] {
    let known: Vec<bool> = orders.iter().flatten().copied().collect();
    let above = known.iter().filter(|above| **above).count();
    let below = known.len() - above;
    [orders.len(), known.len(), known.len() * known.len().saturating_sub(1) / 2, above * below]
}

#[test]
fn the_cheaper_of_two_rivals_is_known_and_the_next_run_agrees() {
    let catalogue = common::catalogue();
    let mut table =
        "table,cost_at_least,pairs,known,of_two_runs,opposed,known_by_costs,of_two_runs_by_costs,opposed_by_costs\n"
            .to_owned();
    for (name, path) in common::tables() {
        let pairs = pairs(&common::runs(&path, &catalogue));
        for (least, most) in [(1.5, f64::INFINITY), (1.2, 1.5), (1.0, 1.2)] {
            let differs = |pair: &&Pair| {
                let times = median(&pair.ratios).unwrap().abs().exp();
                (least..most).contains(&times)
            };
            let mut sums = [[0; 4]; 2];
            for pair in pairs.values().filter(differs) {
                for (sum, orders) in sums.iter_mut().zip(&pair.orders) {
                    sum.iter_mut().zip(counted(orders)).for_each(|(sum, count)| *sum += count);
                }
            }
            let [[all, known, both, opposed], [_, by_costs, both_by_costs, opposed_by_costs]] = sums;
            writeln!(
                table,
                "{name},{least},{all},{known},{both},{opposed},{by_costs},{both_by_costs},{opposed_by_costs}"
            )
            .unwrap();
            assert!(name.contains("2cpu") || least < 1.2 || opposed == 0, "{name}: {opposed} of {both} are opposed");
        }
    }
    let path = common::folder().join("rivals.csv");
    if std::env::var_os("SYNCSCOPE_UPDATE").is_some() {
        fs::write(&path, &table).unwrap();
    }
    let stored = fs::read_to_string(path).unwrap_or_default();
    assert!(
        stored == table,
        "rivals.csv is not what the tables say: SYNCSCOPE_UPDATE=1 cargo test -p syncscope-report --test rivals"
    );
}
