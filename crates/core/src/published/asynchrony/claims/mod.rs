//! What becomes of each claim of the paper on this device.
//!
//! | file | contents |
//! |---|---|
//! | `row` | the line of the table |
//! | `updates` | the claims about updates, for each kernel and block size |
//! | `class_rows` | the rows of one kernel and block size |
//! | `side` | the control of the side on which inconsistencies are |
//! | `blocks` | the claims about the order of blocks |
//! | `together` | the verdict over several block sizes |

mod blocks;
mod class_rows;
mod row;
mod side;
mod together;
mod updates;

pub use blocks::{claim_of_orders, claims_of_arrival};
pub use row::ClaimRow;
pub use together::percent;
pub use updates::claims_of_kernels;

/// Rows of what a device counted.
#[cfg(test)]
mod testing {
    use super::super::Variant;
    use super::super::claim::Claim;
    use super::super::counted::Counted;
    use super::{ClaimRow, claims_of_kernels};

    pub(super) fn rows(counted: &[Counted]) -> Vec<ClaimRow> {
        claims_of_kernels(&counted.iter().flat_map(Counted::classes).collect::<Vec<_>>())
    }

    pub(super) fn row(rows: &[ClaimRow], claim: Claim, variant: Variant, size: Option<u32>) -> ClaimRow {
        let is_it = |row: &&ClaimRow| (row.claim, row.variant, row.block_threads) == (claim, Some(variant), size);
        rows.iter().find(is_it).cloned().unwrap_or_else(|| panic!("{claim} {variant} {size:?}"))
    }
}
