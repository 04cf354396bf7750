//! The verdicts of the published experiments that a directory holds, in the form of findings.

use syncscope_core::published::asynchrony::claim::ClaimVerdict as CountedVerdict;
use syncscope_core::published::{crosscheck, timeline};

use super::{ClaimVerdict, Finding, Outcome, Paper};
use crate::RunData;
use crate::reductions::listing_claims;

/// All of them.
pub(super) fn findings(data: &RunData) -> Vec<Finding> {
    let published = &data.published;
    let mut all = Vec::new();
    for (number, claim) in (1..).zip(listing_claims(&data.rows)) {
        let (id, place) = (format!("burtchell.listing1.{number}"), "listing 1, section II-C");
        let (text, holds) = (claim.statement.to_owned(), Some(claim.holds));
        all.push(finding(id, Paper::Burtchell, place, text, holds, claim.figures));
    }
    if let Some(found) = &published.crosscheck {
        for (number, claim) in (1..).zip(crosscheck::claims::claims(&found.rows)) {
            let id = format!("zhang.crosscheck.{number}");
            let place = "table 1, sections 3.2 and 3.3";
            all.push(finding(id, Paper::Zhang, place, claim.statement.to_owned(), claim.holds, claim.figures));
        }
    }
    if let Some(found) = &published.asynchrony {
        for row in found.claims.iter().filter(|row| row.in_paper && row.block_threads.is_none()) {
            let kernel = row.variant.map(|variant| format!(".{variant}")).unwrap_or_default();
            let holds = match row.verdict {
                CountedVerdict::Holds => Some(true),
                CountedVerdict::DoesNotHold => Some(false),
                CountedVerdict::CannotBeDecided => None,
            };
            let text = match row.variant {
                Some(variant) => format!("{} Kernel {variant}.", row.claim.statement()),
                None => row.claim.statement().to_owned(),
            };
            let id = format!("anzt.{}{kernel}", row.claim);
            all.push(finding(id, Paper::Anzt, row.claim.source(), text, holds, row.found.clone()));
        }
    }
    if let Some(found) = &published.timeline {
        for (number, claim) in (1..).zip(timeline::claims::claims(found)) {
            let id = format!("assembler.timeline.{number}");
            all.push(finding(
                id,
                Paper::Assembler,
                claim.place,
                claim.statement.to_owned(),
                claim.holds,
                claim.figures,
            ));
        }
    }
    all
}

fn finding(id: String, paper: Paper, place: &str, text: String, holds: Option<bool>, sentence: String) -> Finding {
    let verdict = match holds {
        Some(true) => ClaimVerdict::Holds,
        Some(false) => ClaimVerdict::DoesNotHold,
        None => ClaimVerdict::Open,
    };
    let outcome = Outcome { verdict, sentence, rows: Vec::new() };
    Finding { id, paper, place: place.to_owned(), text, outcome, measured: true }
}
