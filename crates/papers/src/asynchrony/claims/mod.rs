//! Tests each claim of the paper on this device, for each kernel and block size and over all sizes.

use syncscope_core::stats::Proportion;
use syncscope_core::words;
use syncscope_report::naming::enumeration;
use syncscope_report::{Truth, Finding, Outcome, Paper, figure, grouped};

use super::arrival::{NeighbourRow, OrderSummary, summary};
use super::counted::PositionClass::{BlockFirst, BlockLast, Inside, WarpFirst, WarpLast};
use super::counted::{ClassRow, PositionClass, proportion};
use super::{Asynchrony, BLOCK_THREADS, PAPER_EXECUTIONS, Variant, WARP_THREADS};

words! {
    /// A claim that the experiment can test.
    pub enum Claim ("claim") {
        /// Components of one warp show no inconsistencies.
        NoneInsideWarp = "none_inside_warp",
        /// Inconsistencies at the borders of blocks.
        AtBlockBorders = "at_block_borders",
        /// Inconsistencies at the borders of warps within a block.
        AtWarpBorders = "at_warp_borders",
        /// Inconsistencies only at the first component of a warp or block, never at the last.
        FirstComponentOnly = "first_component_only",
        /// Inconsistencies at the last component of a warp, too.
        LastComponentToo = "last_component_too",
        /// A control of this project: inconsistencies are on the side of the neighbour whose load comes last.
        SideFollowsLoads = "side_follows_loads",
        /// Blocks mostly begin in increasing order.
        IncreasingOrder = "increasing_order",
        /// From the project's own note: the order of blocks is one of eight, each in two variants.
        EightOrders = "eight_orders",
    }
}

impl Claim {
    /// The claim as a sentence.
    pub(super) const fn statement(self) -> &'static str {
        match self {
            Self::NoneInsideWarp => "Components updated by the same warp show no inconsistencies",
            Self::AtBlockBorders => "Inconsistencies occur at block boundaries",
            Self::AtWarpBorders => "In blocks of several warps, inconsistencies also occur at warp boundaries",
            Self::FirstComponentOnly => "Every inconsistency is at the first component that a block or warp updates, none \
                                         at the last",
            Self::LastComponentToo => "Inconsistencies also occur at the last component that a warp updates",
            Self::SideFollowsLoads => {
                "Inconsistencies occur on the side of the neighbour that is read last, whichever block started first"
            }
            Self::IncreasingOrder => "Blocks are scheduled in increasing order where possible",
            Self::EightOrders => {
                "Blocks are assigned to multiprocessors in one of eight orders with two variants each"
            }
        }
    }

    /// Where the source makes the claim.
    pub(super) const fn source(self) -> &'static str {
        match self {
            Self::NoneInsideWarp | Self::AtBlockBorders | Self::AtWarpBorders => "section IV-B, figures 5 and 6",
            Self::FirstComponentOnly => "section IV-B, figure 5",
            Self::LastComponentToo => "section IV-B, figure 6",
            Self::IncreasingOrder => "section IV-B, first observation of the list",
            Self::SideFollowsLoads => "control, not in the paper",
            Self::EightOrders => "docs/notes/addresses-and-block-orders.md",
        }
    }
}

/// Tests every claim, for each kernel and block size and over all sizes, on the device with this name.
pub fn claims(found: &Asynchrony, device: &str) -> Vec<ClaimRow> {
    let of_arrival = claims_of_arrival(&found.neighbours);
    let of_orders = claim_of_orders(summary(&found.launches), device);
    claims_of_kernels(&found.classes).into_iter().chain(of_arrival).chain(of_orders).collect()
}

/// A claim for one block size, or for all sizes of the paper together.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimRow {
    /// The claim.
    pub claim: Claim,
    /// The kernel; `None` if the claim is not about updates.
    pub variant: Option<Variant>,
    /// Threads of a block; `None` for all sizes for which the paper makes the claim.
    pub block_threads: Option<u32>,
    /// Whether the paper makes the claim for this kernel and block size.
    pub in_paper: bool,
    /// The verdict on the claim.
    pub verdict: Truth,
    /// The share of executions, or of pairs of blocks, on which the verdict rests.
    pub share: Option<Proportion>,
    /// What was found.
    pub found: String,
}

impl ClaimRow {
    /// A claim that the paper does not make, about all kernels and block sizes, whose verdict rests on no share.
    const fn without_share(claim: Claim, verdict: Truth, found: String) -> Self {
        Self { claim, variant: None, block_threads: None, in_paper: false, verdict, share: None, found }
    }

    /// The claim as a finding of the report.
    pub(super) fn finding(&self) -> Finding {
        let variant = |text: &dyn Fn(Variant) -> String| self.variant.map(text).unwrap_or_default();
        Finding {
            id: format!("anzt.{}{}", self.claim, variant(&|variant| format!(".{variant}"))),
            paper: Paper::Anzt,
            place: self.claim.source().to_owned(),
            text: format!("{}{}.", self.claim.statement(), variant(&|variant| format!(" (kernel `{variant}`)"))),
            outcome: Outcome::of(self.verdict, self.found.clone()),
            measured: true,
        }
    }
}

/// Whether the paper shows this kernel with this block size: the kernel of figure 3 with 8 to 256 threads, the kernel
/// of figure 4 with 128 and 256.
const fn is_in_paper(variant: Variant, block_threads: u32) -> bool {
    match variant {
        Variant::Global => block_threads >= 8 && block_threads <= 256,
        Variant::Shared => block_threads == 128 || block_threads == 256,
        Variant::GlobalLeftFirst | Variant::SharedUniform => false,
    }
}

/// The rows of one kernel and block size, one for each class.
struct ClassRows<'a>(Vec<&'a ClassRow>);

impl<'a> ClassRows<'a> {
    /// The rows; `None` unless every class has one.
    fn of(classes: &'a [ClassRow], variant: Variant, block_threads: u32) -> Option<Self> {
        let is_own = |row: &&ClassRow| row.variant == variant && row.block_threads == block_threads;
        let rows: Vec<&ClassRow> = classes.iter().filter(is_own).collect();
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

    /// The row of these classes with the most executions; no interval is known for several classes together.
    fn most(&self, classes: &[PositionClass]) -> Option<&'a ClassRow> {
        let with_share = self.classes(classes).into_iter().filter(|row| row.share.is_some());
        with_share.max_by_key(|row| row.executions_with)
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

/// Tests every claim about the kernels, for each block size and for all together.
fn claims_of_kernels(classes: &[ClassRow]) -> Vec<ClaimRow> {
    let of = |variant: Variant| {
        let mut sizes: Vec<u32> =
            classes.iter().filter(|row| row.variant == variant).map(|row| row.block_threads).collect();
        sizes.dedup();
        claims_about(variant).iter().flat_map(move |claim| about_sizes(*claim, variant, &sizes, classes))
    };
    Variant::ALL.iter().copied().flat_map(of).chain(side_follows_loads(classes)).collect()
}

fn about_sizes(claim: Claim, variant: Variant, sizes: &[u32], classes: &[ClassRow]) -> Vec<ClaimRow> {
    let of_size = |size: &u32| about_size(claim, &ClassRows::of(classes, variant, *size)?);
    with_all(claim, Some(variant), sizes.iter().filter_map(of_size).collect())
}

/// Tests a claim for one kernel and block size; `None` if the claim says nothing of this size.
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
        variant: Some(first.variant),
        block_threads: Some(first.block_threads),
        in_paper: is_in_paper(first.variant, first.block_threads),
        share: decisive.and_then(|row| proportion(row.share, row.share_low, row.share_high)),
        ..ClaimRow::without_share(claim, verdict, found)
    })
}

type Judged<'a> = (Truth, Option<&'a ClassRow>, String);

fn none_inside<'a>(rows: &ClassRows<'a>) -> Judged<'a> {
    let inside = rows.most(&[Inside]);
    let (count, executions) = (rows.count(&[Inside]), grouped(rows.first().executions));
    let (verdict, found) = if count > 0 {
        let threads: Vec<String> =
            inside.iter().flat_map(|row| row.threads.split(' ')).map(str::to_owned).collect();
        (Truth::Fails, format!("{} inside a warp, at threads {} of the block", grouped(count), enumeration(&threads)))
    } else if rows.count(PositionClass::ALL) == 0 {
        (Truth::Open, format!("none anywhere in {executions} executions: all updates seemed simultaneous"))
    } else {
        (Truth::Holds, format!("none inside a warp in {executions} executions"))
    };
    (verdict, inside, found)
}

fn occurs<'a>(rows: &ClassRows<'a>, classes: &[PositionClass]) -> Judged<'a> {
    let most = rows.most(classes);
    let executions = rows.first().executions;
    let count = rows.count(classes);
    let words: Vec<String> =
        rows.classes(classes).iter().map(|row| format!("{} {}", grouped(row.inconsistencies), row.class)).collect();
    if rows.classes(classes).iter().all(|row| row.components == 0) {
        return (Truth::Open, None, "the vector has no such border".to_owned());
    }
    if count > 0 {
        return (Truth::Holds, most, words.join(", "));
    }
    let found = format!("none in {} executions", grouped(executions));
    if executions < PAPER_EXECUTIONS {
        return (Truth::Open, most, format!("{found}, fewer than the paper's {}", grouped(PAPER_EXECUTIONS)));
    }
    (Truth::Fails, most, found)
}

fn first_only<'a>(rows: &ClassRows<'a>) -> Judged<'a> {
    let (at_first, at_last) = (rows.count(&[WarpFirst, BlockFirst]), rows.count(&[WarpLast, BlockLast]));
    let last = rows.most(&[WarpLast, BlockLast]);
    let found = format!("{} at the first, {} at the last component", grouped(at_first), grouped(at_last));
    match (at_first, at_last) {
        (0, 0) => (Truth::Open, last, "none at any border".to_owned()),
        (_, 0) => (Truth::Holds, last, found),
        _ => (Truth::Fails, last, found),
    }
}

/// Whether the control, which reads the left neighbour first, has its inconsistencies on the other side.
fn side_follows_loads(classes: &[ClassRow]) -> Vec<ClaimRow> {
    let row = |block_threads: u32| {
        let of = |variant| ClassRows::of(classes, variant, block_threads);
        let (paper, control) = (of(Variant::Global)?, of(Variant::GlobalLeftFirst)?);
        let [[first, last], [control_first, control_last]] =
            [paper, control].map(|rows| [rows.count(&[WarpFirst, BlockFirst]), rows.count(&[WarpLast, BlockLast])]);
        let verdict = match (first + last, control_first + control_last) {
            (0, _) | (_, 0) => Truth::Open,
            _ if first > last && control_first < control_last => Truth::Holds,
            _ => Truth::Fails,
        };
        let found = format!(
            "right neighbour first: {} at the first, {} at the last component; left neighbour first: {} and {}",
            grouped(first),
            grouped(last),
            grouped(control_first),
            grouped(control_last)
        );
        Some(ClaimRow {
            variant: Some(Variant::GlobalLeftFirst),
            block_threads: Some(block_threads),
            ..ClaimRow::without_share(Claim::SideFollowsLoads, verdict, found)
        })
    };
    let rows = BLOCK_THREADS.into_iter().filter_map(row).collect();
    with_all(Claim::SideFollowsLoads, Some(Variant::GlobalLeftFirst), rows)
}

/// Whether blocks arrive in increasing order, for each block size and for all together.
fn claims_of_arrival(neighbours: &[NeighbourRow]) -> Vec<ClaimRow> {
    let row = |row: &NeighbourRow| {
        let verdict = match (row.share_low, row.share_high) {
            (Some(low), _) if low > 0.5 => Truth::Holds,
            (_, Some(high)) if high < 0.5 => Truth::Fails,
            _ => Truth::Open,
        };
        let correlation = row.rank_correlation.map(|correlation| format!("; the rank correlation is {correlation:.2}"));
        let found = format!(
            "the lower-numbered block arrived first in {} of {} neighbouring pairs{}",
            grouped(row.lower_first),
            grouped(row.pairs),
            correlation.unwrap_or_default()
        );
        ClaimRow {
            block_threads: Some(row.block_threads),
            in_paper: is_in_paper(Variant::Global, row.block_threads),
            share: proportion(row.share, row.share_low, row.share_high),
            ..ClaimRow::without_share(Claim::IncreasingOrder, verdict, found)
        }
    };
    with_all(Claim::IncreasingOrder, None, neighbours.iter().map(row).collect())
}

/// Tests the project's own statement, which is about one kind of device. A process may meet only some of the orders;
/// more than eight, or other numbers of assignments, refute the statement.
fn claim_of_orders(summary: Option<OrderSummary>, device: &str) -> Option<ClaimRow> {
    let OrderSummary { launches, assignments, draws, alternating_draws, orders } = summary?;
    let has_two_variants = assignments == 2 * orders && alternating_draws == draws;
    let verdict = match orders {
        _ if !device.contains("H200") => Truth::Open,
        0..8 if has_two_variants => Truth::Open,
        8 if has_two_variants => Truth::Holds,
        _ => Truth::Fails,
    };
    let found = format!(
        "{} launches show {orders} block orders and {assignments} assignments of blocks to multiprocessors; in {}, two of these \
         alternate",
        grouped(launches),
        figure::share(alternating_draws as usize, draws as usize, "draw").0
    );
    Some(ClaimRow::without_share(Claim::EightOrders, verdict, found))
}

/// The rows of single sizes, and before them the verdict over the sizes for which the paper makes the claim, or over
/// all sizes of a control. That verdict is missing if there are none.
fn with_all(claim: Claim, variant: Option<Variant>, rows: Vec<ClaimRow>) -> Vec<ClaimRow> {
    let is_control = variant.is_some_and(Variant::is_control);
    let counted: Vec<&ClaimRow> = rows.iter().filter(|row| row.in_paper || is_control).collect();
    let of = |verdict| counted.iter().filter(move |row| row.verdict == verdict).filter_map(|row| row.block_threads);
    let named = |verdict| enumeration(&of(verdict).map(|size| size.to_string()).collect::<Vec<_>>());
    // The paper makes the claim for each of its sizes: one counterexample refutes it, and one undecided size leaves it
    // open.
    let words = [
        (Truth::Holds, "holds for blocks of"),
        (Truth::Open, "undecided for blocks of"),
        (Truth::Fails, "does not hold for blocks of"),
    ];
    let found = words.iter().filter(|(verdict, _)| of(*verdict).next().is_some());
    let verdict = found.clone().next_back().map_or(Truth::Holds, |(verdict, _)| *verdict);
    let mut parts: Vec<String> = found.map(|(verdict, text)| format!("{text} {} threads", named(*verdict))).collect();
    parts.extend(shares(claim, &counted.iter().copied().filter(|row| row.verdict == verdict).collect::<Vec<_>>()));
    let together = (!counted.is_empty()).then(|| ClaimRow {
        variant,
        in_paper: !is_control,
        ..ClaimRow::without_share(claim, verdict, parts.join("; "))
    });
    together.into_iter().chain(rows).collect()
}

/// The range of the deciding sizes' shares, in words; `None` if no share is known.
fn shares(claim: Claim, rows: &[&ClaimRow]) -> Option<String> {
    let (what, of) = match claim {
        Claim::IncreasingOrder => ("the lower-numbered block arrived first in", "neighbouring pairs"),
        Claim::FirstComponentOnly => ("inconsistencies at the last component occur in", "executions"),
        Claim::NoneInsideWarp => ("inconsistencies inside a warp occur in", "executions"),
        Claim::AtBlockBorders => ("inconsistencies at block boundaries occur in", "executions"),
        Claim::AtWarpBorders => ("inconsistencies at warp boundaries occur in", "executions"),
        Claim::LastComponentToo => ("inconsistencies at the last component that a warp updates occur in", "executions"),
        Claim::SideFollowsLoads | Claim::EightOrders => ("such inconsistencies occur in", "executions"),
    };
    let known = || rows.iter().filter_map(|row| row.share);
    let most = known().map(|known| known.share).reduce(f64::max)?;
    if most <= 0.0 {
        let bound = known().map(|known| known.interval.high).reduce(f64::max)?;
        return Some(format!("never observed, so at most {} of {of} can be affected (95 % confidence)", percent(bound)));
    }
    let least = known().map(|known| known.share).reduce(f64::min)?;
    let is_tiny = |share: f64| share > 0.0 && share < TINY;
    let range = if least >= most {
        percent(most)
    } else if is_tiny(least) && !is_tiny(most) {
        format!("under 0.01 % to {}", percent(most))
    } else {
        format!("{} to {}", percent(least), percent(most))
    };
    Some(format!("{what} {range} of {of}"))
}

/// A share below this is printed in parts per million.
const TINY: f64 = 1e-4;

/// `12.34 %`, or parts per million for a tiny share. Only nothing is `0`, and only all is `100 %`.
pub(super) fn percent(share: f64) -> String {
    match share {
        ..=0.0 => "0".to_owned(),
        1.0.. => "100 %".to_owned(),
        ..TINY => format!("{:.2} ppm", share * 1e6),
        0.9999.. => "99.99 %".to_owned(),
        _ => format!("{:.2} %", share * 100.0),
    }
}

#[cfg(test)]
mod tests;
