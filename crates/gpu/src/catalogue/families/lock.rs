//! Locks in global memory.

use syncscope_core::sweep::Sweep;
use syncscope_core::{Preset, Primitive, Scope};

use crate::catalogue::definitions::kernel;
use crate::catalogue::entry::{Entry, Kernel, Proof};
use crate::catalogue::instructions::Meant;
use crate::catalogue::sampling::{Busy, Pace};

const KERNEL: Kernel = kernel!("lock.cu", Variable);

/// In theory: an uncontended section is one atomic operation, the section's own accesses and a release, three trips to the
/// second-level cache. With n warps each waits for the n - 1 others, and what spins besides makes every trip longer.
const LOCK: Entry = Entry {
    busy: |_| Busy::Device,
    pace: |case| if case.blocks > Some(1) { Pace::CROWD } else { Pace::TOUR },
    cases: |id, preset, grid| {
        let blocks = if preset == Preset::Quick { vec![1, grid.multiprocessors] } else { grid.blocks(preset) };
        let threads = if preset == Preset::Quick { vec![32] } else { vec![32, 64, 128, 256, 512, 1024] };
        // Every warp waits for every other, a thousand times: more would take minutes.
        let crowded = |warps: u32| warps > grid.multiprocessors.max(32);
        Sweep::of(id)
            .blocks(&blocks)
            .threads(&threads)
            .scopes(&[Scope::Device])
            .except(|case| crowded(case.blocks.unwrap_or(1) * (case.threads.unwrap_or(1) / 32)))
            .cases()
    },
    ..Entry::of(KERNEL, Proof::Sum)
};

static SPIN_CAS: Entry = Entry {
    primitive: Primitive {
        id: "gpu.lock.spin_cas",
        summary: "Lock taken by compare-and-swap, again and again until it is free",
        operation: "one addition under the lock by one thread of each warp",
        source: "CUDA C++ Programming Guide, atomicCAS; PTX ISA, atom.acquire.cas and st.release",
    },
    definitions: |_| vec!["KIND=SPIN_CAS".into()],
    meant: |_| Meant::of(&["ATOMG.CAS", "ATOM.CAS"]),
    ..LOCK
};

static SPIN_EXCHANGE: Entry = Entry {
    primitive: Primitive {
        id: "gpu.lock.spin_exchange",
        summary: "Lock taken by exchange, again and again until it was free",
        operation: "one addition under the lock by one thread of each warp",
        source: "CUDA C++ Programming Guide, atomicExch; PTX ISA, atom.acquire.exch and st.release",
    },
    definitions: |_| vec!["KIND=SPIN_EXCHANGE".into()],
    meant: |_| Meant::of(&["ATOMG.EXCH", "ATOM.EXCH"]),
    ..LOCK
};

/// In theory: one atomic operation for each section, whatever the contention; the waiting only read. And fair: the lock
/// is given away in the order of the tickets.
static TICKET: Entry = Entry {
    primitive: Primitive {
        id: "gpu.lock.ticket",
        summary: "Lock given away in the order in which it was asked for",
        operation: "one addition under the lock by one thread of each warp",
        source: "Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, ticket lock",
    },
    definitions: |_| vec!["KIND=TICKET".into()],
    meant: |_| Meant::of(&["ATOMG.ADD", "ATOM.ADD"]),
    // Among blocks a launch is dear and the next one cheap on an H200, likely by the order in which the blocks come first, which is
    // that of all rounds: 5 % in what a launch takes, 16 % in the difference of two. A sample has one of each.
    pace: |case| if case.blocks > Some(1) { Pace { launches: 2, ..Pace::CROWD } } else { Pace::TOUR },
    ..LOCK
};

pub(crate) static ENTRIES: [&Entry; 3] = [&SPIN_CAS, &SPIN_EXCHANGE, &TICKET];
