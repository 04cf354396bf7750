//! The cost ladder: one rung for each level at which threads synchronize, found among the rows of a run.
//!
//! The picture is that of Zhang et al. (IPDPS 2020, figures 12 and 13), from the warp to several devices, with the CPU
//! beside it, from one core to two packages.

use syncscope_core::{Case, Mode, Nanoseconds, Placement, Row, Run, Space, Verdict};

use crate::analysis::highlights::{GRIDS, LOCKS, usualness};

/// What a rung needs to know of the machine.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    /// Hardware threads of the CPUs; 0 where that is not known.
    hardware_threads: u32,
    /// Multiprocessors of the first device; 0 where there is none.
    multiprocessors: u32,
}

/// Which of the cases that fit stands on the rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pick {
    /// The most usual one, of the first primitive that was measured; the smallest.
    Smallest,
    /// The same, with the most threads.
    Largest,
    /// The cheapest resolved one, whatever the primitive, at the smallest size.
    Best,
    /// The cheapest resolved one, whatever the primitive, with the most threads.
    BestLargest,
    /// The resolved one in the middle: one pair of CPUs stands for all of its class.
    Middle,
}

/// One level of synchronization.
#[derive(Debug)]
pub(crate) struct Rung {
    /// The part of the machine that takes part.
    pub(crate) level: &'static str,
    /// What is done there.
    pub(crate) title: &'static str,
    /// The primitives that do it.
    primitives: &'static [&'static str],
    fits: fn(&Case, Sizes) -> bool,
    pick: Pick,
}

const BARRIERS: &[&str] =
    &["cpu.barrier.std", "cpu.barrier.sense", "cpu.barrier.dissemination", "cpu.barrier.tree", "cpu.barrier.openmp"];
const HANDOFFS: &[&str] = &["cpu.handoff.cas_pingpong", "cpu.handoff.store_pingpong"];
const SLEEPERS: &[&str] = &["cpu.handoff.futex", "cpu.handoff.condvar", "cpu.handoff.park"];
const MULTI: &[&str] = &["gpu.multi.flags", "gpu.multi.counter", "gpu.multi.host_barrier"];

/// The rungs, from the nearest to the widest, CPU first.
pub(crate) const LADDER: &[Rung] = {
    use Pick::{Best, BestLargest, Largest, Middle, Smallest};
    const fn rung(
        level: &'static str,
        title: &'static str,
        primitives: &'static [&'static str],
        fits: fn(&Case, Sizes) -> bool,
        pick: Pick,
    ) -> Rung {
        Rung { level, title, primitives, fits, pick }
    }
    &[
        rung("One core", "Atomic add, alone", &["cpu.atomic.add"], one_thread, Smallest),
        rung("One core", "Full fence", &["cpu.fence.seq_cst"], one_thread, Smallest),
        rung("One core", "Lock, alone", LOCKS, one_thread, Smallest),
        rung("Two threads", "Hand-off, close", HANDOFFS, |case, _| case.group.is_none(), Smallest),
        rung("Two threads", "Hand-off, same core", HANDOFFS, |case, _| in_group(case, "same_core"), Middle),
        rung("Two threads", "Hand-off, same L2", HANDOFFS, |case, _| in_group(case, "same_l2"), Middle),
        rung("Two threads", "Hand-off, same L3", HANDOFFS, |case, _| in_group(case, "same_l3"), Middle),
        rung("Two threads", "Hand-off, same NUMA node", HANDOFFS, |case, _| in_group(case, "same_node"), Middle),
        rung("Two threads", "Hand-off, same package", HANDOFFS, |case, _| in_group(case, "same_package"), Middle),
        rung("Two threads", "Hand-off, across packages", HANDOFFS, |case, _| in_group(case, "across"), Middle),
        rung("Two threads", "Wake a sleeping thread", SLEEPERS, |_, _| true, Best),
        rung("Two threads", "Barrier, best", BARRIERS, |case, _| case.threads == Some(2), Best),
        rung("All threads", "Atomic add, contended", &["cpu.atomic.add"], several_threads, Largest),
        rung("All threads", "Barrier, best", BARRIERS, several_threads, BestLargest),
        rung("All threads", "Lock, contended", LOCKS, several_threads, Largest),
        rung("Warp", "Barrier, converged", &["gpu.warp.syncwarp"], |case, _| warp(case, "converged"), Smallest),
        rung("Warp", "Barrier, divergent", &["gpu.warp.syncwarp"], |case, _| warp(case, "divergent"), Smallest),
        rung("Warp", "Shuffle", &["gpu.shuffle.idx"], |case, _| one_warp(case), Smallest),
        rung("Warp", "Ballot", &["gpu.vote.ballot"], |case, _| one_warp(case), Smallest),
        rung("Block", "Barrier, one warp", &["gpu.block.syncthreads"], |case, _| one_warp(case), Smallest),
        rung("Block", "Barrier, 1,024 threads", &["gpu.block.syncthreads"], |case, _| block(case, 1024), Smallest),
        rung("Block", "Fence", &["gpu.fence.block"], |case, _| one_warp(case), Smallest),
        rung(
            "Block",
            "Atomic add, shared memory",
            &["gpu.atomic.add"],
            |case, _| atomic(case, Space::Shared),
            Smallest,
        ),
        rung("Cluster", "Barrier, 2 blocks", &["gpu.cluster.sync"], |case, _| in_group(case, "cluster 2"), Smallest),
        rung("Cluster", "Barrier, 8 blocks", &["gpu.cluster.sync"], |case, _| in_group(case, "cluster 8"), Smallest),
        rung("Device", "Fence", &["gpu.fence.device"], |case, _| one_warp(case), Smallest),
        rung("Device", "Atomic add, one warp", &["gpu.atomic.add"], |case, _| atomic(case, Space::Global), Smallest),
        rung("Device", "Grid barrier, best", GRIDS, one_block_each, Best),
        rung("Device", "Grid barrier, cooperative", &["gpu.grid.cooperative"], one_block_each, Smallest),
        rung("Device", "Grid barrier, counter", &["gpu.grid.counter"], one_block_each, Smallest),
        rung("Device", "Grid barrier, lock-free", &["gpu.grid.lock_free"], one_block_each, Smallest),
        rung("Device", "Kernel launch", &["gpu.launch.stream"], |_, _| true, Smallest),
        rung("Device", "Kernel launch in a graph", &["gpu.launch.graph"], |_, _| true, Smallest),
        rung("Several GPUs", "Fence, system", &["gpu.fence.system"], |case, _| one_warp(case), Smallest),
        rung("Several GPUs", "Barrier, 2 devices, best", MULTI, |case, _| case.devices == Some(2), Best),
        rung("Several GPUs", "Barrier, 4 devices, best", MULTI, |case, _| case.devices == Some(4), Best),
        rung("Several GPUs", "Barrier, 8 devices, best", MULTI, |case, _| case.devices == Some(8), Best),
        rung("CPU and GPU", "Flag there and back", &["hybrid.flag.round_trip"], |_, _| true, Best),
        rung("CPU and GPU", "Kernel launch and wait", &["gpu.launch.stream_sync"], |_, _| true, Smallest),
    ]
};

fn one_thread(case: &Case, _: Sizes) -> bool {
    case.threads.unwrap_or(1) == 1
}

/// Threads that each have a hardware thread of their own, without a class of pairs.
fn several_threads(case: &Case, sizes: Sizes) -> bool {
    let threads = case.threads.unwrap_or(1);
    let apart = sizes.hardware_threads == 0 || threads <= sizes.hardware_threads;
    threads > 1 && apart && !matches!(case.placement, Some(Placement::List(_)))
}

fn in_group(case: &Case, group: &str) -> bool {
    case.group.as_deref() == Some(group)
}

fn block(case: &Case, threads: u32) -> bool {
    case.threads == Some(threads) && case.blocks.unwrap_or(1) == 1 && case.mode != Some(Mode::Throughput)
}

fn one_warp(case: &Case) -> bool {
    block(case, 32)
}

fn warp(case: &Case, group: &str) -> bool {
    one_warp(case) && in_group(case, group)
}

/// One warp that adds to one variable; atomics are measured by their throughput.
fn atomic(case: &Case, space: Space) -> bool {
    case.threads == Some(32) && case.blocks.unwrap_or(1) == 1 && case.space == Some(space)
}

/// As many blocks as multiprocessors; any number where the device is not known.
fn one_block_each(case: &Case, sizes: Sizes) -> bool {
    sizes.multiprocessors == 0 || case.blocks == Some(sizes.multiprocessors)
}

impl Rung {
    /// `cpu`, `gpu` or `hybrid`: the side of the machine that waits.
    pub(crate) fn domain(&self) -> &'static str {
        self.primitives.first().and_then(|primitive| primitive.split('.').next()).unwrap_or_default()
    }

    /// The row that stands on this rung, by its index. A case that does not exist on the machine has no rung.
    pub(crate) fn find(&self, run: &Run, rows: &[Row]) -> Option<usize> {
        let sizes = Sizes {
            hardware_threads: run.machine.cpu.hardware_threads,
            multiprocessors: run.machine.gpus.first().map_or(0, |gpu| gpu.multiprocessors),
        };
        let fitting: Vec<(usize, &Row)> = rows
            .iter()
            .enumerate()
            .filter(|(_, row)| self.primitives.contains(&row.case.primitive.as_str()))
            .filter(|(_, row)| !matches!(row.verdict, Verdict::Skipped(_)) && (self.fits)(&row.case, sizes))
            .collect();
        match self.pick {
            Pick::Smallest => self.first_primitive(&fitting, Case::actors),
            Pick::Largest => self.first_primitive(&fitting, |case| u64::MAX - case.actors()),
            Pick::Middle => self.middle(&fitting),
            Pick::Best => self.cheapest(&fitting, Case::actors),
            Pick::BestLargest => self.cheapest(&fitting, |case| u64::MAX - case.actors()),
        }
    }

    /// The most usual row of the first primitive that has one. Which one does not depend on what was measured.
    fn first_primitive(&self, fitting: &[(usize, &Row)], size: impl Fn(&Case) -> u64) -> Option<usize> {
        self.primitives.iter().find_map(|primitive| {
            let own = fitting.iter().filter(|(_, row)| row.case.primitive == *primitive);
            own.min_by_key(|(_, row)| (usualness(&row.case), size(&row.case), &row.case)).map(|(index, _)| *index)
        })
    }

    /// The cheapest resolved row of the size nearest to the asked one; without any, the most usual row.
    fn cheapest(&self, fitting: &[(usize, &Row)], size: impl Fn(&Case) -> u64) -> Option<usize> {
        let resolved: Vec<_> = resolved(fitting).collect();
        let nearest = resolved.iter().map(|(_, row, _)| size(&row.case)).min();
        let same_size = resolved.iter().filter(|(_, row, _)| Some(size(&row.case)) == nearest);
        let best = same_size.min_by(|(_, _, a), (_, _, b)| a.total_cmp(b)).map(|(index, ..)| *index);
        best.or_else(|| self.first_primitive(fitting, size))
    }

    /// The row in the middle of the resolved ones of the first primitive; without any, the most usual row.
    fn middle(&self, fitting: &[(usize, &Row)]) -> Option<usize> {
        let middle = self.primitives.iter().find_map(|primitive| {
            let mut own: Vec<_> = resolved(fitting).filter(|(_, row, _)| row.case.primitive == *primitive).collect();
            own.sort_by(|(_, _, a), (_, _, b)| a.total_cmp(b));
            own.get(own.len().saturating_sub(1) / 2).map(|(index, ..)| *index)
        });
        middle.or_else(|| self.first_primitive(fitting, Case::actors))
    }
}

/// The resolved rows with their costs.
fn resolved<'a>(fitting: &'a [(usize, &'a Row)]) -> impl Iterator<Item = (usize, &'a Row, f64)> {
    let cost = |row: &Row| row.ns.filter(|_| row.verdict == Verdict::Resolved).map(Nanoseconds::value);
    fitting.iter().filter_map(move |(index, row)| Some((*index, *row, cost(row)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

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
    fn rungs_are_told_apart_and_levels_stand_together() {
        let names: HashSet<_> = LADDER.iter().map(|rung| (rung.level, rung.title)).collect();
        assert_eq!(names.len(), LADDER.len());
        let mut levels: Vec<_> = LADDER.iter().map(|rung| rung.level).collect();
        levels.dedup();
        let distinct: HashSet<_> = levels.iter().collect();
        assert_eq!(distinct.len(), levels.len(), "a level is told twice: {levels:?}");
    }

    #[test]
    fn one_pair_in_the_middle_stands_for_its_class() {
        let pair = |a, b, ns| {
            let placement = Some(Placement::List(vec![a, b]));
            let group = Some("same_l3".to_owned());
            cost(Case { threads: Some(2), placement, group, ..Case::new("cpu.handoff.cas_pingpong") }, ns)
        };
        let mut rows = vec![pair(0, 1, 60.0), pair(0, 2, 45.0), pair(0, 3, 52.0)];
        rows.push(Row { verdict: Verdict::Noisy(String::new()), ..pair(0, 4, 1.0) });
        assert_eq!(rung("Two threads", "Hand-off, same L3").find(&run(), &rows), Some(2));
        assert_eq!(rung("Two threads", "Hand-off, same core").find(&run(), &rows), None);
    }

    #[test]
    fn the_best_grid_barrier_is_the_cheapest_at_one_block_each() {
        let grid = |name: &str, blocks, threads, ns| {
            let case = Case { blocks: Some(blocks), threads: Some(threads), ..Case::new(&format!("gpu.grid.{name}")) };
            cost(case, ns)
        };
        let rows = [
            grid("cooperative", 132, 32, 1000.0),
            grid("counter", 132, 32, 800.0),
            grid("lock_free", 132, 32, 700.0),
            // Cheaper, but of other sizes.
            grid("lock_free", 1, 32, 100.0),
            grid("counter", 132, 64, 650.0),
        ];
        assert_eq!(rung("Device", "Grid barrier, best").find(&run(), &rows), Some(2));
        assert_eq!(rung("Device", "Grid barrier, cooperative").find(&run(), &rows), Some(0));
        let noisy = rows.map(|row| Row { verdict: Verdict::Noisy(String::new()), ..row });
        assert_eq!(rung("Device", "Grid barrier, best").find(&run(), &noisy), Some(0), "a hollow mark, not a gap");
    }

    #[test]
    fn more_threads_than_the_cpus_have_are_no_rung() {
        let barrier = |threads, ns| cost(Case { threads: Some(threads), ..Case::new("cpu.barrier.sense") }, ns);
        let rows = [barrier(2, 90.0), barrier(8, 400.0), barrier(12, 2e6)];
        assert_eq!(rung("All threads", "Barrier, best").find(&run(), &rows), Some(1));
        assert_eq!(rung("Two threads", "Barrier, best").find(&run(), &rows), Some(0));
    }

    #[test]
    fn what_does_not_exist_has_no_rung() {
        let case = Case { devices: Some(2), ..Case::new("gpu.multi.flags") };
        let rows = [Row::unmeasured(case, Verdict::Skipped("there is one device".into()))];
        assert_eq!(rung("Several GPUs", "Barrier, 2 devices, best").find(&run(), &rows), None);
    }
}
