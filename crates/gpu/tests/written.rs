//! The default form measures what people write: small loops as a programmer writes them, compiled by the same compiler, have
//! the same instructions for each operation as the primitive's default form. Needs NVRTC, but no GPU.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test that fails is a failed test")]

use std::collections::BTreeMap;
use std::path::Path;

use syncscope_core::{Case, Dtype, Evidence, Form, Group, Layout, MemoryOrder, Mode, Scope, Space};
use syncscope_gpu::compile::{Cache, Compiler};
use syncscope_gpu::discovery::Surroundings;
use syncscope_gpu::nvrtc::{Nvrtc, Source};
use syncscope_gpu::verify::with_loops_alone;
use syncscope_gpu::{UNROLL, evidence_of, headers, program_of};
use syncscope_sass::{Cubin, Region, timed_region};

/// A timed loop with N copies of a line. `own` is the thread's element, `one` the shared variable.
const LOOP: &str = r#"
template <int N>
__device__ __forceinline__ void measure(int *one, int *two, int stride, int rounds, long long *times) {
    const int thread = threadIdx.x + blockIdx.x * blockDim.x;
    int *own = one + stride * thread, *other = two + stride * thread;
    const int next = (thread + 1) % 32;
    int x = thread;
    const int value = thread % 16;
    unsigned found = 0, mask = ~0u;
    SHARED_VARIABLE
    __syncthreads();
    const long long start = clock64();
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
#pragma unroll
        for (int copy = 0; copy < N; copy++) { LINE }
    }
    const long long stop = clock64();
    times[thread] = stop - start;
    *own = x + found + mask;
}
extern "C" __global__ void __launch_bounds__(1024, 2) syncscope_baseline(int *one, int *two, int stride, int rounds, long long *times) {
    measure<COPIES>(one, two, stride, rounds, times);
}
extern "C" __global__ void __launch_bounds__(1024, 2) syncscope_test(int *one, int *two, int stride, int rounds, long long *times) {
    measure<2 * COPIES>(one, two, stride, rounds, times);
}
"#;

/// Register moves, address arithmetic and the loop itself, which differ with the code around the line.
const IGNORED: [&str; 24] = [
    "BRA", "MOV", "UMOV", "IMAD", "UIMAD", "IADD3", "UIADD3", "ULOP3", "VIADD", "CS2R", "HFMA2", "ISETP", "UISETP",
    "LDC", "ULDC", "LDCU", "S2R", "S2UR", "SEL", "LEA", "ULEA", "PLOP3", "BSSY", "BSYNC",
];

/// How often each instruction is in the body of the loop, except the ignored ones.
type Counts = BTreeMap<String, usize>;

fn counts(region: &Region) -> Counts {
    let mut counts = Counts::new();
    for instruction in region.body().iter().filter(|instruction| !IGNORED.contains(&instruction.opcode)) {
        *counts.entry(instruction.mnemonic.clone()).or_default() += 1;
    }
    counts
}

fn regions(cubin: &[u8]) -> [Region; 2] {
    let cubin = Cubin::parse(cubin).unwrap();
    ["syncscope_baseline", "syncscope_test"].map(|kernel| timed_region(cubin.kernel(kernel).unwrap()).unwrap())
}

fn nvrtc() -> Nvrtc {
    Nvrtc::find(&Surroundings::of_process(), None).unwrap_or_else(|error| panic!("{error}"))
}

/// Operations per iteration for operations that take long.
const FEWER: u32 = 8;

/// Removes the instructions that are equally frequent in both loops: they belong to the loop.
fn of_operation([mut baseline, mut test]: [Counts; 2]) -> [Counts; 2] {
    let of_loop: Vec<_> =
        baseline.iter().filter(|(name, count)| test.get(*name) == Some(count)).map(|(name, _)| name.clone()).collect();
    for name in of_loop {
        baseline.remove(&name);
        test.remove(&name);
    }
    [baseline, test]
}

/// A line, compiled as people compile it.
fn written(line: &str, arch: &str) -> [Counts; 2] {
    written_with("", line, arch, UNROLL)
}

/// How many copies of its operation a case has in its loop.
fn copies_of(case: &Case) -> u32 {
    let definitions = program_of(case).unwrap().definitions;
    let given = definitions.iter().find_map(|text| text.strip_prefix("SYNCSCOPE_UNROLL="));
    given.map_or(UNROLL, |copies| copies.parse().unwrap())
}

fn written_with(variable: &str, line: &str, arch: &str, copies: u32) -> [Counts; 2] {
    let text = LOOP.replace("SHARED_VARIABLE", variable).replace("LINE", line).replace("COPIES", &copies.to_string());
    let source = Source { file: "written.cu", text: &text, headers: &[] };
    regions(&nvrtc().compile(source, arch, &["--std=c++17".to_owned()]).unwrap()).each_ref().map(counts)
}

/// The machine code of a case's loops, from the cache that is kept between test runs and shared with the kernel tests.
fn compiled(case: &Case, arch: &str) -> Vec<u8> {
    let kept = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.syncscope/kernel-test-cache"));
    let mut compiler = Compiler::new(nvrtc(), Cache::in_folder(kept), arch.to_owned(), headers());
    compiler.cubin(&with_loops_alone(&program_of(case).unwrap())).unwrap().to_vec()
}

fn measured(case: &Case, arch: &str) -> [Counts; 2] {
    regions(&compiled(case, arch)).each_ref().map(counts)
}

const PRIVATE: Layout = Layout::Private { stride: 1 };

/// An atomic operation on integers whose result is not used.
fn atomic(primitive: &str, layout: Layout, space: Space) -> Case {
    Case {
        dtype: Some(Dtype::I32),
        layout: Some(layout),
        scope: Some(if space == Space::Shared { Scope::Block } else { Scope::Device }),
        space: Some(space),
        order: Some(MemoryOrder::Relaxed),
        mode: Some(Mode::Throughput),
        ..Case::new(primitive)
    }
}

fn of_warp(primitive: &str, mode: Mode) -> Case {
    let dtype = (!primitive.contains("vote")).then_some(Dtype::I32);
    Case { dtype, mode: Some(mode), ..Case::new(primitive) }
}

/// The primitive with another line than its default form.
fn opaque(primitive: &str) -> Case {
    Case { form: Some(Form::Opaque), ..of_warp(primitive, Mode::Latency) }
}

/// Architectures with an instruction that sums a warp. Turing has shuffles instead.
const ARCHITECTURES: [&str; 3] = ["sm_80", "sm_90", "sm_100"];

#[test]
fn atomics_are_those_of_the_line() {
    let shared = |primitive| atomic(primitive, Layout::Shared, Space::Global);
    let private = |primitive| atomic(primitive, PRIVATE, Space::Global);
    let lines = [
        ("atomicAdd(one, x);", shared("gpu.atomic.add")),
        ("atomicAdd(own, x);", private("gpu.atomic.add")),
        ("atomicSub(one, x);", shared("gpu.atomic.sub")),
        ("atomicMax(one, x);", shared("gpu.atomic.max")),
        ("atomicMax(own, x);", private("gpu.atomic.max")),
        ("atomicMin(one, x);", shared("gpu.atomic.min")),
        ("atomicXor(one, x);", shared("gpu.atomic.xor")),
        ("atomicExch(one, x);", shared("gpu.atomic.exchange")),
        ("atomicExch(own, x);", private("gpu.atomic.exchange")),
        ("atomicCAS(one, 0, 0);", shared("gpu.atomic.cas_pass")),
        ("atomicCAS(own, 0, 0);", private("gpu.atomic.cas_pass")),
        ("atomicCAS(one, 1, 0);", shared("gpu.atomic.cas_fail")),
        ("atomicAdd(one, x); x += stride;", Case { form: Some(Form::Varying), ..shared("gpu.atomic.add") }),
        ("atomicAdd(one, 1);", Case { form: Some(Form::Constant), ..shared("gpu.atomic.add") }),
    ];
    for arch in ARCHITECTURES {
        for (line, case) in &lines {
            let written = written_with("", line, arch, copies_of(case));
            assert_eq!(measured(case, arch), written, "{line} is {case} on {arch}");
        }
    }
}

#[test]
fn atomics_on_shared_memory_are_those_of_the_line() {
    let variable = "__shared__ int in_block; in_block = 0;";
    let shared = |primitive| atomic(primitive, Layout::Shared, Space::Shared);
    let lines = [
        ("atomicAdd(&in_block, x);", shared("gpu.atomic.add")),
        ("atomicMax(&in_block, x);", shared("gpu.atomic.max")),
        ("atomicExch(&in_block, x);", shared("gpu.atomic.exchange")),
        ("atomicAdd(&in_block, 1);", Case { form: Some(Form::Constant), ..shared("gpu.atomic.add") }),
    ];
    for arch in ARCHITECTURES {
        for (line, case) in &lines {
            assert_eq!(measured(case, arch), written_with(variable, line, arch, UNROLL), "{line} is {case} on {arch}");
        }
    }
}

/// The sum of a warp is computed once per iteration if the values stay, once per operation if they change, and not at all if
/// the compiler does not see a single variable. The evidence says so.
#[test]
fn forms_of_an_atomic_differ_in_what_the_compiler_aggregates() {
    let shared = atomic("gpu.atomic.add", Layout::Shared, Space::Global);
    let summary = |form| {
        let case = Case { form, ..shared.clone() };
        match evidence_of(&case, &compiled(&case, "sm_90")) {
            Evidence::Present { summary, .. } => summary,
            other => panic!("{case}: {other:?}"),
        }
    };
    let red = "REDG.E.ADD.STRONG.GPU 32/64";
    for (form, how) in [
        (None, ", aggregated by the compiler: REDUX.SUM 1/1"),
        (Some(Form::Varying), ", aggregated by the compiler: REDUX.SUM 32/64"),
        (Some(Form::Constant), ", aggregated by the compiler: POPC 1/1"),
        (Some(Form::NotAggregated), ""),
    ] {
        // The operation's other instructions follow.
        let found = summary(form);
        let found = found.split(" + ").next().unwrap_or_default();
        assert_eq!(found, format!("{red}{how}"), "{form:?}");
    }
}

/// Where the result is used, a whole warp scans its values and one lane adds the sum; other warps add one by one.
#[test]
fn additions_whose_result_is_used_are_scanned() {
    let case = Case { mode: Some(Mode::Latency), ..atomic("gpu.atomic.add", Layout::Shared, Space::Global) };
    let [baseline, _] = measured(&case, "sm_90");
    let [written, _] = written_with("", "x = atomicAdd(one, x);", "sm_90", FEWER);
    let scans = |counts: &Counts| {
        let of = |name: &str| counts.iter().filter(|(found, _)| found.starts_with(name)).map(|(_, count)| count).sum();
        let of: [usize; 3] = ["ATOMG", "SHFL.UP", "SHFL.IDX"].map(of);
        of
    };
    let unroll = FEWER as usize;
    assert_eq!(scans(&baseline), [2 * unroll, 6 * unroll, unroll], "{baseline:?}");
    assert_eq!(scans(&written), scans(&baseline), "{written:?}");
}

#[test]
fn fences_stand_between_ordinary_updates() {
    let fence = |primitive, scope| Case {
        dtype: Some(Dtype::I32),
        layout: Some(PRIVATE),
        scope: Some(scope),
        ..Case::new(primitive)
    };
    for arch in ARCHITECTURES {
        let updates = written_with("", "*own += x; *other += x;", arch, FEWER)[0].clone();
        let of_block = written("*own += x; *other += x;", arch)[0].clone();
        for (primitive, scope, function, updates, unroll) in [
            ("gpu.fence.block", Scope::Block, "__threadfence_block();", &of_block, UNROLL),
            ("gpu.fence.device", Scope::Device, "__threadfence();", &updates, FEWER),
            ("gpu.fence.system", Scope::System, "__threadfence_system();", &updates, FEWER),
        ] {
            let line = format!("*own += x; {function} *other += x;");
            let [baseline, test] = measured(&fence(primitive, scope), arch);
            assert_eq!(baseline, *updates, "the context of {primitive} on {arch}");
            assert_eq!(test, written_with("", &line, arch, unroll)[0], "{line} is {primitive} on {arch}");
        }
        let fenced = Case { form: Some(Form::Fenced), ..fence("gpu.fence.block", Scope::Block) };
        let [baseline, test] = measured(&fenced, arch);
        let around = "*own += x; __threadfence_block(); *other += x; __threadfence_block();";
        assert_eq!(baseline, written(around, arch)[0], "{around} on {arch}");
        assert_eq!(test, written(&format!("__threadfence_block(); {around}"), arch)[0], "{around} on {arch}");
        let ordinary = |counts: &Counts| counts.keys().all(|name| !name.contains("STRONG"));
        assert!(ordinary(&baseline), "{baseline:?}");
        let volatile = Case { form: Some(Form::Volatile), ..fence("gpu.fence.device", Scope::Device) };
        assert!(!ordinary(&measured(&volatile, arch)[0]), "the volatile form on {arch}");
    }
}

#[test]
fn warp_functions_are_those_of_the_line() {
    use Mode::Latency;
    let lines = [
        ("x = __shfl_sync(~0u, x, next);", of_warp("gpu.shuffle.idx", Latency)),
        ("x = __shfl_up_sync(~0u, x, 1);", of_warp("gpu.shuffle.up", Latency)),
        ("x = __shfl_down_sync(~0u, x, 1);", of_warp("gpu.shuffle.down", Latency)),
        ("x = __shfl_xor_sync(~0u, x, 1);", of_warp("gpu.shuffle.xor", Latency)),
        ("x = __all_sync(~0u, x);", of_warp("gpu.vote.all", Latency)),
        ("x = __any_sync(~0u, x);", of_warp("gpu.vote.any", Latency)),
        ("x = __ballot_sync(~0u, x);", of_warp("gpu.vote.ballot", Latency)),
        ("x = __match_any_sync(~0u, x);", of_warp("gpu.match.any", Latency)),
        ("int all; x = __match_all_sync(~0u, x, &all);", of_warp("gpu.match.all", Latency)),
        ("x = __shfl_xor_sync(~0u, x, next);", opaque("gpu.shuffle.xor")),
        ("int all; mask = __match_all_sync(mask, value, &all);", opaque("gpu.match.all")),
        ("mask = __match_any_sync(mask, value);", opaque("gpu.match.any")),
        ("__syncthreads();", Case::new("gpu.block.syncthreads")),
        ("__syncwarp();", Case { group: Some(Group::named("converged")), ..Case::new("gpu.warp.syncwarp") }),
    ];
    for arch in ARCHITECTURES {
        for (line, case) in &lines {
            let as_written = written_with("", line, arch, copies_of(case));
            let [ours, theirs] = [measured(case, arch), as_written].map(of_operation);
            assert_eq!(ours, theirs, "{line} is {case} on {arch}");
        }
    }
}
