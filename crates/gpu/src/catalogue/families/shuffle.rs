//! Exchange of registers within a warp.

use syncscope_core::{Case, Dtype, Mode, Preset, Primitive};

use crate::catalogue::definitions::{kernel, value_of};
use crate::catalogue::entry::{Entry, Kernel, Proof};
use crate::catalogue::instructions::Meant;

const KERNEL: Kernel = kernel!("shuffle.cu", Register);

const TYPES: [Dtype; 4] = [Dtype::I32, Dtype::U64, Dtype::F32, Dtype::F64];

/// In theory: one trip through the exchange network shared with shared memory, some 23 cycles; 64 bits take two
/// instructions. Many warps fill the network: then its throughput counts, a warp's 32 lanes per cycle or less.
const SHUFFLE: Entry = Entry {
    cases: |id, preset, grid| {
        let types = if preset == Preset::Quick { &TYPES[..1] } else { &TYPES };
        grid.coarse(id, preset).dtypes(types).modes(&[Mode::Latency]).cases()
    },
    ..Entry::of(KERNEL, Proof::LastLaunch)
};

static IDX: Entry = Entry {
    primitive: Primitive {
        id: "gpu.shuffle.idx",
        summary: "Each lane of a warp reads a register of another, chosen by its number",
        operation: "one exchange that needs the result of the one before",
        source: "CUDA C++ Programming Guide, Warp Shuffle Functions; PTX ISA, shfl.sync.idx",
    },
    definitions: |case| definitions(case, "IDX"),
    meant: |case| Meant::of(&["SHFL.IDX"]).times(words(case)),
    cases: |id, preset, grid| {
        let quick = [Dtype::I32, Dtype::F64];
        let types = if preset == Preset::Quick { &quick[..] } else { &TYPES };
        grid.full(id, preset).dtypes(types).modes(&[Mode::Latency]).cases()
    },
    ..SHUFFLE
};

static UP: Entry = Entry {
    primitive: Primitive {
        id: "gpu.shuffle.up",
        summary: "Each lane of a warp reads a register of the lane before it",
        operation: "one exchange that needs the result of the one before",
        source: "CUDA C++ Programming Guide, Warp Shuffle Functions; PTX ISA, shfl.sync.up",
    },
    definitions: |case| definitions(case, "UP"),
    meant: |case| Meant::of(&["SHFL.UP"]).times(words(case)),
    ..SHUFFLE
};

static DOWN: Entry = Entry {
    primitive: Primitive {
        id: "gpu.shuffle.down",
        summary: "Each lane of a warp reads a register of the lane behind it",
        operation: "one exchange that needs the result of the one before",
        source: "CUDA C++ Programming Guide, Warp Shuffle Functions; PTX ISA, shfl.sync.down",
    },
    definitions: |case| definitions(case, "DOWN"),
    meant: |case| Meant::of(&["SHFL.DOWN"]).times(words(case)),
    ..SHUFFLE
};

static XOR: Entry = Entry {
    primitive: Primitive {
        id: "gpu.shuffle.xor",
        summary: "The lanes of a warp exchange registers in pairs",
        operation: "one exchange that needs the result of the one before",
        source: "CUDA C++ Programming Guide, Warp Shuffle Functions; PTX ISA, shfl.sync.bfly",
    },
    definitions: |case| definitions(case, "XOR"),
    meant: |case| Meant::of(&["SHFL.BFLY"]).times(words(case)),
    ..SHUFFLE
};

fn definitions(case: &Case, kind: &str) -> Vec<String> {
    vec![value_of(case), format!("KIND={kind}")]
}

/// The network moves 32 bits at a time.
fn words(case: &Case) -> usize {
    case.dtype.map_or(1, |dtype| dtype.size_bytes().div_ceil(4))
}

pub(crate) static ENTRIES: [&Entry; 4] = [&IDX, &UP, &DOWN, &XOR];
