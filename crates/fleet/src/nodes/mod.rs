//! Many nodes side by side: what is typical, which nodes differ, and what their runs record that may explain it.
//!
//! - `node`: what is kept of a run
//! - `statistics`: how far a node is from the median of the fleet, and how certain that is
//! - [`page`] and [`text`]: what is shown of it
//! - `cause`: what a node's run records that those of the others do not
//!
//! The unit is a primitive of a node. Its deviation is the median, over its cases, of the cost relative to the median of all
//! nodes. Costs of a primitive rise and fall together from run to run, so many cases do not make a deviation more certain
//! than one.

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

/// Fewer nodes have no typical one.
pub(crate) const FEWEST_NODES: usize = 3;

/// The nodes so far. Of each run only a few numbers for each case are kept.
#[derive(Debug, Default)]
pub struct Fleet {
    nodes: Vec<Node>,
}

/// One primitive of one node.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FleetCell {
    /// The cost over that of the median node.
    pub ratio: f64,
    /// Lower end of the interval that decides the verdict, corrected for the number of cells.
    #[serde(rename = "ratio_low")]
    pub low: f64,
    /// Upper end.
    #[serde(rename = "ratio_high")]
    pub high: f64,
    /// The same in cycles, where the rows have them. At an unchanged number of cycles the clock differs.
    pub cycles_ratio: Option<f64>,
    /// The cases that it rests on.
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
    /// The name of its directory.
    pub name: String,
    /// In the order of [`ExaminedFleet::primitives`]; `None` where too few cases have a figure.
    pub cells: Vec<Option<FleetCell>>,
    /// The cases that most nodes have a figure for and this one has not.
    pub missing: usize,
    /// What its run records that may explain its deviations, the likeliest first. Empty for a node that does not differ.
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
    /// `cpu.atomic`, in the order of names.
    pub primitives: Vec<String>,
    /// The spread of the nodes in each primitive: the median absolute deviation, as a standard deviation, relative.
    pub spreads: Vec<Option<f64>>,
    /// The nodes, in the order in which they were added.
    pub nodes: Vec<FleetNode>,
    /// The relative difference that counts.
    pub threshold: f64,
    /// Nodes whose runs are one run, so that they count twice.
    pub copies: Vec<(String, String)>,
}

impl ExaminedFleet {
    /// The nodes that differ.
    pub fn outliers(&self) -> impl Iterator<Item = &FleetNode> {
        self.nodes.iter().filter(|node| node.is_outlier())
    }

    /// Whether some node has a deviation in this primitive.
    pub(crate) fn is_compared(&self, primitive: usize) -> bool {
        self.nodes.iter().any(|node| node.cells[primitive].is_some())
    }

    /// The number of primitives that are compared.
    pub fn compared(&self) -> usize {
        (0..self.primitives.len()).filter(|primitive| self.is_compared(*primitive)).count()
    }

    /// On so many nodes a case needs a figure to be compared: more than half of them.
    pub(crate) fn nodes_for_a_comparison(&self) -> usize {
        statistics::most_of(self.nodes.len())
    }
}

impl Fleet {
    /// Each node whose run is that of one before it, with that one.
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

    /// Finds the nodes that differ from the median node by more than `threshold` (0.05 for 5 %). Each statement is corrected
    /// for the number of nodes and primitives. `None` with fewer than three nodes.
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
