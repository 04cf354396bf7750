//! By how much the cost of a case differs between two runs on one machine, beyond what the interval within a run shows.
//!
//! A run has its own allocations, contexts and orders of blocks, and its own temperature. The values are standard deviations
//! relative to the cost, measured between runs on one machine, rounded up. A run with `--repeat` measures its own and uses
//! that instead.

use syncscope_core::{Case, Domain, Family, Layout, RunEffect, Scope, Space};

use crate::catalogue::{Launching, Method, entry_of};

/// Registers and the barriers of a block: nothing of the memory takes part.
const REGISTERS: f64 = 0.001;
/// Atomic operations, by where their variables lie.
const ATOMIC: f64 = 0.002;
/// The same on one variable of many blocks, by the order of the blocks too.
const CONTENDED_ATOMIC: f64 = 0.004;
/// Fences and what they wait for, by the state of the memory.
const FENCE: f64 = 0.01;
/// The same where the writes of other devices and of the CPU count.
const SYSTEM_FENCE: f64 = 0.02;
const LOCK: f64 = 0.01;
const CLUSTER: f64 = 0.002;
const GRID: f64 = 0.004;
const SEVERAL_DEVICES: f64 = 0.01;
/// The device's front end: two runs of one build on one H200 gave 1,454 and 1,554 ns for a cooperative launch.
const LAUNCH: f64 = 0.05;
/// One more kernel in a graph has two costs. Runs of one build on one H200 gave 530 and 705 ns with one block, and 507 and
/// 671 ns with 132.
const GRAPH: f64 = 0.21;
/// Where the host takes part: its CPU, its clock and the link.
const WITH_HOST: f64 = 0.02;

/// The standard deviation between runs of the cost of `case`, relative to that cost.
#[must_use]
pub fn run_effect(case: &Case) -> RunEffect {
    RunEffect::of_both(deviation(case))
}

fn deviation(case: &Case) -> f64 {
    let (domain, family) = case.domain_and_family();
    if domain == Domain::Hybrid.as_str() {
        return WITH_HOST;
    }
    let Ok(family) = family.parse::<Family>() else { return 0.0 };
    match family {
        Family::Block | Family::Warp | Family::Shuffle | Family::Vote | Family::Match | Family::Reduce => REGISTERS,
        Family::Atomic if is_contended(case) => CONTENDED_ATOMIC,
        Family::Atomic => ATOMIC,
        Family::Fence if case.scope == Some(Scope::System) => SYSTEM_FENCE,
        Family::Fence => FENCE,
        Family::Lock => LOCK,
        Family::Cluster => CLUSTER,
        Family::Grid => GRID,
        // Sums by NCCL have no grid of ours.
        Family::Multi if case.threads.is_none() => WITH_HOST,
        Family::Multi => SEVERAL_DEVICES,
        Family::Reduction if entry_of(case).is_some_and(|entry| entry.method == Method::Kernel) => REGISTERS,
        Family::Reduction => LAUNCH,
        Family::Launch if is_chain_in_a_graph(case) => GRAPH,
        Family::Launch => LAUNCH,
        // Families of the CPU, and of both, which have the domain `hybrid`.
        Family::Barrier | Family::Handoff | Family::Wake | Family::Process | Family::Flag => 0.0,
    }
}

/// Whether the launches are the nodes of one graph.
fn is_chain_in_a_graph(case: &Case) -> bool {
    entry_of(case).is_some_and(|entry| entry.method == Method::Launch(Launching::Graph))
}

/// Whether many blocks use one variable.
fn is_contended(case: &Case) -> bool {
    let is_one = case.layout == Some(Layout::Shared) && case.space != Some(Space::Shared);
    is_one && case.blocks.is_some_and(|blocks| blocks > 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::cases;
    use crate::catalogue::limits::DeviceLimits;
    use syncscope_core::Preset;

    #[test]
    fn every_case_differs_between_runs() {
        for case in cases(Preset::Paper, &DeviceLimits { multiprocessors: 132, max_threads: 1024 }) {
            let most = match entry_of(&case).map(|entry| entry.method) {
                Some(Method::Launch(Launching::Graph)) => GRAPH,
                Some(Method::Launch(_) | Method::Reduction(_)) => LAUNCH,
                _ => 0.02,
            };
            assert!((0.001..=most).contains(&deviation(&case)), "{case}");
        }
    }

    #[test]
    fn contention_and_reach_make_it_larger() {
        let atomic = |layout, space, blocks| Case {
            layout: Some(layout),
            space: Some(space),
            blocks: Some(blocks),
            ..Case::new("gpu.atomic.add")
        };
        let private = Layout::Private { stride: 1 };
        let of = |case: Case| deviation(&case);
        assert!(of(atomic(Layout::Shared, Space::Global, 2)) > of(atomic(Layout::Shared, Space::Global, 1)));
        assert!(of(atomic(Layout::Shared, Space::Global, 2)) > of(atomic(private, Space::Global, 2)));
        assert!(of(atomic(Layout::Shared, Space::Global, 2)) > of(atomic(Layout::Shared, Space::Shared, 2)));
        let fence = |scope| of(Case { scope: Some(scope), ..Case::new("gpu.fence.any") });
        assert!(fence(Scope::System) > fence(Scope::Device));
        assert!(of(Case::new("hybrid.atomic.add")) > of(Case::new("gpu.atomic.add")));
        let (graph, stream) = (of(Case::new("gpu.launch.graph")), of(Case::new("gpu.launch.stream")));
        assert!(graph > stream && stream > of(Case::new("hybrid.atomic.add")));
    }
}
