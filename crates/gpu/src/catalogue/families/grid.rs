//! Barriers of all threads of a grid.

use syncscope_core::sweep::Sweep;
use syncscope_core::{Case, Preset, Primitive};

use crate::catalogue::definitions::kernel;
use crate::catalogue::entry::{Entry, Kernel, Method, Proof};
use crate::catalogue::instructions::ExpectedInstructions;
use crate::catalogue::limits::DeviceLimits;

const KERNEL: Kernel = kernel!("grid.cu", GridBarrier);

/// One barrier takes a microsecond, so the loop contains only a few of them.
pub(super) const UNROLL: u32 = 4;

/// Most resident threads of a multiprocessor on any device (CUDA C++ Programming Guide, Technical Specifications per Compute
/// Capability). On devices with fewer, the case is skipped with the numbers.
const RESIDENT_THREADS: u32 = 2048;

/// Blocks on each multiprocessor and threads of a block: the heat map of Zhang, Wahib, Matsuoka, figure 8. The preset
/// `standard` has only its edges: one block of each size, each number of small blocks, and full multiprocessors.
pub(super) fn heat_map(id: &str, preset: Preset, limits: DeviceLimits) -> Vec<Case> {
    let each: &[u32] = if preset == Preset::Quick { &[1] } else { &[1, 2, 4, 8, 16, 32] };
    let blocks: Vec<u32> = each.iter().map(|blocks| blocks * limits.multiprocessors).collect();
    let threads: &[u32] = if preset == Preset::Quick { &[32, 1024] } else { &[32, 64, 128, 256, 512, 1024] };
    let threads: Vec<u32> = threads.iter().copied().filter(|threads| *threads <= limits.max_threads).collect();
    let shape = |case: &Case| (case.blocks.unwrap_or(0) / limits.multiprocessors.max(1), case.threads.unwrap_or(0));
    let is_left_out = |case: &Case| {
        let (blocks, threads) = shape(case);
        let is_edge = blocks == 1 || threads == 32 || blocks * threads == RESIDENT_THREADS;
        blocks * threads > RESIDENT_THREADS || (preset == Preset::Standard && !is_edge)
    };
    Sweep::of(id).blocks(&blocks).threads(&threads).except(is_left_out).cases()
}

const BARRIER: Entry = Entry {
    cases: |id, preset, limits| heat_map(id, preset, *limits),
    method: Method::GridBarrier,
    unroll: UNROLL,
    ..Entry::of(KERNEL, Proof::Trial)
};

fn definitions(kind: &str) -> Vec<String> {
    vec![format!("KIND={kind}"), format!("SYNCSCOPE_UNROLL={UNROLL}")]
}

/// In theory: two barriers of the block, the round trip of an atomic addition and, on average, one and a half reads of the
/// counter while waiting; all in the second-level cache. With many blocks on a multiprocessor the additions dominate: one
/// address executes them one after the other, with the reads between them.
static COOPERATIVE: Entry = Entry {
    primitive: Primitive {
        id: "gpu.grid.cooperative",
        summary: "Barrier of a grid as in cooperative groups",
        operation: "one barrier passed by all threads of the grid",
        source: "CUDA C++ Programming Guide, Cooperative Groups, grid_group::sync; Zhang, Wahib, Matsuoka, figure 8",
    },
    definitions: |_| definitions("COOPERATIVE"),
    expected: |_| ExpectedInstructions::of(&["ATOM.ADD", "ATOMG.ADD"]),
    ..BARRIER
};

/// In theory: as the cooperative barrier, without waiting for the result of the addition: one way to the cache less.
static COUNTER: Entry = Entry {
    primitive: Primitive {
        id: "gpu.grid.counter",
        summary: "Barrier of a grid with one counter that only grows",
        operation: "one barrier passed by all threads of the grid",
        source: "Xiao and Feng, Inter-Block GPU Communication via Fast Barrier Synchronization, IPDPS 2010, simple \
                 synchronization; PTX ISA, red.release and ld.acquire",
    },
    definitions: |_| definitions("COUNTER"),
    expected: |_| ExpectedInstructions::of(&["REDG.ADD", "RED.ADD"]),
    ..BARRIER
};

/// In theory: two ways through the cache, one flag to the first block and one back. No operation waits for its turn, however
/// many blocks there are. (H200: slower than a counter up to 8 small blocks on each multiprocessor, 3,300 cycles against
/// 1,600 with one; faster with more blocks, 10,700 against 17,100 with 32.)
static LOCK_FREE: Entry = Entry {
    primitive: Primitive {
        id: "gpu.grid.lock_free",
        summary: "Barrier of a grid with a flag for each block, gathered and answered by the first",
        operation: "one barrier passed by all threads of the grid",
        source: "Xiao and Feng, Inter-Block GPU Communication via Fast Barrier Synchronization, IPDPS 2010, lock-free \
                 synchronization",
    },
    definitions: |_| definitions("LOCK_FREE"),
    // The flag of a block, and the answers of the first block.
    expected: |_| ExpectedInstructions::of(&["STG.STRONG.GPU", "ST.STRONG.GPU"]).times(2),
    ..BARRIER
};

pub(crate) static ENTRIES: [&Entry; 3] = [&COOPERATIVE, &COUNTER, &LOCK_FREE];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heat_map_is_that_of_the_paper() {
        let limits = DeviceLimits { multiprocessors: 132, max_threads: 1024 };
        let shapes = |preset| {
            let cases = heat_map("gpu.grid.counter", preset, limits);
            cases.iter().map(|case| (case.blocks.unwrap() / 132, case.threads.unwrap())).collect::<Vec<_>>()
        };
        let paper = shapes(Preset::Paper);
        // The V100 of the paper has 2,048 resident threads too: 6 + 6 + 5 + 4 + 3 + 2 fields.
        assert_eq!(paper.len(), 26);
        for (blocks, largest) in [(1, 1024), (2, 1024), (4, 512), (8, 256), (16, 128), (32, 64)] {
            assert_eq!(paper.iter().filter(|shape| shape.0 == blocks).map(|shape| shape.1).max(), Some(largest));
        }
        assert_eq!(shapes(Preset::Standard).len(), 6 + 5 + 5);
        assert_eq!(shapes(Preset::Quick), [(1, 32), (1, 1024)]);
    }
}
