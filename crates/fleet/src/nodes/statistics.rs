//! How far each node is from the median of the fleet, and how certain that is.

use std::collections::HashMap;

use syncscope_core::stats::{Variance, median, median_absolute_deviation, student};

use syncscope_report::{Change, error_of_intervals, rejected, sets};

use super::FleetCell;
use super::node::{Cost, Node};

/// The degrees of freedom with which the known difference between runs of one node counts.
const PRIOR_DEGREES: f64 = 4.0;

/// The ratio of a normal distribution's standard deviation to its median absolute deviation.
const MAD_TO_DEVIATION: f64 = 1.4826;

/// The efficiency of the median absolute deviation: n values determine the spread as well as 0.37 n values do by the
/// standard deviation (Rousseeuw and Croux, *Alternatives to the Median Absolute Deviation*, 1993).
const MAD_EFFICIENCY: f64 = 0.37;

/// The deviation of one primitive on one node from the median of the fleet, as natural logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Deviation {
    ns: f64,
    cycles: Option<f64>,
    /// Standard deviation of `ns` over runs of this node.
    of_run: f64,
    cases: usize,
}

/// A cell before its verdict, which depends on all cells.
struct Tested {
    deviation: Deviation,
    /// Standard error of the deviation in time.
    error: f64,
    /// The p-value of "differs by no more than the threshold".
    different: f64,
    /// The p-value of "differs by at least the threshold".
    same: f64,
}

impl Tested {
    fn of(deviation: Deviation, error: f64, degrees: f64, threshold: f64) -> Self {
        let (limit, ns) = (threshold.ln_1p(), deviation.ns);
        let tail = |distance: f64| student::upper_tail(distance / error, degrees);
        let different = (2.0 * tail(ns.abs() - limit)).min(1.0);
        Self { deviation, error, different, same: tail(limit - ns).max(tail(limit + ns)) }
    }

    /// The cell with its verdict and the interval that decides it, `quantile` standard errors to either side.
    fn judged(&self, change: Change, quantile: f64) -> FleetCell {
        let (Deviation { ns, cycles, cases, .. }, half) = (self.deviation, quantile * self.error);
        let [ratio, low, high] = [ns, ns - half, ns + half].map(f64::exp);
        FleetCell { ratio, low, high, cycles_ratio: cycles.map(f64::exp), cases, change }
    }
}

/// The deviations of all nodes.
pub(super) struct Statistics {
    /// The deviations by node and primitive.
    deviations: Vec<Vec<Option<Deviation>>>,
    /// The spread of the nodes in each primitive.
    pub(super) spreads: Vec<Option<f64>>,
    /// For each node, the number of cases for which most nodes have a figure and this one has none.
    pub(super) missing: Vec<usize>,
}

impl Statistics {
    pub(super) fn of(nodes: &[Node], primitives: &[String]) -> Self {
        let typical = typical_costs(nodes);
        let deviations: Vec<Vec<Option<Deviation>>> =
            nodes.iter().map(|node| deviations_of(node, &typical, primitives)).collect();
        let spread = |primitive: usize| {
            let values: Vec<f64> = deviations.iter().filter_map(|node| Some(node[primitive]?.ns)).collect();
            median_absolute_deviation(&values).map(|spread| spread * MAD_TO_DEVIATION)
        };
        let missing =
            |node: &Node| typical.len() - node.all_costs().filter(|(case, _)| typical.contains_key(case)).count();
        Self {
            spreads: (0..primitives.len()).map(spread).collect(),
            missing: nodes.iter().map(missing).collect(),
            deviations,
        }
    }

    /// The cells of all nodes with their verdicts.
    pub(super) fn cells(&self, threshold: f64) -> Vec<Vec<Option<FleetCell>>> {
        let spread_degrees = (self.deviations.len() as f64 - 1.0) * MAD_EFFICIENCY;
        // A few nodes determine their spread badly, and it may be zero by chance; how much runs differ is known
        // beforehand.
        let moderated = |primitive: usize| {
            let of_runs: Vec<f64> = self.deviations.iter().filter_map(|node| Some(node[primitive]?.of_run)).collect();
            let (of_runs, spread) = (median(&of_runs).unwrap_or(0.0), self.spreads[primitive].unwrap_or(0.0));
            Variance { value: spread.powi(2), degrees: spread_degrees }
                .moderated(Variance { value: of_runs.powi(2), degrees: PRIOR_DEGREES })
        };
        let spreads: Vec<Variance> = (0..self.spreads.len()).map(moderated).collect();
        let degrees = spreads.first().map_or(spread_degrees, |spread| spread.degrees);
        let cell = |(deviation, spread): (&Option<Deviation>, &Variance)| {
            let deviation = (*deviation)?;
            // The spread of the nodes includes the difference between a node's runs: the larger one counts.
            let error = deviation.of_run.max(spread.value.sqrt()).max(f64::MIN_POSITIVE);
            Some(Tested::of(deviation, error, degrees, threshold))
        };
        let tested: Vec<Vec<Option<Tested>>> =
            self.deviations.iter().map(|node| node.iter().zip(&spreads).map(cell).collect()).collect();
        judged(&tested, degrees)
    }
}

/// Gives each cell its verdict and its interval, both corrected for the number of cells: a cell differs if and only if
/// its whole interval is beyond the threshold.
fn judged(cells: &[Vec<Option<Tested>>], degrees: f64) -> Vec<Vec<Option<FleetCell>>> {
    let tested: Vec<&Tested> = cells.iter().flatten().flatten().collect();
    let different = rejected(&tested.iter().map(|tested| tested.different).collect::<Vec<_>>());
    let same = rejected(&tested.iter().map(|tested| tested.same).collect::<Vec<_>>());
    // "Same" consists of two one-sided tests.
    let of_different = student::quantile(error_of_intervals(&different) / 2.0, degrees);
    let of_same = student::quantile(error_of_intervals(&same), degrees);
    let mut verdicts = different.into_iter().zip(same);
    let mut verdict = |tested: &Tested| match verdicts.next() {
        Some((true, _)) if tested.deviation.ns > 0.0 => tested.judged(Change::Slower, of_different),
        Some((true, _)) => tested.judged(Change::Faster, of_different),
        Some((false, true)) => tested.judged(Change::Same, of_same),
        _ => tested.judged(Change::Undecided, of_different),
    };
    cells.iter().map(|node| node.iter().map(|cell| cell.as_ref().map(&mut verdict)).collect()).collect()
}

/// The smallest number of nodes that is more than half of `nodes`.
pub(super) fn most_of(nodes: usize) -> usize {
    nodes / 2 + 1
}

/// The medians of time and cycles over the nodes, as natural logarithms.
type TypicalCost = (f64, Option<f64>);

/// The median costs of the cases that more than half of the nodes have.
fn typical_costs(nodes: &[Node]) -> HashMap<u64, TypicalCost> {
    let middle = |values: Vec<f64>| median(&values).filter(|_| values.len() >= most_of(nodes.len()));
    let typical = |(case, costs): (&u64, Vec<&Cost>)| {
        let ns = middle(costs.iter().map(|cost| cost.log_ns).collect())?;
        Some((*case, (ns, middle(costs.iter().filter_map(|cost| cost.log_cycles).collect()))))
    };
    sets(nodes.iter().flat_map(Node::all_costs)).into_iter().filter_map(typical).collect()
}

fn deviations_of(node: &Node, typical: &HashMap<u64, TypicalCost>, primitives: &[String]) -> Vec<Option<Deviation>> {
    let deviation = |primitive: &String| {
        let own = node.costs.get(primitive)?.iter();
        let cases: Vec<_> = own.filter_map(|(case, cost)| Some((cost, typical.get(case)?))).collect();
        let middle = |of: fn(&Cost, &TypicalCost) -> Option<f64>| {
            median(&cases.iter().filter_map(|(cost, typical)| of(cost, typical)).collect::<Vec<_>>())
        };
        Some(Deviation {
            ns: middle(|cost, (ns, _)| Some(cost.log_ns - ns))?,
            cycles: middle(|cost, (_, cycles)| Some(cost.log_cycles? - (*cycles)?)),
            of_run: middle(|cost, _| Some(cost.deviation))?,
            cases: cases.len(),
        })
    };
    primitives.iter().map(deviation).collect()
}
