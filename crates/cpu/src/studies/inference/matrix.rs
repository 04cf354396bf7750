//! The measured pairs of CPUs and their costs.

use std::collections::BTreeMap;

use syncscope_core::{Placement, Row, Verdict};
use syncscope_host::cpu_list;

use crate::machine::topology::Topology;
use crate::studies::core_to_core::is_of_matrix;

/// Between cores no published hand-off by compare-and-swap is faster, because the line has to leave the caches of a
/// core. The fastest at github.com/nviennot/core-to-core-latency takes about 16 ns between cores, and 4 to 9 ns between
/// hardware threads of one core. Measured on Sapphire Rapids: 45 to 70 ns and 6 ns.
const WITHIN_A_CORE_NS: f64 = 12.0;

/// Two CPUs, as indices of [`Matrix::cpus`], and the cost of a hand-off between them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) ns: f64,
}

/// The measured pairs.
pub(super) struct Matrix {
    pub(super) cpus: Vec<u32>,
    pub(super) pairs: Vec<Pair>,
}

/// The group of each CPU, by its index.
pub(super) type Partition = Vec<usize>;

impl Matrix {
    /// The pairs that `rows` measured, of the CPUs of `topology`.
    pub(super) fn of(topology: &Topology, rows: &[Row]) -> Self {
        let measured: BTreeMap<[u32; 2], f64> = rows.iter().filter_map(cost_of_pair).collect();
        let known = |cpu: &u32| topology.threads.iter().any(|thread| thread.os == *cpu);
        let mut cpus: Vec<u32> = measured.keys().flatten().copied().filter(known).collect();
        cpus.sort_unstable();
        cpus.dedup();
        let index = |cpu: u32| cpus.binary_search(&cpu).ok();
        let pair = |([a, b], ns): (&[u32; 2], &f64)| Some(Pair { a: index(*a)?, b: index(*b)?, ns: *ns });
        Self { pairs: measured.iter().filter_map(pair).collect(), cpus }
    }

    /// The costs of the pairs that `chosen` selects, in ascending order.
    pub(super) fn costs(&self, chosen: impl Fn(&Pair) -> bool) -> Vec<f64> {
        let mut costs: Vec<f64> = self.pairs.iter().filter(|pair| chosen(pair)).map(|pair| pair.ns).collect();
        costs.sort_by(f64::total_cmp);
        costs
    }

    /// The CPUs of a group as text.
    pub(super) fn list(&self, group: &[usize]) -> String {
        cpu_list::format(&group.iter().map(|index| self.cpus[*index]).collect::<Vec<_>>())
    }
}

impl Pair {
    /// Whether it is as fast as only hardware threads of one core are.
    pub(super) fn is_within_a_core(&self) -> bool {
        self.ns <= WITHIN_A_CORE_NS
    }
}

/// The two CPUs, the lower one first, and the cost of a row of the matrix.
fn cost_of_pair(row: &Row) -> Option<([u32; 2], f64)> {
    let measured = matches!(row.verdict, Verdict::Resolved | Verdict::Noisy(_)) && row.check != Some(false);
    let Some(Placement::List(cpus)) = &row.case.placement else { return None };
    let ns = row.ns.map(|ns| ns.0).filter(|ns| is_of_matrix(&row.case) && measured && *ns > 0.0)?;
    match cpus[..] {
        [a, b] if a != b => Some(([a.min(b), a.max(b)], ns)),
        _ => None,
    }
}

/// The indices of each group, in the order of their first members.
pub(super) fn members(partition: &Partition) -> Vec<Vec<usize>> {
    let mut groups: Vec<(usize, Vec<usize>)> = Vec::new();
    for (index, group) in partition.iter().enumerate() {
        match groups.iter_mut().find(|(known, _)| known == group) {
            Some((_, members)) => members.push(index),
            None => groups.push((*group, vec![index])),
        }
    }
    groups.into_iter().map(|(_, members)| members).collect()
}
