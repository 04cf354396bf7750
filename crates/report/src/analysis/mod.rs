//! What the reports derive from the rows of a run.
//!
//! - [`advice`] says which primitive to take for a stated need.
//! - [`anchors`] are figures of stored runs on other machines.
//! - [`ladder`] holds the questions behind the cost ladder of the page. Each question is a [`row_query`], which selects one
//!   row.
//! - [`answers`] holds the rules behind the sentences at the top of the page and below the table.
//! - [`decisions`] holds the charts of the decisions that people take, each with a sentence.
//! - [`machine_figures`] are the costs beside the drawing of the machine.
//! - [`matrix`] orders the CPUs of the core-to-core matrix.
//! - [`paper_tables`] are tables of a paper with the figures of a run.
//! - [`compare`] matches the cases of two runs and says what changed.
//! - [`findings`] holds published claims as predicates that rows decide.
//! - [`false_sharing`] finds the stride from which private elements no longer share a cache line.

pub(crate) mod advice;
pub(crate) mod anchors;
pub(crate) mod answers;
pub(crate) mod compare;
pub(crate) mod decisions;
pub(crate) mod false_sharing;
pub(crate) mod findings;
pub(crate) mod fleet;
pub(crate) mod ladder;
pub(crate) mod machine_figures;
pub(crate) mod matrix;
pub(crate) mod paper_tables;
pub(crate) mod row_query;

/// The ids of the primitives that this crate names. A test of the command compares them with the catalogues, on which
/// this crate does not depend.
#[must_use]
pub fn named_primitives() -> Vec<&'static str> {
    let mut ids: Vec<&str> = ladder::LADDER.iter().flat_map(|rung| rung.query.primitives).copied().collect();
    ids.extend([matrix::PRIMITIVE, false_sharing::PRIMITIVE]);
    ids.extend(advice::named_primitives());
    ids.extend(answers::named_primitives());
    ids.extend(findings::named_primitives());
    ids.extend(decisions::named_primitives());
    ids.extend(paper_tables::PRIMITIVES);
    ids
}
