//! Where the threads of a team run: which placement is shown, where its curve leaves a core, a node and a socket, and in words.
//!
//! Machines whose cores have several hardware threads have rows of `cores`; elsewhere `close` is the same and has the name. Imported
//! rows may have neither. Nothing else of this crate ranks placements.

use syncscope_core::machine::CpuMachine;
use syncscope_core::{Case, Placement};

use super::phrases::joined;
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

/// The case of another run whose threads run alike: one on each core is `cores` where the CPUs of a run include several hardware
/// threads of a core, and `close` elsewhere. `None` for teams that share cores in one run only.
pub(crate) fn counterpart(case: &Case, own: &RunData, other: &RunData) -> Option<Case> {
    // A run of some of the CPUs (`--cpus`) may have no siblings on a machine that has.
    let has_siblings = |data: &RunData| {
        let cpu = &data.run.machine.cpu;
        let allowed = list_length(&data.run.environment.allowed_cpus).unwrap_or(0) as u32;
        let is_restricted = (1..cpu.hardware_threads).contains(&allowed);
        let has_name = || data.rows.iter().any(|row| row.case.placement == Some(Placement::Cores));
        cpu.hardware_threads > cpu.cores && (!is_restricted || has_name())
    };
    let cores = [own, other].map(|data| data.run.machine.cpu.cores);
    let threads = case.threads.unwrap_or(1);
    let fits = threads <= cores[0].min(cores[1]);
    let placed = |placement| fits.then(|| Case { placement: Some(placement), ..case.clone() });
    match (&case.placement, has_siblings(own), has_siblings(other)) {
        _ if cores.contains(&0) => Some(case.clone()),
        (Some(Placement::Cores), true, false) => placed(Placement::Close),
        (Some(Placement::Close), false, true) => placed(Placement::Cores),
        (Some(Placement::Close), true, false) if threads > 1 => None,
        _ => Some(case.clone()),
    }
}

/// From how many threads on a team is in more than one part of the machine, how a chart calls the line there, and what a sentence
/// says of the team.
type Step = (Option<u32>, &'static str, &'static str);

fn steps(cpu: &CpuMachine, placement: &Placement) -> [Step; 4] {
    let CpuMachine { packages, numa_nodes, cores, hardware_threads: threads, .. } = *cpu;
    let is_bound = matches!(placement, Placement::Cores | Placement::Close | Placement::Spread);
    let (is_close, is_spread) = (*placement == Placement::Close, *placement == Placement::Spread);
    let has_smt = cores > 0 && threads > cores;
    let siblings = has_smt.then_some(if is_close { 2 } else { cores + 1 });
    let fast = cpu.core_kinds.first().filter(|_| !is_spread);
    let slow = fast.map(|fast| if is_close { fast.hardware_threads + 1 } else { fast.cores + 1 });
    let unit = if is_close && has_smt { threads } else { cores };
    let part = |parts: u32| (parts > 1 && cores > 0).then(|| if is_spread { 2 } else { unit / parts + 1 });
    let node = part(numa_nodes).filter(|_| numa_nodes > packages);
    let close = if is_close { "both threads of a core" } else { "hardware threads" };
    let all = [
        (siblings, close, "on hardware threads that share cores"),
        (slow, "efficiency cores", "on performance and efficiency cores"),
        (node, "second node", "across NUMA nodes"),
        (part(packages), "second socket", "across sockets"),
    ];
    all.map(|(from, line, team)| (from.filter(|_| is_bound), line, team))
}

/// The vertical lines of a chart over up to `most` threads of a placement, with their labels.
pub(crate) fn lines(cpu: &CpuMachine, placement: &Placement, most: u32) -> Vec<(u32, String)> {
    let from = |(at, what, _): Step| at.map(|at| (at, format!("{what} from {at}")));
    let count = |count: u32, what: &str| (count > 0).then(|| (count, format!("{what}: {count}")));
    let is_unbound = *placement == Placement::None && cpu.cores != cpu.hardware_threads;
    let ends = [
        // Where the system places threads, more of them than cores have to share.
        count(cpu.cores, "cores").filter(|_| is_unbound || cpu.hardware_threads == 0),
        count(cpu.hardware_threads, "CPUs").map(|(at, label)| {
            let beyond = if most > at { ", shared beyond" } else { "" };
            (at, format!("{label}{beyond}"))
        }),
    ];
    let mut lines: Vec<(u32, String)> = steps(cpu, placement).map(from).into_iter().chain(ends).flatten().collect();
    lines.sort_by_key(|(at, _)| *at);
    lines
}

/// What a team uses of the machine beyond cores of one socket: `on both hardware threads of a core`, `across sockets`.
pub(crate) fn beyond_one_socket(cpu: &CpuMachine, case: &Case) -> Option<String> {
    let (placement, threads) = (case.placement.as_ref()?, case.threads?);
    if threads < 2 || cpu.hardware_threads == 0 || threads > cpu.hardware_threads {
        return None;
    }
    let reached = |(from, _, team): Step| from.is_some_and(|from| threads >= from).then_some(team);
    let [siblings, slow, node, socket] = steps(cpu, placement).map(reached);
    let has_more = cpu.hardware_threads > cpu.cores || cpu.packages.max(cpu.numa_nodes) > 1;
    let unbound = (*placement == Placement::None && has_more).then_some("where the system placed them");
    joined([siblings, slow, socket.or(node), unbound], " and ")
}

/// The first and last CPUs in a list such as `0-3,8`; `None` for other texts.
fn ranges(list: &str) -> Option<Vec<(u32, u32)>> {
    let part = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let ends: (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
        (ends.0 <= ends.1).then_some(ends)
    };
    list.trim().split(',').map(part).collect()
}

/// The number of CPUs in a list.
pub(crate) fn list_length(list: &str) -> Option<usize> {
    ranges(list).map(|ranges| ranges.iter().map(|(from, to)| (to - from) as usize + 1).sum())
}

/// Whether one of these CPUs is in a list.
pub(crate) fn list_has_any(list: &str, cpus: &[u32]) -> bool {
    let is_in = |cpu: &u32| ranges(list).unwrap_or_default().iter().any(|(from, to)| (from..=to).contains(&cpu));
    cpus.iter().any(is_in)
}

#[cfg(test)]
mod tests {
    use syncscope_core::machine::CoreKind;
    use syncscope_core::{Row, Verdict};

    use super::*;

    fn machine(packages: u32, numa_nodes: u32, cores: u32, hardware_threads: u32) -> CpuMachine {
        CpuMachine { packages, numa_nodes, cores, hardware_threads, ..CpuMachine::default() }
    }

    fn labels(cpu: &CpuMachine, placement: &Placement) -> Vec<String> {
        lines(cpu, placement, cpu.hardware_threads).into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn lines_are_those_of_the_placement() {
        let system1 = machine(2, 2, 20, 40);
        let of = |placement| labels(&system1, &placement);
        assert_eq!(of(Placement::Cores), ["second socket from 11", "hardware threads from 21", "CPUs: 40"]);
        assert_eq!(of(Placement::Close), ["both threads of a core from 2", "second socket from 21", "CPUs: 40"]);
        assert_eq!(of(Placement::Spread), ["second socket from 2", "hardware threads from 21", "CPUs: 40"]);
        assert_eq!(of(Placement::None), ["cores: 20", "CPUs: 40"]);
        assert_eq!(lines(&system1, &Placement::None, 44)[1], (40, "CPUs: 40, shared beyond".to_owned()));
        let clusters = labels(&machine(2, 4, 32, 64), &Placement::Cores);
        assert_eq!(clusters, ["second node from 9", "second socket from 17", "hardware threads from 33", "CPUs: 64"]);
        let kinds = [(8, 16), (16, 16)].map(|(cores, hardware_threads)| CoreKind { cores, hardware_threads });
        let hybrid = CpuMachine { core_kinds: kinds.to_vec(), ..machine(1, 1, 24, 32) };
        let expected = ["efficiency cores from 9", "hardware threads from 25", "CPUs: 32"];
        assert_eq!(labels(&hybrid, &Placement::Cores), expected);
        let expected = ["both threads of a core from 2", "efficiency cores from 17", "CPUs: 32"];
        assert_eq!(labels(&hybrid, &Placement::Close), expected);
        assert_eq!(labels(&machine(1, 4, 96, 96), &Placement::Close), ["second node from 25", "CPUs: 96"]);
        assert_eq!(labels(&machine(1, 1, 16, 16), &Placement::Close), ["CPUs: 16"]);
        assert!(labels(&CpuMachine::default(), &Placement::None).is_empty());
    }

    #[test]
    fn one_thread_on_each_core_has_two_names() {
        let on = |placement, threads| Case {
            placement: Some(placement),
            threads: Some(threads),
            ..Case::new("cpu.lock.mcs")
        };
        let run = |cpu: CpuMachine, usual| {
            let mut run = crate::testing::data(vec![Row::unmeasured(on(usual, 2), Verdict::Resolved)]);
            run.run.machine.cpu = cpu;
            run
        };
        let smt = run(machine(2, 2, 20, 40), Placement::Cores);
        // The same machine where a run may use one hardware thread of each core looks like a machine without them.
        let mut few = run(machine(2, 2, 20, 40), Placement::Close);
        few.run.environment.allowed_cpus = "0-15".to_owned();
        for flat in [run(machine(1, 1, 16, 16), Placement::Close), few] {
            let of = |case: Case, own, other| counterpart(&case, own, other).and_then(|case| case.placement);
            assert_eq!(of(on(Placement::Cores, 8), &smt, &flat), Some(Placement::Close));
            assert_eq!(of(on(Placement::Close, 8), &flat, &smt), Some(Placement::Cores));
            assert_eq!(of(on(Placement::Cores, 32), &smt, &flat), None, "more than its cores");
            assert_eq!(of(on(Placement::Close, 2), &smt, &flat), None, "siblings there, cores here");
            assert_eq!(of(on(Placement::Close, 2), &smt, &smt), Some(Placement::Close));
            assert_eq!(of(on(Placement::Spread, 8), &smt, &flat), Some(Placement::Spread));
        }
        let unknown = run(CpuMachine::default(), Placement::Close);
        let found = counterpart(&on(Placement::Cores, 8), &smt, &unknown).unwrap();
        assert_eq!(found.placement, Some(Placement::Cores), "nothing is known of the other machine");
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
