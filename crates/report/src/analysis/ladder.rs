//! The cost ladder of the page: one rung for each level at which threads synchronize, selected from the rows of a run.
//!
//! The chart follows Zhang et al. (IPDPS 2020, figures 12 and 13), from the warp to several devices. The CPU has rungs
//! of its own, from one core to two packages.

use syncscope_core::{Case, Group, Mode, Placement, Row, Run, Space, Verdict};

use super::row_query::{
    CPU_BARRIERS, CPU_LOCKS, Choice, DEVICE_BARRIERS, GRID_BARRIERS, HANDOFFS, MachineSize, RowQuery, WAKE_UPS, any,
    is_one_block, one_actor,
};

/// One level of synchronization.
#[derive(Debug)]
pub(crate) struct Rung {
    /// The part of the machine that synchronizes.
    pub(crate) level: &'static str,
    /// The operation.
    pub(crate) title: &'static str,
    pub(crate) query: RowQuery,
}

const fn rung(
    level: &'static str,
    title: &'static str,
    primitives: &'static [&'static str],
    fits: fn(&Case, MachineSize) -> bool,
    choice: Choice,
) -> Rung {
    Rung { level, title, query: RowQuery { primitives, fits, choice } }
}

/// The rungs, from the smallest level to the largest, CPU first.
pub(crate) const LADDER: &[Rung] = {
    use Choice::{FastestOfFewest, FastestOfMost, FewestActors, MedianCost, MostActors};
    &[
        rung("One core", "Atomic add, alone", &["cpu.atomic.add"], one_actor, FewestActors),
        rung("One core", "Full fence", &["cpu.fence.seq_cst"], one_actor, FewestActors),
        rung("One core", "Lock, alone", CPU_LOCKS, one_actor, FewestActors),
        rung("Two threads", "Hand-off, close", HANDOFFS, |case, _| case.group.is_none(), FewestActors),
        rung("Two threads", "Hand-off, same core", HANDOFFS, |case, _| in_group(case, &Group::SameCore), MedianCost),
        rung("Two threads", "Hand-off, same L2", HANDOFFS, |case, _| in_group(case, &Group::SameL2), MedianCost),
        rung("Two threads", "Hand-off, same L3", HANDOFFS, |case, _| in_group(case, &Group::SameL3), MedianCost),
        rung(
            "Two threads",
            "Hand-off, same NUMA node",
            HANDOFFS,
            |case, _| in_group(case, &Group::SameNode),
            MedianCost,
        ),
        rung(
            "Two threads",
            "Hand-off, same package",
            HANDOFFS,
            |case, _| in_group(case, &Group::SamePackage),
            MedianCost,
        ),
        rung(
            "Two threads",
            "Hand-off, across packages",
            HANDOFFS,
            |case, _| in_group(case, &Group::Across),
            MedianCost,
        ),
        rung("Two threads", "Wake a sleeping thread", WAKE_UPS, any, FastestOfFewest),
        rung("Two threads", "Barrier, best", CPU_BARRIERS, |case, _| case.threads == Some(2), FastestOfFewest),
        rung("All threads", "Atomic add, contended", &["cpu.atomic.add"], several_threads, MostActors),
        rung("All threads", "Barrier, best", CPU_BARRIERS, several_threads, FastestOfMost),
        rung("All threads", "Lock, contended", CPU_LOCKS, several_threads, MostActors),
        rung(
            "Warp",
            "Barrier, converged",
            &["gpu.warp.syncwarp"],
            |case, _| warp(case, &Group::Converged),
            FewestActors,
        ),
        rung(
            "Warp",
            "Barrier, divergent",
            &["gpu.warp.syncwarp"],
            |case, _| warp(case, &Group::Divergent),
            FewestActors,
        ),
        rung("Warp", "Shuffle", &["gpu.shuffle.idx"], |case, _| one_warp(case), FewestActors),
        rung("Warp", "Ballot", &["gpu.vote.ballot"], |case, _| one_warp(case), FewestActors),
        rung("Block", "Barrier, one warp", &["gpu.block.syncthreads"], |case, _| one_warp(case), FewestActors),
        rung("Block", "Barrier, 1,024 threads", &["gpu.block.syncthreads"], |case, _| block(case, 1024), FewestActors),
        rung("Block", "Fence", &["gpu.fence.block"], |case, _| one_warp(case), FewestActors),
        rung(
            "Block",
            "Atomic add, shared memory",
            &["gpu.atomic.add"],
            |case, _| atomic(case, Space::Shared),
            FewestActors,
        ),
        rung(
            "Cluster",
            "Barrier, 2 blocks",
            &["gpu.cluster.sync"],
            |case, _| in_group(case, &Group::Cluster(2)),
            FewestActors,
        ),
        rung(
            "Cluster",
            "Barrier, 8 blocks",
            &["gpu.cluster.sync"],
            |case, _| in_group(case, &Group::Cluster(8)),
            FewestActors,
        ),
        rung("Device", "Fence", &["gpu.fence.device"], |case, _| one_warp(case), FewestActors),
        rung(
            "Device",
            "Atomic add, one warp",
            &["gpu.atomic.add"],
            |case, _| atomic(case, Space::Global),
            FewestActors,
        ),
        rung("Device", "Grid barrier, best", GRID_BARRIERS, one_block_per_multiprocessor, FastestOfFewest),
        rung(
            "Device",
            "Grid barrier, cooperative",
            &["gpu.grid.cooperative"],
            one_block_per_multiprocessor,
            FewestActors,
        ),
        rung("Device", "Grid barrier, counter", &["gpu.grid.counter"], one_block_per_multiprocessor, FewestActors),
        rung("Device", "Grid barrier, lock-free", &["gpu.grid.lock_free"], one_block_per_multiprocessor, FewestActors),
        rung("Device", "Kernel launch", &["gpu.launch.stream"], any, FewestActors),
        rung("Device", "Kernel launch in a graph", &["gpu.launch.graph"], any, FewestActors),
        rung("Several GPUs", "Fence, system", &["gpu.fence.system"], |case, _| one_warp(case), FewestActors),
        rung(
            "Several GPUs",
            "Barrier, 2 devices, best",
            DEVICE_BARRIERS,
            |case, _| case.devices == Some(2),
            FastestOfFewest,
        ),
        rung(
            "Several GPUs",
            "Barrier, 4 devices, best",
            DEVICE_BARRIERS,
            |case, _| case.devices == Some(4),
            FastestOfFewest,
        ),
        rung(
            "Several GPUs",
            "Barrier, 8 devices, best",
            DEVICE_BARRIERS,
            |case, _| case.devices == Some(8),
            FastestOfFewest,
        ),
        rung("CPU and GPU", "Flag there and back", &["hybrid.flag.round_trip"], any, FastestOfFewest),
        rung("CPU and GPU", "Kernel launch and wait", &["gpu.launch.stream_sync"], any, FewestActors),
    ]
};

/// Several CPU threads that fit the hardware threads, without a list of CPUs.
fn several_threads(case: &Case, machine: MachineSize) -> bool {
    let threads = case.threads.unwrap_or(1);
    let fits_cpus = machine.hardware_threads == 0 || threads <= machine.hardware_threads;
    threads > 1 && fits_cpus && !matches!(case.placement, Some(Placement::List(_)))
}

fn in_group(case: &Case, group: &Group) -> bool {
    case.group.as_ref() == Some(group)
}

/// One block of so many threads whose latency is measured.
fn block(case: &Case, threads: u32) -> bool {
    is_one_block(case, threads) && case.mode != Some(Mode::Throughput)
}

fn one_warp(case: &Case) -> bool {
    block(case, 32)
}

fn warp(case: &Case, group: &Group) -> bool {
    one_warp(case) && in_group(case, group)
}

/// One warp that adds to one variable. The modes of atomics are not distinguished.
fn atomic(case: &Case, space: Space) -> bool {
    is_one_block(case, 32) && case.space == Some(space)
}

/// As many blocks as multiprocessors; any number of blocks where the device is unknown.
fn one_block_per_multiprocessor(case: &Case, machine: MachineSize) -> bool {
    machine.multiprocessors == 0 || case.blocks == Some(machine.multiprocessors)
}

impl Rung {
    /// The domain that waits: `cpu`, `gpu` or `hybrid`.
    pub(crate) fn domain(&self) -> &'static str {
        self.query.primitives.first().and_then(|primitive| primitive.split('.').next()).unwrap_or_default()
    }

    /// The index of the row on this rung. A case that does not exist on the machine has no rung.
    pub(crate) fn find(&self, run: &Run, rows: &[Row]) -> Option<usize> {
        let exists = |row: &Row| !matches!(row.verdict, Verdict::Skipped(_));
        let existing = rows.iter().enumerate().filter(|(_, row)| exists(row));
        self.query.select(existing, MachineSize::of(&run.machine))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    use syncscope_core::Nanoseconds;
    use syncscope_core::machine::{CpuMachine, GpuMachine, Machine};

    fn run() -> Run {
        let cpu = CpuMachine { hardware_threads: 8, ..CpuMachine::default() };
        let gpu = GpuMachine { multiprocessors: 132, ..GpuMachine::default() };
        Run { machine: Machine { cpu, gpus: vec![gpu], links: Vec::new() }, ..crate::testing::run() }
    }

    fn cost(case: Case, ns: f64) -> Row {
        Row { ns: Some(Nanoseconds(ns)), ..Row::unmeasured(case, Verdict::Resolved) }
    }

    fn rung(level: &str, title: &str) -> &'static Rung {
        LADDER.iter().find(|rung| rung.level == level && rung.title == title).unwrap()
    }

    #[test]
    fn rungs_are_distinct_and_each_level_is_one_sequence() {
        let names: HashSet<_> = LADDER.iter().map(|rung| (rung.level, rung.title)).collect();
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
            let group = Some(Group::SameL3);
            cost(Case { threads: Some(2), placement, group, ..Case::new("cpu.handoff.cas_pingpong") }, ns)
        };
        let mut rows = vec![pair(0, 1, 60.0), pair(0, 2, 45.0), pair(0, 3, 52.0)];
        rows.push(Row { verdict: Verdict::Noisy(String::new()), ..pair(0, 4, 1.0) });
        assert_eq!(rung("Two threads", "Hand-off, same L3").find(&run(), &rows), Some(2));
        assert_eq!(rung("Two threads", "Hand-off, same core").find(&run(), &rows), None);
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
            // Faster, but of other sizes.
            grid("lock_free", 1, 32, 100.0),
            grid("counter", 132, 64, 650.0),
        ];
        assert_eq!(rung("Device", "Grid barrier, best").find(&run(), &rows), Some(2));
        assert_eq!(rung("Device", "Grid barrier, cooperative").find(&run(), &rows), Some(0));
        let noisy = rows.map(|row| Row { verdict: Verdict::Noisy(String::new()), ..row });
        assert_eq!(
            rung("Device", "Grid barrier, best").find(&run(), &noisy),
            Some(0),
            "an unresolved row has a mark too"
        );
    }

    #[test]
    fn oversubscribed_rows_are_not_selected() {
        let barrier = |threads, ns| cost(Case { threads: Some(threads), ..Case::new("cpu.barrier.sense") }, ns);
        let rows = [barrier(2, 90.0), barrier(8, 400.0), barrier(12, 2e6)];
        assert_eq!(rung("All threads", "Barrier, best").find(&run(), &rows), Some(1));
        assert_eq!(rung("Two threads", "Barrier, best").find(&run(), &rows), Some(0));
    }

    #[test]
    fn a_skipped_case_has_no_rung() {
        let case = Case { devices: Some(2), ..Case::new("gpu.multi.flags") };
        let rows = [Row::unmeasured(case, Verdict::Skipped("there is one device".into()))];
        assert_eq!(rung("Several GPUs", "Barrier, 2 devices, best").find(&run(), &rows), None);
    }
}
