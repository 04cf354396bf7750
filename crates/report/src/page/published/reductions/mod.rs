//! The section of [`syncscope_core::published::reductions`].
//!
//! | file | contents |
//! |---|---|
//! | [`predicted`] | predicted against measured differences, and what the costs recommend |
//! | [`class`] | the card of one class of variants |
//! | [`chart`] | its chart: time against size |
//! | [`tables`] | its tables: the fastest variants, all times |
//! | [`boundaries`] | what a kernel boundary costs |
//! | [`warps`] | sums within a warp |
//! | [`text`] | sizes and numbers of GPUs as text |

mod boundaries;
mod chart;
mod class;
mod predicted;
mod tables;
mod warps;

use syncscope_core::published::reductions::{Class, winners};

use crate::RunData;
use crate::section::{Part, Section};

pub(super) fn section(data: &RunData) -> Option<Section> {
    Some(Section {
        name: "reductions",
        title: "Reductions: which synchronization to choose",
        lead: "One vector of 32-bit integers, reduced with each kind of synchronization, every result checked. Burtchell and \
               Burtscher, Characterizing CUDA and OpenMP synchronization primitives, listing 1; Zhang, Wahib and Matsuoka, A \
               Study of Synchronization Methods in Modern GPUs, figures 3 and 4.",
        parts: vec![Part::Markup(draw(data)?)],
        claims: Vec::new(),
    })
}

fn draw(data: &RunData) -> Option<String> {
    let found = data.published.reductions.as_ref()?;
    let won = winners(&found.times);
    let mut html = String::new();
    if !found.predictions.is_empty() {
        html.push_str(&predicted::card(found));
    }
    for class in Class::ALL {
        html.push_str(&class::card(class, found, &won));
        if class == Class::Device {
            html.push_str(&boundaries::card(&found.times));
        }
    }
    if !found.warps.is_empty() {
        html.push_str(&warps::card(found));
    }
    Some(html)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use std::collections::HashMap;
    use syncscope_core::Published;
    use syncscope_core::published::reductions::{
        Agreement, Decision, Operation, Prediction, ReductionRow, Reductions, WarpMethod, WarpRow, variant,
    };

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
            sections: Vec::new(),
            damage: crate::Damage::default(),
            catalogue: testing::catalogue(),
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
            "1.10 µs",
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
            ["flags (2 GPUs)", "flags (4 GPUs)", "host (2 GPUs)", "kernels, all in one graph (4 GPUs)", "11.0 µs"]
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
