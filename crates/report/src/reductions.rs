//! What the tables of reductions say, on the page and on the terminal.

use syncscope_core::published::reductions::text::name;
use syncscope_core::published::reductions::{Class, Decision, Prediction, Reductions, Winner};

use crate::figure::time;

/// The headings of [`winner_cells`].
pub(crate) const WINNER: [&str; 7] = ["elements", "operation", "fastest", "time", "GB/s", "second", "slower by"];

/// The headings of [`decision_cells`].
pub(crate) const DECISION: [&str; 8] =
    ["elements", "where", "fastest", "costs recommend", "slower by", "second", "lead", "predicted"];

/// The headings of [`prediction_cells`].
pub(crate) const PREDICTION: [&str; 8] =
    ["elements", "variant", "minus", "measured", "predicted", "off by", "of the time", "20 %"];

/// The fastest variant of a problem, and the second.
pub(crate) fn winner_cells(found: &Reductions, winner: &Winner) -> [String; 7] {
    let row = found.times.iter().find(|row| {
        row.variant == winner.variant
            && (row.operation, row.elements, row.devices) == (winner.operation, winner.elements, winner.devices)
    });
    [
        size(winner.elements),
        winner.operation.as_str().to_owned(),
        format!("{}{}", name(&winner.variant), on(winner.class, winner.devices)),
        time(winner.ns),
        row.and_then(|row| row.gb_per_s).map_or_else(String::new, |rate| format!("{rate:.1}")),
        winner.runner_up.as_deref().map_or_else(String::new, name),
        winner.margin.map_or_else(String::new, |margin| format!("{:.1} %", (margin - 1.0) * 100.0)),
    ]
}

/// What the costs recommend for a problem, and what is lost by it.
pub(crate) fn decision_cells(decision: &Decision) -> [String; 8] {
    [
        size(decision.elements),
        format!("{}{}", decision.class.as_str(), on(decision.class, decision.devices)),
        name(&decision.measured),
        name(&decision.predicted),
        if decision.loss > 0.0 { format!("{:.1} %", decision.loss * 100.0) } else { "0 %".to_owned() },
        name(&decision.runner_up),
        time(decision.lead_ns),
        format!(
            "{} ({:+.1} %)",
            time(decision.predicted_lead_ns),
            (decision.predicted_lead_ns / decision.lead_ns - 1.0) * 100.0
        ),
    ]
}

/// A predicted difference beside the measured one.
pub(crate) fn prediction_cells(prediction: &Prediction) -> [String; 8] {
    let percent = |share: Option<f64>| share.map_or_else(String::new, |share| format!("{:+.1} %", share * 100.0));
    [
        size(prediction.elements),
        name(&prediction.variant),
        name(&prediction.reference),
        time(prediction.measured_ns),
        prediction.predicted_ns.map_or_else(String::new, time),
        percent(prediction.relative_error),
        percent(prediction.relative_error_of_time),
        prediction.agreement.as_str().to_owned(),
    ]
}

/// How many GPUs, where that differs.
pub(crate) fn on(class: Class, devices: Option<u32>) -> String {
    devices.filter(|_| class == Class::Devices).map_or_else(String::new, |devices| format!(" ({devices} GPUs)"))
}

/// A power of two as such.
pub(crate) fn size(elements: u64) -> String {
    if elements.is_power_of_two() && elements > 1 { format!("2^{}", elements.ilog2()) } else { elements.to_string() }
}
