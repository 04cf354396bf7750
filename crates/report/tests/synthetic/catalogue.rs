//! A catalogue for the tests: the primitives with the roles by which questions find them, as the hardware crates state them.

use std::sync::Arc;

use syncscope_core::{ActorRule, Catalogue, Facts, Mode, Primitive, Role, Waits};

// A table of words.
#[allow(clippy::enum_glob_use)]
use {Role::*, Waits::*};

/// Role, way to wait, ids.
const TABLE: [(Role, Waits, &[&str]); 37] = [
    (Access, NoWait, &["cpu.atomic.read", "cpu.atomic.write"]),
    (Update, NoWait, &["cpu.atomic.add", "cpu.atomic.add_capture", "cpu.atomic.exchange", "cpu.atomic.cas_pass"]),
    (Update, NoWait, &["cpu.atomic.cas_fail", "cpu.atomic.max", "cpu.process.atomic_add", "mpi.atomic.fetch_op"]),
    (Update, NoWait, &["gpu.atomic.add", "gpu.atomic.max", "gpu.atomic.exchange", "gpu.cluster.dsmem_atomic"]),
    (Update, NoWait, &["hybrid.atomic.add"]),
    (Fence, NoWait, &["cpu.fence.acquire", "cpu.fence.release", "cpu.fence.acq_rel", "cpu.fence.seq_cst"]),
    (Fence, NoWait, &["cpu.fence.flush", "gpu.fence.block", "gpu.fence.device", "gpu.fence.system"]),
    (ThreadBarrier, Sleeps, &["cpu.barrier.std"]),
    (ThreadBarrier, Spins, &["cpu.barrier.sense", "cpu.barrier.dissemination", "cpu.barrier.tree"]),
    (ThreadBarrier, AsConfigured, &["cpu.barrier.openmp"]),
    (ThreadBarrier, Sleeps, &["cpu.barrier.futex", "cpu.barrier.pthread", "cpu.barrier.crossbeam_wait_group"]),
    (ThreadLock, SpinsThenSleeps, &["cpu.lock.std_mutex", "cpu.lock.parking_lot_mutex", "cpu.lock.parking_lot_fair"]),
    (ThreadLock, Sleeps, &["cpu.lock.pthread_mutex"]),
    (ThreadLock, Spins, &["cpu.lock.pthread_spin", "cpu.lock.ttas", "cpu.lock.ticket", "cpu.lock.mcs", "cpu.lock.clh"]),
    (ThreadLock, Spins, &["cpu.lock.cohort"]),
    (ThreadLock, SpinsThenSleeps, &["cpu.lock.spin_park"]),
    (ReadLock, SpinsThenSleeps, &["cpu.lock.rwlock_read", "cpu.lock.parking_lot_rwlock_read"]),
    (WriteLock, SpinsThenSleeps, &["cpu.lock.rwlock_write", "cpu.lock.parking_lot_rwlock_write"]),
    (ThreadLock, AsConfigured, &["cpu.lock.openmp_critical"]),
    (SpinHandoff, Spins, &["cpu.handoff.cas_pingpong", "cpu.handoff.store_pingpong", "cpu.handoff.crossbeam_backoff"]),
    (Channel, SpinsThenSleeps, &["cpu.handoff.channel", "cpu.handoff.crossbeam_bounded", "cpu.handoff.std_mpsc"]),
    (SleepHandoff, Sleeps, &["cpu.handoff.condvar", "cpu.handoff.parking_lot_condvar", "cpu.handoff.park"]),
    (SleepHandoff, Sleeps, &["cpu.handoff.crossbeam_parker", "cpu.handoff.futex", "cpu.handoff.eventfd"]),
    (
        Wake,
        Sleeps,
        &["cpu.wake.futex", "cpu.wake.condvar", "cpu.wake.park", "cpu.wake.parking_lot", "cpu.wake.eventfd"],
    ),
    (Reduction, InHardware, &["gpu.reduction.atomic", "gpu.reduction.graph"]),
    (PrintedReduction, InHardware, &["gpu.reduction.listing_1"]),
    (WarpCollective, InHardware, &["gpu.shuffle.idx", "gpu.vote.ballot", "gpu.match.any", "gpu.reduce.add"]),
    (WarpBarrier, InHardware, &["gpu.warp.syncwarp", "gpu.warp.tile", "gpu.warp.coalesced"]),
    (BlockBarrier, InHardware, &["gpu.block.syncthreads", "gpu.block.named_barrier", "gpu.block.mbarrier"]),
    (BlockVote, InHardware, &["gpu.block.syncthreads_count"]),
    (ClusterBarrier, InHardware, &["gpu.cluster.sync"]),
    (GridBarrier, Spins, &["gpu.grid.cooperative", "gpu.grid.counter", "gpu.grid.lock_free", "gpu.grid.hierarchical"]),
    (DeviceBarrier, Spins, &["gpu.multi.counter", "gpu.multi.flags", "gpu.multi.host_barrier"]),
    (GpuLock, Spins, &["gpu.lock.spin_cas", "gpu.lock.spin_exchange", "gpu.lock.ticket"]),
    (
        Launch,
        InHardware,
        &["gpu.launch.stream", "gpu.launch.graph", "gpu.launch.programmatic", "gpu.launch.wait_value"],
    ),
    (Launch, InHardware, &["gpu.launch.event_wait", "gpu.launch.conditional", "gpu.launch.device_graph"]),
    (LaunchAndWait, InHardware, &["gpu.launch.stream_sync", "gpu.launch.event_sync"]),
];

/// The primitives of [`TABLE`].
pub(crate) fn catalogue() -> Arc<Catalogue> {
    let of = |(role, waits, ids): (Role, Waits, &'static [&'static str])| {
        let is_free = matches!(role, Access | Update | Fence | WarpCollective);
        let mode = if is_free { Mode::Throughput } else { Mode::Latency };
        let orders_memory = role == Fence || !is_free;
        let has_designs = matches!(role, GridBarrier | DeviceBarrier) || waits == AsConfigured;
        let of_role = Facts { mode, orders_memory, has_designs, ..Facts::of(role).waiting(waits) };
        ids.iter().map(move |id| {
            let actor = match role {
                Access | Update | Fence => ActorRule::MedianUnlessWithin(if id.starts_with("cpu") { 64 } else { 0 }),
                WarpCollective | WarpBarrier => ActorRule::Median,
                _ => ActorRule::Slowest,
            };
            let has_designs = has_designs || id.ends_with(".spin_park");
            Primitive { id, summary: "", operation: "", source: "", facts: Facts { actor, has_designs, ..of_role } }
        })
    };
    Arc::new(TABLE.into_iter().flat_map(of).collect())
}
