//! Atomic operations on global and shared memory.

use super::prelude::*;

/// The L2 cache executes the operations, so no line moves: private elements are never contended.
const FACTS: Facts = Facts {
    orders_memory: false,
    mode: Mode::Throughput,
    actor: ActorRule::MedianUnlessWithin(0),
    run_effect,
    ..Facts::of(Role::Update)
};

/// Costs differ by where the variables lie and, for one variable shared by many blocks, by the order of the blocks.
fn run_effect(case: &Case) -> RunEffect {
    let is_one = case.layout == Some(Layout::Shared) && case.space != Some(Space::Shared);
    RunEffect::of_both(if is_one && case.blocks > Some(1) { 0.004 } else { 0.002 })
}

/// Shared memory that the kernel has for its variables: `SHARED_BYTES` in `atomic.cu`.
const SHARED_BYTES: usize = 32 * 1024;

/// What compilers add when they aggregate the operations of a warp on one address: a scan if the result is used, a sum or the
/// like if it is not, a count of the threads if the operand is one constant.
const AGGREGATION: &[&str] = &["SHFL.UP", "SHFL.BFLY", "REDUX", "CREDUX", "POPC", "UPOPC"];

/// Adding one to a variable in shared memory counts the threads in the memory itself; on Turing, before it.
const COUNTED: &[&str] = &["ATOMS.POPC.INC", "ATOMS.ADD"];

const INTEGERS: &[Dtype] = &[Dtype::I32, Dtype::U32, Dtype::U64];

/// Compare-and-swap loops, used where shared memory has no instruction for the operation: for floating point, and for 64 bits
/// except exchange and compare-and-swap.
const LOOP: &[&str] = &["ATOMS.CAST", "ATOMS.CAS"];

/// In theory: the L2 cache executes atomics on global memory. If the result is not used, no thread waits, and the cost is the
/// throughput; for a shared variable, the throughput of one cache slice. Integers of a warp are summed first: if the compiler
/// sees one address, one lane operates for all; if not, the hardware sums the lanes. For private elements the cost depends on
/// the number of 32-byte sectors that a warp accesses. If the result is used, the cost is the round trip to the L2 cache, plus
/// a scan of the warp where the compiler sums. Atomics on shared memory are executed in the multiprocessor, lane by lane if the
/// lanes use one variable or one bank.
///
/// A row of the table states what differs. If no instruction without a result exists, the one with a result is used, and no
/// thread waits for it.
macro_rules! atomics {
    ($(
        $id:literal: $summary:literal, operation: $what:literal, function: $function:ident $($paper:literal)?,
        types: $types:expr, combines: $combines:ident, instruction: $name:literal
        $(, each_changes_it: $changes:literal)?;
    )+) => {
        pub(crate) static ENTRIES: &[&Entry] = &[$(&Entry {
            id: $id,
            summary: $summary,
            operation: concat!("every thread ", $what),
            source: concat!("CUDA C++ Programming Guide, ", stringify!($function) $(, "; ", $paper)?),
            definitions: |case| definitions(case, stringify!($function)),
            expected: |case| {
                let global = &[concat!("ATOMG.", $name), concat!("ATOM.", $name)];
                let reduction = &[concat!("RED.", $name), concat!("REDG.", $name)];
                let without_result = if Combines::$combines.reduces() { reduction } else { global };
                expected(case, without_result, global, &[concat!("ATOMS.", $name)])
            },
            sampling: |case| sampling(case, Combines::$combines.reduces()),
            unroll: |case| unroll(case, Combines::$combines.reduces()),
            each_changes_it: false $(|| $changes)?,
            plan: PLAN,
            types: $types,
            limit: |case, _| is_impossible(case).then_some(
                "its variables do not fit into the kernel's shared memory, or block scope does not cover its blocks",
            ),
            ..Entry::of(Kernel::of("atomic.cu", ArgumentKind::Variable), Combines::$combines.proof(), FACTS)
        },)+];
    };
}

pub(super) fn expected(
    case: &Case,
    reduction: &'static [&'static str],
    global: &'static [&'static str],
    shared: &'static [&'static str],
) -> ExpectedInstructions {
    let expected = match (case.space, case.mode) {
        (Some(Space::Shared), _) if case.form == Some(Form::Constant) => {
            ExpectedInstructions::of(COUNTED).or_substitutes(LOOP)
        }
        (Some(Space::Shared), _) => ExpectedInstructions::of(shared).or_substitutes(LOOP),
        (_, Some(Mode::Latency)) => ExpectedInstructions::of(global),
        _ if !is_reduction(case) => ExpectedInstructions::of(global),
        _ => ExpectedInstructions::of(reduction),
    };
    ExpectedInstructions { aggregation: if has_one_address(case) { AGGREGATION } else { &[] }, ..expected }
}

/// What a compiler may combine before one thread of a warp does the operation for all.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Combines {
    /// Sums of the values, including partial sums.
    Sums,
    /// Only the values.
    Values,
    /// Nothing.
    Nothing,
    /// Nothing; the operation has two operands.
    Pairs,
}

impl Combines {
    /// Whether an instruction without a result exists.
    const fn reduces(self) -> bool {
        matches!(self, Self::Sums | Self::Values)
    }

    const fn proof(self) -> Proof {
        if matches!(self, Self::Sums) { Proof::Sum } else { Proof::Trial }
    }
}

atomics! {
    "gpu.atomic.add": "Atomic addition", operation: "adds a per-thread value to the variable",
    function: atomicAdd "Burtchell and Burtscher, IISWC 2024",
    types: &[Dtype::I32, Dtype::U32, Dtype::U64, Dtype::F32, Dtype::F64], combines: Sums,
    instruction: "ADD";

    // Compiled to an addition of the negative number.
    "gpu.atomic.sub": "Atomic subtraction", operation: "subtracts a per-thread value from the variable",
    function: atomicSub, types: &[Dtype::I32, Dtype::U32], combines: Sums, instruction: "ADD";

    "gpu.atomic.min": "Atomic minimum", operation: "sets the variable to the minimum of its old value and a per-thread value",
    function: atomicMin, types: INTEGERS, combines: Values, instruction: "MIN";

    "gpu.atomic.max": "Atomic maximum", operation: "sets the variable to the maximum of its old value and a per-thread value",
    function: atomicMax "Burtchell and Burtscher, IISWC 2024, listing 1",
    types: INTEGERS, combines: Values, instruction: "MAX";

    "gpu.atomic.and": "Atomic AND", operation: "ANDs a per-thread value into the variable",
    function: atomicAnd, types: INTEGERS, combines: Values, instruction: "AND";

    "gpu.atomic.or": "Atomic OR", operation: "ORs a per-thread value into the variable",
    function: atomicOr, types: INTEGERS, combines: Values, instruction: "OR";

    "gpu.atomic.xor": "Atomic exclusive OR", operation: "XORs a per-thread value into the variable",
    function: atomicXor, types: INTEGERS, combines: Values, instruction: "XOR";

    "gpu.atomic.exchange": "Atomic exchange", operation: "swaps a per-thread value into the variable",
    function: atomicExch "Burtchell and Burtscher, IISWC 2024",
    types: &[Dtype::I32, Dtype::U32, Dtype::U64, Dtype::F32], combines: Nothing, instruction: "EXCH",
    each_changes_it: true;

    "gpu.atomic.cas_pass": "Atomic compare-and-swap that always succeeds",
    operation: "performs a compare-and-swap from zero to zero, which succeeds",
    function: atomicCAS "Burtchell and Burtscher, IISWC 2024",
    types: INTEGERS, combines: Pairs, instruction: "CAS",
    each_changes_it: true;

    "gpu.atomic.cas_fail": "Atomic compare-and-swap that always fails",
    operation: "expects 1 but finds 0, so nothing is written",
    function: atomicCAS "Burtchell and Burtscher, IISWC 2024",
    types: INTEGERS, combines: Pairs, instruction: "CAS";
}

/// Whether the source shows that all threads use one variable.
fn has_one_address(case: &Case) -> bool {
    case.group_number(BINS).is_none()
        && !matches!(case.layout, Some(Layout::Private { .. }))
        && case.form != Some(Form::NotAggregated)
}

/// The group: this many variables that the threads use in turn, like the bins of a histogram.
const BINS: &str = "bins #";

/// The macros for an order or a scope that no CUDA function has: the PTX instruction, or the library's call.
fn in_order(case: &Case) -> Option<Vec<String>> {
    let order = case.order.unwrap_or(MemoryOrder::Relaxed);
    let is_of_library = case.form == Some(Form::Library);
    if order == MemoryOrder::Relaxed && case.scope != Some(Scope::Cluster) && !is_of_library {
        return None;
    }
    let (text, library) = match case.scope {
        Some(Scope::Block) => ("cta", "block"),
        // Devices without clusters are rejected elsewhere.
        Some(Scope::Cluster) => ("SCOPE_OF_CLUSTER", "device"),
        Some(Scope::System) => ("sys", "system"),
        _ => ("gpu", "device"),
    };
    if is_of_library {
        let macros = ["ATOMIC=referred".to_owned(), "SYNCSCOPE_REFERRED=1".to_owned()];
        let of_case =
            [format!("SYNCSCOPE_SCOPE=thread_scope_{library}"), format!("SYNCSCOPE_ORDER=memory_order_{order}")];
        return Some([macros, of_case].concat());
    }
    let is_fenced = order == MemoryOrder::SeqCst;
    let named = if is_fenced { MemoryOrder::Acquire } else { order };
    let mut macros =
        vec!["ATOMIC=ordered".to_owned(), format!("SYNCSCOPE_ORDER={named}"), format!("SYNCSCOPE_SCOPE={text}")];
    macros.extend(is_fenced.then(|| "SYNCSCOPE_FENCED=1".to_owned()));
    macros.extend(is_reduction(case).then(|| "SYNCSCOPE_REDUCES=1".to_owned()));
    Some(macros)
}

/// Whether an addition in this order may be an instruction without a result.
fn is_reduction(case: &Case) -> bool {
    let returns = matches!(case.order, Some(MemoryOrder::Acquire | MemoryOrder::AcqRel | MemoryOrder::SeqCst));
    !returns && case.form != Some(Form::Library)
}

/// The type of the same width that gives the same program: an integer's sign matters only for minima and maxima.
fn signed(case: &Case, dtype: Dtype) -> Dtype {
    let compares = ["min", "max"].contains(&name_of(case));
    if dtype == Dtype::U32 && !compares { Dtype::I32 } else { dtype }
}

pub(super) fn definitions(case: &Case, function: &str) -> Vec<String> {
    let suffix = match (case.space, case.scope) {
        (Some(Space::Global), Some(Scope::Block)) => "_block",
        (Some(Space::Global), Some(Scope::System)) => "_system",
        _ => "",
    };
    let operand = match case.form {
        Some(Form::Varying) => "VARYING",
        Some(Form::Constant) => "CONSTANT",
        Some(Form::Opaque) => "REGISTERS",
        _ => "OF_THREAD",
    };
    let mut definitions = vec![
        value_of(&Case { dtype: case.dtype.map(|dtype| signed(case, dtype)), ..case.clone() }),
        kind_of(case),
        format!("IN_SHARED_MEMORY={}", u32::from(case.space == Some(Space::Shared))),
        format!("RESULT_USED={}", u32::from(case.mode == Some(Mode::Latency))),
        format!("ONE_ADDRESS={}", u32::from(has_one_address(case))),
        format!("OPERAND={operand}"),
    ];
    definitions.extend(in_order(case).unwrap_or_else(|| vec![format!("ATOMIC={function}{suffix}")]));
    definitions.extend(case.group_number(BINS).map(|bins| format!("BINS={bins}")));
    // Compilers reload 64-bit constants for each operation, into registers that the previous operation must have read. With 32
    // registers per thread there are two pairs for them, with 64 five, as in a program without bounds. One variable for all
    // takes far longer.
    let is_wide = function == "atomicCAS" && case.dtype == Some(Dtype::U64);
    let waits_for_none = case.layout != Some(Layout::Shared) && case.mode == Some(Mode::Throughput);
    if is_wide && waits_for_none && case.threads.is_some_and(|threads| threads <= 512) {
        definitions.push("SYNCSCOPE_MOST_THREADS=512".to_owned());
    }
    definitions
}

/// This many threads keep the L2 cache busy, whatever one of them waits for.
const MANY_THREADS: u32 = 4096;

/// This many threads share multiprocessors in an order that settles slowly.
const SEVERAL_TURNS: u32 = 65_536;

/// This many threads, of a multiprocessor or of all on one variable, saturate what serves them.
const ENOUGH_THREADS: u32 = 128;

/// At the end of an iteration, compilers wait for the results of its operations, even unused ones. After 32 exchanges in one
/// iteration, 32 more took 6 or 12 cycles each, depending on the address, and the next 32 took 6 (H100). From 4,096 threads on,
/// threads wait for each other, and half as many operations are enough: of 261 costs, 212 were resolved with 8, a third of them
/// at least 5 % lower than with 64, and 260 with 64, within 3.4 % of those in windows four times as long.
const UNROLL_WITH_RESULTS: u32 = 128;

/// In an iteration of 32 operations, threads that keep a multiprocessor's shared memory busy hide up to 27 cycles of what
/// surrounds the operations; the shorter baseline loop does not, so 16 warps seemed to take 15.44 cycles instead of 16 (H100).
const UNROLL_OF_BUSY_SHARED_MEMORY: u32 = 256;

/// Whether enough threads of a multiprocessor each do one instruction on its shared memory that nothing else limits them.
fn keeps_shared_memory_busy(case: &Case, reduces: bool) -> bool {
    let is_one_instruction = !reduces || matches!(case.dtype, Some(Dtype::I32 | Dtype::U32));
    case.space == Some(Space::Shared) && case.threads >= Some(ENOUGH_THREADS) && is_one_instruction
}

/// The threads of a case that may wait for the same multiprocessor or variable, and all threads.
fn threads(case: &Case) -> (u32, u32) {
    let (blocks, threads) = shape_of(case);
    (if case.layout == Some(Layout::Shared) { blocks * threads } else { threads }, blocks * threads)
}

/// Whether so few threads of a multiprocessor operate on global memory and get a result that the time depends on the latency
/// and the source of an answer. Reductions queue instead, for longer than a short window.
fn waits_for_answers(case: &Case, reduces: bool) -> bool {
    has_answers(case, reduces) && threads(case).0 <= ENOUGH_THREADS && threads(case).1 < SEVERAL_TURNS
}

/// Whether operations on global memory get a result.
fn has_answers(case: &Case, reduces: bool) -> bool {
    !reduces && case.space != Some(Space::Shared)
}

/// A window holds tens of iterations: few operations per iteration if one takes long, and a single one if it waits for so many
/// threads that it may take 30 us or more. If an operation takes a few cycles, too few of them would show the loop's branch.
fn unroll(case: &Case, reduces: bool) -> u32 {
    // Operations that wait for a fence or for their turn take long enough.
    if in_order(case).is_some() || case.group_number(BINS).is_some() {
        return 8;
    }
    let all = if case.space == Some(Space::Shared) { case.threads.unwrap_or(1) } else { threads(case).1 };
    match case.layout {
        Some(Layout::Shared) if all >= 16_384 => 1,
        _ if case.mode == Some(Mode::Latency) => 8,
        _ if keeps_shared_memory_busy(case, reduces) => UNROLL_OF_BUSY_SHARED_MEMORY,
        _ if waits_for_answers(case, reduces) => UNROLL_WITH_RESULTS / if all < MANY_THREADS { 1 } else { 2 },
        // With 8, the wait at the end hid 23 % of the cost of neighbouring elements for 132 blocks of 128 threads (H100). In
        // blocks of 256 and 512 threads, 108 of 111 costs with 32 are within 3 % of those with 64, and 87 of 107 with 8.
        Some(Layout::Private { .. }) if has_answers(case, reduces) && all < SEVERAL_TURNS => UNROLL,
        _ if all >= MANY_THREADS => 8,
        _ => UNROLL,
    }
}

fn sampling(case: &Case, reduces: bool) -> SamplingPolicy {
    if case.layout != Some(Layout::Shared) && threads(case).1 >= SEVERAL_TURNS {
        SamplingPolicy::MANY_THREADS
    } else if in_order(case).is_some()
        || waits_for_answers(case, reduces)
        || case.mode == Some(Mode::Latency) && case.space != Some(Space::Shared)
    {
        SamplingPolicy::SEVERAL_OFFSETS
    } else {
        SamplingPolicy::USUAL
    }
}

const I32: &[Dtype] = &[Dtype::I32];
const U32: &[Dtype] = &[Dtype::U32];
const F32: &[Dtype] = &[Dtype::F32];
const TYPES: &[Dtype] = &[Dtype::I32, Dtype::U32, Dtype::U64, Dtype::F32, Dtype::F64];
/// The papers have no unsigned 32-bit integers; to the hardware they equal signed ones.
const PAPERS: &[Dtype] = &[Dtype::I32, Dtype::U64, Dtype::F32, Dtype::F64];

const ONE: &[Layout] = &[Layout::Shared];
const BOTH: &[Layout] = &[Layout::Shared, private(1)];
const OWN: &[Layout] = &[private(1)];
const SOME: &[Layout] = &[private(1), private(4), private(32)];

/// Where the variables are, and the scope in which an operation is atomic.
type Place = (&'static [Scope], &'static [Space]);
const DEVICE: Place = (&[Scope::Device], &[Space::Global]);
const BLOCK: Place = (&[Scope::Block], &[Space::Global]);
const SYSTEM: Place = (&[Scope::System], &[Space::Global]);
const SHARED: Place = (&[Scope::Block], &[Space::Shared]);

const RATE: &[Mode] = &[Mode::Throughput];
const LATENCY: &[Mode] = &[Mode::Latency];

/// The operations that the papers test have all grids and strides; the others enough to show whether they differ.
const ADD: &[&str] = &["add"];
const SWAPS: &[&str] = &["exchange", "cas_pass", "cas_fail"];
const CAS: &[&str] = &["cas_pass", "cas_fail"];
const TESTED: &[&str] = &["add", "exchange", "cas_pass", "cas_fail"];
const OTHERS: &[&str] = &["sub", "min", "max", "and", "or", "xor"];
/// Compilers aggregate 32-bit integers: operations that combine values if the result is not used, only sums if it is.
const SUMS: &[&str] = &["add", "sub"];
const VALUES: &[&str] = &["min", "max", "and", "or", "xor"];
/// The operations measured in each order and scope, on private elements only: a shared variable would add a queue.
const ORDERED: &[&str] = &["add", "exchange", "cas_pass"];
const ORDERS: &[MemoryOrder] = &[MemoryOrder::Acquire, MemoryOrder::Release, MemoryOrder::AcqRel, MemoryOrder::SeqCst];
const OF_LIBRARY: &[MemoryOrder] = &[MemoryOrder::Relaxed, MemoryOrder::AcqRel, MemoryOrder::SeqCst];
const SCOPES: Place = (&[Scope::Block, Scope::Cluster, Scope::System], &[Space::Global]);
const CLUSTER: Place = (&[Scope::Cluster], &[Space::Global]);
const I32_F32: &[Dtype] = &[Dtype::I32, Dtype::F32];
/// A histogram: few bins, as in a user's question, and one bin for each value of a byte.
const OF_BINS: &[(&str, &[u32])] = &[(BINS, &[18, 256])];
const NOT_ALIKE: &[Form] = &[Form::Varying, Form::NotAggregated];
const OF_SUMS: &[Form] = &[Form::Varying, Form::Constant, Form::NotAggregated];

const fn row(
    presets: &'static [Preset],
    only: &'static [&'static str],
    grids: Grids,
    types: &'static [Dtype],
    variables: &'static [Layout],
    (scopes, spaces): Place,
    modes: &'static [Mode],
) -> PlanRow {
    let row = on(presets, grids).only(only).dtypes(types).layouts(variables).scopes(scopes).spaces(spaces);
    row.orders(&[MemoryOrder::Relaxed]).modes(modes).except(|case, _| is_impossible(case))
}

/// The papers' tests on the papers' grids, and on fewer grids what the papers do not test: results that are used, other scopes,
/// shared memory. Quick plans have a little of everything: one variable for each operation, and more for those that differ;
/// they compare types by additions alone, the operation that programs count and sum with.
#[rustfmt::skip]
const PLAN: &[PlanRow] = &[
    row(QUICK,        ADD,    Grids::Full,             PAPERS, ONE,      DEVICE, RATE),
    row(QUICK,        SWAPS,  Grids::Full,             I32,    ONE,      DEVICE, RATE),
    row(QUICK,        OTHERS, Grids::Coarse,           I32,    ONE,      DEVICE, RATE),
    row(QUICK,        ADD,    Grids::Full,             PAPERS, OWN,      DEVICE, RATE),
    row(QUICK,        SWAPS,  Grids::Coarse,           I32,    OWN,      DEVICE, RATE),
    row(QUICK,        ADD,    Grids::Coarse,           I32,    &[private(32)], DEVICE, RATE),
    row(QUICK,        TESTED, Grids::Coarse,           I32,    ONE,      DEVICE, LATENCY),
    row(QUICK,        ADD,    Grids::Few,              I32,    ONE,      DEVICE, RATE).forms(NOT_ALIKE),
    row(STANDARD,     TESTED, Grids::Full,             PAPERS, ONE,      DEVICE, RATE),
    row(STANDARD,     TESTED, Grids::Coarse,           PAPERS, SOME,     DEVICE, RATE),
    row(STANDARD,     OTHERS, Grids::Coarse,           TYPES,  ONE,      DEVICE, RATE),
    row(STANDARD,     OTHERS, Grids::Coarse,           TYPES,  OWN,      DEVICE, RATE),
    row(PAPER,        TESTED, Grids::Full,             PAPERS, ONE,      DEVICE, RATE),
    row(PAPER,        TESTED, Grids::Coarse,           PAPERS, AT_STRIDES, DEVICE, RATE),
    row(PAPER,        TESTED, Grids::OfPapers,         U32,    ONE,      DEVICE, RATE),
    row(PAPER,        TESTED, Grids::CoarseOfStandard, U32,    SOME,     DEVICE, RATE),
    row(PAPER,        OTHERS, Grids::CoarseOfStandard, PAPERS, ONE,      DEVICE, RATE),
    row(PAPER,        OTHERS, Grids::CoarseOfStandard, PAPERS, OWN,      DEVICE, RATE),
    row(PAPER,        OTHERS, Grids::CoarseOfStandard, U32,    ONE,      DEVICE, RATE),
    row(PAPER,        OTHERS, Grids::CoarseOfStandard, U32,    OWN,      DEVICE, RATE),
    row(BEYOND_QUICK, ORDERED, Grids::Few,             I32,    OWN,      DEVICE, RATE).orders(ORDERS),
    row(BEYOND_QUICK, ORDERED, Grids::Blocks(&[1]),    I32,    OWN,      SCOPES, RATE).orders(ORDERS),
    row(BEYOND_QUICK, ORDERED, Grids::Blocks(&[1]),    I32,    OWN,      CLUSTER, RATE),
    row(BEYOND_QUICK, ADD,    Grids::Few,              I32_F32, OWN,     DEVICE, RATE).orders(OF_LIBRARY).forms(&[Form::Library]),
    row(BEYOND_QUICK, ADD,    Grids::Few,              F32,    OWN,      DEVICE, RATE).orders(&[MemoryOrder::AcqRel, MemoryOrder::SeqCst]),
    row(BEYOND_QUICK, ADD,    Grids::Blocks(&[1]),     I32,    OWN,      SYSTEM, RATE).orders(&[MemoryOrder::SeqCst]).forms(&[Form::Library]),
    row(BEYOND_QUICK, ADD,    Grids::Few,              I32_F32, &[],     DEVICE, RATE).groups(OF_BINS),
    row(BEYOND_QUICK, ADD,    Grids::Few,              I32_F32, &[],     SHARED, RATE).groups(OF_BINS),
    row(BEYOND_QUICK, &[],    Grids::CoarseOfStandard, TYPES,  BOTH,     DEVICE, LATENCY),
    row(BEYOND_QUICK, &[],    Grids::CoarseOfStandard, I32,    BOTH,     BLOCK,  RATE),
    row(BEYOND_QUICK, &[],    Grids::CoarseOfStandard, I32,    BOTH,     SYSTEM, RATE),
    // Compilers reload two 64-bit constants for each operation.
    row(BEYOND_QUICK, CAS,    Grids::Few,              &[Dtype::U64], BOTH, DEVICE, RATE).forms(&[Form::Opaque]),
    row(BEYOND_QUICK, CAS,    Grids::Few,              &[Dtype::U64], BOTH, SHARED, RATE).forms(&[Form::Opaque]),
    row(BEYOND_QUICK, TESTED, Grids::CoarseOfStandard, TYPES,  &[Layout::Shared, private(1), private(32)], SHARED, RATE),
    row(BEYOND_QUICK, OTHERS, Grids::CoarseOfStandard, TYPES,  BOTH,     SHARED, RATE),
    row(BEYOND_QUICK, SUMS,   Grids::Few,              I32,    ONE,      SHARED, RATE).forms(OF_SUMS),
    row(BEYOND_QUICK, VALUES, Grids::Few,              I32,    ONE,      SHARED, RATE).forms(NOT_ALIKE),
    row(BEYOND_QUICK, SUMS,   Grids::Few,              I32,    ONE,      DEVICE, RATE).forms(OF_SUMS),
    row(BEYOND_QUICK, VALUES, Grids::Few,              I32,    ONE,      DEVICE, RATE).forms(NOT_ALIKE),
    row(BEYOND_QUICK, TESTED, Grids::CoarseOfStandard, TYPES,  &[Layout::Shared, private(1), private(32)], SHARED, LATENCY),
    row(BEYOND_QUICK, OTHERS, Grids::CoarseOfStandard, TYPES,  BOTH,     SHARED, LATENCY),
    row(BEYOND_QUICK, SUMS,   Grids::Few,              I32,    ONE,      SHARED, LATENCY).forms(&[Form::NotAggregated]),
    row(BEYOND_QUICK, SUMS,   Grids::Few,              I32,    ONE,      DEVICE, LATENCY).forms(&[Form::NotAggregated]),
];

/// Block scope does not cover operations of several blocks on one variable, and some variables do not fit into the kernel's
/// shared memory.
fn is_impossible(case: &Case) -> bool {
    if case.space == Some(Space::Shared) {
        let bytes = case.bytes_apart().unwrap_or(0) * case.threads.unwrap_or(1) as usize;
        return bytes > SHARED_BYTES;
    }
    case.blocks != Some(1) && case.layout == Some(Layout::Shared) && case.scope == Some(Scope::Block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_has_as_much_shared_memory() {
        let of_kernel = crate::launch::headers::constant_of("atomic.cu", "SHARED_BYTES");
        assert_eq!(of_kernel, format!("IN_SHARED_MEMORY ? {} * 1024 : 8", SHARED_BYTES / 1024));
    }
}
