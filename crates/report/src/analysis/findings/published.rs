//! The verdicts of the published experiments that a directory holds, in the form of findings.

use syncscope_core::published::reductions;

use super::{Finding, Outcome, Paper};
use crate::RunData;

/// All of them.
pub(super) fn findings(data: &RunData) -> Vec<Finding> {
    let published = &data.published;
    let mut all = Vec::new();
    if let Some(found) = &published.reductions {
        for (number, claim) in (1..).zip(reductions::claims::listing_claims(&found.times)) {
            let id = format!("burtchell.listing1.{number}");
            all.push(finding(
                id,
                Paper::Burtchell,
                "listing 1, section II-C",
                claim.statement,
                claim.holds,
                claim.figures,
            ));
        }
    }
    all.extend(data.sections.iter().flat_map(|section| section.claims.iter().cloned()));
    all
}

fn finding(id: String, paper: Paper, place: &str, text: String, holds: Option<bool>, sentence: String) -> Finding {
    let outcome = Outcome::of(holds, sentence);
    Finding { id, paper, place: place.to_owned(), text, outcome, measured: true }
}
