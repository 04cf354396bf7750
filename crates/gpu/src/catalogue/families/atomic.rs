//! Atomic operations on global and shared memory.

use syncscope_core::sweep::Sweep;
use syncscope_core::{
    ActorRule, Case, Dtype, Facts, Form, Layout, MemoryOrder, Mode, Preset, Primitive, Role, RunEffect, Scope, Space,
};

use crate::catalogue::definitions::{kernel, value_of};
use crate::catalogue::entry::{Entry, Kernel, Proof};
use crate::catalogue::instructions::ExpectedInstructions;
use crate::catalogue::limits::{DeviceLimits, STRIDES};
use crate::catalogue::sampling::{SamplingPolicy, Saturates};

const KERNEL: Kernel = kernel!("atomic.cu", Variable);

/// The second-level cache executes the operations, so that no line moves: elements of their own are never contended for.
const FACTS: Facts = Facts {
    orders_memory: false,
    mode: Mode::Throughput,
    actor: ActorRule::MedianUnlessWithin(0),
    run_effect,
    ..Facts::of(Role::Update)
};

/// By where the variables lie; on one variable of many blocks, by the order of the blocks too.
fn run_effect(case: &Case) -> RunEffect {
    let is_one = case.layout == Some(Layout::Shared) && case.space != Some(Space::Shared);
    RunEffect::of_both(if is_one && case.blocks > Some(1) { 0.004 } else { 0.002 })
}

/// Shared memory of the kernel for its variables. `SHARED_BYTES` in `atomic.cu`.
const SHARED_BYTES: usize = 32 * 1024;

/// What compilers add when they aggregate the operations of a warp on one address: a scan where the result is used, a sum
/// or the like where it is not, a count of the threads where the operand is one constant.
pub(super) const AGGREGATION: &[&str] = &["SHFL.UP", "SHFL.BFLY", "REDUX", "CREDUX", "POPC", "UPOPC"];

/// The addition of one to a variable in shared memory counts the threads in the memory itself; on Turing before it.
const COUNTED: &[&str] = &["ATOMS.POPC.INC", "ATOMS.ADD"];

const INTEGERS: &[Dtype] = &[Dtype::I32, Dtype::U32, Dtype::U64];

/// Compare-and-swap loops, used where shared memory has no instruction for the operation: for floating point, and for 64
/// bits except exchange and compare-and-swap.
const LOOP: &[&str] = &["ATOMS.CAST", "ATOMS.CAS"];

/// In theory: the second-level cache executes atomics on global memory. If the result is not used, no thread waits, and the
/// cost is the throughput. For a shared variable that is the throughput of one cache slice. Integers of a warp are added up
/// before: if the compiler sees one address, it leaves one lane that operates for all; if not, the hardware adds up the
/// lanes. For private elements it depends on the number of 32-byte sectors that a warp accesses. If the result is used, the
/// cost is the round trip to that cache, and where the compiler adds up, a scan of the warp. Atomics on shared memory are
/// executed in the multiprocessor, lane by lane if the lanes use one variable or one bank.
///
/// The parameters of the macro are what differs: id, summary, operation, source, kind in the kernel, CUDA function, types,
/// proof, how many parameters a standard plan covers, what compilers combine, and the names of the instruction: on global
/// memory without and with a use of the result, and on shared memory.
macro_rules! atomic {
    (
        $id:literal, $summary:literal, $operation:literal, $source:literal, $kind:literal, $function:literal,
        $types:expr, $proof:ident, $breadth:ident, $combines:ident, [$($reduction:literal),+], [$($global:literal),+], [$shared:literal]
    ) => {
        Entry {
            primitive: Primitive { id: $id, summary: $summary, operation: $operation, source: $source, facts: FACTS },
            definitions: |case| definitions(case, $kind, $function),
            expected: |case| expected(case, &[$($reduction),+], &[$($global),+], &[$shared]),
            sampling,
            // A thread that needs each result for the next operation fills no queue.
            saturates: |case| if case.mode == Some(Mode::Latency) { Saturates::Nothing } else { Saturates::Multiprocessors },
            cases: |id, preset, limits| cases(id, preset, *limits, $types, (Breadth::$breadth, Combines::$combines)),
            ..Entry::of(KERNEL, Proof::$proof)
        }
    };
}

fn expected(
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
        _ => ExpectedInstructions::of(reduction),
    };
    if has_one_address(case) { expected.or_aggregated(AGGREGATION) } else { expected }
}

/// How many parameters a standard plan covers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Breadth {
    /// All grids, all strides.
    Wide,
    /// Enough to see whether the operation differs from the others.
    Narrow,
}

/// What a compiler may combine before one thread of a warp does the operation for all.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Combines {
    /// Sums of the values, also partial ones.
    Sums,
    /// The values alone.
    Values,
    /// Nothing.
    Nothing,
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
    Sums,
    ["RED.ADD", "REDG.ADD"],
    ["ATOMG.ADD", "ATOM.ADD"],
    ["ATOMS.ADD"]
);
// Compiled to an addition of the negative number.
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
    Sums,
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
    Values,
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
    Values,
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
    Values,
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
    Values,
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
    Values,
    ["RED.XOR", "REDG.XOR"],
    ["ATOMG.XOR", "ATOM.XOR"],
    ["ATOMS.XOR"]
);
// There is no reduction that exchanges or compares. If the result is not used the instruction is the same, and no thread
// waits for it.
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
    Nothing,
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
    Nothing,
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
    Nothing,
    ["ATOMG.CAS", "ATOM.CAS"],
    ["ATOMG.CAS", "ATOM.CAS"],
    ["ATOMS.CAS"]
);

/// Whether the source shows that all threads use one variable.
fn has_one_address(case: &Case) -> bool {
    case.layout == Some(Layout::Shared) && case.form != Some(Form::NotAggregated)
}

fn definitions(case: &Case, kind: &str, function: &str) -> Vec<String> {
    let suffix = match (case.space, case.scope) {
        (Some(Space::Global), Some(Scope::Block)) => "_block",
        (Some(Space::Global), Some(Scope::System)) => "_system",
        _ => "",
    };
    let operand = match case.form {
        Some(Form::Varying) => "VARYING",
        Some(Form::Constant) => "CONSTANT",
        _ => "OF_THREAD",
    };
    vec![
        value_of(case),
        format!("KIND={kind}"),
        format!("ATOMIC={function}{suffix}"),
        format!("IN_SHARED_MEMORY={}", u32::from(case.space == Some(Space::Shared))),
        format!("RESULT_USED={}", u32::from(case.mode == Some(Mode::Latency))),
        format!("ONE_ADDRESS={}", u32::from(has_one_address(case))),
        format!("OPERAND={operand}"),
    ]
}

fn sampling(case: &Case) -> SamplingPolicy {
    let is_one_for_all = case.layout == Some(Layout::Shared) && case.space == Some(Space::Global);
    if is_one_for_all && case.blocks > Some(1) {
        SamplingPolicy::CONTENDED
    } else if case.mode == Some(Mode::Throughput) && case.threads >= Some(256) {
        SamplingPolicy::MANY_WARPS
    } else if case.mode == Some(Mode::Latency) && case.space != Some(Space::Shared) {
        SamplingPolicy::SEVERAL_OFFSETS
    } else {
        SamplingPolicy::USUAL
    }
}

fn private(strides: &[u32]) -> Vec<Layout> {
    strides.iter().map(|stride| Layout::Private { stride: *stride }).collect()
}

/// The papers' tests on the papers' grids; on fewer grids what the papers do not test: results that are used, other scopes,
/// shared memory.
fn cases(
    id: &str,
    preset: Preset,
    limits: DeviceLimits,
    types: &[Dtype],
    (breadth, combines): (Breadth, Combines),
) -> Vec<Case> {
    let quick = preset == Preset::Quick;
    let other_preset = if quick { Preset::Quick } else { Preset::Standard };
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

    // The papers have no unsigned numbers of 32 bits; to the hardware they are the same as signed ones.
    let is_papers = |dtype: &&Dtype| preset != Preset::Paper || **dtype != Dtype::U32;
    let (papers, others): (Vec<&Dtype>, Vec<&Dtype>) = types.iter().partition(is_papers);
    let [papers, others] = [papers, others].map(|types| types.into_iter().copied().collect::<Vec<Dtype>>());
    let used = limits.coarse(id, other_preset).dtypes(types).layouts(if quick { &shared } else { &both });
    let mut cases = Vec::new();
    for (types, preset, strides) in
        [(&papers, preset, strides), (&others, Preset::Standard, strides_of(Preset::Standard))]
    {
        let on_one = if wide { limits.full(id, preset) } else { limits.coarse(id, other_preset) };
        let on_many = limits.coarse(id, if wide { preset } else { other_preset });
        cases.extend(in_device(on_one.dtypes(types).layouts(&shared), Mode::Throughput));
        cases.extend(in_device(on_many.dtypes(types).layouts(&private(strides)), Mode::Throughput));
    }
    cases.extend(in_device(used, Mode::Latency));
    let forms = |mode| forms(id, preset, limits, combines, mode);
    if quick {
        if wide {
            cases.extend(in_device(forms(Mode::Throughput), Mode::Throughput));
        }
        return cases;
    }
    for scope in [Scope::Block, Scope::System] {
        let sweep = limits.coarse(id, other_preset).dtypes(&types[..1]).layouts(&both);
        // Block scope does not cover operations of several blocks on one variable.
        let beyond =
            |case: &Case| scope == Scope::Block && case.layout == Some(Layout::Shared) && case.blocks != Some(1);
        cases.extend(on(sweep, scope, Space::Global, Mode::Throughput).except(beyond).cases());
    }
    for mode in [Mode::Throughput, Mode::Latency] {
        let layouts = [&shared[..], &private(if wide { &[1, 32] } else { &[1] })].concat();
        let sweep = limits.coarse(id, other_preset).dtypes(types).layouts(&layouts);
        cases.extend(on(sweep, Scope::Block, Space::Shared, mode).except(is_too_large).cases());
        cases.extend(on(forms(mode), Scope::Block, Space::Shared, mode).cases());
        cases.extend(in_device(forms(mode), mode));
    }
    cases
}

/// The forms of an operation on one variable. Compilers aggregate integers of 32 bits: what combines values if the result
/// is not used, only sums if it is.
fn forms(id: &str, preset: Preset, limits: DeviceLimits, combines: Combines, mode: Mode) -> Sweep {
    let forms: &[Form] = match (mode, combines) {
        (_, Combines::Nothing) | (Mode::Latency, Combines::Values) => &[],
        (Mode::Latency, Combines::Sums) => &[Form::NotAggregated],
        (Mode::Throughput, Combines::Sums) if preset != Preset::Quick => {
            &[Form::Varying, Form::Constant, Form::NotAggregated]
        }
        (Mode::Throughput, _) => &[Form::Varying, Form::NotAggregated],
    };
    let forms: Vec<Option<Form>> = forms.iter().copied().map(Some).collect();
    limits.few(id).dtypes(&[Dtype::I32]).layouts(&[Layout::Shared]).forms(&forms)
}

/// Whether the variables do not fit into the kernel's shared memory.
fn is_too_large(case: &Case) -> bool {
    let stride = case.layout.and_then(Layout::stride).unwrap_or(0) as usize;
    let threads = case.threads.unwrap_or(1) as usize;
    threads * stride * case.dtype.map_or(4, Dtype::size_bytes) > SHARED_BYTES
}

pub(crate) static ENTRIES: [&Entry; 10] = [&ADD, &SUB, &MIN, &MAX, &AND, &OR, &XOR, &EXCHANGE, &CAS_PASS, &CAS_FAIL];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_has_as_much_shared_memory() {
        let of_kernel = crate::launch::headers::constant_of("atomic.cu", "SHARED_BYTES");
        assert_eq!(of_kernel, format!("IN_SHARED_MEMORY ? {} * 1024 : 8", SHARED_BYTES / 1024));
    }
}
