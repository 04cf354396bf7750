//! The line that two threads contend for, on each NUMA node in turn.
//!
//! A thread bound to a CPU of the node touches the pages first. Then the system is asked where they are, and the case
//! is measured only if they are on that node (`machine::page_homes`).

use syncscope_core::{Case, Placement, Preset};

use super::study::{Setting, Study};
use crate::machine::pair_class::PairClass;

/// The beginning of `group`, before the number of the node.
const GROUP: &str = "line_on_node";

/// How the cost of a contended line depends on the NUMA node that it is on.
pub(crate) struct Numa;

impl Study for Numa {
    fn name(&self) -> &'static str {
        "numa"
    }

    /// Every template on each pair of CPUs with the line on each node. A machine with one node has one case.
    fn cases(&self, setting: &Setting, templates: &[Case]) -> Vec<Case> {
        if setting.preset == Preset::Quick {
            return Vec::new();
        }
        let pairs = contenders(setting);
        let nodes: Vec<u32> = setting.topology.numa_nodes.iter().map(|node| node.os).collect();
        if nodes.len() < 2 || pairs.is_empty() {
            let missing = |case: &Case| Case { threads: Some(2), group: Some(GROUP.to_owned()), ..case.clone() };
            return templates.iter().take(1).map(missing).collect();
        }
        let on = |case: &Case, pair: &[u32; 2], node: u32| Case {
            threads: Some(2),
            placement: Some(Placement::List(pair.to_vec())),
            group: Some(format!("{GROUP} {node}")),
            ..case.clone()
        };
        let mut cases = Vec::new();
        for case in templates {
            for pair in &pairs {
                cases.extend(nodes.iter().map(|node| on(case, pair, *node)));
            }
        }
        cases
    }

    fn unavailable(&self, case: &Case) -> Option<String> {
        (case.group.as_deref() == Some(GROUP)).then(|| {
            "the CPUs this process may use are next to one NUMA node, or they are one core: there is no other place \
             for the line"
                .to_owned()
        })
    }

    fn home_node(&self, case: &Case) -> Option<u32> {
        case.group.as_deref()?.strip_prefix(GROUP)?.trim_start().parse().ok()
    }
}

/// The pairs of CPUs that contend: of the classes of two cores, the nearest and the farthest.
fn contenders(setting: &Setting) -> Vec<[u32; 2]> {
    let mut cores = setting.classes.iter().filter(|(class, _)| *class != PairClass::SameCore).map(|(_, pair)| *pair);
    let mut pairs: Vec<[u32; 2]> = cores.next().into_iter().collect();
    pairs.extend(cores.next_back());
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::topology::Topology;
    use crate::machine::topology::tests::regular;

    fn studied(topology: &Topology, preset: Preset) -> Vec<Case> {
        Numa.cases(&Setting::of(preset, topology), &[Case::new("cpu.atomic.add")])
    }

    #[test]
    fn every_node_is_the_home_of_a_line_of_two_pairs() {
        let cases = studied(&regular(2, 2, 1, 4, 2), Preset::Standard);
        let facts: Vec<_> =
            cases.iter().map(|case| (case.placement.clone().unwrap().to_string(), Numa.home_node(case))).collect();
        let expected = ["0,1", "0,8"].map(|pair| (0..4).map(move |node| (pair.to_owned(), Some(node))));
        assert_eq!(facts, expected.into_iter().flatten().collect::<Vec<_>>());
        assert!(cases.iter().all(|case| Numa.unavailable(case).is_none() && case.threads == Some(2)));
        assert!(studied(&regular(2, 1, 1, 4, 1), Preset::Quick).is_empty());
    }

    #[test]
    fn a_machine_with_one_node_has_one_case() {
        let cases = studied(&regular(1, 1, 1, 4, 2), Preset::Standard);
        assert_eq!((cases.len(), Numa.home_node(&cases[0]), &cases[0].placement), (1, None, &None));
        assert!(Numa.unavailable(&cases[0]).unwrap().contains("one NUMA node"));
    }
}
