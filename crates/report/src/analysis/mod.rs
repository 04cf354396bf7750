//! What the reports derive from the rows of a run.
//!
//! - [`highlights`] and [`ladder`] each select one row per question: the cards and the cost ladder of the page.
//! - [`matrix`] orders the CPUs of the core-to-core matrix.
//! - [`false_sharing`] finds the stride from which private elements no longer share a cache line.

pub(crate) mod false_sharing;
pub(crate) mod highlights;
pub(crate) mod ladder;
pub(crate) mod matrix;
