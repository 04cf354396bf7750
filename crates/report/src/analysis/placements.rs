//! Where the threads of a team run: which placement is shown, where its curve leaves a core, a node and a socket, and in words.
//!
//! Machines whose cores have several hardware threads have rows of `cores`; elsewhere `close` is the same and has the name. Imported
//! rows may have neither. Nothing else of this crate ranks placements.

use syncscope_core::machine::CpuMachine;
use syncscope_core::{Case, Placement};

use crate::RunData;

/// The placements, the one that stands for a machine first.
pub(crate) const BY_RANK: [Placement; 4] = [Placement::Cores, Placement::Close, Placement::Spread, Placement::None];

/// The placement that is shown where one is: the first in rank that teams of several threads have.
pub(crate) fn shown(data: &RunData) -> Placement {
    let has = |placement: &Placement| {
        data.rows.iter().any(|row| row.case.placement.as_ref() == Some(placement) && row.case.threads > Some(1))
    };
    BY_RANK.into_iter().find(has).unwrap_or(Placement::Close)
}

/// The sizes at which a team begins to use more of the machine.
struct Steps {
    /// From so many threads, some share a core.
    siblings: Option<u32>,
    node: Option<u32>,
    socket: Option<u32>,
}

impl Steps {
    fn of(cpu: &CpuMachine, placement: &Placement) -> Self {
        let CpuMachine { packages, numa_nodes, cores, hardware_threads: threads, .. } = *cpu;
        let has_smt = cores > 0 && threads > cores;
        let unit = if *placement == Placement::Close && has_smt { threads } else { cores };
        let part = |parts: u32| match placement {
            _ if parts < 2 || cores == 0 => None,
            Placement::Spread => Some(2),
            Placement::Cores | Placement::Close => Some(unit / parts + 1),
            Placement::None | Placement::List(_) => None,
        };
        let siblings = match placement {
            Placement::Close => Some(2),
            Placement::Cores | Placement::Spread => Some(cores + 1),
            Placement::None | Placement::List(_) => None,
        };
        let nodes = if numa_nodes > packages { numa_nodes } else { 0 };
        Self { siblings: siblings.filter(|_| has_smt), node: part(nodes), socket: part(packages) }
    }
}

/// The vertical lines of a chart over the threads of a placement, with their labels.
pub(crate) fn lines(cpu: &CpuMachine, placement: &Placement) -> Vec<(u32, String)> {
    let Steps { siblings, node, socket } = Steps::of(cpu, placement);
    let from = |at: Option<u32>, what: &str| at.map(|at| (at, format!("{what} from {at}")));
    let count = |count: u32, what: &str| (count > 0).then(|| (count, format!("{what}: {count}")));
    let is_unbound = *placement == Placement::None && cpu.cores != cpu.hardware_threads;
    let close = if *placement == Placement::Close { "both threads of a core" } else { "hardware threads" };
    let lines = [
        from(siblings, close),
        from(node, "second node"),
        from(socket, "second socket"),
        // Where the system places threads, more of them than cores have to share.
        count(cpu.cores, "cores").filter(|_| is_unbound || cpu.hardware_threads == 0),
        count(cpu.hardware_threads, "CPUs"),
    ];
    let mut lines: Vec<(u32, String)> = lines.into_iter().flatten().collect();
    lines.sort_by_key(|(at, _)| *at);
    lines
}

/// What a team uses of the machine beyond cores of one socket: `on both hardware threads of a core`, `across sockets`.
pub(crate) fn beyond_one_socket(cpu: &CpuMachine, case: &Case) -> Option<String> {
    let (placement, threads) = (case.placement.as_ref()?, case.threads?);
    if threads < 2 || cpu.hardware_threads == 0 || threads > cpu.hardware_threads {
        return None;
    }
    let steps = Steps::of(cpu, placement);
    let reached = |at: Option<u32>| at.is_some_and(|at| threads >= at);
    let has_more = cpu.hardware_threads > cpu.cores || cpu.packages.max(cpu.numa_nodes) > 1;
    let parts = [
        reached(steps.siblings).then_some("on hardware threads that share cores"),
        (reached(steps.node) && !reached(steps.socket)).then_some("across NUMA nodes"),
        reached(steps.socket).then_some("across sockets"),
        (*placement == Placement::None && has_more).then_some("where the system placed them"),
    ];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(packages: u32, numa_nodes: u32, cores: u32, hardware_threads: u32) -> CpuMachine {
        CpuMachine { packages, numa_nodes, cores, hardware_threads, ..CpuMachine::default() }
    }

    fn labels(cpu: &CpuMachine, placement: &Placement) -> Vec<String> {
        lines(cpu, placement).into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn lines_are_those_of_the_placement() {
        let system1 = machine(2, 2, 20, 40);
        let of = |placement| labels(&system1, &placement);
        assert_eq!(of(Placement::Cores), ["second socket from 11", "hardware threads from 21", "CPUs: 40"]);
        assert_eq!(of(Placement::Close), ["both threads of a core from 2", "second socket from 21", "CPUs: 40"]);
        assert_eq!(of(Placement::Spread), ["second socket from 2", "hardware threads from 21", "CPUs: 40"]);
        assert_eq!(of(Placement::None), ["cores: 20", "CPUs: 40"]);
        let clusters = labels(&machine(2, 4, 32, 64), &Placement::Cores);
        assert_eq!(clusters, ["second node from 9", "second socket from 17", "hardware threads from 33", "CPUs: 64"]);
        // Eight cores with two hardware threads and 16 with one.
        assert_eq!(labels(&machine(1, 1, 24, 32), &Placement::Cores), ["hardware threads from 25", "CPUs: 32"]);
        assert_eq!(labels(&machine(1, 4, 96, 96), &Placement::Close), ["second node from 25", "CPUs: 96"]);
        assert_eq!(labels(&machine(1, 1, 16, 16), &Placement::Close), ["CPUs: 16"]);
        assert!(labels(&CpuMachine::default(), &Placement::None).is_empty());
    }

    #[test]
    fn words_for_what_a_team_uses() {
        let on = |cpu: CpuMachine, placement, threads| {
            let case = Case { placement: Some(placement), threads: Some(threads), ..Case::new("cpu.lock.mcs") };
            beyond_one_socket(&cpu, &case)
        };
        let smt = || machine(2, 2, 20, 40);
        assert_eq!(on(smt(), Placement::Cores, 2), None);
        assert_eq!(on(smt(), Placement::Close, 2).unwrap(), "on hardware threads that share cores");
        assert_eq!(on(smt(), Placement::Cores, 16).unwrap(), "across sockets");
        assert_eq!(on(smt(), Placement::Cores, 40).unwrap(), "on hardware threads that share cores and across sockets");
        assert_eq!(on(smt(), Placement::None, 8).unwrap(), "where the system placed them");
        assert_eq!(on(machine(1, 4, 96, 96), Placement::Close, 32).unwrap(), "across NUMA nodes");
        assert_eq!(on(machine(1, 1, 16, 16), Placement::Close, 16), None);
    }
}
