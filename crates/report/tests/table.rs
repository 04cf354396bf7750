//! Tests the table of a run as text.

mod synthetic;

use syncscope_core::stats::Interval;
use syncscope_core::{Case, Cycles, Dtype, Form, Layout, MemoryOrder, Mode, Nanoseconds, Placement, Row, Verdict};
use syncscope_report::{RunData, table};

fn small() -> RunData {
    let add = |dtype, layout, threads, ns| {
        let case =
            Case { dtype: Some(dtype), layout: Some(layout), threads: Some(threads), ..Case::new("cpu.atomic.add") };
        exact(case, ns)
    };
    let private = Layout::Private { stride: 16 };
    let fence = Case { threads: Some(1), ..Case::new("cpu.fence.acquire") };
    let lock = Case { threads: Some(2), ..Case::new("cpu.lock.std_mutex") };
    let rows = vec![
        add(Dtype::I32, Layout::Shared, 1, 2.0),
        add(Dtype::I32, Layout::Shared, 4, 40.0),
        add(Dtype::I32, Layout::Shared, 16, 200.0),
        add(Dtype::U64, Layout::Shared, 1, 2.01),
        add(Dtype::U64, Layout::Shared, 4, 40.1),
        add(Dtype::U64, Layout::Shared, 16, 201.0),
        add(Dtype::I32, private, 1, 2.0),
        add(Dtype::I32, private, 16, 2.2),
        Row {
            ns_interval: Some(Interval { low: -0.01, high: 0.05 }),
            ..Row::unmeasured(fence, Verdict::BelowResolution("at most 0.050 ns".into()))
        },
        Row::unmeasured(lock, Verdict::Failed("check failed: the counter is 3, not 4".into())),
    ];
    synthetic::data("small", synthetic::run("AMD EPYC 9274F 24-Core Processor", None), rows)
}

/// A row with a fixed cost and interval.
fn exact(case: Case, ns: f64) -> Row {
    Row {
        ns: Some(Nanoseconds(ns)),
        ns_interval: Some(Interval { low: ns * 0.99, high: ns * 1.01 }),
        cycles: Some(Cycles(ns * 4.0)),
        cycles_interval: Some(Interval { low: ns * 3.96, high: ns * 4.04 }),
        ..Row::unmeasured(case, Verdict::Resolved)
    }
}

/// The table with visible escape codes and plain spaces in place of no-break spaces.
fn shown(data: &RunData, width: usize, colour: bool) -> String {
    table::summary(data, width, colour).replace('\u{a0}', " ").replace('\u{1b}', "^")
}

#[test]
fn one_case_on_one_cpu_is_no_plural() {
    let case = Case { threads: Some(1), placement: Some(Placement::List(vec![3])), ..Case::new("cpu.lock.mcs") };
    let pair = Case { threads: Some(2), placement: Some(Placement::List(vec![3, 4])), ..case.clone() };
    let run = || synthetic::run("AMD EPYC 9274F 24-Core Processor", None);
    let alone = shown(&synthetic::data("one", run(), vec![exact(case.clone(), 9.0)]), 120, false);
    let both = shown(&synthetic::data("two", run(), vec![exact(case, 9.0), exact(pair, 90.0)]), 120, false);
    assert!(alone.contains("complete, 1 case ·") && both.contains("complete, 2 cases ·"), "{alone}\n{both}");
    assert!(both.contains("CPU 3") && !both.contains("CPUs 3 ") && both.contains("CPUs 3,4"), "{both}");
}

#[test]
fn a_small_run_in_a_wide_terminal() {
    let expected = [
        "AMD EPYC 9274F",
        "standard preset · complete, 10 cases · 3 min 20 s",
        "",
        "cpu.atomic               1 thread                     4 threads                    16 threads",
        "  add i32, u64 shared     2.00 ns ±1.0 % 8.00 cycles    40.0 ns ±1.0 % 160 cycles      200 ns ±1.0 %  800 cycles",
        "      i32 private/16      2.00 ns ±1.0 % 8.00 cycles          –                       2.20 ns ±1.0 % 8.80 cycles",
        "",
        "cpu.lock                2 threads",
        "  std_mutex                failed",
        "",
        "cpu.fence                1 thread",
        "  acquire              < 0.050 ns",
        "",
        "8 resolved, 1 below resolution, 1 failed",
        "a, b: several variants, with the figures of the first; the others' differ by less than 5 %, or the intervals overlap",
        "<: an upper bound: the cost may be zero",
        "This is a virtual machine (KVM). 8 of 10 costs are resolved.",
        "failed: cpu.lock.std_mutex 2 threads: check failed: the counter is 3, not 4",
        "warning: this is a virtual machine (KVM): other guests may disturb it; prefer an idle host",
    ]
    .join("\n");
    assert_eq!(shown(&small(), 120, false), expected);
}

#[test]
fn a_small_run_in_a_narrow_terminal() {
    let expected = [
        "AMD EPYC 9274F",
        "standard preset · complete, 10 cases · 3 min 20 s",
        "",
        "cpu.atomic               1 thread         16 threads",
        "  add i32, u64 shared     2.00 ns ±1.0 %      200 ns ±1.0 %",
        "      i32 private/16      2.00 ns ±1.0 %     2.20 ns ±1.0 %",
        "",
        "cpu.lock                2 threads",
        "  std_mutex                failed",
        "",
        "cpu.fence                1 thread",
        "  acquire              < 0.050 ns",
        "",
        "8 resolved, 1 below resolution, 1 failed",
        "a, b: several variants, with the figures of the first; the",
        "  others' differ by less than 5 %, or the intervals overlap",
        "<: an upper bound: the cost may be zero",
        "This is a virtual machine (KVM). 8 of 10 costs are resolved.",
        "failed: cpu.lock.std_mutex 2 threads: check failed: the",
        "  counter is 3, not 4",
        "warning: this is a virtual machine (KVM): other guests may",
        "  disturb it; prefer an idle host",
    ]
    .join("\n");
    assert_eq!(shown(&small(), 60, false), expected);
}

#[test]
fn forms_follow_the_default_in_lines_of_their_own() {
    let add = |form| exact(Case { threads: Some(1), form, ..Case::new("cpu.atomic.add") }, 2.0);
    let rows = vec![add(Some(Form::Varying)), add(None), add(Some(Form::Opaque))];
    let data = synthetic::data("forms", synthetic::run("CPU", None), rows);
    let text = shown(&data, 60, false);
    let words: Vec<Vec<&str>> = text.lines().skip(4).take(3).map(|line| line.split_whitespace().collect()).collect();
    let starts: Vec<&str> = words.iter().map(|words| words[0]).collect();
    assert_eq!(starts, ["add", "varying", "opaque"], "{text}");
    assert!(words.iter().all(|words| words.contains(&"2.00")), "{text}");
}

/// Variants that differ in their last word must not look alike.
#[test]
fn long_variants_take_several_lines() {
    let of = |order, mode, ns| {
        let lock =
            Case { dtype: Some(Dtype::I32), layout: Some(Layout::Shared), ..Case::new("cpu.atomic.add_capture") };
        exact(Case { threads: Some(1), order: Some(order), mode: Some(mode), ..lock }, ns)
    };
    let rows = vec![
        of(MemoryOrder::Relaxed, Mode::Throughput, 2.0),
        of(MemoryOrder::SeqCst, Mode::Throughput, 3.0),
        of(MemoryOrder::SeqCst, Mode::Latency, 4.0),
    ];
    let text = shown(&synthetic::data("long", synthetic::run("CPU", None), rows), 40, false);
    let lines: Vec<&str> = text.lines().skip(4).take(6).collect();
    let expected = [
        "cpu.atomic · i32 · shared ·  1 thread",
        "  seq_cst · throughput",
        "  add_capture relaxed         2.00 ns",
        "              seq_cst         3.00 ns",
        "                throughput",
        "              latency         4.00 ns",
    ];
    assert_eq!(lines, expected, "{text}");
}

/// No row seems to have another row's figure.
#[test]
fn a_line_of_several_variants_says_whose_figures_it_has() {
    let add = |dtype, ns| exact(Case { threads: Some(1), dtype: Some(dtype), ..Case::new("cpu.atomic.add") }, ns);
    let text = |rows| shown(&synthetic::data("line", synthetic::run("CPU", None), rows), 120, false);
    let note = "with the figures of the first";
    let differing = text(vec![add(Dtype::I32, 2.0), add(Dtype::U64, 2.01), add(Dtype::F64, 3.0)]);
    assert!(differing.contains("add i32, u64") && differing.contains(note), "{differing}");
    let same = text(vec![add(Dtype::I32, 2.0), add(Dtype::U64, 2.0), add(Dtype::F64, 3.0)]);
    assert!(same.contains("add i32, u64") && !same.contains(note), "{same}");
    let apart = text(vec![add(Dtype::I32, 2.0), add(Dtype::F64, 3.0)]);
    assert!(!apart.contains("i32, f64") && !apart.contains(note), "{apart}");
}

#[test]
fn intervals_to_quote_are_shown_and_intervals_within_the_run_compared() {
    let add = |dtype, ns: f64| {
        let row = exact(Case { threads: Some(1), dtype: Some(dtype), ..Case::new("cpu.atomic.add") }, ns);
        let around = |share: f64| Some(Interval { low: ns * (1.0 - share), high: ns * (1.0 + share) });
        Row { ns_interval: around(0.2), ns_within: around(0.001), ..row }
    };
    let data = synthetic::data("two", synthetic::run("CPU", None), vec![add(Dtype::I32, 2.0), add(Dtype::U64, 2.2)]);
    let text = shown(&data, 60, false);
    assert!(text.contains("add i32") && text.contains("u64") && !text.contains("i32, u64"), "{text}");
    assert_eq!(text.matches("ns ±20 %").count(), 2, "{text}");
}

#[test]
fn colour_is_only_for_terminals() {
    let painted = shown(&small(), 60, true);
    for part in ["^[1mAMD EPYC 9274F^[0m", "^[2m±1.0 %^[0m", "^[31mfailed^[0m", "^[33mwarning: this is"] {
        assert!(painted.contains(part), "{part} in {painted}");
    }
    let codes = ["^[0m", "^[1m", "^[2m", "^[31m", "^[33m"];
    let plain = codes.iter().fold(painted, |text, code| text.replace(code, ""));
    assert_eq!(plain, shown(&small(), 60, false));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for data in [synthetic::both(), synthetic::cpu_only(), synthetic::unresolved(), synthetic::large(3000)] {
        for width in [40, 60, 80, 100, 120, 160] {
            for line in shown(&data, width, false).lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn every_primitive_has_a_line() {
    let data = synthetic::both();
    let text = shown(&data, 100, false);
    for row in &data.rows {
        let name = row.case.primitive.split('.').next_back().unwrap();
        assert!(text.lines().any(|line| line.trim_start().starts_with(name)), "{name} in {text}");
    }
    assert!(text.contains("789 resolved, 51 below resolution, 13 overlapped, 10 not additive"));
}

#[test]
fn the_table_of_a_large_run_stays_short() {
    assert!(shown(&synthetic::large(10_000), 100, false).lines().count() < 20);
}

#[test]
fn every_family_has_a_section_and_the_text_stays_short() {
    let data = synthetic::wide::complete();
    let text = shown(&data, 100, false);
    for section in ["gpu.cluster", "gpu.grid", "gpu.multi", "gpu.launch", "hybrid.flag"] {
        assert!(text.lines().any(|line| line.starts_with(section)), "{section} in {text}");
    }
    assert!(text.contains("False sharing makes an atomic add"), "{text}");
    assert!(text.contains("1,270 of 1,372 costs are resolved") && text.contains("1,270 resolved"), "{text}");
    assert!(text.contains("warning: CPUs 3 and 11 answer each other in 6.0 ns"), "{text}");
    // One pair of each class represents 120 pairs of CPUs.
    assert_eq!(text.lines().filter(|line| line.contains("CPUs ") && line.contains("same_")).count(), 2, "{text}");
    assert!(text.lines().count() < 168, "{} lines: {text}", text.lines().count());
}
