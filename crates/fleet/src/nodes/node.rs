//! The numbers that are kept of a node's run: a thousand runs with all their rows would not fit in memory.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use syncscope_core::stats::{Interval, Level};
use syncscope_core::{Cycles, Detail, Row};

use syncscope_report::{Property, RunData, has_cost_of_case, instructions, properties, variables_in_words};

/// A node and what is kept of its run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) name: String,
    /// The start of the node's run, and the seed of its order.
    pub(super) identity: (String, u64),
    /// The costs of each primitive, by case hash.
    pub(super) costs: BTreeMap<String, HashMap<u64, Cost>>,
    /// The properties of the node's machine and environment.
    pub(super) properties: Vec<Property>,
    /// How much else went on: the name of each disturbance, and its share if the run records it.
    pub(super) disturbances: [(&'static str, Option<f64>); 3],
}

/// The cost of a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cost {
    pub(super) log_ns: f64,
    pub(super) log_cycles: Option<f64>,
    /// Standard deviation of `log_ns` over runs of this node.
    pub(super) deviation: f64,
    /// A hash of the names of the executed instructions; `None` where the row does not say.
    pub(super) instructions: Option<u64>,
}

impl Node {
    pub(super) fn of(data: &RunData) -> Self {
        let mut costs: BTreeMap<String, HashMap<u64, Cost>> = BTreeMap::new();
        for (primitive, case, cost) in data.rows.iter().filter_map(cost) {
            costs.entry(primitive.to_owned()).or_default().insert(case, cost);
        }
        Self {
            name: data.name.clone(),
            identity: (data.run.started.clone(), data.run.seed),
            costs,
            properties: properties(&data.run).into_iter().chain(variables_in_words(&data.run)).collect(),
            disturbances: [
                ("time taken by the hypervisor", stolen(data)),
                ("samples with SMT interference", interference(data)),
                ("load of each CPU before the run", load(data)),
            ],
        }
    }

    /// The costs of all primitives.
    pub(super) fn all_costs(&self) -> impl Iterator<Item = (&u64, &Cost)> {
        self.costs.values().flatten()
    }
}

/// The primitive of a row, the hash of its case, and its cost, if it has one.
fn cost(row: &Row) -> Option<(&str, u64, Cost)> {
    let (ns, deviation) = (row.ns?.value(), deviation(row)?);
    let case = u64::from_str_radix(&row.case.id().0, 16).ok()?;
    let log_cycles = row.cycles.map(Cycles::value).filter(|cycles| *cycles > 0.0).map(f64::ln);
    let instructions = row.evidence.as_deref().map(hash_of_instructions);
    let cost = Cost { log_ns: ns.ln(), log_cycles, deviation, instructions };
    (has_cost_of_case(row) && ns > 0.0 && ns.is_finite()).then_some((&row.case.primitive, case, cost))
}

/// Relative standard deviation of the cost over runs: the uncertainty of this run and the difference between runs. The
/// quoted interval contains the difference between runs twice, once for the other run (see `compare/ratio.rs`).
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

/// The share of CPU time that the hypervisor took.
fn stolen(data: &RunData) -> Option<f64> {
    data.run.sessions.iter().filter_map(|session| Some(session.stolen.as_ref()?.share)).reduce(f64::max)
}

/// The load average per CPU before the run.
fn load(data: &RunData) -> Option<f64> {
    let load = data.run.sessions.iter().filter_map(|session| session.load_start).reduce(f64::max)?;
    Some(load / f64::from(data.run.machine.cpu.hardware_threads.max(1)))
}

/// The share of samples that an active hardware thread of the same core disturbed: the mean over the rows that record
/// it.
fn interference(data: &RunData) -> Option<f64> {
    let details = data.details.values().flatten().filter(|detail| detail.name == Detail::SMT_INTERFERENCE);
    let shares = details.map(|detail| detail.value).chain(data.rows.iter().filter_map(|row| row.beside_share));
    let shares: Vec<f64> = shares.filter(|share| share.is_finite()).collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}
