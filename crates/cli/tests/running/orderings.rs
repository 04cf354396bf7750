//! `syncscope measure --orderings`: what each memory ordering costs, and whether a test or the memory model requires it. The
//! assertions are about messages, not about figures.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::{program, stderr};

fn measure(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(program());
    command.args(["measure", "--orderings"]).args(words).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The tables of a command that succeeds.
fn tables(folder: &Path, words: &[&str]) -> String {
    let output = measure(folder, words);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!stderr(&output).contains("damaged"), "{}", stderr(&output));
    // Each row is reported once, when the command knows everything about it.
    let told = stderr(&output).matches("note: line ").count();
    let rows = stdout(&output).lines().filter(|line| line.contains(" → ")).count();
    assert!(told <= rows, "{told} notes on {rows} rows: {}", stderr(&output));
    stdout(&output)
}

/// The line of a table that begins with `begin`, ignoring runs of spaces.
fn row<'a>(table: &'a str, begin: &str) -> &'a str {
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let found = table.lines().find(|line| squeezed(line).starts_with(begin));
    found.unwrap_or_else(|| panic!("no line begins with {begin}:\n{table}"))
}

/// An example of the repository.
fn example(name: &str) -> String {
    format!("{}/../../examples/measure/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Each ordering has a row, and no answer says more than was seen.
#[test]
fn orderings_have_a_price_and_a_need() {
    let folder = tempfile::tempdir().unwrap();
    let lock = "_Static_assert(memory_order_release == 3, \"\");\n\
                void acquire(struct thread *me) { while (atomic_exchange(me->x, 1)) syncscope_pause(); }\n\
                #ifdef OTHER\n#define STORE(x) atomic_store_explicit(x, 0, memory_order_release)\n#endif\n\
                void release(struct thread *me) { atomic_store(me->x, 0); }\n";
    fs::write(folder.path().join("lock.c"), lock).unwrap();
    let exports = ["--export-json", "table.json", "--export-markdown", "table.md", "--out", "run", "--budget", "40s"];
    let words = [&["--cpu", "lock.c", "--threads", "1"][..], &exports].concat();
    let output = measure(folder.path(), &words);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let table = stdout(&output);
    let row =
        |begin: &str| table.lines().find(|line| line.contains(begin)).unwrap_or_else(|| panic!("{begin}: {table}"));
    // A neighbour may disturb all pairs of one thread.
    let is_disturbed = row("atomic_store (seq_cst) → release").contains("pairs excluded");
    let form = if is_disturbed { "a weaker form" } else { "the cheapest form" };
    for variant in ["atomic_exchange (seq_cst) → relaxed", "atomic_store (seq_cst) → relaxed"] {
        assert!(row(variant).contains("the memory model requires it"), "{table}");
    }
    for variant in ["atomic_exchange (seq_cst) → acq_rel", "atomic_store (seq_cst) → release"] {
        assert!(row(variant).contains("not refuted"), "{table}");
    }
    if cfg!(target_arch = "x86_64") {
        let relaxed = row("atomic_exchange (seq_cst) → relaxed");
        assert!(
            relaxed.contains("same instructions") && relaxed.contains("free here; the memory model requires"),
            "{table}"
        );
        assert!(!row("atomic_store (seq_cst) → release").contains("same instructions"));
        assert!(table.contains(&format!("{form} that no test and no model refutes: line 6")), "{table}");
    }
    assert!(row("not tried: line 1").contains("does not compile"), "{table}");
    assert!(!table.contains("not needed"), "{table}");
    let json: serde_json::Value = serde_json::from_slice(&fs::read(folder.path().join("table.json")).unwrap()).unwrap();
    assert_eq!(json[0]["operation"], "cpu.own.lock");
    assert!(
        json[0]["rows"].as_array().unwrap().iter().any(|row| row["model"]["refuted"]["steps"].is_array()),
        "{json}"
    );
    assert!(fs::read_to_string(folder.path().join("table.md")).unwrap().contains("| line | ordering |"));
    let page = fs::read_to_string(folder.path().join("run/report.html")).unwrap();
    assert!(page.contains("Memory orderings</h2>") && page.contains("atomic_store (seq_cst) → release"));
    assert!(page.contains(&format!("cpu.own.lock: {form}")), "it leads the page");
}

#[test]
fn orderings_of_what_has_none_or_is_broken_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let release = "void release(struct thread *me) { atomic_store_explicit(me->x, 0, memory_order_release); }\n";
    for (acquire, said) in [
        ("while (atomic_load(me->x) < 2) {}", "fails its check as it is: hangs"),
        ("*me->counter += 1;", "fails its check as it is"),
    ] {
        fs::write(folder.path().join("a.c"), format!("void acquire(struct thread *me) {{ {acquire} }}\n{release}"))
            .unwrap();
        let output = measure(folder.path(), &["--cpu", "a.c"]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
    let counter = "static int n;\nvoid operation(struct thread *me) { __atomic_fetch_add(&n, 1, __ATOMIC_RELEASE); }\n\
                   int check(struct thread *me) { return (uint64_t)n == me->executed; }\n";
    for (setup, is_helped) in [("", true), ("void setup(struct thread *me) { n = 1; }\n", false)] {
        fs::write(folder.path().join("a.c"), format!("{counter}{setup}")).unwrap();
        let said = stderr(&measure(folder.path(), &["--cpu", "a.c"]));
        assert!(said.contains("check() returned 0") && said.contains("in a function `setup`") == is_helped, "{said}");
    }
    let output = measure(folder.path(), &["--cpu", "x = x + 1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("no memory ordering was found that can be weakened"), "{}", stderr(&output));
    let output = measure(folder.path(), &["--cpu", "cpu.lock.std_mutex"]);
    assert_eq!((output.status.code(), stderr(&output).contains("has no form")), (Some(2), true));
}

/// Code that lacks an ordering has none to weaken and is judged unchanged. Needs NVRTC, but no GPU.
#[test]
fn code_without_orderings_is_judged_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let judged = |name: &str, text: &str, more: &[&str]| {
        fs::write(folder.path().join(name), text).unwrap();
        tables(folder.path(), &[&[if name.ends_with('c') { "--cpu" } else { "--gpu" }, name], more].concat())
    };
    let lock = "__device__ void acquire(Thread &me) { while (atomicCAS((int *)&me.x, 0, 1) != 0); }\n\
                __device__ void release(Thread &me) { atomicExch((int *)&me.x, 0); }\n";
    let relaxed = "void send(struct thread *me) { atomic_store_explicit(me->x, me->sent, memory_order_relaxed); }\n\
                   void receive(struct thread *me) { while (atomic_load_explicit(me->x, memory_order_relaxed) != me->sent) {} }\n";
    for table in [judged("a.cuh", lock, &["--sass", "sm_90"]), judged("a.c", relaxed, &[])] {
        assert!(table.contains("no memory ordering was found that can be weakened"), "{table}");
        assert!(table.contains("the model refutes the code as it is (2 threads with 2 uses each):"), "{table}");
        assert!(table.contains("nothing orders them") && !table.contains("needed?"), "{table}");
    }
}

/// Floating-point numbers and vectors: a receiver that computed another value would wait for ever. Needs NVRTC, but no GPU.
#[test]
fn floating_point_numbers_are_modelled() {
    let folder = tempfile::tempdir().unwrap();
    let message = "struct Data { float4 v; float sum; };\n\
                   __device__ void send(Thread &me) { Data *const d = (Data *)me.memory;\n\
                   d->v = make_float4(1.0f, 2.0f, 3.5f, (float)me.sent);\n__threadfence();\natomicAdd(&d->sum, 1.5f); }\n\
                   __device__ void receive(Thread &me) { Data *const d = (Data *)me.memory;\n\
                   while (atomicAdd(&d->sum, 0.0f) != 1.5f * (float)me.sent) {}\n__threadfence();\nconst float4 v = d->v;\n\
                   const double half = (double)v.w / 2.0;\n\
                   const bool is_right = fmaxf(v.x, v.y) * v.z - 1.0f == 6.0f && half + half == (double)me.sent\n\
                   && (unsigned)(v.w + 0.5f) == me.sent && !(-v.z >= v.x);\n\
                   while (!is_right && atomicAdd(&d->sum, 0.0f) > 0.0f) {}\nme.value = (int)v.w; }\n";
    fs::write(folder.path().join("a.cuh"), message).unwrap();
    let table = tables(folder.path(), &["--gpu", "a.cuh", "--sass", "sm_90"]);
    for begin in ["4 __threadfence() → left out", "8 __threadfence() → left out"] {
        assert!(row(&table, begin).contains("the memory model requires it"), "{table}");
    }
    assert!(table.contains("the model does not refute the code as it is"), "{table}");
}

/// A barrier of a block in shared memory, in `me.shared` and in a variable. Needs NVRTC, but no GPU.
#[test]
fn shared_memory_is_modelled() {
    let folder = tempfile::tempdir().unwrap();
    for counter in
        ["unsigned *const c = (unsigned *)me.shared;", "__shared__ unsigned n[4]; unsigned *const c = n + 2;"]
    {
        let barrier = format!(
            "__device__ void wait(Thread &me) {{ {counter}\n__threadfence_block();\n\
             const unsigned mine = atomicAdd(c, 1), all = (mine / blockDim.x + 1) * blockDim.x;\n\
             while (*(volatile unsigned *)c < all) {{}}\n__threadfence_block(); }}\n"
        );
        fs::write(folder.path().join("a.cuh"), barrier).unwrap();
        let table = tables(folder.path(), &["--gpu", "a.cuh", "--sass", "sm_90"]);
        assert!(table.contains("the model does not refute the code as it is"), "{table}");
        for line in [2, 5] {
            let row = row(&table, &format!("{line} __threadfence_block() → left out"));
            assert!(row.contains("the memory model requires it"), "{table}");
        }
    }
}

/// Variables of the device, pauses, halves of registers, and a counter that the last arrival resets by a plain store: it has
/// observed all arrivals. Needs NVRTC, but no GPU.
#[test]
fn what_kernels_do_beside_their_orderings_is_modelled() {
    let folder = tempfile::tempdir().unwrap();
    let lock = "__device__ int l[2] = {1, 0};\n__device__ void acquire(Thread &me) { while (atomicExch(&l[1], 1)) __nanosleep(20); __threadfence(); }\n\
                __device__ void release(Thread &me) { __threadfence(); atomicExch(&l[1], l[0] - 1); }\n";
    let halves = "__device__ void send(Thread &me) {\n__threadfence();\n\
                  asm volatile(\"{ .reg .b64 t; mov.b64 t, {%1, %2}; st.relaxed.gpu.global.b64 [%0], t; }\" :: \"l\"(me.memory), \"r\"(me.sent), \"r\"(7)); }\n\
                  __device__ void receive(Thread &me) { unsigned a, b;\n\
                  do { asm volatile(\"{\\n\\t.reg .b64 t;\\n\\tld.relaxed.gpu.global.b64 t, [%2];\\n\\tmov.b64 {%0, %1}, t;\\n}\" : \"=r\"(a), \"=r\"(b) : \"l\"(me.memory)); } while (a != me.sent);\n\
                  __threadfence(); me.value = b; }\n";
    let barrier = "__device__ unsigned count, phase;\n__device__ void grid_wait(Thread &me) { __syncthreads(); if (threadIdx.x == 0) {\n__threadfence();\n\
                   if (atomicAdd(&count, 1) == gridDim.x - 1) { count = 0;\n__threadfence();\n*(volatile unsigned *)&phase = me.passed + 1; }\n\
                   else while (*(volatile unsigned *)&phase <= me.passed) {}\n__threadfence();\n} __syncthreads(); }\n";
    for (text, lines) in [(lock, &[2, 3][..]), (halves, &[2, 6]), (barrier, &[3, 5, 8])] {
        fs::write(folder.path().join("a.cuh"), text).unwrap();
        let table = tables(folder.path(), &["--gpu", "a.cuh", "--sass", "sm_90"]);
        assert!(table.contains("the model does not refute the code as it is"), "{table}");
        for line in lines {
            let row = row(&table, &format!("{line} __threadfence() → left out"));
            assert!(row.contains("the memory model requires it") && row.contains("CGAERRBAR"), "{table}");
        }
    }
}

/// Neither half of a readers-writer lock needs the fence for itself, and readers alone do not need what keeps writers apart.
#[test]
fn the_halves_of_a_lock_are_judged_together() {
    let folder = tempfile::tempdir().unwrap();
    let text = "struct b { atomic_int w, r[16]; };\n\
                void acquire(struct thread *me) { struct b *b = me->memory; int e = 0;\n\
                while (!atomic_compare_exchange_strong_explicit(&b->w, &e, 1, memory_order_relaxed, memory_order_relaxed)) e = 0;\n\
                atomic_thread_fence(memory_order_seq_cst);\n\
                for (unsigned i = 0; i < me->threads; i++) while (atomic_load_explicit(&b->r[i], memory_order_acquire)) syncscope_pause(); }\n\
                void release(struct thread *me) { struct b *b = me->memory; atomic_store_explicit(&b->w, 0, memory_order_release); }\n\
                void acquire_shared(struct thread *me) { struct b *b = me->memory; for (;;) {\n\
                atomic_store_explicit(&b->r[me->number], 1, memory_order_relaxed); atomic_thread_fence(memory_order_seq_cst);\n\
                if (!atomic_load_explicit(&b->w, memory_order_acquire)) return;\n\
                atomic_store_explicit(&b->r[me->number], 0, memory_order_relaxed); } }\n\
                void release_shared(struct thread *me) { struct b *b = me->memory;\n\
                atomic_store_explicit(&b->r[me->number], 0, memory_order_release); }\n";
    fs::write(folder.path().join("a.c"), text).unwrap();
    let table = tables(folder.path(), &["--cpu", "a.c", "--threads", "2", "--budget", "200s"]);
    let rows: Vec<&str> = table
        .lines()
        .filter(|line| line.trim_start().starts_with("4  atomic_thread_fence seq_cst → acq_rel"))
        .collect();
    assert_eq!(rows.len(), 2, "{table}");
    assert!(rows.iter().all(|row| row.contains("requires") || row.contains("seen to fail")), "{table}");
}

/// The PTX memory model requires each release and acquire of a barrier of the grid, but not a scope beyond the grid. Needs
/// NVRTC, but no GPU.
#[test]
fn orderings_of_a_barrier_of_the_grid_are_modelled() {
    let folder = tempfile::tempdir().unwrap();
    let barrier = "__device__ void grid_wait(Thread &me) {\n\
                   unsigned *const counter = (unsigned *)me.memory;\n\
                   __syncthreads();\n\
                   if (threadIdx.x == 0) {\n\
                   __threadfence_system();\n\
                   atomicAdd(counter, 1u);\n\
                   me.wait_until([&] { return *(volatile unsigned *)counter >= (me.passed + 1) * gridDim.x; });\n\
                   __threadfence();\n\
                   }\n\
                   __syncthreads();\n}\n";
    fs::write(folder.path().join("bar.cuh"), barrier).unwrap();
    let output = measure(folder.path(), &["--gpu", "bar.cuh", "--sass", "sm_90"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let table = stdout(&output);
    for (line, variant, answer) in [
        (3, "__syncthreads() → left out", "the memory model requires it"),
        (5, "__threadfence_system() → __threadfence", "not refuted"),
        (5, "__threadfence_system() → left out", "the memory model requires it"),
        (8, "__threadfence() → __threadfence_block", "the memory model requires it"),
        (8, "__threadfence() → left out", "the memory model requires it"),
        (10, "__syncthreads() → left out", "the memory model requires it"),
    ] {
        let begin = format!("{line}  {variant}");
        let row = table.lines().find(|line| line.trim_start().starts_with(&begin));
        assert!(row.is_some_and(|row| row.contains(answer)), "{begin}: {table}");
    }
    assert!(table.contains("refutes: line 5: __threadfence_system() → __threadfence (not measured)"), "{table}");
    let weak = barrier.replace("__threadfence_system();", "");
    fs::write(folder.path().join("bar.cuh"), weak).unwrap();
    let output = measure(folder.path(), &["--gpu", "bar.cuh", "--sass", "sm_90"]);
    assert!(stdout(&output).contains("the model refutes the code as it is"), "{}", stdout(&output));
}

/// In PTX an access is not atomic between threads that its scope does not include, even between fences: each scope must reach
/// the other block. Needs NVRTC, but no GPU.
#[test]
fn scopes_that_do_not_reach_the_other_block_are_required() {
    let folder = tempfile::tempdir().unwrap();
    let asked = |text: &str| {
        fs::write(folder.path().join("a.cuh"), text).unwrap();
        tables(folder.path(), &["--gpu", "a.cuh", "--sass", "sm_90"])
    };
    let flag = "cuda::atomic_ref<unsigned, cuda::thread_scope_device> f(*(unsigned *)me.memory);";
    let flags = asked(&format!(
        "#include <cuda/atomic>\n__device__ void send(Thread &me) {{\n{flag}\n__threadfence();\nf.store(me.sent, cuda::memory_order_relaxed); }}\n\
         __device__ void receive(Thread &me) {{\n{flag}\n\
         me.wait_until([&] {{ return f.load(cuda::memory_order_relaxed) == me.sent; }});\n__threadfence(); }}\n"
    ));
    assert!(flags.contains("the model does not refute the code as it is"), "{flags}");
    for line in [3, 7] {
        let scope = row(&flags, &format!("{line} thread_scope_device → thread_scope_block")).to_owned();
        assert!(scope.contains("the memory model requires it") && scope.contains(".SM"), "{flags}");
    }
    // One thread alone takes a ticket.
    let tickets = asked(
        "#include <cuda/atomic>\n__device__ void acquire(Thread &me) { unsigned *s = (unsigned *)me.memory;\n\
         cuda::atomic_ref<unsigned, cuda::thread_scope_device> next(s[0]);\n\
         const unsigned mine = next.fetch_add(1, cuda::memory_order_relaxed); unsigned now;\n\
         do asm volatile(\"ld.acquire.gpu.global.u32 %0, [%1];\" : \"=r\"(now) : \"l\"(s + 1) : \"memory\"); while (now != mine); }\n\
         __device__ void release(Thread &me) {\n\
         asm volatile(\"red.release.gpu.global.add.u32 [%0], 1;\" ::\"l\"((unsigned *)me.memory + 1) : \"memory\"); }\n",
    );
    assert!(
        row(&tickets, "3 thread_scope_device → thread_scope_block").contains("the memory model requires"),
        "{tickets}"
    );
    assert!(
        row(&tickets, "5 ld.acquire.gpu.global.u32 → ld.acquire.cluster").contains("the memory model requires"),
        "{tickets}"
    );
    // The counter by which the last block of a grid recognizes itself.
    let last = asked(
        "__device__ void grid_wait(Thread &me) { unsigned *const s = (unsigned *)me.memory;\n__syncthreads();\n\
         if (threadIdx.x == 0) {\n__threadfence();\n\
         if (atomicInc(s, gridDim.x - 1) == gridDim.x - 1) {\n__threadfence();\natomicAdd(s + 1, 1u); }\n\
         me.wait_until([&] { return *(volatile unsigned *)(s + 1) > me.passed; });\n__threadfence(); }\n__syncthreads(); }\n",
    );
    assert!(last.contains("the model does not refute the code as it is"), "{last}");
    for line in [4, 6, 9] {
        assert!(
            row(&last, &format!("{line} __threadfence() → left out")).contains("the memory model requires"),
            "{last}"
        );
    }
}

/// Orderings in the user's headers belong to the operation; a weaker one is compiled with the others.
#[test]
fn orderings_of_included_headers_are_tried() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("inc")).unwrap();
    let header = "#pragma once\n#include <stdatomic.h>\nstatic inline void unlock(atomic_int *x) {\n\
                  atomic_store_explicit(x, 0, memory_order_release); }\n";
    fs::write(folder.path().join("inc/lib.h"), header).unwrap();
    let text = "#include \"lib.h\"\nvoid acquire(struct thread *me) {\n\
                while (atomic_exchange_explicit(me->x, 1, memory_order_acquire)) syncscope_pause(); }\n\
                void release(struct thread *me) { unlock(me->x); }\n";
    fs::write(folder.path().join("a.c"), text).unwrap();
    let table = tables(folder.path(), &["--cpu", "a.c", "-I", "inc", "--threads", "1", "--budget", "30s"]);
    assert!(
        row(&table, "inc/lib.h:4 atomic_store_explicit release → relaxed").contains("the memory model requires it"),
        "{table}"
    );
    assert!(
        row(&table, "3 atomic_exchange_explicit acquire → relaxed").contains("the memory model requires it"),
        "{table}"
    );
}

/// Code for two threads runs with two in the model and the test, where the user asks for two.
#[test]
fn code_for_two_threads_is_asked_of_two() {
    let folder = tempfile::tempdir().unwrap();
    // Peterson's lock.
    let text = "struct state { _Atomic int wants[2], turn; };\n\
                void acquire(struct thread *me) {\n struct state *s = me->memory;\n\
                const int mine = me->number & 1, other = 1 - mine;\n\
                atomic_store(&s->wants[mine], 1);\n\
                atomic_store(&s->turn, other);\n\
                while (atomic_load(&s->wants[other]) && atomic_load(&s->turn) == other) syncscope_pause();\n}\n\
                void release(struct thread *me) {\n struct state *s = me->memory;\n\
                atomic_store_explicit(&s->wants[me->number & 1], 0, memory_order_release);\n}\n";
    fs::write(folder.path().join("a.c"), text).unwrap();
    let table = tables(folder.path(), &["--cpu", "a.c", "--threads", "2", "--budget", "40s"]);
    assert!(table.contains("the model does not refute the code as it is: 2 threads"), "{table}");
    assert!(!table.contains("3 threads"), "{table}");
    let release = row(&table, "11 atomic_store_explicit release → relaxed");
    assert!(release.contains("the memory model requires it"), "{table}");
    let output = measure(folder.path(), &["--cpu", "a.c", "--threads", "1,3", "--budget", "20s"]);
    assert!(!stdout(&output).contains("does not refute"), "three break it: {}", stdout(&output));
}

/// A variant that waits for ever ends, is named, and costs the others nothing; two operations are compared, each with its table.
#[test]
fn a_variant_that_hangs_is_named_and_operations_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    // Without the fence the compiler reads the word only once.
    let wait = |fence: &str| {
        format!(
            "void wait(struct thread *me) {{\n unsigned *const state = me->memory;\n\
             const unsigned mine = __atomic_add_fetch(state, 1, __ATOMIC_SEQ_CST);\n\
             const unsigned target = (mine + me->threads - 1) / me->threads * me->threads;\n\
             while ((int)(*state - target) < 0) {{\n {fence}\n }}\n}}\n"
        )
    };
    fs::write(folder.path().join("a.c"), wait("__sync_synchronize();")).unwrap();
    fs::write(folder.path().join("b.c"), wait("__atomic_thread_fence(__ATOMIC_ACQUIRE);")).unwrap();
    let table = tables(
        folder.path(),
        &["--cpu", "a.c", "--against", "b.c", "--threads", "2", "--budget", "180s", "--out", "run"],
    );
    let hangs = row(&table, "6 __sync_synchronize() → left out");
    assert!(hangs.contains("it hangs") && hangs.contains("yes: seen to fail: hangs"), "{table}");
    assert!(!row(&table, "6 __sync_synchronize() → __atomic_thread_fence").contains("hangs"), "{table}");
    assert!(table.contains("the model refutes the code as it is"), "plain accesses race: {table}");
    assert!(!table.contains("no model refutes"), "{table}");
    assert!(
        row(&table, "cpu.own.a instead: ").contains("ns") || table.contains("cpu.own.a instead: no figure"),
        "{table}"
    );
    assert!(row(&table, "cpu.own.b").len() < 20 && folder.path().join("run-2/report.html").exists());
}

/// Our own locks and barriers can be named by their ids, and one of several behind a colon. Needs NVRTC, but no GPU.
#[test]
fn locks_and_barriers_of_the_catalogue_are_asked_by_id() {
    let folder = tempfile::tempdir().unwrap();
    for (id, begin) in [
        ("gpu.lock.ticket", "8 ld.acquire.gpu.global.u32 → ld.relaxed.gpu.global.u32"),
        ("gpu.grid.hierarchical:near_counters", "58 fence.acquire.gpu → left out"),
    ] {
        let table = tables(folder.path(), &["--gpu", id, "--sass", "sm_90"]);
        assert!(table.contains("the model does not refute the code as it is"), "{id}: {table}");
        assert!(row(&table, begin).contains("the memory model requires it"), "{id}: {table}");
        assert_eq!(table.matches("the model does not refute the code as it is").count(), 1, "{id}: one operation");
    }
}

/// The output of the command for an example. Needs NVRTC, but no GPU.
fn of_example(name: &str, words: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path(), &[&["--gpu", &example(name), "--sass", "sm_90"][..], words].concat())
}

#[test]
fn the_question_about_flags_between_gpus_is_answered() {
    // Does a barrier of several GPUs need its system fence before the flags that release? A device fence is enough.
    let flags = of_example("orderings_flags.cuh", &["--blocks", "8"]);
    assert!(row(&flags, "11 __threadfence_system() → __threadfence").contains("not refuted"), "{flags}");
    assert!(row(&flags, "11 __threadfence_system() → left out").contains("the memory model requires it"), "{flags}");
    assert!(row(&flags, "13 st.release.sys.global.u32 → st.relaxed.sys.global.u32").contains("not refuted"), "{flags}");
    // With the scope of its own device, a flag is not atomic for the other device.
    assert!(
        row(&flags, "13 st.release.sys.global.u32 → st.release.gpu.global.u32").contains("the memory model requires"),
        "{flags}"
    );
    assert!(
        row(&flags, "19 ld.acquire.sys.global.u32 → ld.relaxed.sys.global.u32").contains("the memory model requires"),
        "{flags}"
    );
}

#[test]
fn the_questions_about_fences_and_clusters_are_answered() {
    // Ten fences and barriers in a row: the compiler merges none of them.
    let combine = of_example("orderings_combine.cuh", &["--blocks", "8"]);
    assert_eq!(combine.matches("→ left out").count(), 10, "{combine}");
    // A barrier of the block before one of the cluster.
    let cluster = of_example("orderings_cluster.cuh", &["--cluster", "2"]);
    assert!(row(&cluster, "4 __syncthreads() → left out").contains("not refuted"), "{cluster}");
    assert!(
        row(&cluster, "5 barrier.cluster.arrive.release.aligned").contains("the memory model requires it"),
        "{cluster}"
    );
}

#[test]
fn the_questions_about_relaxed_accesses_and_a_publication_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    // A barrier with relaxed accesses.
    let reduce = of_example("orderings_reduce.cuh", &["--blocks", "8"]);
    for relaxed in ["red.release.gpu.global.add.u32 → red.relaxed", "ld.acquire.gpu.global.u32 → ld.relaxed"] {
        assert!(
            reduce.lines().any(|line| line.contains(relaxed) && line.contains("the memory model requires it")),
            "{reduce}"
        );
    }
    // A store that releases, a fence and a store, a full fence and a store.
    let publish = example("orderings_publish.c");
    let publish = tables(folder.path(), &["--cpu", &publish, "--budget", "200s", "--out", "publish"]);
    assert!(
        row(&publish, "15 atomic_thread_fence release → left out").contains("the memory model requires it"),
        "{publish}"
    );
    assert!(row(&publish, "20 atomic_thread_fence seq_cst → acq_rel").contains("not refuted"), "{publish}");
    if cfg!(target_arch = "x86_64") {
        assert!(row(&publish, "12 atomic_store_explicit release → relaxed").contains("same instructions"), "{publish}");
        assert!(row(&publish, "20 atomic_thread_fence seq_cst → acq_rel").contains("[without"), "{publish}");
    }
}

/// A compiler for another processor yields instructions and the model's answers, but no figure.
#[test]
fn a_foreign_compiler_gives_instructions_without_prices() {
    let cross = "aarch64-linux-gnu-gcc";
    if Command::new(cross).arg("--version").output().is_err() {
        println!("not tried: there is no {cross}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(program());
    command.args(["measure", "--orderings", "--cpu", "cpu.lock.ticket"]).current_dir(folder.path());
    let output = command.env("CC", cross).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let table = stdout(&output);
    let store = row(&table, "10 atomic_store_explicit release → relaxed");
    assert!(
        store.contains("no price: for aarch64 [stlr → str]") && store.contains("the memory model requires it"),
        "{table}"
    );
}
