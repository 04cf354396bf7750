//! Votes of a warp and comparison of values within it.

use syncscope_core::{Case, Dtype, Mode, Preset, Primitive};

use crate::catalogue::definitions::kernel;
use crate::catalogue::entry::{Entry, Kernel, Proof};
use crate::catalogue::instructions::Meant;

const VOTE_KERNEL: Kernel = kernel!("vote.cu", Register);
const MATCH_KERNEL: Kernel = kernel!("match.cu", Register);

/// In theory: the predicates of the lanes are wires to one place; a vote has the latency of an arithmetic instruction or
/// two, and a warp's instruction is all it takes of the issue slots.
const VOTE: Entry = Entry {
    cases: |id, preset, grid| grid.full(id, preset).modes(&[Mode::Latency]).cases(),
    ..Entry::of(VOTE_KERNEL, Proof::LastLaunch)
};

static ALL: Entry = Entry {
    primitive: Primitive {
        id: "gpu.vote.all",
        summary: "Whether a condition holds for all lanes of a warp",
        operation: "one vote about the result of the one before",
        source: "CUDA C++ Programming Guide, Warp Vote Functions; PTX ISA, vote.sync.all",
    },
    definitions: |_| vec!["KIND=ALL".into()],
    // Turing asks for the lanes that are there and for those that agree, and compares.
    meant: |_| Meant::of(&["VOTE.ALL"]).instead(&["VOTE.ANY"]),
    ..VOTE
};

static ANY: Entry = Entry {
    primitive: Primitive {
        id: "gpu.vote.any",
        summary: "Whether a condition holds for any lane of a warp",
        operation: "one vote about the result of the one before",
        source: "CUDA C++ Programming Guide, Warp Vote Functions; PTX ISA, vote.sync.any",
    },
    definitions: |_| vec!["KIND=ANY".into()],
    meant: |_| Meant::of(&["VOTE.ANY"]),
    ..VOTE
};

/// In theory: as the others, and a comparison more to make a condition of the mask.
static BALLOT: Entry = Entry {
    primitive: Primitive {
        id: "gpu.vote.ballot",
        summary: "For which lanes of a warp a condition holds",
        operation: "one vote about the result of the one before",
        source: "CUDA C++ Programming Guide, Warp Vote Functions; PTX ISA, vote.sync.ballot",
    },
    definitions: |_| vec!["KIND=BALLOT".into()],
    // With a register as the result it is a ballot: the same instruction.
    meant: |_| Meant::of(&["VOTE.ANY"]),
    ..VOTE
};

/// In theory: the values go round the warp. `any` has to find every group, one after the other; `all` compares with one
/// lane's value alone.
const MATCH: Entry = Entry {
    cases: |id, preset, grid| {
        let types = [Dtype::I32, Dtype::U64, Dtype::F32, Dtype::F64];
        let types = if preset == Preset::Quick { &types[..1] } else { &types };
        grid.coarse(id, preset).dtypes(types).modes(&[Mode::Latency]).cases()
    },
    ..Entry::of(MATCH_KERNEL, Proof::LastLaunch)
};

static MATCH_ANY: Entry = Entry {
    primitive: Primitive {
        id: "gpu.match.any",
        summary: "Which lanes of a warp hold the same value",
        operation: "one comparison that needs the result of the one before",
        source: "CUDA C++ Programming Guide, Warp Match Functions; PTX ISA, match.any.sync",
    },
    definitions: |case| vec!["KIND=ANY".into(), bits_of(case)],
    meant: |_| Meant::of(&["MATCH.ANY"]),
    ..MATCH
};

static MATCH_ALL: Entry = Entry {
    primitive: Primitive {
        id: "gpu.match.all",
        summary: "Whether all lanes of a warp hold the same value",
        operation: "one comparison that needs the result of the one before",
        source: "CUDA C++ Programming Guide, Warp Match Functions; PTX ISA, match.all.sync",
    },
    definitions: |case| vec!["KIND=ALL".into(), bits_of(case)],
    // Turing looks for the groups and whether there is one.
    meant: |_| Meant::of(&["MATCH.ALL"]).instead(&["MATCH.ANY"]),
    ..MATCH
};

/// Values are compared as bits.
fn bits_of(case: &Case) -> String {
    let size = case.dtype.map_or(4, Dtype::size_bytes);
    format!("VALUE={}", if size == 8 { "u64" } else { "u32" })
}

pub(crate) static VOTES: [&Entry; 3] = [&ALL, &ANY, &BALLOT];
pub(crate) static MATCHES: [&Entry; 2] = [&MATCH_ANY, &MATCH_ALL];
