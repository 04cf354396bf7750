//! The section about the two clocks, for the page and the terminal.

use syncscope_core::units::plural;
use syncscope_report::section::{Part, Section};
use syncscope_report::{Axis, Chart, Point, Series, grouped, in_groups};

use super::claims::{TABLE_1, claims};
use super::findings::{Agreement, INSTRUCTION_BYTES, InstructionCache, additions, instruction_cache, objections};
use super::{CrosscheckRow, Executor, Form};

/// Colours of the lines.
const INSIDE: usize = 0;
const OUTSIDE: usize = 1;
const OF_THE_PAPER: usize = 7;

pub(super) fn section(rows: &[CrosscheckRow]) -> Section {
    let claims = claims(rows);
    let mut parts = vec![Part::card("Do both clocks agree?", "", agreement(rows))];
    parts.extend(Part::about(&claims, "The claims of the paper on this machine", "", |claims| vec![Part::Claims(claims.to_vec())]));
    let straight = additions(rows, Form::Straight);
    let mut bodies = additions(rows, Form::Body);
    bodies.sort_by_key(|row| row.body);
    let chart = |rows: &[_]| vec![chart_of_table_1(rows)];
    let chart = Part::about(&straight, "Additions without a loop", "one warp, as in table 1", chart);
    let note = "additions in loops with growing bodies";
    let cache = Part::about(&bodies, "The instruction cache", note, |bodies| cache(rows, bodies));
    parts.push(Part::SideBySide(chart.into_iter().chain(cache).collect()));
    parts.extend(Part::about(&straight, "Table 1", "cycles of a float addition", |rows| vec![table_1(rows)]));
    let mut compared: Vec<&CrosscheckRow> = rows.iter().filter(|row| row.form == Form::Looped).collect();
    compared.sort_by_key(|row| (row.executor, row.operation, row.threads, row.difference()));
    let looped = |rows: &[_]| vec![chart_of_disagreement(rows), looped(rows)];
    parts.extend(Part::about(&compared, "Both clocks in loops", "cycles of one operation", looped));
    Section {
        name: super::NAME,
        title: "Crosscheck: one cost measured with two clocks",
        lead: "Two clocks, one inside the processor and one outside it, time each operation in a short and in a long \
               chain of repetitions. The cost is the difference between the times, divided by the difference \
               in \
               repetitions (formula 1). Zhang, Wahib, Matsuoka, A Study of Synchronization Methods in Modern GPUs, \
               sections 3.2 and 3.3, table 1.",
        answers: Vec::new(),
        parts,
        claims,
    }
}

/// What was measured, and which rows do not agree and why.
fn agreement(rows: &[CrosscheckRow]) -> Vec<Part> {
    let found = Agreement::of(rows);
    let of_executor = |found: &Agreement| {
        let summary = Part::paragraph(format!("{}. {}", found.summary(), clocks(found.executor)));
        let objections = found.objections.iter().map(|objection| Part::paragraph(format!("Disagrees: {objection}.")));
        std::iter::once(summary).chain(objections).collect::<Vec<_>>()
    };
    let mut parts: Vec<Part> = found.iter().flat_map(of_executor).collect();
    if found.iter().all(|of_executor| of_executor.executor == Executor::Cpu) {
        parts.push(Part::paragraph("No GPU was measured, so the statements of the paper are not tested."));
    }
    parts
}

/// Which clock is the inside one, and which the outside one.
const fn clocks(executor: Executor) -> &'static str {
    match executor {
        Executor::Gpu => {
            "The inside clock is the multiprocessor's; the outside one is the host's, read before the launch and \
             after the kernel ends."
        }
        Executor::Cpu => "The inside clock is the processor's counter; the outside clock is the system's raw clock.",
    }
}

/// A point at this cost, with a tooltip that says what it belongs to.
fn point(x: f64, cycles: f64, interval: Option<(f64, f64)>, place: &str) -> Point {
    Point::plain(x, cycles, interval, format!("{place}: {cycles:.3} cycles"))
}

fn chart_of_table_1(rows: &[&CrosscheckRow]) -> Part {
    let place = |difference: u64| format!("repeat difference {difference}");
    let at = |difference, cycles, interval| point(difference as f64, cycles, interval, &place(difference));
    let inside = |row: &&CrosscheckRow| Some(at(row.difference(), row.inside_cycles?, None));
    let outside = |row: &&CrosscheckRow| {
        let interval = row.inferred_cycles_low.zip(row.inferred_cycles_high);
        Some(at(row.difference(), row.inferred_cycles?, interval))
    };
    let of_the_paper = TABLE_1.iter().map(|(difference, _, cycles)| at(*difference, *cycles, None)).collect();
    let cycles = rows.iter().flat_map(|row| [row.inferred_cycles, row.inside_cycles]).flatten();
    let highest = cycles.chain(TABLE_1.map(|(_, _, inside)| inside)).fold(0.0, f64::max);
    Part::Charts(vec![Chart::lines(
        "",
        differences(),
        Axis::plain("cycles", 0.0, 1.06 * highest),
        vec![
            Series::plain("the paper's V100, inside", OF_THE_PAPER, of_the_paper),
            Series::plain("here, inside", INSIDE, rows.iter().filter_map(inside).collect()),
            Series::plain("here, outside", OUTSIDE, rows.iter().filter_map(outside).collect()),
        ],
    )])
}

/// The axis of the paper's differences of repetitions.
fn differences() -> Axis {
    Axis::count("repeat difference", 512.0, 51_200.0).logarithmic()
}

fn table_1(rows: &[&CrosscheckRow]) -> Part {
    let headings = [&["repeat difference", "V100 CPU", "V100 GPU"][..], &FIGURES].concat();
    let line = |row: &&CrosscheckRow| {
        let paper = TABLE_1.iter().find(|(difference, ..)| *difference == row.difference());
        let [outside, inside] = [paper.and_then(|(_, outside, _)| *outside), paper.map(|(_, _, inside)| *inside)];
        let of_the_paper = [row.difference().to_string(), number(outside), number(inside)];
        of_the_paper.into_iter().chain(figures(row)).collect()
    };
    Part::table(&headings, rows.iter().map(line).collect())
}

fn cache(rows: &[CrosscheckRow], bodies: &[&CrosscheckRow]) -> Vec<Part> {
    let kib = |operations: u64| (operations * INSTRUCTION_BYTES) as f64 / 1024.0;
    let ends = bodies.first().zip(bodies.last()).map_or((1.0, 2.0), |(first, last)| (kib(first.body), kib(last.body)));
    let highest = bodies.iter().filter_map(|row| row.inside_cycles).fold(0.0, f64::max);
    let of = |label, colour, value: fn(&CrosscheckRow) -> Option<f64>| {
        let at =
            |row: &&CrosscheckRow| Some(point(kib(row.body), value(row)?, None, &format!("{} additions", row.body)));
        Series::plain(label, colour, bodies.iter().filter_map(at).collect())
    };
    let mut chart = Chart::lines(
        "",
        Axis::count("code of the loop's body, KiB", ends.0, ends.1).logarithmic(),
        Axis::plain("cycles", 0.0, 1.06 * highest),
        vec![of("inside", INSIDE, |row| row.inside_cycles), of("outside", OUTSIDE, |row| row.inferred_cycles)],
    );
    let mut parts = Vec::new();
    if let Some(InstructionCache { cached_cycles, fits, fitting_cycles, exceeds, beyond_cycles }) =
        instruction_cache(rows)
    {
        let code = format!("{:.0} KiB", kib(fits));
        chart = chart.ruled(kib(fits), &code);
        parts.push(Part::paragraph(format!(
            "In a body of {} additions ({code} of code), each costs {fitting_cycles:.2} cycles, against {cached_cycles:.2} \
             in the shortest body. In bodies of {} additions or more, each costs more: {beyond_cycles:.2} cycles in the longest.",
            grouped(fits),
            grouped(exceeds),
        )));
    }
    let line = |row: &&CrosscheckRow| {
        let body = [row.body.to_string(), format!("{:.0}", kib(row.body))];
        body.into_iter().chain(figures(row)).collect()
    };
    let headings = [&["additions", "KiB"][..], &FIGURES].concat();
    let all = Part::table(&headings, bodies.iter().map(line).collect());
    parts.extend([Part::Charts(vec![chart]), Part::Folded("All lengths".to_owned(), vec![all])]);
    parts
}

fn looped(rows: &[&CrosscheckRow]) -> Part {
    // A chain on the CPU has no blocks.
    let has_blocks = rows.iter().any(|row| row.blocks.is_some());
    let of_blocks: &[&str] = if has_blocks { &["blocks", "threads"] } else { &[] };
    // Why a row does not agree is at the top of the section.
    let before = ["operation", "agrees"];
    let headings = [&before[..], of_blocks, &["repeat difference", "pairs"], &FIGURES].concat();
    let line = |row: &&CrosscheckRow| {
        let count = |count: Option<u32>| count.map(|count| count.to_string()).unwrap_or_default();
        let agrees = if objections(row).is_empty() { "yes" } else { "no" };
        let of_blocks = has_blocks.then(|| [count(row.blocks), count(row.threads)]).into_iter().flatten();
        let counts = [row.difference().to_string(), row.pairs.to_string()];
        [name(row), agrees.to_owned()].into_iter().chain(of_blocks).chain(counts).chain(figures(row)).collect()
    };
    Part::table(&headings, rows.iter().map(line).collect())
}

/// By how much the outside clock differs from the inside one, for each operation.
fn chart_of_disagreement(rows: &[&CrosscheckRow]) -> Part {
    let point = |row: &&CrosscheckRow| {
        let threads = row.threads.map(|threads| format!(", {}", plural(threads, "thread"))).unwrap_or_default();
        let (name, percent) = (format!("{}{threads}", name(row)), 100.0 * row.disagreement()?);
        let tip = format!("{name}, repeat difference {}: {percent:+.2} %", row.difference());
        Some((name, Point::plain(row.difference() as f64, percent, None, tip)))
    };
    let percent = rows.iter().filter_map(|row| row.disagreement()).map(|part| 100.0 * part.abs());
    let largest = percent.fold(10.0, f64::max);
    let series = in_groups(rows.iter().filter_map(point)).into_iter().enumerate();
    Part::Charts(vec![Chart::lines(
        "",
        differences(),
        Axis::plain("outside against inside, %", -largest, largest),
        series.map(|(colour, (name, points))| Series::plain(name, colour, points)).collect(),
    )])
}

fn name(row: &CrosscheckRow) -> String {
    let operation = row.operation.as_str().replace('_', " ");
    if row.executor == Executor::Cpu { format!("{operation} (CPU)") } else { operation }
}

/// The headings of [`figures`].
const FIGURES: [&str; 5] = ["outside", "± formula 2", "inside, whole", "inside", "apart"];

/// The outside cost, its deviation, both inside costs, and how far apart the methods are.
fn figures(row: &CrosscheckRow) -> [String; 5] {
    let apart = row.disagreement().map(|part| format!("{:+.2} %", 100.0 * part)).unwrap_or_default();
    let [outside, deviation, whole, inside] =
        [row.inferred_cycles, row.inferred_deviation_cycles, row.inside_whole_cycles, row.inside_cycles].map(number);
    [outside, deviation, whole, inside, apart]
}

fn number(value: Option<f64>) -> String {
    value.map(|value| format!("{value:.3}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::{
        BASIC_REPEATS, BothClocks, Crosscheck, CrosscheckPair, CrosscheckSeries, Operation, REPEAT_DIFFERENCES,
    };
    use super::*;

    fn series(form: Form, body: u64, difference: u64, cycles: f64) -> CrosscheckSeries {
        let many = BASIC_REPEATS + difference;
        let case = CrosscheckRow {
            executor: Executor::Gpu,
            operation: Operation::FloatAddition,
            form,
            body,
            blocks: Some(1),
            threads: Some(32),
            repeats_few: BASIC_REPEATS,
            repeats_many: many,
            ..CrosscheckRow::default()
        };
        let side = |repeats: u64| BothClocks {
            outside_ns: 9000.0 + cycles / 2.0 * repeats as f64,
            inside_cycles: cycles * repeats as f64,
        };
        let pair = CrosscheckPair { many_first: false, few: side(BASIC_REPEATS), many: side(many), cycles_per_ns: 2.0 };
        CrosscheckSeries { case, pairs: vec![pair; 7] }
    }

    fn text(series: &[CrosscheckSeries]) -> (Section, String) {
        let section = section(&Crosscheck::of(series).rows);
        let text = section.to_string();
        (section, text)
    }

    #[test]
    fn figures_stand_beside_those_of_the_paper() {
        let mut all: Vec<CrosscheckSeries> =
            REPEAT_DIFFERENCES.iter().map(|more| series(Form::Straight, 512 + more, *more, 4.25)).collect();
        all.extend(REPEAT_DIFFERENCES.iter().map(|more| series(Form::Looped, 512, *more, 4.0)));
        all.extend(
            [(512, 4.0), (8192, 4.0), (9216, 6.0)].map(|(body, cycles)| series(Form::Body, body, 32_768, cycles)),
        );
        let (section, text) = text(&all);
        for part in ["7.259", "6.952", "4.250", "128 KiB", "4 cycles (V100)", "\nholds: "] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let drawn = format!("{:?}", section.parts);
        assert_eq!(drawn.matches("Lines {").count(), 3);
        assert!(!drawn.contains("NaN") && !drawn.contains("Some(inf"));
    }

    #[test]
    fn without_a_gpu_its_statements_are_left_out_and_the_rows_that_disagree_come_first() {
        let of_cpu = |difference, cycles| {
            let mut series = series(Form::Looped, 8, difference, cycles);
            series.case = CrosscheckRow {
                executor: Executor::Cpu,
                operation: Operation::IntegerAddition,
                blocks: None,
                threads: None,
                known_cycles: Some(1.0),
                ..series.case
            };
            series
        };
        let (_, text) = text(&[of_cpu(512, 1.02), of_cpu(51_200, 1.0)]);
        assert!(!text.contains("V100") && !text.contains("blocks"), "{text}");
        let first =
            text.find("CPU: 1 of 2 rows agrees with a second clock and with costs known in advance. The inside clock is");
        let reason = text.find("Disagrees: integer addition, difference of 512 repetitions: 1.020 cycles by the inside clock, 1 expected.");
        assert!(first.is_some() && first < reason && reason < text.find("repeat difference"), "{text}");
        assert_eq!((text.matches(" no ").count(), text.matches(" yes ").count()), (1, 1), "{text}");
    }

    #[test]
    fn without_rows_nothing_is_said_of_the_paper() {
        let (section, text) = text(&[]);
        assert!(text.contains("No GPU was measured") && section.claims.is_empty(), "{text}");
    }
}
