//! The claims about updates, for each kernel and block size and for all sizes together.

use super::super::claim::{Claim, ClaimVerdict};
use super::super::counted::ClassRow;
use super::super::position::PositionClass::{self, BlockFirst, BlockLast, Inside, WarpFirst, WarpLast};
use super::super::{PAPER_EXECUTIONS, Variant, WARP_THREADS};
use super::class_rows::ClassRows;
use super::row::{ClaimRow, is_in_paper};
use super::side::side_follows_loads;
use super::together::together;

/// The claims about a kernel.
const fn claims_about(variant: Variant) -> &'static [Claim] {
    use Claim::{AtBlockBorders, AtWarpBorders, FirstComponentOnly, LastComponentToo, NoneInsideWarp};
    match variant {
        Variant::Global => &[NoneInsideWarp, AtBlockBorders, AtWarpBorders, FirstComponentOnly],
        Variant::Shared => &[NoneInsideWarp, AtBlockBorders, AtWarpBorders, LastComponentToo],
        // Compared with its counterpart: `side_follows_loads`.
        Variant::GlobalLeftFirst => &[],
        Variant::SharedUniform => &[NoneInsideWarp, AtBlockBorders, AtWarpBorders],
    }
}

/// Every claim about the kernels, for each block size and for all together.
#[must_use]
pub fn claims_of_kernels(classes: &[ClassRow]) -> Vec<ClaimRow> {
    let of = |variant: Variant| {
        let mut sizes: Vec<u32> =
            classes.iter().filter(|row| row.variant == variant).map(|row| row.block_threads).collect();
        sizes.dedup();
        claims_about(variant).iter().flat_map(move |claim| about_sizes(*claim, variant, &sizes, classes))
    };
    Variant::ALL.iter().copied().flat_map(of).chain(side_follows_loads(classes)).collect()
}

fn about_sizes(claim: Claim, variant: Variant, sizes: &[u32], classes: &[ClassRow]) -> Vec<ClaimRow> {
    let of_size = |size: &u32| {
        let rows = classes.iter().filter(|row| row.variant == variant && row.block_threads == *size);
        about_size(claim, &ClassRows::of(rows)?)
    };
    let rows: Vec<ClaimRow> = sizes.iter().filter_map(of_size).collect();
    together(claim, Some(variant), &rows).into_iter().chain(rows.clone()).collect()
}

/// What becomes of a claim for one kernel and block size; `None` if it says nothing of this size.
fn about_size(claim: Claim, rows: &ClassRows<'_>) -> Option<ClaimRow> {
    let first = rows.first();
    let (verdict, decisive, found) = match claim {
        Claim::NoneInsideWarp => none_inside(rows),
        Claim::AtBlockBorders => occurs(rows, &[BlockFirst, BlockLast]),
        Claim::AtWarpBorders | Claim::LastComponentToo if first.block_threads <= WARP_THREADS => return None,
        Claim::AtWarpBorders => occurs(rows, &[WarpFirst, WarpLast]),
        Claim::LastComponentToo => occurs(rows, &[WarpLast]),
        Claim::FirstComponentOnly => first_only(rows),
        Claim::SideFollowsLoads | Claim::IncreasingOrder | Claim::EightOrders => return None,
    };
    Some(ClaimRow {
        claim,
        variant: Some(first.variant),
        block_threads: Some(first.block_threads),
        in_paper: is_in_paper(first.variant, first.block_threads),
        verdict,
        share: decisive.and_then(|row| row.share),
        share_low: decisive.and_then(|row| row.share_low),
        share_high: decisive.and_then(|row| row.share_high),
        found,
    })
}

type Judged<'a> = (ClaimVerdict, Option<&'a ClassRow>, String);

fn none_inside<'a>(rows: &ClassRows<'a>) -> Judged<'a> {
    let inside = rows.most(&[Inside]);
    let (count, executions) = (rows.count(&[Inside]), rows.first().executions);
    if count > 0 {
        let threads = inside.map_or("", |row| row.threads.as_str());
        return (
            ClaimVerdict::DoesNotHold,
            inside,
            format!("{count} inside a warp, at threads {threads} of the block"),
        );
    }
    if rows.count(PositionClass::ALL) == 0 {
        let found = format!("none anywhere in {executions} executions: no two updates were seen apart");
        return (ClaimVerdict::CannotBeDecided, inside, found);
    }
    (ClaimVerdict::Holds, inside, format!("none inside a warp in {executions} executions"))
}

fn occurs<'a>(rows: &ClassRows<'a>, classes: &[PositionClass]) -> Judged<'a> {
    let most = rows.most(classes);
    let executions = rows.first().executions;
    let count = rows.count(classes);
    let words: Vec<String> =
        rows.classes(classes).iter().map(|row| format!("{} {}", row.inconsistencies, row.class)).collect();
    if rows.classes(classes).iter().all(|row| row.components == 0) {
        return (ClaimVerdict::CannotBeDecided, None, "the vector has no such border".to_owned());
    }
    if count > 0 {
        return (ClaimVerdict::Holds, most, words.join(", "));
    }
    let found = format!("none in {executions} executions");
    if executions < PAPER_EXECUTIONS {
        return (ClaimVerdict::CannotBeDecided, most, format!("{found}, fewer than the paper's {PAPER_EXECUTIONS}"));
    }
    (ClaimVerdict::DoesNotHold, most, found)
}

fn first_only<'a>(rows: &ClassRows<'a>) -> Judged<'a> {
    let (at_first, at_last) = (rows.count(&[WarpFirst, BlockFirst]), rows.count(&[WarpLast, BlockLast]));
    let last = rows.most(&[WarpLast, BlockLast]);
    let found = format!("{at_first} at the first, {at_last} at the last component");
    match (at_first, at_last) {
        (0, 0) => (ClaimVerdict::CannotBeDecided, last, "none at any border".to_owned()),
        (_, 0) => (ClaimVerdict::Holds, last, found),
        _ => (ClaimVerdict::DoesNotHold, last, found),
    }
}

#[cfg(test)]
mod tests {
    use ClaimVerdict::{CannotBeDecided, DoesNotHold, Holds};

    use super::super::super::counted::Counted;
    use super::super::super::testing::{counted, executed};
    use super::super::testing::{row, rows};
    use super::*;

    fn verdict(rows: &[ClaimRow], claim: Claim, size: u32) -> ClaimVerdict {
        row(rows, claim, Variant::Global, Some(size)).verdict
    }

    #[test]
    fn what_the_paper_found_holds() {
        let found = rows(&[
            counted(Variant::Global, 32, &[(32, 5), (64, 9)]),
            counted(Variant::Global, 64, &[(32, 5), (64, 9)]),
            counted(Variant::Shared, 128, &[(0, 5), (32, 5), (31, 2), (63, 1), (128, 4)]),
        ]);
        for claim in [Claim::NoneInsideWarp, Claim::AtBlockBorders, Claim::FirstComponentOnly] {
            assert_eq!((verdict(&found, claim, 32), verdict(&found, claim, 64)), (Holds, Holds), "{claim}");
            assert_eq!(row(&found, claim, Variant::Global, None).verdict, Holds, "{claim}");
        }
        assert_eq!(verdict(&found, Claim::AtWarpBorders, 64), Holds);
        assert!(!found.iter().any(|row| row.claim == Claim::AtWarpBorders && row.block_threads == Some(32)));
        let inside = row(&found, Claim::NoneInsideWarp, Variant::Global, None);
        assert_eq!(inside.found, "holds for blocks of 32, 64; never seen, in at most 3.84 ppm (95 %)");
        let last = row(&found, Claim::LastComponentToo, Variant::Shared, Some(128));
        assert_eq!((last.verdict, last.in_paper), (Holds, true));
        assert!(last.share.is_some_and(|share| share > 0.0) && last.share_low < last.share, "{last:?}");
    }

    /// The positions modulo 64 of what a device leaves with blocks of 64 threads.
    fn left(counted: &Counted) -> Vec<u32> {
        let rows = counted.positions();
        (0..64).filter(|position| rows[*position as usize].inconsistencies > 0).collect()
    }

    #[test]
    fn groups_of_parallel_updates_and_their_order_show_at_their_borders() {
        let warps: Vec<std::ops::Range<u32>> = (0..32).map(|warp| 32 * warp..32 * warp + 32).collect();
        let increasing = executed(64, &warps);
        assert_eq!(left(&increasing), [0, 32], "the first components");
        let claim = |counted: &Counted, claim| verdict(&rows(std::slice::from_ref(counted)), claim, 64);
        assert_eq!(claim(&increasing, Claim::FirstComponentOnly), Holds);
        assert_eq!(claim(&increasing, Claim::NoneInsideWarp), Holds);
        let decreasing = executed(64, &warps.iter().rev().cloned().collect::<Vec<_>>());
        assert_eq!(left(&decreasing), [31, 63], "the last components");
        assert_eq!(claim(&decreasing, Claim::FirstComponentOnly), DoesNotHold);
        let half_warps: Vec<std::ops::Range<u32>> = (0..64).map(|half| 16 * half..16 * half + 16).collect();
        assert_eq!(claim(&executed(64, &half_warps), Claim::NoneInsideWarp), DoesNotHold);
        let blocks: Vec<std::ops::Range<u32>> = (0..16).map(|block| 64 * block..64 * block + 64).collect();
        assert_eq!(left(&executed(64, &blocks)), [0], "a block at once has no border within it");
        assert_eq!(claim(&executed(64, &blocks), Claim::AtWarpBorders), DoesNotHold);
        assert!(left(&executed(64, std::slice::from_ref(&(0..1024)))).is_empty(), "all at once");
    }

    #[test]
    fn one_counterexample_decides() {
        let found = rows(&[
            counted(Variant::Global, 32, &[(32, 5)]),
            counted(Variant::Global, 64, &[(64, 9), (63, 1), (41, 1)]),
        ]);
        assert_eq!(verdict(&found, Claim::NoneInsideWarp, 64), DoesNotHold);
        let inside = row(&found, Claim::NoneInsideWarp, Variant::Global, Some(64));
        assert!(inside.found.contains("threads 41 "), "{}", inside.found);
        assert_eq!(verdict(&found, Claim::FirstComponentOnly, 64), DoesNotHold);
        let all = row(&found, Claim::FirstComponentOnly, Variant::Global, None);
        assert_eq!(all.verdict, DoesNotHold);
        assert_eq!(all.found, "holds for blocks of 32; does not hold for blocks of 64; 0 to 1.00 ppm");
    }

    #[test]
    fn a_device_without_inconsistencies_tells_little() {
        let found = rows(&[counted(Variant::Global, 64, &[])]);
        assert_eq!(verdict(&found, Claim::NoneInsideWarp, 64), CannotBeDecided);
        assert_eq!(verdict(&found, Claim::FirstComponentOnly, 64), CannotBeDecided);
        let borders = row(&found, Claim::AtBlockBorders, Variant::Global, Some(64));
        assert_eq!(borders.verdict, DoesNotHold, "as many executions as in the paper, and none");
        assert!(borders.share_high.is_some_and(|high| high < 4e-6), "{borders:?}");
    }

    #[test]
    fn too_few_executions_do_not_refute() {
        let mut few = counted(Variant::Global, 64, &[]);
        few.batches.truncate(1);
        assert_eq!(verdict(&rows(&[few]), Claim::AtBlockBorders, 64), CannotBeDecided);
    }

    #[test]
    fn a_single_block_has_no_border_and_no_size_of_the_paper_is_replaced() {
        let found = rows(&[counted(Variant::Global, 1024, &[(32, 1)])]);
        let borders = row(&found, Claim::AtBlockBorders, Variant::Global, Some(1024));
        assert_eq!((borders.verdict, borders.share, borders.in_paper), (CannotBeDecided, None, false));
        assert!(found.iter().all(|row| row.block_threads.is_some()), "no verdict over sizes that were not measured");
    }

    #[test]
    fn a_control_is_no_claim_of_the_paper() {
        let found = rows(&[counted(Variant::SharedUniform, 64, &[(32, 4)])]);
        assert_eq!(found.len(), 6, "three claims, each for one size and for all");
        assert!(found.iter().all(|row| !row.in_paper));
        assert_eq!(row(&found, Claim::AtWarpBorders, Variant::SharedUniform, None).verdict, Holds);
    }
}
