//! Barriers of a thread block.

use syncscope_core::{Group, Mode, Preset, Primitive};

use crate::catalogue::definitions::{group_size, kernel};
use crate::catalogue::entry::{Entry, Kernel, Proof};
use crate::catalogue::instructions::Meant;
use crate::catalogue::limits::without_repetitions;

const KERNEL: Kernel = kernel!("block.cu", Register);

/// In theory: the barrier unit counts warps. One warp pays the instruction's latency, each further warp its turn at the
/// unit; blocks on one multiprocessor share it, blocks on others do not notice each other.
static SYNCTHREADS: Entry = Entry {
    primitive: Primitive {
        id: "gpu.block.syncthreads",
        summary: "Barrier of all threads of a block",
        operation: "one barrier passed by all threads of the block",
        source: "CUDA C++ Programming Guide, Synchronization Functions; PTX ISA, bar.sync",
    },
    definitions: |_| vec!["KIND=PLAIN".into(), "GROUPS=1".into()],
    meant: |_| Meant::of(&["BAR.SYNC"]),
    cases: |id, preset, grid| {
        let papers = grid.full(id, preset).cases();
        let more = if preset == Preset::Paper { grid.active_warps(id) } else { Vec::new() };
        without_repetitions([papers, more].concat())
    },
    ..Entry::of(KERNEL, Proof::Trial)
};

/// In theory: a barrier that also adds up; its result has to be fetched from the barrier unit and asked for by the next.
const REDUCING: Entry = Entry {
    cases: |id, preset, grid| grid.coarse(id, preset).modes(&[Mode::Latency]).cases(),
    ..Entry::of(KERNEL, Proof::Trial)
};

static COUNT: Entry = Entry {
    primitive: Primitive {
        id: "gpu.block.syncthreads_count",
        summary: "Barrier of all threads of a block that counts for how many a condition holds",
        operation: "one barrier passed by all threads of the block that asks about the result of the one before",
        source: "CUDA C++ Programming Guide, __syncthreads_count; PTX ISA, bar.red.popc",
    },
    definitions: |_| vec!["KIND=COUNT".into(), "GROUPS=1".into()],
    meant: |_| Meant::of(&["BAR.RED.POPC"]),
    ..REDUCING
};

static AND: Entry = Entry {
    primitive: Primitive {
        id: "gpu.block.syncthreads_and",
        summary: "Barrier of all threads of a block that tells whether a condition holds for all",
        operation: "one barrier passed by all threads of the block that asks about the result of the one before",
        source: "CUDA C++ Programming Guide, __syncthreads_and; PTX ISA, bar.red.and",
    },
    definitions: |_| vec!["KIND=AND".into(), "GROUPS=1".into()],
    meant: |_| Meant::of(&["BAR.RED.AND"]),
    ..REDUCING
};

static OR: Entry = Entry {
    primitive: Primitive {
        id: "gpu.block.syncthreads_or",
        summary: "Barrier of all threads of a block that tells whether a condition holds for any",
        operation: "one barrier passed by all threads of the block that asks about the result of the one before",
        source: "CUDA C++ Programming Guide, __syncthreads_or; PTX ISA, bar.red.or",
    },
    definitions: |_| vec!["KIND=OR".into(), "GROUPS=1".into()],
    meant: |_| Meant::of(&["BAR.RED.OR"]),
    ..REDUCING
};

/// In theory: as `__syncthreads()` of a block as large as the part. Number and count are not constants, as they are where
/// warps have roles: two or three instructions more pack them into one register.
static NAMED: Entry = Entry {
    primitive: Primitive {
        id: "gpu.block.named_barrier",
        summary: "The block in parts, each with a barrier of its own",
        operation: "one barrier passed by all threads of a part of the block",
        source: "PTX ISA, bar.sync with the number of a barrier and a count of threads",
    },
    definitions: |case| vec!["KIND=NAMED".into(), format!("GROUPS={}", group_size(case))],
    meant: |_| Meant::of(&["BAR.SYNC"]),
    cases: |id, preset, grid| {
        let parts: &[u32] = if preset == Preset::Quick { &[2] } else { &[1, 2, 4, 8] };
        let groups: Vec<Group> = parts.iter().copied().map(Group::Parts).collect();
        let sweep = grid.coarse(id, preset).groups(&groups);
        // Barriers count whole warps.
        sweep.except(|case| case.threads.unwrap_or(0) < 32 * group_size(case)).cases()
    },
    ..Entry::of(KERNEL, Proof::Trial)
};

/// In theory: an arrival is an atomic operation on shared memory by every thread, so the cost grows with the threads and
/// not with the warps, and each wait is at least one more round trip to shared memory, some 30 cycles.
static MBARRIER: Entry = Entry {
    primitive: Primitive {
        id: "gpu.block.mbarrier",
        summary: "Barrier object in shared memory at which all threads of a block arrive and wait",
        operation: "one phase: every thread of the block arrives and waits for the others",
        source: "PTX ISA, mbarrier; CUDA C++ Programming Guide, Asynchronous Barrier",
    },
    // Software before compute capability 9.0, with an instruction for the arrival alone.
    meant: |_| Meant::of(&["SYNCS.ARRIVE", "ATOMS.ARRIVE"]),
    needs: (8, 0),
    cases: |id, preset, grid| grid.full(id, preset).cases(),
    ..Entry::of(kernel!("mbarrier.cu", Register), Proof::Trial)
};

pub(crate) static ENTRIES: [&Entry; 6] = [&SYNCTHREADS, &COUNT, &AND, &OR, &NAMED, &MBARRIER];
