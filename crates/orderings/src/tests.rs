use super::*;

/// Each ordering with its variants: `7 load acquire: relaxed`.
fn orderings(source: &str, is_gpu: bool) -> Vec<String> {
    let of = |ordering: &Ordering| {
        let words: Vec<&str> = ordering.changes.iter().map(|change| &*change.words).collect();
        format!("{} {}: {}", ordering.line, ordering.name, words.join(", "))
    };
    find(source, &[], is_gpu).orderings.iter().map(of).collect()
}

/// All variants of a source.
fn variants(source: &str, is_gpu: bool) -> Vec<String> {
    let found = find(source, &[], is_gpu);
    found.orderings.iter().flat_map(|ordering| &ordering.changes).map(|change| changed(source, [change])).collect()
}

#[test]
fn the_orders_of_c_are_found_wherever_they_stand() {
    let source = "#define ORDER memory_order_release // memory_order_acquire\n\
                  void release(struct thread *me) {\n  atomic_store_explicit(\n    me->x, f(0, \"memory_order_acquire\"),\n    memory_order_seq_cst);\n}\n\
                  int e; void g() { atomic_compare_exchange_weak_explicit(&x, &e, (1, 2), memory_order_acq_rel,\n memory_order_acquire); }\n\
                  void h() { __atomic_load_n(&y, __ATOMIC_ACQUIRE); atomic_thread_fence(memory_order_acq_rel); my_load(p, memory_order_seq_cst); }";
    assert_eq!(
        orderings(source, false),
        [
            "1 release: relaxed",
            "5 atomic_store_explicit seq_cst: release, relaxed",
            "7 atomic_compare_exchange_weak_explicit acq_rel: acquire, release, relaxed",
            "8 atomic_compare_exchange_weak_explicit acquire (in vain): relaxed",
            "9 __atomic_load_n acquire: relaxed",
            "9 atomic_thread_fence acq_rel: acquire, release, left out",
            "9 my_load seq_cst: relaxed",
        ]
    );
    let all = variants(source, false);
    assert!(all.iter().any(|text| text.contains("__atomic_load_n(&y, __ATOMIC_RELAXED)")));
    assert!(all.iter().any(|text| text.contains("; ((void)0); my_load")));
    assert!(
        all.iter().all(|text| text.contains("// memory_order_acquire") && text.contains("\"memory_order_acquire\""))
    );
}

#[test]
fn an_order_that_nobody_names_is_seq_cst() {
    let source = "void f() { while (atomic_exchange(&x, g(1, 2))); atomic_store(&x, 0); atomic_compare_exchange_strong(&x, &e, 1); atomic_flag_clear(&f); }";
    assert_eq!(
        orderings(source, false),
        [
            "1 atomic_exchange (seq_cst): acq_rel, relaxed",
            "1 atomic_store (seq_cst): release, relaxed",
            "1 atomic_compare_exchange_strong (seq_cst): acq_rel, relaxed",
            "1 atomic_flag_clear (seq_cst): release, relaxed",
        ]
    );
    let all = variants(source, false);
    assert!(all[0].contains("atomic_exchange_explicit(&x, g(1, 2), memory_order_acq_rel)"), "{}", all[0]);
    assert!(all[4].contains("_strong_explicit(&x, &e, 1, memory_order_acq_rel, memory_order_acquire)"), "{}", all[4]);
    assert!(all[5].contains("_strong_explicit(&x, &e, 1, memory_order_relaxed, memory_order_relaxed)"), "{}", all[5]);
    let methods = "using std::memory_order_acquire;\nvoid f(S *s) { s->a.store(1); a.load(); a.fetch_add(1, std::memory_order::release); v.load(1); }";
    assert_eq!(
        orderings(methods, false),
        ["2 store (seq_cst): release, relaxed", "2 load (seq_cst): acquire, relaxed", "2 fetch_add release: relaxed"]
    );
    let all = variants(methods, false);
    assert!(
        all[0].contains("s->a.store(1, std::memory_order_release)")
            && all[2].contains("a.load(std::memory_order_acquire)")
    );
    assert!(all[4].contains("std::memory_order::relaxed"));
}

#[test]
fn cuda_and_ptx_have_scopes() {
    let source = "__device__ void wait() {\n __threadfence();\n __syncthreads(); /* __syncwarp(); */\n\
                  asm volatile(\"ld.acquire.gpu.global.u32 %0, [%1];\" : \"=r\"(v) : \"l\"(p) : \"memory\");\n\
                  asm(\"{ @p red.release.sys.global.add.u32 [%0], %1; \\n\\t\" \"fence.sc.cluster; membar.gl; }\" :: \"l\"(p));\n\
                  asm(\"fence.proxy.async;\"); asm(\"bar.sync 0, 64;\"); asm(\"barrier.cluster.arrive.release.aligned;\");\n\
                  cuda::atomic_ref<int, cuda::thread_scope_system> r(x); r.fetch_add(1);\n asm(\"mov.u32 %0, %clock;\"); }";
    assert_eq!(
        orderings(source, true),
        [
            "2 __threadfence(): __threadfence_block, left out",
            "3 __syncthreads(): __syncwarp, left out",
            "4 ld.acquire.gpu.global.u32: ld.relaxed.gpu.global.u32, ld.acquire.cluster.global.u32",
            "5 red.release.sys.global.add.u32: red.relaxed.sys.global.add.u32, red.release.gpu.global.add.u32",
            "5 fence.sc.cluster: fence.acq_rel.cluster, left out, fence.sc.cta",
            "5 membar.gl: membar.cta, left out",
            "6 fence.proxy.async: left out",
            "6 bar.sync: left out",
            "6 barrier.cluster.arrive.release.aligned: barrier.cluster.arrive.relaxed.aligned",
            "7 thread_scope_system: thread_scope_device",
            "7 fetch_add (seq_cst): acq_rel, relaxed",
        ]
    );
    let all = variants(source, true);
    assert!(all.iter().any(|text| text.contains("\"fence.sc.cluster;  }\"")), "an instruction goes with its semicolon");
    assert!(all.iter().any(|text| text.contains("asm(\"\"); asm(\"barrier")));
    assert!(all.iter().any(|text| text.contains("r.fetch_add(1, cuda::memory_order_acq_rel)")));
    let cpu = "void f() { asm volatile(\"mfence\" ::: \"memory\"); __asm__(\"yield\"); asm(\"dmb ish\\n\"); asm(\"bts %0, %1\" : \"+m\"(x)); }";
    assert_eq!(orderings(cpu, false), ["1 mfence: left out", "1 dmb: left out"]);
    assert!(variants(cpu, false)[1].contains("asm(\"\");"));
    assert_eq!(find(cpu, &[], false).not_tried[0].reason, "assembly");
}

#[test]
fn only_what_the_operation_reaches_counts() {
    let source = "static int get(int *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }\n#define PUT(p) \\\n __atomic_store_n(p, 0, __ATOMIC_RELEASE)\n\
                  struct lock { void take() { while (x.exchange(1)); } };\n\
                  void acquire_a(struct thread *me) { if (get(me->x)) {} }\nvoid release_a(struct thread *me) { PUT(me->x); }\n\
                  void acquire_b(struct thread *me) { l.take(); }\nvoid release_b(struct thread *me) { other(); }\n";
    let lines = |functions: &[&str]| -> Vec<u32> {
        find(source, functions, false).orderings.iter().map(|ordering| ordering.line).collect()
    };
    assert_eq!(lines(&["acquire_a", "release_a"]), [1, 3]);
    assert_eq!(lines(&["acquire_b", "release_b"]), [4]);
    assert_eq!(lines(&["release_b"]), [] as [u32; 0]);
    assert_eq!(lines(&[]).len(), 3);
}

#[test]
fn a_change_is_the_only_difference_and_changes_add_up() {
    let source = "void f() { atomic_store_explicit(&x, 1, memory_order_release); atomic_exchange(&x, 1); }";
    let found = find(source, &[], false);
    let all = changed(source, found.orderings.iter().map(|ordering| &ordering.changes[0]));
    assert_eq!(
        all,
        "void f() { atomic_store_explicit(&x, 1, memory_order_relaxed); atomic_exchange_explicit(&x, 1, memory_order_acq_rel); }"
    );
    assert!(without_meaning(source, &found.orderings[0]).contains("1,  syncscope_no_such_name );"));
    assert_eq!(find("int f(int memory_order) { return 0; }", &[], false), Found::default());
}

/// Other classes have methods with the names of a flag's methods, and orders may be arguments of a type.
#[test]
fn flags_and_arguments_of_types_have_orders() {
    let source = "struct s { std::atomic_flag f, *g[2]; std::vector<int> v; };\nusing L = Spin<std::memory_order_acquire>;\n\
                  void o(s *p) { while (p->f.test_and_set()) while (p->g[i + 1]->test()) {}\n p->f.clear(); p->v.clear(); v[0].test(); }";
    assert_eq!(
        orderings(source, false),
        [
            "2 Spin acquire: relaxed",
            "3 test_and_set (seq_cst): acq_rel, relaxed",
            "3 test (seq_cst): acquire, relaxed",
            "4 clear (seq_cst): release, relaxed",
        ]
    );
    assert!(variants(source, false).iter().any(|text| text.contains("p->f.clear(std::memory_order_release);")));
    assert!(orderings("using std::memory_order_acquire; using enum std::memory_order;", false).is_empty());
}

/// Built-in functions of NVIDIA's compiler.
#[test]
fn functions_of_nvidias_compiler_have_orders_and_scopes() {
    let source = "void f() { __nv_atomic_store_n(p, 1, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);\n\
                  __nv_atomic_compare_exchange_n(p, &e, 1, 0, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_BLOCK);\n\
                  __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_SYSTEM); }";
    assert_eq!(
        orderings(source, true),
        [
            "1 __nv_atomic_store_n release: relaxed",
            "1 __NV_THREAD_SCOPE_DEVICE: __NV_THREAD_SCOPE_CLUSTER",
            "2 __nv_atomic_compare_exchange_n acq_rel: acquire, release, relaxed",
            "2 __nv_atomic_compare_exchange_n acquire (in vain): relaxed",
            "3 __nv_atomic_thread_fence seq_cst: acq_rel, left out",
            "3 __NV_THREAD_SCOPE_SYSTEM: __NV_THREAD_SCOPE_DEVICE",
        ]
    );
    assert!(variants(source, true)[0].contains("__NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE"));
    // The scope of one thread orders nothing between threads, whatever its instructions are.
    assert!(orderings("cuda::atomic_ref<int, cuda::thread_scope_block> r(x);", true).is_empty());
}

/// Other names of the type are recognized, and orders that are not tried are named.
#[test]
fn aliases_are_orders_and_pasted_ones_are_named() {
    let alias = |declaration: &str| {
        let source = format!("{declaration}\nvoid f() {{ x.store(0, mo::release); y.load(other::acquire); }}");
        orderings(&source, false)
    };
    for declaration in ["using mo = std::memory_order;", "using mo = memory_order;", "typedef std::memory_order mo;"] {
        assert_eq!(alias(declaration), ["2 store release: relaxed"], "{declaration}");
    }
    assert!(alias("using mo = order;").is_empty());
    let pasted = "#define LOAD(p, o) atomic_load_explicit(p, memory_order_##o)\natomic_int v;\nvoid f(void) { LOAD(&v, acquire); v = 1; }";
    let found = find(pasted, &["f"], false);
    let not_tried: Vec<String> =
        found.not_tried.iter().map(|one| format!("{} {}: {}", one.line, one.name, one.reason)).collect();
    assert_eq!(
        not_tried,
        [
            "1 memory_order_: a macro pastes its order: write the whole name to have it tried",
            "3 v =: seq_cst by an operator: write it as a call to have it tried",
        ]
    );
}

/// Two orderings of one line differ in their names, and an argument of a template has the name of the template.
#[test]
fn orderings_have_names_that_tell_them_apart() {
    let source = "void f() { while (atomic_load(&a) && atomic_load(&b)) atomic_store(&c, 1);\n\
                  while (v.get<std::memory_order_acquire>() < 3 && w > memory_order_acquire) {}\nif (memory_order_release) {} }";
    assert_eq!(
        orderings(source, false),
        [
            "1 atomic_load (seq_cst) (1st): acquire, relaxed",
            "1 atomic_load (seq_cst) (2nd): acquire, relaxed",
            "1 atomic_store (seq_cst): release, relaxed",
            "2 get acquire: relaxed",
            "2 acquire: relaxed",
            "3 release: relaxed",
        ]
    );
}

/// What has no ordering to weaken is listed with what to write instead. Volatile accesses race on a CPU only.
#[test]
fn code_without_orders_is_told_what_to_write() {
    let reasons = |is_gpu| {
        let found =
            find("volatile int l;\nvoid acquire() { while (__sync_lock_test_and_set(&l, 1)); }", &["acquire"], is_gpu);
        found.not_tried.into_iter().map(|one| one.reason).collect::<Vec<_>>()
    };
    assert!(reasons(false).iter().all(|reason| reason.contains("`__atomic_` function")), "{:?}", reasons(false));
    assert_eq!(reasons(true)[0], "it names no ordering");
}
