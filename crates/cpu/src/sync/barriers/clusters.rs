//! A barrier for machines whose CPUs are in clusters.

use std::time::Duration;

use super::shim::{AtomicU32, Ordering, count_up};
use super::signals::{DisseminationBarrier, children, has_reached};
use super::{Barrier, CachePadded, WaitLimit, WaitTimeout};

/// A barrier that gathers and wakes threads by cluster. The threads of a cluster arrive up a tree with four children each; the
/// first threads of the clusters meet in a dissemination barrier, and each wakes its cluster by one line, which the cache of the
/// cluster holds. Arrival within clusters first, across them after, and waking by cluster are from Gao et al., *Optimizing
/// Barrier Synchronization on ARMv8 Many-Core Architectures*, IEEE CLUSTER 2021.
#[derive(Debug)]
pub struct ClusterBarrier {
    threads: Box<[Member]>,
    clusters: Box<[Cluster]>,
    first_threads: DisseminationBarrier,
    wait_limit: WaitLimit,
}

#[derive(Debug)]
struct Member {
    cluster: usize,
    /// Its place among the threads of the cluster.
    rank: usize,
    /// Episodes that this thread has begun; no other thread reads it.
    episode: CachePadded<AtomicU32>,
    /// The last episode to which this thread, and all below it, have arrived.
    arrived: CachePadded<AtomicU32>,
}

#[derive(Debug, Default)]
struct Cluster {
    threads: Vec<usize>,
    /// The last episode that its threads may leave.
    woken: CachePadded<AtomicU32>,
}

impl ClusterBarrier {
    /// A barrier for threads in these clusters, each of which waits at most `limit`.
    pub fn new(cluster_of: &[usize], limit: Duration) -> Self {
        let mut clusters: Vec<(usize, Cluster)> = Vec::new();
        let mut member = |(thread, number): (usize, &usize)| {
            let cluster = clusters.iter().position(|(known, _)| known == number).unwrap_or_else(|| {
                clusters.push((*number, Cluster::default()));
                clusters.len() - 1
            });
            clusters[cluster].1.threads.push(thread);
            let (episode, arrived) = Default::default();
            Member { cluster, rank: clusters[cluster].1.threads.len() - 1, episode, arrived }
        };
        let threads = cluster_of.iter().enumerate().map(&mut member).collect();
        let first_threads = DisseminationBarrier::new(clusters.len() as u32, limit);
        let clusters = clusters.into_iter().map(|(_, cluster)| cluster).collect();
        Self { threads, clusters, first_threads, wait_limit: WaitLimit::new(limit) }
    }
}

impl Barrier for ClusterBarrier {
    /// The thread's number.
    type Local = usize;

    fn join(&self, thread: usize) -> usize {
        thread
    }

    #[inline(always)]
    fn wait(&self, thread: &mut usize) -> Result<(), WaitTimeout> {
        let own = &self.threads[*thread];
        let cluster = &self.clusters[own.cluster];
        let episode = count_up(&own.episode);
        for child in children::<4>(own.rank, cluster.threads.len()) {
            let below = &self.threads[cluster.threads[child]].arrived;
            self.wait_limit.wait(|| has_reached(below, episode))?;
        }
        if own.rank != 0 {
            // Release: what this thread did, and what it acquired of the threads below.
            own.arrived.store(episode, Ordering::Release);
            return self.wait_limit.wait(|| has_reached(&cluster.woken, episode));
        }
        self.first_threads.wait(&mut { own.cluster })?;
        // Release: all that the first threads acquired of each other.
        cluster.woken.store(episode, Ordering::Release);
        Ok(())
    }
}
