//! The card of one class of variants: chart, statements of the papers, the fastest, all times.

use syncscope_core::published::reductions::claims::{Claim, listing_claims};
use syncscope_core::published::reductions::text::name;
use syncscope_core::published::reductions::{Class, Operation, ReductionRow, Reductions, Winner};

use super::super::parts;
use super::chart::chart;
use super::tables::{times_table, winner_table};

/// The chart, the winners and the times of one class; nothing if it was not measured.
pub(super) fn card(class: Class, found: &Reductions, won: &[Winner]) -> String {
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

fn statements(found: &Reductions) -> String {
    let claim = |claim: Claim| {
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
