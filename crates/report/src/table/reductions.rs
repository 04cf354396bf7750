//! Reductions on the terminal: the winner of each size, and predicted beside measured differences.

use comfy_table::{ContentArrangement, Table, presets};
use syncscope_core::published::reductions::{Class, Reductions, WarpRow, winners};

use crate::export::grid::plain;
use crate::reductions::{DECISION, PREDICTION, WINNER, decision_cells, prediction_cells, winner_cells};

/// The tables of one run of reductions, in at most `width` columns where their words allow it.
#[must_use]
pub fn reductions(found: &Reductions, width: usize) -> String {
    let winners = winners(&found.times);
    let of_class = |class: Class| {
        let rows: Vec<_> =
            winners.iter().filter(|winner| winner.class == class).map(|winner| winner_cells(found, winner)).collect();
        titled(class.title(), &WINNER, &rows, width)
    };
    let predictions: Vec<_> = found.predictions.iter().map(prediction_cells).collect();
    let decisions: Vec<_> = found.decisions.iter().map(decision_cells).collect();
    let tables = Class::ALL.into_iter().map(of_class).chain([
        warps(&found.warps, width),
        titled("What primitive costs predict", &PREDICTION, &predictions, width),
        titled("What the costs recommend", &DECISION, &decisions, width),
    ]);
    tables.flatten().collect::<Vec<_>>().join("\n\n")
}

fn warps(rows: &[WarpRow], width: usize) -> Option<String> {
    let cells = |row: &WarpRow| {
        let cycles = row.cycles.map(|cycles| format!("{cycles:.1}"));
        [
            row.method.title().to_owned(),
            row.threads.to_string(),
            cycles.or_else(|| row.reason.clone()).unwrap_or_default(),
            row.evidence.clone().unwrap_or_default(),
        ]
    };
    let headings = ["sum of a warp", "threads", "cycles", "instructions of one sum"];
    let rows: Vec<_> = rows.iter().map(cells).collect();
    titled("Sums within a warp (Zhang, Wahib and Matsuoka, figures 3 and 4)", &headings, &rows, width)
}

/// A table under its title; `None` without rows.
fn titled<const CELLS: usize>(
    title: &str,
    headings: &[&str; CELLS],
    rows: &[[String; CELLS]],
    width: usize,
) -> Option<String> {
    if rows.is_empty() {
        return None;
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX)).set_header(headings);
    table.add_rows(rows.iter().map(|cells| cells.each_ref().map(|cell| plain(cell))));
    Some(format!("{title}\n{}", table.trim_fmt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_without_rows_are_left_out() {
        assert_eq!(reductions(&Reductions::default(), 80), "");
        let rows = [["2^20".to_owned(), "1.10 µs".to_owned()]];
        let table = titled("Winners", &["elements", "time"], &rows, 80).unwrap();
        let lines: Vec<&str> = table.lines().map(str::trim).collect();
        assert_eq!(lines, ["Winners", "elements  time", "2^20      1.10 µs"]);
    }
}
