//! Writes a comparison of two runs as text.

use serde_json::{Map, Value, json};
use syncscope_core::Row;
use syncscope_core::run::IMPORTED;
use syncscope_core::run::columns::{COLUMNS, Column};
use syncscope_core::units::{rounded, significant};

use super::answer::Answer;
use crate::analysis::changes::{Changes, about_intervals, differences, directions, families, summary, unchanged};
use crate::analysis::compare::{ComparedCase, Comparison, IN_RUNS};
use crate::analysis::questions::advice::states;
use crate::grid::{self, Grid, and_more};
use crate::wrap::wrap;
use crate::{RunData, naming};

/// The most changes in each direction that the terminal shows; the other formats have all of them.
const MOST_CHANGES: usize = 20;

/// The most unchanged and undecided cases that the terminal and the page show.
const MOST_OPEN: usize = 10;

/// Writes a comparison for the terminal: what changed, then differences, families and single cases, and the summary at the
/// end.
pub fn for_terminal(comparison: &Comparison<'_>, width: usize) -> String {
    let indented = |text: &String| format!("\n  {}", wrap(text, width.saturating_sub(2), "    ").join("\n"));
    let changes: String = comparison.changes.iter().map(indented).collect();
    let mut parts = vec![runs(comparison).for_terminal(width), format!("What changed{changes}")];
    parts.push(match differences(comparison) {
        Some(differences) => format!("Differences\n{}", differences.for_terminal(width)),
        None => "Same machine and environment, as far as recorded.".to_owned(),
    });
    let wrapped = |text: &str, indent| wrap(text, width.saturating_sub(2), indent).join("\n");
    let states: Vec<String> = states(comparison).iter().map(indented).collect();
    parts.extend(states.first().map(|_| format!("State of the machine{}", states.concat())));
    parts.push(format!("Families\n{}", families(comparison).for_terminal(width)));
    let directions = directions(comparison, MOST_CHANGES);
    parts.extend(directions.iter().chain(&unchanged(comparison, MOST_OPEN)).map(|changes| {
        let Changes { title, order, grid, left_out } = changes;
        let head = wrapped(&format!("{title}, {order}"), "");
        format!("{head}\n{}{}", grid.for_terminal(width), and_more(*left_out))
    }));
    parts.extend(about_intervals(comparison).map(|text| wrapped(&text, "")));
    parts.extend(comparison.remarks.iter().map(|remark| wrapped(&format!("note: {remark}"), "  ")));
    parts.push(wrapped(&naming::capitalized(&summary(comparison)), "  "));
    parts.join("\n\n")
}

/// Writes Markdown with all certain changes.
pub fn as_markdown(comparison: &Comparison<'_>) -> String {
    let changes: Vec<String> = comparison.changes.iter().map(|text| format!("\n- {}", grid::markdown(text))).collect();
    let mut parts =
        vec![format!("**{}**", naming::capitalized(&summary(comparison))), changes.concat().trim_start().to_owned()];
    parts.push(runs(comparison).as_markdown());
    parts.extend(differences(comparison).map(|grid| format!("### Differences\n\n{}", grid.as_markdown())));
    let states: Vec<String> = states(comparison).iter().map(|line| format!("\n- {}", grid::markdown(line))).collect();
    parts.extend(states.first().map(|_| format!("### State of the machine\n{}", states.concat())));
    parts.push(format!("### Families\n\n{}", families(comparison).as_markdown()));
    let directions = directions(comparison, usize::MAX);
    let direction =
        |Changes { title, order, grid, .. }: &Changes| format!("### {title}, {order}\n\n{}", grid.as_markdown());
    parts.extend(directions.iter().chain(&unchanged(comparison, usize::MAX)).map(direction));
    parts.extend(about_intervals(comparison));
    parts.extend(comparison.remarks.iter().map(|remark| format!("Note: {}", grid::markdown(remark))));
    parts.join("\n\n")
}

fn runs(comparison: &Comparison<'_>) -> Grid {
    Grid::of([("A", comparison.a), ("B", comparison.b)])
        .text("", |(name, _)| (*name).to_owned())
        .text("run", |(_, data)| data.name.clone())
        .text("machine", |(_, data)| naming::machine(&data.run.machine))
        .text("preset", |(_, data)| data.run.preset.clone())
        .number("cases", |(_, data)| data.rows.len().to_string())
        .text("started", |(_, data)| if data.run.preset == IMPORTED { String::new() } else { data.run.started.clone() })
        .grid()
}

/// The columns that name a case, as in `measurements.csv`.
fn parameters() -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().filter(|column| column.names_case())
}

/// Reads the number of one of the columns that follow the case.
type Cells = fn(&ComparedCase<'_>) -> Option<f64>;
const NUMBERS: [(&str, Cells); 12] = [
    ("a_ns", |case| Some(case.a.ns?.value())),
    ("a_ns_low", |case| Some(case.a.ns_interval?.low)),
    ("a_ns_high", |case| Some(case.a.ns_interval?.high)),
    ("b_ns", |case| Some(case.b.ns?.value())),
    ("b_ns_low", |case| Some(case.b.ns_interval?.low)),
    ("b_ns_high", |case| Some(case.b.ns_interval?.high)),
    ("ratio", |case| case.ratio_of_figures()),
    ("ratio_low", |case| case.low),
    ("ratio_high", |case| case.high),
    ("common_factor", |case| case.ratio.map(|_| case.common_factor)),
    ("p_value", |case| case.p_value),
    ("least_change", |case| case.least_change),
];

type Words = fn(&ComparedCase<'_>) -> String;
const WORDS: [(&str, Words); 5] = [
    ("change", |case| case.change.as_str().to_owned()),
    ("a_verdict", |case| case.a.verdict.name().to_owned()),
    ("b_verdict", |case| case.b.verdict.name().to_owned()),
    ("class", |case| case.a.run_to_run.or(case.b.run_to_run).map_or_else(String::new, |row| row.class.to_string())),
    ("remark", |case| case.remark(IN_RUNS)),
];

/// Writes CSV: one line for each case of both runs, named by the same columns as in `measurements.csv`.
pub fn as_csv(comparison: &Comparison<'_>) -> String {
    let named = parameters().fold(Grid::of(&comparison.cases), |grid, column| {
        grid.column(column.name, column.is_number, |case| column.write(case.a))
    });
    let numbers = NUMBERS
        .iter()
        .fold(named, |grid, (name, of)| grid.number(name, |case| of(case).map(significant).unwrap_or_default()));
    let words = WORDS.iter().fold(numbers, |grid, (name, of)| grid.text(name, |case| of(case)));
    words.grid().as_csv()
}

/// Writes one JSON object. Each answer compares a case of B with run A.
pub fn as_json(comparison: &Comparison<'_>) -> Value {
    let answer = |case: &ComparedCase<'_>| {
        let ids = [&case.a.case, &case.b.case].map(syncscope_core::Case::id);
        let answer = Answer::of_change(case, [&comparison.a.name, &case.b.case.primitive], ids);
        // As in the cases, figures that may not be quoted have no ratio.
        Answer { value: answer.value.filter(|_| case.ratio_of_figures().is_some()), ..answer }
    };
    as_json_answering(comparison, answer)
}

/// Writes the same object with other answers.
pub fn as_json_answering(comparison: &Comparison<'_>, answer: impl Fn(&ComparedCase<'_>) -> Answer) -> Value {
    let run = |data: &RunData| {
        json!({
            "name": data.name,
            "machine": naming::machine(&data.run.machine),
            "version": data.run.version,
            "preset": data.run.preset,
            "started": data.run.started,
            "rows": data.rows.len(),
        })
    };
    json!({
        "a": run(comparison.a),
        "b": run(comparison.b),
        "threshold": comparison.threshold,
        "same_machine": comparison.same_machine,
        "another_state": comparison.states.differ(),
        "classes": comparison.states.classes,
        "causes": comparison.states.causes,
        "differences": comparison.differences,
        "in_common": comparison.cases.len(),
        "only_a": comparison.only_a,
        "only_b": comparison.only_b,
        "changes": comparison.counts(),
        "families": comparison.families,
        "changed": comparison.changes,
        "remarks": comparison.remarks,
        "cases": comparison.cases.iter().map(json_case).collect::<Vec<_>>(),
        "answers": comparison.cases.iter().map(answer).collect::<Vec<_>>(),
    })
}

fn json_case(case: &ComparedCase<'_>) -> Map<String, Value> {
    let mut object = json_cells(parameters(), case.a);
    object.insert("case".to_owned(), case.a.case.to_string().into());
    object.extend(NUMBERS.iter().map(|(name, of)| ((*name).to_owned(), of(case).map(rounded).into())));
    object.extend(WORDS.iter().map(|(name, of)| ((*name).to_owned(), of(case).into())));
    object
}

/// These columns of `measurements.csv` as JSON: numbers, texts and null.
pub(super) fn json_cells<'c>(columns: impl IntoIterator<Item = &'c Column>, row: &Row) -> Map<String, Value> {
    let value = |column: &Column| match (column.write(row), column.is_number) {
        (cell, _) if cell.is_empty() => Value::Null,
        (cell, true) => serde_json::from_str(&cell).unwrap_or(Value::String(cell)),
        (cell, false) => Value::String(cell),
    };
    columns.into_iter().map(|column| (column.name.to_owned(), value(column))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{compare, testing};
    use syncscope_core::machine::GpuMachine;
    use syncscope_core::stats::Interval;
    use syncscope_core::{Case, Dtype, Nanoseconds, Verdict};

    /// Two shuffles, a cluster barrier that became slower by half, and a lock that failed in B, which has another GPU.
    fn runs() -> [RunData; 2] {
        let row = |id: &str, threads, ns: f64| Row {
            ns: Some(Nanoseconds(ns)),
            ns_interval: Some(Interval { low: ns * 0.99, high: ns * 1.01 }),
            ns_within: Some(Interval { low: ns * 0.99, high: ns * 1.01 }),
            pairs: Some(4000),
            ..Row::unmeasured(Case { threads: Some(threads), ..Case::new(id) }, Verdict::Resolved)
        };
        let run = |name: &str, gpu: &str, rows| {
            let mut data = RunData { name: name.to_owned(), ..testing::data(rows) };
            data.run.machine.cpu.model = "EPYC".to_owned();
            data.run.machine.gpus = vec![GpuMachine { name: gpu.to_owned(), ..GpuMachine::default() }];
            data
        };
        let typed = |mut row: Row| {
            row.case.dtype = Some(Dtype::I32);
            row
        };
        let common = || vec![row("gpu.shuffle.idx", 32, 10.0), typed(row("gpu.shuffle.xor", 32, 12.0))];
        let lock = row("gpu.lock.ticket", 32, 700.0);
        let failed = Row { verdict: Verdict::Failed("check failed".into()), ..lock.clone() };
        let a = [common(), vec![row("gpu.cluster.sync", 1024, 200.0), lock]].concat();
        let b = [common(), vec![row("gpu.cluster.sync", 1024, 300.0), failed, row("gpu.vote.all", 32, 5.0)]].concat();
        [run("before", "X1", a), run("after", "X2", b)]
    }

    #[test]
    fn the_terminal_shows_differences_first_and_the_summary_last() {
        let [a, b] = runs();
        let text = for_terminal(&compare(&a, &b, 0.05), 90);
        let expected = [
            "     run     machine    preset    cases  started",
            "  A  before  EPYC + X1  standard      4  2026-11-21T07:00:00Z",
            "  B  after   EPYC + X2  standard      5  2026-11-21T07:00:00Z",
            "",
            "What changed",
            "  some cases are slower in B: gpu.cluster.sync costs 1.50 times as much (1 of 1 case)",
            "  in half of the 2 other cases (same or undecided), these runs would have detected a",
            "    slowdown by a factor of 1.07 or more",
            "",
            "Differences",
            "  what  A   B",
            "  GPU   X1  X2",
            "",
            "Families",
            "  family       cases  median B/A  slower  faster  same  undecided  not comparable",
            "  gpu.lock         1           –       0       0     0          0               1",
            "  gpu.shuffle      2        1.00       0       0     2          0               0",
            "  gpu.cluster      1        1.50       1       0     0          0               0",
            "",
            "Slower in B: 1 case, sorted by the lower end of the interval, largest first",
            "   B/A  95 % interval       A       B  case",
            "  1.50  1.48 to 1.52   200 ns  300 ns  gpu.cluster.sync 1024 threads",
            "",
            "Same within 5 %: 2 cases, sorted by minimum detectable slowdown, least sensitive cases",
            "first",
            "   B/A  95 % interval  seen from        A        B  case",
            "  1.00  0.986 to 1.01       1.07  10.0 ns  10.0 ns  gpu.shuffle.idx 32 threads",
            "  1.00  0.986 to 1.01       1.07  12.0 ns  12.0 ns  gpu.shuffle.xor i32 32 threads",
            "",
            "Each interval covers only its own case. Because 3 cases are tested at once, verdicts are",
            "stricter than these intervals: a case can be undecided even though its interval lies",
            "beyond the threshold.",
            "",
            "Of the 4 common cases, 1 is slower, 2 are the same within 5 % and 1 is not comparable; 1",
            "  case appears only in B",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_two_rows_without_a_figure_decide_stands_beside_their_bounds() {
        let noisy = |data: RunData, low, high| {
            let rows = data.rows.into_iter().map(|row| {
                let around = Some(Interval { low, high });
                let ns = Some(Nanoseconds(f64::midpoint(low, high)));
                Row { ns, ns_interval: around, ns_within: around, verdict: Verdict::Noisy("wide".into()), ..row }
            });
            RunData { rows: rows.take(1).collect(), ..data }
        };
        let [a, b] = runs();
        let (a, b) = (noisy(a, 200.0, 400.0), noisy(b, 10.0, 20.0));
        let text = for_terminal(&compare(&a, &b, 0.05), 120);
        let line = text.lines().rfind(|line| line.contains("gpu.shuffle.idx")).unwrap();
        assert!(line.contains("200 to 400 ns  10 to 20 ns") && line.trim().starts_with('–'), "{text}");
        assert!(compare(&a, &b, 0.05).cases[0].ratio_of_figures().is_none(), "in files as in the terminal");
        let json = as_json(&compare(&a, &b, 0.05));
        assert_eq!([&json["cases"][0]["ratio"], &json["answers"][0]["value"]], [&Value::Null; 2]);
    }

    #[test]
    fn an_interval_that_ends_beyond_the_threshold_is_explained() {
        let run = |ns: f64, half: f64| {
            let around = Some(Interval { low: ns * (1.0 - half), high: ns * (1.0 + half) });
            let row = Row::unmeasured(Case::new("gpu.cluster.sync"), Verdict::Resolved);
            let row =
                Row { ns: Some(Nanoseconds(ns)), ns_interval: around, ns_within: around, pairs: Some(4000), ..row };
            testing::data(vec![row])
        };
        let explained = "The same within 5 % is decided by two one-sided tests";
        for (half, is_beyond) in [(0.01, false), (0.0225, true)] {
            let (a, b) = (run(100.0, half), run(102.0, half));
            let comparison = compare(&a, &b, 0.05);
            let case = &comparison.cases[0];
            assert_eq!((case.change, case.high > Some(1.05)), (crate::Change::Same, is_beyond), "{case:?}");
            assert_eq!(for_terminal(&comparison, 200).contains(explained), is_beyond);
            assert_eq!(as_markdown(&comparison).contains(explained), is_beyond);
        }
    }

    #[test]
    fn markdown_and_csv_have_the_same_in_their_own_form() {
        let [mut a, b] = runs();
        a.name = "<before>|".to_owned();
        let comparison = compare(&a, &b, 0.05);
        let markdown = as_markdown(&comparison);
        assert!(markdown.starts_with("**Of the 4 common cases, 1 is slower,"), "{markdown}");
        for line in [
            "| A | &lt;before&gt;\\| | EPYC + X1 | standard | 4 | 2026-11-21T07:00:00Z |",
            "| GPU | X1 | X2 |",
            "### Slower in B: 1 case, sorted by the lower end of the interval, largest first",
            "| 1.50 | 1.48 to 1.52 | 200 ns | 300 ns | gpu.cluster.sync 1024 threads |",
        ] {
            assert!(markdown.lines().any(|found| found == line), "{line}: {markdown}");
        }
        let csv = as_csv(&comparison);
        let lines: Vec<&str> = csv.lines().collect();
        assert!(lines[0].starts_with("case_id,domain,family,primitive,dtype,"), "{}", lines[0]);
        assert!(lines[0].ends_with(",form,elements,inside,outside,a_ns,a_ns_low,a_ns_high,b_ns,b_ns_low,b_ns_high,ratio,ratio_low,ratio_high,common_factor,p_value,least_change,change,a_verdict,b_verdict,class,remark"));
        assert!(
            lines[1].contains(",gpu.cluster.sync,") && lines[1].contains(",slower,Resolved,Resolved,"),
            "{}",
            lines[1]
        );
        let lock = lines.iter().find(|line| line.contains("gpu.lock.ticket")).unwrap();
        assert!(lock.ends_with(",,,,,,,not_comparable,Resolved,Failed,,\"resolved in A, failed in B\""), "{lock}");
    }

    /// Forty cases that became slower, and one that became faster by less than each of them.
    #[test]
    fn a_faster_case_is_shown_beside_many_slower_ones() {
        let run = |name: &str, factor: fn(u32) -> f64| {
            let row = |threads: u32| {
                let ns = 100.0 * factor(threads);
                Row {
                    ns: Some(Nanoseconds(ns)),
                    ns_interval: Some(Interval { low: ns * 0.99, high: ns * 1.01 }),
                    ns_within: Some(Interval { low: ns * 0.99, high: ns * 1.01 }),
                    pairs: Some(4000),
                    ..Row::unmeasured(
                        Case { threads: Some(threads), ..Case::new("gpu.cluster.sync") },
                        Verdict::Resolved,
                    )
                }
            };
            RunData { name: name.to_owned(), ..testing::data((1..=41).map(row).collect()) }
        };
        let a = run("a", |_| 1.0);
        let b = run("b", |threads| if threads == 41 { 0.85 } else { 1.5 + f64::from(threads) / 100.0 });
        let comparison = compare(&a, &b, 0.05);
        let text = for_terminal(&comparison, 120);
        let faster =
            text.split("Faster in B: 1 case, sorted by the upper end of the interval, smallest first").nth(1).unwrap();
        assert!(faster.contains("gpu.cluster.sync 41 threads") && faster.contains("0.850"), "{text}");
        assert!(text.contains("Slower in B: 40 cases") && text.contains("  and 20 more;"), "{text}");
        assert!(as_markdown(&comparison).contains("### Faster in B: 1 case"));
    }

    #[test]
    fn json_has_null_where_nothing_is_known() {
        let [a, b] = runs();
        let value = as_json(&compare(&a, &b, 0.05));
        assert_eq!(
            (&value["in_common"], &value["only_b"], &value["changes"]["slower"]),
            (&4.into(), &1.into(), &1.into())
        );
        let lock = value["cases"].as_array().unwrap().iter().find(|case| case["family"] == "lock").unwrap();
        assert_eq!((&lock["ratio"], &lock["dtype"], &lock["threads"]), (&Value::Null, &Value::Null, &32.into()));
        assert_eq!(value["same_machine"], false);
    }
}
