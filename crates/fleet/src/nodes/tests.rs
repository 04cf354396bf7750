//! Fleets of simulated nodes. The costs of a primitive move together from run to run, as on real machines.

use fastrand::Rng;
use syncscope_core::machine::GpuState;
use syncscope_core::run::provenance::{SessionRecord, StolenTime};
use syncscope_core::stats::Interval;
use syncscope_core::{Case, Cycles, Nanoseconds, Row, Verdict};

use super::*;
use crate::testing;

/// A primitive, its cost in ns, and by how much runs of one machine differ (standard deviation, relative).
const PRIMITIVES: [(&str, f64, f64); 7] = [
    ("cpu.atomic.add", 20.0, 0.015),
    ("cpu.barrier.std", 900.0, 0.04),
    ("cpu.lock.std_mutex", 60.0, 0.03),
    ("gpu.block.syncthreads", 7.0, 0.001),
    ("gpu.cluster.sync", 170.0, 0.002),
    ("gpu.grid.counter", 800.0, 0.003),
    ("gpu.launch.stream", 1500.0, 0.02),
];

const CASES_OF_A_PRIMITIVE: u32 = 8;

fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0
}

/// A run whose costs are the usual times `time(primitive)` and whose cycles are the usual times `cycles(primitive)`.
fn run(name: &str, rng: &mut Rng, time: &dyn Fn(&str) -> f64, cycles: &dyn Fn(&str) -> f64) -> RunData {
    let mut rows = Vec::new();
    for (primitive, cost, effect) in PRIMITIVES {
        let of_run = (normal(rng) * effect).exp();
        for threads in 1..=CASES_OF_A_PRIMITIVE {
            let within = 0.003;
            let common = cost * f64::from(threads) * of_run * (normal(rng) * within).exp();
            let (ns, half) =
                (common * time(primitive), Interval { low: 1.96 * within, high: 1.96 * within.hypot(1.414 * effect) });
            let around = |half: f64| Interval { low: ns * (1.0 - half), high: ns * (1.0 + half) };
            rows.push(Row {
                ns: Some(Nanoseconds(ns)),
                cycles: Some(Cycles(common * 2.0 * cycles(primitive))),
                ns_within: Some(around(half.low)),
                ns_interval: Some(around(half.high)),
                ..Row::unmeasured(Case { threads: Some(threads), ..Case::new(primitive) }, Verdict::Resolved)
            });
        }
    }
    RunData { name: name.to_owned(), ..testing::data(rows) }
}

fn usual(_: &str) -> f64 {
    1.0
}

/// A factor for the primitives whose names begin with `start`.
fn only(start: &'static str, factor: f64) -> impl Fn(&str) -> f64 {
    move |primitive| if primitive.starts_with(start) { factor } else { 1.0 }
}

fn examine(runs: &[RunData]) -> ExaminedFleet {
    let mut fleet = Fleet::default();
    for run in runs {
        fleet.add(run);
    }
    fleet.examine(0.05).unwrap()
}

fn names(fleet: &ExaminedFleet) -> Vec<&str> {
    fleet.outliers().map(|node| node.name.as_str()).collect()
}

#[test]
fn planted_outliers_are_found_with_their_causes_and_nobody_else() {
    let mut rng = Rng::with_seed(1);
    let mut runs: Vec<RunData> = (0..200).map(|node| run(&format!("cn{node:03}"), &mut rng, &usual, &usual)).collect();
    for run in &mut runs {
        run.run.environment.nvidia_driver = Some("580.95".into());
        let limit = GpuState { index: 0, power_limit_watts: Some(700.0), ..GpuState::default() };
        run.run.environment.gpus = vec![limit];
    }
    let mut replace = |at: usize, time: &dyn Fn(&str) -> f64, cycles: &dyn Fn(&str) -> f64| {
        let environment = runs[at].run.environment.clone();
        runs[at] = run(&runs[at].name.clone(), &mut rng, time, cycles);
        runs[at].run.environment = environment;
    };
    // A lower clock: the same cycles take longer.
    replace(17, &|_| 1.25, &usual);
    // A hypervisor that takes time from the CPUs.
    replace(42, &only("cpu.", 1.6), &only("cpu.", 1.6));
    // Another driver.
    replace(99, &only("gpu.launch", 1.5), &only("gpu.launch", 1.5));
    // A lower power limit.
    replace(123, &only("gpu.", 1.2), &only("gpu.", 1.2));
    // A cluster barrier that costs twice as much, for no reason that a run records.
    replace(180, &only("gpu.cluster", 2.0), &only("gpu.cluster", 2.0));
    let stolen = StolenTime { share: 0.2, ..StolenTime::default() };
    runs[42].run.sessions = vec![SessionRecord { stolen: Some(stolen), ..SessionRecord::default() }];
    runs[99].run.environment.nvidia_driver = Some("535.10".into());
    runs[123].run.environment.gpus[0].power_limit_watts = Some(400.0);

    let fleet = examine(&runs);
    assert_eq!(names(&fleet), ["cn017", "cn042", "cn099", "cn123", "cn180"]);
    let causes: Vec<&[String]> = fleet.outliers().map(|node| node.causes.as_slice()).collect();
    for (at, cause) in [
        "clock: about 0.800 times that of the median node",
        "time taken by the hypervisor: 20.0 %, the median node 0.0 %",
        "NVIDIA driver: 535.10, most nodes 580.95",
        "GPU 0: power limit: 400 W, most nodes 700 W",
    ]
    .into_iter()
    .enumerate()
    {
        assert!(causes[at].len() == 1 && causes[at][0].starts_with(cause), "{:?}", causes[at]);
    }
    assert!(causes[4].is_empty(), "{:?}", causes[4]);
    let cluster = fleet.nodes[180].outlying().collect::<Vec<_>>();
    assert_eq!((cluster.len(), fleet.primitives[cluster[0].0].as_str()), (1, "gpu.cluster.sync"));
    let cell = cluster[0].1;
    assert!(cell.low < 2.0 && 2.0 < cell.high && (cell.ratio / 2.0 - 1.0).abs() < 0.02, "{cell:?}");
}

#[test]
fn one_machine_many_times_has_no_outlier() {
    for seed in 0..20 {
        let mut rng = Rng::with_seed(seed);
        let runs: Vec<RunData> = (0..20).map(|at| run(&at.to_string(), &mut rng, &usual, &usual)).collect();
        let fleet = examine(&runs);
        assert_eq!(names(&fleet), [""; 0], "seed {seed}");
        // Where runs differ by far less than the threshold, every node is certainly the same.
        for (primitive, spread) in fleet.spreads.iter().enumerate() {
            let is_same = |node: &FleetNode| node.cells[primitive].unwrap().change == Change::Same;
            assert!(
                spread.unwrap() > 0.005 || fleet.nodes.iter().all(is_same),
                "seed {seed}: {}",
                fleet.primitives[primitive]
            );
        }
    }
}

#[test]
fn three_nodes_are_the_fewest_and_one_of_three_can_differ() {
    let mut rng = Rng::with_seed(3);
    let mut fleet = Fleet::default();
    for (at, factor) in [1.0, 1.0, 3.0].into_iter().enumerate() {
        assert_eq!(fleet.examine(0.05), None, "{at} nodes");
        fleet.add(&run(&at.to_string(), &mut rng, &only("gpu.block", factor), &usual));
    }
    assert_eq!(names(&fleet.examine(0.05).unwrap()), ["2"]);
}

#[test]
fn other_machine_code_is_named_as_a_cause() {
    let mut rng = Rng::with_seed(5);
    let mut runs: Vec<RunData> = (0..6).map(|at| run(&at.to_string(), &mut rng, &usual, &usual)).collect();
    runs[4] = run("4", &mut rng, &only("gpu.block", 0.3), &only("gpu.block", 0.3));
    for (at, run) in runs.iter_mut().enumerate() {
        let name = if at == 4 { "NOP" } else { "BAR.SYNC" };
        // The counts belong to the loop, not to the primitive.
        for row in &mut run.rows {
            row.evidence = Some(format!("{name} {at}/64"));
        }
    }
    let fleet = examine(&runs);
    assert_eq!(names(&fleet), ["4"]);
    assert_eq!(fleet.nodes[4].causes, ["other machine instructions: gpu.block.syncthreads"]);
}

#[test]
fn cases_that_only_one_node_lacks_are_counted_and_other_plans_are_no_outliers() {
    let mut rng = Rng::with_seed(4);
    let mut runs: Vec<RunData> = (0..5).map(|at| run(&at.to_string(), &mut rng, &usual, &usual)).collect();
    for row in &mut runs[1].rows[..3] {
        *row = Row::unmeasured(row.case.clone(), Verdict::Failed("lost".into()));
    }
    runs[2].rows.truncate(8);
    let fleet = examine(&runs);
    let missing: Vec<usize> = fleet.nodes.iter().map(|node| node.missing).collect();
    assert_eq!(missing, [0, 3, 48, 0, 0]);
    assert_eq!(fleet.nodes[2].cells.iter().flatten().count(), 1);
    assert_eq!(names(&fleet), [""; 0]);
}

/// The rows estimate from a few runs of a few machines how much runs differ. On this machine runs differ by twice as
/// much.
#[test]
fn few_nodes_whose_runs_differ_by_more_than_their_rows_say_are_seldom_called_different() {
    const FLEETS: u64 = 100;
    for nodes in [3, 5] {
        let with_outliers = (0..FLEETS).filter(|seed| {
            let mut rng = Rng::with_seed(*seed);
            let runs: Vec<RunData> = (0..nodes)
                .map(|at| {
                    let more = PRIMITIVES
                        .map(|(primitive, _, effect)| (primitive, (3.0_f64.sqrt() * effect * normal(&mut rng)).exp()));
                    let factor = |primitive: &str| {
                        more.iter().find(|(name, _)| *name == primitive).map_or(1.0, |(_, more)| *more)
                    };
                    run(&at.to_string(), &mut rng, &factor, &factor)
                })
                .collect();
            examine(&runs).outliers().next().is_some()
        });
        let count = with_outliers.count();
        assert!(count <= 5, "{count} of {FLEETS} fleets of {nodes} nodes");
    }
}

#[test]
fn two_nodes_that_differ_a_little_do_not_hide_that_the_third_differs_much() {
    let mut rng = Rng::with_seed(6);
    let runs: Vec<RunData> = [1.0, 1.01, 1.3]
        .into_iter()
        .enumerate()
        .map(|(at, factor)| run(&at.to_string(), &mut rng, &only("gpu.cluster", factor), &usual))
        .collect();
    assert_eq!(names(&examine(&runs)), ["2"]);
}

/// Seven equal nodes, and five at 0.90 to 1.10 times their cost.
#[test]
fn the_interval_of_a_cell_decides_its_verdict() {
    let mut rng = Rng::with_seed(8);
    let runs: Vec<RunData> = (0..12)
        .map(|at| {
            let factor = if at < 7 { 1.0 } else { 0.85 + 0.05 * f64::from(at - 6) };
            run(&at.to_string(), &mut rng, &|_| factor, &usual)
        })
        .collect();
    let fleet = examine(&runs);
    let limit = 1.05;
    let mut counts = std::collections::BTreeMap::new();
    for cell in fleet.nodes.iter().flat_map(|node| node.cells.iter().flatten()) {
        *counts.entry(cell.change).or_insert(0) += 1;
        let (above, below) = (cell.low > limit, cell.high < 1.0 / limit);
        let is_within = cell.low >= 1.0 / limit && cell.high <= limit;
        match cell.change {
            Change::Slower => assert!(above, "{cell:?}"),
            Change::Faster => assert!(below, "{cell:?}"),
            Change::Same => assert!(is_within, "{cell:?}"),
            _ => assert!(!above && !below, "{cell:?}"),
        }
    }
    let decided = [Change::Slower, Change::Faster, Change::Same, Change::Undecided];
    assert!(decided.iter().all(|change| counts.contains_key(change)), "{counts:?}");
}

#[test]
fn a_run_that_is_named_twice_is_said_to_be() {
    let mut rng = Rng::with_seed(3);
    let runs = ["a", "b", "c"].map(|name| run(name, &mut rng, &usual, &usual));
    assert_eq!(examine(&runs).copies, [], "nodes of one moment are no copies");
    let again = RunData { name: "again".to_owned(), ..run("b", &mut Rng::with_seed(3), &usual, &usual) };
    let [_, b, c] = runs;
    let first = run("a", &mut Rng::with_seed(3), &usual, &usual);
    assert_eq!(examine(&[first, b, c, again]).copies, [("a".to_owned(), "again".to_owned())]);
}
