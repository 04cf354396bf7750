//! The length of kernels from which one way to synchronize is cheaper than another.

use std::cmp::Ordering;

use syncscope_core::stats::Interval;

use crate::analysis::contest::{Contest, Known};

/// A new kernel, launched in one way, by the length of the kernels in microseconds.
pub(super) type ByLength<'a> = Vec<(u32, Known<'a>)>;

/// Where the cheaper one changes, as the length grows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BreakEven {
    /// The longest length at which the one before is certainly cheaper, and the shortest one at which the other one is.
    pub(super) between: (u32, u32),
    /// The estimate between them, by straight lines on logarithmic axes.
    pub(super) at_us: f64,
    /// Whether the launch is the cheaper one beyond it.
    pub(super) launch_wins: bool,
}

/// How a launch stands to the barriers of the grid: `Less` where it is certainly cheaper than all of them, `Greater` where
/// one of them is certainly cheaper; `None` where that is open.
pub(super) fn standing<'a>(launch: &Known<'a>, grid: &Contest<'a>) -> Option<Ordering> {
    let (_, best) = grid.best()?;
    if grid.is_above(launch) {
        return Some(Ordering::Less);
    }
    best.across(*launch)?.is_certain().then_some(Ordering::Greater)
}

/// The break-even points of a launch, in the order of the lengths, which must grow. Lengths at which nothing is certain lie
/// between those of a point.
pub(super) fn break_evens<'a>(launch: &ByLength<'a>, grid: &Contest<'a>) -> Vec<BreakEven> {
    let Some((_, best)) = grid.best() else { return Vec::new() };
    let decided: Vec<(u32, Ordering)> =
        launch.iter().filter_map(|(length, known)| Some((*length, standing(known, grid)?))).collect();
    let point = |pair: &[(u32, Ordering)]| {
        let [(first, before), (last, after)] = pair else { return None };
        let within = launch.iter().filter(|(length, _)| (first..=last).contains(&length));
        let costs: Vec<(f64, f64)> = within.map(|(length, known)| (f64::from(*length), known.ns)).collect();
        let at_us = costs.windows(2).find_map(|pair| crossing(pair[0], pair[1], best.ns))?;
        (before != after).then_some(BreakEven {
            between: (*first, *last),
            at_us,
            launch_wins: *after == Ordering::Less,
        })
    };
    decided.windows(2).filter_map(point).collect()
}

/// Where the line from one length and cost to another one has this cost; `None` where it does not reach it.
fn crossing((from, from_ns): (f64, f64), (to, to_ns): (f64, f64), ns: f64) -> Option<f64> {
    let share = (ns.ln() - from_ns.ln()) / (to_ns.ln() - from_ns.ln());
    (0.0..=1.0).contains(&share).then(|| (from.ln() + share * (to.ln() - from.ln())).exp())
}

/// What a launch costs more than the best barrier, in nanoseconds: negative where it is cheaper. The two are timed by two
/// clocks, so the interval adds both.
pub(super) fn margin(launch: &Known<'_>, grid: &Contest<'_>) -> Option<(f64, Interval)> {
    let (_, best) = grid.best()?;
    let interval = Interval { low: launch.bounds.low - best.bounds.high, high: launch.bounds.high - best.bounds.low };
    Some((launch.ns - best.ns, interval))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunData;
    use crate::analysis::contest::{Basis, Entrant};
    use crate::testing;
    use syncscope_core::{Case, Group, Nanoseconds, Row, Verdict};

    fn row(case: Case, ns: f64, share: f64) -> Row {
        let around = Some(Interval { low: ns * (1.0 - share), high: ns * (1.0 + share) });
        Row {
            ns: Some(Nanoseconds(ns)),
            ns_interval: around,
            ns_within: around,
            ..Row::unmeasured(case, Verdict::Resolved)
        }
    }

    /// A barrier of 800 ns, and kernels of these lengths and costs.
    fn data(costs: &[(u32, f64, f64)]) -> RunData {
        let kernel = |(length, ns, share): &(u32, f64, f64)| {
            row(Case { group: Some(Group::numbered("# us", *length)), ..Case::new("gpu.launch.graph") }, *ns, *share)
        };
        let barrier = row(Case::new("gpu.grid.counter"), 800.0, 0.01);
        testing::data(std::iter::once(barrier).chain(costs.iter().map(kernel)).collect())
    }

    /// The barrier.
    fn grid(data: &RunData) -> Contest<'_> {
        Contest::of(vec![Entrant::of(data, 0, Basis::Machine)], Vec::new())
    }

    fn found(costs: &[(u32, f64, f64)]) -> Vec<BreakEven> {
        let data = data(costs);
        let known = |index| Known::of(&data, index, Basis::Machine).unwrap();
        let launch: ByLength<'_> = costs.iter().enumerate().map(|(at, cost)| (cost.0, known(at + 1))).collect();
        break_evens(&launch, &grid(&data))
    }

    #[test]
    fn the_point_lies_between_the_lengths_that_are_certain() {
        let points = found(&[(1, 1600.0, 0.01), (4, 400.0, 0.01), (8, 400.0, 0.01)]);
        assert_eq!(points.len(), 1);
        // A quarter of the cost at four times the length: by the logarithms, half of it at twice the length.
        assert!((points[0].at_us - 2.0).abs() < 1e-9, "{points:?}");
        // At 3 µs nothing is certain, and the estimate is beyond it.
        let open = found(&[(1, 1600.0, 0.01), (3, 820.0, 0.1), (4, 400.0, 0.01), (8, 400.0, 0.01)]);
        assert_eq!((open[0].between, open[0].launch_wins), ((1, 4), true));
        assert!(open[0].at_us > 3.0 && open[0].at_us < 3.1, "{open:?}");
    }

    #[test]
    fn a_launch_that_never_wins_has_no_point_and_one_that_turns_has_two() {
        assert_eq!(found(&[(1, 1600.0, 0.01), (100, 1500.0, 0.01)]), []);
        assert_eq!(found(&[(1, 810.0, 0.1), (100, 790.0, 0.1)]), [], "nothing is certain");
        let turns = found(&[(1, 1600.0, 0.01), (5, 400.0, 0.01), (100, 1600.0, 0.01)]);
        assert_eq!(turns.iter().map(|point| point.launch_wins).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn a_barrier_without_a_figure_leaves_the_cheaper_launch_open() {
        let data = data(&[(5, 400.0, 0.01)]);
        let known = |index| Known::of(&data, index, Basis::Machine).unwrap();
        let unknown = Entrant { name: "other".into(), index: 0, known: None };
        let with_unknown = grid(&data).with(Contest::of(vec![unknown], Vec::new()));
        assert_eq!(standing(&known(1), &grid(&data)), Some(Ordering::Less));
        assert_eq!(standing(&known(1), &with_unknown), None);
        let (more, interval) = margin(&known(1), &grid(&data)).unwrap();
        assert_eq!((more, interval), (-400.0, Interval { low: 396.0 - 808.0, high: 404.0 - 792.0 }));
    }
}
