//! What a user writes, compiled and decoded: the instruction of the line stands in the evidence, and errors have the line of the
//! user. Needs NVRTC, but no GPU.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a missing requirement fails the test")]

use syncscope_core::{Case, OwnAxes, OwnCheck, OwnOperation};
use syncscope_gpu::compile::{Cache, Compiler};
use syncscope_gpu::discovery::Surroundings;
use syncscope_gpu::nvrtc::Nvrtc;
use syncscope_gpu::{DeviceLimits, evidence_of, headers, own, program_of, third_loop_of};

/// The evidence in the first case of an operation on an architecture, or the error of the compiler.
fn evidence(operation: &OwnOperation, arch: &str) -> Result<String, String> {
    own::define(std::slice::from_ref(operation), &OwnAxes::default());
    let limits = DeviceLimits { multiprocessors: 132, max_threads: 1024 };
    let case: Case = own::cases(limits).into_iter().find(|case| case.primitive == operation.id).unwrap();
    let nvrtc = Nvrtc::find(&Surroundings::of_process(), None).unwrap();
    let mut compiler = Compiler::new(nvrtc, Cache::of_user(), arch.to_owned(), headers());
    let cubin = compiler.cubin(&program_of(&case).unwrap()).map_err(|error| error.to_string())?;
    // With the vendor's headers, each program takes seconds.
    let has_headers = [&operation.text, &operation.includes].iter().any(|text| text.contains("#include"));
    if let Some(third) = third_loop_of(&case).filter(|_| !has_headers) {
        compiler.cubin(&third).map_err(|error| error.to_string())?;
    }
    let found = evidence_of(&case, &cubin);
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
                atomicAdd((u32 *)me.memory, 1u);\n\
                me.wait_until([&] { return *(volatile u32 *)me.memory >= (me.passed + 1) * gridDim.x; });\n\
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
