//! Advice from made-up runs: each test states the right answer.

use syncscope_core::{Detail, Dtype, Group, Layout, MemoryOrder, Nanoseconds, Placement, Row, Scope, Space, Verdict};

use super::super::testing::data as run;
use super::*;
use syncscope_core::run::Status;

fn close(primitive: &str, threads: u32) -> Case {
    Case { threads: Some(threads), placement: Some(Placement::Close), ..Case::new(primitive) }
}

/// A row certain to 1 % within the run, and to 20 % in another run.
fn row(case: Case, ns: f64) -> Row {
    let around = |share: f64| Some(Interval { low: ns * (1.0 - share), high: ns * (1.0 + share) });
    Row {
        ns: Some(Nanoseconds(ns)),
        ns_within: around(0.01),
        ns_interval: around(0.2),
        pairs: Some(60),
        ..Row::unmeasured(case, Verdict::Resolved)
    }
}

fn lock(name: &str, threads: u32, ns: f64) -> Row {
    row(close(&format!("cpu.lock.{name}"), threads), ns)
}

fn asked(data: &RunData, need: Need, threads: Option<u32>) -> Vec<Advice> {
    advise(data, need, Asked { threads, ..Asked::default() })
}

/// No command can measure on one CPU what takes several.
#[test]
fn a_single_cpu_is_no_team() {
    let mut data =
        run(vec![lock("ticket", 1, 10.0), row(close("cpu.barrier.std", 1), 5.0), row(close("cpu.atomic.add", 1), 5.0)]);
    let names_a_command = |data: &RunData, need| missing(&asked(data, need, None)).contains("syncscope run");
    for need in [Need::Phases, Need::CountEvents] {
        data.run.environment.allowed_cpus = "0-1".to_owned();
        assert!(names_a_command(&data, need), "{need}");
        data.run.environment.allowed_cpus = "3".to_owned();
        assert!(!names_a_command(&data, need), "{need}");
        let oversubscribed = asked(&data, need, Some(2));
        assert!(missing(&oversubscribed).contains("--threads 2"), "two threads can be measured if one asks for them");
    }
    assert!(names_a_command(&data, Need::Reduce), "some reductions have one thread");
}

/// The choice of the only answer.
fn choice(answers: &[Advice]) -> &Choice {
    let [Advice { decision: Decision { choice: Some(choice), .. }, .. }] = answers else { panic!("{answers:?}") };
    choice
}

fn undecided(answers: &[Advice]) -> &str {
    let [Advice { decision, .. }] = answers else { panic!("{answers:?}") };
    assert!(decision.measured && decision.choice.is_none(), "{answers:?}");
    &decision.outcome.sentence
}

fn missing(answers: &[Advice]) -> String {
    let [Advice { decision, .. }] = answers else { panic!("{answers:?}") };
    assert!(!decision.measured, "{answers:?}");
    decision.reason()
}

#[test]
fn the_lock_to_take_changes_with_the_number_of_threads() {
    let data = run(vec![
        lock("ticket", 2, 40.0),
        lock("std_mutex", 2, 90.0),
        lock("ticket", 16, 6000.0),
        lock("std_mutex", 16, 2000.0),
        // More threads than CPUs are not the default.
        lock("ticket", 20, 1e6),
        lock("std_mutex", 20, 2500.0),
    ]);
    let two = asked(&data, Need::Protect, Some(2));
    let ticket = choice(&two);
    assert_eq!(ticket.name, "ticket");
    assert_eq!((ticket.next.name.as_str(), ticket.next.ratio), ("std_mutex", 2.25));
    let (low, high) = (ticket.next.ratio_low.unwrap(), ticket.next.ratio_high.unwrap());
    assert!(low < 2.25 && 2.25 < high && low > 2.2 && high < 2.3, "two intervals of a hundredth: {low} {high}");
    assert_eq!((ticket.cost.ns_low, ticket.cost.ns_high), (32.0, 48.0), "the one to quote");
    assert!(
        ticket.warnings[0].contains("its CPUs to itself: 20 threads on 16 CPUs take 1.00 ms"),
        "{:?}",
        ticket.warnings
    );
    let all = asked(&data, Need::Protect, None);
    assert_eq!((choice(&all).name.as_str(), all[0].situation.as_str()), ("std_mutex", "16 threads"));
    assert!(choice(&all).warnings.is_empty());
}

#[test]
fn an_unfair_winner_has_a_warning() {
    let mut data = run(vec![lock("ticket", 16, 6000.0), lock("std_mutex", 16, 2000.0)]);
    let id = data.rows[1].case.id();
    data.details.insert(id.clone(), vec![Detail::of_case("jain_index", 0.41)]);
    let warned = asked(&data, Need::Protect, None);
    assert!(choice(&warned).warnings[0].starts_with("unfair") && choice(&warned).warnings[0].contains("0.41"));
    data.details.insert(id, vec![Detail::of_case("jain_index", 0.97)]);
    let fair = asked(&data, Need::Protect, None);
    assert!(choice(&fair).warnings.is_empty() && choice(&fair).notes[1].contains("0.97"), "{fair:?}");
    data.details.clear();
    assert!(choice(&asked(&data, Need::Protect, None)).notes[1].contains("its fairness was not measured"));
}

#[test]
fn overlapping_rows_decide_nothing() {
    let tie = run(vec![lock("ticket", 16, 1000.0), lock("std_mutex", 16, 1015.0), lock("mcs", 16, 3000.0)]);
    assert_eq!(
        undecided(&asked(&tie, Need::Protect, None)),
        "the intervals of ticket and std_mutex overlap; the other one costs more"
    );
    // A noisy row takes part with its wide interval.
    let wide = Row {
        ns_within: Some(Interval { low: 900.0, high: 5000.0 }),
        verdict: Verdict::Noisy("wide".into()),
        ..lock("mcs", 16, 3000.0)
    };
    let noisy = run(vec![lock("ticket", 16, 1000.0), lock("std_mutex", 16, 1500.0), wide]);
    assert!(
        undecided(&asked(&noisy, Need::Protect, None))
            .starts_with("the cheapest may be mcs, the only one of 3 candidates without a figure")
    );
    let noisy = Row { verdict: Verdict::Noisy("wide".into()), ..lock("mcs", 16, 900.0) };
    let narrow = run(vec![lock("ticket", 16, 1000.0), noisy.clone()]);
    assert!(choice(&asked(&narrow, Need::Protect, None)).cost.is_rough);
    let tied = run(vec![noisy, lock("ticket", 16, 905.0), lock("std_mutex", 16, 1500.0)]);
    assert_eq!(
        undecided(&asked(&tied, Need::Protect, None)),
        "the intervals of mcs and ticket overlap; the other one costs more"
    );
}

#[test]
fn a_cost_that_the_table_does_not_show_is_not_taken() {
    let unresolved = |name: &str, ns: f64| Row {
        ns_within: Some(Interval { low: 0.2 * ns, high: 1.8 * ns }),
        verdict: Verdict::Noisy("wide".into()),
        ..lock(name, 16, ns)
    };
    let cheapest = run(vec![unresolved("ticket", 100.0), lock("std_mutex", 16, 1000.0), lock("mcs", 16, 2000.0)]);
    assert_eq!(
        undecided(&asked(&cheapest, Need::Protect, None)),
        "the cheapest may be ticket, the only one of 3 candidates without a figure"
    );
    let range = Row { ns_within: Some(Interval { low: 70.0, high: 130.0 }), ..unresolved("ticket", 100.0) };
    let known = run(vec![range, lock("std_mutex", 16, 1000.0)]);
    assert_eq!(choice(&asked(&known, Need::Protect, None)).name, "ticket", "a range is known");
    let expensive = run(vec![lock("std_mutex", 16, 1000.0), lock("mcs", 16, 2000.0), unresolved("ticket", 9000.0)]);
    assert_eq!(choice(&asked(&expensive, Need::Protect, None)).name, "std_mutex", "its interval says enough");
}

#[test]
fn what_has_no_interval_may_be_the_cheapest() {
    let failed = Row { verdict: Verdict::Interfered("too many".into()), ..lock("mcs", 16, 1.0) };
    let data = run(vec![lock("ticket", 16, 1000.0), lock("std_mutex", 16, 2000.0), failed]);
    assert!(
        undecided(&asked(&data, Need::Protect, None))
            .starts_with("the cheapest may be mcs, the only one of 3 candidates without a figure")
    );
    // Imported figures have none at all.
    let imported = |name, ns| Row {
        verdict: Verdict::Imported(String::new()),
        ns_within: None,
        ns_interval: None,
        ..lock(name, 16, ns)
    };
    let data = run(vec![imported("ticket", 10.0), imported("std_mutex", 12.0)]);
    assert_eq!(undecided(&asked(&data, Need::Protect, None)), WITHOUT_INTERVALS);
    let data = run(vec![imported("ticket", 10.0), imported("std_mutex", 2000.0)]);
    let far = asked(&data, Need::Protect, None);
    let note = "chosen because the next costs at least 2 times as much, although these figures have no intervals";
    assert_eq!((choice(&far).name.as_str(), choice(&far).notes[1].as_str()), ("ticket", note));
    let absent = Row { verdict: Verdict::Skipped("none here".into()), ..lock("mcs", 16, 1.0) };
    let data = run(vec![lock("ticket", 16, 1000.0), lock("std_mutex", 16, 2000.0), absent]);
    assert_eq!(choice(&asked(&data, Need::Protect, None)).name, "ticket", "what does not exist is no rival");
    // A cost below the resolution still lies in an interval.
    let below = Row {
        ns_within: Some(Interval { low: -700.0, high: 1200.0 }),
        verdict: Verdict::BelowResolution("at most".into()),
        ..lock("mcs", 16, 300.0)
    };
    let data = run(vec![lock("ticket", 16, 1000.0), below]);
    assert_eq!(
        undecided(&asked(&data, Need::Protect, None)),
        "the cheapest may be mcs, the only one of 2 candidates without a figure"
    );
}

#[test]
fn what_is_yet_to_be_measured_may_be_the_cheapest() {
    let mut data = run(vec![lock("ticket", 16, 1000.0), lock("std_mutex", 16, 2000.0), lock("mcs", 2, 50.0)]);
    let subset = asked(&data, Need::Protect, None);
    assert_eq!(choice(&subset).notes[0], "cheapest of the 2 measured; 15 more have no row at this size");
    data.run.status = Status::Interrupted;
    let plan = [("ticket", 2), ("std_mutex", 1), ("mcs", 2), ("clh", 1)];
    data.run.planned_by_primitive = plan.map(|(name, count)| (format!("cpu.lock.{name}"), count)).into();
    assert_eq!(
        undecided(&asked(&data, Need::Protect, None)),
        "2 of the 4 candidates are not measured yet: mcs and clh"
    );
}

#[test]
fn missing_rows_are_named() {
    let data = run(vec![lock("ticket", 2, 40.0), lock("std_mutex", 2, 90.0), lock("ticket", 16, 6000.0)]);
    assert_eq!(
        missing(&asked(&data, Need::Protect, Some(3))),
        "no rows at 3 threads; the run has 2, 16; `syncscope run --only 'cpu.lock.*' --threads 3` measures them"
    );
    let phases = run(vec![
        Row { case: Case { threads: Some(1), ..Case::new("cpu.barrier.std") }, ..lock("ticket", 1, 9.0) },
        Row { case: Case { threads: Some(2), ..Case::new("cpu.barrier.std") }, ..lock("ticket", 2, 90.0) },
    ]);
    let alone = advise(&phases, Need::Phases, Asked { threads: Some(1), on: Some(Domain::Cpu), ..Asked::default() });
    assert_eq!(missing(&alone), "one thread shares nothing with another; the run has 2");
    assert!(
        missing(&asked(&data, Need::Protect, Some(16))).contains("fewer than two candidates"),
        "one lock is no choice"
    );
    assert!(missing(&asked(&data, Need::Phases, None)).contains("on the CPU"));
    assert!(
        missing(&asked(&data, Need::Reduce, None)).contains("`syncscope run --only 'cpu.reduction.*'` measures them")
    );
    let device = advise(&data, Need::Protect, Asked { on: Some(Domain::Gpu), ..Asked::default() });
    assert!(missing(&device).contains("on the GPU"));
    let handoff = advise(&data, Need::HandOver, Asked { on: Some(Domain::Gpu), ..Asked::default() });
    assert!(missing(&handoff).contains("--only 'gpu.handoff.*'"));
    let team = advise(&data, Need::EndGpuPhase, Asked { on: Some(Domain::Cpu), ..Asked::default() });
    assert!(missing(&team).contains("no grid"));
    let mut without_gpu = data.clone();
    without_gpu.run.machine.gpus.clear();
    for (need, on) in [(Need::EndGpuPhase, None), (Need::Protect, Some(Domain::Gpu)), (Need::Reduce, Some(Domain::Gpu))]
    {
        let answers = advise(&without_gpu, need, Asked { on, ..Asked::default() });
        assert_eq!(missing(&answers), "the run found no GPU on its machine", "{need:?}");
    }
}

/// A command that measures nothing, or nothing that answers the question, is no advice.
#[test]
fn only_teams_that_a_run_can_have_are_to_be_measured() {
    let pair = |name: &str| row(close(&format!("cpu.handoff.{name}"), 2), 40.0);
    let data = run(vec![pair("cas_pingpong"), pair("store_pingpong"), lock("ticket", 2, 40.0)]);
    assert_eq!(missing(&asked(&data, Need::HandOver, Some(8))), "no rows at 8 threads; the run has 2");
    for (need, on, threads) in [
        (Need::Reduce, Domain::Cpu, 5),
        (Need::Wait, Domain::Cpu, 5),
        (Need::Phases, Domain::Cpu, 1),
        (Need::Protect, Domain::Gpu, 5),
    ] {
        let advice = advise(&data, need, Asked { threads: Some(threads), on: Some(on), ..Asked::default() });
        let why = missing(&advice);
        assert!(why.contains("`syncscope run") && !why.contains("--threads") && !why.contains(" at "), "{why}");
        assert!(!advice[0].asked().contains(", "), "{}", advice[0].asked());
    }
    let warp = Asked { threads: Some(64), on: Some(Domain::Gpu), ..Asked::default() };
    assert!(missing(&advise(&data, Need::Protect, warp)).contains("--threads 64"));
}

fn addition(threads: u32, layout: Layout, ns: f64) -> Row {
    let case = Case { dtype: Some(Dtype::I32), layout: Some(layout), ..close("cpu.atomic.add", threads) };
    row(case, ns)
}

#[test]
fn many_threads_need_counters_of_their_own_and_one_does_not() {
    let private = |threads, stride, ns| addition(threads, Layout::Private { stride }, ns);
    let mut rows = vec![
        addition(1, Layout::Shared, 6.4),
        private(1, 1, 6.4),
        private(1, 16, 6.41),
        addition(16, Layout::Shared, 400.0),
        private(16, 1, 300.0),
        private(16, 16, 6.4),
        private(16, 64, 6.3),
    ];
    let data = run(rows.clone());
    let all = asked(&data, Need::CountEvents, None);
    let padded = choice(&all);
    assert_eq!((padded.name.as_str(), padded.next.name.as_str()), ("padded per-thread counters", "one shared counter"));
    assert!(padded.case.contains("private/16"), "the least distance of a cache line, not another one: {}", padded.case);
    let mut pairs_of_lines = rows.clone();
    pairs_of_lines.push(private(16, 32, 3.0));
    let data_of_pairs = run(pairs_of_lines);
    let apart = asked(&data_of_pairs, Need::CountEvents, None);
    assert!(choice(&apart).case.contains("private/32"), "the next line is still shared: {}", choice(&apart).case);
    assert!(padded.notes.is_empty(), "without a hand-off nobody knows what reading costs: {:?}", padded.notes);
    assert_eq!(
        undecided(&asked(&data, Need::CountEvents, Some(1))),
        "the intervals of one shared counter and padded per-thread counters overlap"
    );
    rows.push(row(close("cpu.handoff.cas_pingpong", 2), 100.0));
    let data = run(rows);
    let answers = asked(&data, Need::CountEvents, None);
    // 16 lines of at most 120 ns in another run, over at least 396 - 6.464 ns for each event.
    assert!(
        choice(&answers).notes[0].contains("at most 1.92 µs")
            && choice(&answers).notes[0].contains("at least 5 events")
    );
    // The line visits 15 other threads before it comes back.
    let with_work = "costs about a hand-off (100 ns), and threads queue if the work is shorter than 1.50 µs";
    assert!(choice(&answers).notes[1].contains(with_work), "{:?}", choice(&answers).notes);
}

fn on_grid(primitive: &str, blocks: u32, threads: u32, ns: f64) -> Row {
    row(Case { blocks: Some(blocks), threads: Some(threads), ..Case::new(primitive) }, ns)
}

#[test]
fn a_gpu_counts_where_its_threads_are() {
    let add = |layout, space, ns| {
        let row = on_grid("gpu.atomic.add", 1, 1024, ns);
        let case = Case { dtype: Some(Dtype::I32), layout: Some(layout), space: Some(space), ..row.case.clone() };
        Row { case, ..row }
    };
    let (shared, apart) = (Layout::Shared, Layout::Private { stride: 1 });
    let mut rows = vec![add(shared, Space::Global, 50.0), add(apart, Space::Global, 80.0)];
    rows.push(add(Layout::Private { stride: 32 }, Space::Global, 500.0));
    let answers = asked(&run(rows.clone()), Need::CountEvents, None);
    assert_eq!(
        (choice(&answers).name.as_str(), choice(&answers).next.name.as_str()),
        ("one shared counter", "per-thread counters in global memory")
    );
    let without = "cheapest of the 2 measured; 1 more has no row at this size";
    assert!(
        choice(&answers).notes.iter().any(|note| note == without),
        "a counter for each block, {:?}",
        choice(&answers).notes
    );
    // Additions of another scope are no rivals of their own.
    let system = add(shared, Space::Global, 49.9);
    let case = Case { scope: Some(Scope::System), ..system.case.clone() };
    assert_eq!(
        choice(&asked(&run([rows.clone(), vec![Row { case, ..system }]].concat()), Need::CountEvents, None)).next.name,
        "per-thread counters in global memory"
    );
    rows.push(add(shared, Space::Shared, 20.0));
    assert!(choice(&asked(&run(rows), Need::CountEvents, None)).name.starts_with("a counter for each block"));
}

#[test]
fn barriers_are_chosen_for_teams_blocks_and_grids() {
    let data = run(vec![
        row(close("cpu.barrier.std", 16), 37_000.0),
        row(close("cpu.barrier.tree", 16), 1300.0),
        on_grid("gpu.block.syncthreads", 1, 1024, 38.0),
        on_grid("gpu.block.mbarrier", 1, 1024, 100.0),
        on_grid("gpu.grid.counter", 132, 32, 800.0),
        on_grid("gpu.grid.cooperative", 132, 32, 1000.0),
        on_grid("gpu.grid.cooperative", 264, 1024, 100.0),
    ]);
    let answers = asked(&data, Need::Phases, None);
    let taken: Vec<(&str, &str)> = answers
        .iter()
        .map(|advice| (advice.decision.choice.as_ref().unwrap().name.as_str(), advice.situation.as_str()))
        .collect();
    assert_eq!(
        taken,
        [("tree", "16 threads"), ("syncthreads", "1024 threads, one block"), ("counter", "132×32, whole grid")]
    );
    let on_cpu = advise(&data, Need::Phases, Asked { on: Some(Domain::Cpu), ..Asked::default() });
    assert_eq!(choice(&on_cpu).warnings, ["waiters spin, so it needs its CPUs to itself"]);
}

#[test]
fn spinning_and_sleeping_are_two_answers() {
    let pair = |name: &str, ns| row(close(&format!("cpu.handoff.{name}"), 2), ns);
    let rows =
        vec![pair("cas_pingpong", 76.0), pair("store_pingpong", 98.0), pair("park", 140.0), pair("futex", 3000.0)];
    // The same hand-offs between distant CPUs, and between listed ones, are other questions.
    let elsewhere = |placement| {
        let row = pair("cas_pingpong", 76.5);
        Row { case: Case { placement: Some(placement), ..row.case.clone() }, ..row }
    };
    let mut data = run([rows, vec![elsewhere(Placement::Spread), elsewhere(Placement::List(vec![0, 5]))]].concat());
    data.details.insert(data.rows[2].case.id(), vec![Detail::of_case("p50_ns", 5000.0)]);
    let answers = asked(&data, Need::HandOver, None);
    let [spins, sleeps] = answers.as_slice() else { panic!("{answers:?}") };
    let [spins, sleeps] = [spins, sleeps].map(|one| one.decision.choice.clone().unwrap());
    assert!(spins.name == "cas_pingpong" && spins.warnings[0].contains("needs a CPU"));
    assert_eq!(spins.notes[0], "the same number of threads, placed differently: spread 76.5 ns");
    assert_eq!(spins.notes[2], "if the waiter may sleep: park 140 ns and futex 3.00 µs cost more");
    assert!(sleeps.name == "park" && sleeps.notes[1].contains("5.00 µs (median)"), "{sleeps:?}");
}

#[test]
fn a_choice_comes_with_its_cost_elsewhere_in_the_machine() {
    let barrier = |name: &str, ns| row(close(&format!("cpu.barrier.{name}"), 2), ns);
    let placed = |placement, group: Option<&'static str>, ns| {
        let row = barrier("dissemination", ns);
        Row { case: Case { placement: Some(placement), group: group.map(Group::named), ..row.case.clone() }, ..row }
    };
    let pairs = [(Placement::List(vec![0, 8]), "same_core", 40.0), (Placement::List(vec![0, 4]), "across", 240.0)];
    let mut rows =
        vec![barrier("dissemination", 100.0), barrier("tree", 300.0), placed(Placement::Spread, None, 250.0)];
    rows.extend(pairs.map(|(placement, group, ns)| placed(placement, Some(group), ns)));
    let answers = asked(&run(rows), Need::Phases, None);
    let expected = [
        "the same number of threads, placed differently: spread 250 ns",
        "two threads: 40.0 ns where they share one core and 240 ns where they share nothing",
    ];
    assert_eq!(choice(&answers).notes[..2], expected);
}

#[test]
fn the_end_of_a_gpu_phase_depends_on_the_length_of_the_kernels() {
    let kernel = |way: &str, length, ns| {
        let row = on_grid(&format!("gpu.launch.{way}"), 132, 32, ns);
        Row { case: Case { group: Some(length), ..row.case.clone() }, ..row }
    };
    let rows = vec![
        on_grid("gpu.grid.counter", 132, 32, 800.0),
        on_grid("gpu.grid.cooperative", 132, 32, 2000.0),
        kernel("graph", Group::of_word("5 us"), 400.0),
        kernel("stream", Group::of_word("5 us"), 1500.0),
        kernel("graph", Group::named("empty"), 3000.0),
        kernel("stream", Group::named("empty"), 4000.0),
    ];
    let answers = asked(&run(rows.clone()), Need::EndGpuPhase, None);
    let [working, empty] = answers.as_slice() else { panic!("{answers:?}") };
    let [graph, barrier] = [working, empty].map(|one| one.decision.choice.clone().unwrap());
    assert_eq!(
        (graph.id.as_str(), working.situation.as_str()),
        ("gpu.launch.graph", "5 µs kernels without memory traffic, grid of 132×32")
    );
    assert_eq!(
        (barrier.name.as_str(), empty.situation.as_str()),
        ("a grid barrier (counter)", "empty kernels, grid of 132×32")
    );
    assert!(barrier.warnings[0].contains("cooperative launch"));
    // A barrier in another memory order is the same barrier.
    let other = on_grid("gpu.grid.counter", 132, 32, 801.0);
    let ordered = Row { case: Case { order: Some(MemoryOrder::Relaxed), ..other.case.clone() }, ..other };
    let answers = asked(&run([rows.clone(), vec![ordered]].concat()), Need::EndGpuPhase, None);
    assert!(answers.iter().all(|advice| advice.decision.choice.is_some()), "{answers:?}");
    // With two instruments, the intervals for another run decide, and they overlap.
    let near = [&rows[..2], &[kernel("graph", Group::of_word("5 us"), 700.0)]].concat();
    assert!(undecided(&asked(&run(near), Need::EndGpuPhase, None)).contains("overlap"));
    assert!(missing(&asked(&run(rows.clone()), Need::EndGpuPhase, Some(64))).contains("the run has 32"));
    // Kernels of one block are not the kernels that a grid of 132 would be divided into.
    let mut small = [&rows[..2], &rows[2..4]].concat();
    for row in &mut small[2..] {
        row.case.blocks = Some(1);
    }
    assert!(missing(&asked(&run(small), Need::EndGpuPhase, None)).contains("fewer than two candidates"));
}

fn reduction(id: &str, elements: u64, ns: f64) -> Row {
    row(Case { elements: Some(elements), group: Some(Group::of_word("sum")), ..Case::new(id) }, ns)
}

#[test]
fn reductions_have_one_answer_for_the_sizes_that_share_it() {
    let mut rows = Vec::new();
    let times = [(1024, 900.0, 2000.0), (4096, 900.0, 2000.0), (65_536, 2000.0, 2010.0), (1 << 20, 5000.0, 4000.0)];
    for (elements, atomic, graph) in times {
        rows.push(reduction("gpu.reduction.atomic", elements, atomic));
        rows.push(reduction("gpu.reduction.graph", elements, graph));
        // A separate role: a study of what atomic operations cost.
        rows.push(reduction("gpu.reduction.listing_1", elements, 1.0));
    }
    let answers = asked(&run(rows.clone()), Need::Reduce, None);
    let situations: Vec<&str> = answers.iter().map(|advice| advice.situation.as_str()).collect();
    assert_eq!(situations, ["sum of 1,024 to 4,096 elements", "sum of 65,536 elements", "sum of 1,048,576 elements"]);
    let ids: Vec<Option<&str>> =
        answers.iter().map(|advice| advice.decision.choice.as_ref().map(|choice| choice.id.as_str())).collect();
    assert_eq!(ids, [Some("gpu.reduction.atomic"), None, Some("gpu.reduction.graph")]);
    let on_cpu = advise(&run(rows), Need::Reduce, Asked { on: Some(Domain::Cpu), ..Asked::default() });
    assert!(!on_cpu[0].decision.measured);
}

/// A cost that is not additive has no bounds. It recommends nothing and loses to nothing, and is called what it is.
#[test]
fn a_counter_that_is_not_additive_may_be_the_cheapest_whatever_its_figure() {
    for ns in [1.0, 400.0, 4e6] {
        let shared = Row { verdict: Verdict::NonAdditive("differs".into()), ..addition(16, Layout::Shared, ns) };
        let data = run(vec![shared, addition(16, Layout::Private { stride: 16 }, 6.4)]);
        let answers = asked(&data, Need::CountEvents, None);
        let why = undecided(&answers);
        assert!(why.contains("may be") && why.contains("one shared counter"), "{why}");
        let candidates = &answers[0].decision.candidates;
        let shared = candidates.iter().find(|one| one.name == "one shared counter").unwrap();
        assert_eq!((shared.cost, &*shared.without_cost), (None, "not additive"));
        let text = crate::export::advice::for_terminal(&data, &answers, 120);
        assert!(text.contains("(not additive)"), "{text}");
    }
}
