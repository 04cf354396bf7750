//! The rows of a run as text.

use serde_json::{Value, json};
use syncscope_core::run::columns::COLUMNS;
use syncscope_core::{Nanoseconds, Row};

use super::answer::Answer;
use super::comparison::json_cells;
use crate::grid::{Grid, markdown};
use crate::harmless::plain;
use crate::reading::{self, Reading, has_cost_of_case};
use crate::{RunData, naming};

/// All rows for the terminal, one line each.
pub fn for_terminal(data: &RunData, width: usize) -> String {
    format!("{}\n\n{}", plain(&heading(data)), grid_of(&data.rows).for_terminal(width))
}

/// All rows as Markdown.
pub fn as_markdown(data: &RunData) -> String {
    format!("{}\n\n{}", markdown(&heading(data)), grid_of(&data.rows).as_markdown())
}

/// All rows as a LaTeX table.
pub fn as_latex(data: &RunData) -> String {
    grid_of(&data.rows).as_latex(&heading(data))
}

/// All rows with the columns of `measurements.csv`.
pub fn as_csv(data: &RunData) -> String {
    let grid = COLUMNS
        .iter()
        .fold(Grid::of(&data.rows), |grid, column| grid.column(column.name, column.is_number, |row| column.write(row)));
    grid.grid().as_csv()
}

/// The run and its rows as one object; the keys of a row are the columns of `measurements.csv`. Without `answers`, these are
/// the costs of the rows.
pub fn as_json(data: &RunData, answers: Option<Vec<Answer>>) -> Value {
    let rows: Vec<_> = data.rows.iter().map(|row| json_cells(COLUMNS, row)).collect();
    let answers = answers.unwrap_or_else(|| data.rows.iter().map(Answer::of_cost).collect());
    json!({ "name": data.name, "run": data.run, "rows": rows, "answers": answers })
}

/// Sorts rows by cost, the most expensive first and those without a figure last.
pub fn sort_by_cost(rows: &mut [Row]) {
    let cost = |row: &Row| row.ns.filter(|_| has_cost_of_case(row)).map_or(f64::NEG_INFINITY, Nanoseconds::value);
    rows.sort_by(|one, other| cost(other).total_cmp(&cost(one)));
}

pub(super) fn heading(data: &RunData) -> String {
    let (machine, run) = (naming::machine(&data.run.machine), &data.run);
    format!("{machine}, {}, {} rows", naming::origin(run), data.rows.len())
}

fn grid_of(rows: &[Row]) -> Grid {
    Grid::of(rows.iter().map(|row| (Reading::of(row).cells(), row)))
        .number("cost", |([figure, ..], _)| figure.clone())
        .number("interval", |([_, interval, _], _)| interval.clone())
        .number("cycles", |([.., cycles], _)| cycles.clone())
        .text("verdict", |(_, row)| reading::words(row.verdict.name()).to_owned())
        .text("case", |(_, row)| row.case.to_string())
        .grid()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use syncscope_core::stats::Interval;
    use syncscope_core::{Case, Group, Verdict};

    fn data() -> RunData {
        let row = |primitive: &str, ns: f64, verdict| Row {
            ns: Some(Nanoseconds(ns)),
            ns_interval: Some(Interval { low: ns * 0.99, high: ns * 1.01 }),
            ..Row::unmeasured(Case { threads: Some(2), ..Case::new(primitive) }, verdict)
        };
        let hostile =
            Case { group: Some(Group::of_word("=cmd|'/c calc'!A1")), ..Case::new("<script>alert(1)</script>") };
        let rows = vec![
            row("cpu.atomic.add", 9.5, Verdict::Resolved),
            row("cpu.barrier.std", 900.0, Verdict::Failed("check failed".into())),
            row("cpu.lock.ttas", 95.0, Verdict::Resolved),
            Row::unmeasured(hostile, Verdict::Skipped("\u{1b}[31mred".into())),
        ];
        testing::data(rows)
    }

    #[test]
    fn the_most_expensive_comes_first_and_what_has_no_cost_last() {
        let mut rows = data().rows;
        sort_by_cost(&mut rows);
        let ids: Vec<&str> = rows.iter().map(|row| row.case.primitive.as_str()).collect();
        assert_eq!(ids[..3], ["cpu.lock.ttas", "cpu.atomic.add", "cpu.barrier.std"]);
    }

    #[test]
    fn csv_is_what_a_run_directory_holds() {
        let text = as_csv(&data());
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().unwrap().split(',').collect();
        assert_eq!(names, COLUMNS.iter().map(|column| column.name).collect::<Vec<_>>());
        assert!(lines.next().unwrap().contains(",cpu.atomic.add,"));
        assert_eq!(lines.count(), 3);
    }

    #[test]
    fn json_has_numbers_and_null() {
        let value = as_json(&data(), None);
        let rows = value["rows"].as_array().unwrap();
        assert_eq!((rows.len(), &rows[0]["ns"], &rows[0]["dtype"]), (4, &json!(9.5), &Value::Null));
        assert_eq!((&rows[1]["verdict"], &rows[1]["threads"]), (&json!("Failed"), &json!(2)));
        assert_eq!(value["run"]["preset"], "standard");
        assert_eq!((&value["answers"][0]["value"], &value["answers"][3]["value"]), (&json!(9.5), &Value::Null));
    }

    #[test]
    fn hostile_names_are_harmless() {
        assert!(as_csv(&data()).contains("'=cmd|"), "{}", as_csv(&data()));
        let markdown = as_markdown(&data());
        assert!(!markdown.contains("<script>") && markdown.contains("&lt;script&gt;"), "{markdown}");
        assert!(!for_terminal(&data(), 100).contains('\u{1b}'));
    }
}
