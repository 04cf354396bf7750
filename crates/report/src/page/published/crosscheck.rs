//! The section of [`syncscope_core::published::crosscheck`].

use syncscope_core::published::crosscheck::claims::{Claim, TABLE_1, claims};
use syncscope_core::published::crosscheck::findings::{Agreement, INSTRUCTION_BYTES, instruction_cache, objections};
use syncscope_core::published::crosscheck::{CrosscheckRow, Executor, Form, Operation};

use super::parts::{self, Outcome};
use super::svg::{Axis, Chart, Point};
use super::{Drawing, RunData};

pub(super) const DRAWING: Drawing = Drawing {
    id: "crosscheck",
    title: "Crosscheck: one cost by two clocks",
    lead: "A chain of one operation is timed with few and with many repetitions, by a clock inside the processor and by one \
           outside. The cost is the difference of both times, divided by that of the repetitions (formula 1). Zhang, Wahib, \
           Matsuoka, A Study of Synchronization Methods in Modern GPUs, sections 3.2 and 3.3, table 1.",
    draw,
};

const SIZE: (u32, u32) = (560, 320);

fn draw(data: &RunData) -> Option<String> {
    let rows = &data.published.crosscheck.as_ref()?.rows;
    let mut html = parts::card("Do both clocks agree?", "", &agreement(rows));
    let claims = claims(rows);
    if !claims.is_empty() {
        html.push_str(&parts::card("What the paper says, here", "", &outcomes(claims)));
    }
    let straight = of(rows, Operation::FloatAddition, Form::Straight);
    let bodies = of(rows, Operation::FloatAddition, Form::Body);
    let mut charts = Vec::new();
    if !straight.is_empty() {
        charts.push(parts::card("Additions without a loop", "one warp, as in table 1", &chart_of_table_1(&straight)));
    }
    if !bodies.is_empty() {
        charts.push(parts::card(
            "The instruction cache",
            "additions in loops with growing bodies",
            &cache(rows, &bodies),
        ));
    }
    html.push_str(&parts::grid(&charts));
    if !straight.is_empty() {
        html.push_str(&parts::card("Table 1", "cycles of a float addition", &table_1(&straight)));
    }
    let mut compared: Vec<&CrosscheckRow> = rows.iter().filter(|row| row.form == Form::Looped).collect();
    compared.sort_by_key(|row| (row.executor, row.operation, row.threads, row.difference()));
    if !compared.is_empty() {
        html.push_str(&parts::card("Both clocks in loops", "cycles of one operation", &looped(&compared)));
    }
    Some(html)
}

fn of(rows: &[CrosscheckRow], operation: Operation, form: Form) -> Vec<&CrosscheckRow> {
    rows.iter().filter(|row| (row.operation, row.form) == (operation, form)).collect()
}

/// What was measured, and which rows do not agree, and why.
fn agreement(rows: &[CrosscheckRow]) -> String {
    let found = Agreement::of(rows);
    let mut html = String::new();
    for of_executor in &found {
        html.push_str(&parts::paragraph(&format!("{}. {}", of_executor.summary(), clocks(of_executor.executor))));
        html.extend(
            of_executor.objections.iter().map(|objection| parts::paragraph(&format!("Disagrees: {objection}."))),
        );
    }
    if found.iter().all(|of_executor| of_executor.executor == Executor::Cpu) {
        html.push_str(&parts::paragraph("No GPU was measured, so the statements of the paper are not tested."));
    }
    html
}

/// Which clock is the one inside, and which the one outside.
const fn clocks(executor: Executor) -> &'static str {
    match executor {
        Executor::Gpu => {
            "Inside is the clock of the multiprocessor; outside is the host's clock, around the launch and the wait for its end."
        }
        Executor::Cpu => "Inside is the counter of the processor; outside is the raw clock of the system.",
    }
}

fn outcomes(claims: Vec<Claim>) -> String {
    let claim = |Claim { statement, holds, figures }: Claim| {
        let outcome = match holds {
            Some(true) => Outcome::Holds,
            Some(false) => Outcome::Fails,
            None => Outcome::Open,
        };
        (outcome, statement.to_owned(), figures)
    };
    parts::claims(&claims.into_iter().map(claim).collect::<Vec<_>>())
}

fn chart_of_table_1(rows: &[&CrosscheckRow]) -> String {
    let cycles = rows.iter().flat_map(|row| [row.inferred_cycles, row.inside_cycles]).flatten();
    let highest = cycles.chain(TABLE_1.map(|(_, _, inside)| inside)).fold(0.0, f64::max);
    let x = Axis::logarithmic("repeat difference", 512.0, 51_200.0);
    let mut chart = Chart::new(
        "Cycles of a float addition for each difference of repetitions, on the paper's V100 and here",
        SIZE,
        x,
        Axis::linear("cycles", 0.0, highest),
    );
    chart.line(&TABLE_1.map(|(difference, _, inside)| (difference as f64, inside)), 7);
    let inside: Vec<(f64, f64)> =
        rows.iter().filter_map(|row| Some((row.difference() as f64, row.inside_cycles?))).collect();
    chart.line(&inside, 0);
    let outside = rows.iter().filter_map(|row| {
        let interval = row.inferred_cycles_low.zip(row.inferred_cycles_high);
        Some(Point { x: row.difference() as f64, y: row.inferred_cycles?, interval })
    });
    chart.points(&outside.collect::<Vec<_>>(), 1);
    chart.legend(7, "V100 of the paper, inside");
    chart.legend(0, "here, inside");
    chart.legend(1, "here, from outside");
    chart.finish()
}

fn table_1(rows: &[&CrosscheckRow]) -> String {
    let headings = [
        "repeat difference",
        "V100 CPU",
        "V100 GPU",
        "from outside",
        "± formula 2",
        "inside, whole",
        "inside",
        "apart",
    ];
    let lines: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let paper = TABLE_1.iter().find(|(difference, ..)| *difference == row.difference());
            let mut line = vec![row.difference().to_string()];
            line.push(number(paper.and_then(|(_, outside, _)| *outside)));
            line.push(number(paper.map(|(_, _, inside)| *inside)));
            line.extend(figures(row));
            line
        })
        .collect();
    parts::table(&headings, &lines)
}

fn cache(rows: &[CrosscheckRow], bodies: &[&CrosscheckRow]) -> String {
    let kib = |operations: u64| (operations * INSTRUCTION_BYTES) as f64 / 1024.0;
    let mut bodies = bodies.to_vec();
    bodies.sort_by_key(|row| row.body);
    let ends = bodies.first().zip(bodies.last()).map_or((1.0, 2.0), |(first, last)| (kib(first.body), kib(last.body)));
    let highest = bodies.iter().filter_map(|row| row.inside_cycles).fold(0.0, f64::max);
    let mut chart = Chart::new(
        "Cycles of a float addition for each length of the loop's body",
        SIZE,
        Axis::logarithmic("code of the loop's body, KiB", ends.0, ends.1),
        Axis::linear("cycles", 0.0, highest),
    );
    let of = |value: fn(&CrosscheckRow) -> Option<f64>| {
        bodies.iter().filter_map(|row| Some((kib(row.body), value(row)?))).collect::<Vec<_>>()
    };
    chart.line(&of(|row| row.inside_cycles), 0);
    let points: Vec<Point> =
        of(|row| row.inferred_cycles).into_iter().map(|(x, y)| Point { x, y, interval: None }).collect();
    chart.points(&points, 1);
    chart.legend(0, "inside");
    chart.legend(1, "from outside");
    if let Some(found) = instruction_cache(rows) {
        chart.rule(kib(found.fits), &format!("{:.0} KiB", kib(found.fits)));
    }
    let lines: Vec<Vec<String>> = bodies
        .iter()
        .map(|row| {
            let mut line = vec![row.body.to_string(), format!("{:.0}", kib(row.body))];
            line.extend(figures(row));
            line
        })
        .collect();
    let headings = ["additions", "KiB", "from outside", "± formula 2", "inside, whole", "inside", "apart"];
    chart.finish() + &parts::folded("All lengths", &parts::table(&headings, &lines))
}

fn looped(rows: &[&CrosscheckRow]) -> String {
    // A chain on the CPU has no blocks.
    let has_blocks = rows.iter().any(|row| row.blocks.is_some());
    let of_blocks: &[&str] = if has_blocks { &["blocks", "threads"] } else { &[] };
    // Why a row does not agree stands at the top of the section.
    let before = ["operation", "agrees"];
    let behind = ["repeat difference", "pairs", "from outside", "± formula 2", "inside, whole", "inside", "apart"];
    let headings = [&before[..], of_blocks, &behind].concat();
    let line = |row: &&CrosscheckRow| {
        let count = |count: Option<u32>| count.map(|count| count.to_string()).unwrap_or_default();
        let agrees = if objections(row).is_empty() { "yes" } else { "no" };
        let mut line = vec![name(row), agrees.to_owned()];
        if has_blocks {
            line.extend([count(row.blocks), count(row.threads)]);
        }
        line.extend([row.difference().to_string(), row.pairs.to_string()]);
        line.extend(figures(row));
        line
    };
    chart_of_disagreement(rows) + &parts::table(&headings, &rows.iter().map(line).collect::<Vec<_>>())
}

/// By how much the clock outside differs, for each operation.
fn chart_of_disagreement(rows: &[&CrosscheckRow]) -> String {
    const LARGEST_PERCENT: f64 = 10.0;
    let mut chart = Chart::new(
        "By how much the cost from outside differs from that inside, for each difference of repetitions",
        (1160, 320),
        Axis::logarithmic("repeat difference", 512.0, 51_200.0),
        Axis::linear("from outside against inside, %", -LARGEST_PERCENT, LARGEST_PERCENT),
    );
    chart.level(0.0, "");
    let mut series: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for row in rows {
        let threads = row.threads.map(|threads| format!(", {threads} threads")).unwrap_or_default();
        let name = format!("{}{threads}", name(row));
        let Some(part) = row.disagreement() else { continue };
        let point = (row.difference() as f64, 100.0 * part);
        match series.iter_mut().find(|(known, _)| *known == name) {
            Some((_, points)) => points.push(point),
            None => series.push((name, vec![point])),
        }
    }
    for (colour, (name, points)) in series.iter().enumerate() {
        chart.line(points, colour);
        chart.legend(colour, name);
    }
    chart.finish()
}

fn name(row: &CrosscheckRow) -> String {
    let operation = row.operation.as_str().replace('_', " ");
    if row.executor == Executor::Cpu { format!("{operation} (CPU)") } else { operation }
}

/// From outside, its deviation, both figures inside, and how far both methods are apart.
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
    use std::collections::HashMap;

    use super::*;
    use syncscope_core::Published;
    use syncscope_core::published::crosscheck::{
        BASIC_REPEATS, BothClocks, Crosscheck, CrosscheckCase, CrosscheckPair, CrosscheckSeries, REPEAT_DIFFERENCES,
    };

    fn series(form: Form, body: u64, difference: u64, cycles: f64) -> CrosscheckSeries {
        let many = BASIC_REPEATS + difference;
        let case = CrosscheckCase {
            executor: Executor::Gpu,
            operation: Operation::FloatAddition,
            form,
            body,
            blocks: Some(1),
            threads: Some(32),
            few: BASIC_REPEATS,
            many,
        };
        let side = |repeats: u64| BothClocks {
            outside_ns: 9000.0 + cycles / 2.0 * repeats as f64,
            inside_cycles: cycles * repeats as f64,
        };
        let pair = CrosscheckPair { many_first: false, few: side(BASIC_REPEATS), many: side(many), cycles_per_ns: 2.0 };
        CrosscheckSeries { case, pairs: vec![pair; 7], check: None, evidence: None, known_cycles: None }
    }

    fn data(series: &[CrosscheckSeries]) -> RunData {
        let published = Published { crosscheck: Some(Crosscheck::of(series)), ..Published::default() };
        let (run, rows, details) = (crate::testing::run(), Vec::new(), HashMap::new());
        RunData {
            name: "x".to_owned(),
            run,
            rows,
            details,
            published,
            damage: crate::Damage::default(),
            catalogue: crate::testing::catalogue(),
        }
    }

    #[test]
    fn figures_stand_beside_those_of_the_paper() {
        let mut all: Vec<CrosscheckSeries> =
            REPEAT_DIFFERENCES.iter().map(|more| series(Form::Straight, 512 + more, *more, 4.25)).collect();
        all.extend(REPEAT_DIFFERENCES.iter().map(|more| series(Form::Looped, 512, *more, 4.0)));
        all.extend(
            [(512, 4.0), (8192, 4.0), (9216, 6.0)].map(|(body, cycles)| series(Form::Body, body, 32_768, cycles)),
        );
        let html = draw(&data(&all)).unwrap();
        for text in ["7.259", "6.952", "4.250", "128 KiB", "4 cycles (V100)", "good\">holds"] {
            assert!(html.contains(text), "{text}: {html}");
        }
        assert_eq!((html.matches("<svg").count(), html.matches("</svg>").count()), (3, 3));
        assert!(!html.contains("NaN") && !html.contains("inf\""));
    }

    #[test]
    fn without_a_gpu_its_statements_are_left_out_and_the_rows_that_disagree_come_first() {
        let of_cpu = |difference, cycles| {
            let mut series = series(Form::Looped, 8, difference, cycles);
            series.case = CrosscheckCase {
                executor: Executor::Cpu,
                operation: Operation::IntegerAddition,
                blocks: None,
                threads: None,
                ..series.case
            };
            CrosscheckSeries { known_cycles: Some(1.0), ..series }
        };
        let html = draw(&data(&[of_cpu(512, 1.02), of_cpu(51_200, 1.0)])).unwrap();
        assert!(!html.contains("not decided") && !html.contains("V100") && !html.contains(">blocks<"), "{html}");
        let text = "<p>CPU: 1 of 2 rows agrees with the other clock and with the known costs. Inside is the counter";
        let (first, table) = (html.find(text).unwrap(), html.find("<table").unwrap());
        let reason = "<p>Disagrees: integer addition, difference 512: 1.020 cycles inside, 1 known.</p>";
        assert!(first < html.find(reason).unwrap() && html.find(reason).unwrap() < table, "{html}");
        assert_eq!((html.matches("<td>no</td>").count(), html.matches("<td>yes</td>").count()), (1, 1), "{html}");
    }

    #[test]
    fn without_rows_nothing_is_said_of_the_paper() {
        let html = draw(&data(&[])).unwrap();
        assert!(html.contains("No GPU was measured") && !html.contains("not decided"), "{html}");
        assert!(!html.contains("<svg"));
        assert_eq!(draw(&RunData { published: Published::default(), ..data(&[]) }), None);
    }
}
