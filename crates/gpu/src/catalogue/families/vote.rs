//! Votes of a warp and comparison of values within it.

use syncscope_core::{Case, Dtype, Form, Mode, Preset, Primitive};

use crate::catalogue::definitions::kernel;
use crate::catalogue::entry::{Entry, Kernel, Proof};
use crate::catalogue::facts;
use crate::catalogue::instructions::ExpectedInstructions;

const VOTE_KERNEL: Kernel = kernel!("vote.cu", Register);
const MATCH_KERNEL: Kernel = kernel!("match.cu", Register);

/// In theory: the predicates of the lanes are combined in one step. A vote has the latency of one or two arithmetic
/// instructions and takes one issue slot. Where votes do not depend on each other, each also has a comparison before it and
/// an addition after it, because a vote about nothing new, or with a result that nobody uses, does not stay in the code.
const VOTE: Entry = Entry {
    cases: |id, preset, limits| {
        let dependent = limits.full(id, preset).modes(&[Mode::Latency]).cases();
        let independent = limits.coarse(id, at_most_standard(preset)).modes(&[Mode::Throughput]).cases();
        [dependent, independent].concat()
    },
    ..Entry::of(VOTE_KERNEL, Proof::LastLaunch)
};

static ALL: Entry = Entry {
    primitive: Primitive {
        id: "gpu.vote.all",
        summary: "Whether a condition holds for all lanes of a warp",
        operation: "one vote; latency: about the result of the one before",
        source: "CUDA C++ Programming Guide, Warp Vote Functions; PTX ISA, vote.sync.all",
        facts: facts::WARP_COLLECTIVE,
    },
    definitions: |case| vote_definitions(case, "ALL"),
    // Turing compares the active lanes with the lanes that agree.
    expected: |_| ExpectedInstructions::of(&["VOTE.ALL"]).or_substitutes(&["VOTE.ANY"]),
    ..VOTE
};

static ANY: Entry = Entry {
    primitive: Primitive {
        id: "gpu.vote.any",
        summary: "Whether a condition holds for any lane of a warp",
        operation: "one vote; latency: about the result of the one before",
        source: "CUDA C++ Programming Guide, Warp Vote Functions; PTX ISA, vote.sync.any",
        facts: facts::WARP_COLLECTIVE,
    },
    definitions: |case| vote_definitions(case, "ANY"),
    expected: |_| ExpectedInstructions::of(&["VOTE.ANY"]),
    ..VOTE
};

/// In theory: as the other votes, and one comparison that makes a condition of the mask.
static BALLOT: Entry = Entry {
    primitive: Primitive {
        id: "gpu.vote.ballot",
        summary: "For which lanes of a warp a condition holds",
        operation: "one vote; latency: about the result of the one before",
        source: "CUDA C++ Programming Guide, Warp Vote Functions; PTX ISA, vote.sync.ballot",
        facts: facts::WARP_COLLECTIVE,
    },
    definitions: |case| vote_definitions(case, "BALLOT"),
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
        let dependent = limits.coarse(id, preset).dtypes(types).modes(&[Mode::Latency]).cases();
        let independent = limits.coarse(id, at_most_standard(preset)).dtypes(&types[..1]).modes(&[Mode::Throughput]);
        // As the paper's programs: each comparison is among the lanes that the one before found.
        let by_mask = limits.form_of_paper(id, preset, Form::Opaque, types).modes(&[Mode::Latency]).cases();
        [dependent, independent.cases(), by_mask].concat()
    },
    ..Entry::of(MATCH_KERNEL, Proof::LastLaunch)
};

static MATCH_ANY: Entry = Entry {
    primitive: Primitive {
        id: "gpu.match.any",
        summary: "Which lanes of a warp hold the same value",
        operation: "one comparison; latency: it needs the result of the one before",
        source: "CUDA C++ Programming Guide, Warp Match Functions; PTX ISA, match.any.sync",
        facts: facts::WARP_COLLECTIVE,
    },
    definitions: |case| match_definitions(case, "ANY"),
    expected: |_| ExpectedInstructions::of(&["MATCH.ANY"]),
    ..MATCH
};

static MATCH_ALL: Entry = Entry {
    primitive: Primitive {
        id: "gpu.match.all",
        summary: "Whether all lanes of a warp hold the same value",
        operation: "one comparison; latency: it needs the result of the one before",
        source: "CUDA C++ Programming Guide, Warp Match Functions; PTX ISA, match.all.sync",
        facts: facts::WARP_COLLECTIVE,
    },
    definitions: |case| match_definitions(case, "ALL"),
    // Turing finds the groups, and then whether there is only one.
    expected: |_| ExpectedInstructions::of(&["MATCH.ALL"]).or_substitutes(&["MATCH.ANY"]),
    ..MATCH
};

/// Plans of what the papers do not test.
fn at_most_standard(preset: Preset) -> Preset {
    if preset == Preset::Quick { Preset::Quick } else { Preset::Standard }
}

fn vote_definitions(case: &Case, kind: &str) -> Vec<String> {
    let dependent = u32::from(case.mode == Some(Mode::Latency));
    vec![format!("KIND={kind}"), format!("DEPENDENT={dependent}")]
}

fn match_definitions(case: &Case, kind: &str) -> Vec<String> {
    let dependence = match (case.mode, case.form) {
        (Some(Mode::Throughput), _) => "NONE",
        (_, Some(Form::Opaque)) => "BY_MASK",
        _ => "BY_VALUE",
    };
    vec![format!("KIND={kind}"), format!("DEPENDENCE={dependence}"), bits_of(case)]
}

/// Values are compared as bits.
fn bits_of(case: &Case) -> String {
    let size = case.dtype.map_or(4, Dtype::size_bytes);
    format!("VALUE={}", if size == 8 { "u64" } else { "u32" })
}

pub(crate) static VOTES: [&Entry; 3] = [&ALL, &ANY, &BALLOT];
pub(crate) static MATCHES: [&Entry; 2] = [&MATCH_ANY, &MATCH_ALL];
