//! Shuffles: exchange of registers within a warp.

use syncscope_core::{Case, Dtype, Form, Mode, Preset, Primitive};

use crate::catalogue::definitions::{kernel, value_of};
use crate::catalogue::entry::{Entry, Kernel, Proof};
use crate::catalogue::facts;
use crate::catalogue::instructions::ExpectedInstructions;

const KERNEL: Kernel = kernel!("shuffle.cu", Register);

const TYPES: [Dtype; 4] = [Dtype::I32, Dtype::U64, Dtype::F32, Dtype::F64];

/// In theory: one trip through the exchange network that also serves shared memory, some 23 cycles; 64 bits take two
/// instructions. Many warps saturate the network: its throughput is the 32 lanes of a warp per cycle, or less.
const SHUFFLE: Entry = Entry {
    cases: |id, preset, limits| {
        let types = if preset == Preset::Quick { &TYPES[..1] } else { &TYPES };
        limits.coarse(id, preset).dtypes(types).modes(&[Mode::Latency]).cases()
    },
    ..Entry::of(KERNEL, Proof::LastLaunch)
};

static IDX: Entry = Entry {
    primitive: Primitive {
        id: "gpu.shuffle.idx",
        summary: "Each lane of a warp reads a register of another, chosen by its number",
        operation: "one exchange that needs the result of the one before",
        source: "CUDA C++ Programming Guide, Warp Shuffle Functions; PTX ISA, shfl.sync.idx",
        facts: facts::WARP_COLLECTIVE,
    },
    definitions: |case| definitions(case, "IDX"),
    expected: |case| ExpectedInstructions::of(&["SHFL.IDX"]).times(words(case)),
    cases: |id, preset, limits| {
        let quick = [Dtype::I32, Dtype::F64];
        let types = if preset == Preset::Quick { &quick[..] } else { &TYPES };
        limits.full(id, preset).dtypes(types).modes(&[Mode::Latency]).cases()
    },
    ..SHUFFLE
};

static UP: Entry = Entry {
    primitive: Primitive {
        id: "gpu.shuffle.up",
        summary: "Each lane of a warp reads a register of the lane before it",
        operation: "one exchange that needs the result of the one before",
        source: "CUDA C++ Programming Guide, Warp Shuffle Functions; PTX ISA, shfl.sync.up",
        facts: facts::WARP_COLLECTIVE,
    },
    definitions: |case| definitions(case, "UP"),
    expected: |case| ExpectedInstructions::of(&["SHFL.UP"]).times(words(case)),
    ..SHUFFLE
};

static DOWN: Entry = Entry {
    primitive: Primitive {
        id: "gpu.shuffle.down",
        summary: "Each lane of a warp reads a register of the lane behind it",
        operation: "one exchange that needs the result of the one before",
        source: "CUDA C++ Programming Guide, Warp Shuffle Functions; PTX ISA, shfl.sync.down",
        facts: facts::WARP_COLLECTIVE,
    },
    definitions: |case| definitions(case, "DOWN"),
    expected: |case| ExpectedInstructions::of(&["SHFL.DOWN"]).times(words(case)),
    cases: |id, preset, limits| {
        let as_written = (SHUFFLE.cases)(id, preset, limits);
        if preset == Preset::Quick {
            return as_written;
        }
        // The width is in a register.
        let some = limits.few(id).dtypes(&TYPES[..1]).modes(&[Mode::Latency]);
        [as_written, some.forms(&[Some(Form::Opaque)]).cases()].concat()
    },
    ..SHUFFLE
};

static XOR: Entry = Entry {
    primitive: Primitive {
        id: "gpu.shuffle.xor",
        summary: "The lanes of a warp exchange registers in pairs",
        operation: "one exchange that needs the result of the one before",
        source: "CUDA C++ Programming Guide, Warp Shuffle Functions; PTX ISA, shfl.sync.bfly",
        facts: facts::WARP_COLLECTIVE,
    },
    definitions: |case| definitions(case, "XOR"),
    expected: |case| ExpectedInstructions::of(&["SHFL.BFLY"]).times(words(case)),
    // As the paper's program: the distance is in a register.
    cases: |id, preset, limits| {
        let in_register = limits.form_of_paper(id, preset, Form::Opaque, &TYPES).modes(&[Mode::Latency]).cases();
        [(SHUFFLE.cases)(id, preset, limits), in_register].concat()
    },
    ..SHUFFLE
};

fn definitions(case: &Case, kind: &str) -> Vec<String> {
    let opaque = u32::from(case.form == Some(Form::Opaque));
    vec![value_of(case), format!("KIND={kind}"), format!("OPAQUE={opaque}")]
}

/// The network moves 32 bits at a time.
fn words(case: &Case) -> usize {
    case.dtype.map_or(1, |dtype| dtype.size_bytes().div_ceil(4))
}

pub(crate) static ENTRIES: [&Entry; 4] = [&IDX, &UP, &DOWN, &XOR];
