//! Guesses why a node differs: what its run records that the runs of other nodes do not, each with its figures.

use std::collections::BTreeMap;

use syncscope_core::stats::median;

use super::node::{Cost, Node};
use super::{FleetCell, FleetNode};
use syncscope_report::Property;

/// A share of stolen time, SMT interference or load per CPU is named if it exceeds the median node's share times this
/// factor plus this share.
const NOTABLE_FACTOR: f64 = 1.25;
const NOTABLE_SHARE: f64 = 0.02;

/// The clock explains a deviation if the deviation in cycles is less than this fraction of the deviation in time.
const LARGEST_CYCLE_PART: f64 = 1.0 / 3.0;

/// The most differing properties that are named.
const MOST_PROPERTIES: usize = 4;

/// Prefixes of the names of properties that concern GPUs only.
const OF_GPUS: [&str; 7] = ["GPU", "NVIDIA", "CUDA", "NVRTC", "multiprocessors", "ECC", "confidential"];

/// What is typical of the fleet.
pub(super) struct Typical {
    /// The values that more than half of the nodes share.
    properties: BTreeMap<String, String>,
    /// The instructions that more than half of the nodes executed for a case.
    instructions: BTreeMap<u64, u64>,
    /// The disturbances of the median node, in the order of [`Node::disturbances`].
    disturbances: [Option<f64>; 3],
}

impl Typical {
    pub(super) fn of(nodes: &[Node]) -> Self {
        let properties = nodes.iter().flat_map(|node| node.properties.iter().cloned());
        let instructions =
            nodes.iter().flat_map(Node::all_costs).filter_map(|(case, cost)| Some((*case, cost.instructions?)));
        // What only a few nodes record is not typical.
        let middle = |disturbance: usize| {
            let values: Vec<f64> = nodes.iter().filter_map(|node| node.disturbances[disturbance].1).collect();
            if 2 * values.len() > nodes.len() { median(&values) } else { None }
        };
        Self {
            properties: typical(properties, nodes.len()),
            instructions: typical(instructions, nodes.len()),
            disturbances: [0, 1, 2].map(middle),
        }
    }

    /// What may explain a node's deviations.
    pub(super) fn causes(&self, node: &Node, found: &FleetNode, primitives: &[String]) -> Vec<String> {
        let outlying: Vec<(&str, &FleetCell)> =
            found.outlying().map(|(primitive, cell)| (primitives[primitive].as_str(), cell)).collect();
        let any = |is_so: fn(&str) -> bool| outlying.iter().any(|(primitive, _)| is_so(primitive));
        // The host takes part in launches and in everything that CPU and GPU share.
        let touches_host = any(|primitive| !primitive.starts_with("gpu.") || primitive.starts_with("gpu.launch."));
        let touches_gpu = any(|primitive| primitive.starts_with("gpu.") || primitive.starts_with("hybrid."));
        let mut causes: Vec<String> = clock(&outlying).into_iter().collect();
        causes.extend(self.other_instructions(node, &outlying));
        if touches_host {
            let notable = |((name, own), typical): ((&str, Option<f64>), Option<f64>)| {
                let (own, typical) = (own?, typical.unwrap_or(0.0));
                let percent = |share: f64| format!("{:.1} %", 100.0 * share);
                (own > NOTABLE_FACTOR * typical + NOTABLE_SHARE)
                    .then(|| format!("{name}: {}, the median node {}", percent(own), percent(typical)))
            };
            causes.extend(node.disturbances.into_iter().zip(self.disturbances).filter_map(notable));
        }
        let differs = |(name, value): &Property| {
            let is_of_gpus = OF_GPUS.iter().any(|start| name.starts_with(start));
            let typical = self.properties.get(name).filter(|typical| *typical != value)?;
            (if is_of_gpus { touches_gpu } else { touches_host })
                .then(|| format!("{name}: {value}, most nodes {typical}"))
        };
        causes.extend(node.properties.iter().filter_map(differs).take(MOST_PROPERTIES));
        causes
    }

    /// The outlying primitives for which the node executed other instructions than the fleet: another source, compiler
    /// or driver.
    fn other_instructions(&self, node: &Node, outlying: &[(&str, &FleetCell)]) -> Option<String> {
        let differs = |(case, cost): (&u64, &Cost)| {
            self.instructions.get(case).zip(cost.instructions).is_some_and(|(typical, own)| own != *typical)
        };
        let is_other = |primitive: &&str| node.costs.get(*primitive).is_some_and(|costs| costs.iter().any(differs));
        let named: Vec<&str> = outlying.iter().map(|(primitive, _)| *primitive).filter(is_other).collect();
        (!named.is_empty()).then(|| format!("other machine instructions: {}", named.join(", ")))
    }
}

/// For each key, the value that more than half of the nodes have.
fn typical<K: Ord, V: Ord>(values: impl Iterator<Item = (K, V)>, nodes: usize) -> BTreeMap<K, V> {
    let mut counts: BTreeMap<K, BTreeMap<V, usize>> = BTreeMap::new();
    for (key, value) in values {
        *counts.entry(key).or_default().entry(value).or_default() += 1;
    }
    let most_common = |(key, values): (K, BTreeMap<V, usize>)| {
        let (value, _) = values.into_iter().find(|(_, count)| 2 * count > nodes)?;
        Some((key, value))
    };
    counts.into_iter().filter_map(most_common).collect()
}

/// The clock as a cause, if the deviations are in time and not in cycles.
fn clock(outlying: &[(&str, &FleetCell)]) -> Option<String> {
    let by_clock = |cell: &FleetCell| {
        let cycles = cell.cycles_ratio?.ln();
        (cycles.abs() < LARGEST_CYCLE_PART * cell.ratio.ln().abs()).then_some(cell.ratio.ln() - cycles)
    };
    let shifts: Vec<f64> = outlying.iter().filter_map(|(_, cell)| by_clock(cell)).collect();
    if 2 * shifts.len() <= outlying.len() {
        return None;
    }
    let factor = (-median(&shifts)?).exp();
    Some(format!("clock: about {factor:.3} times that of the median node; the cycles do not differ as much"))
}
