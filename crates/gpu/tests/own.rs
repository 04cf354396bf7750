//! A user's operations, compiled and decoded: the evidence contains the instruction of the line, and errors have the user's
//! line. Needs NVRTC, but no GPU.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a missing requirement fails the test")]

use std::collections::BTreeSet;
use std::sync::Arc;

use syncscope_core::{Axes, Case, Dtype, Evidence, Layout, OwnCheck, OwnCode, OwnOperation, OwnUse};
use syncscope_gpu::compile::{Cache, Compiler};
use syncscope_gpu::discovery::Surroundings;
use syncscope_gpu::nvrtc::{Code, Nvrtc, Source};
use syncscope_gpu::own::Inspector;
use syncscope_gpu::{DeviceLimits, Entries, headers, own, verify};

/// An operation with what the compiler reveals about it.
fn known(operation: &OwnOperation, arch: &str) -> Result<OwnOperation, String> {
    let candidates = operation.file.as_ref().map_or_else(Vec::new, |_| OwnOperation::candidates(&operation.text));
    let found = Inspector::new(Some(arch), None).unwrap().inspect(operation, &candidates, None);
    Ok(operation.clone().known(&found.map_err(|error| error.to_string())?, operation.function.as_deref()))
}

/// The functions of a text that are operations.
fn operations(text: &str) -> Vec<String> {
    let file = function("", text);
    let found = Inspector::new(Some("sm_90"), None).unwrap().inspect(&file, &OwnOperation::candidates(text), None);
    let functions = found.unwrap().functions.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    OwnOperation::of_functions(&functions).0.into_iter().map(|(function, _)| function).collect()
}

const LIMITS: DeviceLimits = DeviceLimits { multiprocessors: 132, max_threads: 1024 };

/// An operation with these axes as the compiler knows it, and its cases.
fn cases(operation: &OwnOperation, axes: &Axes, arch: &str) -> Result<(Entries, Vec<Case>), String> {
    let code = OwnCode { operations: vec![known(operation, arch)?], axes: axes.clone() };
    Ok((Entries::with_own(&code, LIMITS), own::cases(&code, LIMITS)))
}

fn first_case(operation: &OwnOperation, axes: &Axes, arch: &str) -> Result<(Entries, Case), String> {
    let (entries, mut cases) = cases(operation, axes, arch)?;
    Ok((entries, cases.swap_remove(0)))
}

/// The machine code of a case, or the error of the compiler.
fn compiled(operation: &OwnOperation, entries: &Entries, case: &Case, arch: &str) -> Result<Arc<[u8]>, String> {
    let nvrtc = Nvrtc::find(&Surroundings::of_process(), None).unwrap();
    let mut compiler = Compiler::new(nvrtc, Cache::of_user(), arch.to_owned(), headers());
    // With the vendor's headers, each program takes seconds.
    let has_headers = [&operation.text, &operation.includes].iter().any(|text| text.contains("#include"));
    if let Some(third) = entries.third_loop_of(case).filter(|_| !has_headers) {
        compiler.cubin(&third).map_err(|error| error.to_string())?;
    }
    compiler.cubin(&entries.program_of(case).unwrap()).map_err(|error| error.to_string())
}

/// The evidence in the first case of an operation on an architecture, or the error of the compiler.
fn evidence_with(operation: &OwnOperation, axes: &Axes, arch: &str) -> Result<Evidence, String> {
    let (entries, case) = first_case(operation, axes, arch)?;
    Ok(entries.evidence_of(&case, &compiled(operation, &entries, &case, arch)?))
}

fn evidence(operation: &OwnOperation, arch: &str) -> Result<String, String> {
    let found = evidence_with(operation, &Axes::default(), arch)?;
    Ok(found.summary().map_or_else(|| format!("{found:?}"), str::to_owned))
}

fn statement(name: &str, text: &str) -> OwnOperation {
    OwnOperation { id: format!("gpu.own.{name}"), text: text.to_owned(), ..OwnOperation::default() }
}

fn function(function: &str, text: &str) -> OwnOperation {
    let file = Some("mine.cuh".to_owned());
    OwnOperation { file, function: Some(function.to_owned()), ..statement(function, text) }
}

/// Lines that correspond to primitives of the catalogue.
const LINES: [(&str, &str, &str); 10] = [
    ("barrier", "__syncthreads()", "BAR.SYNC"),
    ("add", "atomicAdd(&x, value)", "RED"),
    ("private", "atomicAdd(&mine, value)", "RED"),
    ("exchange", "value = atomicExch(&x, value)", "ATOM"),
    ("compare", "atomicCAS(&x, 0, 0)", "ATOM"),
    ("in_shared", "atomicAdd(&shared[threadIdx.x], 1)", "ATOMS"),
    ("fence", "x = 1; __threadfence()", "MEMBAR"),
    ("shuffle", "value = __shfl_down_sync(~0u, value, 1)", "SHFL.DOWN"),
    ("vote", "value = __ballot_sync(~0u, value)", "VOTE"),
    ("count", "value = __syncthreads_count(value)", "BAR.RED"),
];

#[test]
fn the_instruction_of_a_line_stands_in_its_evidence() {
    for (name, line, instruction) in LINES {
        for arch in ["sm_75", "sm_90"] {
            let found = evidence(&statement(name, line), arch).unwrap();
            assert!(found.starts_with(instruction) && found.contains('/'), "{line} on {arch}: {found}");
        }
    }
}

#[test]
fn files_have_operations_locks_and_barriers() {
    let with_headers = "#include <cuda/atomic>\n\
        __device__ void operation(Thread &me) { cuda::atomic_ref<T, cuda::thread_scope_device>(me.x).fetch_add(1); }\n";
    let text = "__device__ void acquire(Thread &me) { while (atomicExch(&me.x, 1) != 0) {} __threadfence(); }\n\
        __device__ void release(Thread &me) { __threadfence(); atomicExch(&me.x, 0); }\n\
        __device__ void wait(Thread &me) { __syncthreads(); }\n";
    for (name, text, instruction) in
        [("operation", with_headers, "ATOM"), ("acquire", text, "ATOM"), ("wait", text, "BAR.SYNC")]
    {
        let found = evidence(&function(name, text), "sm_90").unwrap();
        assert!(found.starts_with(instruction), "{name}: {found}");
    }
    let counted = OwnOperation { check: Some(OwnCheck::Counter), ..statement("counted", "atomicAdd(&mine, 1)") };
    assert!(evidence(&counted, "sm_90").is_ok());
    let prepared =
        OwnOperation { setup: Some("shared[0] = 1".to_owned()), ..statement("prepared", "value += shared[0]") };
    assert!(evidence(&prepared, "sm_90").is_ok());
}

/// A header's macro with the name of a definition would replace the definition, with a warning that nobody sees.
#[test]
fn no_header_redefines_what_a_program_is_given() {
    let own =
        function("send", "__device__ void send(Thread &me) { me.x = 1; }\n__device__ void receive(Thread &) {}\n");
    let (entries, case) = first_case(&own, &Axes::default(), "sm_90").unwrap();
    let catalogue = verify::programs(|_| true).into_iter().map(|(_, program)| program);
    let programs: Vec<_> = catalogue.chain(entries.program_of(&case)).collect();
    let definitions = programs.iter().flat_map(|program| &program.definitions);
    let given: BTreeSet<&str> = definitions.filter_map(|definition| definition.split('=').next()).collect();
    let texts: BTreeSet<&str> =
        headers().iter().map(|(_, text)| *text).chain(programs.iter().map(|program| program.text)).collect();
    let mut redefined = BTreeSet::new();
    let mut defaults = 0;
    for text in texts {
        for lines in text.lines().collect::<Vec<_>>().windows(2) {
            let Some(macro_text) = lines[1].trim_start().strip_prefix("#define ") else { continue };
            let name = macro_text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or_default();
            let is_default = lines[0].trim() == format!("#ifndef {name}");
            defaults += usize::from(is_default);
            redefined.extend(Some(name).filter(|name| given.contains(name) && !is_default));
        }
    }
    assert_eq!(redefined, BTreeSet::new());
    assert!(given.iter().any(|name| name.ends_with("_CHECK")) && defaults > 10, "{given:?}");
}

#[test]
fn barriers_span_clusters_and_grids() {
    let text = "__device__ void wait(Thread &me) { __syncthreads(); }\n\
        __device__ void cluster_wait(Thread &me) { asm volatile(\"barrier.cluster.arrive;barrier.cluster.wait;\" ::: \"memory\"); }\n\
        __device__ void grid_wait(Thread &me) {\n\
            __syncthreads();\n\
            if (threadIdx.x == 0) {\n\
                atomicAdd((unsigned *)me.memory, 1u);\n\
                me.wait_until([&] { return *(volatile unsigned *)me.memory >= (me.passed + 1) * gridDim.x; });\n\
            }\n\
            __syncthreads();\n\
        }\n\
        __device__ void send(Thread &me) { __threadfence(); me.x = me.sent; }\n\
        __device__ void receive(Thread &me) { me.wait_until([&] { return *(volatile T *)&me.x == me.sent; }); __threadfence(); }\n";
    for (name, instruction) in [("cluster_wait", "UCGABAR_ARV"), ("grid_wait", "RED"), ("send", "ATOM")] {
        let found = evidence(&function(name, text), "sm_90").unwrap();
        assert!(found.contains(instruction), "{name}: {found}");
    }
    let blocks = |name: &str| first_case(&function(name, text), &Axes::default(), "sm_90").unwrap().1.blocks;
    assert_eq!(["cluster_wait", "grid_wait"].map(blocks), [Some(8), Some(132)]);
    let includes = "#include \"cooperative_groups.h\"\n".to_owned();
    let line = "cooperative_groups::this_grid().sync()";
    let grid = OwnOperation { includes, check: Some(OwnCheck::Barrier), ..statement("grid", line) };
    assert!(evidence(&grid, "sm_90").unwrap().contains("ATOM"));
}

#[test]
fn a_statement_has_a_context() {
    let fence = statement("alone", "__threadfence()");
    let context = OwnOperation { baseline: Some("mine++".to_owned()), ..statement("between", "__threadfence()") };
    let [alone, between] = [fence, context].map(|operation| evidence(&operation, "sm_90").unwrap());
    assert!(alone.contains("MEMBAR.SC.GPU 32/64") && between.contains("MEMBAR.SC.GPU 0/32"), "{alone}; {between}");
}

#[test]
fn errors_have_the_lines_of_the_user() {
    let undefined = evidence(&statement("undefined", "atomicAdd(&y, 1)"), "sm_90").unwrap_err();
    assert!(undefined.contains("statement(1): error: identifier \"y\" is undefined"), "{undefined}");
    let in_file =
        evidence(&function("operation_b", "\n\n__device__ void operation_b(Thread &me) { me.y++; }"), "sm_90");
    assert!(in_file.as_ref().unwrap_err().contains("mine.cuh(3): error"), "{in_file:?}");
    for (name, text, meaning) in [
        ("acquire", "__device__ void acquire(Thread &me) { me.x = 1; }", "has `acquire` but no `release`"),
        ("send", "__device__ void send(Thread &me) { me.x = 1; }", "has `send` but no `receive`"),
        (
            "operation",
            "__device__ void operation(Thread &me) { asm(\".reg .pred p;\"); }",
            "put its assembly in braces",
        ),
    ] {
        let wrong = evidence(&function(name, text), "sm_90").unwrap_err();
        assert!(wrong.contains(meaning), "{wrong}");
    }
    let includes = "#include \"there.cuh\"\n#include \"elsewhere.cuh\"\n".to_owned();
    let wrong = evidence(&OwnOperation { includes, ..statement("includes", "x = 1") }, "sm_90").unwrap_err();
    assert!(wrong.starts_with("--include(1): catastrophic error") && wrong.contains("-I names"), "{wrong}");
    let in_c = OwnOperation { options: vec!["-std=c11".to_owned()], ..statement("in_c", "x = 1") };
    let refused = evidence(&in_c, "sm_90").unwrap_err();
    assert!(refused.ends_with("NVRTC_ERROR_INVALID_OPTION: it does not know all of: -std=c11"), "{refused}");
    // NVRTC has none of these headers.
    for (header, advice) in [
        ("cstdint", "use <cuda/std/cstdint>"),
        ("stdint.h", "use <cuda/std/cstdint>"),
        ("cassert", "use <cuda/std/cassert>"),
        ("stdio.h", "leave it out (printf"),
        ("mine_too.cuh", "-I names the folder"),
        ("cuda/nothing", "CUDA_HOME names the toolkit"),
    ] {
        // A warning before the error is not what is wrong.
        let text =
            format!("#include <{header}>\n#warning \"first\"\n__device__ void operation(Thread &me) {{ me.x = 1; }}");
        let wrong = evidence(&function("operation", &text), "sm_90").unwrap_err();
        assert!(wrong.starts_with("mine.cuh(1): catastrophic error") && wrong.contains(advice), "{wrong}");
    }
}

#[test]
fn an_operation_that_is_nothing_has_no_evidence() {
    let found = evidence(&statement("nothing", "(void)0"), "sm_90").unwrap();
    assert!(found.contains("the loop is gone"), "{found}");
}

/// Meaning comes from the compiled code, not from names, comments or the text's form.
#[test]
fn functions_are_what_can_be_called_with_a_thread() {
    let text = "// void operation_comment(Thread &me) and \"operation_string\"\n\
        __device__ const char text[] = \"void operation_string(Thread &me)\";\n\
        inline\n__device__\nvoid\noperation (Thread &anything) { anything.x = 1; }\n\
        auto __device__ operation_trailing(Thread &t) -> void { t.x = 2; }\n\
        template <int N> __device__ void operation_template(Thread &me) { me.x = N; }\n\
        template <typename Any> __device__ void operation_generic(Any &me) { me.x = 3; }\n\
        static __device__ __forceinline__ int operation_result(Thread &me) { return atomicAdd(&me.x, 1); }\n\
        __device__ bool wait_for_value(volatile int *word, int value) { return *word == value; }\n\
        __device__ void send_value(int *word) { *word = 1; }\n\
        #define operation_macro 5\n\
        __device__ int operation_count;\n\
        struct operation_state { int word; };\n\
        namespace elsewhere { __device__ void operation_hidden(Thread &me) { me.x = 4; } }\n\
        #if 0\n__device__ void operation_disabled(Thread &me) {}\n#endif\n";
    let expected = ["operation", "operation_trailing", "operation_generic", "operation_result"];
    assert_eq!(operations(text), expected);
}

/// The same operations with other parameter names, and through helpers.
#[test]
fn uses_are_found_whatever_the_names_are() {
    use OwnUse::{BlockMemory, Loops, Meeting, Value, Variable};
    let uses = |name: &str, text: &str| known(&function(name, text), "sm_90").unwrap().uses;
    for (parameter, helper) in [("me", ""), ("t", ""), ("t", "__noinline__ ")] {
        let add = format!(
            "__device__ {helper}void add(Thread &{parameter}) {{ atomicAdd(&{parameter}.mine, 1); }}\n\
             __device__ void operation(Thread &anyone) {{ add(anyone); }}\n\
             __device__ void operation_none(Thread &anyone) {{ /* mine, x, barrier, bar.sync( */ __threadfence(); }}"
        );
        assert_eq!(uses("operation", &add)[..1], [OwnUse::Element], "{add}");
        assert_eq!(uses("operation_none", &add), [], "{add}");
    }
    let text = "__device__ void operation_s(Thread &t) { t.shared[threadIdx.x] = t.value; __syncthreads(); }\n\
        __device__ void operation_v(Thread &t) { t.value += 1; }\n\
        __device__ void operation_l(Thread &t) { while (*(volatile T *)&t.x == 0) {} }\n\
        __device__ void operation_w(Thread &t) { __syncwarp(0xff); }\n";
    assert_eq!(uses("operation_s", text), [Value, BlockMemory, Meeting]);
    assert_eq!(uses("operation_v", text), [Value]);
    assert_eq!(uses("operation_l", text), [Variable, Loops]);
    assert_eq!(uses("operation_w", text), []);
    let layout = |text: &str| first_case(&function("operation", text), &Axes::default(), "sm_90").unwrap().1.layout;
    assert_eq!(layout("__device__ void operation(Thread &t) { t.mine++; }"), Some(Layout::Private { stride: 1 }));
    assert_eq!(layout("__device__ void operation(Thread &t) { t.value++; }"), None);
}

/// Whatever words the code contains, it has the requested type.
#[test]
fn the_type_asked_for_is_compiled_in() {
    let bins =
        "__device__ T bins[64];\n__device__ void operation_bins(Thread &t) { atomicAdd(&bins[threadIdx.x], (T)1); }";
    let asked = Axes { dtypes: vec![Dtype::F32], ..Axes::default() };
    for (operation, float) in [
        (statement("shared_type", "atomicAdd(&shared[threadIdx.x % 18], (T)1)"), "ATOMS.CAST"),
        (function("operation_bins", bins), "REDG.E.ADD.F32"),
        (statement("value_type", "value = __shfl_xor_sync(~0u, value, 1) + value"), "FADD"),
    ] {
        let found = evidence_with(&operation, &asked, "sm_90").unwrap();
        let listing = found.listing().unwrap_or_default();
        assert!(listing.contains(float), "{}: {listing}", operation.text);
    }
}

/// The harness's names do not restrict the user's.
#[test]
fn a_source_may_have_any_names() {
    let types = "struct Warp { int a; }; struct Operation { int b; }; struct Spin { int c; }; struct Body { int d; };\n\
        struct Arguments { int e; }; struct Rate {}; struct Gate {}; struct Finding {}; struct Chunks {}; enum class Meets { NO };\n\
        using u64 = unsigned long; using u32 = unsigned long long; constexpr int UNROLL = 4, WARP_UP = 3;\n\
        #define VALUE 7\n#define baseline 8\n#define memory_of(x) x\n#define Together 9\n#define KIND 10\n\
        __device__ int test, check, idle, third, elements, measure, device_table, arguments;\n\
        __device__ int grid_thread() { return VALUE + baseline; }\n";
    let with = |text: &str, parameter: &str| {
        let text = format!(
            "{types}{text}__device__ void operation({parameter} &me) {{ atomicAdd(&me.x, (SYNCSCOPE_TYPE)(grid_thread() + test)); }}"
        );
        evidence(&function("operation", &text), "sm_90").unwrap()
    };
    assert!(with("", "Thread").starts_with("RED"));
    assert!(with("using T = float;\n", "Thread").starts_with("RED"));
    assert!(with("struct Thread { int f; };\n", "syncscope::Thread").starts_with("RED"));
    assert!(with("struct T {}; class Thread;\n", "syncscope::Thread").starts_with("RED"));
    let wrong = evidence(
        &function("operation", "using T = float;\n__device__ void operation(Thread &me) { me.y = 1; }"),
        "sm_90",
    );
    let wrong = wrong.unwrap_err();
    assert!(wrong.starts_with("mine.cuh(2): error") && wrong.contains("\"y\""), "{wrong}");
    assert!(wrong.lines().count() == 1 && wrong.len() < 250, "{wrong}");
    // Options come before the harness, too.
    let options = ["-DT=long", "-DWarp=5", "-DUNROLL", "-Dmine=mine"].map(str::to_owned).to_vec();
    assert!(evidence(&OwnOperation { options, ..statement("defined", "atomicAdd(&mine, 1)") }, "sm_90").is_ok());
}

/// Every header of the vendor's libraries that compiles by itself compiles next to an operation: some of them, or all with
/// `SYNCSCOPE_ALL_KERNELS`.
#[test]
fn headers_of_the_toolkit_compile_beside_an_operation() {
    let folders = Surroundings::of_process().include_folders();
    let nvrtc = Nvrtc::find(&Surroundings::of_process(), None).unwrap();
    let inspector = Inspector::new(Some("sm_90"), None).unwrap();
    let include =
        |headers: &[String]| headers.iter().flat_map(|header| ["#include <", header, ">\n"]).collect::<String>();
    let alone = |headers: &[String]| {
        let text = include(headers) + "extern \"C\" __global__ void kernel() {}";
        let mut options: Vec<String> = folders.iter().map(|folder| format!("-I{}", folder.display())).collect();
        options.push("--std=c++17".to_owned());
        let source = Source { file: "alone.cu", text: &text, headers: &[] };
        nvrtc.compile_to(Code::Ptx, source, "sm_90", &options).is_ok()
    };
    let beside = |headers: &[String]| {
        let text = include(headers) + "__device__ void operation(Thread &me) { atomicAdd(&me.mine, (T)1); }";
        let found = inspector.inspect(&function("operation", &text), &["operation".to_owned()], None);
        let found = found.unwrap_or_else(|error| panic!("{headers:?}: {error}"));
        assert_eq!(found.functions.len(), 1, "{headers:?}");
    };
    if std::env::var_os("SYNCSCOPE_ALL_KERNELS").is_none() {
        const SOME: [&str; 8] = [
            "cub/block/block_reduce.cuh",
            "cub/block/block_radix_sort.cuh",
            "cub/warp/warp_scan.cuh",
            "cuda/barrier",
            "cuda/pipeline",
            "cuda/std/semaphore",
            "cooperative_groups.h",
            "cooperative_groups/reduce.h",
        ];
        return beside(&SOME.map(str::to_owned));
    }
    let mut compiled = 0;
    for group in ["cub/block", "cub/warp", "cub/thread", "cuda", "cuda/std", "cooperative_groups"] {
        let files = folders.iter().filter_map(|folder| Some((folder, std::fs::read_dir(folder.join(group)).ok()?)));
        let files = files.flat_map(|(folder, entries)| entries.flatten().map(move |entry| (folder, entry.path())));
        let files = files.filter(|(_, path)| path.is_file());
        let headers =
            files.filter_map(|(folder, path)| Some(path.strip_prefix(folder).ok()?.to_string_lossy().into_owned()));
        let mut headers: Vec<String> = headers.collect();
        headers.sort();
        // Halve the headers that do not compile together, until the rest compiles or is a single header.
        let mut left = vec![headers];
        while let Some(headers) = left.pop() {
            if alone(&headers) {
                beside(&headers);
                compiled += headers.len();
            } else if headers.len() > 1 {
                left.push(headers[headers.len() / 2..].to_vec());
                left.push(headers[..headers.len() / 2].to_vec());
            }
        }
    }
    assert!(compiled > 50, "{compiled}");
}

/// PTX that is compiled only to be read is not assembled; assembling crashed on these.
#[test]
fn operations_on_narrow_types_have_evidence() {
    for (header, name, one) in
        [("cuda_fp16.h", "__half", "__float2half(1.0f)"), ("cuda_bf16.h", "__nv_bfloat16", "__float2bfloat16(1.0f)")]
    {
        let add = format!("atomicAdd(reinterpret_cast<{name} *>(&me.mine), {one});");
        // A warning alone is not an error.
        let text =
            format!("#include <{header}>\n#warning \"first\"\n__device__ void operation(Thread &me) {{ {add} }}");
        let found = evidence(&function("operation", &text), "sm_90").unwrap();
        assert!(found.contains("ATOM"), "{found}");
    }
}

/// The library's waits may read the global timer.
#[test]
fn operations_that_read_the_global_timer_have_evidence() {
    let poll = "{ unsigned long long start, now; asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(start)); do { \
        asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(now)); } while (*(volatile T *)&x != 0 && now < start + 1000000); }";
    let found = evidence(&statement("poll", poll), "sm_90").unwrap();
    assert!(found.starts_with("LD"), "{found}");
    let alone = r#"unsigned long long now; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); value += (T)now"#;
    let found = evidence(&statement("timer", alone), "sm_90").unwrap();
    assert!(found.contains("CS2"), "{found}");
    let unused = r#"asm volatile("{ .reg .u64 now; mov.u64 now, %globaltimer; }" ::: "memory")"#;
    let found = evidence(&statement("unused", unused), "sm_90").unwrap();
    assert!(found.contains("the compiler removed the operation"), "{found}");
    let text = include_str!("../../../examples/measure/block_barrier.cuh");
    let found = evidence(&function("wait_object", text), "sm_90").unwrap();
    assert!(found.starts_with("ATOMS") || found.starts_with("SYNCS"), "{found}");
}

/// Cluster instructions decide, wherever they are, or an option.
#[test]
fn clusters_are_those_of_the_code_or_those_asked_for() {
    let text = include_str!("../../../examples/measure/cluster_arrival.cuh");
    let group = |operation: &OwnOperation, clusters: &[u32], blocks: &[u32]| {
        let axes = Axes { clusters: clusters.to_vec(), blocks: blocks.to_vec(), ..Axes::default() };
        let cases = cases(operation, &axes, "sm_90").unwrap().1.into_iter().filter(|case| case.threads == Some(32));
        cases.map(|case| (case.blocks.unwrap(), case.group.map(|group| group.to_string()))).collect::<Vec<_>>()
    };
    let of = |blocks, size: u32| (blocks, Some(format!("cluster {size}")));
    let relaxed = function("operation_relaxed", text);
    assert_eq!(group(&relaxed, &[], &[]), [of(8, 8)]);
    assert_eq!(group(&relaxed, &[], &[2, 132]), [of(2, 2), of(132, 4)]);
    assert_eq!(group(&relaxed, &[2, 16], &[]), [of(2, 2), of(16, 16)]);
    assert_eq!(group(&statement("in_clusters", "__syncthreads()"), &[4], &[132]), [of(132, 4)]);
    assert_eq!(group(&statement("alone", "__syncthreads()"), &[], &[4]), [(4, None)]);
    assert!(evidence(&relaxed, "sm_90").unwrap().starts_with("UCGABAR"));
}

/// 32 threads have all registers, two blocks of 1,024 have 32 each, and spills are reported.
#[test]
fn registers_are_those_of_the_launch_and_spills_are_named() {
    let text = "__device__ void operation_many(Thread &me) { T v[32];\n#pragma unroll\n\
        for (int i = 0; i < 32; i++) v[i] = me.value * (2 * i + 3);\n#pragma unroll\n\
        for (int i = 0; i < 32; i++) v[i] += __shfl_xor_sync(~0u, v[i], 1 + i % 16);\n#pragma unroll\n\
        for (int i = 0; i < 32; i++) me.value = (me.value ^ v[i]) * 5 + v[31 - i]; }";
    let with = |threads: u32, blocks: u32| {
        let axes = Axes { threads: vec![threads], blocks: vec![blocks], ..Axes::default() };
        evidence_with(&function("operation_many", text), &axes, "sm_90").unwrap().summary().unwrap().to_owned()
    };
    let (few, many) = (with(32, 132), with(1024, 264));
    assert!(!few.contains(own::SPILLS), "{few}");
    assert!(many.contains(own::SPILLS) && many.contains("STL: all 32 registers"), "{many}");
    let indexed = "__device__ void operation_indexed(Thread &me) { int v[8]; for (int i = 0; i < 8; i++) v[i] = me.value + i; \
        v[me.value & 7] = 0; me.value = v[(me.value >> 3) & 7]; }";
    let found = evidence(&function("operation_indexed", indexed), "sm_90").unwrap();
    assert!(!found.contains(own::SPILLS), "{found}");
}

/// Instructions of a single architecture, and shared memory that the launch allocates.
#[test]
fn what_only_the_device_has_is_compiled() {
    let fence = statement("fence", "asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\")");
    assert!(evidence(&fence, "sm_90a").is_ok());
    let without = evidence(&fence, "sm_90").unwrap_err();
    assert!(without.contains("sm_90") && without.lines().count() == 1, "{without}");
    let text = "extern __shared__ int buffer[];\n\
        __device__ void operation_given(Thread &t) { buffer[threadIdx.x] = t.value; __syncthreads(); }\n\
        __device__ void operation_free(Thread &t) { t.value++; }";
    let uses = |name: &str| known(&function(name, text), "sm_90").unwrap().uses(OwnUse::LaunchMemory);
    assert!(uses("operation_given") && !uses("operation_free"));
}

/// The examples compile, and have the evidence that they demonstrate.
#[test]
fn the_examples_compile() {
    for (name, text, expected) in [
        ("operation", include_str!("../../../examples/measure/block_sum.cuh"), "BAR.SYNC"),
        ("operation", include_str!("../../../examples/measure/bins.cuh"), "ATOMS"),
        ("operation", include_str!("../../../examples/measure/helper.cuh"), "RED"),
        ("cluster_wait", include_str!("../../../examples/measure/cluster_arrival.cuh"), "UCGABAR"),
    ] {
        let axes = Axes { threads: vec![256], ..Axes::default() };
        let found = evidence_with(&function(name, text), &axes, "sm_90").unwrap();
        assert!(found.listing().is_some_and(|listing| listing.contains(expected)), "{text}: {found:?}");
    }
}
