//! The decisions of stored runs and of synthetic ones that could mislead a sentence.

use std::path::PathBuf;

use super::spec::{Cell, Series, Spec, State};
use super::*;
use crate::analysis::answers::testing::{case, data, on_blocks, row, within};
use syncscope_core::{Case, Detail, Dtype, Form, Group, Layout, MemoryOrder, Placement, Row, Verdict};

/// A run that the repository holds.
fn stored(name: &str) -> RunData {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "results", name].iter().collect();
    RunData::load(&path).unwrap()
}

fn decision(id: &str, data: &RunData) -> Option<Decision> {
    decisions(data).into_iter().find(|decision| decision.id == id)
}

fn sentence(id: &str, rows: Vec<Row>) -> String {
    decision(id, &data(rows)).unwrap().sentence
}

/// The series of a chart; a table has none.
fn series(chart: &Spec) -> &[Series] {
    match chart {
        Spec::Lines { series, .. } => series,
        Spec::Dots { rows, .. } => rows,
        Spec::Table { .. } => &[],
    }
}

fn labels(chart: &Spec) -> Vec<&str> {
    series(chart).iter().map(|one| one.label.as_str()).collect()
}

fn lock(name: &str, threads: u32, ns: f64) -> Row {
    row(case(&format!("cpu.lock.{name}"), threads), ns, 0.3)
}

fn noisy(row: Row, low: f64, high: f64) -> Row {
    Row { verdict: Verdict::Noisy("wide".into()), ..within(row, low, high) }
}

#[test]
fn stored_runs_answer_every_question_that_their_machine_has() {
    let all = ["lock", "atomics", "barrier", "relaunch", "fences", "handoff", "placement", "false-sharing"];
    let without_gpu: Vec<&str> = all.into_iter().filter(|id| *id != "relaunch").collect();
    for (name, expected) in [("h200", all.as_slice()), ("h200-x4", &all), ("xeon-16cpu-vm-paper", &without_gpu)] {
        let data = stored(name);
        let found = decisions(&data);
        let ids: Vec<&str> = found.iter().filter_map(|one| one.id.strip_prefix("decide-")).collect();
        assert_eq!(ids, expected, "{name}");
        for chart in found.iter().flat_map(|decision| &decision.charts) {
            for point in series(chart).iter().flat_map(|one| &one.points) {
                assert!(point.row < data.rows.len());
                assert!(point.x.is_some() || matches!(point.state, State::Missing | State::Overlapped), "{point:?}");
            }
        }
    }
}

#[test]
fn the_cheapest_lock_differs_by_number_of_threads() {
    let rows = || {
        let ticket =
            [(1, 9.0), (2, 200.0), (16, 6000.0), (32, 90_000.0)].map(|(threads, ns)| lock("ticket", threads, ns));
        let mutex = [(1, 15.0), (2, 90.0), (16, 1200.0), (32, 1300.0)];
        let mutex = mutex.map(|(threads, ns)| lock("pthread_mutex", threads, ns));
        ticket.into_iter().chain(mutex).collect::<Vec<Row>>()
    };
    assert_eq!(
        sentence("decide-lock", rows()),
        "Cheapest lock: ticket at 1 thread (9.00 ns), pthread_mutex at 2 threads (90.0 ns), at 16 (1.20 µs) and at 32 (1.30 \
         µs)."
    );
    let mut overlapping = rows();
    overlapping[2] = within(overlapping[2].clone(), 1100.0, 9000.0);
    let text = sentence("decide-lock", overlapping);
    assert!(text.ends_with("; at 16 threads, pthread_mutex and ticket cannot be distinguished."), "{text}");
    let mut unknown = rows();
    unknown[2].verdict = Verdict::Interfered("too many".into());
    let text = sentence("decide-lock", unknown);
    assert!(text.ends_with("; at 16 threads, 1 of 2 have no reliable figure."), "{text}");
    assert!(!text.contains("at 16 ("), "{text}");
}

#[test]
fn a_lower_estimate_of_a_noisy_row_is_no_winner() {
    let rows = vec![lock("ticket", 16, 100.0), noisy(lock("mcs", 16, 60.0), 20.0, 400.0), lock("ttas", 16, 900.0)];
    assert_eq!(sentence("decide-lock", rows), "Cheapest lock: at 16 threads, mcs and ticket cannot be distinguished.");
    let many: Vec<Row> = ["ticket", "mcs", "ttas", "std_mutex", "pthread_spin"]
        .map(|name| noisy(lock(name, 16, 100.0), 50.0, 150.0))
        .to_vec();
    let text = sentence("decide-lock", many);
    assert_eq!(text, "Cheapest lock: at 16 threads, ticket, mcs and 3 more cannot be distinguished.");
}

#[test]
fn both_runtimes_of_openmp_are_lines_of_their_own() {
    let barrier = |group, ns| {
        let of = row(case("cpu.barrier.openmp", 16), ns, 0.1);
        Row { case: Case { group: Some(group), ..of.case.clone() }, ..of }
    };
    let rows = vec![barrier(Group::Libgomp, 900.0), barrier(Group::Libomp, 500.0)];
    let found = decision("decide-barrier", &data(rows)).unwrap();
    assert_eq!(labels(&found.charts[0]), ["openmp libgomp", "openmp libomp"]);
    assert_eq!(found.sentence, "Cheapest CPU barrier: openmp libomp at 16 threads (500 ns).");
}

#[test]
fn every_design_of_a_grid_barrier_is_a_line_and_relaxed_ones_are_not() {
    let grid = |name: &str, group, order, ns| {
        let row = row(on_blocks(&format!("gpu.grid.{name}"), 132, 32), ns, 0.01);
        Row { case: Case { group, order, ..row.case.clone() }, ..row }
    };
    let rows = vec![
        grid("counter", None, None, 806.0),
        grid("counter", None, Some(MemoryOrder::Relaxed), 575.0),
        grid("hierarchical", Some(Group::NearCounters), None, 750.0),
        grid("hierarchical", Some(Group::NearCounters), Some(MemoryOrder::Relaxed), 414.0),
    ];
    let found = decision("decide-barrier", &data(rows)).unwrap();
    assert_eq!(labels(&found.charts[0]), ["grid: counter", "grid: near_counters"]);
    assert_eq!(found.sentence, "A GPU barrier costs 750 ns for the grid (hierarchical near_counters).");
    let drawn: Vec<Option<f64>> = series(&found.charts[0]).iter().map(|one| one.points[0].y).collect();
    assert_eq!(drawn, [Some(806.0), Some(750.0)]);
    assert!(found.note.unwrap().contains("Relaxed barriers, which order no memory accesses, are not drawn."));
}

#[test]
fn fairness_is_shown_for_the_largest_team_that_fits() {
    let mut run = data(vec![lock("ticket", 16, 100.0), lock("ttas", 16, 90.0), lock("ttas", 32, 95.0)]);
    for (at, index) in [(0, 1.0), (1, 0.4), (2, 0.1)] {
        run.details.insert(run.rows[at].case.id(), vec![Detail::of_case("jain_index", index)]);
    }
    let found = decision("decide-lock", &run).unwrap();
    assert_eq!(labels(&found.charts[1]), ["ticket", "ttas"]);
    assert_eq!(series(&found.charts[1])[1].points[0].x, Some(0.4), "not that of 32 threads on 16 CPUs");
}

#[test]
fn the_rules_of_a_sweep_are_cores_and_cpus() {
    let rules = |cores| {
        let mut run = data(vec![lock("ticket", 2, 100.0), lock("mcs", 2, 90.0)]);
        run.run.machine.cpu.cores = cores;
        let Some(Spec::Lines { rules, .. }) = decision("decide-lock", &run).map(|found| found.charts[0].clone()) else {
            panic!("no lines");
        };
        rules.into_iter().map(|rule| rule.label).collect::<Vec<_>>()
    };
    assert_eq!(rules(8), ["cores: 8", "CPUs: 16"]);
    assert_eq!(rules(16), ["CPUs: 16"]);
}

fn add(layout: Layout, threads: u32, ns: f64, rate: f64) -> Row {
    let case = Case { layout: Some(layout), dtype: Some(Dtype::I32), ..case("cpu.atomic.add", threads) };
    Row { ops_per_s_total: Some(rate), ..row(case, ns, 0.2) }
}

#[test]
fn rates_that_overlap_are_not_ranked() {
    let rows = |all: f64| {
        let apart = Layout::Private { stride: 16 };
        vec![add(Layout::Shared, 1, 6.0, 160e6), add(Layout::Shared, 16, 366.0, all), add(apart, 16, 6.2, 2.5e9)]
    };
    assert_eq!(
        sentence("decide-atomics", rows(44e6)),
        "One CPU thread adds 3.6 times as often to one variable as 16 together (160 million against 44.0 million a second). To \
         variables on separate cache lines, the 16 add 57 times as often as to one."
    );
    let text = sentence("decide-atomics", rows(161e6));
    assert!(
        text.starts_with("Whether 16 CPU threads add more often to one variable than 1 cannot be decided"),
        "{text}"
    );
}

#[test]
fn variables_on_one_line_are_not_called_apart() {
    let near = Layout::Private { stride: 1 };
    let rows = vec![add(Layout::Shared, 1, 6.0, 160e6), add(Layout::Shared, 2, 40.0, 50e6), add(near, 2, 20.0, 100e6)];
    let found = decision("decide-atomics", &data(rows)).unwrap();
    assert_eq!(labels(&found.charts[0]), ["i32, shared"]);
    assert!(!found.sentence.contains("separate cache lines"), "{}", found.sentence);
}

#[test]
fn rows_of_another_order_are_no_points_of_a_line() {
    let add = |threads, order, rate| {
        let of = add(Layout::Shared, threads, 10.0, rate);
        Row { case: Case { order: Some(order), ..of.case.clone() }, ..of }
    };
    let relaxed = [(1, 160e6), (2, 90e6), (4, 80e6)].map(|(threads, rate)| add(threads, MemoryOrder::Relaxed, rate));
    let group = |row: Row| Row { case: Case { group: Some(Group::SiblingBusy), ..row.case.clone() }, ..row };
    let other = group(add(2, MemoryOrder::Relaxed, 5e6));
    let rows = [&relaxed[..], &[add(2, MemoryOrder::SeqCst, 70e6), other]].concat();
    let found = decision("decide-atomics", &data(rows)).unwrap();
    assert_eq!(labels(&found.charts[0]), ["i32, shared", "i32, shared, seq_cst"]);
    let rates: Vec<f64> = series(&found.charts[0])[0].points.iter().filter_map(|point| point.y).collect();
    assert_eq!(rates, [160e6, 90e6, 80e6]);
}

#[test]
fn a_gpu_rate_says_what_the_compiler_did() {
    let case = Case { layout: Some(Layout::Shared), dtype: Some(Dtype::I32), ..on_blocks("gpu.atomic.add", 132, 1024) };
    let written = Row { ops_per_s_total: Some(47.4e9), ..row(case.clone(), 3000.0, 0.02) };
    let form = Case { form: Some(Form::NotAggregated), ..case };
    let bare = Row { ops_per_s_total: Some(1.47e9), ..row(form, 90_000.0, 0.02) };
    let found = decision("decide-atomics", &data(vec![written, bare])).unwrap();
    assert_eq!(labels(&found.charts[0]), ["i32, shared", "i32, shared, not aggregated"]);
    assert_eq!(
        found.sentence,
        "135,168 GPU threads add 47.4 billion times a second to one variable (1.47 billion where the compiler does not add up \
         each warp first)."
    );
}

#[test]
fn kernels_of_several_lengths_are_lines_over_level_barriers() {
    let kernel = |way: &str, length, ns| {
        let case = Case { group: Some(Group::KernelUs(length)), ..case(&format!("gpu.launch.{way}"), 32) };
        row(case, ns, 0.02)
    };
    let grid = row(on_blocks("gpu.grid.counter", 132, 32), 806.0, 0.01);
    let one = decision("decide-relaunch", &data(vec![kernel("graph", 5, 468.0), grid.clone()])).unwrap();
    assert!(matches!(one.charts[0], Spec::Dots { .. }));
    let lengths = vec![kernel("graph", 2, 900.0), kernel("graph", 5, 468.0), kernel("stream", 5, 1530.0), grid.clone()];
    let several = decision("decide-relaunch", &data(lengths)).unwrap();
    let level = series(&several.charts[0]).iter().find(|one| one.label == "grid barrier, counter").unwrap();
    assert_eq!(level.points.iter().filter_map(|point| point.x).collect::<Vec<_>>(), [2.0, 5.0]);
    assert_eq!(decision("decide-relaunch", &data(vec![grid])), None, "nothing to compare");
}

#[test]
fn the_chart_has_the_launches_of_the_sentence() {
    let kernel = |way: &str, blocks, ns| {
        let case = Case { group: Some(Group::KernelUs(5)), ..on_blocks(&format!("gpu.launch.{way}"), blocks, 32) };
        row(case, ns, 0.01)
    };
    // In the quick preset the ways in which a kernel decides are measured with the blocks of the barrier alone.
    let rows = vec![
        kernel("graph", 1, 468.0),
        kernel("stream", 1, 1530.0),
        kernel("conditional", 132, 4080.0),
        row(on_blocks("gpu.grid.counter", 132, 32), 806.0, 0.01),
    ];
    let found = decision("decide-relaunch", &data(rows)).unwrap();
    assert!(found.sentence.contains("in a graph (468 ns)"), "{}", found.sentence);
    let labels = labels(&found.charts[0]);
    for expected in ["next kernel, in a graph", "next kernel, in a stream", "grid barrier, counter"] {
        assert!(labels.contains(&expected), "{expected}: {labels:?}");
    }
}

/// Kernels of 1 to 100 µs in five ways, and a barrier of 806 ns.
fn launches_by_length() -> Vec<Row> {
    let kernel = |way: &str, length, ns| {
        let case = Case { group: Some(Group::KernelUs(length)), ..on_blocks(&format!("gpu.launch.{way}"), 132, 32) };
        row(case, ns, 0.02)
    };
    let mut rows = vec![row(on_blocks("gpu.grid.counter", 132, 32), 806.0, 0.01)];
    for (length, graph, programmatic) in
        [(1, 700.0, 1900.0), (2, 690.0, 1200.0), (5, 690.0, 806.0), (100, 690.0, 500.0)]
    {
        rows.extend([kernel("graph", length, graph), kernel("programmatic", length, programmatic)]);
        rows.extend(["stream", "wait_value", "event_wait"].map(|way| kernel(way, length, 1500.0)));
    }
    // Another shape, with fewer lengths.
    let small = Case { group: Some(Group::KernelUs(5)), ..case("gpu.launch.graph", 32) };
    rows.push(row(small, 468.0, 0.02));
    let skipped = Verdict::Skipped("not measured in this version: the device runtime is not linked".into());
    rows.push(Row::unmeasured(case("gpu.launch.device_graph", 32), skipped));
    rows
}

#[test]
fn a_kernel_more_has_its_break_even_point_with_the_barrier() {
    let run = data(launches_by_length());
    let found = decision("decide-relaunch", &run).unwrap();
    assert_eq!(
        found.sentence,
        "One kernel more, or a grid barrier of 132 blocks (counter, 806 ns)? In a graph it is cheaper wherever that is \
         certain; programmatic it is cheaper for longer kernels than about 5.0 µs (between 2 and 100 µs); in a stream, in \
         another stream behind a value or in another stream behind an event it is more expensive wherever that is certain."
    );
    let Spec::Lines { series, rules, .. } = &found.charts[0] else { panic!("lines") };
    assert_eq!(series.len(), 5 + 1, "five ways and the barrier");
    assert!(series.iter().all(|one| one.points.len() == 4 || one.label.starts_with("grid barrier")));
    assert_eq!(rules.iter().map(|rule| rule.label.as_str()).collect::<Vec<_>>(), ["programmatic: 5.0 µs"]);
    let Spec::Table { columns, lines, .. } = &found.charts[1] else { panic!("a table") };
    assert_eq!(columns, &["break-even", "at 1 µs", "at 100 µs"]);
    let cells = |line: usize| -> Vec<&str> {
        lines[line]
            .cells
            .iter()
            .flatten()
            .flat_map(|cell| [Some(cell.text.as_str()), cell.detail.as_deref()])
            .flatten()
            .collect()
    };
    assert_eq!(cells(0), ["none", "−106 ns", "−128 ns to −83.9 ns", "−116 ns", "−138 ns to −94.1 ns"]);
    assert_eq!(cells(1)[..2], ["5.0 µs", "2 to 100 µs"]);
    let note = found.note.unwrap();
    assert!(note.contains("Not measured: next kernel in a device graph (the device runtime is not linked)."), "{note}");
    assert!(note.contains("The kernels have 132 blocks."), "the shape with the most lengths: {note}");
}

#[test]
fn a_fence_without_an_instruction_has_no_cost() {
    let fence = |name: &str| case(&format!("cpu.fence.{name}"), 1);
    let free = Row::unmeasured(fence("acquire"), Verdict::Elided("no instruction".into()));
    let full = Row { evidence: Some("lock or 16/32".into()), ..row(fence("seq_cst"), 6.44, 0.1) };
    let found = decision("decide-fences", &data(vec![free, full])).unwrap();
    assert_eq!(
        found.sentence,
        "Acquire needs no instruction on this CPU; a full fence of the CPU costs 6.44 ns (lock or)."
    );
    let Spec::Table { columns, lines, .. } = &found.charts[0] else { panic!("a table") };
    assert_eq!(columns, &["CPU"], "no column without a cell");
    let cell = |line: usize| lines[line].cells[0].clone();
    assert_eq!(cell(0).map(|cell| (cell.value, cell.text)), Some((None, "no instruction".to_owned())));
    let expected = Cell { value: Some(6.44), text: "6.44 ns".into(), detail: Some("lock or".into()), row: 1 };
    assert_eq!((cell(1), cell(3)), (None, Some(expected)));
}

#[test]
fn a_hand_off_that_did_not_sleep_is_no_wake_up() {
    let close = |name: &str| Case { placement: Some(Placement::Close), ..case(&format!("cpu.handoff.{name}"), 2) };
    let mut run = data(vec![row(close("cas_pingpong"), 71.5, 0.1), row(close("park"), 133.0, 0.1)]);
    let text = decision("decide-handoff", &run).unwrap().sentence;
    assert!(text.starts_with("What it costs to wake a sleeping thread cannot be decided"), "{text}");
    let details = [("p50_ns", 4540.0), ("p90_ns", 5000.0), ("p99_ns", 9000.0)];
    run.details.insert(run.rows[1].case.id(), details.map(|(name, ns)| Detail::of_case(name, ns)).to_vec());
    let found = decision("decide-handoff", &run).unwrap();
    assert!(found.sentence.starts_with("Waking a sleeping thread takes 4.54 µs (park, median)"), "{}", found.sentence);
    let park = &series(&found.charts[0])[1].points[0];
    assert_eq!((park.x, park.bar, park.most), (Some(4540.0), None, Some(9000.0)));
    assert!(found.note.unwrap().contains("is the median of single ones"));
    // The marks are the figures of the sentence, also where single hand-offs were timed.
    run.details.insert(run.rows[0].case.id(), vec![Detail::of_case("p50_ns", 47.6), Detail::of_case("p99_ns", 90.0)]);
    let found = decision("decide-handoff", &run).unwrap();
    let spinning = &series(&found.charts[0])[0].points[0];
    assert_eq!((spinning.x, spinning.most, spinning.text.as_deref()), (Some(71.5), Some(90.0), Some("71.5 ns")));
    assert!(found.sentence.contains("(71.5 ns)"), "{}", found.sentence);
}

#[test]
fn a_run_of_the_gpu_alone_says_nothing_of_cpu_threads() {
    let flag = row(case("hybrid.flag.round_trip", 1), 2500.0, 0.1);
    let fence =
        Row { evidence: Some("MEMBAR.SC.GPU 0/32".into()), ..row(on_blocks("gpu.fence.device", 1, 32), 500.0, 0.1) };
    let run = data(vec![flag, fence]);
    assert_eq!(decision("decide-handoff", &run), None);
    let fences = decision("decide-fences", &run).unwrap();
    let Spec::Table { columns, lines, .. } = &fences.charts[0] else { panic!("a table") };
    assert_eq!(columns, &["GPU: device"]);
    assert!(lines.iter().all(|line| line.cells.len() == 1));
    assert!(!fences.note.unwrap().contains("CPU"));
}

#[test]
fn a_thread_that_was_seen_asleep_replaces_one_that_may_have_slept() {
    let close = |id: &str| Case { placement: Some(Placement::Close), ..case(id, 2) };
    let rows = ["cpu.handoff.cas_pingpong", "cpu.handoff.futex", "cpu.handoff.park", "cpu.wake.futex"];
    let found = decision("decide-handoff", &data(rows.map(|id| row(close(id), 100.0, 0.1)).to_vec())).unwrap();
    assert_eq!(labels(&found.charts[0]), ["cas_pingpong, spins", "park, sleeps", "futex, sleeps"]);
    assert_eq!(series(&found.charts[0])[2].points[0].row, 3);
}

#[test]
fn a_machine_without_hardware_threads_says_so() {
    let pair = |group: Group, cpus: [u32; 2], ns| {
        let placement = Some(Placement::List(cpus.to_vec()));
        row(Case { group: Some(group), placement, ..case("cpu.handoff.cas_pingpong", 2) }, ns, 0.2)
    };
    let mut run = data(vec![pair(Group::SameL3, [0, 1], 48.0), pair(Group::SameL3, [0, 2], 49.0)]);
    run.run.machine.cpu.cores = 16;
    let found = decision("decide-placement", &run).unwrap();
    assert!(found.note.unwrap().contains("nothing is said about hyperthreads"));
    assert_eq!(series(&found.charts[0])[0].points.len(), 2, "each pair is a point");
    let far = pair(Group::Across, [0, 8], 210.0);
    run.rows.push(far);
    let text = decision("decide-placement", &run).unwrap().sentence;
    assert!(text.contains("210 ns across packages"), "{text}");
}

#[test]
fn placements_of_the_same_threads_stand_together() {
    let add = |threads, placement| {
        let of = add(Layout::Shared, threads, 100.0, 1e7);
        Row { case: Case { placement: Some(placement), ..of.case.clone() }, ..of }
    };
    let rows = vec![
        add(8, Placement::Close),
        add(8, Placement::Spread),
        add(4, Placement::Close),
        add(4, Placement::Spread),
        add(16, Placement::Close),
        add(16, Placement::Spread),
        add(8, Placement::None),
    ];
    let found = decision("decide-placement", &data(rows)).unwrap();
    let shown = labels(found.charts.last().unwrap());
    assert_eq!(shown, ["add, close, 8 threads", "add, spread, 8 threads", "add, unbound, 8 threads"]);
}

#[test]
fn the_stride_that_ends_false_sharing_is_a_rule() {
    let add = |stride, ns| add(Layout::Private { stride }, 16, ns, 1e7);
    let rows = vec![add(1, 367.0), add(8, 43.9), add(16, 16.9), add(32, 16.9)];
    let found = decision("decide-false-sharing", &data(rows.clone())).unwrap();
    let Spec::Lines { rules, .. } = &found.charts[0] else { panic!("lines") };
    assert_eq!(rules.iter().map(|rule| rule.x).collect::<Vec<_>>(), [64.0]);
    let blurred: Vec<Row> = rows.into_iter().map(|row| noisy(row, 10.0, 400.0)).collect();
    let found = decision("decide-false-sharing", &data(blurred)).unwrap();
    assert!(found.sentence.starts_with("Where false sharing ends is not certain"), "{}", found.sentence);
}

#[test]
fn unknown_primitives_and_missing_rows_decide_nothing() {
    assert_eq!(decisions(&data(vec![])), []);
    let hostile = vec![lock("<script>", 16, 1.0), row(case("cpu.barrier.'\"><b>", 16), 1.0, 0.1)];
    assert_eq!(decisions(&data(hostile)), []);
    let skipped = Row { verdict: Verdict::Skipped("none".into()), ..lock("ticket", 16, 1.0) };
    assert_eq!(decisions(&data(vec![skipped])), []);
}
