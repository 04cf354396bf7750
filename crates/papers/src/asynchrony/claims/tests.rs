//! Claims, tested on counts of a device and on orders of blocks.

use Truth::{Fails, Holds, Open};

use super::super::counted::Counted;
use super::super::testing::{counted, executed};
use super::*;

fn rows(counted: &[Counted]) -> Vec<ClaimRow> {
    claims_of_kernels(&counted.iter().flat_map(Counted::classes).collect::<Vec<_>>())
}

fn row(rows: &[ClaimRow], claim: Claim, variant: Variant, size: Option<u32>) -> ClaimRow {
    let is_it = |row: &&ClaimRow| (row.claim, row.variant, row.block_threads) == (claim, Some(variant), size);
    rows.iter().find(is_it).cloned().unwrap_or_else(|| panic!("{claim} {variant} {size:?}"))
}

fn verdict(rows: &[ClaimRow], claim: Claim, size: u32) -> Truth {
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
    assert_eq!(inside.found, "holds for blocks of 32 and 64 threads; never observed, so at most 3.84 ppm of executions can be affected (95 % confidence)");
    let last = row(&found, Claim::LastComponentToo, Variant::Shared, Some(128));
    assert_eq!((last.verdict, last.in_paper), (Holds, true));
    assert!(last.share.is_some_and(|known| 0.0 < known.share && known.interval.low < known.share), "{last:?}");
}

/// The positions modulo 64 at which a device leaves inconsistencies with blocks of 64 threads.
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
    assert_eq!(claim(&decreasing, Claim::FirstComponentOnly), Fails);
    let half_warps: Vec<std::ops::Range<u32>> = (0..64).map(|half| 16 * half..16 * half + 16).collect();
    assert_eq!(claim(&executed(64, &half_warps), Claim::NoneInsideWarp), Fails);
    let blocks: Vec<std::ops::Range<u32>> = (0..16).map(|block| 64 * block..64 * block + 64).collect();
    assert_eq!(left(&executed(64, &blocks)), [0], "a block at once has no border within it");
    assert_eq!(claim(&executed(64, &blocks), Claim::AtWarpBorders), Fails);
    assert!(left(&executed(64, std::slice::from_ref(&(0..1024)))).is_empty(), "all at once");
}

#[test]
fn one_counterexample_decides() {
    let found =
        rows(&[counted(Variant::Global, 32, &[(32, 5)]), counted(Variant::Global, 64, &[(64, 9), (63, 1), (41, 1)])]);
    assert_eq!(verdict(&found, Claim::NoneInsideWarp, 64), Fails);
    let inside = row(&found, Claim::NoneInsideWarp, Variant::Global, Some(64));
    assert!(inside.found.contains("threads 41 "), "{}", inside.found);
    assert_eq!(verdict(&found, Claim::FirstComponentOnly, 64), Fails);
    let all = row(&found, Claim::FirstComponentOnly, Variant::Global, None);
    assert_eq!(all.verdict, Fails);
    assert_eq!(all.found, "holds for blocks of 32 threads; does not hold for blocks of 64 threads; inconsistencies \
                           at the last component occur in 1.00 ppm of executions", "its share");
}

#[test]
fn a_device_without_inconsistencies_tells_little() {
    let found = rows(&[counted(Variant::Global, 64, &[])]);
    assert_eq!(verdict(&found, Claim::NoneInsideWarp, 64), Open);
    assert_eq!(verdict(&found, Claim::FirstComponentOnly, 64), Open);
    let borders = row(&found, Claim::AtBlockBorders, Variant::Global, Some(64));
    assert_eq!(borders.verdict, Fails, "as many executions as in the paper, and none");
    assert!(borders.share.is_some_and(|known| known.interval.high < 4e-6), "{borders:?}");
}

#[test]
fn too_few_executions_do_not_refute() {
    let mut few = counted(Variant::Global, 64, &[]);
    few.batches.truncate(1);
    assert_eq!(verdict(&rows(&[few]), Claim::AtBlockBorders, 64), Open);
}

#[test]
fn a_single_block_has_no_border_and_no_size_of_the_paper_is_replaced() {
    let found = rows(&[counted(Variant::Global, 1024, &[(32, 1)])]);
    let borders = row(&found, Claim::AtBlockBorders, Variant::Global, Some(1024));
    assert_eq!((borders.verdict, borders.share, borders.in_paper), (Open, None, false));
    assert!(found.iter().all(|row| row.block_threads.is_some()), "no verdict over sizes that were not measured");
}

#[test]
fn a_control_is_no_claim_of_the_paper() {
    let found = rows(&[counted(Variant::SharedUniform, 64, &[(32, 4)])]);
    assert_eq!(found.len(), 6, "three claims, each for one size and for all");
    assert!(found.iter().all(|row| !row.in_paper));
    assert_eq!(row(&found, Claim::AtWarpBorders, Variant::SharedUniform, None).verdict, Holds);
}

#[test]
fn the_side_is_compared_with_the_control() {
    let side = |of_paper: &[(u32, u64)], of_control: &[(u32, u64)]| {
        let found = rows(&[counted(Variant::Global, 64, of_paper), counted(Variant::GlobalLeftFirst, 64, of_control)]);
        row(&found, Claim::SideFollowsLoads, Variant::GlobalLeftFirst, None).verdict
    };
    assert_eq!(side(&[(64, 9), (63, 1)], &[(63, 4), (31, 5)]), Holds);
    assert_eq!(side(&[(64, 9)], &[(64, 4)]), Fails, "the same side: a property of the device");
    assert_eq!(side(&[(64, 9)], &[]), Open);
    let alone = rows(&[counted(Variant::Global, 64, &[(64, 9)])]);
    assert!(alone.iter().all(|row| row.claim != Claim::SideFollowsLoads));
}

fn neighbours(block_threads: u32, share: f64, low: f64, high: f64) -> NeighbourRow {
    NeighbourRow {
        block_threads,
        blocks: 100,
        launches: 10,
        pairs: 990,
        lower_first: (990.0 * share) as u64,
        share: Some(share),
        share_low: Some(low),
        share_high: Some(high),
        rank_correlation: None,
        span_ns: None,
        apart_ns: None,
    }
}

#[test]
fn the_order_of_blocks_is_decided_by_the_interval() {
    let rows = claims_of_arrival(&[
        neighbours(8, 0.7, 0.6, 0.8),
        neighbours(16, 0.52, 0.49, 0.55),
        neighbours(512, 0.2, 0.1, 0.3),
    ]);
    assert_eq!(rows.iter().map(|row| row.verdict).collect::<Vec<_>>(), [Open, Holds, Open, Fails]);
    assert!(rows[0].block_threads.is_none() && !rows[3].in_paper, "512 is no size of the paper");
}

#[test]
fn the_note_is_held_against_its_own_device_alone() {
    let summary = OrderSummary { launches: 480, assignments: 16, draws: 120, alternating_draws: 120, orders: 8 };
    let verdict = |summary, device| claim_of_orders(Some(summary), device).map(|row| row.verdict);
    assert_eq!(verdict(summary, "NVIDIA H200"), Some(Holds));
    let part = OrderSummary { orders: 7, assignments: 14, ..summary };
    assert_eq!(verdict(part, "NVIDIA H200"), Some(Open), "a part of them came");
    assert_eq!(verdict(OrderSummary { orders: 9, assignments: 18, ..summary }, "NVIDIA H200"), Some(Fails));
    assert_eq!(verdict(OrderSummary { assignments: 13, ..part }, "NVIDIA H200"), Some(Fails));
    assert_eq!(verdict(OrderSummary { alternating_draws: 119, ..summary }, "NVIDIA H200"), Some(Fails));
    assert_eq!(verdict(summary, "NVIDIA A100"), Some(Open));
    assert_eq!(claim_of_orders(None, "NVIDIA H200"), None);
}

#[test]
fn small_shares_are_parts_per_million() {
    let shares = [0.0, 3.84e-6, 0.1234, 0.999_996, 1.0].map(percent);
    assert_eq!(shares, ["0", "3.84 ppm", "12.34 %", "99.99 %", "100 %"]);
}
