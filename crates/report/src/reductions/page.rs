//! The section of the page.

use syncscope_core::Row;

use super::findings::{Boundary, boundaries, listing_claims};
use super::prediction::{Agreement, Prediction, predicted};
use super::table::{DECISION, PREDICTION, decision_cells, prediction_cells};
use super::{difference, size};
use crate::page::published::parts;

/// The cards of a run; `None` if it measured no reductions. Their times are in the charts of all families.
pub(crate) fn section(rows: &[Row]) -> Option<String> {
    let cards: Vec<String> = [predictions(rows), barriers(rows), listing(rows)].into_iter().flatten().collect();
    (!cards.is_empty()).then(|| cards.concat())
}

fn predictions(rows: &[Row]) -> Option<String> {
    let (decisions, predictions) = predicted(rows);
    if predictions.is_empty() {
        return None;
    }
    let decided: Vec<Vec<String>> = decisions.iter().map(|decision| decision_cells(decision).to_vec()).collect();
    let line = |prediction: &Prediction<'_>| {
        let more = [prediction.terms.clone(), prediction.why_not.unwrap_or_default().to_owned()];
        prediction_cells(prediction).into_iter().chain(more).collect()
    };
    let lines: Vec<Vec<String>> = predictions.iter().map(line).collect();
    let explanation = parts::paragraph(
        "Two variants read the same vector by the same code. So the difference of their times is the difference of their \
         synchronization: launches, barriers and atomic operations, each with the cost that this run has for it on the \
         nearest grid. “Off by” is relative to the measured difference. Undecided: the intervals of both overlap.",
    );
    let content = format!(
        "{explanation}{}<details><summary>All differences and their terms</summary>{}</details>",
        parts::table(&DECISION, &decided),
        parts::table(&[&PREDICTION[..], &["terms", "why not"]].concat(), &lines)
    );
    let within = predictions.iter().filter(|found| found.agreement == Agreement::Within).count();
    let note = format!("{within} of {} differences within 20 %", predictions.len());
    Some(parts::card("What primitive costs predict", &note, &content))
}

fn barriers(rows: &[Row]) -> Option<String> {
    let found = boundaries(rows);
    if found.is_empty() {
        return None;
    }
    let note = parts::paragraph(
        "Partial results of blocks can be joined behind a barrier: by a second kernel, or behind the barrier of the grid. The \
         figures are the time that takes more than one atomic operation of each block, launched in the same way. Where kernels \
         are queued while others run, they include the time of the host; where they are queued first, they do not.",
    );
    let cell = |more: Option<(f64, f64)>| more.map_or_else(|| "–".to_owned(), |(ns, half)| difference(ns, half));
    let line = |boundary: &Boundary| {
        let Boundary { elements, launched_by, kernel, grid } = boundary;
        vec![size(*elements), (*launched_by).to_owned(), cell(*kernel), cell(*grid)]
    };
    let lines: Vec<Vec<String>> = found.iter().map(line).collect();
    let table = parts::table(&["elements", "launched by", "end of a kernel", "grid barrier"], &lines);
    let what = "difference to one atomic operation of each block, 95 % interval";
    Some(parts::card("What a kernel boundary costs", what, &format!("{note}{table}")))
}

fn listing(rows: &[Row]) -> Option<String> {
    let claims = listing_claims(rows).into_iter().map(|claim| {
        let outcome = if claim.holds { parts::Outcome::Holds } else { parts::Outcome::Fails };
        (outcome, claim.statement.to_owned(), claim.figures)
    });
    let claims: Vec<_> = claims.collect();
    let title = "Five maximum reductions";
    (!claims.is_empty()).then(|| parts::card(title, "Burtchell and Burtscher, listing 1", &parts::claims(&claims)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{reduction, resolved};
    use super::*;
    use syncscope_core::{Case, Group};

    #[test]
    fn the_section_names_predictions_boundaries_and_statements() {
        let launch = Case { blocks: Some(264), threads: Some(512), ..Case::new("gpu.launch.graph") };
        let mut rows = vec![resolved(Case { group: Some(Group::KernelUs(5)), ..launch }, 700.0)];
        rows.extend((1..=5).map(|number| reduction(&format!("listing_{number}"), 1 << 28, 1e3 * f64::from(number))));
        rows.extend(["atomic_graph_chain", "grid_graph_chain"].map(|name| reduction(name, 1 << 20, 4700.0)));
        let html = section(&rows).unwrap();
        for part in [
            "0 of",
            "no cost",
            "What a kernel boundary costs",
            "one graph",
            "does not hold",
            "several elements",
            "2^20",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert_eq!(html.matches("<details>").count(), html.matches("</details>").count());
        assert_eq!(section(&rows[..1]), None);
    }
}
