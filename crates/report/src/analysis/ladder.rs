//! The cost ladder of the page: one rung for each level at which threads synchronize, with the row of a run that represents
//! it.
//!
//! The chart follows Zhang, Wahib, Matsuoka (*A Study of Synchronization Methods in Modern GPUs*, figures 12 and 13), from
//! the warp to several devices. The CPU has its own rungs, from one core to two packages, and so do processes on one machine
//! and on several.

pub(crate) mod row_query;

use syncscope_core::{Case, Mode, Role, Row, Space};

use self::row_query::{Choice, Fit, Rung, Selected};
use crate::RunData;
use crate::naming::{EMPTY_KERNEL, KERNEL_US, SWEEP_US};
use crate::reading::has_figure;

use super::contest::{Basis, Known, Size};
use super::matrix::PRIMITIVE as HANDOFF;
use super::usual::WARP;

const fn of(id: &'static str, level: &'static str, title: &'static str, choice: Choice, fits: &'static [Fit]) -> Rung {
    Rung { id, level, title, choice, fits, of: "" }
}

/// A rung that shows the best of several designs.
const fn best(
    id: &'static str,
    level: &'static str,
    title: &'static str,
    choice: Choice,
    fits: &'static [Fit],
) -> Rung {
    Rung { of: ", best", ..of(id, level, title, choice, fits) }
}

/// A rung that shows the usual case with the fewest threads.
const fn usual(
    id: &'static str,
    level: &'static str,
    title: &'static str,
    primitive: &'static str,
    fits: &'static [Fit],
) -> Rung {
    of(id, level, title, Choice::Usual(primitive, Size::Fewest), fits)
}

/// A rung that shows a class of CPU pairs.
const fn pair(id: &'static str, title: &'static str, fits: &'static [Fit]) -> Rung {
    of(id, "Two threads", title, Choice::MedianCost(HANDOFF), fits)
}

/// A rung that shows the cheapest barrier across devices.
const fn of_devices(id: &'static str, title: &'static str, fits: &'static [Fit]) -> Rung {
    best(id, "System", title, Choice::Cheapest(Role::DeviceBarrier, Size::Fewest), fits)
}

/// The rungs, from the smallest level to the largest, CPU first.
pub const LADDER: &[Rung] = {
    use Choice::{Cheapest, CheapestSleep, NearestCores, Usual};
    use Fit::{
        AllAdd, Cluster, Devices, Filled, Group, MoreThan, NoGroup, Nodes, OneActor, OneBlock, OneWarpAdds, Pair,
        SeveralNodes, Team, Threads,
    };
    use Mode::{Latency, Throughput};
    use Role::{GridBarrier, ThreadBarrier, ThreadLock};
    use Size::{Fewest, Most};
    use Space::{Global, Shared};
    const SYNCWARP: &str = "gpu.warp.syncwarp";
    const SYNCTHREADS: &str = "gpu.block.syncthreads";
    const CLUSTER: &str = "gpu.cluster.sync";
    const ADD: &str = "gpu.atomic.add";
    const MPI_BARRIER: &str = "mpi.barrier.blocking";
    &[
        usual("core.add", "One core", "Atomic add, alone", "cpu.atomic.add", &[OneActor]),
        usual("core.fence", "One core", "Full fence", "cpu.fence.seq_cst", &[OneActor]),
        of("core.lock", "One core", "Uncontended lock (cheapest)", Cheapest(ThreadLock, Fewest), &[OneActor]),
        usual("handoff.close", "Two threads", "Hand-off, close", HANDOFF, &[NoGroup, Pair(false)]),
        of("handoff.near", "Two threads", "Hand-off, nearest cores", NearestCores(HANDOFF), &[Pair(true)]),
        pair("handoff.core", "Hand-off, same core", &[Group("same_core")]),
        pair("handoff.l2", "Hand-off, same L2", &[Group("same_l2")]),
        pair("handoff.l3", "Hand-off, same L3", &[Group("same_l3")]),
        pair("handoff.node", "Hand-off, same NUMA node", &[Group("same_node")]),
        pair("handoff.package", "Hand-off, same package", &[Group("same_package")]),
        pair("handoff.across", "Hand-off, across packages", &[Group("across")]),
        of("wake", "Two threads", "Wake a sleeping thread", CheapestSleep, &[Pair(false)]),
        best("barrier.2", "Two threads", "Barrier", Cheapest(ThreadBarrier, Fewest), &[Threads(2)]),
        of("add.threads", "All threads", "Atomic add, contended", Usual("cpu.atomic.add", Most), &[Team]),
        best("barrier.threads", "All threads", "Barrier", Cheapest(ThreadBarrier, Most), &[Team]),
        best("lock.threads", "All threads", "Lock, contended", Cheapest(ThreadLock, Most), &[Team]),
        usual("warp.converged", "Warp", "Barrier, converged", SYNCWARP, &[OneBlock(WARP), Group("converged")]),
        usual("warp.divergent", "Warp", "Barrier, divergent", SYNCWARP, &[OneBlock(WARP), Group("divergent")]),
        usual("warp.shuffle", "Warp", "Shuffle", "gpu.shuffle.idx", &[OneBlock(WARP)]),
        usual("warp.ballot", "Warp", "Ballot", "gpu.vote.ballot", &[OneBlock(WARP)]),
        usual("block.32", "Block", "Barrier, one warp", SYNCTHREADS, &[OneBlock(WARP)]),
        usual("block.1024", "Block", "Barrier, 1,024 threads", SYNCTHREADS, &[OneBlock(1024)]),
        usual("fence.block", "Block", "Fence", "gpu.fence.block", &[OneBlock(WARP)]),
        usual("add.block", "Block", "Atomic add, shared memory", ADD, &[OneWarpAdds(Shared, Throughput)]),
        usual("cluster.2", "Cluster", "Barrier, 2 blocks", CLUSTER, &[Cluster(2)]),
        usual("cluster.8", "Cluster", "Barrier, 8 blocks", CLUSTER, &[Cluster(8)]),
        usual("fence.device", "Device", "Fence", "gpu.fence.device", &[OneBlock(WARP)]),
        usual("add.warp.latency", "Device", "Atomic add, one warp, latency", ADD, &[OneWarpAdds(Global, Latency)]),
        usual("add.warp", "Device", "Atomic add, one warp, throughput", ADD, &[OneWarpAdds(Global, Throughput)]),
        of("add.device", "Device", "Atomic add, all threads", Usual(ADD, Most), &[AllAdd]),
        best("grid", "Device", "Grid barrier", Cheapest(GridBarrier, Fewest), &[Filled]),
        usual("grid.cooperative", "Device", "Grid barrier, cooperative", "gpu.grid.cooperative", &[Filled]),
        usual("grid.counter", "Device", "Grid barrier, counter", "gpu.grid.counter", &[Filled]),
        usual("grid.lock_free", "Device", "Grid barrier, lock-free", "gpu.grid.lock_free", &[Filled]),
        // Kernels that last longer than their launch. One more kernel then costs what the device needs between two kernels,
        // which compares with a grid barrier (for kernels that access memory, with a barrier between such accesses). One
        // more empty kernel costs what the host needs to launch it.
        usual("launch.graph", "Device", "Kernel boundary, graph", "gpu.launch.graph", &[Group(KERNEL_US)]),
        usual("launch.stream", "Device", "Kernel boundary, stream", "gpu.launch.stream", &[Group(KERNEL_US)]),
        usual(
            "launch.graph.swept",
            "Device",
            "Kernel boundary, graph, swept L2",
            "gpu.launch.graph",
            &[Group(SWEEP_US)],
        ),
        usual(
            "launch.stream.swept",
            "Device",
            "Kernel boundary, stream, swept L2",
            "gpu.launch.stream",
            &[Group(SWEEP_US)],
        ),
        usual("launch.empty", "Device", "Empty kernels, rate of the host", "gpu.launch.stream", &[Group(EMPTY_KERNEL)]),
        usual("fence.system", "System", "Fence, system", "gpu.fence.system", &[OneBlock(WARP)]),
        of_devices("devices.2", "Barrier, 2 devices", &[Devices(2)]),
        of_devices("devices.4", "Barrier, 4 devices", &[Devices(4)]),
        of_devices("devices.8", "Barrier, 8 devices", &[Devices(8)]),
        usual("host.flag", "CPU and GPU", "Flag there and back", "hybrid.flag.round_trip", &[]),
        usual("host.launch", "CPU and GPU", "Kernel launch and wait", "gpu.launch.stream_sync", &[]),
        usual("message.node", "Processes", "Message, one node", "mpi.handoff.pingpong", &[Nodes(1)]),
        usual("mpi.2", "Processes", "MPI barrier, 2 processes", MPI_BARRIER, &[Nodes(1)]),
        of("mpi.node", "Processes", "MPI barrier, one node", Usual(MPI_BARRIER, Most), &[Nodes(1), MoreThan(2)]),
        usual("message.nodes", "Several nodes", "Message", "mpi.handoff.pingpong", &[SeveralNodes]),
        usual("mpi.nodes.2", "Several nodes", "MPI barrier, 2 nodes", MPI_BARRIER, &[Nodes(2), Threads(2)]),
        of("mpi.nodes", "Several nodes", "MPI barrier, all", Usual(MPI_BARRIER, Most), &[SeveralNodes, MoreThan(2)]),
    ]
};

/// The rungs that the first screen and the picture to post show, the most wanted first. Each line shows its first rung with
/// a figure; in its name, `#` is the number of threads and `@` the cheapest design.
const CARD: [(&[&str], &str); 19] = [
    (&["host.launch"], "Kernel launch and wait"),
    (&["wake"], "Wake a sleeping thread"),
    (&["grid"], "Grid barrier, whole GPU"),
    (&["devices.8", "devices.4", "devices.2"], "Barrier of several GPUs"),
    (&["lock.threads"], "Lock, @, # threads"),
    (&["block.1024"], "__syncthreads(), 1,024 threads"),
    (
        &["handoff.close", "handoff.l3", "handoff.l2", "handoff.node", "handoff.package", "handoff.core"],
        "Hand-off to another CPU",
    ),
    (&["core.add"], "fetch_add, one thread"),
    (&["add.threads"], "fetch_add, one variable, # threads"),
    (&["cluster.8", "cluster.2"], "cluster.sync()"),
    (&["fence.device"], "__threadfence()"),
    (&["barrier.threads"], "Barrier, @, # threads"),
    (&["core.fence"], "fence(SeqCst)"),
    (&["core.lock"], "Lock, @, one thread"),
    (&["add.device"], "atomicAdd, one variable, whole GPU"),
    (&["mpi.nodes", "mpi.node", "mpi.2"], "MPI_Barrier, # processes"),
    (&["message.nodes"], "MPI message between nodes"),
    (&["message.node"], "MPI message, one node"),
    (&["warp.shuffle"], "__shfl_sync()"),
];

const MOST_ON_CARD: usize = 8;

/// The rungs of the card with their names.
pub(crate) fn card(data: &RunData) -> Vec<(&'static str, String)> {
    card_naming(data, |_, _| None)
}

/// The rungs of the card, where the names of some rungs include the design that their row shows.
pub(crate) fn card_naming<'a>(
    data: &'a RunData,
    design: impl Fn(&'static str, &'a Row) -> Option<&'a str>,
) -> Vec<(&'static str, String)> {
    let in_words = |id, name: &str, row: &'a Row| {
        let name_of = |best: &str| name.replace('#', &row.case.threads.unwrap_or(1).to_string()).replace('@', best);
        match design(id, row) {
            Some(design) if !name.contains('@') => format!("{}, {design}", name_of("")),
            design => name_of(design.unwrap_or("best")),
        }
    };
    let named = |(ids, name): &(&'static [&'static str], &str)| {
        let shown = ids.iter().find_map(|id| {
            let selected = rung(data, id)?;
            let row = data.rows.get(selected.row)?;
            (selected.median_ns.is_some() || has_figure(row)).then_some((*id, row))
        });
        shown.map(|(id, row)| (id, in_words(id, name, row)))
    };
    CARD.iter().filter_map(named).take(MOST_ON_CARD).collect()
}

/// Whether a rung of the card may be a case of this run.
pub(crate) fn may_be_on_card(data: &RunData, case: &Case) -> bool {
    let of_card = |rung: &&Rung| CARD.iter().any(|(ids, _)| ids.contains(&rung.id));
    LADDER.iter().filter(of_card).any(|rung| rung.is_about(data, case))
}

/// Whether a rung repeats a class of CPU pairs in each of these runs: where classes are known, the nearest cores belong to
/// one.
pub(crate) fn is_repeated(rung: &Rung, pages: &[RunData]) -> bool {
    let of_class = |data: &RunData| {
        let found = rung.find(data);
        let mut classes = LADDER.iter().filter(|other| matches!(other.choice, Choice::MedianCost(_)));
        found.is_none() || classes.any(|other| other.find(data) == found)
    };
    matches!(rung.choice, Choice::NearestCores(_)) && pages.iter().all(of_class)
}

/// Whether the rung of this id shows the cheapest of several designs.
pub(crate) fn has_rivals(id: &str) -> bool {
    let choice = LADDER.iter().find(|rung| rung.id == id).map(|rung| rung.choice);
    matches!(choice, Some(Choice::Cheapest(..) | Choice::CheapestSleep))
}

/// The row that the rung with this id selects.
pub(crate) fn rung(data: &RunData, id: &str) -> Option<Selected> {
    let rung = LADDER.iter().find(|rung| rung.id == id);
    #[cfg(test)]
    assert!(rung.is_some(), "the ladder has no rung {id}");
    rung?.find(data)
}

/// The cost of the row on the rung with this id, if it may be written.
pub(crate) fn on_rung<'a>(data: &'a RunData, id: &str, basis: Basis) -> Option<Known<'a>> {
    Known::written(data, rung(data, id)?.row, basis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    use syncscope_core::machine::{CpuMachine, GpuMachine, Machine};
    use syncscope_core::stats::Interval;
    use syncscope_core::{Detail, Dtype, Form, Group, Layout, Nanoseconds, Placement, Row, Verdict};

    fn data(rows: &[Row]) -> RunData {
        let cpu = CpuMachine { hardware_threads: 8, ..CpuMachine::default() };
        let gpu = GpuMachine { multiprocessors: 132, ..GpuMachine::default() };
        let mut data = crate::testing::data(rows.to_vec());
        data.run.machine = Machine { cpu, gpus: vec![gpu], links: Vec::new() };
        data
    }

    fn cost(case: Case, ns: f64) -> Row {
        Row { ns: Some(Nanoseconds(ns)), ..Row::unmeasured(case, Verdict::Resolved) }
    }

    /// The row with this interval and the verdict for a wide one.
    fn noisy(row: Row, low: f64, high: f64) -> Row {
        Row { ns_within: Some(Interval { low, high }), verdict: Verdict::Noisy("wide".into()), ..row }
    }

    #[test]
    fn the_card_has_names_of_apis_and_eight_rungs_with_figures() {
        let add = |threads, ns| cost(Case { threads: Some(threads), ..Case::new("cpu.atomic.add") }, ns);
        let unknown = Row { ns: None, ..add(4, 0.0) };
        assert_eq!(card(&data(&[add(1, 5.0), unknown.clone()])), [("core.add", "fetch_add, one thread".to_owned())]);
        let both = card(&data(&[add(1, 5.0), add(4, 80.0)]));
        assert_eq!(both[1].1, "fetch_add, one variable, 4 threads");
        let ids = CARD.iter().flat_map(|(ids, _)| ids.iter());
        assert!(ids.clone().all(|id| LADDER.iter().any(|rung| rung.id == *id)));
        assert!(ids.count() > MOST_ON_CARD);
    }

    fn find(id: &str, rows: &[Row]) -> Option<usize> {
        rung(&data(rows), id).map(|selected| selected.row)
    }

    #[test]
    fn all_threads_of_a_device_are_on_all_of_its_multiprocessors() {
        let add = |blocks| {
            let case = Case { layout: Some(Layout::Shared), blocks: Some(blocks), ..Case::new("gpu.atomic.add") };
            cost(Case { threads: Some(32), ..case }, 50.0)
        };
        assert_eq!(find("add.device", &[add(66)]), None);
        assert_eq!(find("add.device", &[add(66), add(132), add(264)]), Some(2));
    }

    fn barrier(name: &str, threads: u32, ns: f64) -> Row {
        cost(Case { threads: Some(threads), ..Case::new(&format!("cpu.barrier.{name}")) }, ns)
    }

    #[test]
    fn rungs_are_distinct_and_each_level_is_one_sequence() {
        let ids: HashSet<_> = LADDER.iter().map(|rung| rung.id).collect();
        assert_eq!(ids.len(), LADDER.len());
        let names: HashSet<_> = LADDER.iter().map(|rung| (rung.level, rung.full_title())).collect();
        assert_eq!(names.len(), LADDER.len());
        let mut levels: Vec<_> = LADDER.iter().map(|rung| rung.level).collect();
        levels.dedup();
        let distinct: HashSet<_> = levels.iter().collect();
        assert_eq!(distinct.len(), levels.len(), "a level appears twice: {levels:?}");
    }

    #[test]
    fn the_pair_of_median_cost_represents_its_class() {
        let pair = |a, b, ns| {
            let placement = Some(Placement::List(vec![a, b]));
            let group = Some(Group::named("same_l3"));
            cost(Case { threads: Some(2), placement, group, ..Case::new("cpu.handoff.cas_pingpong") }, ns)
        };
        let mut rows = vec![pair(0, 1, 60.0), pair(0, 2, 45.0), pair(0, 3, 52.0)];
        rows.push(Row { verdict: Verdict::Noisy(String::new()), ..pair(0, 4, 1.0) });
        assert_eq!(find("handoff.l3", &rows), Some(2));
        assert_eq!((find("handoff.core", &rows), find("handoff.near", &rows)), (None, Some(2)));
        let imported: Vec<Row> =
            rows.iter().map(|row| Row { case: Case { group: None, ..row.case.clone() }, ..row.clone() }).collect();
        assert_eq!((find("handoff.near", &imported), find("handoff.close", &imported)), (Some(2), None));
        // Noisy pairs count, because the few resolved ones are not typical.
        let noise = [pair(0, 5, 70.0), pair(0, 6, 71.0)].map(|row| noisy(row, 50.0, 90.0));
        assert_eq!(find("handoff.l3", &[rows, noise.to_vec()].concat()), Some(0));
    }

    #[test]
    fn the_best_of_a_run_that_ended_early_is_the_best_so_far() {
        let mut data = data(&[barrier("tree", 4, 900.0), barrier("std", 4, 3000.0)]);
        let note = |data: &RunData| rung(data, "barrier.threads").and_then(|selected| selected.note);
        assert_eq!(note(&data).as_deref(), Some("tree"));
        data.run.status = syncscope_core::run::Status::Interrupted;
        data.run.planned_by_primitive = [("cpu.barrier.sense".to_owned(), 1)].into();
        assert_eq!(note(&data).as_deref(), Some("tree, so far"));
        data.run.planned_by_primitive = [("cpu.barrier.tree".to_owned(), 1), ("cpu.barrier.std".to_owned(), 1)].into();
        assert_eq!(note(&data).as_deref(), Some("tree"), "all barriers are measured");
    }

    #[test]
    fn the_best_grid_barrier_is_the_fastest_at_one_block_per_multiprocessor() {
        let grid = |name: &str, blocks, threads, ns| {
            let case = Case { blocks: Some(blocks), threads: Some(threads), ..Case::new(&format!("gpu.grid.{name}")) };
            cost(case, ns)
        };
        let rows = [
            grid("cooperative", 132, 32, 1000.0),
            grid("counter", 132, 32, 800.0),
            grid("lock_free", 132, 32, 700.0),
            // Faster, but with other sizes.
            grid("lock_free", 1, 32, 100.0),
            grid("counter", 132, 64, 650.0),
        ];
        assert_eq!(find("grid", &rows), Some(2));
        assert_eq!(find("grid.cooperative", &rows), Some(0));
        let unknown = rows.map(|row| Row { verdict: Verdict::Noisy(String::new()), ..row });
        let selected = rung(&data(&unknown), "grid").unwrap();
        assert_eq!(selected.row, 0, "an unresolved row has a mark too");
        assert_eq!(selected.note.as_deref(), Some("best without a figure"), "and is not called the best");
    }

    #[test]
    fn the_best_of_noisy_rows_is_the_one_with_the_least_upper_bound() {
        // 37.6 µs was shown as the best barrier although another took 37 to 54 ns.
        let rows = [
            noisy(barrier("std", 2, 37_600.0), 30_000.0, 45_000.0),
            noisy(barrier("dissemination", 2, 48.0), 37.0, 54.0),
            noisy(barrier("sense", 2, 100.0), 80.0, 130.0),
        ];
        let selected = rung(&data(&rows), "barrier.threads").unwrap();
        assert_eq!((selected.row, selected.note.as_deref()), (1, Some("dissemination")));
        // A noisy row beats resolved rows that certainly cost more.
        let resolved = [barrier("tree", 2, 900.0), barrier("openmp", 2, 700.0)];
        assert_eq!(find("barrier.threads", &[&resolved[..], &rows[1..2]].concat()), Some(2));
    }

    #[test]
    fn the_best_names_each_primitive_that_may_be_the_best() {
        let rows = [
            noisy(barrier("sense", 8, 500.0), 300.0, 700.0),
            noisy(barrier("tree", 8, 400.0), 380.0, 420.0),
            barrier("dissemination", 8, 450.0),
        ];
        let selected = rung(&data(&rows), "barrier.threads").unwrap();
        assert_eq!((selected.row, selected.note.as_deref()), (1, Some("tree or sense")));
    }

    #[test]
    fn a_thread_that_does_not_sleep_is_no_wake_up() {
        let wake = |name: &str, ns| cost(Case { threads: Some(2), ..Case::new(&format!("cpu.handoff.{name}")) }, ns);
        let mut data = data(&[wake("park", 133.0), wake("futex", 5080.0), wake("condvar", 267.0)]);
        let medians = [4538.0, 4999.0, 400.0];
        for (row, median) in data.rows.iter().zip(medians) {
            data.details.insert(row.case.id(), vec![Detail::of_case("p50_ns", median)]);
        }
        let selected = rung(&data, "wake").unwrap();
        assert_eq!((selected.row, selected.note.as_deref(), selected.median_ns), (0, Some("park"), Some(4538.0)));
        // A waiter that was seen asleep gives the better figure, even if it is larger. Waiter and waker on one CPU answer
        // another question.
        let seen = |name: &str, group, ns| {
            cost(Case { threads: Some(2), group, ..Case::new(&format!("cpu.wake.{name}")) }, ns)
        };
        let ways = [("eventfd", None, 5200.0), ("futex", None, 5100.0)];
        data.rows.extend(ways.map(|(name, group, ns)| seen(name, group, ns)));
        let mut on_one_cpu = seen("park", Some(Group::named("one_cpu")), 900.0);
        on_one_cpu.case.placement = Some(Placement::List(vec![0, 0]));
        data.rows.push(on_one_cpu);
        let woken = rung(&data, "wake").unwrap();
        assert_eq!((woken.row, woken.note.as_deref(), woken.median_ns), (4, Some("futex"), None));
        // Of the groups by sleeping time, the shortest counts.
        let groups = [(200, 4000.0), (20, 5000.0)].map(|(us, ns)| (Group::numbered("asleep # us", us), ns));
        data.rows.splice(3.., groups.map(|(group, ns)| seen("park", Some(group), ns)));
        assert_eq!(rung(&data, "wake").map(|woken| woken.row), Some(4));
        data.rows.truncate(3);
        data.details.clear();
        assert_eq!(rung(&data, "wake"), None, "133 ns is no wake-up");
    }

    #[test]
    fn latency_and_throughput_of_an_atomic_are_two_rungs() {
        let add = |mode, ns| {
            let case = Case {
                threads: Some(32),
                blocks: Some(1),
                space: Some(Space::Global),
                mode,
                ..Case::new("gpu.atomic.add")
            };
            cost(case, ns)
        };
        let rows = [add(Some(Mode::Throughput), 23.4), add(Some(Mode::Latency), 233.0)];
        assert_eq!(find("add.warp.latency", &rows), Some(1));
        assert_eq!(find("add.warp", &rows), Some(0));
        assert_eq!(find("add.warp.latency", &rows[..1]), None);
    }

    #[test]
    fn empty_kernels_are_another_figure_than_one_kernel_more() {
        let launch =
            |name: &str, group, ns| cost(Case { group: Some(group), ..Case::new(&format!("gpu.launch.{name}")) }, ns);
        let rows = [
            launch("stream", Group::named("empty"), 3730.0),
            launch("stream", Group::of_word("5 us"), 1530.0),
            launch("graph", Group::of_word("5 us"), 468.0),
        ];
        assert_eq!(find("launch.stream", &rows), Some(1));
        assert_eq!(find("launch.graph", &rows), Some(2));
        assert_eq!(find("launch.empty", &rows), Some(0));
    }

    #[test]
    fn oversubscribed_rows_are_not_selected() {
        let rows = [barrier("sense", 2, 90.0), barrier("sense", 8, 400.0), barrier("sense", 12, 2e6)];
        assert_eq!(find("barrier.threads", &rows), Some(1));
        assert_eq!(find("barrier.2", &rows), Some(0));
    }

    #[test]
    fn a_skipped_case_has_no_rung() {
        let case = Case { devices: Some(2), ..Case::new("gpu.multi.flags") };
        let rows = [Row::unmeasured(case, Verdict::Skipped("there is one device".into()))];
        assert_eq!(find("devices.2", &rows), None);
    }

    fn usual(primitive: &str, dtype: Dtype, layout: Layout, threads: u32) -> Row {
        let case = Case { dtype: Some(dtype), layout: Some(layout), threads: Some(threads), ..Case::new(primitive) };
        Row::unmeasured(case, Verdict::Resolved)
    }

    #[test]
    fn the_default_form_is_selected() {
        let add = usual("cpu.atomic.add", Dtype::I32, Layout::Shared, 1);
        let varying = Row { case: Case { form: Some(Form::Varying), ..add.case.clone() }, ..add.clone() };
        assert_eq!(find("core.add", &[varying.clone(), add]), Some(1));
        assert_eq!(find("core.add", &[varying]), None);
    }

    #[test]
    fn the_usual_case_of_the_size_is_selected() {
        let rows = [
            usual("cpu.atomic.add", Dtype::F64, Layout::Shared, 16),
            usual("cpu.atomic.add", Dtype::I32, Layout::Private { stride: 1 }, 16),
            usual("cpu.atomic.add", Dtype::I32, Layout::Shared, 1),
            usual("cpu.atomic.add", Dtype::I32, Layout::Shared, 8),
            usual("cpu.atomic.add", Dtype::I32, Layout::Shared, 16),
        ];
        assert_eq!(find("core.add", &rows), Some(2));
        assert_eq!(find("lock.threads", &rows), None);
        let contended = |rows: &[Row], hardware_threads| {
            let mut data = data(rows);
            data.run.machine.cpu.hardware_threads = hardware_threads;
            rung(&data, "add.threads").map(|selected| selected.row)
        };
        assert_eq!(contended(&rows, 0), Some(4));
        assert_eq!(contended(&rows, 8), Some(3), "16 threads do not fit 8 hardware threads");
        assert_eq!(contended(&rows[4..], 1), None, "an oversubscribed row is no figure of the machine");
        let close = |id| Case { threads: Some(2), placement: Some(Placement::Close), ..Case::new(id) };
        let pair = [HANDOFF, "cpu.wake.futex"].map(|id| Row::unmeasured(close(id), Verdict::Resolved));
        for (rung_of, cpus, expected) in
            [("handoff.close", 2, Some(0)), ("wake", 2, Some(1)), ("handoff.close", 1, None), ("wake", 1, None)]
        {
            let mut data = data(&pair);
            data.run.machine.cpu.hardware_threads = cpus;
            assert_eq!(rung(&data, rung_of).map(|selected| selected.row), expected, "{rung_of} of {cpus}");
        }
    }

    #[test]
    fn a_kernel_that_works_stands_for_one_kernel_more() {
        let launch = |group: &str| {
            let case = Case { group: Some(Group::of_word(group)), ..Case::new("gpu.launch.stream") };
            Row::unmeasured(case, Verdict::Resolved)
        };
        let more = |rows: &[Row]| find("launch.stream", rows);
        assert_eq!(more(&[launch("20 us"), launch("empty"), launch("5 us")]), Some(2));
        // Without a kernel of 5 µs, the shortest one counts.
        assert_eq!(more(&[launch("empty"), launch("20 us"), launch("10 us")]), Some(2));
        assert_eq!(more(&[launch("empty")]), None, "the rate at which a host can launch is another figure");
    }

    #[test]
    fn a_run_of_openmp_alone_has_a_barrier() {
        let rows = [usual("cpu.barrier.openmp", Dtype::I32, Layout::Shared, 8)];
        assert_eq!(find("barrier.threads", &rows), Some(0));
    }
}
