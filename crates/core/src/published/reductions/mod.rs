//! Reductions of a vector: which synchronization is the fastest, and whether the costs of the primitives predict it.
//!
//! A [`ReductionRow`] is the time of one variant at one size. [`winners`] finds the fastest variant of each size.
//! [`predictions`] compares the difference of two variants with the difference of the primitives they are made of.
//!
//! | file | contents |
//! |---|---|
//! | [`row`] | the row of one variant at one size |
//! | [`variants`] | the variants, with what each does |
//! | [`terms`] | the synchronization of each variant, as cases of the catalogue |
//! | [`costs`] | the costs of these cases |
//! | [`prediction`] | predicted against measured differences |
//! | [`boundary`] | what barriers cost in reductions that differ by them alone |
//! | [`winner`] | the fastest variant of each size |
//! | [`claims`] | what the papers state |
//! | [`sampling`] | pairs of chains of reductions |
//! | [`table`] | the files |
//! | [`text`] | variants and times as text |

pub mod boundary;
pub mod claims;
pub mod costs;
pub mod prediction;
pub mod row;
pub mod sampling;
pub mod table;
pub mod terms;
pub mod text;
pub mod variants;
pub mod winner;

pub use costs::{CostSource, SyncCost};
pub use prediction::{Agreement, Decision, Prediction, decisions, predictions};
pub use row::{ELEMENT_BYTES, ReductionRow, WarpMethod, WarpRow};
pub use table::Reductions;
pub use variants::{Class, Operation, VARIANTS, Variant, variant};
pub use winner::{Winner, winners};
