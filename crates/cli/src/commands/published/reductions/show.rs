//! The tables on the terminal.

use comfy_table::{ContentArrangement, Table, presets};
use syncscope_core::published::reductions::text::{name, time};
use syncscope_core::published::reductions::{Class, Prediction, Reductions, WarpRow, winners};

use crate::failure::Failure;
use crate::terminal;

/// Shows the winner of each size, and predicted beside measured differences.
pub(super) fn tables(found: &Reductions) -> Result<(), Failure> {
    let winners = winners(&found.times);
    for class in Class::ALL {
        let of_class = || winners.iter().filter(|winner| winner.class == class);
        if of_class().next().is_none() {
            continue;
        }
        let mut table = empty(&["operation", "elements", "winner", "time", "GB/s", "second", "slower by"]);
        for winner in of_class() {
            let bandwidth = found.times.iter().find(|row| {
                row.variant == winner.variant
                    && (row.operation, row.elements, row.devices) == (winner.operation, winner.elements, winner.devices)
            });
            table.add_row([
                winner.operation.as_str().to_owned(),
                winner.elements.to_string(),
                name(&winner.variant),
                time(winner.ns),
                bandwidth.and_then(|row| row.gb_per_s).map_or_else(String::new, |rate| format!("{rate:.1}")),
                winner.runner_up.as_deref().map_or_else(String::new, name),
                winner.margin.map_or_else(String::new, |margin| format!("{:.1} %", (margin - 1.0) * 100.0)),
            ]);
        }
        terminal::show(&format!("{}\n{}\n", class.title(), table.trim_fmt()))?;
    }
    warps(&found.warps)?;
    if found.predictions.is_empty() {
        return Ok(());
    }
    let mut table =
        empty(&["elements", "variant", "against", "measured", "predicted", "off by", "of the time", "agreement"]);
    for prediction in &found.predictions {
        table.add_row(prediction_cells(prediction));
    }
    terminal::show(&format!("What primitive costs predict\n{}", table.trim_fmt()))?;
    let mut table = empty(&["elements", "where", "fastest", "recommended", "slower by", "second", "lead", "predicted"]);
    for decision in &found.decisions {
        table.add_row([
            decision.elements.to_string(),
            decision.class.as_str().to_owned(),
            name(&decision.measured),
            name(&decision.predicted),
            format!("{:.1} %", decision.loss * 100.0),
            name(&decision.runner_up),
            time(decision.lead_ns),
            time(decision.predicted_lead_ns),
        ]);
    }
    terminal::show(&format!("\nWhat the costs recommend\n{}", table.trim_fmt()))
}

fn warps(rows: &[WarpRow]) -> Result<(), Failure> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut table = empty(&["sum of a warp", "threads", "cycles", "instructions of one sum"]);
    for row in rows {
        let cycles = row.cycles.map(|cycles| format!("{cycles:.1}"));
        table.add_row([
            row.method.title().to_owned(),
            row.threads.to_string(),
            cycles.or_else(|| row.reason.clone()).unwrap_or_default(),
            row.evidence.clone().unwrap_or_default(),
        ]);
    }
    terminal::show(&format!("Sums within a warp (Zhang, Wahib and Matsuoka, figures 3 and 4)\n{}\n", table.trim_fmt()))
}

fn prediction_cells(prediction: &Prediction) -> [String; 8] {
    let percent = |share: Option<f64>| share.map_or_else(String::new, |share| format!("{:+.1} %", share * 100.0));
    [
        prediction.elements.to_string(),
        name(&prediction.variant),
        name(&prediction.reference),
        time(prediction.measured_ns),
        prediction.predicted_ns.map_or_else(String::new, time),
        percent(prediction.relative_error),
        percent(prediction.relative_error_of_time),
        prediction.agreement.as_str().to_owned(),
    ]
}

fn empty(headings: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(terminal::width()).unwrap_or(100));
    table.set_header(headings.iter().copied());
    table
}
