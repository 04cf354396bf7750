//! Tests on pairs of runs drawn from the model, where the truth is known, and on pairs of rows made by hand.

mod processes;

use super::*;
use crate::testing;
use syncscope_core::stats::{Interval, student};
use syncscope_core::{Actor, Case, Nanoseconds, Placement, Population, Verdict};

fn data(name: &str, rows: Vec<Row>) -> RunData {
    RunData { name: name.to_owned(), ..testing::data(rows) }
}

/// A family in the simulation.
struct Family {
    name: &'static str,
    /// The relative standard deviation between runs.
    run: f64,
    /// The relative noise of a block.
    noise: f64,
    blocks: u32,
    cases: u32,
}

/// From registers of a GPU to contended lines of a CPU.
const FAMILIES: [Family; 4] = [
    Family { name: "gpu.shuffle.idx", run: 0.001, noise: 0.0005, blocks: 3, cases: 40 },
    Family { name: "gpu.grid.counter", run: 0.004, noise: 0.01, blocks: 5, cases: 40 },
    Family { name: "cpu.fence.acquire", run: 0.03, noise: 0.02, blocks: 100, cases: 40 },
    Family { name: "cpu.lock.ttas", run: 0.06, noise: 0.15, blocks: 30, cases: 40 },
];

struct Machine {
    random: fastrand::Rng,
    /// Whether all cases of a family deviate by the same factor in a run: the worst case of their dependence.
    moves_together: bool,
}

impl Machine {
    /// A normal variable (Box and Muller).
    fn normal(&mut self) -> f64 {
        let (u, v) = (self.random.f64().max(1e-300), self.random.f64());
        (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
    }

    /// One run; the cost of a case is `cost(number)` times what the machine adds.
    fn run(&mut self, name: &str, cost: impl Fn(u32) -> f64) -> RunData {
        let mut rows = Vec::new();
        for family in &FAMILIES {
            let together = self.normal();
            for number in 1..=family.cases {
                let deviation = if self.moves_together { together } else { self.normal() };
                let true_ns = cost(number) * (1.0 + family.run * deviation);
                rows.push(self.row(family, number, true_ns));
            }
        }
        data(name, rows)
    }

    /// The row as the engine makes it: Student's interval over blocks, widened by the difference between two runs.
    fn row(&mut self, family: &Family, number: u32, true_ns: f64) -> Row {
        let blocks: Vec<f64> = (0..family.blocks).map(|_| true_ns * (1.0 + family.noise * self.normal())).collect();
        let count = f64::from(family.blocks);
        let ns = blocks.iter().sum::<f64>() / count;
        let variance = blocks.iter().map(|block| (block - ns).powi(2)).sum::<f64>() / (count - 1.0);
        let half = student::quantile_95(count - 1.0) * (variance / count).sqrt();
        let within = Interval { low: ns - half, high: ns + half };
        let pairs_of_a_block = if family.name.starts_with("cpu") { 6 } else { 4 };
        Row {
            ns: Some(Nanoseconds(ns)),
            ns_within: Some(within),
            ns_interval: Some(within.widened(ns, 1.96 * 2.0_f64.sqrt() * family.run * ns)),
            pairs: Some(u64::from(family.blocks) * pairs_of_a_block),
            ..Row::unmeasured(Case { threads: Some(number), ..Case::new(family.name) }, Verdict::Resolved)
        }
    }
}

fn machine(seed: u64, moves_together: bool) -> Machine {
    Machine { random: fastrand::Rng::with_seed(seed), moves_together }
}

/// The cases that are called slower or faster.
fn different(comparison: &Comparison<'_>) -> usize {
    comparison.count(Change::Slower) + comparison.count(Change::Faster)
}

#[test]
fn two_runs_of_one_machine_are_not_called_different() {
    const PAIRS: u64 = 25;
    for (moves_together, threshold) in [(false, 0.0), (true, 0.0), (true, 0.05)] {
        let (mut called, mut cases, mut pairs_with_any) = (0, 0, 0);
        for seed in 0..PAIRS {
            let mut machine = machine(seed, moves_together);
            let (a, b) = (machine.run("a", |_| 100.0), machine.run("b", |_| 100.0));
            let comparison = compare(&a, &b, threshold);
            called += different(&comparison);
            cases += comparison.cases.len();
            pairs_with_any += u32::from(different(&comparison) > 0);
        }
        let share = called as f64 / cases as f64;
        assert!(share <= 0.01, "{share} of the cases, together: {moves_together}, threshold {threshold}");
        // Where nothing differs, any difference is a false alarm: at a rate of 5 %, more than 5 of 25 happen once in a
        // thousand times.
        assert!(pairs_with_any <= 5, "{pairs_with_any} of {PAIRS} pairs, together: {moves_together}");
    }
}

#[test]
fn real_changes_are_found_and_few_of_the_finds_are_wrong() {
    let is_changed = |number: u32| number.is_multiple_of(10);
    let (mut right, mut wrong, mut changed) = (0, 0, 0);
    for seed in 100..112 {
        let mut machine = machine(seed, false);
        let a = machine.run("a", |_| 100.0);
        let b = machine.run("b", |number| if is_changed(number) { 130.0 } else { 100.0 });
        let comparison = compare(&a, &b, 0.05);
        for case in &comparison.cases {
            let is_of_gpu = case.a.case.primitive.starts_with("gpu");
            let is_true = is_changed(case.a.case.threads.unwrap());
            changed += u32::from(is_true && is_of_gpu);
            right += u32::from(is_true && is_of_gpu && case.change == Change::Slower);
            wrong += u32::from(case.change == Change::Faster || (!is_true && case.change == Change::Slower));
        }
    }
    assert!(f64::from(right) >= 0.95 * f64::from(changed), "found {right} of {changed} changes of GPU cases by 30 %");
    assert!(f64::from(wrong) <= 0.05 * f64::from(right), "{wrong} wrong, {right} right");
}

#[test]
fn a_change_beyond_the_threshold_is_seldom_called_the_same() {
    let (mut same, mut cases, mut equal_same) = (0, 0, 0);
    for seed in 200..210 {
        let mut machine = machine(seed, false);
        let (a, b) = (machine.run("a", |_| 100.0), machine.run("b", |_| 105.5));
        let comparison = compare(&a, &b, 0.05);
        same += comparison.count(Change::Same);
        cases += comparison.cases.len();
        let c = machine.run("c", |_| 100.0);
        let gpu = |case: &&ComparedCase<'_>| case.a.case.primitive.starts_with("gpu.shuffle");
        let comparison = compare(&a, &c, 0.05);
        equal_same += comparison.cases.iter().filter(gpu).filter(|case| case.change == Change::Same).count();
    }
    assert!(same as f64 <= 0.01 * cases as f64, "{same} of {cases}");
    assert!(equal_same >= 10 * 36, "{equal_same} of {} cases known to 0.1 %", 10 * 40);
}

#[test]
fn the_order_of_the_runs_turns_slower_into_faster() {
    let mut machine = machine(7, false);
    let (a, b) = (machine.run("a", |_| 100.0), machine.run("b", |number| 100.0 + f64::from(number)));
    let (forward, back) = (compare(&a, &b, 0.05), compare(&b, &a, 0.05));
    assert!(forward.count(Change::Slower) > 50);
    for (one, other) in
        [(Change::Slower, Change::Faster), (Change::Faster, Change::Slower), (Change::Same, Change::Same)]
    {
        assert_eq!(forward.count(one), back.count(other));
    }
    let factors: Vec<f64> = forward.cases.iter().map(ComparedCase::certain_factor).collect();
    assert!(factors.windows(2).all(|pair| pair[0] >= pair[1]), "the largest certain change first");
    let top = &forward.cases[0];
    assert!(top.low.unwrap() > 1.3 && top.ratio.unwrap() > top.low.unwrap() && top.high.unwrap() > top.ratio.unwrap());
}

fn row(threads: u32, ns: f64, verdict: Verdict) -> Row {
    Row {
        ns: Some(Nanoseconds(ns)),
        ns_interval: Some(Interval { low: ns - 0.03, high: ns + 0.03 }),
        ns_within: Some(Interval { low: ns - 0.02, high: ns + 0.02 }),
        pairs: Some(400),
        ..Row::unmeasured(Case { threads: Some(threads), ..Case::new("cpu.atomic.add") }, verdict)
    }
}

#[test]
fn rows_without_figures_or_about_something_else_are_not_compared() {
    let failed = || Verdict::Failed("no".into());
    let below = || Verdict::BelowResolution("at most".into());
    let a = vec![
        row(1, 2.0, Verdict::Resolved),
        row(2, 2.0, failed()),
        row(3, 0.0, below()),
        row(4, 0.0, below()),
        Row { actor: Some(Actor::Slowest), ..row(5, 2.0, Verdict::Resolved) },
        Row { population: Some(Population::Alone), ..row(6, 2.0, Verdict::Resolved) },
        row(7, 2.0, Verdict::Resolved),
    ];
    let b = vec![
        row(1, 2.0, failed()),
        row(2, 2.0, failed()),
        row(3, 0.0, below()),
        row(4, 9.0, Verdict::Resolved),
        Row { actor: Some(Actor::Median), ..row(5, 2.0, Verdict::Resolved) },
        Row { population: Some(Population::All), ..row(6, 2.0, Verdict::Resolved) },
        row(8, 2.0, Verdict::Resolved),
    ];
    let (a, b) = (data("a", a), data("b", b));
    let comparison = compare(&a, &b, 0.05);
    let of = |threads| comparison.cases.iter().find(|case| case.a.case.threads == Some(threads)).unwrap();
    assert_eq!((of(1).change, &*of(1).remark(IN_RUNS)), (Change::NotComparable, "resolved in A, failed in B"));
    assert_eq!(of(2).remark(IN_RUNS), "failed in both");
    assert_eq!(of(3).remark(IN_RUNS), "below resolution in both");
    let now_resolved = of(4);
    assert_eq!((now_resolved.change, now_resolved.ratio), (Change::Slower, None), "{now_resolved:?}");
    assert!(now_resolved.low.unwrap() > 100.0 && now_resolved.high.is_none(), "{now_resolved:?}");
    assert!(
        of(5).remark(IN_RUNS).contains("the slowest thread in A, of the median thread in B"),
        "{}",
        of(5).remark(IN_RUNS)
    );
    assert!(of(6).remark(IN_RUNS).contains("the population is `alone` in A"), "{}", of(6).remark(IN_RUNS));
    assert_eq!((comparison.only_a, comparison.only_b), (1, 1));
    assert!(comparison.families[0].changes.values().eq(&[1, 0, 0, 0, 0, 5]));
}

#[test]
fn copies_of_a_run_are_named_as_such_and_nothing_in_them_differs() {
    let a = data("a", (1..20).map(|threads| row(threads, 2.0, Verdict::Resolved)).collect());
    let comparison = compare(&a, &a, 0.05);
    assert_eq!((comparison.count(Change::Same), different(&comparison)), (19, 0));
    assert!(comparison.remarks[0].contains("copies of one run"), "{:?}", comparison.remarks);
    assert!(comparison.same_machine && comparison.differences.is_empty());
}

#[test]
fn other_instructions_are_named() {
    let with = |evidence: &str| Row { evidence: Some(evidence.into()), ..row(1, 2.0, Verdict::Noisy("wide".into())) };
    let (a, b) = (data("a", vec![with("lock add 16/32")]), data("b", vec![with("lock xadd 16/32")]));
    let comparison = compare(&a, &b, 0.05);
    let remark = comparison.cases[0].remark(IN_RUNS);
    assert!(
        remark.starts_with("different instructions: lock add 16/32 in A, lock xadd 16/32 in B; noisy in A"),
        "{remark}"
    );
    // For two operations: words of the evidence are not names of runs.
    let (a, b) = (data("a", vec![with("call in A::f 1/2")]), data("b", vec![with("lock xadd 16/32")]));
    let of_operations = compare(&a, &b, 0.05).cases[0].remark([" (mine)", " (theirs)"]);
    let expected =
        "different instructions: call in A::f 1/2 (mine), lock xadd 16/32 (theirs); noisy (mine); noisy (theirs)";
    assert_eq!(of_operations, expected);
}

#[test]
fn cases_with_other_instructions_stand_behind_those_with_the_same() {
    let with =
        |threads, ns, evidence: &str| Row { evidence: Some(evidence.into()), ..row(threads, ns, Verdict::Resolved) };
    let red = "REDG.E.ADD.STRONG.GPU 32/64";
    let a = data("a", vec![with(1, 40.0, red), with(2, 40.0, red), with(3, 40.0, "NOP 32/64 for WARPSYNC")]);
    let aggregated = "REDG.E.ADD.STRONG.GPU 8/16, aggregated by the compiler: REDUX.SUM 1/1";
    let b = data("b", vec![with(1, 2.0, aggregated), with(2, 80.0, red), with(3, 160.0, "NOP 8/16 for WARPSYNC")]);
    let comparison = compare(&a, &b, 0.05);
    let threads: Vec<_> = comparison.cases.iter().map(|case| case.a.case.threads.unwrap()).collect();
    assert_eq!(threads, [3, 2, 1]);
    assert!(comparison.cases.iter().all(|case| case.has_other_instructions() == (case.a.case.threads == Some(1))));
}

#[test]
fn a_family_that_changed_as_one_is_named() {
    let run = |name: &str, factor: f64| {
        data(name, (1..8).map(|threads| row(threads, 40.0 * f64::from(threads) * factor, Verdict::Resolved)).collect())
    };
    let (a, b) = (run("a", 1.0), run("b", 0.8));
    let remarks = compare(&a, &b, 0.05).remarks;
    assert!(
        remarks[0].starts_with("the 7 cases of cpu.atomic changed together, by a factor of about 0.800"),
        "{remarks:?}"
    );
    let mut one_changed = data("c", a.rows.clone());
    one_changed.rows[3] = row(4, 120.0, Verdict::Resolved);
    assert!(compare(&a, &one_changed, 0.05).remarks.is_empty());
    let mut elsewhere = b.clone();
    elsewhere.run.machine.cpu.model = "another".into();
    assert!(compare(&a, &elsewhere, 0.05).remarks.is_empty(), "machines differ");
    let mut more_memory = b.clone();
    more_memory.run.machine.cpu.memory_bytes = Some(1 << 33);
    assert!(compare(&a, &more_memory, 0.05).same_machine, "a guest's memory grows and shrinks");
}

#[test]
fn one_thread_on_each_core_is_compared_with_and_without_hardware_threads() {
    let run = |name: &str, threads, placement| {
        let case = Case { threads: Some(4), placement: Some(placement), ..Case::new("cpu.lock.ttas") };
        let mut run =
            data(name, vec![Row { ns: Some(Nanoseconds(100.0)), ..Row::unmeasured(case, Verdict::Resolved) }]);
        (run.run.machine.cpu.cores, run.run.machine.cpu.hardware_threads) = (8, threads);
        run
    };
    let (smt, flat) = (run("smt", 16, Placement::Cores), run("flat", 8, Placement::Close));
    let found = compare(&smt, &flat, 0.05);
    assert_eq!((found.cases.len(), found.only_a, found.only_b), (1, 0, 0));
    assert!(found.remarks.iter().any(|remark| remark.contains("`cores` in A, `close` in B")), "{:?}", found.remarks);
    assert!(compare(&run("siblings", 16, Placement::Close), &flat, 0.05).cases.is_empty());
}
