//! Barriers of all threads of a grid.

use syncscope_core::sweep::Sweep;
use syncscope_core::{Case, Preset, Primitive};

use crate::catalogue::definitions::kernel;
use crate::catalogue::entry::{Entry, Kernel, Method, Proof};
use crate::catalogue::instructions::Meant;
use crate::catalogue::limits::Grid;

const KERNEL: Kernel = kernel!("grid.cu", GridBarrier);

/// One barrier takes a microsecond: a few of them stand in the loop.
pub(super) const UNROLL: u32 = 4;

/// Most threads that a multiprocessor of any device holds (CUDA C++ Programming Guide, Technical Specifications per Compute
/// Capability). Where it holds fewer, the case is skipped with the numbers.
const RESIDENT_THREADS: u32 = 2048;

/// Blocks on each multiprocessor and threads of a block: the heat map of Zhang et al., IPDPS 2020, figure 8. Other presets
/// have its edges: one block of each size, small blocks of each number, and full multiprocessors.
pub(super) fn heat_map(id: &str, preset: Preset, grid: Grid) -> Vec<Case> {
    let each: &[u32] = if preset == Preset::Quick { &[1] } else { &[1, 2, 4, 8, 16, 32] };
    let blocks: Vec<u32> = each.iter().map(|blocks| blocks * grid.multiprocessors).collect();
    let threads: &[u32] = if preset == Preset::Quick { &[32, 1024] } else { &[32, 64, 128, 256, 512, 1024] };
    let threads: Vec<u32> = threads.iter().copied().filter(|threads| *threads <= grid.max_threads).collect();
    let shape = |case: &Case| (case.blocks.unwrap_or(0) / grid.multiprocessors.max(1), case.threads.unwrap_or(0));
    let is_left_out = |case: &Case| {
        let (blocks, threads) = shape(case);
        let is_edge = blocks == 1 || threads == 32 || blocks * threads == RESIDENT_THREADS;
        blocks * threads > RESIDENT_THREADS || (preset == Preset::Standard && !is_edge)
    };
    Sweep::of(id).blocks(&blocks).threads(&threads).except(is_left_out).cases()
}

const BARRIER: Entry = Entry {
    cases: |id, preset, grid| heat_map(id, preset, *grid),
    method: Method::Meeting,
    unroll: UNROLL,
    ..Entry::of(KERNEL, Proof::Trial)
};

fn definitions(kind: &str) -> Vec<String> {
    vec![format!("KIND={kind}"), format!("SYNCSCOPE_UNROLL={UNROLL}")]
}

/// In theory: two barriers of the block, an atomic addition there and back, and, while it waits, on average one and a half
/// reads of the counter; all through the second-level cache. With many blocks on a multiprocessor the additions, which
/// one address takes one after the other, and the reads between them are what counts.
static COOPERATIVE: Entry = Entry {
    primitive: Primitive {
        id: "gpu.grid.cooperative",
        summary: "Barrier of a grid as in cooperative groups",
        operation: "one barrier passed by all threads of the grid",
        source: "CUDA C++ Programming Guide, Cooperative Groups, grid_group::sync; Zhang et al., IPDPS 2020, figure 8",
    },
    definitions: |_| definitions("COOPERATIVE"),
    meant: |_| Meant::of(&["ATOM.ADD", "ATOMG.ADD"]),
    ..BARRIER
};

/// In theory: as the cooperative barrier, without waiting for the addition's result: a way to the cache less.
static COUNTER: Entry = Entry {
    primitive: Primitive {
        id: "gpu.grid.counter",
        summary: "Barrier of a grid with one counter that only grows",
        operation: "one barrier passed by all threads of the grid",
        source: "Xiao and Feng, Inter-Block GPU Communication via Fast Barrier Synchronization, IPDPS 2010, simple \
                 synchronization; PTX ISA, red.release and ld.acquire",
    },
    definitions: |_| definitions("COUNTER"),
    meant: |_| Meant::of(&["REDG.ADD", "RED.ADD"]),
    ..BARRIER
};

/// In theory: two ways through the cache, one flag to the first block and one back, each written and then waited for; no
/// turn to wait for, whatever the number of blocks. (H200: slower than a counter up to 8 small blocks on each multiprocessor,
/// 3,300 cycles against 1,600 with one, and faster with more, 10,700 against 17,100 with 32.)
static LOCK_FREE: Entry = Entry {
    primitive: Primitive {
        id: "gpu.grid.lock_free",
        summary: "Barrier of a grid with a flag for each block, gathered and answered by the first",
        operation: "one barrier passed by all threads of the grid",
        source: "Xiao and Feng, Inter-Block GPU Communication via Fast Barrier Synchronization, IPDPS 2010, lock-free \
                 synchronization",
    },
    definitions: |_| definitions("LOCK_FREE"),
    // A block's flag, and the answers of the first.
    meant: |_| Meant::of(&["STG.STRONG.GPU", "ST.STRONG.GPU"]).times(2),
    ..BARRIER
};

pub(crate) static ENTRIES: [&Entry; 3] = [&COOPERATIVE, &COUNTER, &LOCK_FREE];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heat_map_is_that_of_the_paper() {
        let grid = Grid { multiprocessors: 132, max_threads: 1024 };
        let shapes = |preset| {
            let cases = heat_map("gpu.grid.counter", preset, grid);
            cases.iter().map(|case| (case.blocks.unwrap() / 132, case.threads.unwrap())).collect::<Vec<_>>()
        };
        let paper = shapes(Preset::Paper);
        // V100, which holds as many: 6 + 6 + 5 + 4 + 3 + 2 fields.
        assert_eq!(paper.len(), 26);
        for (blocks, largest) in [(1, 1024), (2, 1024), (4, 512), (8, 256), (16, 128), (32, 64)] {
            assert_eq!(paper.iter().filter(|shape| shape.0 == blocks).map(|shape| shape.1).max(), Some(largest));
        }
        assert_eq!(shapes(Preset::Standard).len(), 6 + 5 + 5);
        assert_eq!(shapes(Preset::Quick), [(1, 32), (1, 1024)]);
    }
}
