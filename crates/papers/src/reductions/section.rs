//! The section about the reductions, for the page and the terminal.

use syncscope_core::Row;
use syncscope_report::section::{Column, Part, Section};
use syncscope_report::time;

use super::findings::{Boundary, answers, boundaries, listing_claims};
use super::prediction::{Agreement, Decision, Prediction, predicted};
use super::{difference, size};

/// The section of a run; `None` if the run measured no reductions. Their times are in the charts of all families.
pub fn section(rows: &[Row]) -> Option<Section> {
    let claims = listing_claims(rows);
    let (title, note) = ("Five maximum reductions", "Burtchell and Burtscher, listing 1");
    let listing = Part::about(&claims, title, note, |claims| vec![Part::Claims(claims.to_vec())]);
    let parts: Vec<Part> = [predictions(rows), barriers(rows), listing].into_iter().flatten().collect();
    (!parts.is_empty()).then_some(Section {
        name: super::NAME,
        title: "Reductions: do the costs of primitives predict which synchronization is fastest?",
        lead: "Ways to reduce one vector: times measured, and times predicted from the costs of primitives. Burtchell and \
               Burtscher, Characterizing CUDA and OpenMP synchronization primitives, listing 1; Zhang, Wahib and \
               Matsuoka, A Study of Synchronization Methods in Modern GPUs.",
        answers: answers(rows),
        parts,
        claims,
    })
}

fn predictions(rows: &[Row]) -> Option<Part> {
    let (decisions, predictions) = predicted(rows);
    let title = "Predictions from primitive costs";
    let known = predictions.iter().filter(|found| found.agreement() != Agreement::Missing).count();
    if predictions.is_empty() {
        return None;
    }
    if known == 0 {
        let text = "Nothing here: the run has no rows of the primitives in these variants.";
        return Some(Part::card(title, "", vec![Part::paragraph(text)]));
    }
    let explanation = Part::paragraph(
        "Both variants read the same vector with the same code, so their times should differ only in synchronization: \
         launches, barriers and atomic operations. The prediction takes the costs of these primitives from this run, on the grid \
         closest in size. \"Off by\" is the prediction's error relative to the measured difference. A \
         difference is undecided if the two intervals overlap.",
    );
    let mut parts = vec![explanation];
    if !decisions.is_empty() {
        parts.push(table_of_decisions(&decisions));
    }
    let differences = vec![table_of_predictions(&predictions)];
    parts.push(Part::Folded("All differences and their terms".to_owned(), differences));
    let within = predictions.iter().filter(|found| found.agreement() == Agreement::Within).count();
    let note = format!("{within} of {known} differences within 20 %");
    Some(Part::card(title, &note, parts))
}

/// What the costs recommend for a problem, and what that loses.
fn table_of_decisions(decisions: &[Decision<'_>]) -> Part {
    Part::columns(
        decisions,
        [
            ("elements", |one| size(one.fastest.elements)),
            ("where", |one| one.fastest.class.to_string()),
            ("fastest", |one| one.fastest.title()),
            ("costs recommend", |one| one.recommended.title()),
            (
                "slower by",
                |one| {
                    if one.loss() > 0.0 { format!("{:.1} %", one.loss() * 100.0) } else { "0 %".to_owned() }
                },
            ),
            ("second", |one| one.runner_up.title()),
            ("lead", |one| time(one.runner_up.ns - one.fastest.ns)),
            ("predicted", |one| time(one.predicted_lead_ns)),
        ],
    )
}

/// Predicted differences next to the measured ones.
fn table_of_predictions(predictions: &[Prediction<'_>]) -> Part {
    Part::columns(
        predictions,
        [
            ("elements", |one| size(one.variant.elements)),
            ("variant", |one| one.variant.title()),
            ("minus", |one| one.reference.title()),
            ("measured", |one| difference(one.measured)),
            ("predicted", |one| one.predicted.map(difference).unwrap_or_default()),
            ("off by", |one| one.relative_error().map(|error| format!("{:+.1} %", error * 100.0)).unwrap_or_default()),
            ("20 %", |one| one.agreement().to_string()),
            ("terms", |one| one.terms.clone()),
            ("why not", |one| one.why_not().unwrap_or_default().to_owned()),
        ],
    )
}

fn barriers(rows: &[Row]) -> Option<Part> {
    let note = Part::paragraph(
        "Either a second kernel merges the blocks' partial results, or the same kernel does so after a grid \
         barrier. Each figure is the time beyond that of one atomic operation per block, launched the same \
         way. The \
         figures include the host's launch time if kernels are queued while earlier ones run, but \
         not if all are queued before the first one starts.",
    );
    let columns: [Column<Boundary>; 4] = [
        ("elements", |one| size(one.elements)),
        ("launched by", |one| one.launched_by.to_owned()),
        ("end of a kernel", |one| known(one.kernel)),
        ("grid barrier", |one| known(one.grid)),
    ];
    let what = "difference from one atomic operation per block, 95 % interval";
    Part::about(&boundaries(rows), "The cost of a kernel boundary", what, |found| {
        vec![note, Part::columns(found, columns)]
    })
}

fn known(more: Option<(f64, f64)>) -> String {
    more.map_or_else(|| "–".to_owned(), difference)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{reduction, resolved};
    use super::*;
    use syncscope_core::{Case, Group};

    #[test]
    fn the_section_names_predictions_boundaries_and_statements() {
        let launch = Case { blocks: Some(264), threads: Some(512), ..Case::new("gpu.launch.graph") };
        let mut rows = vec![resolved(Case { group: Some(Group::of_word("5 us")), ..launch }, 700.0)];
        rows.extend((1..=5).map(|number| reduction(&format!("listing_{number}"), 1 << 28, 1e3 * f64::from(number))));
        rows.extend(["atomic_graph_chain", "grid_graph_chain"].map(|name| reduction(name, 1 << 20, 4700.0)));
        let found = section(&rows).unwrap();
        let text = found.to_string();
        for part in
            ["no rows of the primitives", "The cost of a kernel boundary", "one graph", "several elements", "2^20"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(found.claims.len(), 3);
        assert_eq!(section(&rows[..1]), None);
    }
}
