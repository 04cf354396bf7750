//! Tests on pairs of runs measured by several processes each, by laws that the comparison is not told: factors that a class
//! shares in a process, heavy tails, and cases that differ in how much processes differ. The changes planted in the second
//! run are known.

use std::collections::HashMap;

use super::*;
use syncscope_core::run::another_run;
use syncscope_core::run::provenance::Tool;
use syncscope_core::{Cycles, Detail, Layout};

const PROCESSES: u32 = 7;
const CLOCK_GHZ: f64 = 3.0;

/// A machine in one state, and a build of the program.
#[derive(Clone, Copy)]
struct Setting {
    /// The clock of the cores; nanoseconds follow it, cycles do not.
    clock_ghz: f64,
    /// The factor by which hand-offs and locks cost more, and the largest further factor between them.
    lines: (f64, f64),
    /// The factor for the cycles of a single thread.
    cycles: f64,
    /// The factor by which every fourth case costs more, where nothing is shared and where lines move.
    planted: (f64, f64),
    binary: &'static str,
}

const USUAL: Setting =
    Setting { clock_ghz: CLOCK_GHZ, lines: (1.0, 1.0), cycles: 1.0, planted: (1.0, 1.0), binary: "one" };

/// The number of cases of each kind.
const CASES: u32 = 40;

fn is_planted(case: &Case) -> bool {
    case.threads.unwrap_or_default().is_multiple_of(4)
        || matches!(case.layout, Some(Layout::Private { stride }) if stride % 4 == 0)
}

fn alone(number: u32) -> Case {
    Case { threads: Some(1), layout: Some(Layout::Private { stride: number }), ..Case::new("cpu.atomic.add") }
}

fn cases() -> Vec<Case> {
    let lock = |number| Case { threads: Some(1 + number), ..Case::new("cpu.lock.ttas") };
    let handoffs = [2, 3, 5].map(|threads| Case { threads: Some(threads), ..Case::new("cpu.handoff.cas_pingpong") });
    (1..=CASES).map(alone).chain((1..=CASES).map(lock)).chain(handoffs).collect()
}

struct Random(fastrand::Rng);

impl Random {
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.0.f64()).sum::<f64>() - 6.0
    }

    /// Student's t with five degrees of freedom.
    fn heavy(&mut self) -> f64 {
        self.normal() / ((0..5).map(|_| self.normal().powi(2)).sum::<f64>() / 5.0).sqrt()
    }
}

fn run(name: &str, setting: Setting, seed: u64) -> RunData {
    let mut random = Random(fastrand::Rng::with_seed((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let clocks: Vec<f64> = (0..PROCESSES).map(|_| 0.01 * random.normal()).collect();
    let connection: Vec<f64> = (0..PROCESSES).map(|_| 0.03 * random.normal()).collect();
    let (mut rows, mut details) = (Vec::new(), HashMap::new());
    for (number, case) in cases().into_iter().enumerate() {
        let is_alone = case.threads == Some(1);
        let is_handoff = case.primitive == "cpu.handoff.cas_pingpong";
        let planted = if is_alone { setting.planted.0 } else { setting.planted.1 };
        let planted = if is_planted(&case) && !is_handoff { planted } else { 1.0 };
        // Where threads are placed elsewhere, each lock has its own factor.
        let spread = setting.lines.1.powf(f64::from(number as u32 % 7) / 6.0);
        let own = if is_alone { 0.002 } else { 0.004 * 1.05_f64.powf(f64::from(number as u32 % CASES)) };
        let of_process = |process: u32, random: &mut Random| {
            let cycles = if is_alone {
                20.0 * setting.cycles
            } else {
                300.0 * setting.lines.0 * if is_handoff { 1.0 } else { spread }
            };
            let line = if is_alone { 0.0 } else { connection[process as usize] };
            let cycles = cycles * planted * (own * random.heavy() + line).exp();
            (cycles / (setting.clock_ghz * clocks[process as usize].exp()), cycles)
        };
        let costs: Vec<(f64, f64)> = (0..PROCESSES).map(|process| of_process(process, &mut random)).collect();
        let point = |value: fn(&(f64, f64)) -> f64| {
            let logs: Vec<f64> = costs.iter().map(|cost| value(cost).ln()).collect();
            // Where nothing is shared, extremes do not count.
            let mut counted = logs.clone();
            counted.sort_by(f64::total_cmp);
            let counted = if is_alone { &counted[2..5] } else { &counted[..] };
            (counted.iter().sum::<f64>() / counted.len() as f64).exp()
        };
        let (ns, cycles) = (point(|cost| cost.0), point(|cost| cost.1));
        let of = |name: &'static str, value: fn(&(f64, f64)) -> f64| {
            (0..).zip(costs.clone()).map(move |(process, cost)| Detail::of_actor(name, process, value(&cost)))
        };
        let both = of(Detail::PROCESS_NS, |cost| cost.0).chain(of(Detail::PROCESS_CYCLES, |cost| cost.1)).collect();
        details.insert(case.id(), both);
        rows.push(Row {
            ns: Some(Nanoseconds(ns)),
            cycles: Some(Cycles(cycles)),
            ns_within: Some(Interval { low: ns * 0.99, high: ns * 1.01 }),
            pairs: Some(300),
            ..Row::unmeasured(case, Verdict::Resolved)
        });
    }
    let mut data = RunData { details, ..data(name, rows) };
    data.run.tool = Some(Tool { binary: Some(setting.binary.to_owned()), ..Tool::default() });
    data.run.shared = another_run::derive(&mut data.rows, &data.details, &data.catalogue, &[], &[]);
    data
}

/// The share of cases with one of these changes, over this many pairs of runs.
fn shares(pairs: u64, of_b: Setting, threshold: f64, wanted: &[Change], counts: impl Fn(&Case) -> bool) -> f64 {
    let (mut found, mut all) = (0, 0);
    for seed in 0..pairs {
        let (a, b) = (run("a", USUAL, 2 * seed), run("b", of_b, 2 * seed + 1));
        let comparison = compare(&a, &b, threshold);
        let counted = || comparison.cases.iter().filter(|compared| counts(&compared.a.case));
        found += counted().filter(|compared| wanted.contains(&compared.change)).count();
        all += counted().count();
    }
    found as f64 / all as f64
}

#[test]
fn runs_in_one_state_are_the_same() {
    let other_clock = Setting { clock_ghz: 3.4, lines: (1.08, 1.0), ..USUAL };
    for (of_b, pairs) in [(USUAL, 100), (other_clock, 20)] {
        for (threshold, pairs) in [(0.0, pairs), (0.05, 20)] {
            let different = shares(pairs, of_b, threshold, &[Change::Slower, Change::Faster], |_| true);
            assert!(different <= 0.01, "{different} of the cases differ by more than {threshold}");
        }
        let same = shares(20, of_b, 0.05, &[Change::Same], |_| true);
        assert!(same >= 0.8, "{same}");
    }
}

#[test]
fn slower_operations_of_another_build_are_found() {
    let of_b = Setting { planted: (1.03, 1.1), binary: "another", ..USUAL };
    let slower = [Change::Slower];
    let is_alone = |case: &Case| case.threads == Some(1);
    let alone = shares(20, of_b, 0.01, &slower, |case| is_alone(case) && is_planted(case));
    assert!(alone >= 0.9, "{alone} of the operations of one thread that cost 3 % more");
    let contended = |case: &Case| case.primitive == "cpu.lock.ttas" && is_planted(case);
    let found = shares(20, of_b, 0.0, &slower, contended);
    assert!(found >= 0.9, "{found} of the contended operations that cost 10 % more");
    let wrong = shares(20, of_b, 0.01, &[Change::Slower, Change::Faster], |case| !is_planted(case));
    assert!(wrong <= 0.01, "{wrong} of the others");
}

#[test]
fn another_state_is_named_and_nothing_is_slower_because_of_it() {
    let places = Setting { lines: (0.25, 6.0), ..USUAL };
    let neighbour = Setting { cycles: 1.2, lines: (1.15, 1.0), ..USUAL };
    // The clock of a process differs by 1 % from that of the run.
    let clock = Setting { clock_ghz: 3.4, ..USUAL };
    let named =
        [(places, true, "two nearby CPUs"), (neighbour, true, "a busy SMT sibling"), (clock, false, "core clock")];
    for (of_b, is_state, name) in named {
        let mut right = 0;
        for seed in 0..20 {
            let (a, b) = (run("a", USUAL, 2 * seed), run("b", of_b, 2 * seed + 1));
            let comparison = compare(&a, &b, 0.05);
            let text = comparison.states.sentences().join("; ");
            right += u32::from(text.contains(name) && text.contains("different machine states") == is_state);
            assert!(different(&comparison) * 100 <= comparison.cases.len(), "{name}: {text}");
        }
        assert!(right >= 19, "{name}: {right} of 20");
    }
}

#[test]
fn what_no_state_explains_is_judged() {
    // All single-thread operations take a fifth more cycles in another build, so its addition is not a fingerprint of the
    // machine.
    let of_b = Setting { cycles: 1.2, binary: "another", ..USUAL };
    let slower = shares(10, of_b, 0.05, &[Change::Slower], |case| case.threads == Some(1));
    assert!(slower >= 0.95, "{slower}");
}

#[test]
fn few_cases_do_not_tell_a_change_from_another_state() {
    let remarks = |most: usize| {
        let of = |name: &str, setting, seed, started: &str| {
            let mut data = run(name, setting, seed);
            let mut kept = 0;
            data.rows.retain(|row| {
                kept += usize::from(row.case.threads > Some(1) && row.case.primitive != "cpu.handoff.cas_pingpong");
                row.case.threads > Some(1) && row.case.primitive != "cpu.handoff.cas_pingpong" && kept <= most
            });
            data.run.shared = another_run::derive(&mut data.rows, &data.details, &data.catalogue, &[], &[]);
            data.run.started = started.to_owned();
            data
        };
        let (a, b) = (of("a", USUAL, 1, "1"), of("b", Setting { lines: (2.0, 1.0), ..USUAL }, 2, "2"));
        compare(&a, &b, 0.05).remarks.join("\n")
    };
    let warning = "another state of the machine would look like a change";
    assert!(remarks(1).contains(&format!("with 1 case of moving cache lines, {warning}")), "{}", remarks(1));
    assert!(!remarks(6).contains(warning), "{}", remarks(6));
}

/// The verdict of a case does not depend on which other cases are selected.
#[test]
fn a_selection_of_cases_is_judged_in_the_state_of_the_whole_runs() {
    let is_one = |case: &Case| case.primitive == "cpu.lock.ttas" && case.threads == Some(2);
    let places = Setting { lines: (2.0, 1.0), ..USUAL };
    for of_b in [USUAL, places] {
        let [mut a, mut b] = [run("a", USUAL, 2), run("b", of_b, 3)];
        b.run.started = "later".to_owned();
        let [whole_a, whole_b] = [a.clone(), b.clone()];
        let whole = compare(&whole_a, &whole_b, 0.05);
        let first = &whole.cases.iter().find(|compared| is_one(&compared.a.case)).unwrap();
        let found = compare_selected((&mut a, &mut b), 0.05, |case| *case == first.a.case);
        let [one] = &found.cases[..] else { panic!("{:?}", found.cases) };
        assert_eq!((one.change, one.ratio, one.common_factor), (first.change, first.ratio, first.common_factor));
        let is_elsewhere = of_b.lines.0 > 1.0;
        assert_eq!((found.states.differ(), one.change == Change::AnotherState), (is_elsewhere, is_elsewhere));
        assert_eq!((found.only_a, found.a.rows.len(), found.states.classes.len()), (0, 1, 1));
        assert!(!found.remarks.concat().contains("compare runs of more cases"), "{:?}", found.remarks);
    }
}
