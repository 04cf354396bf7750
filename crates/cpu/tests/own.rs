//! A user's own code: compiled by the system's compiler, found in the machine code, checked while it runs.

#![cfg(target_arch = "x86_64")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a missing requirement fails the test")]

use syncscope_core::{
    Case, Check, Dtype, Evidence, ExperimentError, Group, Laboratory as _, Layout, LockRole, OwnCheck, OwnCode,
    OwnOperation, OwnUse, Placement, Preset, Refusal, Shot, Side, SpinBudget,
};
use syncscope_cpu::CpuLaboratory;
use syncscope_cpu::primitives::own;

fn statement(name: &str, text: &str) -> OwnOperation {
    OwnOperation { id: format!("cpu.own.{name}"), text: text.to_owned(), ..OwnOperation::default() }
}

fn in_file(file: &str, function: &str, text: &str) -> OwnOperation {
    let name = format!("{}_{function}", file.replace('.', "_"));
    OwnOperation { file: Some(file.to_owned()), function: Some(function.to_owned()), ..statement(&name, text) }
}

/// An operation with what the compiler tells of it.
fn known(operation: &OwnOperation) -> Result<OwnOperation, String> {
    let candidates = operation.file.as_ref().map_or_else(Vec::new, |_| OwnOperation::candidates(&operation.text));
    let found = own::inspect(operation, &candidates, Some(Dtype::U64))?;
    Ok(operation.clone().known(&found, operation.function.as_deref()))
}

/// A laboratory that knows the operation, and a case of it.
fn case(operation: &OwnOperation, threads: u32) -> (CpuLaboratory, Case) {
    let operation = &known(operation).unwrap_or_else(|_| operation.clone());
    let code = OwnCode { operations: vec![operation.clone()], ..OwnCode::default() };
    let case = Case {
        threads: Some(threads),
        dtype: Some(Dtype::U64),
        layout: Some(if operation.uses(OwnUse::Element) { Layout::Private { stride: 8 } } else { Layout::Shared }),
        placement: Some(Placement::None),
        ..Case::new(&operation.id)
    };
    (CpuLaboratory::open().unwrap().with_own(code), case)
}

fn evidence_of((mut laboratory, case): (CpuLaboratory, Case)) -> Result<Evidence, Refusal> {
    laboratory.experiment(&case).map(|mut experiment| experiment.evidence())
}

fn summary(operation: &OwnOperation, threads: u32) -> String {
    evidence_of(case(operation, threads)).unwrap().summary().unwrap().to_owned()
}

fn check(operation: &OwnOperation) -> Check {
    check_of(|| case(operation, 2))
}

/// What the check finds.
fn check_of(made: impl Fn() -> (CpuLaboratory, Case)) -> Check {
    tries(made).next().expect("the CPUs are never free")
}

/// What the check finds in a wrong lock. On a busy machine its threads do not always meet in the lock, so it is tried again.
fn check_of_wrong(made: impl Fn() -> (CpuLaboratory, Case)) -> Check {
    let mut found = tries(made);
    let first = found.next().expect("the CPUs are never free");
    let is_failed = |check: &Check| matches!(check, Check::Failed(_));
    if is_failed(&first) { first } else { found.find(is_failed).unwrap_or(first) }
}

/// What ten tries find, without those in which other programs had the CPUs. Such a try leaves a thread on a CPU, so each try has
/// a laboratory of its own.
fn tries(made: impl Fn() -> (CpuLaboratory, Case)) -> impl Iterator<Item = Check> {
    (0..10).filter_map(move |_| {
        let (mut laboratory, case) = made();
        let mut experiment = laboratory.experiment(&case).unwrap();
        let shot = Shot { side: Side::Test, iterations: 2, pair: 0 };
        match experiment.sample(shot).and_then(|_| experiment.prove()).and_then(|()| experiment.details()) {
            Ok(_) => Some(experiment.check()),
            Err(ExperimentError::Interfered(reason)) => {
                // Shown if the test fails.
                eprintln!("{reason}");
                None
            }
            Err(defect) => Some(Check::Failed(defect.to_string())),
        }
    })
}

/// However a definition is written, nothing of ours before it contradicts it. What is not to be inlined is called.
#[test]
fn a_definition_has_its_own_linkage_exceptions_and_attributes() {
    for (file, begin, end, is_called) in [
        ("a.cpp", "extern \"C\" inline void", " noexcept", false),
        ("a.cpp", "[[nodiscard]] auto", " noexcept -> void", false),
        ("a.c", "__attribute__((noinline)) static void", "", true),
        ("a.c", "inline void", "", false),
    ] {
        let add = if file == "a.c" { "atomic_fetch_add(me->x, 1)" } else { "me->x->fetch_add(1)" };
        let text = format!("{begin} operation(struct thread *me){end} {{ {add}; }}\n");
        let found = summary(&in_file(file, "operation", &text), 1);
        assert_eq!((found.contains("call"), found.contains("lock")), (is_called, !is_called), "{text}{found}");
    }
    let lock = "extern \"C\" void acquire(thread *me) noexcept { while (me->x->exchange(1)) {} }\n\
                extern \"C\" void release(thread *me) noexcept { me->x->store(0); }\n";
    let lock = in_file("a.cpp", "acquire", lock);
    assert!(summary(&lock, 1).contains("xchg"), "{}", summary(&lock, 1));
}

/// The compiler's library has functions for operations that the processor has no instruction for.
#[test]
fn an_atomic_operation_of_the_compilers_library_is_linked() {
    let wide = "#include <atomic>\nstruct wide { long a, b; };\nstatic std::atomic<wide> object;\n\
                void operation_wide(struct thread *me) { object.store(wide{1, (long)me->number}); }";
    for (operation, dtype) in [
        (statement("increment", "x++"), Dtype::F64),
        (statement("scale", "x *= 2"), Dtype::F32),
        (in_file("wide.cpp", "operation_wide", wide), Dtype::U64),
    ] {
        let (mut laboratory, case) = case(&operation, 2);
        let case = Case { dtype: Some(dtype), ..case };
        let made = laboratory.experiment(&case);
        assert!(made.is_ok(), "{}: {:?}", operation.id, made.err());
    }
}

#[test]
fn the_instruction_of_a_line_stands_in_its_evidence() {
    for (name, line, found) in [
        ("add", "atomic_fetch_add(&x, 1)", "lock add 16/32"),
        ("capture", "value = atomic_fetch_add(&x, value)", "lock xadd 16/32"),
        ("overwritten", "value = atomic_fetch_add(&x, 1)", "lock xadd 16/32"),
        ("exchange", "value = atomic_exchange(&mine, value)", "xchg 16/32"),
        ("fence", "value++; atomic_thread_fence(memory_order_seq_cst)", "lock or 16/32"),
        ("pause", "__builtin_ia32_pause()", "pause 16/32"),
    ] {
        let summary = summary(&statement(name, line), 1);
        assert!(summary.starts_with(found), "{line}: {summary}");
    }
    // The loops themselves stay as they are, so that their instructions can be compared.
    let add = statement("unrolled", "atomic_fetch_add(&x, 1)");
    let option = OwnOperation { options: vec!["-funroll-all-loops".to_owned()], ..add };
    let pragma = "#pragma GCC optimize(\"unroll-all-loops\")\n\
                  void operation(struct thread *me) { atomic_fetch_add(me->x, 1); }";
    for (unrolled, threads, found) in [
        (option.clone(), 1, "lock add 16/32"),
        (option, 2, "lock add 2/4"),
        (in_file("unrolled.c", "operation", pragma), 1, "lock add 16/32"),
    ] {
        let summary = summary(&unrolled, threads);
        assert!(summary.starts_with(found), "{}: {summary}", unrolled.id);
    }
    assert!(summary(&statement("contended", "atomic_fetch_add(&x, 1)"), 2).starts_with("lock add 2/4"));
    let read = statement("read", "value = atomic_load_explicit(&x, memory_order_relaxed)");
    assert!(summary(&read, 2).starts_with("mov 16/32"), "threads that only read do not contend");
}

#[test]
fn cpp_has_references_and_files_have_functions() {
    let options = vec!["-std=c++20".to_owned()];
    let line = OwnOperation { options, ..statement("cpp", "x.fetch_add(1, std::memory_order_relaxed)") };
    assert!(summary(&line, 1).starts_with("lock add 16/32"), "{}", summary(&line, 1));
    assert!(summary(&OwnOperation { options: Vec::new(), ..line }, 1).starts_with("lock add 16/32"), "C has no x.");
    let text = "void operation_or(struct thread *me) { atomic_fetch_or(me->x, me->value); }";
    assert!(summary(&in_file("mine.c", "operation_or", text), 1).starts_with("lock or 16/32"));
    // A function that is not static is inlined, as in a program.
    let text = "void count(struct thread *me) { atomic_fetch_or(me->x, 1); }\n\
                void operation_helped(struct thread *me) { count(me); }";
    assert!(summary(&in_file("helped.c", "operation_helped", text), 1).starts_with("lock or 16/32"));
}

#[test]
fn errors_have_the_lines_of_the_user() {
    let error = |operation: &OwnOperation| match evidence_of(case(operation, 1)) {
        Err(Refusal::Failed(error)) => error,
        other => panic!("{other:?}"),
    };
    let line = error(&statement("undefined", "atomic_fetch_add(&y, 1)"));
    assert!(line.starts_with("statement:1:") && line.contains("undeclared"), "{line}");
    let file = error(&in_file("wrong.c", "operation", "\n\nvoid operation(struct thread *me) { nothing(); }"));
    assert!(file.contains("nothing") && file.starts_with("wrong.c:3:"), "{file}");
}

#[test]
fn a_library_that_cannot_be_loaded_says_why() {
    // An object file, which no loader takes.
    let object = OwnOperation { options: vec!["-c".to_owned()], ..statement("object", "atomic_fetch_add(&x, 1)") };
    let error = evidence_of(case(&object, 1)).unwrap_err().to_string();
    assert!(error.starts_with("the compiled operation cannot be loaded: ") && error.contains("ET_DYN"), "{error}");
}

#[test]
fn pragmas_that_a_compiler_ignores_are_told() {
    let omp = "void operation(struct thread *me) {\n#pragma omp parallel\n me->value++; }";
    let said = |text, options: &[&str]| {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        own::ignored_pragma(&OwnOperation { options, ..in_file("mine.c", "operation", text) }, None)
    };
    let ignored = said(omp, &[]).unwrap();
    assert!(ignored.starts_with("mine.c:2:") && ignored.contains("omp") && ignored.contains("-fopenmp"), "{ignored}");
    assert_eq!(said(omp, &["-fopenmp"]), None);
    assert_eq!(said("#pragma once\n#pragma pack(1)\nvoid operation(struct thread *me) { me->value++; }", &[]), None);
}

#[test]
fn checks_find_what_is_wrong() {
    let counting = |name, line| OwnOperation { check: Some(OwnCheck::Counter), ..statement(name, line) };
    assert_eq!(check(&counting("counted", "atomic_fetch_add(&x, 1)")), Check::Ok);
    assert_eq!(check(&counting("own_counter", "atomic_fetch_add(&mine, 1)")), Check::Ok);
    assert!(
        matches!(check(&counting("lost", "atomic_fetch_add(&x, 2)")), Check::Failed(text) if text.contains("expected"))
    );
    let text = "void wait_right(struct thread *me) { meet(me); }\nvoid wait_open(struct thread *me) { me->value++; }\n\
                int check(struct thread *me) { return me->executed != 0 && me->threads == 2; }";
    assert_eq!(check(&in_file("barrier.c", "wait_right", text)), Check::Ok);
    let open = check(&in_file("barrier.c", "wait_open", text));
    assert!(matches!(&open, Check::Failed(text) if text.contains("not arrived")), "{open:?}");
    let text = "void acquire(struct thread *me) { while (atomic_exchange(me->x, 1)) {} }\n\
                void release(struct thread *me) { atomic_store(me->x, 0); }\nint check(struct thread *me) { return 0; }";
    let refused = check(&in_file("lock.c", "acquire", text));
    assert!(matches!(&refused, Check::Failed(text) if text == "check() returned 0"), "{refused:?}");
}

/// Readers, a semaphore of two, and the ways in which such a lock is wrong.
#[test]
fn locks_that_admit_several_are_checked_as_such() {
    let text = "#include <pthread.h>\nstatic pthread_rwlock_t *lock(struct thread *me) { return (pthread_rwlock_t *)me->memory; }\n\
        void setup(struct thread *me) { pthread_rwlock_init(lock(me), 0); }\n\
        void acquire(struct thread *me) { pthread_rwlock_wrlock(lock(me)); }\n\
        void release(struct thread *me) { pthread_rwlock_unlock(lock(me)); }\n\
        void acquire_shared(struct thread *me) { pthread_rwlock_rdlock(lock(me)); }\n\
        void release_shared(struct thread *me) { pthread_rwlock_unlock(lock(me)); }\n\
        void acquire_shared_open(struct thread *me) { atomic_fetch_add(me->x, 1); }\n\
        void release_shared_open(struct thread *me) { atomic_fetch_sub(me->x, 1); }\n\
        void acquire_reader(struct thread *me) { pthread_rwlock_rdlock(lock(me)); }\n\
        void release_reader(struct thread *me) { pthread_rwlock_unlock(lock(me)); }\n";
    // Threads on one CPU seldom meet in the lock.
    let together = |operation: OwnOperation, is_wrong: bool| {
        let made = || {
            let (laboratory, case) = case(&operation, 2);
            (laboratory, Case { placement: Some(Placement::Close), ..case })
        };
        if is_wrong { check_of_wrong(made) } else { check_of(made) }
    };
    let of = |function: &str, is_wrong| together(in_file("readers.c", function, text), is_wrong);
    assert_eq!(of("acquire_shared", false), Check::Ok);
    assert_eq!(of("acquire", false), Check::Ok);
    let open = of("acquire_shared_open", true);
    assert!(matches!(&open, Check::Failed(text) if text.contains("begun and not ended")), "{open:?}");
    let reader = of("acquire_reader", true);
    assert!(matches!(&reader, Check::Failed(text) if text.contains("`acquire_shared`")), "{reader:?}");
    let text = "void acquire_shared_two(struct thread *me) {\n\
        for (;;) { if (atomic_fetch_add(me->x, 1) < 2) return; atomic_fetch_sub(me->x, 1); } }\n\
        void release_shared_two(struct thread *me) { atomic_fetch_sub(me->x, 1); }\n\
        void acquire_shared_one(struct thread *me) { while (atomic_exchange(me->x, 1)) syncscope_pause(); }\n\
        void release_shared_one(struct thread *me) { atomic_store(me->x, 0); }\n";
    let of = |function: &str, is_wrong| together(in_file("semaphores.c", function, text), is_wrong);
    assert_eq!(of("acquire_shared_two", false), Check::Ok);
    let one = of("acquire_shared_one", true);
    // On a busy machine it is not done in time.
    let is_found = |text: &str| text.contains("no second thread got in") || text.contains("not done after");
    assert!(matches!(&one, Check::Failed(text) if is_found(text)), "{one:?}");
}

/// Readers and writers at once: each role counts alone, and no addition is lost.
#[test]
fn a_lock_with_both_halves_is_timed_by_role() {
    let text = "#include <pthread.h>\n\
        static pthread_rwlock_t *lock(struct thread *me) { return me->memory; }\n\
        void setup(struct thread *me) { pthread_rwlock_init(lock(me), 0); }\n\
        void acquire_shared(struct thread *me) { pthread_rwlock_rdlock(lock(me)); }\n\
        void release_shared(struct thread *me) { pthread_rwlock_unlock(lock(me)); }\n";
    let right = "void acquire(struct thread *me) { pthread_rwlock_wrlock(lock(me)); }\n\
        void release(struct thread *me) { pthread_rwlock_unlock(lock(me)); }\n";
    let open = "void acquire(struct thread *me) { (void)me; }\nvoid release(struct thread *me) { (void)me; }\n";
    let made = |writers: &str, group: &str| {
        let (laboratory, case) = case(&in_file("roles.c", "acquire_shared", &format!("{text}{writers}")), 3);
        let planned = laboratory.plan(Preset::Quick);
        let mut planned = planned.iter().filter(|one| one.primitive == case.primitive && one.threads > Some(1));
        assert!(planned.clone().next().is_none() || planned.any(|one| LockRole::of(one).is_some()));
        (laboratory, Case { group: Some(Group::of_word(group)), ..case })
    };
    for group in ["2 readers", "1 writers"] {
        assert_eq!(check_of(|| made(right, group)), Check::Ok, "{group}");
    }
    let lost = check_of_wrong(|| made(open, "2 writers"));
    let is_found = |text: &str| text.contains("additions of the writers") || text.contains("begun and not ended");
    assert!(matches!(&lost, Check::Failed(text) if is_found(text)), "{lost:?}");
}

/// A user's wait has a row for each time spun before it, and one that ends early is no wait.
#[test]
fn a_wait_is_timed_by_the_time_spun_before_it() {
    let text = include_str!("../../../examples/measure/waits.c");
    let waits = |text: &str, function: &str| {
        let made = || case(&in_file("waits.c", function, text), 2);
        let (laboratory, case) = made();
        let planned = laboratory.plan(Preset::Quick);
        let planned = planned.iter().filter(|one| one.primitive == case.primitive && one.threads == Some(2)).count();
        let group = Some(SpinBudget { us: 0, competes: false }.group());
        let case = Case { group, dtype: None, layout: None, ..case };
        (planned, check_of(|| (made().0, case.clone())))
    };
    assert_eq!(waits(text, "wait_for_futex"), (8, Check::Ok));
    assert_eq!(waits(text, "wait_for_pause"), (8, Check::Ok));
    let early = format!("{text}\nvoid wait_for_nothing(struct thread *me) {{ (void)me; }}\n");
    let (_, found) = waits(&early, "wait_for_nothing");
    assert!(matches!(&found, Check::Failed(text) if text.contains("ended before the thread was woken")), "{found:?}");
}

/// Meaning comes from what is compiled, and not from names, comments or the text's form.
#[test]
fn functions_and_what_they_use_are_what_the_compiler_says() {
    let text = "// void operation_comment(struct thread *me), barrier, mine\n\
        static const char *text = \"void operation_string(struct thread *me)\";\n\
        static void add(struct thread *t) { atomic_fetch_add(t->mine, 1); }\n\
        static inline void\noperation\n(struct thread *anyone) { add(anyone); }\n\
        void operation_x(struct thread *t) { atomic_fetch_add(t->x, t->value); /* mine */ }\n\
        void operation_meets(struct thread *t) { meet(t); }\n\
        void operation_barrier_free(struct thread *t) { t->value++; }\n\
        void operation_nothing(struct thread *t) { (void)t; (void)text; }\n\
        void count(struct thread *t) { atomic_fetch_add(t->x, 1); }\n\
        void operation_helped(struct thread *t) { count(t); }\n\
        void count_barriers(void);\n\
        void operation_library(struct thread *t) { (void)t; count_barriers(); }\n\
        int system(const char *command);\n\
        static void run(void) { if (system(\"\")) count_barriers(); }\n\
        void operation_system(struct thread *t) { (void)t; run(); }\n\
        void wait_for_value(volatile int *word, int value) { while (*word != value) {} }\n\
        int operation_count;\n\
        void setup(struct thread *t) { (void)t; }\n";
    for file in ["any.c", "any.cpp"] {
        let source = OwnOperation { file: Some(file.to_owned()), ..statement("any", text) };
        let found = own::inspect(&source, &OwnOperation::candidates(text), None).unwrap();
        let uses: Vec<(&str, &[OwnUse])> = found.functions.iter().map(|(name, uses)| (&**name, &**uses)).collect();
        let expected: [(&str, &[OwnUse]); 9] = [
            ("operation", &[OwnUse::Element]),
            ("operation_x", &[OwnUse::Variable, OwnUse::Value]),
            ("operation_meets", &[OwnUse::Meeting]),
            ("operation_barrier_free", &[OwnUse::Value]),
            ("operation_nothing", &[]),
            ("operation_helped", &[OwnUse::Variable]),
            ("operation_library", &[]),
            ("operation_system", &[OwnUse::Starts]),
            ("setup", &[]),
        ];
        assert_eq!(uses, expected, "{file}");
    }
}
