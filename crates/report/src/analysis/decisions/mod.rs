//! The decisions that people take with a run, each as a question, a sentence and its charts.
//!
//! One file holds one decision. Its sentence follows from intervals, as those of [`super::answers`]: it states what they
//! make certain, and says where they leave the decision open. [`spec`] is what the page draws, [`sweep`] selects the rows of
//! a line, [`cheapest`] compares rows by number of threads, and [`break_even`] finds where the cheaper one changes.

mod atomics;
mod barrier;
mod break_even;
mod cheapest;
mod false_sharing;
mod fences;
mod handoff;
mod lock;
mod placement;
mod relaunch;
pub(crate) mod spec;
mod sweep;
#[cfg(test)]
mod tests;

use serde::Serialize;

use super::answers::{self, Finding};
use crate::RunData;
use spec::Spec;

/// A decision as the rows of a run support it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Decision {
    /// Its place on the page.
    pub(crate) id: &'static str,
    pub(crate) question: &'static str,
    /// What the intervals make certain, or what they leave open.
    pub(crate) sentence: String,
    /// Its charts, side by side.
    pub(crate) charts: Vec<Spec>,
    /// What the charts do not show, and why.
    pub(crate) note: Option<String>,
}

/// The decisions, the one that most programs need first.
const DECISIONS: [fn(&RunData) -> Option<Decision>; 8] = [
    lock::decision,
    atomics::decision,
    barrier::decision,
    relaunch::decision,
    fences::decision,
    handoff::decision,
    placement::decision,
    false_sharing::decision,
];

/// The decisions for which a run has rows.
pub(crate) fn decisions(data: &RunData) -> Vec<Decision> {
    let mut decisions: Vec<Decision> = DECISIONS.iter().filter_map(|decision| decision(data)).collect();
    if answers::lacks_intervals(data) {
        for decision in &mut decisions {
            answers::WITHOUT_INTERVALS.clone_into(&mut decision.sentence);
        }
    }
    decisions
}

/// The ids that decisions name; the others are those of the cost ladder.
pub(crate) fn named_primitives() -> impl Iterator<Item = &'static str> {
    let groups: [&[&str]; 5] =
        [&atomics::PRIMITIVES, &barrier::PRIMITIVES, &relaunch::LAUNCHES, &handoff::PRIMITIVES, &placement::BOUND];
    groups.into_iter().flatten().copied().chain(fences::primitives()).collect::<Vec<_>>().into_iter()
}

/// The sentence of a rule.
fn said(finding: Finding) -> String {
    match finding {
        Finding::Certain(answer) => answer.text,
        Finding::Open(question) => format!("Not certain in this run: {question}."),
    }
}
