//! Shuffles, votes, comparisons and reductions of a warp: its lanes exchange, compare or combine registers.

use super::prelude::*;

const TYPES: &[Dtype] = &[Dtype::I32, Dtype::U64, Dtype::F32, Dtype::F64];
const I32: &[Dtype] = &[Dtype::I32];
const LATENCY: &[Mode] = &[Mode::Latency];
const THROUGHPUT: &[Mode] = &[Mode::Throughput];

/// In theory: one trip through the exchange network that also serves shared memory, some 23 cycles; 64 bits take two
/// instructions. Many warps saturate the network: its throughput is the 32 lanes of a warp per cycle, or less.
const SHUFFLE: Entry = Entry {
    operation: "one exchange that depends on the result of the previous one",
    definitions: |case| {
        let opaque = u32::from(case.form == Some(Form::Opaque));
        vec![value_of(case), kind_of(case), format!("OPAQUE={opaque}")]
    },
    // One form has the distance or width in a register; for `xor`, so does the paper's program.
    plan: &[
        on(QUICK, Grids::Full).only(&["idx"]).dtypes(&[Dtype::I32, Dtype::F64]).modes(LATENCY),
        on(BEYOND_QUICK, Grids::Full).only(&["idx"]).dtypes(TYPES).modes(LATENCY),
        on(QUICK, Grids::Coarse).only(&["up", "down", "xor"]).dtypes(I32).modes(LATENCY),
        on(BEYOND_QUICK, Grids::Coarse).only(&["up", "down", "xor"]).dtypes(TYPES).modes(LATENCY),
        on(BEYOND_QUICK, Grids::Few).only(&["down"]).dtypes(I32).modes(LATENCY).forms(&[Form::Opaque]),
        on(BEYOND_QUICK, Grids::Few).only(&["through_shared"]).dtypes(I32).modes(LATENCY),
        on(STANDARD, Grids::Few).only(&["xor"]).dtypes(I32).modes(LATENCY).forms(&[Form::Opaque]),
        on(PAPER, Grids::OfPapers).only(&["xor"]).dtypes(TYPES).modes(LATENCY).forms(&[Form::Opaque]),
    ],
    ..Entry::of(Kernel::of("shuffle.cu", ArgumentKind::Register), Proof::LastLaunch, WARP_COLLECTIVE)
};

/// The network moves 32 bits at a time.
fn words(case: &Case) -> usize {
    case.dtype.map_or(1, |dtype| dtype.size_bytes().div_ceil(4))
}

/// In theory: the predicates of the lanes are combined in one step. A vote has the latency of one or two arithmetic
/// instructions and takes one issue slot. Throughput rows have four votes in flight, each on the result of the fourth one
/// before it: a vote on nothing new, or with an unused result, would not stay in the code.
const VOTE: Entry = Entry {
    operation: "one vote; in latency rows, each needs the result of the previous one",
    definitions: |case| {
        let dependent = u32::from(case.mode == Some(Mode::Latency));
        vec![kind_of(case), format!("DEPENDENT={dependent}")]
    },
    plan: &[on(EACH, Grids::Full).modes(LATENCY), on(EACH, Grids::CoarseOfStandard).modes(THROUGHPUT)],
    // 64 warps hide the end of an iteration of 32 votes: 2 % of their cost (H100).
    unroll: |case| if case.mode == Some(Mode::Throughput) && case.threads >= Some(256) { 128 } else { UNROLL },
    ..Entry::of(Kernel::of("vote.cu", ArgumentKind::Register), Proof::LastLaunch, WARP_COLLECTIVE)
};

/// In theory: the hardware compares the values of the lanes. `any` must find the groups one after the other; `all` compares
/// only with the value of one lane. Throughput rows have four comparisons in flight.
const MATCH: Entry = Entry {
    operation: "one comparison; in latency rows, each comparison needs the previous result",
    definitions: |case| {
        let dependence = match (case.mode, case.form) {
            (Some(Mode::Throughput), _) => "OF_FOUR",
            (_, Some(Form::Opaque)) => "BY_MASK",
            _ => "BY_VALUE",
        };
        // Values are compared as bits.
        let bits = if words(case) == 2 { "u64" } else { "u32" };
        vec![kind_of(case), format!("DEPENDENCE={dependence}"), format!("VALUE={bits}")]
    },
    // As in the paper's programs, each comparison of the last form is among the lanes that the previous one found.
    plan: &[
        on(QUICK, Grids::Coarse).dtypes(I32).modes(LATENCY),
        on(BEYOND_QUICK, Grids::Coarse).dtypes(TYPES).modes(LATENCY),
        on(EACH, Grids::CoarseOfStandard).dtypes(I32).modes(THROUGHPUT),
        on(STANDARD, Grids::Few).dtypes(I32).modes(LATENCY).forms(&[Form::Opaque]),
        on(PAPER, Grids::OfPapers).dtypes(TYPES).modes(LATENCY).forms(&[Form::Opaque]),
    ],
    ..Entry::of(Kernel::of("match.cu", ArgumentKind::Register), Proof::LastLaunch, WARP_COLLECTIVE)
};

/// In theory: one instruction instead of five shuffles and five operations. The result is in a uniform register; a move
/// copies it back for the next reduction.
const REDUCE: Entry = Entry {
    operation: "one reduction that depends on the result of the previous one",
    source: "CUDA C++ Programming Guide, Warp Reduce Functions; PTX ISA, redux.sync",
    needs: (8, 0),
    plan: &[
        on(QUICK, Grids::Coarse).dtypes(&[Dtype::U32]).modes(LATENCY),
        on(BEYOND_QUICK, Grids::Coarse).dtypes(&[Dtype::I32, Dtype::U32]).modes(LATENCY),
    ],
    ..Entry::of(Kernel::of("reduce.cu", ArgumentKind::Variable), Proof::Trial, WARP_COLLECTIVE)
};

/// Bitwise reductions, for which the sign does not matter.
const BITWISE: Entry = Entry { plan: &[on(EACH, Grids::Coarse).dtypes(&[Dtype::U32]).modes(LATENCY)], ..REDUCE };

/// The macros of a reduction with this result for two values.
fn reduction(case: &Case, of_two: &str) -> Vec<String> {
    vec![value_of(case), format!("REDUCE=__reduce_{}_sync", name_of(case)), format!("COMBINE(a,b)=({of_two})")]
}

entries! {
    "gpu.shuffle.idx" like SHUFFLE: "Each lane of a warp reads a register of another lane, chosen by index",
    source: "CUDA C++ Programming Guide, Warp Shuffle Functions; PTX ISA, shfl.sync.idx",
    expected: |case| ExpectedInstructions::of(&["SHFL.IDX"]).times(words(case));

    "gpu.shuffle.up" like SHUFFLE: "Each lane of a warp reads a register of the previous lane",
    source: "CUDA C++ Programming Guide, Warp Shuffle Functions; PTX ISA, shfl.sync.up",
    expected: |case| ExpectedInstructions::of(&["SHFL.UP"]).times(words(case));

    "gpu.shuffle.down" like SHUFFLE: "Each lane of a warp reads a register of the next lane",
    source: "CUDA C++ Programming Guide, Warp Shuffle Functions; PTX ISA, shfl.sync.down",
    expected: |case| ExpectedInstructions::of(&["SHFL.DOWN"]).times(words(case));

    "gpu.shuffle.xor" like SHUFFLE: "The lanes of a warp exchange register values pairwise",
    source: "CUDA C++ Programming Guide, Warp Shuffle Functions; PTX ISA, shfl.sync.bfly",
    expected: |case| ExpectedInstructions::of(&["SHFL.BFLY"]).times(words(case));

    /// In theory: a store, two warp barriers, which the compiler knows to be converged, and a load: twice the latency of shared
    /// memory.
    "gpu.shuffle.through_shared" like SHUFFLE: "Each lane of a warp reads what another lane wrote to shared memory",
    source: "CUDA C++ Programming Guide, Shared Memory, __syncwarp",
    expected: |_| ExpectedInstructions::of(&["LDS"]);

    "gpu.vote.all" like VOTE: "Vote on whether a condition holds for all lanes of a warp",
    source: "CUDA C++ Programming Guide, Warp Vote Functions; PTX ISA, vote.sync.all",
    // Turing compares the active lanes with the lanes that agree.
    expected: |_| ExpectedInstructions::of(&["VOTE.ALL"]).or_substitutes(&["VOTE.ANY"]);

    "gpu.vote.any" like VOTE: "Vote on whether a condition holds for any lane of a warp",
    source: "CUDA C++ Programming Guide, Warp Vote Functions; PTX ISA, vote.sync.any",
    expected: |_| ExpectedInstructions::of(&["VOTE.ANY"]);

    /// In theory: like the other votes, plus one instruction that turns the mask into a condition.
    "gpu.vote.ballot" like VOTE: "Vote that returns a mask of the lanes of a warp for which a condition holds",
    source: "CUDA C++ Programming Guide, Warp Vote Functions; PTX ISA, vote.sync.ballot",
    // The same instruction as for `any`, with a register as the result.
    expected: |_| ExpectedInstructions::of(&["VOTE.ANY"]);

    "gpu.match.any" like MATCH: "Warp match: gives each lane a mask of the lanes in its warp that hold the same value",
    source: "CUDA C++ Programming Guide, Warp Match Functions; PTX ISA, match.any.sync",
    expected: |_| ExpectedInstructions::of(&["MATCH.ANY"]);

    "gpu.match.all" like MATCH: "Match that reports whether all lanes of a warp have the same value",
    source: "CUDA C++ Programming Guide, Warp Match Functions; PTX ISA, match.all.sync",
    // Turing finds the groups, and then whether there is only one.
    expected: |_| ExpectedInstructions::of(&["MATCH.ALL"]).or_substitutes(&["MATCH.ANY"]);

    "gpu.reduce.add" like REDUCE: "Sum over the lanes of a warp",
    definitions: |case| reduction(case, "a+b"), expected: |_| ExpectedInstructions::of(&["REDUX.SUM", "CREDUX.SUM"]);
    "gpu.reduce.min" like REDUCE: "Minimum over the lanes of a warp",
    definitions: |case| reduction(case, "min(a,b)"), expected: |_| ExpectedInstructions::of(&["REDUX.MIN", "CREDUX.MIN"]);
    "gpu.reduce.max" like REDUCE: "Maximum over the lanes of a warp",
    definitions: |case| reduction(case, "max(a,b)"), expected: |_| ExpectedInstructions::of(&["REDUX.MAX", "CREDUX.MAX"]);
    // Without a modifier the instruction is an AND.
    "gpu.reduce.and" like BITWISE: "Bitwise AND over the lanes of a warp",
    definitions: |case| reduction(case, "a&b"), expected: |_| ExpectedInstructions::of(&["REDUX"]);
    "gpu.reduce.or" like BITWISE: "Bitwise OR over the lanes of a warp",
    definitions: |case| reduction(case, "a|b"), expected: |_| ExpectedInstructions::of(&["REDUX.OR"]);
    "gpu.reduce.xor" like BITWISE: "Bitwise exclusive OR over the lanes of a warp",
    definitions: |case| reduction(case, "a^b"), expected: |_| ExpectedInstructions::of(&["REDUX.XOR"]);
}
