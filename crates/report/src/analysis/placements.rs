//! Where the threads of a team run: which placement is shown, and where its curve leaves a core, a node and a socket.
//!
//! Machines with several hardware threads per core have rows of `cores`; elsewhere the same placement is called `close`.
//! Imported rows may have neither. Only this module ranks placements.

use std::borrow::Cow;

use syncscope_core::machine::{Boundaries, CpuMachine, kind_name};
use syncscope_core::{Case, Placement, Run};

use super::phrases::joined;
use crate::RunData;
use crate::naming::enumeration;

/// The placements by rank; the first one represents a machine.
pub(crate) const BY_RANK: [Placement; 4] = [Placement::Cores, Placement::Close, Placement::Spread, Placement::None];

/// The placement to show where only one is shown: the first in rank that teams of several threads have.
pub(crate) fn shown(data: &RunData) -> Placement {
    let has = |placement: &Placement| {
        data.rows.iter().any(|row| row.case.placement.as_ref() == Some(placement) && row.case.threads > Some(1))
    };
    BY_RANK.into_iter().find(has).unwrap_or(Placement::Close)
}

/// The case of another run whose threads are placed alike: one thread per core is `cores` where the run's CPUs include
/// several hardware threads of a core, and `close` elsewhere. `None` for teams that share cores in only one of the runs.
pub(crate) fn counterpart(case: &Case, own: &RunData, other: &RunData) -> Option<Case> {
    // A run on some of the CPUs (`--cpus`) may have no siblings on a machine with siblings.
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
        // A single thread has no neighbour.
        _ if cores.contains(&0) || threads == 1 => Some(case.clone()),
        (Some(Placement::Cores), true, false) => placed(Placement::Close),
        (Some(Placement::Close), false, true) => placed(Placement::Cores),
        (Some(Placement::Close), true, false) => None,
        _ => Some(case.clone()),
    }
}

/// The number of threads from which a team is in more than one part of the machine, the name of that line in a chart, and
/// the words in a sentence.
type Step = (Option<u32>, &'static str, &'static str);

/// The parts of the machine that teams of a placement use, as recorded or, for older files, derived.
pub(crate) fn boundaries(run: &Run, placement: &Placement) -> Boundaries {
    let recorded = run.environment.boundaries.get(placement.to_string().as_str());
    recorded.cloned().unwrap_or_else(|| derived(run, placement))
}

/// Derives boundaries from the counts of a machine without dividing them: packages, or nodes that are not listed, may have
/// unequal numbers of cores.
fn derived(run: &Run, placement: &Placement) -> Boundaries {
    let cpu = &run.machine.cpu;
    let CpuMachine { packages, cores, hardware_threads: threads, .. } = *cpu;
    let is_part = list_length(&run.environment.allowed_cpus).is_some_and(|allowed| allowed as u32 != threads);
    let is_bound = matches!(placement, Placement::Cores | Placement::Close | Placement::Spread);
    if is_part || !is_bound || cores == 0 {
        return Boundaries::default();
    }
    let (is_close, is_spread) = (*placement == Placement::Close, *placement == Placement::Spread);
    let siblings = if is_close { threads.is_multiple_of(cores).then_some(2) } else { Some(cores.saturating_add(1)) };
    let fast_first = (*placement == Placement::Cores).then_some(&cpu.core_kinds);
    let kinds = fast_first
        .into_iter()
        .flatten()
        .scan(1_u32, |next, kind| Some(Some(std::mem::replace(next, next.saturating_add(kind.cores)))));
    // The CPUs of a node, if all nodes have equally many.
    let lengths: Vec<Option<usize>> = cpu.node_cpus.values().map(|list| list_length(list)).collect();
    let cpus = lengths.first().copied().flatten().filter(|cpus| lengths.iter().all(|own| *own == Some(*cpus)));
    let each = (threads / cores).max(1);
    let is_regular =
        cores.checked_mul(each) == Some(threads) && cpus.is_some_and(|cpus| (cpus as u32).is_multiple_of(each));
    let of_node =
        cpus.filter(|_| is_regular && lengths.len() > 1).map(|cpus| cpus as u32 / if is_close { 1 } else { each });
    let second = if is_spread { Some(2) } else { of_node.map(|own| own + 1) };
    let nodes = lengths.len() as u32;
    Boundaries {
        siblings: siblings.filter(|_| threads > cores),
        kinds: kinds.collect(),
        cache: None,
        node: second.filter(|_| nodes > 1),
        package: second.filter(|_| packages > 1 && (is_spread || nodes == packages)),
    }
}

fn steps(run: &Run, placement: &Placement) -> [Step; 3] {
    let Boundaries { siblings, node, package, .. } = boundaries(run, placement);
    let both = run.machine.cpu.cores.checked_mul(2) == Some(run.machine.cpu.hardware_threads);
    let close = if *placement == Placement::Close && both { "both threads of a core" } else { "hardware threads" };
    // A node that is a whole package is called a package.
    let node = node.filter(|from| package.is_none_or(|package| package != *from));
    [
        (siblings, close, "on SMT siblings"),
        (node, "second node", "across NUMA nodes"),
        (package, "second socket", "across sockets"),
    ]
}

/// The kinds of cores of a run: from how many threads on a team uses the kind, and its name.
fn kinds(run: &Run, placement: &Placement) -> Vec<(u32, Cow<'static, str>)> {
    let kinds = boundaries(run, placement).kinds;
    let named = kinds.iter().enumerate().map(|(index, from)| Some(((*from)?, kind_name(index, kinds.len()))));
    named.flatten().collect()
}

/// The vertical lines of a chart over up to `most` threads of a placement, with their labels.
pub(crate) fn lines(run: &Run, placement: &Placement, most: u32) -> Vec<(u32, String)> {
    let cpu = &run.machine.cpu;
    let from = |(at, what, _): Step| at.map(|at| (at, format!("{what} from {at}")));
    let count = |count: u32, what: &str| (count > 0).then(|| (count, format!("{what}: {count}")));
    let is_unbound = *placement == Placement::None && cpu.cores != cpu.hardware_threads;
    let ends = [
        // Threads that the system places share cores once there are more of them than cores.
        count(cpu.cores, "cores").filter(|_| is_unbound || cpu.hardware_threads == 0),
        count(cpu.hardware_threads, "CPUs").map(|(at, label)| {
            let beyond = if most > at { ", shared beyond" } else { "" };
            (at, format!("{label}{beyond}"))
        }),
    ];
    let kinds = kinds(run, placement).into_iter().filter(|(at, _)| *at > 1);
    let kinds = kinds.map(|(at, name)| (at, format!("{name} cores from {at}")));
    let steps = steps(run, placement).map(from).into_iter().chain(ends).flatten();
    let mut lines: Vec<(u32, String)> = kinds.chain(steps).collect();
    lines.sort_by_key(|(at, _)| *at);
    lines
}

/// What a team uses beyond the cores of one socket: `on both hardware threads of a core`, `across sockets`.
pub fn beyond_one_socket(run: &Run, case: &Case) -> Option<String> {
    let cpu = &run.machine.cpu;
    let (placement, threads) = (case.placement.as_ref()?, case.threads?);
    if threads < 2 || cpu.hardware_threads == 0 || threads > cpu.hardware_threads {
        return None;
    }
    let reached = |(from, _, team): Step| from.is_some_and(|from| threads >= from).then(|| team.to_owned());
    let [siblings, node, socket] = steps(run, placement).map(reached);
    let used = kinds(run, placement).into_iter().filter(|(from, _)| threads >= *from);
    let used: Vec<String> = used.map(|(_, name)| name.into_owned()).collect();
    let is_usual = used.is_empty() || used == [kind_name(0, 2)];
    let kinds = (!is_usual).then(|| format!("on {} cores", enumeration(&used)));
    let has_more = cpu.hardware_threads > cpu.cores || cpu.packages.max(cpu.numa_nodes) > 1;
    let unbound = (*placement == Placement::None && has_more).then(|| "where the system placed them".to_owned());
    joined([siblings, kinds, socket.or(node), unbound], " and ")
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
    let ranges = ranges(list).unwrap_or_default();
    let is_in = |cpu: &u32| ranges.iter().any(|(from, to)| (from..=to).contains(&cpu));
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

    fn run_on(cpu: CpuMachine) -> Run {
        let mut run = crate::testing::run();
        run.machine.cpu = cpu;
        run.environment.allowed_cpus = String::new();
        run
    }

    /// Records boundaries: siblings, second node and second package.
    fn recorded(run: &mut Run, placement: &Placement, [siblings, node, package]: [Option<u32>; 3], kinds: &[u32]) {
        let kinds = kinds.iter().map(|from| Some(*from)).collect();
        let own = Boundaries { siblings, kinds, cache: None, node, package };
        run.environment.boundaries.insert(placement.to_string(), own);
    }

    fn system1() -> Run {
        let mut run = run_on(machine(2, 2, 20, 40));
        recorded(&mut run, &Placement::Cores, [Some(21), Some(11), Some(11)], &[]);
        recorded(&mut run, &Placement::Close, [Some(2), Some(21), Some(21)], &[]);
        recorded(&mut run, &Placement::Spread, [Some(21), Some(2), Some(2)], &[]);
        run
    }

    fn labels(run: &Run, placement: &Placement) -> Vec<String> {
        lines(run, placement, run.machine.cpu.hardware_threads).into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn lines_are_those_of_the_placement() {
        let system1 = system1();
        let of = |placement| labels(&system1, &placement);
        assert_eq!(of(Placement::Cores), ["second socket from 11", "hardware threads from 21", "CPUs: 40"]);
        assert_eq!(of(Placement::Close), ["both threads of a core from 2", "second socket from 21", "CPUs: 40"]);
        assert_eq!(of(Placement::Spread), ["second socket from 2", "hardware threads from 21", "CPUs: 40"]);
        assert_eq!(of(Placement::None), ["cores: 20", "CPUs: 40"]);
        assert_eq!(lines(&system1, &Placement::None, 44)[1], (40, "CPUs: 40, shared beyond".to_owned()));
        let mut uneven = run_on(machine(2, 4, 20, 20));
        recorded(&mut uneven, &Placement::Close, [None, Some(2), Some(13)], &[]);
        assert_eq!(labels(&uneven, &Placement::Close), ["second node from 2", "second socket from 13", "CPUs: 20"]);
        assert_eq!(labels(&run_on(machine(1, 1, 16, 16)), &Placement::Close), ["CPUs: 16"]);
        assert!(labels(&run_on(CpuMachine::default()), &Placement::None).is_empty());
    }

    fn kinds_of(kinds: &[(u32, u32)]) -> Vec<CoreKind> {
        let kind = |(cores, hardware_threads): &(u32, u32)| CoreKind {
            cores: *cores,
            hardware_threads: *hardware_threads,
            name: None,
        };
        kinds.iter().map(kind).collect()
    }

    #[test]
    fn every_kind_of_cores_has_its_line() {
        let mut hybrid = run_on(CpuMachine { core_kinds: kinds_of(&[(8, 16), (16, 16)]), ..machine(1, 1, 24, 32) });
        recorded(&mut hybrid, &Placement::Close, [Some(2), None, None], &[1, 17]);
        let expected = ["hardware threads from 2", "efficiency cores from 17", "CPUs: 32"];
        assert_eq!(labels(&hybrid, &Placement::Close), expected);
        // An older file.
        let expected = ["efficiency cores from 9", "hardware threads from 25", "CPUs: 32"];
        assert_eq!(labels(&hybrid, &Placement::Cores), expected);
        let mut three = run_on(CpuMachine { core_kinds: kinds_of(&[(2, 4), (8, 8), (2, 2)]), ..machine(1, 1, 12, 14) });
        recorded(&mut three, &Placement::Cores, [Some(13), None, None], &[1, 3, 11]);
        let expected = ["efficiency cores from 3", "low-power cores from 11", "hardware threads from 13", "CPUs: 14"];
        assert_eq!(labels(&three, &Placement::Cores), expected);
        let words = |threads| {
            let case = Case { placement: Some(Placement::Cores), threads: Some(threads), ..Case::new("cpu.lock.mcs") };
            beyond_one_socket(&three, &case)
        };
        assert_eq!(words(2), None);
        assert_eq!(words(3).unwrap(), "on performance and efficiency cores");
        assert_eq!(words(11).unwrap(), "on performance, efficiency and low-power cores");
        // The CPUs of slow cores may have the lowest numbers.
        let mut slow_first =
            run_on(CpuMachine { core_kinds: kinds_of(&[(10, 10), (10, 10)]), ..machine(1, 1, 20, 20) });
        recorded(&mut slow_first, &Placement::Close, [None, None, None], &[6, 1]);
        let words = |threads| {
            let case = Case { placement: Some(Placement::Close), threads: Some(threads), ..Case::new("cpu.lock.mcs") };
            beyond_one_socket(&slow_first, &case)
        };
        assert_eq!(words(5).unwrap(), "on efficiency cores");
        assert_eq!(words(6).unwrap(), "on performance and efficiency cores");
    }

    #[test]
    fn older_files_say_what_follows_from_them() {
        // The file does not say how many cores each package has.
        assert_eq!(labels(&run_on(machine(2, 2, 20, 40)), &Placement::Cores), ["hardware threads from 21", "CPUs: 40"]);
        let nodes = |lists: &[&str], cpu| {
            let node_cpus = (0..).zip(lists.iter().map(|list| (*list).to_owned())).collect();
            run_on(CpuMachine { node_cpus, ..cpu })
        };
        let even = nodes(&["0-9,20-29", "10-19,30-39"], machine(2, 2, 20, 40));
        assert_eq!(labels(&even, &Placement::Cores), ["second socket from 11", "hardware threads from 21", "CPUs: 40"]);
        assert_eq!(
            labels(&even, &Placement::Close),
            ["both threads of a core from 2", "second socket from 21", "CPUs: 40"]
        );
        let clusters = nodes(&["0-23", "24-47", "48-71", "72-95"], machine(1, 4, 96, 96));
        assert_eq!(labels(&clusters, &Placement::Close), ["second node from 25", "CPUs: 96"]);
        let uneven = nodes(&["0", "1", "12-23", "24-35"], machine(1, 4, 26, 26));
        assert_eq!(labels(&uneven, &Placement::Close), ["CPUs: 26"]);
        // The node count includes memory-only nodes.
        assert_eq!(labels(&run_on(machine(1, 9, 72, 72)), &Placement::Close), ["CPUs: 72"]);
        let mut part = even;
        part.environment.allowed_cpus = "0-9".to_owned();
        assert_eq!(labels(&part, &Placement::Cores), ["CPUs: 40"]);
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
        // If a run may use only one hardware thread per core, the machine looks like one without siblings.
        let mut few = run(machine(2, 2, 20, 40), Placement::Close);
        few.run.environment.allowed_cpus = "0-15".to_owned();
        for flat in [run(machine(1, 1, 16, 16), Placement::Close), few] {
            let of = |case: Case, own, other| counterpart(&case, own, other).and_then(|case| case.placement);
            assert_eq!(of(on(Placement::Cores, 8), &smt, &flat), Some(Placement::Close));
            assert_eq!(of(on(Placement::Close, 8), &flat, &smt), Some(Placement::Cores));
            assert_eq!(of(on(Placement::Cores, 32), &smt, &flat), None, "more than its cores");
            assert_eq!(of(on(Placement::Close, 2), &smt, &flat), None, "siblings there, cores here");
            assert_eq!(of(on(Placement::Close, 2), &smt, &smt), Some(Placement::Close));
            for placement in [Placement::Close, Placement::Cores] {
                let there = of(on(placement.clone(), 1), &flat, &smt);
                assert_eq!(there, of(on(placement.clone(), 1), &smt, &flat), "one thread runs alike on both");
                assert_eq!(there, Some(placement));
            }
            assert_eq!(of(on(Placement::Spread, 8), &smt, &flat), Some(Placement::Spread));
        }
        let unknown = run(CpuMachine::default(), Placement::Close);
        let found = counterpart(&on(Placement::Cores, 8), &smt, &unknown).unwrap();
        assert_eq!(found.placement, Some(Placement::Cores), "nothing is known of the other machine");
    }

    #[test]
    fn words_for_what_a_team_uses() {
        let on = |run: &Run, placement, threads| {
            let case = Case { placement: Some(placement), threads: Some(threads), ..Case::new("cpu.lock.mcs") };
            beyond_one_socket(run, &case)
        };
        let smt = system1();
        assert_eq!(on(&smt, Placement::Cores, 2), None);
        assert_eq!(on(&smt, Placement::Close, 2).unwrap(), "on SMT siblings");
        assert_eq!(on(&smt, Placement::Cores, 16).unwrap(), "across sockets");
        assert_eq!(on(&smt, Placement::Cores, 40).unwrap(), "on SMT siblings and across sockets");
        assert_eq!(on(&smt, Placement::None, 8).unwrap(), "where the system placed them");
        let mut nodes = run_on(machine(1, 4, 96, 96));
        recorded(&mut nodes, &Placement::Close, [None, Some(25), None], &[]);
        assert_eq!(on(&nodes, Placement::Close, 32).unwrap(), "across NUMA nodes");
        assert_eq!(on(&run_on(machine(1, 1, 16, 16)), Placement::Close, 16), None);
    }
}
