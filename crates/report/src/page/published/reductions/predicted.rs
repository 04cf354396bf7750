//! The card with predicted against measured differences, and what the costs recommend.

use syncscope_core::published::reductions::{Agreement, Class, Decision, Prediction, Reductions};

use super::super::parts;
use super::super::svg::{Axis, COLOURS, Chart, Point};
use crate::reductions::{DECISION, PREDICTION, decision_cells, prediction_cells};

/// Predicted against measured differences, and what the costs recommend.
pub(super) fn card(found: &Reductions) -> String {
    let decided = found.decisions.iter().map(|decision| with(&decision_cells(decision), [remark(found, decision)]));
    let decided = parts::table(&[&DECISION[..], &["why"]].concat(), &decided.collect::<Vec<_>>());
    let lines: Vec<Vec<String>> = found.predictions.iter().map(prediction_line).collect();
    let table = parts::table(&[&PREDICTION[..], &["terms", "why not"]].concat(), &lines);
    let explanation = parts::paragraph(
        "Two variants read the same vector by the same code. So the difference of their times is the difference of their \
         synchronization: launches, barriers and atomic operations, each with the cost that the catalogue's case gives on \
         the same grid. “Off by” is relative to the measured difference, “of the time” to the time of the \
         variant. Undecided: the intervals of both overlap.",
    );
    let content = format!(
        "{explanation}{decided}{}<details><summary>All differences and their terms</summary>{table}</details>",
        agreement_chart(&found.predictions)
    );
    let within = found.predictions.iter().filter(|found| found.agreement == Agreement::Within).count();
    let note = format!("{within} of {} differences within 20 %", found.predictions.len());
    parts::card("What primitive costs predict", &note, &content)
}

/// Why the lead is not predicted, if it is not.
fn remark(found: &Reductions, decision: &Decision) -> String {
    let of_lead = found.predictions.iter().find(|prediction| {
        let pair = (&prediction.variant, &prediction.reference);
        let of_pair =
            pair == (&decision.runner_up, &decision.measured) || pair == (&decision.measured, &decision.runner_up);
        of_pair
            && (prediction.class, prediction.operation, prediction.elements, prediction.devices)
                == (decision.class, decision.operation, decision.elements, decision.devices)
    });
    let text = |prediction: &Prediction| match prediction.agreement {
        Agreement::Undecided => "the intervals of both overlap".to_owned(),
        _ => prediction.why_not.clone().unwrap_or_default(),
    };
    of_lead.map(text).unwrap_or_default()
}

fn prediction_line(prediction: &Prediction) -> Vec<String> {
    with(&prediction_cells(prediction), [prediction.terms.clone(), prediction.why_not.clone().unwrap_or_default()])
}

/// The cells of the terminal and some more.
fn with<const MORE: usize>(cells: &[String], more: [String; MORE]) -> Vec<String> {
    cells.iter().cloned().chain(more).collect()
}

/// Predicted against measured difference in microseconds, one colour for each class, with the line of agreement.
fn agreement_chart(predictions: &[Prediction]) -> String {
    let us = |ns: f64| ns / 1000.0;
    let points = |class: Class| {
        let of_class = predictions.iter().filter(move |prediction| prediction.class == class);
        of_class.filter_map(|prediction| {
            let predicted = prediction.predicted_ns.filter(|ns| *ns > 0.0 && prediction.measured_ns > 0.0)?;
            let width = prediction.predicted_half_width_ns.unwrap_or(0.0);
            let interval = Some((us(predicted - width), us(predicted + width)));
            Some(Point { x: us(prediction.measured_ns), y: us(predicted), interval })
        })
    };
    let all: Vec<Point> = Class::ALL.into_iter().flat_map(points).collect();
    let ends = all.iter().flat_map(|point| [point.x, point.y]);
    let (low, high) = ends.fold((f64::INFINITY, 0.0_f64), |(low, high), end| (low.min(end), high.max(end)));
    if all.is_empty() {
        return String::new();
    }
    let x = Axis::logarithmic("measured difference, microseconds", low, high);
    let y = Axis::logarithmic("predicted difference, microseconds", low, high);
    let mut chart = Chart::new("Predicted against measured differences", (560, 420), x, y);
    for factor in [0.8, 1.0, 1.2] {
        chart.line(&[(low, low * factor), (high, high * factor)], COLOURS - 1);
    }
    chart.legend(COLOURS - 1, "predicted = measured, ±20 %");
    for (colour, class) in Class::ALL.into_iter().enumerate() {
        let of_class: Vec<Point> = points(class).collect();
        if !of_class.is_empty() {
            chart.points(&of_class, colour);
            chart.legend(colour, class.as_str());
        }
    }
    chart.finish()
}
