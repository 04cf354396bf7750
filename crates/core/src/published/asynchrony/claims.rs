//! What becomes of each claim of the paper on this device.

use serde::{Deserialize, Serialize};

use super::arrival::{NeighbourRow, OrderSummary};
use super::claim::{Claim, ClaimVerdict};
use super::counted::ClassRow;
use super::position::PositionClass::{self, BlockFirst, BlockLast, Inside, WarpFirst, WarpLast};
use super::{PAPER_EXECUTIONS, Variant};

/// A line of `asynchrony_claims.csv`: a claim for one block size, or for all sizes of the paper together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimRow {
    /// The claim.
    pub claim: Claim,
    /// The kernel; `None` where no update is looked at.
    pub variant: Option<Variant>,
    /// Threads of a block; `None`: all sizes for which the paper makes the claim.
    pub block_threads: Option<u32>,
    /// Whether the paper makes the claim for this kernel and block size.
    pub in_paper: bool,
    /// What becomes of it.
    pub verdict: ClaimVerdict,
    /// The share on which the verdict rests: of executions, or of pairs of blocks.
    pub share: Option<f64>,
    /// Lower end of its 95 % interval.
    pub share_low: Option<f64>,
    /// Upper end.
    pub share_high: Option<f64>,
    /// What was found.
    pub found: String,
}

impl Claim {
    /// The claim as a sentence.
    #[must_use]
    pub const fn statement(self) -> &'static str {
        match self {
            Self::NoneInsideWarp => "No inconsistency between components of one warp.",
            Self::AtBlockBorders => "Inconsistencies occur at the borders of blocks.",
            Self::AtWarpBorders => "In blocks of several warps, they occur at the borders of warps too.",
            Self::FirstComponentOnly => "All are at the first component of a block or warp, none at the last.",
            Self::LastComponentToo => "They occur at the last component of a warp too.",
            Self::SideFollowsLoads => {
                "The side is that of the neighbour that is read last, whichever block began first."
            }
            Self::IncreasingOrder => "Blocks are scheduled in increasing order, where they can be.",
            Self::EightOrders => {
                "Blocks are assigned to multiprocessors in one of eight orders with two variants each."
            }
        }
    }

    /// Where it stands.
    #[must_use]
    pub const fn source(self) -> &'static str {
        match self {
            Self::NoneInsideWarp | Self::AtBlockBorders | Self::AtWarpBorders => "section IV-B, figures 5 and 6",
            Self::FirstComponentOnly => "section IV-B, figure 5",
            Self::LastComponentToo => "section IV-B, figure 6",
            Self::IncreasingOrder => "section IV-B, first observation of the list",
            Self::SideFollowsLoads => "control, not in the paper",
            Self::EightOrders => "docs/notes/2026-11-block-order.md",
        }
    }
}

/// Whether the paper shows this kernel with this block size: that of figure 3 for 8 to 256 threads, and that of figure 4 for 128
/// and 256.
const fn is_in_paper(variant: Variant, block_threads: u32) -> bool {
    match variant {
        Variant::Global => block_threads >= 8 && block_threads <= 256,
        Variant::Shared => block_threads == 128 || block_threads == 256,
        Variant::GlobalLeftFirst | Variant::SharedUniform => false,
    }
}

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
        about_size(claim, &Sizes::of(rows)?)
    };
    let rows: Vec<ClaimRow> = sizes.iter().filter_map(of_size).collect();
    together(claim, Some(variant), &rows).into_iter().chain(rows.clone()).collect()
}

/// The rows of one kernel and block size, one for each class.
struct Sizes<'a>(Vec<&'a ClassRow>);

impl<'a> Sizes<'a> {
    /// `None` unless there is a row for each class.
    fn of(rows: impl Iterator<Item = &'a ClassRow>) -> Option<Self> {
        let rows: Vec<&ClassRow> = rows.collect();
        let is_complete = PositionClass::ALL.iter().all(|class| rows.iter().any(|row| row.class == *class));
        is_complete.then_some(Self(rows))
    }

    fn first(&self) -> &'a ClassRow {
        self.0[0]
    }

    fn classes(&self, classes: &[PositionClass]) -> Vec<&'a ClassRow> {
        self.0.iter().copied().filter(|row| classes.contains(&row.class)).collect()
    }

    fn count(&self, classes: &[PositionClass]) -> u64 {
        self.classes(classes).iter().map(|row| row.inconsistencies).sum()
    }

    /// The row of these classes with the most executions; the interval of several classes together is not known.
    fn most(&self, classes: &[PositionClass]) -> Option<&'a ClassRow> {
        let with_share = self.classes(classes).into_iter().filter(|row| row.share.is_some());
        with_share.max_by_key(|row| row.executions_with)
    }
}

/// What becomes of a claim for one kernel and block size; `None` if it says nothing of this size.
fn about_size(claim: Claim, sizes: &Sizes<'_>) -> Option<ClaimRow> {
    let first = sizes.first();
    let (verdict, decisive, found) = match claim {
        Claim::NoneInsideWarp => none_inside(sizes),
        Claim::AtBlockBorders => occurs(sizes, &[BlockFirst, BlockLast]),
        Claim::AtWarpBorders | Claim::LastComponentToo if first.block_threads <= super::WARP_THREADS => return None,
        Claim::AtWarpBorders => occurs(sizes, &[WarpFirst, WarpLast]),
        Claim::LastComponentToo => occurs(sizes, &[WarpLast]),
        Claim::FirstComponentOnly => first_only(sizes),
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

fn none_inside<'a>(sizes: &Sizes<'a>) -> Judged<'a> {
    let inside = sizes.most(&[Inside]);
    let (count, executions) = (sizes.count(&[Inside]), sizes.first().executions);
    if count > 0 {
        let threads = inside.map_or("", |row| row.threads.as_str());
        return (
            ClaimVerdict::DoesNotHold,
            inside,
            format!("{count} inside a warp, at threads {threads} of the block"),
        );
    }
    if sizes.count(PositionClass::ALL) == 0 {
        let found = format!("none anywhere in {executions} executions: no two updates were seen apart");
        return (ClaimVerdict::CannotBeDecided, inside, found);
    }
    (ClaimVerdict::Holds, inside, format!("none inside a warp in {executions} executions"))
}

fn occurs<'a>(sizes: &Sizes<'a>, classes: &[PositionClass]) -> Judged<'a> {
    let most = sizes.most(classes);
    let executions = sizes.first().executions;
    let count = sizes.count(classes);
    let words: Vec<String> =
        sizes.classes(classes).iter().map(|row| format!("{} {}", row.inconsistencies, row.class)).collect();
    if sizes.classes(classes).iter().all(|row| row.components == 0) {
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

fn first_only<'a>(sizes: &Sizes<'a>) -> Judged<'a> {
    let (at_first, at_last) = (sizes.count(&[WarpFirst, BlockFirst]), sizes.count(&[WarpLast, BlockLast]));
    let last = sizes.most(&[WarpLast, BlockLast]);
    let found = format!("{at_first} at the first, {at_last} at the last component");
    match (at_first, at_last) {
        (0, 0) => (ClaimVerdict::CannotBeDecided, last, "none at any border".to_owned()),
        (_, 0) => (ClaimVerdict::Holds, last, found),
        _ => (ClaimVerdict::DoesNotHold, last, found),
    }
}

/// Whether the control, which reads the left neighbour first, has its inconsistencies on the other side.
fn side_follows_loads(classes: &[ClassRow]) -> Vec<ClaimRow> {
    let of = |variant, size| {
        Sizes::of(classes.iter().filter(move |row| row.variant == variant && row.block_threads == size))
    };
    let row = |block_threads: u32| {
        let (paper, control) = (of(Variant::Global, block_threads)?, of(Variant::GlobalLeftFirst, block_threads)?);
        let [[first, last], [control_first, control_last]] =
            [paper, control].map(|sizes| [sizes.count(&[WarpFirst, BlockFirst]), sizes.count(&[WarpLast, BlockLast])]);
        let verdict = match (first + last, control_first + control_last) {
            (0, _) | (_, 0) => ClaimVerdict::CannotBeDecided,
            _ if first > last && control_first < control_last => ClaimVerdict::Holds,
            _ => ClaimVerdict::DoesNotHold,
        };
        Some(ClaimRow {
            claim: Claim::SideFollowsLoads,
            variant: Some(Variant::GlobalLeftFirst),
            block_threads: Some(block_threads),
            in_paper: false,
            verdict,
            share: None,
            share_low: None,
            share_high: None,
            found: format!(
                "right neighbour first: {first} at the first, {last} at the last component; left neighbour first: \
                 {control_first} and {control_last}"
            ),
        })
    };
    let rows: Vec<ClaimRow> = super::BLOCK_THREADS.into_iter().filter_map(row).collect();
    together(Claim::SideFollowsLoads, Some(Variant::GlobalLeftFirst), &rows).into_iter().chain(rows.clone()).collect()
}

/// The verdict over the sizes for which the paper makes the claim, or over all sizes of a control; `None` if there are none.
fn together(claim: Claim, variant: Option<Variant>, rows: &[ClaimRow]) -> Option<ClaimRow> {
    let is_control = variant.is_some_and(Variant::is_control);
    let rows: Vec<&ClaimRow> = rows.iter().filter(|row| row.in_paper || is_control).collect();
    let of = |verdict| rows.iter().filter(move |row| row.verdict == verdict).filter_map(|row| row.block_threads);
    let named = |verdict| of(verdict).map(|size| size.to_string()).collect::<Vec<_>>().join(", ");
    let words = [
        (ClaimVerdict::Holds, "holds for blocks of"),
        (ClaimVerdict::DoesNotHold, "does not hold for blocks of"),
        (ClaimVerdict::CannotBeDecided, "cannot be decided for blocks of"),
    ];
    let mut parts: Vec<String> = words
        .iter()
        .filter(|(verdict, _)| of(*verdict).next().is_some())
        .map(|(verdict, text)| format!("{text} {}", named(*verdict)))
        .collect();
    parts.extend(shares(&rows));
    // The paper makes it for each of its sizes: one counterexample decides, and so does one that is not known.
    let verdict = if of(ClaimVerdict::DoesNotHold).next().is_some() {
        ClaimVerdict::DoesNotHold
    } else if of(ClaimVerdict::CannotBeDecided).next().is_some() {
        ClaimVerdict::CannotBeDecided
    } else {
        ClaimVerdict::Holds
    };
    (!rows.is_empty()).then(|| ClaimRow {
        claim,
        variant,
        block_threads: None,
        in_paper: !is_control,
        verdict,
        share: None,
        share_low: None,
        share_high: None,
        found: parts.join("; "),
    })
}

/// The range of the shares of several sizes, in words; `None` if no share is known.
fn shares(rows: &[&ClaimRow]) -> Option<String> {
    let of = |share: fn(&ClaimRow) -> Option<f64>| rows.iter().filter_map(move |row| share(row));
    let most = of(|row| row.share).reduce(f64::max)?;
    if most <= 0.0 {
        let bound = of(|row| row.share_high).reduce(f64::max)?;
        return Some(format!("never seen, in at most {} (95 %)", percent(bound)));
    }
    let least = of(|row| row.share).reduce(f64::min)?;
    Some(if least < most { format!("{} to {}", percent(least), percent(most)) } else { percent(most) })
}

/// `12.34 %`; what is too small for that in parts per million. Only nothing is `0`, and only all is `100 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    match share {
        ..=0.0 => "0".to_owned(),
        1.0.. => "100 %".to_owned(),
        ..1e-4 => format!("{:.2} ppm", share * 1e6),
        0.9999.. => "99.99 %".to_owned(),
        _ => format!("{:.2} %", share * 100.0),
    }
}

/// Whether blocks arrive in increasing order, for each block size and for all together.
#[must_use]
pub fn claims_of_arrival(neighbours: &[NeighbourRow]) -> Vec<ClaimRow> {
    let row = |row: &NeighbourRow| {
        let verdict = match (row.share_low, row.share_high) {
            (Some(low), _) if low > 0.5 => ClaimVerdict::Holds,
            (_, Some(high)) if high < 0.5 => ClaimVerdict::DoesNotHold,
            _ => ClaimVerdict::CannotBeDecided,
        };
        let correlation = row.rank_correlation.map(|correlation| format!("; rank correlation {correlation:.2}"));
        let found = format!(
            "the lower block arrived first in {} of {} pairs of neighbours{}",
            row.lower_first,
            row.pairs,
            correlation.unwrap_or_default()
        );
        ClaimRow {
            claim: Claim::IncreasingOrder,
            variant: None,
            block_threads: Some(row.block_threads),
            in_paper: is_in_paper(Variant::Global, row.block_threads),
            verdict,
            share: row.share,
            share_low: row.share_low,
            share_high: row.share_high,
            found,
        }
    };
    let rows: Vec<ClaimRow> = neighbours.iter().map(row).collect();
    together(Claim::IncreasingOrder, None, &rows).into_iter().chain(rows.clone()).collect()
}

/// What becomes of the project's own statement, which is about one kind of device. A process may meet a part of the orders; more
/// than eight, or other numbers of assignments, refute it.
#[must_use]
pub fn claim_of_orders(summary: Option<OrderSummary>, device: &str) -> Option<ClaimRow> {
    let OrderSummary { launches, assignments, draws, alternating_draws, orders } = summary?;
    let has_two_variants = assignments == 2 * orders && alternating_draws == draws;
    let verdict = match orders {
        _ if !device.contains("H200") => ClaimVerdict::CannotBeDecided,
        0..8 if has_two_variants => ClaimVerdict::CannotBeDecided,
        8 if has_two_variants => ClaimVerdict::Holds,
        _ => ClaimVerdict::DoesNotHold,
    };
    Some(ClaimRow {
        claim: Claim::EightOrders,
        variant: None,
        block_threads: None,
        in_paper: false,
        verdict,
        share: None,
        share_low: None,
        share_high: None,
        found: format!(
            "{orders} orders, {assignments} assignments in {launches} launches; two alternate in {alternating_draws} of \
             {draws} draws"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::counted::Counted;
    use super::super::testing::{counted, executed};
    use super::*;
    use ClaimVerdict::{CannotBeDecided, DoesNotHold, Holds};

    fn rows(counted: &[Counted]) -> Vec<ClaimRow> {
        claims_of_kernels(&counted.iter().flat_map(Counted::classes).collect::<Vec<_>>())
    }

    fn row(rows: &[ClaimRow], claim: Claim, variant: Variant, size: Option<u32>) -> ClaimRow {
        let is_it = |row: &&ClaimRow| (row.claim, row.variant, row.block_threads) == (claim, Some(variant), size);
        rows.iter().find(is_it).cloned().unwrap_or_else(|| panic!("{claim} {variant} {size:?}"))
    }

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

    #[test]
    fn small_shares_are_parts_per_million() {
        let shares = [0.0, 3.84e-6, 0.1234, 0.999_996, 1.0].map(percent);
        assert_eq!(shares, ["0", "3.84 ppm", "12.34 %", "99.99 %", "100 %"]);
    }

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
        assert_eq!(
            rows.iter().map(|row| row.verdict).collect::<Vec<_>>(),
            [CannotBeDecided, Holds, CannotBeDecided, DoesNotHold]
        );
        assert!(rows[0].block_threads.is_none() && !rows[3].in_paper, "512 is no size of the paper");
    }

    #[test]
    fn the_note_is_held_against_its_own_device_alone() {
        let summary = OrderSummary { launches: 480, assignments: 16, draws: 120, alternating_draws: 120, orders: 8 };
        let verdict = |summary, device| claim_of_orders(Some(summary), device).map(|row| row.verdict);
        assert_eq!(verdict(summary, "NVIDIA H200"), Some(Holds));
        let part = OrderSummary { orders: 7, assignments: 14, ..summary };
        assert_eq!(verdict(part, "NVIDIA H200"), Some(CannotBeDecided), "a part of them came");
        assert_eq!(verdict(OrderSummary { orders: 9, assignments: 18, ..summary }, "NVIDIA H200"), Some(DoesNotHold));
        assert_eq!(verdict(OrderSummary { assignments: 13, ..part }, "NVIDIA H200"), Some(DoesNotHold));
        assert_eq!(verdict(OrderSummary { alternating_draws: 119, ..summary }, "NVIDIA H200"), Some(DoesNotHold));
        assert_eq!(verdict(summary, "NVIDIA A100"), Some(CannotBeDecided));
        assert_eq!(claim_of_orders(None, "NVIDIA H200"), None);
    }
}
