//! Tests every predicate in each of its outcomes, on rows written as short texts.

mod cpu;
mod gpu;
mod groups;

use std::collections::BTreeSet;

use super::*;
use crate::testing;
use syncscope_core::machine::{CpuMachine, GpuMachine};
use syncscope_core::stats::Interval;
use syncscope_core::{Case, Cycles, Form, Group, Layout, MemoryOrder, Mode, Nanoseconds, Placement, Row, Verdict};

/// A claim, and rows on which it holds, on which it does not, and on which it stays open.
struct Example {
    claim: &'static str,
    holds: &'static str,
    does_not_hold: &'static str,
    open: &'static str,
}

const fn example(claim: &'static str, holds: &'static str, does_not_hold: &'static str, open: &'static str) -> Example {
    Example { claim, holds, does_not_hold, open }
}

/// Rows: statements end with `;`. A statement is a row, `=` its cost in nanoseconds and cycles, `~` half its interval's width (1 % of
/// the cost where nothing is said). Words change the case of the row before: `t16` threads, `b2` blocks, `d4` devices, `p8`
/// private elements, `tile4`, `group16`. The id of a primitive begins a new case.
fn rows(text: &str) -> Vec<Row> {
    let mut case = Case::new("");
    let mut rows = Vec::new();
    for statement in text.split(';').map(str::trim).filter(|statement| !statement.is_empty()) {
        for word in statement.split_whitespace() {
            match word.strip_prefix('=') {
                Some(cost) => rows.push(row(case.clone(), cost)),
                None => change(&mut case, word),
            }
        }
    }
    rows
}

fn row(case: Case, cost: &str) -> Row {
    let reason = || "in a test".to_owned();
    match cost {
        "below" => return Row::unmeasured(case, Verdict::BelowResolution(reason())),
        "overlapped" => return Row::unmeasured(case, Verdict::Overlapped(reason())),
        _ => {}
    }
    let (cost, half) = cost.split_once('~').map_or((cost, None), |(cost, half)| (cost, half.parse().ok()));
    let cost: f64 = cost.parse().unwrap();
    let half = half.unwrap_or(cost / 100.0);
    let interval = Interval { low: cost - half, high: cost + half };
    Row {
        ns: Some(Nanoseconds(cost)),
        ns_within: Some(interval),
        cycles: Some(Cycles(cost)),
        cycles_interval: Some(interval),
        ..Row::unmeasured(case, Verdict::Resolved)
    }
}

fn change(case: &mut Case, word: &str) {
    let number = |prefix: &str| word.strip_prefix(prefix).and_then(|number| number.parse::<u32>().ok());
    if word.contains('.') {
        *case = Case::new(word);
    } else if let Some(size) = number("tile") {
        case.group = Some(Group::numbered("tile #", size));
    } else if let Some(size) = number("group") {
        case.group = Some(Group::numbered("coalesced #", size));
    } else if let Some(threads) = number("t") {
        case.threads = Some(threads);
    } else if let Some(blocks) = number("b") {
        case.blocks = Some(blocks);
    } else if let Some(devices) = number("d") {
        case.devices = Some(devices);
    } else if let Some(stride) = number("p") {
        case.layout = Some(Layout::Private { stride });
    } else if let Ok(dtype) = word.parse() {
        case.dtype = Some(dtype);
    } else {
        match word {
            "one" => case.layout = Some(Layout::Shared),
            "cores" => case.placement = Some(Placement::Cores),
            "close" => case.placement = Some(Placement::Close),
            "spread" => case.placement = Some(Placement::Spread),
            "latency" => case.mode = Some(Mode::Latency),
            "relaxed" => case.order = Some(MemoryOrder::Relaxed),
            "opaque" => case.form = Some(Form::Opaque),
            "converged" => case.group = Some(Group::named("converged")),
            "divergent" => case.group = Some(Group::named("divergent")),
            unknown => panic!("{unknown}"),
        }
    }
}

/// A machine of 8 cores with 2 hardware threads each, and devices of 10 multiprocessors.
fn run(text: &str) -> RunData {
    let mut data = testing::data(rows(text));
    // Only claims about larger teams get a larger machine.
    let hardware_threads = if text.starts_with("cpu.") && text.contains(" t32") { 32 } else { 16 };
    data.run.machine.cpu = CpuMachine { cores: 8, hardware_threads, ..CpuMachine::default() };
    data.run.machine.gpus = vec![GpuMachine { multiprocessors: 10, ..GpuMachine::default() }];
    data
}

fn found(claim: &str, data: &RunData) -> Finding {
    let all = CLAIMS.into_iter().flat_map(|(paper, claims)| claims.iter().map(move |claim| (paper, claim)));
    let (paper, claim) = all.into_iter().find(|(_, known)| known.id == claim).unwrap_or_else(|| panic!("{claim}"));
    evaluate(paper, claim, data)
}

fn check(example: &Example) {
    let expected = [(example.holds, Truth::Holds), (example.does_not_hold, Truth::Fails), (example.open, Truth::Open)];
    for (text, verdict) in expected {
        let data = run(text);
        let finding = found(example.claim, &data);
        assert_eq!(finding.outcome.verdict, verdict, "{}: {finding:?}", example.claim);
        assert!(finding.measured, "{}: {finding:?}", example.claim);
        let doubled = [",,", ", ,", ";;", "  ", " ,"].iter().find(|signs| finding.outcome.sentence.contains(**signs));
        assert_eq!(doubled, None, "{finding:?}");
        assert!(finding.outcome.rows.iter().all(|row| *row < data.rows.len()), "{finding:?}");
        let without_digits = finding.outcome.sentence.chars().all(|letter| !letter.is_ascii_digit());
        assert!(!without_digits || verdict == Truth::Open, "{finding:?}");
    }
}

#[test]
fn every_claim_comes_out_in_each_of_its_outcomes() {
    let examples = || [cpu::EXAMPLES, gpu::EXAMPLES, groups::EXAMPLES].into_iter().flatten();
    let tested: BTreeSet<&str> = examples().map(|example| example.claim).collect();
    let known: BTreeSet<&str> = CLAIMS.iter().flat_map(|(_, claims)| *claims).map(|claim| claim.id).collect();
    assert_eq!(tested, known);
    assert_eq!(examples().count(), known.len());
    examples().for_each(check);
}

#[test]
fn an_empty_run_decides_nothing_and_says_what_it_lacks() {
    for finding in findings(&run(""), []) {
        assert_eq!((finding.outcome.verdict, finding.measured), (Truth::Open, false), "{finding:?}");
        assert!(
            finding.outcome.sentence.starts_with("the run lacks ") && finding.outcome.rows.is_empty(),
            "{finding:?}"
        );
    }
}

#[test]
fn every_claim_has_its_source_and_a_sentence() {
    let mut ids = BTreeSet::new();
    for (paper, claim) in CLAIMS.into_iter().flat_map(|(paper, claims)| claims.iter().map(move |claim| (paper, claim)))
    {
        assert!(ids.insert(claim.id), "{}", claim.id);
        assert!(claim.id.starts_with(paper.as_str()), "{}", claim.id);
        let texts = [claim.place, claim.text, claim.needs];
        assert!(texts.iter().all(|text| text.len() > 4 && !text.ends_with('.')), "{}", claim.id);
    }
    assert!(ids.len() >= 36, "{}", ids.len());
}

#[test]
fn without_intervals_points_decide_and_the_sentence_says_so() {
    let mut data = run("cpu.barrier.openmp close t2 =100; t16 =300");
    assert!(!found("burtchell.openmp.barrier_threads", &data).outcome.sentence.contains("without intervals"));
    for row in &mut data.rows {
        row.ns_within = None;
    }
    let finding = found("burtchell.openmp.barrier_threads", &data);
    assert_eq!(finding.outcome.verdict, Truth::Fails);
    assert!(finding.outcome.sentence.ends_with("a factor of 3.00 (point estimates without intervals)"), "{finding:?}");
}

#[test]
fn teams_larger_than_the_machine_do_not_count() {
    let data = run("cpu.barrier.openmp close t2 =100; t16 =150; t17 =9000");
    assert_eq!(found("burtchell.openmp.barrier_threads", &data).outcome.verdict, Truth::Holds);
}

#[test]
fn teams_placed_close_say_nothing_about_hyperthreads() {
    let claim = "burtchell.openmp.hyperthreads";
    assert!(!found(claim, &run("cpu.barrier.openmp close t8 =100; t16 =120")).measured);
    assert!(found(claim, &run("cpu.barrier.openmp spread t8 =100; t16 =120")).measured);
    // All CPUs are the same set in every placement.
    let same = run(
        "cpu.barrier.openmp cores t8 =100; close t16 =120; cpu.lock.openmp_critical cores u64 one t8 =100; t16 =400",
    );
    let Outcome { verdict, sentence, .. } = found(claim, &same).outcome;
    assert_eq!(verdict, Truth::Fails);
    assert!(
        sentence.contains("120 ns for a barrier") && sentence.contains("400 ns for a critical section"),
        "{sentence}"
    );
}

#[test]
fn a_placement_with_one_size_hides_no_claim() {
    let data = run("cpu.barrier.openmp cores t2 =100; t4 =110; t8 =120; t16 =130; spread t4 =90");
    assert!(found("burtchell.openmp.barrier_stable", &data).measured);
    assert!(found("burtchell.openmp.barrier_threads", &data).outcome.sentence.contains("16 threads"));
}

/// Adjacent elements of a large team fill several cache lines.
#[test]
fn elements_are_in_one_line_only_where_they_fit_one() {
    let claim = "burtchell.openmp.false_sharing";
    for threads in [2, 16, 32] {
        let text = format!("cpu.atomic.add spread f64 p1 t{threads} =100; p16 =10; i32 p1 =100; p16 =10");
        let sentence = found(claim, &run(&text)).outcome.sentence;
        assert!(sentence.contains("for adjacent i32 elements against") && !sentence.contains("one line"), "{sentence}");
    }
}

#[test]
fn a_sentence_names_its_figures() {
    let data = run("cpu.barrier.openmp close t2 =395~20; t16 =1400~50");
    let finding = found("burtchell.openmp.barrier_threads", &data);
    assert_eq!(
        finding.outcome.sentence,
        "1.40 µs with 16 threads against 395 ns with 2 threads, a factor of 3.54 (3.25 to 3.87)"
    );
    assert_eq!(finding.outcome.rows, [1, 0]);
    let exact = found("burtchell.openmp.barrier_threads", &run("cpu.barrier.openmp close t2 =400~0.1; t16 =1600~0.1"));
    assert!(exact.outcome.sentence.ends_with("a factor of 4.00"), "no wider than its digits: {exact:?}");
    let blocks = run("gpu.block.syncthreads b1 t32 =14; t64 =16; t128 =20; b20 t32 =14; t64 =36; t128 =20");
    let of_pairs = found("burtchell.cuda.syncthreads_blocks", &blocks).outcome.sentence;
    assert!(of_pairs.contains(" in 2 of 3 pairs; the largest difference is 36.0"), "how many decide: {of_pairs}");
}

#[test]
fn an_interval_stands_where_the_table_has_no_number() {
    let mut data = run("cpu.barrier.openmp close t2 =395~100; t16 =1400~50");
    data.rows[0].verdict = Verdict::Noisy("wide".into());
    let finding = found("burtchell.openmp.barrier_threads", &data);
    assert_eq!(
        finding.outcome.sentence,
        "1.40 µs with 16 threads against 295 to 495 ns with 2 threads, a factor of 2.73 to 4.92"
    );
    data.rows[0].ns_within = Some(Interval { low: 300.0, high: 480.0 });
    let finding = found("burtchell.openmp.barrier_threads", &data);
    assert!(finding.outcome.sentence.contains("~395 ns with 2 threads, a factor of 3.54 (2.81 to"), "{finding:?}");
}

#[test]
fn cycles_of_a_noisy_row_decide_by_their_interval_and_are_not_written() {
    let mut data = run("cpu.atomic.read close one i32 t2 =0.5; t4 =0.7; t8 =0.9~0.8");
    data.rows[2].verdict = Verdict::Noisy("wide".into());
    let of = |data: &RunData| found("burtchell.openmp.read_free", data).outcome;
    let (sentence, verdict) = (of(&data).sentence, of(&data).verdict);
    assert_eq!(verdict, Truth::Open, "the noisy one may be above");
    assert!(
        sentence.starts_with("0.500 to 0.700 cycles in 2 of 3 cases; the highest interval ends at 1.70 cycles"),
        "{sentence}"
    );
    data.rows.remove(0);
    assert!(of(&data).sentence.starts_with("0.700 cycles in 1 of 2 cases;"), "{data:?}");
    data.rows.remove(0);
    assert!(
        of(&data).sentence.starts_with("no case has a figure in cycles; the highest interval ends at 1.70"),
        "{data:?}"
    );
}
