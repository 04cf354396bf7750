//! Reductions of a warp in one instruction.

use syncscope_core::{Case, Dtype, Mode, Preset, Primitive};

use crate::catalogue::definitions::{kernel, value_of};
use crate::catalogue::entry::{Entry, Kernel, Proof};
use crate::catalogue::facts;
use crate::catalogue::instructions::ExpectedInstructions;

const KERNEL: Kernel = kernel!("reduce.cu", Variable);

/// In theory: one instruction instead of five shuffles and five operations. The result is in a uniform register; a move
/// copies it back for the next reduction.
const REDUCE: Entry = Entry {
    needs: (8, 0),
    cases: |id, preset, limits| {
        let types = if preset == Preset::Quick { &[Dtype::U32][..] } else { &[Dtype::I32, Dtype::U32] };
        limits.coarse(id, preset).dtypes(types).modes(&[Mode::Latency]).cases()
    },
    ..Entry::of(KERNEL, Proof::Trial)
};

/// Bitwise reductions: the sign does not matter.
const BITWISE: Entry = Entry {
    cases: |id, preset, limits| limits.coarse(id, preset).dtypes(&[Dtype::U32]).modes(&[Mode::Latency]).cases(),
    ..REDUCE
};

/// The parameters are what differs: id, summary, CUDA function, its result for two values, instructions.
macro_rules! reduction {
    ($id:literal, $summary:literal, $function:literal, $combine:literal, $instructions:expr, $common:expr) => {
        Entry {
            primitive: Primitive {
                id: $id,
                summary: $summary,
                operation: "one reduction that needs the result of the one before",
                source: "CUDA C++ Programming Guide, Warp Reduce Functions; PTX ISA, redux.sync",
                facts: facts::WARP_COLLECTIVE,
            },
            definitions: |case| definitions(case, $function, $combine),
            expected: |_| ExpectedInstructions::of($instructions),
            ..$common
        }
    };
}

static ADD: Entry =
    reduction!("gpu.reduce.add", "Sum over a warp", "__reduce_add_sync", "a+b", &["REDUX.SUM", "CREDUX.SUM"], REDUCE);
static MIN: Entry = reduction!(
    "gpu.reduce.min",
    "Smallest value of a warp",
    "__reduce_min_sync",
    "min(a,b)",
    &["REDUX.MIN", "CREDUX.MIN"],
    REDUCE
);
static MAX: Entry = reduction!(
    "gpu.reduce.max",
    "Largest value of a warp",
    "__reduce_max_sync",
    "max(a,b)",
    &["REDUX.MAX", "CREDUX.MAX"],
    REDUCE
);
// Without a modifier the instruction is an AND.
static AND: Entry =
    reduction!("gpu.reduce.and", "Bits set in all lanes of a warp", "__reduce_and_sync", "a&b", &["REDUX"], BITWISE);
static OR: Entry =
    reduction!("gpu.reduce.or", "Bits set in any lane of a warp", "__reduce_or_sync", "a|b", &["REDUX.OR"], BITWISE);
static XOR: Entry = reduction!(
    "gpu.reduce.xor",
    "Bits set in an odd number of lanes of a warp",
    "__reduce_xor_sync",
    "a^b",
    &["REDUX.XOR"],
    BITWISE
);

fn definitions(case: &Case, function: &str, combine: &str) -> Vec<String> {
    vec![value_of(case), format!("REDUCE={function}"), format!("COMBINE(a,b)=({combine})")]
}

pub(crate) static ENTRIES: [&Entry; 6] = [&ADD, &MIN, &MAX, &AND, &OR, &XOR];
