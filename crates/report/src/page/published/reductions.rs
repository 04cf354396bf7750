//! The section of [`syncscope_core::published::reductions`].

use syncscope_core::PublishedExperiment;
use syncscope_core::published::reductions::claims::listing_claims;
use syncscope_core::published::reductions::variants::of_class;
use syncscope_core::published::reductions::{
    Agreement, Class, Decision, Operation, Prediction, ReductionRow, Reductions, Winner, variant, winners,
};

use super::svg::{Axis, Chart, Point};
use super::{Drawing, boundaries, parts};
use crate::RunData;

pub(super) const DRAWING: Drawing = Drawing {
    experiment: PublishedExperiment::Reductions,
    title: "Reductions: which synchronization to choose",
    lead: "One vector of 32-bit integers, reduced with each kind of synchronization, every result checked. Burtchell and \
           Burtscher, Characterizing CUDA and OpenMP synchronization primitives, listing 1; Zhang, Wahib and Matsuoka, A \
           Study of Synchronization Methods in Modern GPUs, figures 3 and 4.",
    draw,
};

/// Lines of a chart: as many as the page has colours.
const LINES: usize = 8;

fn draw(data: &RunData) -> Option<String> {
    let found = data.published.reductions.as_ref()?;
    let won = winners(&found.times);
    let mut html = String::new();
    if !found.predictions.is_empty() {
        html.push_str(&predicted(found));
    }
    for class in Class::ALL {
        html.push_str(&of_one_class(class, found, &won));
        if class == Class::Device {
            html.push_str(&boundaries::card(&found.times));
        }
    }
    if !found.warps.is_empty() {
        html.push_str(&warps(found));
    }
    Some(html)
}

/// The chart, the winners and the times of one class; nothing if it was not measured.
fn of_one_class(class: Class, found: &Reductions, won: &[Winner]) -> String {
    let rows: Vec<&ReductionRow> = found.times.iter().filter(|row| row.class == class).collect();
    if !rows.iter().any(|row| row.usable_ns().is_some()) {
        return String::new();
    }
    let mut content = chart(class, &rows);
    if class == Class::Listing {
        content.push_str(&statements(found));
    }
    content.push_str(&winner_table(class, found, won));
    content.push_str("<details><summary>All times</summary>");
    for operation in [Operation::Max, Operation::Sum] {
        content.push_str(&times_table(operation, &rows));
    }
    content.push_str("</details>");
    content.push_str(&left_out(&rows));
    parts::card(class.title(), "time of one reduction, 95 % interval", &content)
}

/// Time against size for the maximum.
fn chart(class: Class, rows: &[&ReductionRow]) -> String {
    let measured: Vec<&&ReductionRow> =
        rows.iter().filter(|row| row.operation == Operation::Max && row.usable_ns().is_some()).collect();
    let extremes = |value: fn(&ReductionRow) -> f64| {
        let values = measured.iter().map(|row| value(row));
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (x_low, x_high) = extremes(|row| row.elements as f64);
    let (y_low, y_high) = extremes(|row| row.ns.unwrap_or(f64::NAN) / 1000.0);
    let x = Axis::logarithmic("elements", x_low, x_high);
    let y = Axis::logarithmic("microseconds", y_low, y_high);
    let mut chart = Chart::new(&format!("{}: time against size", class.title()), (760, 340), x, y);
    let drawn = || of_class(class).filter(|variant| is_drawn(variant.id));
    let mut counts: Vec<Option<u32>> = measured.iter().map(|row| row.devices).collect();
    counts.sort_unstable();
    counts.dedup();
    let lines = counts.into_iter().flat_map(|devices| drawn().map(move |variant| (variant, devices)));
    for (colour, (variant, devices)) in lines.take(LINES).enumerate() {
        let of_variant = measured.iter().filter(|row| row.variant == variant.id && row.devices == devices);
        let point = |row: &ReductionRow| {
            let us = |ns: Option<f64>| ns.unwrap_or(f64::NAN) / 1000.0;
            Point { x: row.elements as f64, y: us(row.ns), interval: Some((us(row.ns_low), us(row.ns_high))) }
        };
        let points: Vec<Point> = of_variant.map(|row| point(row)).collect();
        if points.is_empty() {
            continue;
        }
        chart.line(&points.iter().map(|point| (point.x, point.y)).collect::<Vec<_>>(), colour);
        chart.points(&points, colour);
        chart.legend(colour, &format!("{}{}", variant.name, on(class, devices)));
    }
    chart.finish()
}

/// Variants that differ from a drawn one by the launch or the kind of barrier alone are in the table.
fn is_drawn(id: &str) -> bool {
    ![
        "device.last_block",
        "device.grid_counter",
        "device.grid_lock_free",
        "device.atomic_queued",
        "device.grid_queued",
        "device.grid_graph_chain",
        "device.graph",
        "cpu.tree_tree",
        "cpu.openmp_critical",
        "cpu.tree_openmp",
    ]
    .contains(&id)
}

fn statements(found: &Reductions) -> String {
    let claim = |claim: syncscope_core::published::reductions::claims::Claim| {
        let outcome = match claim.holds {
            Some(true) => parts::Outcome::Holds,
            Some(false) => parts::Outcome::Fails,
            None => parts::Outcome::Open,
        };
        (outcome, claim.statement, claim.figures)
    };
    let claims: Vec<_> = listing_claims(&found.times).into_iter().map(claim).collect();
    if claims.is_empty() { String::new() } else { parts::claims(&claims) }
}

fn winner_table(class: Class, found: &Reductions, won: &[Winner]) -> String {
    let row = |winner: &Winner| {
        let is_this = |row: &&ReductionRow| {
            row.variant == winner.variant
                && (row.operation, row.elements, row.devices) == (winner.operation, winner.elements, winner.devices)
        };
        let bandwidth = found.times.iter().find(is_this).and_then(|row| row.gb_per_s);
        vec![
            size(winner.elements),
            winner.operation.as_str().to_owned(),
            format!("{}{}", name(&winner.variant), on(class, winner.devices)),
            time(winner.ns),
            bandwidth.map_or_else(String::new, |rate| format!("{rate:.1}")),
            winner.runner_up.as_deref().map_or_else(String::new, name),
            winner.margin.map_or_else(String::new, |margin| format!("{:.1} %", (margin - 1.0) * 100.0)),
            winner.ties.iter().map(|id| name(id)).collect::<Vec<_>>().join(", "),
        ]
    };
    let rows: Vec<Vec<String>> = won.iter().filter(|winner| winner.class == class).map(row).collect();
    let headings = ["elements", "operation", "fastest", "time", "GB/s", "second", "slower by", "not distinguished"];
    parts::table(&headings, &rows)
}

/// A line for each variant, a column for each size; nothing if the operation was not measured.
fn times_table(operation: Operation, rows: &[&ReductionRow]) -> String {
    let of_operation: Vec<&&ReductionRow> = rows.iter().filter(|row| row.operation == operation).collect();
    let mut sizes: Vec<u64> = of_operation.iter().map(|row| row.elements).collect();
    sizes.sort_unstable();
    sizes.dedup();
    // What has no time need not have a number of devices.
    let mut variants: Vec<(Class, &str, Option<u32>)> = Vec::new();
    for row in of_operation.iter().filter(|row| row.usable_ns().is_some()) {
        let variant = (row.class, row.variant.as_str(), row.devices);
        if !variants.contains(&variant) {
            variants.push(variant);
        }
    }
    if variants.is_empty() {
        return String::new();
    }
    let cell = |id: &str, devices: Option<u32>, elements: u64| {
        let is_this = |row: &&&&ReductionRow| row.variant == id && row.devices == devices && row.elements == elements;
        let row = of_operation.iter().find(is_this);
        row.and_then(|row| row.usable_ns()).map_or_else(|| "–".to_owned(), time)
    };
    let line = |(class, id, devices): &(Class, &str, Option<u32>)| {
        let times = sizes.iter().map(|elements| cell(id, *devices, *elements));
        std::iter::once(format!("{}{}", name(id), on(*class, *devices))).chain(times).collect::<Vec<String>>()
    };
    let lines: Vec<Vec<String>> = variants.iter().map(line).collect();
    let headings: Vec<String> =
        std::iter::once(operation.as_str().to_owned()).chain(sizes.iter().map(|elements| size(*elements))).collect();
    parts::table(&headings.iter().map(String::as_str).collect::<Vec<_>>(), &lines)
}

/// Why variants have no time, each reason once.
fn left_out(rows: &[&ReductionRow]) -> String {
    let mut reasons: Vec<String> = Vec::new();
    for row in rows.iter().filter(|row| row.usable_ns().is_none()) {
        let reason = row.reason.as_deref().unwrap_or("its interval reaches zero");
        let text = format!("{}: {reason}", name(&row.variant));
        if !reasons.contains(&text) {
            reasons.push(text);
        }
    }
    if reasons.is_empty() {
        return String::new();
    }
    let reasons: String = reasons.iter().map(|reason| parts::paragraph(reason)).collect();
    format!("<details><summary>Without a time</summary>{reasons}</details>")
}

/// Predicted against measured differences, and what the costs recommend.
fn predicted(found: &Reductions) -> String {
    let decided = found.decisions.iter().map(|decision| {
        vec![
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
            remark(found, decision),
        ]
    });
    let decided = parts::table(
        &["elements", "where", "fastest", "costs recommend", "slower by", "second", "lead", "predicted", "why"],
        &decided.collect::<Vec<_>>(),
    );
    let lines: Vec<Vec<String>> = found.predictions.iter().map(prediction_line).collect();
    let headings =
        ["elements", "variant", "minus", "measured", "predicted", "off by", "of the time", "20 %", "terms", "why not"];
    let table = parts::table(&headings, &lines);
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
    let percent = |share: Option<f64>| share.map_or_else(String::new, |share| format!("{:+.1} %", share * 100.0));
    vec![
        size(prediction.elements),
        name(&prediction.variant),
        name(&prediction.reference),
        time(prediction.measured_ns),
        prediction.predicted_ns.map_or_else(String::new, time),
        percent(prediction.relative_error),
        percent(prediction.relative_error_of_time),
        prediction.agreement.as_str().to_owned(),
        prediction.terms.clone(),
        prediction.why_not.clone().unwrap_or_default(),
    ]
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
        chart.line(&[(low, low * factor), (high, high * factor)], LINES - 1);
    }
    chart.legend(LINES - 1, "predicted = measured, ±20 %");
    for (colour, class) in Class::ALL.into_iter().enumerate() {
        let of_class: Vec<Point> = points(class).collect();
        if !of_class.is_empty() {
            chart.points(&of_class, colour);
            chart.legend(colour, class.as_str());
        }
    }
    chart.finish()
}

fn warps(found: &Reductions) -> String {
    let line = |row: &syncscope_core::published::reductions::WarpRow| {
        let interval = row.cycles_low.zip(row.cycles_high);
        vec![
            row.method.title().to_owned(),
            row.threads.to_string(),
            row.cycles.map_or_else(String::new, |cycles| format!("{cycles:.1}")),
            interval.map_or_else(String::new, |(low, high)| format!("{low:.1} to {high:.1}")),
            row.evidence.clone().unwrap_or_default(),
            row.reason.clone().unwrap_or_default(),
        ]
    };
    let lines: Vec<Vec<String>> = found.warps.iter().map(line).collect();
    let headings = ["how", "threads of the block", "cycles", "95 % interval", "instructions of one sum", "remark"];
    let note = parts::paragraph(
        "Each sum depends on the one before. The figures of the paper show which threads wait for each other; the values go \
         through shared memory. Where the mask of a barrier differs between threads, the compiler adds a check of the mask \
         (MATCH.ANY) to each of them.",
    );
    parts::card(
        "Sums within a warp",
        "Zhang, Wahib and Matsuoka, figures 3 and 4",
        &format!("{note}{}", parts::table(&headings, &lines)),
    )
}

/// How many GPUs, where that differs.
fn on(class: Class, devices: Option<u32>) -> String {
    devices.filter(|_| class == Class::Devices).map_or_else(String::new, |devices| format!(" ({devices} GPUs)"))
}

/// The name of a variant.
fn name(id: &str) -> String {
    variant(id).map_or_else(|| id.to_owned(), |variant| variant.name.to_owned())
}

/// A power of two as such.
pub(super) fn size(elements: u64) -> String {
    if elements.is_power_of_two() && elements > 1 { format!("2^{}", elements.ilog2()) } else { elements.to_string() }
}

/// A time with three digits and its unit.
pub(super) fn time(ns: f64) -> String {
    let (value, unit) = match ns.abs() {
        size if size >= 1e6 => (ns / 1e6, "ms"),
        size if size >= 1e3 => (ns / 1e3, "us"),
        _ => (ns, "ns"),
    };
    let digits = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use std::collections::HashMap;
    use syncscope_core::Published;
    use syncscope_core::published::reductions::{WarpMethod, WarpRow};

    fn row(id: &str, elements: u64, ns: f64) -> ReductionRow {
        let variant = variant(id).unwrap();
        let row = ReductionRow::unmeasured(variant, Operation::Max, elements, String::new());
        ReductionRow { check: Some(true), reason: None, ..row }.with_times(&[ns * 0.99, ns, ns * 1.01], 8)
    }

    fn full() -> Reductions {
        let mut times: Vec<ReductionRow> = (1..=5)
            .flat_map(|number| {
                [1 << 10, 1 << 28].map(|elements| row(&format!("listing.{number}"), elements, 1e3 * f64::from(number)))
            })
            .collect();
        times.extend([row("device.atomic", 1 << 20, 4700.0), row("device.cub", 1 << 20, 9000.0)]);
        let needs = variant("device.cluster").unwrap();
        times.push(ReductionRow::unmeasured(needs, Operation::Max, 1 << 20, "needs <9.0>".to_owned()));
        let prediction = Prediction {
            class: Class::Device,
            operation: Operation::Max,
            elements: 1 << 20,
            devices: Some(1),
            variant: "device.kernel_boundary".into(),
            reference: "device.atomic".into(),
            measured_ns: 2600.0,
            measured_half_width_ns: Some(20.0),
            predicted_ns: Some(2700.0),
            predicted_half_width_ns: Some(50.0),
            relative_error: Some(0.038),
            relative_error_of_time: Some(0.0137),
            agreement: Agreement::Within,
            terms: "1 x gpu.launch.stream 2700 ns".into(),
            why_not: None,
        };
        let missing = Prediction { predicted_ns: None, agreement: Agreement::Missing, ..prediction.clone() };
        Reductions {
            times,
            warps: vec![WarpRow {
                method: WarpMethod::Tile,
                threads: 32,
                cycles: Some(612.25),
                cycles_low: Some(612.0),
                cycles_high: Some(612.5),
                ns: None,
                check: Some(true),
                evidence: Some("LDS 5, MATCH.ANY 4".into()),
                reason: None,
            }],
            costs: Vec::new(),
            predictions: vec![prediction, missing],
            decisions: vec![Decision {
                class: Class::Device,
                operation: Operation::Max,
                elements: 1 << 20,
                devices: Some(1),
                measured: "device.atomic".into(),
                predicted: "device.kernel_boundary".into(),
                loss: 0.25,
                runner_up: "device.grid_cooperative".into(),
                lead_ns: 1000.0,
                predicted_lead_ns: 1100.0,
            }],
        }
    }

    fn drawn(reductions: Option<Reductions>) -> Option<String> {
        let (run, rows, details) = (testing::run(), Vec::new(), HashMap::new());
        draw(&RunData {
            name: "a".into(),
            run,
            rows,
            details,
            published: Published { reductions, ..Published::default() },
        })
    }

    #[test]
    fn the_section_names_winners_predictions_and_statements() {
        let html = drawn(Some(full())).unwrap();
        for part in [
            "What primitive costs predict",
            "1 of 2 differences within 20 %",
            "+3.8 %",
            "25.0 %",
            "1.10 us",
            "+10.0 %",
            "Reduction 5, with several elements",
            "does not hold",
            "tile groups (figure 3)",
            "LDS 5, MATCH.ANY 4",
            "needs &lt;9.0&gt;",
            "2^28",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert_eq!(html.matches("<svg").count(), 3, "the agreement, the listing and the device");
        assert!(!html.contains("NaN") && !html.contains("inf"), "{html}");
        assert_eq!(html.matches("<details>").count(), html.matches("</details>").count());
    }

    #[test]
    fn numbers_of_gpus_are_lines_of_their_own() {
        let on = |devices, id: &str, ns: f64| ReductionRow { devices: Some(devices), ..row(id, 1024, ns) };
        let times = vec![
            on(2, "devices.flags", 9000.0),
            on(4, "devices.flags", 11_000.0),
            on(2, "devices.host", 17_000.0),
            on(4, "devices.graph_chain", 7000.0),
        ];
        let html = drawn(Some(Reductions { times, ..Reductions::default() })).unwrap();
        for part in
            ["flags (2 GPUs)", "flags (4 GPUs)", "host (2 GPUs)", "kernels, all in one graph (4 GPUs)", "11.0 us"]
        {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("host (4 GPUs)") && !html.contains("GPUs) (2"), "{html}");
    }

    #[test]
    fn a_lead_that_is_not_predicted_has_its_reason() {
        let mut found = full();
        found.predictions[0].variant = "device.grid_cooperative".into();
        found.predictions[0].agreement = Agreement::Outside;
        found.predictions[0].why_not = Some("because of <something>".into());
        let html = drawn(Some(found.clone())).unwrap();
        assert_eq!(html.matches("because of &lt;something&gt;").count(), 2, "beside the lead and in the list");
        found.predictions[0].devices = Some(2);
        assert_eq!(drawn(Some(found)).unwrap().matches("because of").count(), 1, "another number of devices");
    }

    #[test]
    fn what_was_not_measured_is_not_drawn() {
        assert_eq!(drawn(None), None);
        assert_eq!(drawn(Some(Reductions::default())).as_deref(), Some(""));
        let only = Reductions { times: vec![row("cpu.lock", 1024, 480.0)], ..Reductions::default() };
        let html = drawn(Some(only)).unwrap();
        assert!(
            html.contains("<h3>CPU</h3>") && !html.contains("listing 1") && !html.contains("primitive costs"),
            "{html}"
        );
    }
}
