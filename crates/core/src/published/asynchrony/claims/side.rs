//! Whether the side of an inconsistency is that of the neighbour that is read last: the kernel of the paper against its control.

use super::super::claim::{Claim, ClaimVerdict};
use super::super::counted::ClassRow;
use super::super::position::PositionClass::{BlockFirst, BlockLast, WarpFirst, WarpLast};
use super::super::{BLOCK_THREADS, Variant};
use super::class_rows::ClassRows;
use super::row::ClaimRow;
use super::together::together;

/// Whether the control, which reads the left neighbour first, has its inconsistencies on the other side.
pub(super) fn side_follows_loads(classes: &[ClassRow]) -> Vec<ClaimRow> {
    let of = |variant, size| {
        ClassRows::of(classes.iter().filter(move |row| row.variant == variant && row.block_threads == size))
    };
    let row = |block_threads: u32| {
        let (paper, control) = (of(Variant::Global, block_threads)?, of(Variant::GlobalLeftFirst, block_threads)?);
        let [[first, last], [control_first, control_last]] =
            [paper, control].map(|rows| [rows.count(&[WarpFirst, BlockFirst]), rows.count(&[WarpLast, BlockLast])]);
        let verdict = match (first + last, control_first + control_last) {
            (0, _) | (_, 0) => ClaimVerdict::CannotBeDecided,
            _ if first > last && control_first < control_last => ClaimVerdict::Holds,
            _ => ClaimVerdict::DoesNotHold,
        };
        let found = format!(
            "right neighbour first: {first} at the first, {last} at the last component; left neighbour first: \
                 {control_first} and {control_last}"
        );
        Some(ClaimRow {
            variant: Some(Variant::GlobalLeftFirst),
            block_threads: Some(block_threads),
            ..ClaimRow::without_share(Claim::SideFollowsLoads, verdict, found)
        })
    };
    let rows: Vec<ClaimRow> = BLOCK_THREADS.into_iter().filter_map(row).collect();
    together(Claim::SideFollowsLoads, Some(Variant::GlobalLeftFirst), &rows).into_iter().chain(rows.clone()).collect()
}

#[cfg(test)]
mod tests {
    use ClaimVerdict::{CannotBeDecided, DoesNotHold, Holds};

    use super::super::super::testing::counted;
    use super::super::testing::{row, rows};
    use super::*;

    #[test]
    fn the_side_is_compared_with_the_control() {
        let side = |of_paper: &[(u32, u64)], of_control: &[(u32, u64)]| {
            let found =
                rows(&[counted(Variant::Global, 64, of_paper), counted(Variant::GlobalLeftFirst, 64, of_control)]);
            row(&found, Claim::SideFollowsLoads, Variant::GlobalLeftFirst, None).verdict
        };
        assert_eq!(side(&[(64, 9), (63, 1)], &[(63, 4), (31, 5)]), Holds);
        assert_eq!(side(&[(64, 9)], &[(64, 4)]), DoesNotHold, "the same side: a property of the device");
        assert_eq!(side(&[(64, 9)], &[]), CannotBeDecided);
        let alone = rows(&[counted(Variant::Global, 64, &[(64, 9)])]);
        assert!(alone.iter().all(|row| row.claim != Claim::SideFollowsLoads));
    }
}
