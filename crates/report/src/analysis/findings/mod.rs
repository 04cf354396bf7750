//! The claims that papers publish, each as a predicate that a run decides.
//!
//! A claim is one entry: its words, its source, and a function that picks rows and compares their
//! intervals. It says `Holds` or `Fails` only where the intervals make that certain, and `Open` with the reason elsewhere.
//! Start with `judge`, the comparisons, and its thresholds for words such as "constant"; `pick` has the choices of rows, and
//! `prelude` what all claims import. The functions are grouped by paper and subject:
//!
//! | file | claims |
//! |---|---|
//! | `openmp` | Burtchell and Burtscher, OpenMP: teams and placement, then atomic operations and false sharing |
//! | `cuda` | the same, CUDA: barriers, shuffles and votes, then atomic operations, then fences and partial warps |
//! | `groups` | Zhang, Wahib and Matsuoka: barriers of warps and blocks, then of grids and devices |
//!
//! Rows of one run are compared by their intervals within it. Imported rows have none: their points decide, and the sentence
//! says so.

/// Claims in the order of reports.
macro_rules! claims {
    ($($id:literal, $place:literal, $text:literal, needs $needs:literal => $decide:expr;)*) => {
        &[$(Claim { id: $id, place: $place, text: $text, needs: $needs, decide: $decide }),*]
    };
}

mod cuda;
mod groups;
pub(super) mod judge;
mod openmp;
mod pick;
mod prelude;
#[cfg(test)]
mod tests;

use syncscope_core::run::IMPORTED;
use syncscope_core::{Evidence, Row};

pub use super::claim::{Finding, Outcome, Paper, Truth};
use crate::RunData;
use crate::reading::interval_within_run;

/// A published claim that rows decide.
#[derive(Debug)]
struct Claim {
    /// The claim's name in files: paper, subject, item.
    id: &'static str,
    /// Section, figure, table or number of the recommendation.
    place: &'static str,
    /// What the paper says, quoted or closely paraphrased.
    text: &'static str,
    /// The rows that decide the claim.
    needs: &'static str,
    /// Decides the claim; `None` if the run lacks these rows.
    decide: fn(&RunData) -> Option<Outcome>,
}

const CLAIMS: [(Paper, &[Claim]); 3] =
    [(Paper::Burtchell, openmp::CLAIMS), (Paper::Burtchell, cuda::CLAIMS), (Paper::Zhang, groups::CLAIMS)];

/// All claims on a run, those that rows decide and those that experiments of papers decided, in the order of the papers.
pub fn findings(data: &RunData, of_experiments: impl IntoIterator<Item = Finding>) -> Vec<Finding> {
    let of = |(paper, claims): (Paper, &'static [Claim])| claims.iter().map(move |claim| evaluate(paper, claim, data));
    let mut all: Vec<Finding> = CLAIMS.into_iter().flat_map(of).collect();
    all.extend(of_experiments);
    all.sort_by_key(|finding| finding.paper);
    all
}

fn evaluate(paper: Paper, claim: &Claim, data: &RunData) -> Finding {
    let found = (claim.decide)(data);
    let measured = found.is_some();
    let mut outcome = found.unwrap_or_else(|| Outcome::open(format!("the run lacks {}", claim.needs)));
    let evidence = |row: &usize| data.rows.get(*row)?.evidence.as_deref();
    if let Some(nop) = outcome.rows.iter().filter_map(evidence).find(|text| Evidence::is_nop(text)) {
        outcome.verdict = Truth::Open;
        outcome.sentence = format!(
            "the claim cannot be tested because the primitive compiled to NOPs ({nop}); \
                                    {}",
            outcome.sentence
        );
    }
    if let Some(why) = outcome.rows.iter().find_map(|row| without_effect(data, data.rows.get(*row)?)) {
        outcome.verdict = Truth::Open;
        outcome.sentence = format!("the claim cannot be tested because {why}; {}", outcome.sentence);
    }
    if outcome.rows.iter().any(|row| data.rows.get(*row).is_some_and(|row| interval_within_run(row).is_none())) {
        outcome.sentence.push_str(" (point estimates without intervals)");
    }
    let [id, place, text] = [claim.id, claim.place, claim.text].map(str::to_owned);
    Finding { id, paper, place, text, outcome, measured }
}

/// Published programs whose loops lack the instruction they measure, by the start of their primitive's id, and why: nobody
/// stored their machine code, so their rows have no evidence.
const WITHOUT_EFFECT: [(&str, &str); 2] = [
    ("gpu.warp.syncwarp", "the published program's converged-warp barrier compiles to nothing"),
    ("gpu.vote.", "the published program repeats the addition of a vote's result, not the vote itself"),
];

fn without_effect(data: &RunData, row: &Row) -> Option<&'static str> {
    let is_published = data.run.preset == IMPORTED;
    let found = WITHOUT_EFFECT.iter().find(|(id, _)| is_published && row.case.primitive.starts_with(id));
    found.map(|(_, why)| *why)
}

/// The measured findings of each paper; papers without any are left out.
pub(crate) fn by_paper(findings: &[Finding]) -> impl Iterator<Item = (Paper, Vec<&Finding>)> {
    let of = |paper| findings.iter().filter(move |finding| finding.paper == paper && finding.measured).collect();
    Paper::ALL.iter().map(move |paper| (*paper, of(*paper))).filter(|(_, own): &(_, Vec<&Finding>)| !own.is_empty())
}
