//! Our own locks and barriers, written in C as a user would: the model that `syncscope measure --orderings` asks must refute every
//! weaker ordering that loom refutes in the originals, and none of the files as they are.

#![allow(clippy::unwrap_used, reason = "what a test needs and does not get fails the test")]

use std::sync::Mutex;
use std::time::Duration;

use syncscope_core::{OwnCheck, OwnOperation};
use syncscope_cpu::primitives::own::{FORMS, SIZES, Trials};
use syncscope_cpu::sync::{Barrier, BarrierVisitor, LockVisitor, RawLock, visit_barriers, visit_locks};
use syncscope_orderings::{Model, Step, changed, find};

/// Processor time; the first execution that fails ends it.
const TIME: Duration = Duration::from_secs(5);

/// Processor time for what has no execution that fails.
const TIME_OF_THE_RIGHT: Duration = Duration::from_millis(300);

fn operation(file: &str, text: &str, functions: &[&str]) -> OwnOperation {
    OwnOperation {
        id: "cpu.own.tried".to_owned(),
        text: text.to_owned(),
        file: Some(file.to_owned()),
        function: functions.first().map(|name| (*name).to_owned()),
        helpers: functions.iter().skip(1).map(|name| (*name).to_owned()).collect(),
        ..OwnOperation::default()
    }
}

/// What the model says of a text with these functions.
fn asked(trials: &Trials, file: &str, text: &str, functions: &[&str], time: Duration) -> Model {
    let said = trials.model(&operation(file, text, functions), time, &SIZES);
    said.map_or_else(Model::Cannot, |(lines, files)| Model::parse(&lines, &files))
}

fn lock(text: &str) -> Model {
    asked(&Trials::new(None).unwrap(), "mine.c", text, &["acquire", "release"], TIME)
}

/// The ids of our own locks and barriers.
struct Ids(Vec<String>);

impl LockVisitor for Ids {
    fn visit<L: RawLock>(&mut self, name: &str, _: fn(u32, Duration) -> L, _: usize) {
        self.0.push(format!("cpu.lock.{name}"));
    }
}

impl BarrierVisitor for Ids {
    fn visit<B: Barrier>(&mut self, name: &str, _: fn(u32, Duration) -> B, _: u32) {
        self.0.push(format!("cpu.barrier.{name}"));
    }
}

#[test]
fn every_own_lock_and_barrier_can_be_asked_about() {
    let mut ids = Ids(Vec::new());
    visit_locks(&mut ids);
    visit_barriers(&mut ids);
    ids.0.retain(|id| !FORMS.iter().any(|(known, _)| known == id));
    assert_eq!(ids.0, [""; 0]);
}

#[test]
fn the_model_refutes_what_loom_refutes() {
    let mut work = Vec::new();
    for (path, text) in FORMS {
        let functions: &[&str] =
            if text.contains("void acquire") { &["acquire", "release"] } else { &["wait", "setup"] };
        let functions: Vec<&str> =
            functions.iter().copied().filter(|name| text.contains(&format!("void {name}("))).collect();
        let found = find(text, &functions, false);
        assert!(found.not_tried.is_empty(), "{found:?}");
        let weaker =
            found.orderings.iter().flat_map(|ordering| ordering.changes.iter().map(move |change| (ordering, change)));
        for (ordering, change) in weaker.filter(|(_, change)| change.step == Step::Weaker) {
            let name = format!("{path}:{} {} → {}", ordering.line, ordering.name, change.words);
            work.push((
                name,
                changed(text, [change]),
                functions.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(),
            ));
        }
        work.push((path.to_owned(), text.to_owned(), functions.iter().map(|name| (*name).to_owned()).collect()));
    }
    let weakened = work.iter().filter(|(name, ..)| name.contains('→')).count();
    assert_eq!(weakened, 69, "as many as `make loom-mutations` tries");
    let (left, wrong) = (Mutex::new(work), Mutex::new(Vec::new()));
    // The program around the variants is compiled once.
    let trials = Trials::new(None).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some((name, text, functions)) = left.lock().unwrap().pop() else { break };
                    let functions: Vec<&str> = functions.iter().map(String::as_str).collect();
                    let is_weaker = name.contains('→');
                    let time = if is_weaker { TIME } else { TIME_OF_THE_RIGHT };
                    let model = asked(&trials, "form.c", &text, &functions, time);
                    if matches!(model, Model::Refuted(_)) != is_weaker || matches!(model, Model::Cannot(_)) {
                        wrong.lock().unwrap().push(format!("{name}: {}", model.in_words("x")));
                    }
                }
            });
        }
    });
    assert_eq!(wrong.into_inner().unwrap(), [""; 0]);
}

/// What Dekker's lock needs: a store before a load of another variable, by a fence or by sequential consistency.
#[test]
fn a_store_before_a_load_needs_sequential_consistency() {
    let trials = Trials::new(None).unwrap();
    let dekker = |store: &str, load: &str, fence: &str, time: Duration| {
        let text = format!(
            "struct flags {{ atomic_int wants[16]; }};\n\
             void acquire(struct thread *me) {{\n struct flags *const flags = me->memory;\n for (int others = 1; others;) {{\n\
             atomic_store_explicit(&flags->wants[me->number], 1, memory_order_{store});\n {fence}\n others = 0;\n\
             for (unsigned other = 0; other < me->threads; other++)\n\
             if (other != me->number) others |= atomic_load_explicit(&flags->wants[other], memory_order_{load});\n\
             if (others) atomic_store_explicit(&flags->wants[me->number], 0, memory_order_release); }} }}\n\
             void release(struct thread *me) {{ struct flags *const flags = me->memory;\n\
             atomic_store_explicit(&flags->wants[me->number], 0, memory_order_release); }}\n"
        );
        asked(&trials, "mine.c", &text, &["acquire", "release"], time)
    };
    let holds = |model: &Model| matches!(model, Model::NotRefuted(_));
    let fence = |order: &str| format!("atomic_thread_fence(memory_order_{order});");
    for (store, load, fence) in [("seq_cst", "seq_cst", ""), ("relaxed", "acquire", &*fence("seq_cst"))] {
        assert!(holds(&dekker(store, load, fence, 2 * TIME_OF_THE_RIGHT)), "{store} {load} {fence}");
    }
    for (store, load, fence) in
        [("release", "acquire", ""), ("seq_cst", "acquire", ""), ("relaxed", "acquire", &*fence("acq_rel"))]
    {
        assert!(matches!(dekker(store, load, fence, TIME), Model::Refuted(_)), "{store} {load} {fence}");
    }
}

/// Queue locks keep a node for each thread, whose address other threads use: `_Thread_local` in C, `thread_local` with a
/// constructor in C++. The variables begin with their values in each thread, at aligned addresses.
#[test]
fn a_thread_has_variables_of_its_own_that_others_may_use() {
    let trials = Trials::new(None).unwrap();
    let of_lock = |file: &str, exchange: &str, wait: &str, time: Duration| {
        let (head, atomic_of, local) = if file.ends_with('c') {
            ("", "_Atomic(struct node *)", "static _Thread_local _Alignas(64)")
        } else {
            (
                "static int seven() { return 7; }\nusing namespace std;\n",
                "std::atomic<struct node *>",
                "alignas(64) static thread_local",
            )
        };
        let first = if file.ends_with('c') { "7" } else { "seven()" };
        let text = format!(
            "{head}struct node {{ {atomic_of} next; atomic_int locked; }};\n{local} struct node own;\n\
             {local} int first = {first};\nstatic {atomic_of} tail;\n\
             void acquire(struct thread *me) {{ (void)me;\n\
             if (first++ < 7 || (uintptr_t)&own % 64 != 0) __builtin_trap();\n\
             atomic_store_explicit(&own.next, (struct node *)0, memory_order_relaxed);\n\
             atomic_store_explicit(&own.locked, 1, memory_order_relaxed);\n\
             struct node *const before = atomic_exchange_explicit(&tail, &own, memory_order_{exchange});\n\
             if (!before) return;\n\
             atomic_store_explicit(&before->next, &own, memory_order_release);\n\
             while (atomic_load_explicit(&own.locked, memory_order_{wait})) {{}} }}\n\
             void release(struct thread *me) {{ (void)me;\nstruct node *next = &own;\n\
             if (atomic_compare_exchange_strong_explicit(&tail, &next, (struct node *)0, memory_order_acq_rel, memory_order_relaxed)) return;\n\
             while (!(next = atomic_load_explicit(&own.next, memory_order_acquire))) {{}}\n\
             atomic_store_explicit(&next->locked, 0, memory_order_release); }}\n"
        );
        asked(&trials, file, &text, &["acquire", "release"], time)
    };
    for file in ["mine.c", "mine.cpp"] {
        let right = of_lock(file, "acq_rel", "acquire", TIME_OF_THE_RIGHT);
        assert!(matches!(right, Model::NotRefuted(_)), "{file}: {right:?}");
        for (exchange, wait) in [("acquire", "acquire"), ("release", "acquire"), ("acq_rel", "relaxed")] {
            let weak = of_lock(file, exchange, wait, TIME);
            assert!(matches!(weak, Model::Refuted(_)), "{file}, {exchange}, {wait}: {weak:?}");
        }
    }
}

/// The first thread sets up and checks, so its variables are those of `setup` and `check`; a plain access of another thread races.
#[test]
fn variables_of_the_first_thread_are_those_of_setup_and_check() {
    let trials = Trials::new(None).unwrap();
    let of_operation = |body: &str| {
        let text = format!(
            "static __thread int own = 1;\nstatic int *_Atomic others;\n\
             void setup(struct thread *me) {{ (void)me; own = 4; others = &own; }}\n\
             void operation(struct thread *me) {{ if (me->number == 0 ? own != 4 : own != 1) __builtin_trap();\n{body} }}\n\
             int check(struct thread *me) {{ (void)me; return own == 4; }}\n"
        );
        asked(&trials, "mine.c", &text, &["operation", "setup", "check"], TIME_OF_THE_RIGHT)
    };
    assert!(matches!(of_operation(""), Model::NotRefuted(_)));
    let raced = of_operation("if (me->number == 1) *others = 4;");
    assert!(matches!(&raced, Model::Refuted(refuted) if refuted.kind == "race"), "{raced:?}");
}

/// Messages by a flag, in all forms in which C and C++ write atomic accesses.
#[test]
fn a_message_needs_release_and_acquire() {
    let trials = Trials::new(None).unwrap();
    let sent = |send: &str, receive: &str| {
        let text =
            format!("void send(struct thread *me) {{ {send} }}\nvoid receive(struct thread *me) {{ {receive} }}\n");
        asked(&trials, "mine.c", &text, &["send", "receive"], Duration::from_millis(500))
    };
    let fence = |order: &str| format!("__atomic_thread_fence(__ATOMIC_{order});");
    let store = |order: &str| format!("__atomic_store_n((int *)me->x, (int)me->sent, __ATOMIC_{order});");
    let load = |order: &str| format!("while (__atomic_load_n((int *)me->x, __ATOMIC_{order}) != (int)me->sent) {{}}");
    let is_refuted = |model: Model| matches!(model, Model::Refuted(_));
    let holds = |model: Model| matches!(model, Model::NotRefuted(_));
    let [with_release, with_acquire] = [fence("RELEASE") + &store("RELAXED"), load("RELAXED") + &fence("ACQUIRE")];
    for (send, receive) in [
        (store("RELEASE"), load("ACQUIRE")),
        (with_release.clone(), load("ACQUIRE")),
        (store("RELEASE"), with_acquire.clone()),
    ] {
        assert!(holds(sent(&send, &receive)), "{send} {receive}");
    }
    assert!(holds(sent("*me->x = me->sent;", "while (*me->x != me->sent) {}")), "operators of atomic variables");
    for (send, receive) in
        [(store("RELAXED"), load("ACQUIRE")), (store("RELEASE"), load("RELAXED")), (store("RELAXED"), with_acquire)]
    {
        assert!(is_refuted(sent(&send, &receive)), "{send} {receive}");
    }
    let volatile =
        sent("*(volatile int *)me->x = (int)me->sent;", "while (*(volatile int *)me->x != (int)me->sent) {}");
    assert!(is_refuted(volatile), "plain accesses race");
}

/// A read whose value goes only to the register of the thread, as the header asks of operations without another result.
#[test]
fn what_is_read_into_the_register_counts() {
    let trials = Trials::new(None).unwrap();
    let counted = |acquire: &str, release: &str, time: Duration| {
        let text = format!(
            "struct state {{ atomic_int lock; int data; }};\n\
             void operation(struct thread *me) {{ struct state *const state = me->memory;\n\
             while (atomic_exchange_explicit(&state->lock, 1, memory_order_{acquire})) {{}}\n\
             if (me->number == 0) state->data++; else me->value += state->data;\n\
             atomic_store_explicit(&state->lock, 0, memory_order_{release}); }}\n\
             int check(struct thread *me) {{ (void)me; return 1; }}\n"
        );
        asked(&trials, "mine.c", &text, &["operation", "check"], time)
    };
    assert!(matches!(counted("acquire", "release", TIME_OF_THE_RIGHT), Model::NotRefuted(_)));
    for (acquire, release) in [("relaxed", "release"), ("acquire", "relaxed")] {
        assert!(matches!(counted(acquire, release, TIME), Model::Refuted(_)), "{acquire} {release}");
    }
}

/// Mutexes of POSIX, C and C++ beside atomic variables: initialization that is checked twice. A mutex alone is a lock.
#[test]
fn mutexes_of_libraries_order_what_they_protect() {
    let trials = Trials::new(None).unwrap();
    let posix = ("mine.c", "<pthread.h>", "pthread_mutex_t m;", "pthread_mutex_lock(&m);", "pthread_mutex_unlock(&m);");
    let c = ("mine.c", "<threads.h>", "mtx_t m;", "mtx_lock(&m);", "mtx_unlock(&m);");
    let tries = ("mine.c", "<threads.h>", "mtx_t m;", "while (mtx_trylock(&m) != thrd_success) {}", "mtx_unlock(&m);");
    let cpp = ("mine.cpp", "<mutex>", "std::mutex m;", "m.lock();", "m.unlock();");
    for (file, header, declared, lock, unlock) in [posix, c, tries, cpp] {
        let once = |load: &str, store: &str, lock: &str, time: Duration| {
            let text = format!(
                "#include {header}\nstatic {declared}\nstatic int data; static atomic_int is_made;\n\
                 void operation(struct thread *me) {{\n\
                 if (!atomic_load_explicit(&is_made, memory_order_{load})) {{ {lock}\n\
                 if (!atomic_load_explicit(&is_made, memory_order_relaxed)) {{ data++;\n\
                 atomic_store_explicit(&is_made, 1, memory_order_{store}); }}\n{unlock} }}\n\
                 me->value += data; }}\n\
                 int check(struct thread *me) {{ (void)me; return data == 1; }}\n"
            );
            asked(&trials, file, &text, &["operation", "check"], time)
        };
        let right = once("acquire", "release", lock, TIME_OF_THE_RIGHT);
        assert!(matches!(right, Model::NotRefuted(_)), "{lock}: {right:?}");
        for (load, store, lock) in
            [("relaxed", "release", lock), ("acquire", "relaxed", lock), ("acquire", "release", "")]
        {
            let weak = once(load, store, lock, TIME);
            assert!(matches!(weak, Model::Refuted(_)), "{lock} {load} {store}: {weak:?}");
        }
        let text = format!(
            "#include {header}\nstatic {declared}\nvoid acquire(struct thread *me) {{ (void)me; {lock} }}\n\
             void release(struct thread *me) {{ (void)me; {unlock} }}\n"
        );
        let alone = asked(&trials, file, &text, &["acquire", "release"], TIME_OF_THE_RIGHT);
        assert!(matches!(alone, Model::NotRefuted(_)), "{lock}: {alone:?}");
    }
}

/// The kernel compares a futex with the value that it finds, which may be older than a store of another thread on its way. What
/// is written before a wake-up has arrived.
#[test]
fn a_sleeper_may_miss_a_store_that_is_on_its_way() {
    const HEADERS: &str = "#include <linux/futex.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n";
    let trials = Trials::new(None).unwrap();
    let of_lock = |text: &str, time: Duration| asked(&trials, "mine.c", text, &["acquire", "release"], time);
    let of_waiters = |store: &str, time: Duration| {
        let text = format!(
            "{HEADERS}struct state {{ atomic_uint lock, waiters; }};\n\
             void acquire(struct thread *me) {{ struct state *const state = me->memory;\n\
             while (atomic_exchange(&state->lock, 1)) {{ atomic_fetch_add(&state->waiters, 1);\n\
             syscall(SYS_futex, &state->lock, FUTEX_WAIT_PRIVATE, 1, 0, 0, 0); atomic_fetch_sub(&state->waiters, 1); }} }}\n\
             void release(struct thread *me) {{ struct state *const state = me->memory;\n\
             atomic_store_explicit(&state->lock, 0, memory_order_{store});\n\
             if (atomic_load(&state->waiters)) syscall(SYS_futex, &state->lock, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0); }}\n"
        );
        of_lock(&text, time)
    };
    let late = of_waiters("release", TIME);
    assert!(late.in_words("x").contains("waits for ever"), "{late:?}");
    let in_order = of_waiters("seq_cst", TIME_OF_THE_RIGHT);
    assert!(matches!(in_order, Model::NotRefuted(_)), "{in_order:?}");
    // The mutex of Drepper, "Futexes Are Tricky": its word holds all, so acquire and release are enough.
    let text = format!(
        "{HEADERS}void acquire(struct thread *me) {{ T seen = 0;\n\
         if (atomic_compare_exchange_strong_explicit(me->x, &seen, 1, memory_order_acquire, memory_order_relaxed)) return;\n\
         while (atomic_exchange_explicit(me->x, 2, memory_order_acquire))\n\
         syscall(SYS_futex, me->x, FUTEX_WAIT_PRIVATE, 2, 0, 0, 0); }}\n\
         void release(struct thread *me) {{ if (atomic_exchange_explicit(me->x, 0, memory_order_release) == 2)\n\
         syscall(SYS_futex, me->x, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0); }}\n"
    );
    let of_one_word = of_lock(&text, TIME_OF_THE_RIGHT);
    assert!(matches!(of_one_word, Model::NotRefuted(_)), "{of_one_word:?}");
}

/// A message that the C library copies or fills is data like any other.
#[test]
fn what_a_library_copies_is_seen() {
    let trials = Trials::new(None).unwrap();
    let sent = |copy: &str, store: &str, load: &str, time: Duration| {
        let text = format!(
            "#include <string.h>\nstruct state {{ atomic_int flag; volatile unsigned size; char data[64], from[64]; }};\n\
             void operation(struct thread *me) {{ struct state *const s = me->memory; char to[64]; const unsigned size = s->size;\n\
             if (me->number == 0 && me->sent == 1) {{ {copy}; atomic_store_explicit(&s->flag, 1, memory_order_{store}); }}\n\
             if (me->number == 1) {{ while (!atomic_load_explicit(&s->flag, memory_order_{load})) {{}} me->value = s->data[3]; }} }}\n\
             void setup(struct thread *me) {{ ((struct state *)me->memory)->size = 9; }}\n\
             int check(struct thread *me) {{ return me != 0; }}\n"
        );
        asked(&trials, "mine.c", &text, &["operation", "setup", "check"], time)
    };
    for copy in [
        "memcpy(s->data, s->from, size)",
        "memmove(s->data, s->from, size)",
        "memset(s->data, 1, size)",
        "memcpy(to, s->data, size); s->data[3] = to[3]",
    ] {
        let holds = sent(copy, "release", "acquire", TIME_OF_THE_RIGHT);
        assert!(matches!(holds, Model::NotRefuted(_)), "{copy}: {holds:?}");
        for (store, load) in [("relaxed", "acquire"), ("release", "relaxed")] {
            let breaks = sent(copy, store, load, TIME);
            assert!(breaks.in_words("x").contains("nothing orders them"), "{copy} {store} {load}: {breaks:?}");
        }
    }
}

/// Code that orders memory by instructions of the processor is not refuted for that the model does not know them.
#[test]
fn instructions_of_the_processor_are_not_judged() {
    let exchange = if cfg!(target_arch = "aarch64") { "swpa %w0, %w0, [%1]" } else { "xchgl %0, (%1)" };
    let fence = if cfg!(target_arch = "aarch64") { "dmb ish" } else { "mfence" };
    let lock_with = |acquire: &str| {
        lock(&format!(
            "void acquire(struct thread *me) {{ for (int taken = 1; taken;) {{ {acquire} }} }}\n\
             void release(struct thread *me) {{ atomic_store_explicit(me->x, 0, memory_order_release); }}\n"
        ))
    };
    let by_c = "taken = atomic_exchange_explicit(me->x, 1, memory_order_acquire);";
    for outside in [
        format!("__asm__ volatile(\"{exchange}\" : \"+r\"(taken) : \"r\"(me->x) : \"memory\");"),
        format!("{by_c} __asm__ volatile(\"{fence}\" ::: \"memory\");"),
    ] {
        let said = lock_with(&outside);
        assert!(
            matches!(&said, Model::Cannot(reason) if reason.contains("does not know its instruction")),
            "{outside}: {said:?}"
        );
    }
    let hint = if cfg!(target_arch = "aarch64") { "yield" } else { "pause" };
    let judged = lock_with(&format!("{by_c} __asm__ volatile(\"\" ::: \"memory\"); __asm__ volatile(\"{hint}\");"));
    assert!(matches!(judged, Model::NotRefuted(_)), "{judged:?}");
}

/// A plain write to an atomic variable is published by what its thread does next: nobody reads an older value behind that.
#[test]
fn plain_writes_to_atomic_variables_are_published() {
    let trials = Trials::new(None).unwrap();
    let barrier = |order: &str| {
        format!(
            "struct b {{ unsigned count, phase; }};\nvoid wait(struct thread *me) {{ struct b *b = me->memory;\n\
             const unsigned phase = __atomic_load_n(&b->phase, __ATOMIC_RELAXED);\n\
             if (__atomic_add_fetch(&b->count, 1, __ATOMIC_ACQ_REL) == me->threads) {{\n\
             b->count = 0; __atomic_store_n(&b->phase, phase + 1, __ATOMIC_{order});\n\
             }} else while (__atomic_load_n(&b->phase, __ATOMIC_ACQUIRE) == phase) {{}} }}\n"
        )
    };
    let said = asked(&trials, "mine.c", &barrier("RELEASE"), &["wait"], TIME_OF_THE_RIGHT);
    assert!(matches!(said, Model::NotRefuted(_)), "{said:?}");
    let said = asked(&trials, "mine.c", &barrier("RELAXED"), &["wait"], TIME);
    assert!(matches!(said, Model::Refuted(_)), "{said:?}");
}

/// A slot of a ring is used again only by the third message, and the model says how far it came.
#[test]
fn a_slot_that_is_used_again_needs_an_order_of_its_own() {
    let trials = Trials::new(None).unwrap();
    let ring = |seen: &str, done: &str| {
        format!(
            "struct r {{ unsigned in, out; int slots[2]; }};\nvoid operation(struct thread *me) {{ struct r *r = me->memory;\n\
             if (me->number == 0) {{ while (me->sent - __atomic_load_n(&r->out, __ATOMIC_{seen}) > 2) {{}}\n\
             r->slots[me->sent % 2] = me->sent; __atomic_store_n(&r->in, me->sent, __ATOMIC_RELEASE); }}\n\
             if (me->number == 1) {{ while (__atomic_load_n(&r->in, __ATOMIC_ACQUIRE) < me->sent) {{}}\n\
             me->value = r->slots[me->sent % 2]; __atomic_store_n(&r->out, me->sent, __ATOMIC_{done}); }} }}\n\
             int check(struct thread *me) {{ return me != 0; }}\n"
        )
    };
    let of = |seen, done, time| asked(&trials, "mine.c", &ring(seen, done), &["operation", "check"], time);
    let said = of("ACQUIRE", "RELEASE", TIME_OF_THE_RIGHT);
    assert!(said.in_words("x").contains("2 threads with 4 uses each"), "{said:?}");
    for (seen, done) in [("RELAXED", "RELEASE"), ("ACQUIRE", "RELAXED")] {
        let said = of(seen, done, TIME).in_words("x");
        assert!(said.contains("nothing orders them"), "{seen} {done}: {said}");
    }
    let many = "void operation(struct thread *me) { for (int i = 0; i < 8; i++) meet(me); }\n\
                int check(struct thread *me) { return me != 0; }\n";
    let said = asked(&trials, "mine.c", many, &["operation", "check"], Duration::ZERO).in_words("x");
    assert!(said.contains("3 threads with 1 use each (too large)") && !said.contains("4 uses"), "{said}");
}

/// What a heap and a compiler order by themselves: memory that is given out again, and the first use of a static variable. What is
/// freed must not be in use.
#[test]
fn the_heap_and_static_variables_are_those_of_a_program() {
    let trials = Trials::new(None).unwrap();
    let of = |text: &str, time: Duration| {
        let functions: &[&str] =
            if text.contains("acquire(") { &["acquire", "release"] } else { &["operation", "check", "setup"] };
        asked(&trials, "mine.cpp", text, functions, time)
    };
    let lock = |node: &str| {
        format!(
            "#include <cstdlib>\n#include <new>\nvoid acquire(struct thread *me) {{ {node} }}\n\
             void release(struct thread *me) {{ me->x->store(0, std::memory_order_release); }}\n"
        )
    };
    let taken = "while (me->x->exchange(*n, std::memory_order_acquire)) {}";
    for node in [
        format!("int *n = new int(3); {taken} delete n;"),
        format!("int *n = (int *)malloc(sizeof(int)); *n = 3; {taken} free(n);"),
        format!("int *n = (int *)calloc(9, sizeof(int)); n = (int *)realloc(n, 80); *n = n[1] + 3; {taken} free(n);"),
    ] {
        let said = of(&lock(&node), TIME_OF_THE_RIGHT);
        assert!(matches!(said, Model::NotRefuted(_)), "{node}: {said:?}");
    }
    let once = "struct big { int v; big(int v) : v(v) {} };\n__attribute__((noinline)) int seven() { return 7; }\n\
                big &get() { static big b(seven()); return b; }\n\
                void operation(struct thread *me) { if (get().v != 7) me->x->store(1, std::memory_order_release); }\n\
                void setup(struct thread *) {}\nint check(struct thread *me) { return me->x->load() == 0; }\n";
    let said = of(once, TIME_OF_THE_RIGHT);
    assert!(matches!(said, Model::NotRefuted(_)), "{said:?}");
    let constructed = "struct n { int v; }; struct q { n *first = new n{1}; q() {} } s;\n\
                       void setup(struct thread *) {}\nvoid operation(struct thread *me) { if (me->number == 0) s.first->v++; }\n\
                       int check(struct thread *me) { int *p = (int *)malloc(64); const int old = *p; *p = 5;\n\
                       return old == 0 && s.first->v == 1 + (int)me->executed / (int)me->threads; }\n";
    let said = of(&format!("#include <cstdlib>\n{constructed}"), TIME_OF_THE_RIGHT);
    assert!(matches!(said, Model::NotRefuted(_)), "{said:?}");
    let shared = "#include <memory>\nstd::shared_ptr<int> p;\nvoid setup(struct thread *) { p = std::make_shared<int>(3); }\n\
                  void operation(struct thread *me) { std::shared_ptr<int> q = p; me->value = *q; }\n\
                  int check(struct thread *) { return p.use_count() == 1; }\n";
    let said = of(shared, TIME_OF_THE_RIGHT);
    assert!(matches!(said, Model::NotRefuted(_)), "{said:?}");
    let hazard = |scan: &str, clear: &str| {
        format!(
            "struct h {{ std::atomic<int *> head, used; }};\n\
             void setup(struct thread *me) {{ ((h *)me->memory)->head.store(new int(7), std::memory_order_relaxed); }}\n\
             void operation(struct thread *me) {{ h *s = (h *)me->memory; if (me->sent > 1) return;\n\
             if (me->number == 0) {{ int *old = s->head.exchange(new int(7), std::memory_order_acq_rel);\n\
             std::atomic_thread_fence(std::memory_order_seq_cst); if (s->used.load(std::memory_order_{scan}) != old) delete old; }}\n\
             if (me->number == 1) {{ int *p = s->head.load(std::memory_order_relaxed); s->used.store(p, std::memory_order_relaxed);\n\
             std::atomic_thread_fence(std::memory_order_seq_cst);\n\
             if (s->head.load(std::memory_order_acquire) == p) me->value = *p;\n\
             s->used.store(nullptr, std::memory_order_{clear}); }} }}\n\
             int check(struct thread *me) {{ return me != 0; }}\n"
        )
    };
    assert!(matches!(of(&hazard("acquire", "release"), TIME_OF_THE_RIGHT), Model::NotRefuted(_)));
    for (scan, clear) in [("relaxed", "release"), ("acquire", "relaxed")] {
        let said = of(&hazard(scan, clear), TIME);
        assert!(said.in_words("x").contains("nothing orders them"), "{scan} {clear}: {said:?}");
    }
}

/// The functions of C++'s library stand between the user's lines and the accesses.
#[test]
fn steps_in_the_library_of_cpp_have_lines() {
    let text = "struct state { std::atomic<bool> taken; std::atomic<int *> p; int word; };\n\
                void acquire(struct thread *me) { auto *const s = static_cast<state *>(me->memory);\n\
                while (s->taken.exchange(true, std::memory_order_relaxed)) {}\n\
                std::atomic_ref<int>(s->word).fetch_add(1);\n\
                s->p = &s->word;\n}\n\
                void release(struct thread *me) { auto *const s = static_cast<state *>(me->memory);\n\
                s->taken.store(false, std::memory_order_relaxed); }\n";
    let model = asked(&Trials::new(None).unwrap(), "mine.cpp", text, &["acquire", "release"], TIME);
    let Model::Refuted(refuted) = model else { unreachable!("{model:?}") };
    let lines: Vec<u32> = refuted.steps.iter().take(5).filter_map(|step| step.line).collect();
    assert_eq!(lines, [3, 3, 4, 4, 5], "{refuted:?}");
}

/// Who waits for ever is named, and not those who wait for it in turn.
#[test]
fn the_one_that_waits_for_ever_is_named() {
    let text = "void send(struct thread *me) { atomic_store(me->x, (T)me->sent); }\nvoid receive(struct thread *me) {\n\
                while (atomic_load(me->x) <= (T)me->sent) {}\n}\n";
    let model = asked(&Trials::new(None).unwrap(), "mine.c", text, &["send", "receive"], TIME);
    assert_eq!(model.in_words("x"), "thread 1 waits for ever at line 3", "{model:?}");
}

/// The model says what it cannot do, and ends in any case.
#[test]
fn what_cannot_be_modelled_is_said() {
    let cannot = |text: &str| match lock(text) {
        Model::Cannot(reason) => reason,
        other => unreachable!("{text}: {other:?}"),
    };
    let release = "void release(struct thread *me) { (void)me; }";
    let pthread = format!(
        "#include <pthread.h>\npthread_rwlock_t m;\nvoid acquire(struct thread *me) {{ pthread_rwlock_wrlock(&m); }} {release}"
    );
    assert_eq!(cannot(&pthread), "it calls `pthread_rwlock_wrlock`");
    let twice = format!(
        "#define _GNU_SOURCE\n#include <pthread.h>\npthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;\n\
         void acquire(struct thread *me) {{ pthread_mutex_lock(&m); }} {release}"
    );
    assert_eq!(cannot(&twice), "it uses a mutex that is recursive or checks for errors");
    let mixed = "void acquire(struct thread *me) { while (__atomic_exchange_n((char *)me->x, 1, 2)); } void release(struct thread *me) { *me->x = 0; }";
    assert!(cannot(mixed).contains("sizes"), "{}", cannot(mixed));
    assert!(
        cannot("void acquire(struct thread *me) { nonsense } void release(struct thread *me) {}").contains("mine.c:1")
    );
    let wide = "void acquire(struct thread *me) { while (__atomic_load_n((unsigned __int128 *)me->memory, 0)) {} } void release(struct thread *me) { (void)me; }";
    assert_eq!(cannot(wide), "it has atomic accesses to 16 bytes");
    let deadlock =
        lock(&format!("void acquire(struct thread *me) {{ while (atomic_exchange(me->x, 1)) {{}} }} {release}"));
    assert!(deadlock.in_words("x").contains("waits for ever at line 1"), "{deadlock:?}");
    let crash = lock(&format!(
        "void acquire(struct thread *me) {{ if (atomic_exchange(me->x, 1)) __builtin_trap(); }} {release}"
    ));
    assert!(crash.in_words("x").contains("crashes") || crash.in_words("x").contains("nothing orders"), "{crash:?}");
    let trials = Trials::new(None).unwrap();
    let endless = asked(
        &trials,
        "mine.c",
        &format!("void acquire(struct thread *me) {{ for (volatile int on = 1; on;) {{}} }} {release}"),
        &["acquire", "release"],
        Duration::from_millis(100),
    );
    assert!(endless.in_words("x").contains("did not end"), "{endless:?}");
    let nothing = asked(&trials, "mine.c", "void operation(struct thread *me) {}", &["operation"], TIME);
    assert_eq!(nothing, Model::Cannot("nothing about it is checked: write a function `check`".to_owned()));
    assert_eq!(operation("a.c", "", &["wait"]).checked(), Some(OwnCheck::Barrier));
}

/// A lock that keeps nobody out.
const FREE: &str = "void acquire(struct thread *me) { (void)me; } void release(struct thread *me) { (void)me; }";

/// On this machine, a lock that changes what it protects is seen to fail and one that keeps all out to hang; a good one passes.
#[test]
fn threads_of_this_machine_see_what_is_broken() {
    let tried = |text: &str| {
        let trials = Trials::new(None).unwrap();
        trials.stress(&operation("mine.c", text, &["acquire", "release"]), Duration::from_millis(500), &[], 2)
    };
    // Under emulation, the compiler is the host's.
    if cfg!(target_arch = "aarch64") && tried(FREE) == Err("its code is for x86_64".to_owned()) {
        return;
    }
    let tested = |text: &str| tried(text).unwrap();
    let release = "void release(struct thread *me) { atomic_store_explicit(me->x, 0, memory_order_release); }";
    let good = tested(&format!(
        "void acquire(struct thread *me) {{ while (atomic_exchange(me->x, 1)) syncscope_pause(); }} {release}"
    ));
    assert!(good.starts_with("passed "), "{good}");
    let open = tested(&format!("void acquire(struct thread *me) {{ *me->counter += 1; }} {release}"));
    assert!(open.starts_with("failed "), "{open}");
    let closed =
        tested(&format!("void acquire(struct thread *me) {{ while (atomic_load(me->x) < 2) {{}} }} {release}"));
    assert!(closed.starts_with("hangs "), "{closed}");
}
