//! What is kept of the run of a node: a thousand runs with all their rows would not fit into memory.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use syncscope_core::stats::{Interval, Level};
use syncscope_core::{Cycles, Detail, Nanoseconds, Row};

use crate::RunData;
use crate::analysis::compare::differences::{Property, properties};
use crate::analysis::compare::instructions;
use crate::analysis::contest::has_cost_of_case;

/// A node.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) name: String,
    /// The names of the primitives of its cases.
    primitives: Vec<String>,
    /// The costs by the hash of the case.
    pub(super) costs: HashMap<u64, Cost>,
    /// What its machine and its environment are.
    pub(super) properties: Vec<Property>,
    /// The share of its CPUs' time that the hypervisor took.
    pub(super) stolen: Option<f64>,
    /// The share of samples that an active hardware thread of the same core disturbed: the mean over the rows that say it.
    pub(super) interference: Option<f64>,
    /// The load average before the run, for each allowed CPU.
    pub(super) load: Option<f64>,
}

/// The cost of a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cost {
    /// The index of the primitive in the node's list.
    primitive: u16,
    pub(super) log_ns: f64,
    pub(super) log_cycles: Option<f64>,
    /// Standard deviation of `log_ns` over runs of this node.
    pub(super) deviation: f64,
    /// Which instructions it executed, as a hash of their names; `None` where the row does not say.
    pub(super) instructions: Option<u64>,
}

impl Node {
    pub(super) fn of(data: &RunData) -> Self {
        let mut node = Self {
            name: data.name.clone(),
            primitives: Vec::new(),
            costs: HashMap::with_capacity(data.rows.len()),
            properties: properties(&data.run),
            stolen: stolen(data),
            interference: interference(data),
            load: load(data),
        };
        for row in &data.rows {
            node.add(row);
        }
        node
    }

    fn add(&mut self, row: &Row) {
        let (Some(ns), Some(deviation)) = (row.ns.map(Nanoseconds::value), deviation(row)) else { return };
        let Ok(hash) = u64::from_str_radix(&row.case.id().0, 16) else { return };
        if !(has_cost_of_case(row) && ns > 0.0 && ns.is_finite()) {
            return;
        }
        let primitive = self.primitive_number(&row.case.primitive);
        let cycles = row.cycles.map(Cycles::value).filter(|cycles| *cycles > 0.0);
        let instructions = row.evidence.as_deref().map(hash_of_instructions);
        let cost = Cost { primitive, log_ns: ns.ln(), log_cycles: cycles.map(f64::ln), deviation, instructions };
        self.costs.insert(hash, cost);
    }

    fn primitive_number(&mut self, name: &str) -> u16 {
        let known = self.primitives.iter().position(|primitive| primitive == name);
        let number = known.unwrap_or_else(|| {
            self.primitives.push(name.to_owned());
            self.primitives.len() - 1
        });
        number as u16
    }

    /// The primitives of its cases.
    pub(super) fn primitives(&self) -> impl Iterator<Item = String> {
        self.primitives.iter().cloned()
    }

    pub(super) fn primitive_of(&self, cost: &Cost) -> &str {
        self.primitives.get(usize::from(cost.primitive)).map_or("", String::as_str)
    }
}

/// Standard deviation of the cost over runs, relative: what this run does not know, and by how much runs differ. The
/// interval to quote holds the second twice, once for the other run (see `compare/ratio.rs`).
fn deviation(row: &Row) -> Option<f64> {
    let (ns, quoted, within) = (row.ns?.value(), row.ns_with_allowance()?, row.ns_within?);
    let variance = |interval: Interval| (interval.half_width() / Level::P95.z / ns.abs()).powi(2);
    let deviation = f64::midpoint(variance(within), variance(quoted)).sqrt();
    deviation.is_finite().then_some(deviation)
}

fn hash_of_instructions(evidence: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    instructions(evidence).hash(&mut hasher);
    hasher.finish()
}

fn stolen(data: &RunData) -> Option<f64> {
    let shares: Vec<f64> =
        data.run.sessions.iter().filter_map(|session| Some(session.stolen.as_ref()?.share)).collect();
    shares.into_iter().reduce(f64::max)
}

fn load(data: &RunData) -> Option<f64> {
    let load = data.run.sessions.iter().filter_map(|session| session.load_start).reduce(f64::max)?;
    Some(load / f64::from(data.run.machine.cpu.hardware_threads.max(1)))
}

fn interference(data: &RunData) -> Option<f64> {
    let of_details = data.details.values().flatten().filter(|detail| detail.name == Detail::SMT_INTERFERENCE);
    let shares: Vec<f64> = of_details
        .map(|detail| detail.value)
        .chain(data.rows.iter().filter_map(|row| row.beside_share))
        .filter(|share| share.is_finite())
        .collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}
