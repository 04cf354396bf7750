//! What the reports conclude from the rows of a run.
//!
//! Start with [`questions`], then read [`contest`], which decides for all of them.
//!
//! - [`questions`] are what people ask a run: sentences, charts and advice, one file each.
//! - [`contest`] is the one judge of which row is certainly the cheapest.
//! - [`ladder`] holds the rungs of the cost ladder. Its `row_query` selects one row for each.
//! - [`usual`] picks the usual cases of a machine.
//! - [`topics`] are words that people search, with the study that answers them.
//! - [`trust`] says how far to trust a run.
//! - [`anchors`] are figures of stored runs on other machines.
//! - [`matrix`] orders the CPUs of the core-to-core matrix.
//! - `phrases` join words.
//! - [`placements`] choose the placement of CPU threads to show, and name what its teams use of the machine.
//! - [`paper_figures`] are figures of papers as states of the explorer.
//! - [`paper_tables`] are tables of a paper with the figures of a run.
//! - [`compare`] matches the cases of two runs and says what changed.
//! - [`course`] says which costs changed over the runs of a machine.
//! - [`changes`] are the tables and sentences of two runs.
//! - [`findings`] tests published claims on the rows of a run; [`claim`] holds the outcome.

pub(crate) mod anchors;
pub(crate) mod changes;
pub(crate) mod claim;
pub(crate) mod compare;
pub(crate) mod contest;
pub(crate) mod course;
pub(crate) mod findings;
pub(crate) mod ladder;
pub(crate) mod matrix;
pub(crate) mod paper_figures;
pub(crate) mod paper_tables;
mod phrases;
pub(crate) mod placements;
pub(crate) mod questions;
#[cfg(test)]
mod tests;
pub(crate) mod topics;
pub(crate) mod trust;
pub(crate) mod usual;
