//! The line that two threads contend for, placed on each NUMA node in turn.
//!
//! A thread bound to a CPU of the node touches whole pages first; then the system is asked where they are, and only a case
//! whose memory is where it should be is measured.

use std::ops::Range;

use syncscope_core::{Case, Placement, Refusal};

use crate::machine::memory::Whereabouts;
use crate::machine::topology::Topology;
use crate::plan::Axes;
use crate::studies::core_to_core::ClassedPair;
use crate::studies::cpu_pairs::PairClass;

/// The beginning of `group`, before the number of the node.
pub const GROUP: &str = "line_on_node";

/// The NUMA nodes of a machine and the pairs of CPUs that contend for a line on each of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Homes {
    /// The operating system's numbers of the nodes.
    nodes: Vec<u32>,
    /// Two CPUs of one node, and two of two nodes, as far apart as there are.
    pairs: Vec<[u32; 2]>,
}

impl Homes {
    /// The nodes, and of the first pairs of all classes the nearest and the farthest that are two cores.
    pub(crate) fn of(topology: &Topology, classes: &[ClassedPair]) -> Self {
        let nodes = topology.numa_nodes.iter().map(|node| node.os).collect();
        let mut cores = classes.iter().filter(|(class, _)| *class != PairClass::SameCore).map(|(_, pair)| *pair);
        let mut pairs: Vec<[u32; 2]> = cores.next().into_iter().collect();
        pairs.extend(cores.next_back());
        Self { nodes, pairs }
    }
}

/// `two` (a case without threads or placement) on each pair of CPUs with the line on each node. None where there is one
/// node only.
pub(crate) fn on_nodes(axes: &Axes, two: &Case) -> Vec<Case> {
    let Homes { nodes, pairs } = &axes.homes;
    if !axes.vary_pairs || nodes.len() < 2 {
        return Vec::new();
    }
    let on = |pair: &[u32; 2], node: &u32| Case {
        threads: Some(2),
        placement: Some(Placement::List(pair.to_vec())),
        group: Some(format!("{GROUP} {node}")),
        ..two.clone()
    };
    pairs.iter().flat_map(|pair| nodes.iter().map(move |node| on(pair, node))).collect()
}

/// The case without a placement that stands for all of them where there is one node only.
pub(crate) fn on_the_only_node(axes: &Axes, two: &Case) -> Option<Case> {
    let missing = axes.vary_pairs && (axes.homes.nodes.len() < 2 || axes.homes.pairs.is_empty());
    missing.then(|| Case { threads: Some(2), group: Some(GROUP.to_owned()), ..two.clone() })
}

/// Why a case of [`on_the_only_node`] cannot be measured.
pub(crate) fn obstacle(case: &Case) -> Option<String> {
    (case.group.as_deref() == Some(GROUP)).then(|| {
        "the CPUs this process may use are next to one NUMA node, or they are one core: there is no other place for the line"
            .to_owned()
    })
}

/// The node that the line of a case must be on, if its group says so.
pub(crate) fn home_of(case: &Case) -> Option<u32> {
    case.group.as_deref()?.strip_prefix(GROUP)?.trim_start().parse().ok()
}

/// A CPU that puts memory on a node by touching it first.
///
/// # Errors
/// When this process may use none.
pub(crate) fn toucher(topology: &Topology, node: u32) -> Result<u32, Refusal> {
    let near = topology.allowed().find(|thread| thread.numa_node == node);
    near.map(|thread| thread.os).ok_or_else(|| {
        Refusal::Skipped(format!(
            "no CPU this process may use is next to NUMA node {node}, to touch memory there first"
        ))
    })
}

/// That memory is on `node`; says so in words for the row.
///
/// # Errors
/// When it is elsewhere, or nobody knows where.
pub(crate) fn verify(extents: &[Range<usize>], node: u32, toucher: u32) -> Result<String, Refusal> {
    judge(Whereabouts::of(extents), node, toucher)
}

fn judge(found: std::io::Result<Whereabouts>, node: u32, toucher: u32) -> Result<String, Refusal> {
    match found {
        Ok(found) if found.node() == Some(node) => Ok(format!("the line is on {found}")),
        Ok(found) => Err(Refusal::Skipped(format!(
            "memory first touched by CPU {toucher} of NUMA node {node} is on {found}: node {node} has none left, or a \
             policy (numactl, cpuset.mems) keeps this process away from it"
        ))),
        Err(error) => Err(Refusal::Skipped(format!(
            "the system does not tell where the line is (move_pages: {error}); containers need the capability SYS_NICE to ask"
        ))),
    }
}

/// What a reader of a case on CPUs of his choice must know: that its memory is not near the first of them. `None` where
/// it is, or where nobody knows.
pub(crate) fn astray(topology: &Topology, extents: &[Range<usize>], first: u32) -> Option<String> {
    let meant = topology.threads.iter().find(|thread| thread.os == first)?.numa_node;
    if topology.numa_nodes.len() < 2 || extents.is_empty() {
        return None;
    }
    let found = Whereabouts::of(extents).ok()?;
    (found.node() != Some(meant)).then(|| format!("the line is on {found}, not on node {meant} of CPU {first}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::topology::tests::regular;
    use syncscope_core::Preset;

    fn studied(topology: &Topology) -> Vec<Case> {
        let axes = Axes::of(Preset::Standard, topology);
        let two = Case::new("cpu.atomic.add");
        on_nodes(&axes, &two).into_iter().chain(on_the_only_node(&axes, &two)).collect()
    }

    #[test]
    fn every_node_is_a_home_of_two_pairs() {
        let cases = studied(&regular(2, 2, 1, 4, 2));
        let facts: Vec<_> =
            cases.iter().map(|case| (case.placement.clone().unwrap().to_string(), home_of(case))).collect();
        let expected = ["0,1", "0,8"].map(|pair| (0..4).map(move |node| (pair.to_owned(), Some(node))));
        assert_eq!(facts, expected.into_iter().flatten().collect::<Vec<_>>());
        assert!(cases.iter().all(|case| obstacle(case).is_none() && case.threads == Some(2)));
    }

    #[test]
    fn one_node_is_said_once() {
        let cases = studied(&regular(1, 1, 1, 4, 2));
        assert_eq!((cases.len(), home_of(&cases[0]), &cases[0].placement), (1, None, &None));
        assert!(obstacle(&cases[0]).unwrap().contains("one NUMA node"));
        assert!(on_nodes(&Axes::of(Preset::Quick, &regular(2, 1, 1, 4, 1)), &cases[0]).is_empty());
    }

    #[test]
    fn a_node_without_a_usable_cpu_is_nobodys_home() {
        let machine = regular(2, 1, 1, 4, 1).restricted(|cpu| cpu < 4);
        assert_eq!(toucher(&machine, 0), Ok(0));
        assert!(matches!(toucher(&machine, 1), Err(Refusal::Skipped(reason)) if reason.contains("NUMA node 1")));
    }

    #[test]
    fn memory_elsewhere_is_not_taken_for_granted() {
        let pages = crate::machine::memory::Pages::filled(100, |_| 0_u64);
        // The same memory cannot be on node 0 and on a node that no machine has.
        assert!(matches!(verify(&[pages.extent()], 9999, 3), Err(Refusal::Skipped(_))));
        let denied = judge(Err(std::io::Error::from_raw_os_error(libc::EPERM)), 0, 0);
        assert!(
            matches!(denied, Err(Refusal::Skipped(reason)) if reason.contains("move_pages") && reason.contains("SYS_NICE"))
        );
        if let Ok(found) = Whereabouts::of(&[pages.extent()]) {
            let node = found.node().unwrap();
            assert_eq!(judge(Ok(found.clone()), node, 0), Ok(format!("the line is on NUMA node {node}")));
            let elsewhere = judge(Ok(found), node + 1, 7);
            assert!(
                matches!(elsewhere, Err(Refusal::Skipped(reason)) if reason.contains(&format!("is on NUMA node {node}:")))
            );
        }
    }
}
