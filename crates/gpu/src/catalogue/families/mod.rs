//! The families of primitives: one file contains one family or two.
//!
//! An entry says what a primitive is, which kernel measures it, for which cases, and which machine instruction its
//! evidence must show. To add a primitive to a family, add an entry to its file and to the list at the end of the file.

pub(crate) mod atomic;
pub(crate) mod block;
pub(crate) mod cluster;
pub(crate) mod fence;
pub(crate) mod grid;
pub(crate) mod hybrid;
pub(crate) mod launch;
pub(crate) mod lock;
pub(crate) mod multi;
pub(crate) mod reduce;
pub(crate) mod reduction;
pub(crate) mod shuffle;
pub(crate) mod vote;
pub(crate) mod warp;
