//! Compares many nodes: what is typical, which nodes differ, and what their runs record that may explain it.
//!
//! - `node`: the numbers that are kept of a run
//! - `statistics`: how far a node is from the median of the fleet, and how certain that is
//! - [`page`] and [`text`]: the output
//! - `cause`: what a node's run records that the runs of other nodes do not
//!
//! The unit is a primitive on a node. Its deviation is the median, over the primitive's cases, of the cost relative to
//! the median of all nodes. Costs of a primitive rise and fall together from run to run, so many cases do not make a
//! deviation more certain than one.

mod cause;
mod node;
pub mod page;
mod statistics;
#[cfg(test)]
mod tests;
pub mod text;

use std::collections::BTreeSet;

use serde::Serialize;

use self::node::Node;
use self::statistics::Statistics;
use syncscope_report::{Change, RunData};

/// The fewest nodes that have a typical one.
pub(crate) const FEWEST_NODES: usize = 3;

/// The nodes so far. Only a few numbers per case are kept of each run.
#[derive(Debug, Default)]
pub struct Fleet {
    nodes: Vec<Node>,
}

/// One primitive on one node.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FleetCell {
    /// The cost relative to the median node.
    pub ratio: f64,
    /// Lower end of the interval that decides the verdict, corrected for the number of cells.
    #[serde(rename = "ratio_low")]
    pub low: f64,
    /// Upper end of the same interval.
    #[serde(rename = "ratio_high")]
    pub high: f64,
    /// The ratio in cycles, where the rows have cycles. If only the ratio in time differs from 1, the clock differs.
    pub cycles_ratio: Option<f64>,
    /// The number of cases behind the ratio.
    pub cases: usize,
    /// Whether the node certainly differs by more than the threshold.
    pub change: Change,
}

impl FleetCell {
    /// Whether the node certainly differs.
    pub(crate) fn differs(&self) -> bool {
        matches!(self.change, Change::Slower | Change::Faster)
    }
}

/// A node and its primitives.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetNode {
    /// The name of the node's directory.
    pub name: String,
    /// The cells in the order of [`ExaminedFleet::primitives`]; `None` where too few cases have a figure.
    pub cells: Vec<Option<FleetCell>>,
    /// The number of cases for which most nodes have a figure and this node has none.
    pub missing: usize,
    /// What the node's run records that may explain its deviations, likeliest first. Empty for a node that does not
    /// differ.
    pub causes: Vec<String>,
}

impl FleetNode {
    /// Whether a primitive certainly differs.
    pub(crate) fn is_outlier(&self) -> bool {
        self.outlying().next().is_some()
    }

    /// The primitives that certainly differ, as indices with their cells.
    pub(crate) fn outlying(&self) -> impl Iterator<Item = (usize, &FleetCell)> {
        let cells = self.cells.iter().enumerate();
        cells.filter_map(|(at, cell)| Some((at, cell.as_ref().filter(|cell| cell.differs())?)))
    }
}

/// A fleet and what was found in it.
#[derive(Debug, Clone, PartialEq)]
pub struct ExaminedFleet {
    /// The primitives, such as `cpu.atomic`, in alphabetical order.
    pub primitives: Vec<String>,
    /// The relative spread of the nodes in each primitive: the median absolute deviation, scaled to a standard
    /// deviation.
    pub spreads: Vec<Option<f64>>,
    /// The nodes, in the order in which they were added.
    pub nodes: Vec<FleetNode>,
    /// The relative difference that counts.
    pub threshold: f64,
    /// Pairs of nodes with one and the same run, which counts twice.
    pub copies: Vec<(String, String)>,
}

impl ExaminedFleet {
    /// The nodes that differ.
    pub fn outliers(&self) -> impl Iterator<Item = &FleetNode> {
        self.nodes.iter().filter(|node| node.is_outlier())
    }

    /// Whether any node has a deviation in this primitive.
    pub(crate) fn is_compared(&self, primitive: usize) -> bool {
        self.nodes.iter().any(|node| node.cells[primitive].is_some())
    }

    /// The number of primitives that are compared.
    pub fn compared(&self) -> usize {
        (0..self.primitives.len()).filter(|primitive| self.is_compared(*primitive)).count()
    }

    /// The number of nodes on which a case needs a figure to be compared: more than half of them.
    pub(crate) fn nodes_for_a_comparison(&self) -> usize {
        statistics::most_of(self.nodes.len())
    }
}

impl Fleet {
    /// Each node with the same run as an earlier node, after that node.
    fn copies(&self) -> Vec<(String, String)> {
        let is_copy = |one: &Node, other: &Node| one.identity == other.identity && one.costs == other.costs;
        let first = |at: usize, node: &Node| self.nodes[..at].iter().find(|other| is_copy(node, other));
        let both = |(at, node): (usize, &Node)| Some((first(at, node)?.name.clone(), node.name.clone()));
        self.nodes.iter().enumerate().filter_map(both).collect()
    }

    /// Adds the run of a node.
    pub fn add(&mut self, data: &RunData) {
        self.nodes.push(Node::of(data));
    }

    /// Finds the nodes that differ from the median node by more than `threshold` (0.05 for 5 %). Each verdict is
    /// corrected for the number of nodes and primitives. `None` with fewer than three nodes.
    pub fn examine(&self, threshold: f64) -> Option<ExaminedFleet> {
        if self.nodes.len() < FEWEST_NODES {
            return None;
        }
        let primitives: BTreeSet<&String> = self.nodes.iter().flat_map(|node| node.costs.keys()).collect();
        let primitives: Vec<String> = primitives.into_iter().cloned().collect();
        let statistics = Statistics::of(&self.nodes, &primitives);
        let cells = statistics.cells(threshold);
        let typical = cause::Typical::of(&self.nodes);
        let nodes = self.nodes.iter().zip(cells).zip(&statistics.missing).map(|((node, cells), missing)| {
            let mut found = FleetNode { name: node.name.clone(), cells, missing: *missing, causes: Vec::new() };
            if found.is_outlier() {
                found.causes = typical.causes(node, &found, &primitives);
            }
            found
        });
        let nodes = nodes.collect();
        Some(ExaminedFleet { nodes, spreads: statistics.spreads, primitives, threshold, copies: self.copies() })
    }
}
