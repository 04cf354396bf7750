//! Imports for the claims of all papers: rows, comparisons and their outcomes.

pub(super) use syncscope_core::{Case, Dtype, Layout, Mode};

pub(super) use super::super::contest::{Basis, Known};
pub(super) use super::judge::{
    ALIKE, MUCH, Pair, Tally, Test, Unit, alike, all, every, flat, generally, grows_alike, grows_more, largely_flat,
    preferred, rising, two,
};
pub(super) use super::pick::{
    DTYPES, FLUSH, ONE, SYNCTHREADS, WARP, at, atomics, blocks, by_threads, multiprocessors, of_blocks, pairs,
    pairs_by, private, rows, shapes, shared, teams, teams_in,
};
pub(super) use super::{Claim, Outcome, Truth};
pub(super) use crate::{RunData, figure};
pub(super) use syncscope_core::sets::unique;
