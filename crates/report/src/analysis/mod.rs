//! What the reports derive from the rows of a run.
//!
//! - [`highlights`] and [`ladder`] hold the questions behind the cards and the cost ladder of the page. Each question is
//!   a [`row_query`], which selects one row.
//! - [`matrix`] orders the CPUs of the core-to-core matrix.
//! - [`false_sharing`] finds the stride from which private elements no longer share a cache line.

pub(crate) mod false_sharing;
pub(crate) mod highlights;
pub(crate) mod ladder;
pub(crate) mod matrix;
pub(crate) mod row_query;

/// The ids of the primitives that this crate names. A test of the command compares them with the catalogues, on which
/// this crate does not depend.
#[must_use]
pub fn named_primitives() -> Vec<&'static str> {
    let queries = highlights::HIGHLIGHTS.iter().map(|highlight| &highlight.query);
    let queries = queries.chain(ladder::LADDER.iter().map(|rung| &rung.query));
    let mut ids: Vec<&str> = queries.flat_map(|query| query.primitives).copied().collect();
    ids.extend([matrix::PRIMITIVE, false_sharing::PRIMITIVE]);
    ids
}
