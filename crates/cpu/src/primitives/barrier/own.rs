//! Barriers with algorithms of their own; each algorithm is in `sync/barriers`. Start with the sense barrier.

use crate::primitives::barrier;
use crate::primitives::prelude::*;
use crate::sync::{ClusterBarrier, DisseminationBarrier, FlatBarrier, FutexBarrier, SenseBarrier, TreeBarrier};
use syncscope_machine::nearness::CpuGroups;
use syncscope_machine::placement::{place, topology_of_teams};
use syncscope_machine::topology::Topology;

/// The entries, in the order of the catalogue.
pub(in crate::primitives) static ENTRIES: &[&Entry] = &[&SENSE, &DISSEMINATION, &TREE, &FLAT, &FUTEX, &CLUSTERS];

/// In theory: n atomic decrements of one line, one after the other, then n - 1 threads fetch one line. The cost is
/// linear in the number of threads. There is no system call as long as every thread has a CPU.
static SENSE: Entry = barrier::spins(
    "cpu.barrier.sense",
    "Central sense-reversing barrier: one atomic decrement per thread; waiters spin, then yield",
    "Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, algorithm 7",
    of_teams,
    |case| barrier::workload(case, |threads| SenseBarrier::new(threads, LIMIT), barrier::ONE_DECREMENT),
)
.algorithm();

/// In theory: log2(n) rounds, rounded up, each with one transfer of a line from one thread to another. All threads take
/// part in every round, without an atomic read-modify-write. The critical path is the shortest of all barriers here.
static DISSEMINATION: Entry = barrier::spins(
    "cpu.barrier.dissemination",
    "Dissemination barrier: one store to a partner in each of log2(n) rounds; waiters spin, then yield",
    "Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, algorithm 9",
    of_teams,
    |case| barrier::workload(case, |threads| DisseminationBarrier::new(threads, LIMIT), barrier::PLAIN_STORES),
)
.in_studies(&[Participation::plain(&CpuPairs), Participation::plain(&CoreKinds)])
.algorithm();

/// In theory: log4(n) levels up, where a parent collects four transfers one after the other, and log2(n) levels down.
/// The path is longer than that of the dissemination barrier, but there are 2n - 2 transfers instead of n log2(n).
static TREE: Entry = barrier::spins(
    "cpu.barrier.tree",
    "Static tree barrier: fan-in of four on arrival, fan-out of two on wake-up; waiters spin, then yield",
    "Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, algorithm 11",
    of_teams,
    |case| barrier::workload(case, |threads| TreeBarrier::new(threads, LIMIT), barrier::PLAIN_STORES),
)
.algorithm();

/// In theory: n - 1 lines that thread 0 fetches, whose transfers overlap where the core has several misses under way, then n - 1
/// fetches of one line. No atomic read-modify-write, two transfers on the critical path for few threads.
static FLAT: Entry = barrier::spins(
    "cpu.barrier.flat",
    "Flat barrier: each thread stores to its own cache line; thread 0 reads them all and releases the others \
     through one line",
    "Hoefler, Mehlan, Mietke and Rehm, A Survey of Barrier Algorithms, CSR-04-03, 2004 (linear barrier)",
    of_teams,
    |case| barrier::workload(case, |threads| FlatBarrier::new(threads, LIMIT), barrier::PLAIN_STORES),
)
.with_most_threads_in_quick();

/// In theory: n atomic decrements of one line, a system call of each waiter to sleep and one of the last thread to wake all of
/// them, which become runnable one after the other. No mutex, which `cpu.barrier.std` takes twice in each thread.
static FUTEX: Entry = barrier::sleeps(
    "cpu.barrier.futex",
    "Central barrier: one atomic decrement per thread; waiters sleep on a futex until the last thread wakes them",
    "Drepper, Futexes Are Tricky, 2011 (futex); Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, \
     algorithm 7 (arrival counter)",
    of_teams,
    |case| {
        Some(
            barrier::workload(case, |threads| FutexBarrier::new(threads, LIMIT), barrier::ONE_DECREMENT)?
                .long_blocking(case),
        )
    },
)
.beyond_quick()
.algorithm();

/// In theory: log4(n / c) levels up in clusters of n / c threads, log2(c) rounds across, and one line that a cluster reads from
/// its cache. Only one thread of a cluster signals across clusters, log2(c) times, where the dissemination barrier sends the
/// signals of all rounds anywhere.
static CLUSTERS: Entry = barrier::spins(
    "cpu.barrier.clusters",
    "Hierarchical barrier: a tree within each NUMA node, cache group or set of four threads; dissemination between the \
     groups; one cache line per group for wake-up",
    "Gao et al., Optimizing Barrier Synchronization on ARMv8 Many-Core Architectures, IEEE CLUSTER 2021",
    of_teams,
    |case| {
        let clusters = clusters_of(case, topology_of_teams())?;
        barrier::workload(case, |_| ClusterBarrier::new(&clusters, LIMIT), barrier::PLAIN_STORES)
    },
)
.beyond_quick()
.algorithm();

/// The cluster of each thread: by the CPU that it is bound to where the machine has groups of CPUs, else of four threads each.
fn clusters_of(case: &Case, topology: Option<&Topology>) -> Option<Vec<usize>> {
    let threads = case.threads?;
    let of_groups = || {
        let topology = topology?;
        let groups = CpuGroups::of(topology)?;
        let cpus = place(topology, case.placement.as_ref()?, threads).ok()?.cpus;
        cpus.into_iter().map(|cpu| Some(groups.of_cpu(cpu?))).collect::<Option<Vec<usize>>>()
    };
    Some(of_groups().unwrap_or_else(|| (0..threads as usize).map(|thread| thread / 4).collect()))
}

#[cfg(test)]
mod tests {
    use syncscope_core::Placement;

    use super::*;
    use syncscope_machine::topology::regular;

    #[test]
    fn clusters_are_the_groups_of_the_cpus_that_the_threads_are_on() {
        let case = Case { threads: Some(4), placement: Some(Placement::Close), ..Case::new(CLUSTERS.primitive.id) };
        let machine = regular(1, 2, 1, 8, 1);
        assert_eq!(clusters_of(&case, Some(&machine)), Some(vec![0; 4]));
        let allowed = machine.restricted(|cpu| (6..10).contains(&cpu));
        assert_eq!(
            clusters_of(&case, Some(&allowed)),
            Some(vec![0, 0, 1, 1]),
            "CPUs 6 and 7 of one node, 8 and 9 of the other"
        );
        let eight = Case { threads: Some(8), ..case };
        assert_eq!(clusters_of(&eight, Some(&regular(1, 1, 1, 8, 1))), Some(vec![0, 0, 0, 0, 1, 1, 1, 1]), "no groups");
    }
}
