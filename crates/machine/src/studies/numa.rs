//! The line that two threads contend for, on each NUMA node in turn.
//!
//! A thread bound to a CPU of the node touches the pages first. Then the system is asked where they are, and the case is
//! measured only if they are on that node (`memory` of the crate `cpu`).

use syncscope_core::{Case, Group, Preset};

use super::{Setting, Study, on_cpus};
use crate::nearness::PairClass;
use crate::topology::Topology;

/// The group: the contended line is in memory of this NUMA node, by the system's number.
const LINE_ON_NODE: &str = "line_on_node #";

/// The group for a line on any node.
pub(super) const LINE_ON_A_NODE: &str = "line_on_node";

/// How the cost of a contended line depends on the NUMA node that it is on.
pub struct Numa;

impl Study for Numa {
    /// Every template on a pair of CPUs of each node and on the farthest pair, with the line on each node in turn. The quick
    /// preset uses only the nodes of the farthest pair. A machine with one node has one case, in the quick preset none.
    fn cases(&self, setting: &Setting, templates: &[Case]) -> Vec<Case> {
        let is_quick = setting.preset == Preset::Quick;
        let farthest = setting.classes.last().filter(|(class, _)| *class != PairClass::SameCore).map(|(_, pair)| *pair);
        let ends = farthest.map_or(Vec::new(), |pair| nodes_of(setting.topology, &pair));
        let mut nodes: Vec<u32> = setting.topology.nodes_with_cpus().map(|node| node.os).collect();
        if is_quick {
            nodes.retain(|node| ends.contains(node));
        }
        let near = nodes.iter().filter_map(|node| pair_of(setting.topology, *node)).take(MOST_NODES);
        let pairs: Vec<[u32; 2]> = near.chain(farthest).collect();
        if nodes.len() < 2 || farthest.is_none() {
            return setting.lacking(templates, &Group::named(LINE_ON_A_NODE));
        }
        let on = |case, pair, node: &u32| on_cpus(case, Group::numbered(LINE_ON_NODE, *node), pair);
        let on_each = |case, pair| nodes.iter().map(move |node| on(case, pair, node));
        templates.iter().flat_map(|case| pairs.iter().flat_map(move |pair| on_each(case, pair))).collect()
    }
}

/// The NUMA node that the memory of a case must be on. `None` leaves it to the CPU of the first thread.
pub fn home_node(case: &Case) -> Option<u32> {
    case.group_number(LINE_ON_NODE)
}

/// The nodes next to these CPUs.
fn nodes_of(topology: &Topology, cpus: &[u32]) -> Vec<u32> {
    topology.threads.iter().filter(|thread| cpus.contains(&thread.os)).filter_map(|thread| thread.numa_node).collect()
}

/// The most nodes whose own CPUs contend: each one adds as many cases as there are nodes.
const MOST_NODES: usize = 8;

/// The CPUs of two cores of a node; `None` where it has fewer cores.
fn pair_of(topology: &Topology, node: u32) -> Option<[u32; 2]> {
    let mut own = topology.allowed().filter(|thread| thread.numa_node == Some(node));
    let first = own.next()?;
    let other = own.find(|thread| thread.core != first.core)?;
    Some([first.os, other.os])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::regular;

    fn studied(topology: &Topology, preset: Preset) -> Vec<Case> {
        Numa.cases(&Setting::of(preset, topology), &[Case::new("cpu.atomic.add")])
    }

    #[test]
    fn every_node_is_the_home_of_a_line_of_pairs_of_each_node() {
        let cases = studied(&regular(2, 2, 1, 4, 2), Preset::Standard);
        let facts: Vec<_> =
            cases.iter().map(|case| (case.placement.clone().unwrap().to_string(), home_node(case))).collect();
        let pairs = ["0,1", "4,5", "8,9", "12,13", "0,8"];
        let expected = pairs.map(|pair| (0..4).map(move |node| (pair.to_owned(), Some(node))));
        assert_eq!(facts, expected.into_iter().flatten().collect::<Vec<_>>());
        assert!(cases.iter().all(|case| crate::studies::unavailable(case).is_none() && case.threads == Some(2)));
    }

    #[test]
    fn the_quick_preset_has_the_nodes_of_the_farthest_pair() {
        let homes = |topology: &Topology| -> Vec<(String, Option<u32>)> {
            let cases = studied(topology, Preset::Quick);
            cases.iter().map(|case| (case.placement.clone().unwrap().to_string(), home_node(case))).collect()
        };
        let expected = [("0,1", 0), ("0,1", 2), ("8,9", 0), ("8,9", 2), ("0,8", 0), ("0,8", 2)];
        assert_eq!(homes(&regular(2, 2, 1, 4, 2)), expected.map(|(pair, node)| (pair.to_owned(), Some(node))));
        assert!(homes(&regular(1, 1, 1, 4, 2)).is_empty());
        assert!(homes(&regular(2, 1, 1, 4, 1).restricted(|cpu| cpu < 4)).is_empty(), "both CPUs are next to one node");
    }

    #[test]
    fn a_machine_with_one_node_has_one_case() {
        let cases = studied(&regular(1, 1, 1, 4, 2), Preset::Standard);
        assert_eq!((cases.len(), home_node(&cases[0]), &cases[0].placement), (1, None, &None));
        assert!(crate::studies::unavailable(&cases[0]).unwrap().contains("one NUMA node"));
    }
}
