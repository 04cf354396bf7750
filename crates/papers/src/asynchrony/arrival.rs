//! The order in which blocks arrive, and the multiprocessors on which they run.
//!
//! The assignment of a launch lists the multiprocessor of each block. On an H200 it is one of sixteen assignments, two
//! for each of eight orders, and the two alternate from launch to launch until a grid does not fit on the device
//! (`docs/notes/addresses-and-block-orders.md`). Each draw therefore begins with such a grid, and some launches follow.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use syncscope_core::run::plain::above_zero;
use syncscope_core::stats::{BatchCount, Level, Proportion, median};

/// A line of `asynchrony_arrivals.csv`: one block of one launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrivalRow {
    /// The draw.
    pub draw: u32,
    /// The launch within the draw.
    pub launch: u32,
    /// The block.
    pub block: u32,
    /// Number of the block's multiprocessor.
    pub multiprocessor: u32,
    /// The block's place in the order of arrival, from 0.
    pub place: u32,
    /// Time after the earliest block of the launch, in steps of the device's timer.
    pub after_first_ns: u64,
}

/// A line of `asynchrony_launches.csv`: which assignment one launch had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchRow {
    /// The draw.
    pub draw: u32,
    /// The launch within the draw.
    pub launch: u32,
    /// Number of the assignment of blocks to multiprocessors, from 1, in order of first appearance.
    pub assignment: u32,
    /// Number of the draw's set of assignments, from 1: an order in the note's terms.
    pub order: u32,
    /// Blocks that arrived after the block with the next lower number.
    pub after_predecessor: u32,
    /// Blocks that have a predecessor.
    pub pairs: u32,
}

/// What the launches of one grid show about block orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderSummary {
    /// Launches.
    pub launches: u32,
    /// Distinct assignments.
    pub assignments: u32,
    /// Draws.
    pub draws: u32,
    /// Draws whose launches alternate between two assignments.
    pub alternating_draws: u32,
    /// Distinct sets of assignments of a draw.
    pub orders: u32,
}

/// A line of `asynchrony_neighbours.csv`: the arrival of neighbouring blocks in grids like those of the kernels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NeighbourRow {
    /// Threads of a block.
    #[serde(deserialize_with = "above_zero")]
    pub block_threads: u32,
    /// Blocks of the grid.
    pub blocks: u32,
    /// Launches.
    pub launches: u32,
    /// Pairs of blocks with successive numbers, in all launches.
    pub pairs: u64,
    /// Pairs in which the block with the lower number arrived first.
    pub lower_first: u64,
    /// `lower_first` over `pairs`.
    pub share: Option<f64>,
    /// Lower end of the 95 % interval of `share`; launches are the batches.
    pub share_low: Option<f64>,
    /// Upper end of the interval.
    pub share_high: Option<f64>,
    /// Spearman's rank correlation of a block's number and its place: 1 for increasing order, 0 for no order; median
    /// over the launches.
    pub rank_correlation: Option<f64>,
    /// Time from the earliest to the latest block of a launch: median over the launches.
    pub span_ns: Option<f64>,
    /// Time between the blocks of a pair, whichever is first: median over all pairs. The device's timer has steps.
    pub apart_ns: Option<f64>,
}

/// The multiprocessor of each block of a launch.
fn assignment(launch: &[ArrivalRow]) -> Vec<u32> {
    launch.iter().map(|block| block.multiprocessor).collect()
}

/// Pairs of neighbouring blocks in which the lower number arrived first, out of all pairs.
fn neighbours(launch: &[ArrivalRow]) -> BatchCount {
    let successes = launch.windows(2).filter(|pair| pair[0].place < pair[1].place).count() as u64;
    BatchCount { successes, trials: launch.len().saturating_sub(1) as u64 }
}

/// Spearman's rank correlation of number and place; `None` for fewer than two blocks.
fn rank_correlation(launch: &[ArrivalRow]) -> Option<f64> {
    let count = launch.len() as f64;
    let squared = |(number, block): (usize, &ArrivalRow)| (number as f64 - f64::from(block.place)).powi(2);
    let sum: f64 = launch.iter().enumerate().map(squared).sum();
    (count > 1.0).then(|| 1.0 - 6.0 * sum / (count * (count * count - 1.0)))
}

/// The time from the earliest to the latest block.
fn span_ns(launch: &[ArrivalRow]) -> Option<f64> {
    launch.iter().map(|block| block.after_first_ns as f64).reduce(f64::max)
}

/// Whether the places form an order: each number below the number of blocks, once.
pub(super) fn is_complete(launch: &[ArrivalRow]) -> bool {
    let places: BTreeSet<u32> = launch.iter().map(|block| block.place).collect();
    places.len() == launch.len() && places.last().is_none_or(|last| *last as usize + 1 == launch.len())
}

/// Draws whose blocks are kept: a table of all draws would take megabytes.
const KEPT_DRAWS: u32 = 60;

/// The launches of the first draws, and the first launch with each assignment.
pub fn kept(launches: &[Vec<ArrivalRow>]) -> Vec<ArrivalRow> {
    let mut seen = BTreeSet::new();
    let mut is_kept = |launch: &&Vec<ArrivalRow>| {
        let is_new = seen.insert(assignment(launch));
        is_new || launch.iter().all(|block| block.draw < KEPT_DRAWS)
    };
    launches.iter().filter(|launch| is_kept(launch)).flatten().cloned().collect()
}

/// A row for each launch. Launches of one draw are adjacent.
pub fn launch_rows(launches: &[Vec<ArrivalRow>]) -> Vec<LaunchRow> {
    let mut assignments: HashMap<Vec<u32>, u32> = HashMap::new();
    let mut orders: HashMap<BTreeSet<u32>, u32> = HashMap::new();
    let mut rows = Vec::with_capacity(launches.len());
    for of_draw in launches.chunk_by(|one, next| one[0].draw == next[0].draw) {
        let numbers: Vec<u32> = of_draw.iter().map(|launch| number_of(&mut assignments, assignment(launch))).collect();
        let order = number_of(&mut orders, numbers.iter().copied().collect());
        rows.extend(of_draw.iter().zip(numbers).map(|(launch, assignment)| {
            let BatchCount { successes, trials } = neighbours(launch);
            let (after_predecessor, pairs) = (successes as u32, trials as u32);
            LaunchRow { draw: launch[0].draw, launch: launch[0].launch, assignment, order, after_predecessor, pairs }
        }));
    }
    rows
}

/// The number of `thing`, from 1, in order of first appearance.
fn number_of<T: std::hash::Hash + Eq>(numbers: &mut HashMap<T, u32>, thing: T) -> u32 {
    let next = numbers.len() as u32 + 1;
    *numbers.entry(thing).or_insert(next)
}

/// Counts the orders; `None` without a launch.
pub fn summary(rows: &[LaunchRow]) -> Option<OrderSummary> {
    let distinct = |of: fn(&LaunchRow) -> u32| rows.iter().map(of).max();
    let draws: Vec<&[LaunchRow]> = rows.chunk_by(|one, next| one.draw == next.draw).collect();
    Some(OrderSummary {
        launches: rows.len() as u32,
        assignments: distinct(|row| row.assignment)?,
        draws: draws.len() as u32,
        alternating_draws: draws.iter().filter(|draw| alternates(draw)).count() as u32,
        orders: distinct(|row| row.order)?,
    })
}

/// Whether each launch has the assignment of the launch two before it, and not of the one before it. Two launches
/// cannot show this.
fn alternates(draw: &[LaunchRow]) -> bool {
    draw.len() > 2
        && draw.windows(2).all(|pair| pair[0].assignment != pair[1].assignment)
        && draw.windows(3).all(|three| three[0].assignment == three[2].assignment)
}

/// How neighbouring blocks arrived in launches of one grid.
pub fn neighbour_row(block_threads: u32, launches: &[Vec<ArrivalRow>]) -> NeighbourRow {
    let counts: Vec<BatchCount> = launches.iter().map(|launch| neighbours(launch)).collect();
    let proportion = Proportion::of(&counts, Level::P95);
    let pairs = launches.iter().flat_map(|launch| launch.windows(2));
    let apart: Vec<f64> = pairs.map(|pair| pair[0].after_first_ns.abs_diff(pair[1].after_first_ns) as f64).collect();
    NeighbourRow {
        block_threads,
        blocks: launches.first().map_or(0, |launch| launch.len() as u32),
        launches: launches.len() as u32,
        pairs: counts.iter().map(|count| count.trials).sum(),
        lower_first: counts.iter().map(|count| count.successes).sum(),
        share: proportion.map(|proportion| proportion.share),
        share_low: proportion.map(|proportion| proportion.interval.low),
        share_high: proportion.map(|proportion| proportion.interval.high),
        rank_correlation: median(&launches.iter().filter_map(|launch| rank_correlation(launch)).collect::<Vec<_>>()),
        span_ns: median(&launches.iter().filter_map(|launch| span_ns(launch)).collect::<Vec<_>>()),
        apart_ns: median(&apart),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A launch whose blocks run on these multiprocessors and arrive in numerical order.
    fn launch(draw: u32, launch: u32, multiprocessors: &[u32]) -> Vec<ArrivalRow> {
        let arrival = |(place, multiprocessor): (u32, &u32)| ArrivalRow {
            draw,
            launch,
            block: place,
            multiprocessor: *multiprocessor,
            place,
            after_first_ns: 32 * u64::from(place),
        };
        (0..).zip(multiprocessors).map(arrival).collect()
    }

    #[test]
    fn an_order_is_the_set_of_assignments_of_a_draw() {
        let (one, other, third) = ([0, 1, 2], [1, 0, 2], [2, 1, 0]);
        let launches = [
            launch(0, 0, &one),
            launch(0, 1, &other),
            launch(0, 2, &one),
            launch(1, 0, &other),
            launch(1, 1, &one),
            launch(1, 2, &other),
            launch(2, 0, &third),
            launch(2, 1, &third),
            launch(2, 2, &third),
        ];
        let rows = launch_rows(&launches);
        assert_eq!(rows.iter().map(|row| row.assignment).collect::<Vec<_>>(), [1, 2, 1, 2, 1, 2, 3, 3, 3]);
        assert_eq!(rows.iter().map(|row| row.order).collect::<Vec<_>>(), [1, 1, 1, 1, 1, 1, 2, 2, 2]);
        let expected = OrderSummary { launches: 9, assignments: 3, draws: 3, alternating_draws: 2, orders: 2 };
        assert_eq!(summary(&rows), Some(expected));
        assert_eq!(summary(&[]), None);
    }

    #[test]
    fn two_launches_do_not_show_that_they_alternate() {
        let rows = launch_rows(&[launch(0, 0, &[0, 1]), launch(0, 1, &[1, 0])]);
        assert_eq!(summary(&rows).map(|summary| summary.alternating_draws), Some(0));
        let drifting = launch_rows(&[launch(0, 0, &[0, 1]), launch(0, 1, &[1, 0]), launch(0, 2, &[1, 1])]);
        assert_eq!(summary(&drifting).map(|summary| summary.alternating_draws), Some(0));
    }

    #[test]
    fn neighbours_are_compared_by_place_and_apart_by_time() {
        let mut swapped = launch(0, 0, &[0, 1, 2, 3]);
        swapped.swap(1, 2);
        let row = neighbour_row(8, &[swapped.clone(), launch(0, 1, &[0, 1, 2, 3])]);
        assert_eq!((row.pairs, row.lower_first, row.blocks, row.launches), (6, 5, 4, 2));
        assert_eq!((row.span_ns, row.apart_ns), (Some(96.0), Some(32.0)));
        assert!(row.share_low < row.share && row.share < row.share_high, "{row:?}");
        let rows = kept(&[swapped]);
        assert_eq!(rows[1].place, 2);
        assert_eq!(rows.iter().map(|row| row.after_first_ns).collect::<Vec<_>>(), [0, 64, 32, 96]);
        assert_eq!(neighbour_row(8, &[]).share, None);
    }

    #[test]
    fn the_rank_correlation_is_that_of_the_order() {
        let correlation = |places: &[u32]| {
            let mut launch = launch(0, 0, &vec![0; places.len()]);
            launch.iter_mut().zip(places).for_each(|(block, place)| block.place = *place);
            rank_correlation(&launch)
        };
        assert_eq!(correlation(&[0, 1, 2, 3]), Some(1.0));
        assert_eq!(correlation(&[3, 2, 1, 0]), Some(-1.0));
        assert_eq!(correlation(&[1, 3, 0, 2]), Some(0.0));
        assert_eq!(correlation(&[0]), None);
    }

    #[test]
    fn every_assignment_is_kept_and_not_every_launch() {
        let mut launches: Vec<Vec<ArrivalRow>> = (0..100).map(|draw| launch(draw, 0, &[0, 1])).collect();
        launches.push(launch(100, 0, &[1, 0]));
        let rows = kept(&launches);
        assert_eq!(rows.len(), 2 * (KEPT_DRAWS as usize + 1));
        assert_eq!(rows.last().map(|row| (row.draw, row.multiprocessor)), Some((100, 0)));
    }

    #[test]
    fn an_arrival_that_is_missing_or_counted_twice_shows() {
        let complete = launch(0, 0, &[5, 6, 7]);
        assert!(is_complete(&complete));
        for place in [0, 3] {
            let mut wrong = complete.clone();
            wrong[2].place = place;
            assert!(!is_complete(&wrong), "{place}");
        }
    }
}
