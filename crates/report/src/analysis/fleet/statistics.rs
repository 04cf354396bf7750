//! How far each node is from the median of the fleet, and how certain that is.

use std::collections::HashMap;

use syncscope_core::stats::{median, median_absolute_deviation, student};

use super::FleetCell;
use super::node::{Cost, Node};
use crate::analysis::compare::Change;
use crate::analysis::compare::discoveries;

/// The standard deviation of a normal distribution with this median absolute deviation is so many times as large.
const MAD_TO_DEVIATION: f64 = 1.4826;

/// The efficiency of the median absolute deviation: n values determine the spread as 0.37 n do by the standard deviation
/// (Rousseeuw and Croux, *Alternatives to the Median Absolute Deviation*, 1993).
const MAD_EFFICIENCY: f64 = 0.37;

/// The deviation of a primitive of a node from the median of the fleet, as natural logarithms.
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
    cell: FleetCell,
    /// The p-value of "differs by no more than the threshold".
    different: f64,
    /// The p-value of "differs by at least the threshold".
    same: f64,
}

/// The deviations of all nodes.
pub(super) struct Statistics {
    /// By node and primitive.
    deviations: Vec<Vec<Option<Deviation>>>,
    /// The spread of the nodes in each primitive.
    spreads: Vec<Option<f64>>,
    missing: Vec<usize>,
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
        let missing = |node: &Node| typical.keys().filter(|case| !node.costs.contains_key(case)).count();
        Self {
            spreads: (0..primitives.len()).map(spread).collect(),
            missing: nodes.iter().map(missing).collect(),
            deviations,
        }
    }

    /// The cases that most nodes have a figure for and this one has not.
    pub(super) fn missing(&self, node: usize) -> usize {
        self.missing[node]
    }

    pub(super) fn spreads(&self) -> Vec<Option<f64>> {
        self.spreads.clone()
    }

    /// The cells of all nodes with their verdicts.
    pub(super) fn cells(&self, threshold: f64) -> Vec<Vec<Option<FleetCell>>> {
        let limit = threshold.ln_1p();
        let degrees = ((self.deviations.len() as f64 - 1.0) * MAD_EFFICIENCY).max(2.0);
        // What runs of the node differ by is a part of what the nodes differ by: the larger one counts.
        let standard_error = |deviation: &Deviation, primitive: usize| {
            deviation.of_run.max(self.spreads[primitive].unwrap_or(0.0)).max(f64::MIN_POSITIVE)
        };
        let of_node = |node: &Vec<Option<Deviation>>| -> Vec<Option<Tested>> {
            let cell = |(primitive, deviation): (usize, &Option<Deviation>)| {
                let deviation = deviation.as_ref()?;
                let error = standard_error(deviation, primitive);
                let tail = |distance: f64| student::upper_tail(distance / error, degrees);
                let different = (2.0 * tail(deviation.ns.abs() - limit)).min(1.0);
                let same = tail(limit - deviation.ns).max(tail(limit + deviation.ns));
                let half = student::quantile_95(degrees) * error;
                let cell = FleetCell {
                    ratio: deviation.ns.exp(),
                    low: (deviation.ns - half).exp(),
                    high: (deviation.ns + half).exp(),
                    cycles_ratio: deviation.cycles.map(f64::exp),
                    cases: deviation.cases,
                    change: Change::Undecided,
                };
                Some(Tested { cell, different, same })
            };
            node.iter().enumerate().map(cell).collect()
        };
        judged(&self.deviations.iter().map(of_node).collect::<Vec<_>>())
    }
}

/// Gives each cell its verdict; its p-values are corrected for the number of cells.
fn judged(cells: &[Vec<Option<Tested>>]) -> Vec<Vec<Option<FleetCell>>> {
    let tested: Vec<&Tested> = cells.iter().flatten().flatten().collect();
    let different = discoveries::rejected(&tested.iter().map(|tested| tested.different).collect::<Vec<_>>());
    let same = discoveries::rejected(&tested.iter().map(|tested| tested.same).collect::<Vec<_>>());
    let mut verdicts = different.into_iter().zip(same);
    let mut verdict = |cell: FleetCell| {
        let change = match verdicts.next() {
            Some((true, _)) if cell.ratio > 1.0 => Change::Slower,
            Some((true, _)) => Change::Faster,
            Some((false, true)) => Change::Same,
            _ => Change::Undecided,
        };
        FleetCell { change, ..cell }
    };
    cells
        .iter()
        .map(|node| node.iter().map(|cell| cell.as_ref().map(|tested| verdict(tested.cell))).collect())
        .collect()
}

/// The fewest of so many nodes that are more than half of them.
pub(super) fn most_of(nodes: usize) -> usize {
    nodes / 2 + 1
}

/// The median costs of the cases that more than half of the nodes have.
fn typical_costs(nodes: &[Node]) -> HashMap<u64, (f64, Option<f64>)> {
    let mut all: HashMap<u64, (Vec<f64>, Vec<f64>)> = HashMap::new();
    for (case, cost) in nodes.iter().flat_map(|node| &node.costs) {
        let (ns, cycles) = all.entry(*case).or_default();
        ns.push(cost.log_ns);
        cycles.extend(cost.log_cycles);
    }
    let typical = |(case, (ns, cycles)): (u64, (Vec<f64>, Vec<f64>))| {
        let is_common = ns.len() >= most_of(nodes.len());
        let have_cycles = cycles.len() >= most_of(nodes.len());
        let cycles = if have_cycles { median(&cycles) } else { None };
        is_common.then_some((case, (median(&ns)?, cycles)))
    };
    all.into_iter().filter_map(typical).collect()
}

fn deviations_of(
    node: &Node,
    typical: &HashMap<u64, (f64, Option<f64>)>,
    primitives: &[String],
) -> Vec<Option<Deviation>> {
    // The cost, and how far time and cycles are from the median.
    type Case<'a> = (&'a Cost, f64, Option<f64>);
    let mut by_primitive: HashMap<&str, Vec<Case<'_>>> = HashMap::new();
    for (case, cost) in &node.costs {
        let Some((ns, cycles)) = typical.get(case) else { continue };
        let of_cycles = cost.log_cycles.zip(*cycles).map(|(own, typical)| own - typical);
        by_primitive.entry(node.primitive_of(cost)).or_default().push((cost, cost.log_ns - ns, of_cycles));
    }
    let deviation = |primitive: &String| {
        let cases = by_primitive.get(primitive.as_str())?;
        let cycles: Vec<f64> = cases.iter().filter_map(|(_, _, cycles)| *cycles).collect();
        Some(Deviation {
            ns: median(&cases.iter().map(|(_, ns, _)| *ns).collect::<Vec<_>>())?,
            cycles: if cycles.is_empty() { None } else { median(&cycles) },
            of_run: median(&cases.iter().map(|(cost, ..)| cost.deviation).collect::<Vec<_>>())?,
            cases: cases.len(),
        })
    };
    primitives.iter().map(deviation).collect()
}
