//! What a user writes, compiled and decoded: the instruction of the line stands in the evidence, and errors have the line of the
//! user. Needs NVRTC, but no GPU.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a missing requirement fails the test")]

use std::sync::Arc;

use syncscope_core::{Case, Dtype, Evidence, Layout, OwnAxes, OwnCheck, OwnOperation, OwnUse};
use syncscope_gpu::compile::{Cache, Compiler};
use syncscope_gpu::discovery::Surroundings;
use syncscope_gpu::nvrtc::Nvrtc;
use syncscope_gpu::own::Inspector;
use syncscope_gpu::{DeviceLimits, evidence_of, headers, own, program_of, third_loop_of};

/// An operation with what the compiler tells of it.
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

/// The first case of an operation with these axes, as the compiler knows it.
fn first_case(operation: &OwnOperation, axes: &OwnAxes, arch: &str) -> Result<Case, String> {
    own::define(&[known(operation, arch)?], axes);
    let limits = DeviceLimits { multiprocessors: 132, max_threads: 1024 };
    Ok(own::cases(limits).into_iter().find(|case| case.primitive == operation.id).unwrap())
}

/// The machine code of a case, or the error of the compiler.
fn compiled(operation: &OwnOperation, case: &Case, arch: &str) -> Result<Arc<[u8]>, String> {
    let nvrtc = Nvrtc::find(&Surroundings::of_process(), None).unwrap();
    let mut compiler = Compiler::new(nvrtc, Cache::of_user(), arch.to_owned(), headers());
    // With the vendor's headers, each program takes seconds.
    let has_headers = [&operation.text, &operation.includes].iter().any(|text| text.contains("#include"));
    if let Some(third) = third_loop_of(case).filter(|_| !has_headers) {
        compiler.cubin(&third).map_err(|error| error.to_string())?;
    }
    compiler.cubin(&program_of(case).unwrap()).map_err(|error| error.to_string())
}

/// The evidence in the first case of an operation on an architecture, or the error of the compiler.
fn evidence_with(operation: &OwnOperation, axes: &OwnAxes, arch: &str) -> Result<Evidence, String> {
    let case = first_case(operation, axes, arch)?;
    Ok(evidence_of(&case, &compiled(operation, &case, arch)?))
}

fn evidence(operation: &OwnOperation, arch: &str) -> Result<String, String> {
    let found = evidence_with(operation, &OwnAxes::default(), arch)?;
    Ok(found.summary().map_or_else(|| format!("{found:?}"), str::to_owned))
}

fn statement(name: &str, text: &str) -> OwnOperation {
    OwnOperation { id: format!("gpu.own.{name}"), text: text.to_owned(), ..OwnOperation::default() }
}

fn function(function: &str, text: &str) -> OwnOperation {
    let file = Some("mine.cuh".to_owned());
    OwnOperation { file, function: Some(function.to_owned()), ..statement(function, text) }
}

/// Lines that stand for primitives of the catalogue.
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
    let cases = own::cases(DeviceLimits { multiprocessors: 132, max_threads: 1024 });
    let blocks = |name: &str| cases.iter().find(|case| case.primitive.ends_with(name)).map(|case| case.blocks.unwrap());
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
}

#[test]
fn an_operation_that_is_nothing_has_no_evidence() {
    let found = evidence(&statement("nothing", "(void)0"), "sm_90").unwrap();
    assert!(found.contains("has no loop"), "{found}");
}

/// Meaning comes from what is compiled, and not from names, comments or the text's form.
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

/// The same operations under other names of the parameter, and by helpers.
#[test]
fn uses_are_found_whatever_the_names_are() {
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
    use OwnUse::{BlockMemory, Loops, Meeting, Value, Variable};
    assert_eq!(uses("operation_s", text), [Value, BlockMemory, Meeting]);
    assert_eq!(uses("operation_v", text), [Value]);
    assert_eq!(uses("operation_l", text), [Variable, Loops]);
    assert_eq!(uses("operation_w", text), []);
    let layout = |text: &str| first_case(&function("operation", text), &OwnAxes::default(), "sm_90").unwrap().layout;
    assert_eq!(layout("__device__ void operation(Thread &t) { t.mine++; }"), Some(Layout::Private { stride: 1 }));
    assert_eq!(layout("__device__ void operation(Thread &t) { t.value++; }"), None);
}

/// Whatever words the code has, its type is the one that is asked for.
#[test]
fn the_type_asked_for_is_compiled_in() {
    let bins = "__device__ T bins[64];\n__device__ void operation_bins(Thread &t) { atomicAdd(&bins[threadIdx.x], (T)1); }";
    let asked = OwnAxes { dtypes: vec![Dtype::F32], ..OwnAxes::default() };
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
