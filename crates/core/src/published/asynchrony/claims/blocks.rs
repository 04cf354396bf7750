//! The claims about the order of blocks: in which they arrive, and on which multiprocessors.

use super::super::Variant;
use super::super::arrival::{NeighbourRow, OrderSummary};
use super::super::claim::{Claim, ClaimVerdict};
use super::row::{ClaimRow, is_in_paper};
use super::together::together;

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
    let found = format!(
        "{orders} orders, {assignments} assignments in {launches} launches; two alternate in {alternating_draws} of \
             {draws} draws"
    );
    Some(ClaimRow::without_share(Claim::EightOrders, verdict, found))
}

#[cfg(test)]
mod tests {
    use ClaimVerdict::{CannotBeDecided, DoesNotHold, Holds};

    use super::*;

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
