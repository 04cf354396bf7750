//! What costs predict, on the terminal and in the cells of the page.

use comfy_table::{ContentArrangement, Table, presets};
use syncscope_core::Row;

use super::prediction::{Decision, Prediction, predicted};
use super::{difference, size};
use crate::export::grid::plain;
use crate::figure::time;

/// The headings of [`decision_cells`].
pub(super) const DECISION: [&str; 8] =
    ["elements", "where", "fastest", "costs recommend", "slower by", "second", "lead", "predicted"];

/// The headings of [`prediction_cells`].
pub(super) const PREDICTION: [&str; 7] = ["elements", "variant", "minus", "measured", "predicted", "off by", "20 %"];

/// What the costs recommend for a problem, and what is lost by it.
pub(super) fn decision_cells(decision: &Decision<'_>) -> [String; 8] {
    let Decision { fastest, recommended, runner_up, predicted_lead_ns } = decision;
    [
        size(fastest.elements),
        fastest.class.title().to_owned(),
        fastest.title(),
        recommended.title(),
        if decision.loss() > 0.0 { format!("{:.1} %", decision.loss() * 100.0) } else { "0 %".to_owned() },
        runner_up.title(),
        time(runner_up.ns - fastest.ns),
        time(*predicted_lead_ns),
    ]
}

/// A predicted difference beside the measured one.
pub(super) fn prediction_cells(prediction: &Prediction<'_>) -> [String; 7] {
    let (ns, half_width_ns) = prediction.measured;
    let off = prediction.relative_error().map_or_else(String::new, |error| format!("{:+.1} %", error * 100.0));
    [
        size(prediction.variant.elements),
        prediction.variant.title(),
        prediction.reference.title(),
        difference(ns, half_width_ns),
        prediction.predicted.map_or_else(String::new, |(ns, half_width_ns)| difference(ns, half_width_ns)),
        off,
        prediction.agreement.as_str().to_owned(),
    ]
}

/// What the costs in the rows of a run say about its reductions, in at most `width` columns where their words allow it; `None`
/// without reductions whose costs are known.
#[must_use]
pub fn table(rows: &[Row], width: usize) -> Option<String> {
    let (decisions, predictions) = predicted(rows);
    let decided: Vec<_> = decisions.iter().map(decision_cells).collect();
    let differences: Vec<_> = predictions.iter().map(prediction_cells).collect();
    let tables = [
        titled("What the costs of primitives recommend", &DECISION, &decided, width),
        titled("Measured and predicted differences of two variants", &PREDICTION, &differences, width),
    ];
    let tables: Vec<String> = tables.into_iter().flatten().collect();
    (!tables.is_empty()).then(|| tables.join("\n\n"))
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
    use super::super::testing::{reduction, resolved};
    use super::*;
    use syncscope_core::{Case, Group};

    #[test]
    fn a_run_without_costs_or_reductions_has_no_table() {
        let launch = Case { blocks: Some(264), threads: Some(512), ..Case::new("gpu.launch.stream") };
        let launch = resolved(Case { group: Some(Group::KernelUs(5)), ..launch }, 2700.0);
        let rows = [launch, reduction("atomic", 1 << 20, 6700.0), reduction("grid_counter", 1 << 20, 8000.0)];
        let text = table(&rows, 100).unwrap();
        assert!(text.contains("2^20") && text.contains("no cost"), "{text}");
        assert_eq!(table(&rows[..1], 100), None);
        assert_eq!(table(&rows[1..], 100), None);
    }
}
