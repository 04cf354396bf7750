//! Atomic operations on global and shared memory.

use syncscope_core::sweep::Sweep;
use syncscope_core::{Case, Dtype, Layout, MemoryOrder, Mode, Preset, Primitive, Scope, Space};

use crate::catalogue::definitions::{kernel, value_of};
use crate::catalogue::entry::{Entry, Kernel, Proof};
use crate::catalogue::instructions::Meant;
use crate::catalogue::limits::{Grid, STRIDES};
use crate::catalogue::sampling::{Busy, Pace};

const KERNEL: Kernel = kernel!("atomic.cu", Variable);

/// Shared memory that the kernel has for its variables. `SHARED_BYTES` in `atomic.cu`.
const SHARED_BYTES: usize = 32 * 1024;

const INTEGERS: &[Dtype] = &[Dtype::I32, Dtype::U32, Dtype::U64];

/// What is done in compare-and-swap loops where shared memory has no such operation of its own: for floating point, and for
/// 64 bits but for exchange and compare-and-swap.
const LOOP: &[&str] = &["ATOMS.CAST", "ATOMS.CAS"];

/// In theory: atomics on global memory are executed by the second-level cache. Without a use of the result nobody waits,
/// so the cost is the time until there is room for the next one: the throughput of the cache slice that holds a shared
/// variable, for integers after the warp's lanes have been added up; for private elements, the number of 32-byte
/// sectors a warp touches. With a use of the result it is a trip to that cache and back. Atomics on shared memory are
/// executed beside it, in the multiprocessor, lane by lane where lanes have one variable or one bank.
///
/// What the entries do not share: id, summary, words of the operation, source, kind in the kernel, function of CUDA,
/// types, proof, and the names of the instruction: on global memory without a use of the result and with it, and on shared
/// memory.
macro_rules! atomic {
    (
        $id:literal, $summary:literal, $operation:literal, $source:literal, $kind:literal, $function:literal,
        $types:expr, $proof:ident, $breadth:ident, [$($reduction:literal),+], [$($global:literal),+], [$shared:literal]
    ) => {
        Entry {
            primitive: Primitive { id: $id, summary: $summary, operation: $operation, source: $source },
            definitions: |case| definitions(case, $kind, $function),
            meant: |case| match (case.space, case.mode) {
                (Some(Space::Shared), _) => Meant::of(&[$shared]).instead(LOOP),
                (_, Some(Mode::Latency)) => Meant::of(&[$($global),+]),
                _ => Meant::of(&[$($reduction),+]),
            },
            pace,
            // Who needs the result of one for the next fills no queue.
            busy: |case| if case.mode == Some(Mode::Latency) { Busy::Nothing } else { Busy::Multiprocessors },
            cases: |id, preset, grid| cases(id, preset, *grid, $types, Breadth::$breadth),
            ..Entry::of(KERNEL, Proof::$proof)
        }
    };
}

/// How much of the space of parameters a standard plan covers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Breadth {
    /// All grids, all strides.
    Wide,
    /// Enough to see whether it differs from those.
    Narrow,
}

static ADD: Entry = atomic!(
    "gpu.atomic.add",
    "Atomic addition",
    "one addition of its number by each thread",
    "CUDA C++ Programming Guide, atomicAdd; Burtchell and Burtscher, IISWC 2024",
    "ADD",
    "atomicAdd",
    &[Dtype::I32, Dtype::U32, Dtype::U64, Dtype::F32, Dtype::F64],
    Sum,
    Wide,
    ["RED.ADD", "REDG.ADD"],
    ["ATOMG.ADD", "ATOM.ADD"],
    ["ATOMS.ADD"]
);
// To subtract is to add the negative number.
static SUB: Entry = atomic!(
    "gpu.atomic.sub",
    "Atomic subtraction",
    "one subtraction of its number by each thread",
    "CUDA C++ Programming Guide, atomicSub",
    "SUB",
    "atomicSub",
    &[Dtype::I32, Dtype::U32],
    Sum,
    Narrow,
    ["RED.ADD", "REDG.ADD"],
    ["ATOMG.ADD", "ATOM.ADD"],
    ["ATOMS.ADD"]
);
static MIN: Entry = atomic!(
    "gpu.atomic.min",
    "Atomic minimum",
    "one minimum with its number by each thread",
    "CUDA C++ Programming Guide, atomicMin",
    "MIN",
    "atomicMin",
    INTEGERS,
    Trial,
    Narrow,
    ["RED.MIN", "REDG.MIN"],
    ["ATOMG.MIN", "ATOM.MIN"],
    ["ATOMS.MIN"]
);
static MAX: Entry = atomic!(
    "gpu.atomic.max",
    "Atomic maximum",
    "one maximum with its number by each thread",
    "CUDA C++ Programming Guide, atomicMax; Burtchell and Burtscher, IISWC 2024, listing 1",
    "MAX",
    "atomicMax",
    INTEGERS,
    Trial,
    Narrow,
    ["RED.MAX", "REDG.MAX"],
    ["ATOMG.MAX", "ATOM.MAX"],
    ["ATOMS.MAX"]
);
static AND: Entry = atomic!(
    "gpu.atomic.and",
    "Atomic AND",
    "one AND with its number by each thread",
    "CUDA C++ Programming Guide, atomicAnd",
    "AND",
    "atomicAnd",
    INTEGERS,
    Trial,
    Narrow,
    ["RED.AND", "REDG.AND"],
    ["ATOMG.AND", "ATOM.AND"],
    ["ATOMS.AND"]
);
static OR: Entry = atomic!(
    "gpu.atomic.or",
    "Atomic OR",
    "one OR with its number by each thread",
    "CUDA C++ Programming Guide, atomicOr",
    "OR",
    "atomicOr",
    INTEGERS,
    Trial,
    Narrow,
    ["RED.OR", "REDG.OR"],
    ["ATOMG.OR", "ATOM.OR"],
    ["ATOMS.OR"]
);
static XOR: Entry = atomic!(
    "gpu.atomic.xor",
    "Atomic exclusive OR",
    "one exclusive OR with its number by each thread",
    "CUDA C++ Programming Guide, atomicXor",
    "XOR",
    "atomicXor",
    INTEGERS,
    Trial,
    Narrow,
    ["RED.XOR", "REDG.XOR"],
    ["ATOMG.XOR", "ATOM.XOR"],
    ["ATOMS.XOR"]
);
// No reduction exchanges or compares: without a use of the result these are the same instruction, but nobody waits for it.
static EXCHANGE: Entry = atomic!(
    "gpu.atomic.exchange",
    "Atomic exchange",
    "one exchange of the variable for its number by each thread",
    "CUDA C++ Programming Guide, atomicExch; Burtchell and Burtscher, IISWC 2024",
    "EXCHANGE",
    "atomicExch",
    &[Dtype::I32, Dtype::U32, Dtype::U64, Dtype::F32],
    Trial,
    Wide,
    ["ATOMG.EXCH", "ATOM.EXCH"],
    ["ATOMG.EXCH", "ATOM.EXCH"],
    ["ATOMS.EXCH"]
);
static CAS_PASS: Entry = atomic!(
    "gpu.atomic.cas_pass",
    "Atomic compare-and-swap that always finds what it expects",
    "one exchange of zero for zero by each thread",
    "CUDA C++ Programming Guide, atomicCAS; Burtchell and Burtscher, IISWC 2024",
    "CAS_PASS",
    "atomicCAS",
    INTEGERS,
    Trial,
    Wide,
    ["ATOMG.CAS", "ATOM.CAS"],
    ["ATOMG.CAS", "ATOM.CAS"],
    ["ATOMS.CAS"]
);
static CAS_FAIL: Entry = atomic!(
    "gpu.atomic.cas_fail",
    "Atomic compare-and-swap that never finds what it expects",
    "one comparison with one, where zero is, by each thread",
    "CUDA C++ Programming Guide, atomicCAS; Burtchell and Burtscher, IISWC 2024",
    "CAS_FAIL",
    "atomicCAS",
    INTEGERS,
    Trial,
    Wide,
    ["ATOMG.CAS", "ATOM.CAS"],
    ["ATOMG.CAS", "ATOM.CAS"],
    ["ATOMS.CAS"]
);

fn definitions(case: &Case, kind: &str, function: &str) -> Vec<String> {
    let suffix = match (case.space, case.scope) {
        (Some(Space::Global), Some(Scope::Block)) => "_block",
        (Some(Space::Global), Some(Scope::System)) => "_system",
        _ => "",
    };
    vec![
        value_of(case),
        format!("KIND={kind}"),
        format!("ATOMIC={function}{suffix}"),
        format!("IN_SHARED_MEMORY={}", u32::from(case.space == Some(Space::Shared))),
        format!("RESULT_USED={}", u32::from(case.mode == Some(Mode::Latency))),
    ]
}

fn pace(case: &Case) -> Pace {
    let is_one_for_all = case.layout == Some(Layout::Shared) && case.space == Some(Space::Global);
    if is_one_for_all && case.blocks > Some(1) {
        Pace::CROWD
    } else if case.mode == Some(Mode::Throughput) && case.threads >= Some(256) {
        Pace::MANY_WARPS
    } else if case.mode == Some(Mode::Latency) && case.space != Some(Space::Shared) {
        Pace::TOUR
    } else {
        Pace::USUAL
    }
}

fn private(strides: &[u32]) -> Vec<Layout> {
    strides.iter().map(|stride| Layout::Private { stride: *stride }).collect()
}

/// The papers' tests on their grids, then what they leave out on fewer: results that are used, other scopes, shared memory.
fn cases(id: &str, preset: Preset, grid: Grid, types: &[Dtype], breadth: Breadth) -> Vec<Case> {
    let quick = preset == Preset::Quick;
    let beside = if quick { Preset::Quick } else { Preset::Standard };
    let (types, wide) = (if quick { &types[..1] } else { types }, breadth == Breadth::Wide);
    let (shared, both) = ([Layout::Shared], [Layout::Shared, Layout::Private { stride: 1 }]);
    let on = |sweep: Sweep, scope, space, mode| {
        sweep.scopes(&[scope]).spaces(&[space]).orders(&[MemoryOrder::Relaxed]).modes(&[mode])
    };
    let in_device = |sweep, mode| on(sweep, Scope::Device, Space::Global, mode).cases();
    let strides_of = |preset| -> &[u32] {
        match (preset, breadth) {
            (_, Breadth::Narrow) => &[1],
            (Preset::Quick, _) => &[1, 32],
            (Preset::Standard, _) => &[1, 4, 32],
            (Preset::Paper, _) => &STRIDES,
        }
    };
    let strides = strides_of(preset);

    // Of unsigned numbers the papers have none of 32 bits, which are as signed ones to the hardware.
    let is_papers = |dtype: &&Dtype| preset != Preset::Paper || **dtype != Dtype::U32;
    let (papers, others): (Vec<&Dtype>, Vec<&Dtype>) = types.iter().partition(is_papers);
    let [papers, others] = [papers, others].map(|types| types.into_iter().copied().collect::<Vec<Dtype>>());
    let used = grid.coarse(id, beside).dtypes(types).layouts(if quick { &shared } else { &both });
    let mut cases = Vec::new();
    for (types, preset, strides) in
        [(&papers, preset, strides), (&others, Preset::Standard, strides_of(Preset::Standard))]
    {
        let on_one = if wide { grid.full(id, preset) } else { grid.coarse(id, beside) };
        let on_many = grid.coarse(id, if wide { preset } else { beside });
        cases.extend(in_device(on_one.dtypes(types).layouts(&shared), Mode::Throughput));
        cases.extend(in_device(on_many.dtypes(types).layouts(&private(strides)), Mode::Throughput));
    }
    cases.extend(in_device(used, Mode::Latency));
    if quick {
        return cases;
    }
    for scope in [Scope::Block, Scope::System] {
        let sweep = grid.coarse(id, beside).dtypes(&types[..1]).layouts(&both);
        // Operations of several blocks on one variable are beyond the scope of a block.
        let beyond =
            |case: &Case| scope == Scope::Block && case.layout == Some(Layout::Shared) && case.blocks != Some(1);
        cases.extend(on(sweep, scope, Space::Global, Mode::Throughput).except(beyond).cases());
    }
    for mode in [Mode::Throughput, Mode::Latency] {
        let layouts = [&shared[..], &private(if wide { &[1, 32] } else { &[1] })].concat();
        let sweep = grid.coarse(id, beside).dtypes(types).layouts(&layouts);
        cases.extend(on(sweep, Scope::Block, Space::Shared, mode).except(is_too_large).cases());
    }
    cases
}

/// Whether the variables do not fit into the kernel's shared memory.
fn is_too_large(case: &Case) -> bool {
    let stride = case.layout.and_then(Layout::stride).unwrap_or(0) as usize;
    let threads = case.threads.unwrap_or(1) as usize;
    threads * stride * case.dtype.map_or(4, Dtype::size_bytes) > SHARED_BYTES
}

pub(crate) static ENTRIES: [&Entry; 10] = [&ADD, &SUB, &MIN, &MAX, &AND, &OR, &XOR, &EXCHANGE, &CAS_PASS, &CAS_FAIL];
