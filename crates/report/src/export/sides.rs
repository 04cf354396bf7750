//! Writes CPU figures next to GPU figures: `show --sides`.

use serde_json::{Value, json};

use super::rows::heading;
use crate::RunData;
use crate::analysis::questions::sides::{NOTE, SideCell, cells, headings, sentence};
use crate::grid::{Grid, markdown};
use crate::harmless::{self, plain};
use crate::wrap::wrap;
use syncscope_core::sets::in_groups;

/// Writes a sentence, a line for each operation, and the note on what they hold for, for the terminal. `None` without rows
/// of both sides.
pub fn for_terminal(data: &RunData, width: usize) -> Option<String> {
    let lines = |text: &str| wrap(text, width, "").join("\n");
    let said = sentence(data).map(|text| format!("{}\n\n", lines(&text))).unwrap_or_default();
    Some(format!("{}\n\n{said}{}\n\n{}", plain(&heading(data)), grid(data)?.for_terminal(width), lines(NOTE)))
}

/// Writes Markdown.
pub fn as_markdown(data: &RunData) -> Option<String> {
    Some(format!("{}\n\n{}\n\n{}", markdown(&heading(data)), grid(data)?.as_markdown(), markdown(NOTE)))
}

/// Writes a LaTeX table.
pub fn as_latex(data: &RunData) -> Option<String> {
    Some(grid(data)?.as_latex(&format!("{}. {NOTE}", heading(data))))
}

/// Writes CSV with a line for each operation and place, and the case.
pub fn as_csv(data: &RunData) -> Option<String> {
    let number = |number: Option<f64>| number.map(|number| number.to_string()).unwrap_or_default();
    let grid = Grid::of(some(cells(data))?)
        .text("operation", |cell| cell.operation.to_owned())
        .text("place", |cell| cell.place.to_owned())
        .text("case_id", |cell| cell.row.case.id().to_string())
        .text("case", |cell| cell.row.case.to_string())
        .number("ns", |cell| number(cell.row.ns.map(syncscope_core::Nanoseconds::value)))
        .number("ops_per_s_total", |cell| number(cell.row.ops_per_s_total))
        .text("figure", |cell| cell.figure.clone())
        .text("verdict", |cell| cell.row.verdict.name().to_owned())
        .text("more_a_second", |cell| cell.ratio.clone().unwrap_or_default());
    Some(grid.grid().as_csv())
}

/// Writes the same as one JSON object.
pub fn as_json(data: &RunData) -> Option<String> {
    let of = |cell: &SideCell<'_>| {
        json!({
            "operation": cell.operation,
            "place": cell.place,
            "case_id": cell.row.case.id().to_string(),
            "case": cell.row.case.to_string(),
            "ns": cell.row.ns.map(syncscope_core::Nanoseconds::value),
            "ops_per_s_total": cell.row.ops_per_s_total,
            "figure": cell.figure,
            "verdict": cell.row.verdict.name(),
            "more_a_second": cell.ratio,
        })
    };
    let all: Vec<Value> = some(cells(data))?.iter().map(of).collect();
    Some(harmless::json(&json!({ "name": data.name, "sentence": sentence(data), "note": NOTE, "cells": all })))
}

fn some<T>(all: Vec<T>) -> Option<Vec<T>> {
    (!all.is_empty()).then_some(all)
}

/// A table with a line for each operation, without the columns that have no figures.
fn grid(data: &RunData) -> Option<Grid> {
    let all = some(cells(data))?;
    let lines = in_groups(all.iter().map(|cell| (cell.operation, cell)));
    let text = |line: &[&SideCell<'_>], heading: &str| match line.iter().find(|cell| cell.place == heading) {
        Some(cell) => {
            [Some(cell.figure.clone()), cell.rate.clone()].into_iter().flatten().collect::<Vec<_>>().join(", ")
        }
        None if headings().last() == Some(heading) => line[0].ratio.clone().unwrap_or_default(),
        None => String::new(),
    };
    let columns = headings().filter(|heading| lines.iter().any(|(_, line)| !text(line, heading).is_empty()));
    let grid = Grid::of(lines.iter()).text("operation", |(operation, _)| (*operation).to_owned());
    Some(columns.fold(grid, |grid, heading| grid.column(heading, true, |(_, line)| text(line, heading))).grid())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::questions::testing::{add, data};
    use syncscope_core::Layout;

    #[test]
    fn both_sides_stand_in_each_format() {
        let cpu = add(Layout::Shared, 1, 6.53, 152e6);
        let mut gpu = add(Layout::Shared, 32, 3.03, 10.55e9);
        gpu.case.primitive = "gpu.atomic.add".to_owned();
        let run = data(vec![cpu.clone(), gpu]);
        let text = for_terminal(&run, 100).unwrap();
        assert!(text.contains("Add, one variable  6.53 ns, 152 M/s  3.03 ns, 10.6 G/s"), "{text}");
        assert!(text.contains("One CPU thread") && !text.contains("All GPUs"), "{text}");
        let csv = as_csv(&run).unwrap();
        assert_eq!(csv.lines().count(), 3, "a line for each cell: {csv}");
        assert!(csv.contains(&run.rows[1].case.id().to_string()), "to be joined with measurements.csv: {csv}");
        let latex = as_latex(&run).unwrap();
        assert!(
            latex.contains("6.53 ns, 152 M/s & 3.03 ns, 10.6 G/s \\\\") && latex.contains("\\_\\_threadfence"),
            "{latex}"
        );
        assert!(as_markdown(&run).unwrap().contains("| Add, one variable | 6.53 ns, 152 M/s |"));
        let json = as_json(&run).unwrap();
        assert!(json.contains("\"place\": \"One warp\"") && json.contains("\"verdict\": \"Resolved\""), "{json}");
        assert_eq!(for_terminal(&data(vec![cpu]), 100), None, "one side alone");
    }
}
