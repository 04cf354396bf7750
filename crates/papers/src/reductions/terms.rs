//! The synchronization that each variant is made of, as cases of the catalogue with counts.
//!
//! The time of a variant is `T = L + S + sum(count * cost)`. L and S, the latency of one pass through the vector and its
//! transfer, are the same for all variants of a class, which read it with the same code on the same grid. They drop out
//! of a difference. A term that overlaps with reading counts only as far as it exceeds S: the device adds to one
//! variable while it reads.
//!
//! Where one block joins the partial results, they go to the second-level cache and back: a block waits until its partial
//! result is there before it arrives at the barrier or ends, and the joining block reads them. These are two round trips,
//! for which the catalogue's round trip of an atomic operation stands; then come a barrier of the block and two
//! reductions of a warp. The atomic operation of a block, whose result nobody uses, waits for nothing.

use syncscope_core::{Case, Dtype, Group, Layout, MemoryOrder, Mode, Placement, Scope, Space};

use super::{Class, Measured};

/// The group of kernels by their length in microseconds.
pub(super) const KERNEL_US: &str = "# us";

/// How often a variant executes an operation of the catalogue.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Term {
    /// The operation.
    pub(super) case: Case,
    /// How often one actor executes it in one reduction, one after the other.
    pub(super) count: f64,
    /// Whether it overlaps with reading the vector.
    pub(super) overlaps: bool,
}

impl Term {
    pub(super) fn added(case: Case, count: f64) -> Self {
        Self { case, count, overlaps: false }
    }

    fn overlapping(case: Case, count: f64) -> Self {
        Self { case, count, overlaps: true }
    }
}

/// Blocks of a cluster in the variant with clusters: the largest portable size.
const CLUSTER_BLOCKS: u32 = 8;

/// The length of kernels behind which the host is always ahead with the next launch: the longest that a prediction
/// uses.
const LONG_KERNEL_US: u32 = 20;

/// Threads of a block that saturate an atomic operation of a whole device.
const FULL_BLOCK: u32 = 1024;

/// The terms of a variant; `None` if its cost does not consist of operations of the catalogue.
///
/// `kernel_us` is about how long its kernels last, because a launch costs more or less next to longer kernels.
pub(super) fn terms_of(measured: &Measured<'_>, kernel_us: u32) -> Option<Vec<Term>> {
    let Case { threads, blocks, group, .. } = &measured.row.case;
    let (name, threads) = (measured.name, (*threads)?);
    match measured.class {
        Class::Cpu => cpu_terms(name, measured.elements, threads, group.as_ref()),
        Class::Listing => listing_terms(name, measured.elements),
        Class::Device => device_terms(name, Grid { blocks: (*blocks)?, threads, kernel_us }),
        Class::Devices => devices_terms(name, Grid { blocks: (*blocks)?, threads, kernel_us }, measured.problem().1),
    }
}

#[derive(Debug, Clone, Copy)]
struct Grid {
    blocks: u32,
    threads: u32,
    kernel_us: u32,
}

impl Grid {
    fn launch(self, how: &str, blocks: u32) -> Term {
        let group = Some(Group::numbered(KERNEL_US, self.kernel_us));
        let case = Case { blocks: Some(blocks), threads: Some(self.threads), group, ..Case::new(how) };
        Term::added(case, 1.0)
    }

    fn barrier(self, id: &str) -> Term {
        Term::added(Case { blocks: Some(self.blocks), threads: Some(self.threads), ..Case::new(id) }, 1.0)
    }

    /// The path of the partial results to the joining block, and what that block does with them.
    fn join(self) -> [Term; 3] {
        let block = Case { blocks: Some(1), threads: Some(self.threads), ..Case::new("gpu.block.syncthreads") };
        let warp = Case {
            dtype: Some(Dtype::I32),
            blocks: Some(1),
            threads: Some(32),
            mode: Some(Mode::Latency),
            ..Case::new("gpu.reduce.max")
        };
        let round_trip = Case { blocks: Some(1), threads: Some(32), mode: Some(Mode::Latency), ..global_maximum(None) };
        [Term::added(round_trip, 2.0), Term::added(block, 1.0), Term::added(warp, 2.0)]
    }

    /// Two barriers, and between them one round trip to the shared memory of other blocks, for which the round trip of
    /// an atomic operation stands.
    fn cluster(self) -> [Term; 2] {
        let on = |id: &str, threads: u32| Case {
            blocks: Some(CLUSTER_BLOCKS),
            threads: Some(threads),
            group: Some(Group::numbered("cluster #", CLUSTER_BLOCKS)),
            ..Case::new(id)
        };
        let round_trip = Case {
            dtype: Some(Dtype::U32),
            layout: Some(Layout::Private { stride: 1 }),
            space: Some(Space::Shared),
            mode: Some(Mode::Latency),
            ..on("gpu.cluster.dsmem_atomic", 32)
        };
        [Term::added(on("gpu.cluster.sync", self.threads), 2.0), Term::added(round_trip, 1.0)]
    }
}

fn device_terms(name: &str, grid: Grid) -> Option<Vec<Term>> {
    const STREAM: &str = "gpu.launch.stream";
    const GRAPH: &str = "gpu.launch.graph";
    const COOPERATIVE: &str = "gpu.launch.cooperative";
    let one = |launch: &str| grid.launch(launch, grid.blocks);
    // The device finds the next kernel in its queue, as behind long kernels.
    let queued = |launch: &str, blocks| Grid { kernel_us: LONG_KERNEL_US, ..grid }.launch(launch, blocks);
    let joined = |first: Term, second: Term| [first, second].into_iter().chain(grid.join()).collect();
    Some(match name {
        "atomic" => vec![one(STREAM)],
        "atomic_graph_chain" => vec![one(GRAPH)],
        "cluster" => std::iter::once(one(STREAM)).chain(grid.cluster()).collect(),
        "grid_cooperative" => joined(one(COOPERATIVE), grid.barrier("gpu.grid.cooperative")),
        "grid_counter" => joined(one(COOPERATIVE), grid.barrier("gpu.grid.counter")),
        "grid_lock_free" => joined(one(COOPERATIVE), grid.barrier("gpu.grid.lock_free")),
        "grid_graph_chain" => joined(one(GRAPH), grid.barrier("gpu.grid.cooperative")),
        "kernel_boundary" => joined(one(STREAM), grid.launch(STREAM, 1)),
        "atomic_queued" => vec![queued(STREAM, grid.blocks)],
        "grid_queued" => joined(queued(COOPERATIVE, grid.blocks), grid.barrier("gpu.grid.cooperative")),
        "kernel_boundary_queued" => joined(queued(STREAM, grid.blocks), queued(STREAM, 1)),
        "graph_chain" => joined(one(GRAPH), grid.launch(GRAPH, 1)),
        _ => return None,
    })
}

/// A launch on each device overlaps with the launch on the others. The barrier of the host contains its launches.
fn devices_terms(name: &str, grid: Grid, devices: u32) -> Option<Vec<Term>> {
    let barrier = |id: &str| {
        let term = grid.barrier(id);
        Term { case: Case { devices: Some(devices), ..term.case }, ..term }
    };
    match name {
        "devices_flags" => Some(vec![grid.launch("gpu.launch.stream", grid.blocks), barrier("gpu.multi.flags")]),
        "devices_host" => Some(vec![barrier("gpu.multi.host_barrier")]),
        _ => None,
    }
}

/// A maximum on one variable in global memory.
fn global_maximum(mode: Option<Mode>) -> Case {
    Case {
        dtype: Some(Dtype::I32),
        layout: Some(Layout::Shared),
        scope: Some(Scope::Device),
        space: Some(Space::Global),
        order: Some(MemoryOrder::Relaxed),
        mode,
        ..Case::new("gpu.atomic.max")
    }
}

/// The compiler reduces the values of a warp before a global atomic maximum of all its threads, so the first two
/// reductions execute one atomic operation for each warp. The cost of the catalogue's case, which has the same
/// aggregation, is per operation of a thread.
fn listing_terms(name: &str, elements: u64) -> Option<Vec<Term>> {
    let case = Case { threads: Some(FULL_BLOCK), ..global_maximum(Some(Mode::Throughput)) };
    match name {
        "listing_1" | "listing_2" => Some(vec![Term::overlapping(case, elements as f64)]),
        // A few hundred atomic operations of blocks.
        "listing_5" => Some(Vec::new()),
        _ => None,
    }
}

fn cpu_terms(name: &str, elements: u64, threads: u32, runtime: Option<&Group>) -> Option<Vec<Term>> {
    let case = |id: &str| Case { threads: Some(threads), placement: Some(Placement::Close), ..Case::new(id) };
    let barrier = |kind: &str, count: f64| Term::added(case(&format!("cpu.barrier.{kind}")), count);
    let openmp_barrier =
        |count: f64| Term::added(Case { group: runtime.cloned(), ..case("cpu.barrier.openmp") }, count);
    let maximum = |count: f64| {
        let (dtype, layout) = (Some(Dtype::I32), Some(Layout::Shared));
        Term::added(Case { dtype, layout, order: Some(MemoryOrder::Relaxed), ..case("cpu.atomic.max") }, count)
    };
    let lock = |id: &str, group: Option<Group>| {
        let (dtype, layout) = (Some(Dtype::U64), Some(Layout::Shared));
        Term::added(Case { dtype, layout, group, ..case(id) }, 1.0)
    };
    // One barrier after each level, and one that closes the reduction.
    let of_tree = f64::from(levels(threads) + 1);
    Some(match name {
        "atomic_per_element" => vec![maximum(elements as f64 / f64::from(threads)), barrier("sense", 1.0)],
        "atomic_per_thread" => vec![maximum(1.0), barrier("sense", 1.0)],
        "lock" => vec![lock("cpu.lock.std_mutex", None), barrier("sense", 1.0)],
        "openmp_atomic" => vec![maximum(1.0), openmp_barrier(1.0)],
        "openmp_critical" => vec![lock("cpu.lock.openmp_critical", runtime.cloned()), openmp_barrier(1.0)],
        "tree_openmp" => vec![openmp_barrier(of_tree)],
        _ => vec![barrier(name.strip_prefix("tree_")?, of_tree)],
    })
}

/// Levels of a binary tree over `threads` threads.
fn levels(threads: u32) -> u32 {
    threads.max(1).next_power_of_two().trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::super::testing::reduction;
    use super::*;
    use syncscope_core::Row;

    fn terms(row: &Row, kernel_us: u32) -> Option<Vec<Term>> {
        terms_of(&Measured::of(row).unwrap(), kernel_us)
    }

    fn summary(terms: &[Term]) -> Vec<(String, f64, bool)> {
        terms.iter().map(|term| (term.case.primitive.clone(), term.count, term.overlaps)).collect()
    }

    #[test]
    fn two_kernels_have_a_launch_more_where_one_has_a_barrier() {
        let of = |name: &str| terms(&reduction(name, 1 << 20, 1.0), 5).unwrap();
        let (grid, two) = (of("grid_cooperative"), of("kernel_boundary"));
        assert_eq!(grid[1].case.primitive, "gpu.grid.cooperative");
        assert_eq!((grid[1].case.blocks, grid[1].case.threads), (Some(264), Some(512)));
        assert_eq!((two[0].case.blocks, two[1].case.blocks), (Some(264), Some(1)));
        assert_eq!(two[1].case.group, Some(Group::of_word("5 us")));
        assert_eq!(grid[2..], two[2..], "both join the partial results in one block");
        assert_eq!(summary(&of("cluster"))[1], ("gpu.cluster.sync".to_owned(), 2.0, false));
        assert_eq!(summary(&two[2..])[0], ("gpu.atomic.max".to_owned(), 2.0, false));
    }

    #[test]
    fn what_is_queued_first_has_launches_behind_long_kernels() {
        let of = |name: &str| terms(&reduction(name, 1 << 10, 1.0), 2).unwrap();
        let (plain, queued) = (of("kernel_boundary"), of("kernel_boundary_queued"));
        assert_eq!(plain[0].case.group, Some(Group::of_word("2 us")));
        let groups: Vec<_> = queued[..2].iter().map(|term| (term.case.blocks, term.case.group.clone())).collect();
        let long = Some(Group::numbered(KERNEL_US, LONG_KERNEL_US));
        assert_eq!(groups, [(Some(264), long.clone()), (Some(1), long)]);
        assert_eq!(plain[2..], queued[2..], "both join the partial results in one block");
        assert_eq!(of("atomic_queued"), queued[..1]);
    }

    #[test]
    fn atomics_of_every_element_overlap_with_reading() {
        let of = |name: &str| terms(&reduction(name, 1 << 20, 1.0), 5);
        assert_eq!(summary(&of("listing_1").unwrap()), [("gpu.atomic.max".to_owned(), 1_048_576.0, true)]);
        assert_eq!(of("listing_2"), of("listing_1"), "one of each warp in both");
    }

    #[test]
    fn a_tree_has_a_barrier_after_each_level_and_one_at_the_end() {
        assert_eq!([1, 2, 3, 4, 5, 16].map(levels), [0, 1, 2, 2, 3, 4]);
        let on = |name: &str, threads| {
            let row = reduction(&format!("cpu.reduction.{name}"), 1 << 12, 1.0);
            let case = Case { threads: Some(threads), group: Some(Group::named("libgomp")), ..row.case.clone() };
            terms(&Row { case, ..row }, 5).unwrap()
        };
        assert_eq!(summary(&on("tree_sense", 16)), [("cpu.barrier.sense".to_owned(), 5.0, false)]);
        assert_eq!(summary(&on("tree_sense", 2)), [("cpu.barrier.sense".to_owned(), 2.0, false)]);
        assert!((on("atomic_per_element", 4)[0].count - 1024.0).abs() < 1e-9);
        assert_eq!(on("tree_openmp", 4)[0].case.group, Some(Group::named("libgomp")));
    }

    #[test]
    fn what_is_not_made_of_primitives_has_no_terms() {
        for name in ["listing_3", "last_block", "graph", "cub", "devices_events", "cpu.reduction.sequential"] {
            assert_eq!(terms(&reduction(name, 1 << 12, 1.0), 5), None, "{name}");
        }
    }
}
