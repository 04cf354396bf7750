//! Votes of a warp and comparison of values within it.

use syncscope_core::{Case, Dtype, Mode, Preset, Primitive};

use crate::catalogue::definitions::kernel;
use crate::catalogue::entry::{Entry, Kernel, Proof};
use crate::catalogue::instructions::ExpectedInstructions;

const VOTE_KERNEL: Kernel = kernel!("vote.cu", Register);
const MATCH_KERNEL: Kernel = kernel!("match.cu", Register);

/// In theory: the predicates of the lanes are combined in one step. A vote has the latency of one or two arithmetic
/// instructions and takes one issue slot.
const VOTE: Entry = Entry {
    cases: |id, preset, limits| limits.full(id, preset).modes(&[Mode::Latency]).cases(),
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
    // Turing compares the active lanes with the lanes that agree.
    expected: |_| ExpectedInstructions::of(&["VOTE.ALL"]).or_substitutes(&["VOTE.ANY"]),
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
    expected: |_| ExpectedInstructions::of(&["VOTE.ANY"]),
    ..VOTE
};

/// In theory: as the other votes, and one comparison that makes a condition of the mask.
static BALLOT: Entry = Entry {
    primitive: Primitive {
        id: "gpu.vote.ballot",
        summary: "For which lanes of a warp a condition holds",
        operation: "one vote about the result of the one before",
        source: "CUDA C++ Programming Guide, Warp Vote Functions; PTX ISA, vote.sync.ballot",
    },
    definitions: |_| vec!["KIND=BALLOT".into()],
    // The same instruction as for `any`, with a register as the result.
    expected: |_| ExpectedInstructions::of(&["VOTE.ANY"]),
    ..VOTE
};

/// In theory: the hardware compares the values of the lanes. `any` must find every group, one after the other; `all`
/// compares only with the value of one lane.
const MATCH: Entry = Entry {
    cases: |id, preset, limits| {
        let types = [Dtype::I32, Dtype::U64, Dtype::F32, Dtype::F64];
        let types = if preset == Preset::Quick { &types[..1] } else { &types };
        limits.coarse(id, preset).dtypes(types).modes(&[Mode::Latency]).cases()
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
    expected: |_| ExpectedInstructions::of(&["MATCH.ANY"]),
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
    // Turing finds the groups, and then whether there is only one.
    expected: |_| ExpectedInstructions::of(&["MATCH.ALL"]).or_substitutes(&["MATCH.ANY"]),
    ..MATCH
};

/// Values are compared as bits.
fn bits_of(case: &Case) -> String {
    let size = case.dtype.map_or(4, Dtype::size_bytes);
    format!("VALUE={}", if size == 8 { "u64" } else { "u32" })
}

pub(crate) static VOTES: [&Entry; 3] = [&ALL, &ANY, &BALLOT];
pub(crate) static MATCHES: [&Entry; 2] = [&MATCH_ANY, &MATCH_ALL];
