//! The ways to launch kernels, and the length of kernels from which one of them is cheaper than a barrier, as table and words.

use std::cmp::Ordering;

use super::prelude::*;
use crate::naming::{KERNEL_US, SWEEP_US};

/// The names of a way to launch a kernel after another one, in a sentence and in a chart.
pub(super) fn words(id: &str) -> (&str, &str) {
    match short_name(id) {
        "graph" => ("a graph", "in a graph"),
        "stream" => ("a launch into a plain stream", "in a stream"),
        "wait_value" => ("a stream that waits for a value", "behind a value"),
        "event_wait" => ("a stream that waits for an event", "behind an event"),
        "conditional" => ("a graph loop", "in a graph loop"),
        "programmatic" => ("programmatic launch with an early trigger", "programmatic, early trigger"),
        "programmatic_end" => ("programmatic launch with a late trigger", "programmatic, late trigger"),
        "programmatic_wait" => ("programmatic launch without a trigger", "programmatic, no trigger"),
        "programmatic_graph" => ("a programmatic graph with an early trigger", "programmatic graph, early trigger"),
        "programmatic_graph_wait" => ("a programmatic graph without a trigger", "programmatic graph, no trigger"),
        "device_graph" => ("a device-launched graph", "in a device graph"),
        other => (other, other),
    }
}

/// The length of a kernel in microseconds; `None` for empty kernels.
pub(super) fn length(case: &Case) -> Option<u32> {
    [KERNEL_US, SWEEP_US].into_iter().find_map(|word| case.group_number(word))
}

/// The barriers that launches are compared with. Kernels that access memory are compared with a barrier between the same
/// accesses at each length, others with the barriers of a grid, which do not depend on the length.
pub(super) struct Barriers<'a> {
    /// The barriers for the usual length.
    pub(super) usual: Contest<'a>,
    pub(super) by_length: BTreeMap<u32, Contest<'a>>,
}

impl<'a> Barriers<'a> {
    pub(super) const fn of(usual: Contest<'a>) -> Self {
        Self { usual, by_length: BTreeMap::new() }
    }

    pub(super) fn at(&self, length: u32) -> &Contest<'a> {
        self.by_length.get(&length).unwrap_or(&self.usual)
    }
}

/// The cost of a new kernel, launched in one way, by the length of the kernels in microseconds.
pub(super) type ByLength<'a> = Vec<(u32, Known<'a>)>;

/// A length at which the cheaper choice changes, as kernels get longer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BreakEven {
    /// The last length at which the earlier choice is certainly cheaper, and the first at which the later one is.
    pub(super) between: (u32, u32),
    /// The estimate between these lengths, by straight lines on logarithmic axes.
    pub(super) at_us: f64,
    /// Whether the launch is cheaper beyond this length.
    pub(super) launch_wins: bool,
}

/// Compares the cost of a launch with grid barriers: `Less` if it is certainly cheaper than all of them, `Greater` if one of
/// them is certainly cheaper, `None` if that is open.
pub(super) fn standing<'a>(launch: &Known<'a>, grid: &Contest<'a>) -> Option<Ordering> {
    let (_, best) = grid.best()?;
    if grid.is_above(launch) {
        return Some(Ordering::Less);
    }
    best.across(*launch)?.is_certain().then_some(Ordering::Greater)
}

/// The break-even points of a launch, in the order of the lengths, which must grow. Lengths at which nothing is certain lie
/// inside a point's `between`.
pub(super) fn break_evens<'a>(launch: &ByLength<'a>, grid: &Barriers<'a>) -> Vec<BreakEven> {
    let decided: Vec<(u32, Ordering)> =
        launch.iter().filter_map(|(length, known)| Some((*length, standing(known, grid.at(*length))?))).collect();
    let relative = |(length, known): &(u32, Known<'a>)| {
        let (_, best) = grid.at(*length).best()?;
        Some((f64::from(*length), known.ns / best.ns))
    };
    let point = |pair: &[(u32, Ordering)]| {
        let [(first, before), (last, after)] = pair else { return None };
        let within = launch.iter().filter(|(length, _)| (first..=last).contains(&length));
        let costs: Vec<(f64, f64)> = within.filter_map(relative).collect();
        let at_us = costs.windows(2).find_map(|pair| crossing(pair[0], pair[1]))?;
        let (between, launch_wins) = ((*first, *last), *after == Ordering::Less);
        (before != after).then_some(BreakEven { between, at_us, launch_wins })
    };
    decided.windows(2).filter_map(point).collect()
}

/// The length at which the line between two points of length and cost ratio reaches 1; `None` if it does not.
fn crossing((from, before): (f64, f64), (to, after): (f64, f64)) -> Option<f64> {
    let share = -before.ln() / (after.ln() - before.ln());
    (0.0..=1.0).contains(&share).then(|| (from.ln() + share * (to.ln() - from.ln())).exp())
}

/// The extra cost of a launch over the best barrier, in nanoseconds; negative if it is cheaper. Two clocks time the two, so
/// the interval adds both.
pub(super) fn margin(launch: &Known<'_>, grid: &Contest<'_>) -> Option<(f64, Interval)> {
    let (_, best) = grid.best()?;
    let [launch, best] = launch.on_one_basis(best);
    let interval = Interval { low: launch.bounds.low - best.bounds.high, high: launch.bounds.high - best.bounds.low };
    Some((launch.ns - best.ns, interval))
}

/// The costs of one way to launch kernels, by their length, and its break-even points with the barriers.
pub(super) struct Way<'a> {
    id: &'static str,
    launch: ByLength<'a>,
    points: Vec<BreakEven>,
}

impl Way<'_> {
    /// The break-even points as vertical lines.
    pub(super) fn rules(&self) -> Vec<Rule> {
        let label = |at_us| format!("{}: {}", words(self.id).1, microseconds(at_us));
        self.points.iter().map(|point| Rule { x: point.at_us, label: label(point.at_us) }).collect()
    }
}

/// Every way to launch, in the order of the catalogue. Ways without a known cost are left out.
pub(super) fn ways<'a>(data: &'a RunData, launches: &[usize], grid: &Barriers<'_>, basis: Basis) -> Vec<Way<'a>> {
    let of = |id: &'static str| {
        let own = launches.iter().filter(|index| data.case(**index).primitive == id);
        let known = own.filter_map(|index| Some((length(data.case(*index))?, Known::of(data, *index, basis)?)));
        let mut launch: ByLength<'_> = known.collect();
        launch.sort_by_key(|(length, _)| *length);
        let points = break_evens(&launch, grid);
        Way { id, launch, points }
    };
    data.catalogue.with_role(Role::Launch).map(|one| of(one.id)).filter(|way| !way.launch.is_empty()).collect()
}

/// `1.9 µs`, `24 µs`.
fn microseconds(length: f64) -> String {
    if length < 9.95 { format!("{length:.1} µs") } else { format!("{length:.0} µs") }
}

/// A difference of times with its sign: `−118 ns`.
fn signed(ns: f64) -> String {
    format!("{}{}", if ns < 0.0 { "−" } else { "+" }, figure::time(ns.abs()))
}

/// The table of break-even points, and of the extra cost of a new kernel over the best barrier for the shortest and the
/// longest kernels.
pub(super) fn margins(ways: &[Way<'_>], grid: &Barriers<'_>) -> Option<Spec> {
    let (best, _) = grid.usual.best()?;
    let cell = |(length, known): &(u32, Known<'_>)| {
        let grid = grid.at(*length);
        let (_, best_cost) = grid.best()?;
        let (more, interval) = margin(known, grid)?;
        Some(Cell {
            value: Some(more).filter(|_| standing(known, grid) == Some(Ordering::Greater)),
            text: match (known.has_figure() && best_cost.has_figure(), known.is_written() && best_cost.is_written()) {
                (true, _) => signed(more),
                (_, true) => format!("{} to {}", signed(interval.low), signed(interval.high)),
                _ => reading::NO_NUMBER.to_owned(),
            },
            detail: Some(format!("{} to {}", signed(interval.low), signed(interval.high))),
            ..Cell::note(String::new(), known.index)
        })
    };
    let shortest = ways.iter().filter_map(|way| way.launch.first()).map(|(length, _)| *length).min()?;
    let longest = ways.iter().filter_map(|way| way.launch.last()).map(|(length, _)| *length).max()?;
    let line = |Way { id, launch, points }: &Way<'_>| {
        let at = |length: u32| launch.iter().find(|(own, _)| *own == length).and_then(cell);
        let (_, first) = launch.first()?;
        let names = words(id);
        let words = |of: fn(&BreakEven) -> String| joined(points.iter().map(|one| Some(of(one))), ", ");
        let break_even = Cell {
            detail: words(|one| format!("{} to {} µs", one.between.0, one.between.1)),
            ..Cell::note(words(|one| microseconds(one.at_us)).unwrap_or_else(|| "none".to_owned()), first.index)
        };
        Some(Line { label: names.1.to_owned(), cells: vec![Some(break_even), at(shortest), at(longest)] })
    };
    let columns = ["break-even".to_owned(), format!("at {shortest} µs"), format!("at {longest} µs")];
    let title = format!("A new kernel against the barrier ({})", best.name);
    Spec::table(&title, &columns, ways.iter().filter_map(line).collect())
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
        break_evens(&launch, &Barriers::of(grid(&data)))
    }

    #[test]
    fn the_point_lies_between_the_lengths_that_are_certain() {
        let points = found(&[(1, 1600.0, 0.01), (4, 400.0, 0.01), (8, 400.0, 0.01)]);
        assert_eq!(points.len(), 1);
        // A quarter of the cost at four times the length: on logarithmic axes, half the cost at twice the length.
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
