//! Litmus tests of C11 and C++20, repaired as in RC11: which ends of a few threads the model of `syncscope measure --orderings`
//! allows.

#![allow(clippy::unwrap_used, reason = "what a test needs and does not get fails the test")]

use std::time::Duration;

use syncscope_core::OwnOperation;
use syncscope_cpu::primitives::own::Trials;
use syncscope_orderings::Model;

/// Processor time; most of these have few executions.
const TIME: Duration = Duration::from_secs(4);

/// `W(x, 1, rel)`, `R(x, acq)`, `U(x, 1, sc)`, `F(sc)`: accesses and fences of variables that are 0 at first.
const HEAD: &str = "enum { rlx = memory_order_relaxed, acq = memory_order_acquire, rel = memory_order_release, sc = memory_order_seq_cst };\n\
    struct state { atomic_int x, y, z; int data, a, b, c, d; };\n\
    #define W(v, to, order) atomic_store_explicit(&s->v, to, order)\n#define R(v, order) atomic_load_explicit(&s->v, order)\n\
    #define U(v, by, order) atomic_fetch_add_explicit(&s->v, by, order)\n#define F(order) atomic_thread_fence(order)\n\
    #define WEAK(v, of, to, order, vain) atomic_compare_exchange_weak_explicit(&s->v, &(int){of}, to, order, vain)\n";

/// A name, what each thread does, and an end.
type Litmus = (&'static str, &'static [&'static str], &'static str);

/// Ends that sequentially consistent accesses and fences forbid.
const FORBIDDEN: [Litmus; 15] = [
    ("store buffers", &["W(x, 1, sc); s->a = R(y, sc);", "W(y, 1, sc); s->b = R(x, sc);"], "s->a == 0 && s->b == 0"),
    (
        "store buffers, fences",
        &["W(x, 1, rlx); F(sc); s->a = R(y, rlx);", "W(y, 1, rlx); F(sc); s->b = R(x, rlx);"],
        "s->a == 0 && s->b == 0",
    ),
    (
        "store buffers, a fence and accesses",
        &["W(x, 1, rlx); F(sc); s->a = R(y, rlx);", "W(y, 1, sc); F(sc); s->b = R(x, sc);"],
        "s->a == 0 && s->b == 0",
    ),
    (
        "store buffers, one fence",
        &["W(x, 1, rlx); F(sc); s->a = R(y, rlx);", "W(y, 1, sc); s->b = R(x, sc);"],
        "s->a == 0 && s->b == 0",
    ),
    (
        "store buffers of updates",
        &["U(x, 1, sc); s->a = R(y, sc);", "U(y, 1, sc); s->b = R(x, sc);"],
        "s->a == 0 && s->b == 0",
    ),
    (
        "independent readers",
        &["W(x, 1, sc);", "W(y, 1, sc);", "s->a = R(x, sc); s->b = R(y, sc);", "s->c = R(y, sc); s->d = R(x, sc);"],
        "s->a == 1 && s->b == 0 && s->c == 1 && s->d == 0",
    ),
    (
        "independent readers, fences",
        &[
            "W(x, 1, rlx);",
            "W(y, 1, rlx);",
            "s->a = R(x, rlx); F(sc); s->b = R(y, rlx);",
            "s->c = R(y, rlx); F(sc); s->d = R(x, rlx);",
        ],
        "s->a == 1 && s->b == 0 && s->c == 1 && s->d == 0",
    ),
    ("two writers", &["W(x, 1, sc); W(y, 2, sc);", "W(y, 1, sc); W(x, 2, sc);"], "s->x == 1 && s->y == 1"),
    (
        "two writers, fences",
        &["W(x, 1, rlx); F(sc); W(y, 2, rlx);", "W(y, 1, rlx); F(sc); W(x, 2, rlx);"],
        "s->x == 1 && s->y == 1",
    ),
    ("writer and reader", &["W(x, 1, sc); W(y, 1, sc);", "W(y, 2, sc); s->a = R(x, sc);"], "s->y == 2 && s->a == 0"),
    ("message", &["W(x, 1, sc); W(y, 1, rel);", "s->a = R(y, acq); s->b = R(x, sc);"], "s->a == 1 && s->b == 0"),
    ("message, all", &["W(x, 1, sc); W(y, 1, sc);", "s->a = R(y, sc); s->b = R(x, sc);"], "s->a == 1 && s->b == 0"),
    (
        "message of a third",
        &["W(x, 1, sc);", "s->a = R(x, sc); F(sc); s->b = R(y, sc);", "W(y, 1, rlx); F(sc); s->c = R(x, rlx);"],
        "s->a == 1 && s->b == 0 && s->c == 0",
    ),
    (
        "the reader's store",
        &["W(x, 1, rel);", "s->a = R(x, acq); F(sc); s->b = R(y, rlx);", "W(y, 1, rlx); F(sc); s->c = R(x, rlx);"],
        "s->a == 1 && s->b == 0 && s->c == 0",
    ),
    ("one place", &["W(x, 1, rlx);", "s->a = R(x, rlx); s->b = R(x, rlx);"], "s->a == 1 && s->b == 0"),
];

/// Ends that sequentially consistent accesses and fences do not forbid: their order may contradict who reads from whom by relaxed
/// accesses.
const ALLOWED: [Litmus; 13] = [
    (
        "message, a relaxed store",
        &["W(x, 1, sc); W(y, 1, rlx);", "s->a = R(y, acq); s->b = R(x, sc);"],
        "s->a == 1 && s->b == 0",
    ),
    (
        "message, a relaxed load",
        &["W(x, 1, sc); W(y, 1, rel);", "s->a = R(y, rlx); s->b = R(x, sc);"],
        "s->a == 1 && s->b == 0",
    ),
    (
        "message, a relaxed flag of sc data",
        &["U(x, 1, sc); W(y, 1, rlx);", "s->a = R(y, rlx); s->b = R(x, sc);"],
        "s->a == 1 && s->b == 0",
    ),
    (
        "message, a fence reads",
        &["W(x, 1, sc); W(y, 1, rlx);", "s->a = R(y, rlx); F(sc); s->b = R(x, rlx);"],
        "s->a == 1 && s->b == 0",
    ),
    ("store buffers", &["W(x, 1, rel); s->a = R(y, sc);", "W(y, 1, sc); s->b = R(x, sc);"], "s->a == 0 && s->b == 0"),
    (
        "store buffers, acquired",
        &["W(x, 1, sc); s->a = R(y, acq);", "W(y, 1, sc); s->b = R(x, sc);"],
        "s->a == 0 && s->b == 0",
    ),
    (
        "independent readers",
        &["W(x, 1, sc);", "W(y, 1, sc);", "s->a = R(x, acq); s->b = R(y, acq);", "s->c = R(y, sc); s->d = R(x, sc);"],
        "s->a == 1 && s->b == 0 && s->c == 1 && s->d == 0",
    ),
    ("two writers", &["W(x, 1, sc); W(y, 2, rel);", "W(y, 1, sc); W(x, 2, sc);"], "s->x == 1 && s->y == 1"),
    ("writer and reader", &["W(x, 1, rel); W(y, 1, rel);", "W(y, 2, sc); s->a = R(x, sc);"], "s->y == 2 && s->a == 0"),
    // Lahav et al., figure 1 (Z6.U).
    (
        "a release between",
        &["W(x, 1, sc); W(y, 1, rel);", "s->a = U(y, 1, sc); s->b = R(y, rlx);", "W(y, 3, sc); s->c = R(x, sc);"],
        "s->a == 1 && s->b == 3 && s->c == 0",
    ),
    (
        "a chain of relaxed accesses between fences",
        &[
            "W(x, 1, rlx); F(sc); W(y, 1, rlx);",
            "s->a = R(y, rlx); W(z, 1, rlx);",
            "s->b = R(z, rlx); F(sc); s->c = R(x, rlx);",
        ],
        "s->a == 1 && s->b == 1 && s->c == 0",
    ),
    (
        "a weak swap in vain",
        &["W(x, 1, rlx);", "if (R(x, rlx)) s->a = !WEAK(x, 1, 2, rlx, rlx) && R(x, rlx) == 1;"],
        "s->a == 1",
    ),
    (
        "a loop that is given up",
        &["W(x, 1, sc);", "for (int i = 0; i < 40 && !s->a; i++) s->a = R(x, sc);"],
        "s->a == 0",
    ),
];

/// What the model says of threads with these statements, which must not end with `end`.
fn asked(trials: &Trials, is_cpp: bool, threads: &[&str], end: &str, times: u32) -> Model {
    let cases: Vec<String> =
        threads.iter().enumerate().map(|(number, text)| format!("case {number}: {{ {text} }} break;\n")).collect();
    let head = if is_cpp { in_cpp() } else { HEAD.to_owned() };
    let text = format!(
        "{head}void operation(struct thread *me) {{ struct state *const s = (struct state *)me->memory; switch (me->number) {{\n{} }} }}\n\
         int check(struct thread *me) {{ struct state *const s = (struct state *)me->memory; (void)s; return !({end}); }}\n",
        cases.concat()
    );
    let own = OwnOperation {
        id: "cpu.own.litmus".to_owned(),
        text,
        file: Some(if is_cpp { "litmus.cpp" } else { "litmus.c" }.to_owned()),
        function: Some("operation".to_owned()),
        helpers: vec!["check".to_owned()],
        ..OwnOperation::default()
    };
    let said = trials.model(&own, TIME, &[(threads.len() as u32, times)]);
    said.map_or_else(Model::Cannot, |(lines, files)| Model::parse(&lines, &files))
}

/// The head in C++.
fn in_cpp() -> String {
    let names = ["memory_order_", "atomic_int", "atomic_store", "atomic_load", "atomic_fetch", "atomic_thread"];
    let names = names.iter().fold(HEAD.to_owned(), |text, name| text.replace(name, &format!("std::{name}")));
    names.replace("enum {", "constexpr std::memory_order").replace(" };\nstruct", ";\nstruct")
}

fn is_complete(model: &Model) -> bool {
    matches!(model, Model::NotRefuted(bounds) if bounds.iter().all(|bound| bound.is_complete))
}

#[test]
fn sequential_consistency_forbids() {
    let trials = Trials::new(None).unwrap();
    for (name, threads, end) in FORBIDDEN {
        let model = asked(&trials, false, threads, end, 1);
        // Four threads have too many executions.
        let holds = if threads.len() < 4 { is_complete(&model) } else { matches!(model, Model::NotRefuted(_)) };
        assert!(holds, "{name}: {model:?}");
    }
}

#[test]
fn sequential_consistency_allows() {
    let trials = Trials::new(None).unwrap();
    for (name, threads, end) in ALLOWED {
        let model = asked(&trials, false, threads, end, 1);
        assert!(matches!(&model, Model::Refuted(_)), "{name}: {model:?}");
    }
}

/// A later relaxed store of the releasing thread carries the release on in C11 but not in C++20; behind another thread's store,
/// in neither.
#[test]
fn a_release_is_carried_on_by_language() {
    let trials = Trials::new(None).unwrap();
    let message = "if (R(x, acq) == 2) s->a = s->data;";
    let writer = "s->data = 1; W(x, 1, rel); W(x, 2, rlx);";
    assert!(is_complete(&asked(&trials, false, &[writer, message], "0", 1)), "C11");
    assert!(matches!(asked(&trials, true, &[writer, message], "0", 1), Model::Refuted(_)), "C++20");
    let by_update = "s->data = 1; W(x, 1, rel); U(x, 1, rlx);";
    for is_cpp in [false, true] {
        assert!(is_complete(&asked(&trials, is_cpp, &[by_update, message], "0", 1)), "C++: {is_cpp}");
    }
    let broken = asked(&trials, false, &[writer, message, "W(x, 3, rlx);"], "0", 1);
    assert!(matches!(broken, Model::Refuted(_)), "another store may come between: {broken:?}");
}
