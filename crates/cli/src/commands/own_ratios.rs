//! The ratios of two operations of a user that were measured in turn, in each layout of the code or each pass, and where their order
//! changes.

use std::collections::{BTreeMap, HashMap, HashSet};

use syncscope_core::run::samples::StoredPair;
use syncscope_core::stats::{layouts, median};
use syncscope_core::{Case, CaseId, Disturbance, Domain};
use syncscope_report::Change;

/// For each case of the second operation, the ratios of the first one's cost to its cost: the user asks about the first. Also
/// the cases in which both operations had neighbours on their cores.
pub(super) fn ratios_of_cases(
    [ids_of_a, ids_of_b]: [&HashMap<CaseId, CaseId>; 2],
    pairs: &HashMap<CaseId, Vec<StoredPair>>,
    domain: Domain,
    by_loops: bool,
) -> (BTreeMap<CaseId, Vec<f64>>, HashSet<CaseId>) {
    let (mut found, mut beside) = (BTreeMap::new(), HashSet::new());
    for (id, of_b) in ids_of_b {
        let Some(pairs) = ids_of_a.get(id).and_then(|of_a| Some([pairs.get(of_a)?, pairs.get(of_b)?])) else {
            continue;
        };
        let (ratios, is_beside) = ratios(pairs, domain, by_loops);
        beside.extend(is_beside.then(|| id.clone()));
        found.insert(id.clone(), ratios);
    }
    (found, beside)
}

/// The ratios of two costs in each layout of the code, or in each pass, and whether they are of moments beside neighbours. Rows
/// are about threads that are alone on their cores. Where neighbours leave few such moments, both operations have the neighbours,
/// one right after the other, and their ratio is known better there: the kind of moments counts that more passes have of both.
fn ratios(pairs: [&Vec<StoredPair>; 2], domain: Domain, by_loops: bool) -> (Vec<f64>, bool) {
    let cost = if by_loops { time_of_loops } else { |pair: &StoredPair| pair.ns };
    let of = |set_aside: Option<&str>| {
        let [a, b] = pairs.map(|pairs| costs_of_passes(pairs, set_aside, cost));
        let in_passes: Vec<f64> = layouts::of_passes(&a, &b).into_iter().map(|(_, ratio)| ratio).collect();
        let in_layouts = if domain == Domain::Cpu { layouts::ratios(&a, &b) } else { Vec::new() };
        (in_passes.len(), if in_layouts.is_empty() { in_passes } else { in_layouts })
    };
    let [alone, beside] = [None, Some(Disturbance::SmtInterference.as_str())].map(of);
    if beside.0 > alone.0 { (beside.1, true) } else { (alone.1, false) }
}

/// The cost of a case in each pass over the cases, by the pairs set aside for this reason. Every operation has a block in each
/// pass.
fn costs_of_passes(pairs: &[StoredPair], set_aside: Option<&str>, cost: fn(&StoredPair) -> f64) -> BTreeMap<u32, f64> {
    let mut passes: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for pair in pairs.iter().filter(|pair| pair.set_aside.as_deref() == set_aside) {
        passes.entry(pair.block).or_default().push(cost(pair));
    }
    passes.into_iter().filter_map(|(pass, costs)| Some((pass, median(&costs)?))).collect()
}

/// The time of both loops together, which hold the operation once and twice. The place of the code changes each loop's time by
/// less than their difference. In a window, only the test takes time.
fn time_of_loops(pair: &StoredPair) -> f64 {
    let [baseline, test] = [pair.baseline_ticks, pair.test_ticks].map(|ticks| ticks.0 as f64);
    pair.ns * (test + baseline) / (test - baseline)
}

/// ` (1 thread close)`; empty without parameters.
pub(super) fn in_brackets(case: &Case) -> String {
    Some(case.parameters()).filter(|text| !text.is_empty()).map_or_else(String::new, |text| format!(" ({text})"))
}

/// The number of threads or blocks from which the other one of two operations is cheaper, where the order changes once.
pub(super) fn crossings(cases: &[(&Case, Change)], first: &str, other: &str) -> Vec<String> {
    type Axis = (&'static str, fn(&mut Case) -> &mut Option<u32>);
    const AXES: [Axis; 2] = [("threads", |case| &mut case.threads), ("blocks", |case| &mut case.blocks)];
    let mut found = Vec::new();
    for (unit, of) in AXES {
        // For each combination of the other parameters: the number, and whether the first operation is cheaper.
        let mut lines: BTreeMap<Case, Vec<(u32, bool)>> = BTreeMap::new();
        for (case, change) in cases {
            let mut rest = (*case).clone();
            let number = of(&mut rest).take();
            if let (Some(number), Change::Faster | Change::Slower) = (number, change) {
                lines.entry(rest).or_default().push((number, *change == Change::Faster));
            }
        }
        for (rest, mut line) in lines {
            line.sort_unstable();
            let switches: Vec<&[(u32, bool)]> = line.windows(2).filter(|pair| pair[0].1 != pair[1].1).collect();
            if let [[_, (number, first_is_cheaper)]] = switches[..] {
                let cheaper = if *first_is_cheaper { first } else { other };
                found.push(format!("{cheaper} is cheaper from {number} {unit} on{}", in_brackets(&rest)));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use syncscope_core::Ticks;

    use super::*;

    fn stored(block: u32, baseline: u64, test: u64) -> StoredPair {
        StoredPair {
            pair: 0,
            baseline_first: true,
            baseline_ticks: Ticks(baseline),
            test_ticks: Ticks(test),
            ns: (test as f64 - baseline as f64) / 100.0,
            cycles: None,
            set_aside: None,
            block,
            beside: None,
        }
    }

    /// Loops that hold an operation once and twice, with samples that tell less about their difference than about themselves.
    #[test]
    fn operations_are_compared_by_their_loops() {
        let of = |factor: f64, lie: fn(u32) -> u64| -> Vec<StoredPair> {
            let ticks = |of: u64| (of as f64 * factor) as u64;
            (1..=layouts::LAYOUTS).map(|pass| stored(pass, ticks(10_000) + lie(pass), ticks(20_000))).collect()
        };
        let [one, more] = [of(1.0, |pass| u64::from(pass % 5) * 300), of(1.02, |pass| u64::from(pass % 3) * 300)];
        let spread =
            |ratios: &[f64]| ratios.iter().copied().fold(0.0, f64::max) / ratios.iter().copied().fold(9.0, f64::min);
        let [by_loops, by_cost] = [true, false].map(|by_loops| ratios([&more, &one], Domain::Cpu, by_loops).0);
        assert_eq!(by_loops.len(), layouts::LAYOUTS as usize);
        assert!(spread(&by_loops) < 1.07 && spread(&by_cost) > 1.18, "{} {}", spread(&by_loops), spread(&by_cost));
        assert!(
            (time_of_loops(&stored(1, 100, 300)) - 4.0).abs() < 1e-9
                && (time_of_loops(&stored(1, 300, 100)) - 4.0).abs() < 1e-9
        );
        assert!((time_of_loops(&stored(1, 0, 300)) - 3.0).abs() < 1e-9, "in a window the test alone takes time");
    }

    /// On a machine whose neighbours use its cores nearly all the time: one operation costs 2 % more, and all costs vary.
    #[test]
    fn operations_are_compared_beside_the_neighbours_that_both_have() {
        let mut random = fastrand::Rng::with_seed(65);
        let mut of = |factor: f64, alone: fn(u32) -> bool| -> Vec<StoredPair> {
            let mut pair = |pass: u32| {
                let neighbour = if alone(pass) { 1.0 } else { 1.5 + f64::from(pass % 40) / 100.0 };
                let test = 20_000.0 * factor * neighbour * (1.0 + 0.1 * (random.f64() - 0.5));
                let set_aside = (!alone(pass)).then(|| Disturbance::SmtInterference.to_string());
                StoredPair { set_aside, ..stored(pass, 0, test as u64) }
            };
            (1..=10 * layouts::LAYOUTS).flat_map(|pass| [pair(pass), pair(pass), pair(pass)]).collect()
        };
        for alone in [|pass| pass % 64 == 0, |pass| pass % 64 != 0] {
            let (found, is_beside) = ratios([&of(1.02, alone), &of(1.0, alone)], Domain::Cpu, true);
            assert_eq!(is_beside, !alone(1));
            let middle = median(&found).unwrap();
            assert!(
                found.len() == layouts::LAYOUTS as usize && (middle - 1.02).abs() < 0.005,
                "{middle} {}",
                found.len()
            );
        }
    }

    #[test]
    fn where_the_answer_changes_once_it_is_said() {
        use Change::{Faster, Same, Slower, Undecided};
        let case = |threads, blocks| Case { threads: Some(threads), blocks: Some(blocks), ..Case::new("gpu.own.a") };
        let cases = [case(1, 1), case(2, 1), case(4, 1), case(8, 1), case(1, 2), case(8, 2)];
        let said = |changes: [Change; 6]| -> Vec<String> {
            let compared: Vec<(&Case, Change)> = cases.iter().zip(changes).collect();
            crossings(&compared, "a", "b")
        };
        let once = said([Faster, Undecided, Slower, Slower, Same, Slower]);
        assert_eq!(once, ["b is cheaper from 4 threads on (1 block)"]);
        assert_eq!(said([Faster, Slower, Faster, Faster, Faster, Faster]), [""; 0], "to and fro");
        let blocks = said([Slower, Slower, Slower, Slower, Faster, Slower]);
        assert!(blocks.contains(&"a is cheaper from 2 blocks on (1 thread)".to_owned()), "{blocks:?}");
    }
}
