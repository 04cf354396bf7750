//! `syncscope measure` from the outside, on this machine: assertions are about messages, not about figures.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::{error_line, path, program, stderr};
use syncscope_core::run_directory::RunDirectory;
use syncscope_core::{Form, Nanoseconds, Verdict, Work};

/// Measures code in a folder, with real hardware.
fn measure(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(program());
    command.arg("measure").args(words).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// An assertion, an exception and a check write their reason to standard error, of which one line is quoted.
#[test]
fn the_last_words_of_code_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let head = "#include <assert.h>\n#include <stdio.h>\n";
    let asserts =
        "void operation(struct thread *me) { fputs(\"first\\n\", stderr); assert(me->value > 9); me->value++; }\n";
    let checks = "void operation(struct thread *me) { me->value++; }\n\
        int check(struct thread *me) { fprintf(stderr, \"%d found\\n\", me->executed > 0); return 0; }\n";
    for (text, code, words) in [
        (asserts, 1, "SIGABRT (its last words: "),
        (asserts, 1, "a.c:3: operation: Assertion `me->value > 9' failed.)"),
        (checks, 3, "note: the code wrote to stderr, at last: 1 found"),
    ] {
        fs::write(folder.path().join("a.c"), format!("{head}{text}")).unwrap();
        let output = measure(folder.path(), &["--cpu", "a.c", "--threads", "1"]);
        let said = stderr(&output);
        assert!(output.status.code() == Some(code) && said.contains(words), "{said}");
        assert!(!said.contains("first"), "{said}");
    }
    let throws = "#include <stdexcept>\nstatic void ended() { throw std::runtime_error(\"too many\"); }\n\
        void operation(struct thread *me) { if (me->value++ > 4) ended(); }\n";
    fs::write(folder.path().join("a.cpp"), throws).unwrap();
    let said = stderr(&measure(folder.path(), &["--cpu", "a.cpp", "--threads", "1"]));
    assert!(said.contains("'std::runtime_error' what():  too many"), "{said}");
    let quiet = measure(folder.path(), &["--cpu", "atomic_fetch_add(&x, 1)", "--threads", "1"]);
    assert!(!stderr(&quiet).contains("wrote to stderr"), "{}", stderr(&quiet));
}

#[test]
fn a_line_is_a_primitive_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let line = ["--cpu", "atomic_fetch_add(&x, 1)", "--threads", "1", "--type", "u64", "--out", "run"];
    let against = ["--against", "atomic_exchange(&x, 1)", "--export-json", "both.json", "--export-markdown", "both.md"];
    let output = measure(folder.path(), &[&line[..], &against[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("cpu.own.line against cpu.own.line2"), "{}", stdout(&output));
    let directory = RunDirectory::open(&folder.path().join("run")).unwrap();
    let run = directory.read_run().unwrap();
    assert_eq!(
        run.own.iter().map(|own| own.text.as_str()).collect::<Vec<_>>(),
        ["atomic_fetch_add(&x, 1)", "atomic_exchange(&x, 1)"]
    );
    let rows = directory.read_rows().unwrap();
    let evidence = rows.iter().find(|row| row.case.primitive == "cpu.own.line").and_then(|row| row.evidence.clone());
    assert!(evidence.as_ref().is_some_and(|found| found.starts_with("lock add 16/32")), "{evidence:?}");
    let exported = fs::read_to_string(folder.path().join("both.json")).unwrap();
    let exported: serde_json::Value = serde_json::from_str(&exported).unwrap();
    assert!(exported["comparisons"][0]["cases"].is_array(), "{exported}");
    let answer = &exported["answers"][0];
    assert_eq!(
        [&answer["subject"], &answer["against"], &answer["unit"]],
        ["cpu.own.line", "cpu.own.line2", "ratio"],
        "{answer}"
    );
    let id = rows.iter().find(|row| row.case.primitive == "cpu.own.line").map(|row| row.case.id().0);
    assert_eq!(answer["case_ids"][0].as_str().map(str::to_owned), id, "the row of the run: {answer}");
    assert!(fs::read_to_string(folder.path().join("both.md")).unwrap().contains("cpu.own.line2"));
    let shown =
        Command::new(program()).args(["show", &path(folder.path(), "run"), "--format", "csv"]).output().unwrap();
    assert!(stdout(&shown).contains("cpu.own.line2"), "{}", stderr(&shown));
}

/// Each operation ends its own case, with a reason, and the rest is measured.
#[test]
fn code_that_goes_wrong_ends_its_own_case() {
    let folder = tempfile::tempdir().unwrap();
    let text = "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n\
        void operation_crash(struct thread *me) { *(volatile int *)8 = 1; }\n\
        void operation_exit(struct thread *me) { static volatile int calls; if (++calls > 99) exit(0); }\n\
        void operation_divides(struct thread *me) { me->value = 7 / (me->value - (T)me->number); }\n\
        void operation_endless(struct thread *me) { while (atomic_load(me->x) == 0) syncscope_pause(); }\n\
        void operation_forks(struct thread *me) { static volatile int calls; atomic_fetch_add(me->x, 1); if (++calls == 99) fork(); }\n\
        void operation_prints(struct thread *me) { puts(\"noise\"); }\n\
        void operation_fine(struct thread *me) { atomic_fetch_add(me->x, 1); }\n";
    fs::write(folder.path().join("bad.c"), text).unwrap();
    let output = measure(folder.path(), &["--cpu", "bad.c", "--threads", "1", "--out", "run", "--check", "counter"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(!stdout(&output).contains("noise"));
    let rows = RunDirectory::open(&folder.path().join("run")).unwrap().read_rows().unwrap();
    let of = |name: &str| {
        let id = format!("cpu.own.bad_{name}");
        rows.iter().filter(|row| row.case.primitive == id).map(|row| row.verdict.clone()).collect::<Vec<_>>()
    };
    let verdict = |name: &str| of(name)[0].clone();
    // Code that calls a library is measured in a process of one thread, too, and goes wrong there as well.
    let reasons = |name: &str| of(name).iter().map(|verdict| verdict.reason().to_owned()).collect::<Vec<_>>();
    assert!(
        reasons("exit").len() == 2 && reasons("exit").iter().all(|reason| reason.contains("ended with exit code 0")),
        "{:?}",
        reasons("exit")
    );
    let forks = reasons("forks");
    assert!(forks.len() == 2 && forks.iter().all(|reason| reason.contains("forks a process")), "{forks:?}");
    let prints = reasons("prints");
    assert!(prints.len() == 2 && prints[1].contains("in the variable"), "{prints:?}");
    assert!(
        matches!(verdict("crash"), Verdict::Failed(reason) if reason.contains("SIGSEGV")),
        "{:?}",
        verdict("crash")
    );
    assert!(
        matches!(verdict("exit"), Verdict::Failed(reason) if reason.contains("exit code 0")),
        "{:?}",
        verdict("exit")
    );
    assert!(
        matches!(verdict("divides"), Verdict::Failed(reason) if reason.contains("SIGFPE")),
        "{:?}",
        verdict("divides")
    );
    // A busy machine may have kept the operation from its CPU.
    let endless = verdict("endless");
    let is_told = endless.reason().contains("; a sample repeats the operation 32 times or more");
    assert!(
        matches!(endless, Verdict::TimedOut(_)) && is_told || matches!(endless, Verdict::Interfered(_)),
        "{endless:?}"
    );
    assert!(
        matches!(verdict("prints"), Verdict::Failed(reason) if reason.contains("in the variable")),
        "{:?}",
        verdict("prints")
    );
    assert!(
        rows.iter().any(|row| row.case.primitive == "cpu.own.bad_fine" && row.check == Some(true)),
        "{:?}",
        verdict("fine")
    );
}

/// Options of compilers, and the usual variables for them, are not silently without effect.
#[test]
fn options_for_the_compiler_have_their_place() {
    let folder = tempfile::tempdir().unwrap();
    for option in ["-march=native", "-lnuma", "-std=c99", "-fopenmp", "-Wall", "-g"] {
        let output = measure(folder.path(), &["--cpu", "x++", option]);
        assert_eq!(output.status.code(), Some(2), "{option}: {}", stderr(&output));
        assert!(error_line(&output).contains("CC='cc -march=native -lnuma'"), "{option}: {}", stderr(&output));
    }
    assert!(!error_line(&measure(folder.path(), &["--cpu", "x++", "--bogus"])).contains("CC="));
    assert!(error_line(&measure(folder.path(), &["--cpu", "-"])).contains("save it to a file"));
    for (code, name, said) in
        [("x++", "CFLAGS", "CC='cc -O1 -g0'"), ("x.fetch_add(1)", "CXXFLAGS", "CXX='c++ -O1 -g0'")]
    {
        let mut command = Command::new(program());
        command
            .args(["measure", "--cpu", code, "--budget", "1ms"])
            .env_remove(name)
            .current_dir(folder.path())
            .stdin(Stdio::null());
        let said_of = |command: &mut Command| stderr(&command.output().unwrap());
        assert!(!said_of(&mut command).contains("is not read"));
        let noted = said_of(command.env(name, " -O1 -g0"));
        assert!(noted.contains(&format!("note: {name} is not read; to add its options: {said}")), "{noted}");
        let (variable, usual) = if name == "CFLAGS" { ("CC", "cc") } else { ("CXX", "c++") };
        for (options, is_off) in [("-flto", true), ("-O2 -flto=1", true), ("-flto -fno-lto", false), ("-O2", false)] {
            let noted = said_of(command.env(variable, format!("{usual} {options}")));
            let told = noted.lines().filter(|line| line.starts_with("note: -flto")).collect::<Vec<_>>();
            assert_eq!(told.len(), usize::from(is_off), "{options}: {noted}");
            assert!(told.iter().all(|line| line.contains(&format!("in {variable} is switched off"))), "{noted}");
        }
    }
}

/// A figure of code that starts threads is one on the CPU of the thread that starts them.
#[test]
fn code_that_starts_threads_or_processes_is_told_of_their_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let text = "#include <stdlib.h>\nvoid operation_starts(struct thread *me) { me->value += (T)system(\"\"); }\n\
        void operation_other(struct thread *me) { me->value++; }\n";
    fs::write(folder.path().join("a.c"), text).unwrap();
    let said = stderr(&measure(folder.path(), &["--cpu", "a.c", "--threads", "1", "--budget", "1ms"]));
    let told: Vec<&str> = said.lines().filter(|line| line.contains("share the CPU of the thread")).collect();
    assert!(told.len() == 1 && told[0].starts_with("note: cpu.own.a_starts: threads and processes"), "{said}");
}

/// The code may read and print whatever it likes.
#[test]
fn what_calls_a_library_is_measured_in_a_process_of_one_thread_too() {
    let folder = tempfile::tempdir().unwrap();
    let text = "#include <stdio.h>\n#include <stdlib.h>\n#include <sys/single_threaded.h>\n\
        void setup(struct thread *me) { (void)me; puts(\"{}\"); fflush(stdout);\n\
            if (__libc_single_threaded && getchar() != EOF) abort(); }\n\
        void operation(struct thread *me) { me->value = rand(); }\n\
        int check(struct thread *me) { (void)me; return __libc_single_threaded; }\n";
    fs::write(folder.path().join("alone.c"), text).unwrap();
    let output = measure(folder.path(), &["--cpu", "alone.c", "--threads", "1", "--out", "run"]);
    let rows = RunDirectory::open(&folder.path().join("run")).unwrap().read_rows().unwrap();
    let of = |form| rows.iter().find(|row| row.case.form == form).and_then(|row| row.check);
    let checks = [of(Some(Form::OneThreadProcess)), of(None)];
    assert_eq!((rows.len(), checks), (2, [Some(true), Some(false)]), "{}", stderr(&output));
    assert!(stdout(&output).contains("one_thread_process"), "{}", stdout(&output));
}

/// Code may forbid open files, for the moment or for good, even stdout: the run ends with one error, not in silence.
#[test]
fn code_that_forbids_open_files_ends_with_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for (name, forbids) in [("soft", "none.rlim_cur = 1"), ("hard", "none.rlim_cur = none.rlim_max = 1")] {
        let text = format!(
            "#include <sys/resource.h>\nvoid setup(struct thread *me) {{ (void)me; struct rlimit none;\n\
                 getrlimit(RLIMIT_NOFILE, &none); {forbids}; setrlimit(RLIMIT_NOFILE, &none); }}\n\
             void operation(struct thread *me) {{ me->value++; }}\n"
        );
        fs::write(folder.path().join(format!("{name}.c")), text).unwrap();
        let words = ["--cpu", &format!("{name}.c"), "--threads", "1", "--budget", "60s", "--out", name];
        let output = measure(folder.path(), &words);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(error_line(&output).contains("Too many open files"), "{}", stderr(&output));
    }
}

#[test]
fn mistakes_have_one_line_and_their_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("empty.c"), "int nothing;").unwrap();
    let says = |words: &[&str], code: i32, text: &str| {
        let output = measure(folder.path(), words);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}", stderr(&output));
        assert!(error_line(&output).contains(text), "{words:?}: {}", stderr(&output));
    };
    says(&["--cpu", "missing.c"], 2, "missing.c: No such file");
    says(&["--cpu", "empty.c"], 2, "no operation: it needs a function");
    fs::write(folder.path().join("other.cpp"), "void operation(thread &me) { me.value++; }").unwrap();
    says(&["--cpu", "other.cpp"], 2, "it needs a function `void operation(struct thread *me)`");
    fs::write(folder.path().join("line\nbreak.c"), "void operation(struct thread *me) {}").unwrap();
    says(&["--cpu", "line\nbreak.c"], 2, "no quote, backslash or line break");
    // A file as editors of other systems write it.
    let text = "\u{feff}void operation(struct thread *me) {\r\n  me->value++;\r\n}";
    fs::write(folder.path().join("marked.c"), text).unwrap();
    says(&["--cpu", "marked.c", "--threads", "1", "--budget", "1ms"], 1, "left no figure");
    fs::write(folder.path().join("lock.rs"), "pub fn acquire() {}").unwrap();
    says(&["--cpu", "lock.rs"], 2, "takes C, C++ and CUDA C++");
    says(&["--cpu", "."], 2, "is a folder");
    assert!(Command::new("mkfifo").arg(folder.path().join("pipe.c")).status().unwrap().success());
    says(&["--cpu", "pipe.c"], 2, "it is not a regular file: save the output of a pipe");
    says(&["--cpu", " "], 2, "the statement is empty");
    says(&["--cpu", "x++", "--check", "queue"], 2, "counter, lock, barrier");
    says(&["--cpu", "x++", "--check", "message"], 2, "`send` and `receive`");
    says(&["--cpu", "x++", "--inside", "100ns"], 2, "CPU locks");
    says(&["--cpu", "x++", "--fail-if-slower", "2%"], 2, "--against");
    says(&["--cpu", "x++", "--gpu", "x++", "--against", "x--"], 2, "one side");
    says(&["--cpu", "x++", "--against", "cpu.lock.tickett"], 2, "no primitive is called cpu.lock.tickett");
    let budget = ["--cpu", "x++", "--against", "mine++", "--threads", "1", "--budget", "1ms"];
    says(&budget, 1, "left no figure");
    let other_side = ["--cpu", "x++", "--against", "gpu.block.syncthreads", "cpu.atomic.add"];
    says(&other_side, 2, "a primitive of the other side");
    says(&[], 2, "--cpu");
    says(&["--cpu", "x++", "--stride", "16"], 2, "--stride is for private elements");
    says(&["--gpu", "__syncthreads()", "--stride", "16"], 2, "--stride is for private elements");
    says(&["--gpu", "atomicAdd(&y, 1)"], 1, "statement(1): error: identifier \"y\" is undefined");
    says(&["--cpu", "x++", "--blocks", "2"], 2, "--blocks is for --gpu");
    says(&["--cpu", "x++", "--cluster", "2"], 2, "--cluster is for --gpu");
    says(&["--gpu", "x++", "--placement", "close"], 2, "--placement is for --cpu");
    says(&["--gpu", "x++", "--cluster", "8", "--blocks", "132"], 2, "--blocks 132 is not a multiple of --cluster 8");
    says(&["--gpu", "x++", "--cluster", "17"], 2, "between 1 and 16");
    // A run whose code does not compile does not begin.
    says(&["--cpu", "atomic_fetch_add(&y, 1)", "--threads", "1,2,2"], 1, "statement:1:");
    says(&["--cpu", "std::nothing(x)", "--threads", "1"], 1, "member");
    says(&["--cpu", "atomic_fetch_add(&x, 1", "--threads", "1"], 1, "is it complete?");
    // Headers in the working folder are found, like headers of the compiler.
    fs::write(folder.path().join("my.h"), "#error found\n").unwrap();
    for (header, error) in [
        ("my.h", "my.h:1:2: error: #error found"),
        ("./my.h", "#error found"),
        ("no.h", "--include:2:10: fatal error: no.h"),
    ] {
        says(&["--cpu", "x++", "--include", "math.h", "--include", header], 1, error);
    }
    assert_eq!(fs::read_dir(folder.path().join("syncscope-runs")).unwrap().count(), 2);
}

#[test]
fn a_launch_that_does_not_fit_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let ptx =
        ".visible .entry add(\n.param .u64 a,\n.param .u32 b\n)\n{\nret;\n}\n.visible .entry other()\n{\nret;\n}\n";
    fs::write(folder.path().join("k.ptx"), ptx).unwrap();
    fs::write(folder.path().join("host.cpp"), "extern \"C\" int launch(void *stream) { return 0; }").unwrap();
    let says = |words: &[&str], text: &str| {
        let output = measure(folder.path(), words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", stderr(&output));
        assert!(error_line(&output).contains(text), "{words:?}: {}", stderr(&output));
    };
    says(&["--gpu", "k.ptx"], "name a kernel with --kernel; it has add, other");
    says(&["--gpu", "k.ptx:mul"], "k.ptx has no kernel `mul`; it has add, other");
    let shape = ["--gpu", "k.ptx", "--kernel", "add", "--grid", "4,2", "--block", "64"];
    says(&shape, "takes 2 arguments (.u64, .u32), and 0 are given");
    says(&[&shape[..], &["--arg", "buf:4", "--arg", "f64:1"]].concat(), "argument 2 of `add` has 4 bytes");
    says(&[&shape[..], &["--threads", "32"]].concat(), "a launch has no --threads");
    says(&[&shape[..], &["--wait", "end"]].concat(), "--wait is for a file with `launch(stream)`");
    says(&["--gpu", "k.ptx:add", "--against", "host.cpp"], "a kernel is compared with a kernel");
    says(&["--gpu", "host.cpp", "--grid", "1"], "--grid, --block and --arg are for a whole kernel");
    says(&["--gpu", "x++", "--against", "host.cpp"], "launches are compared with launches");
    says(&["--gpu", "host.cpp", "--wait", "soon"], "sync_block");
    says(&["--gpu", "k.ptx", "--kernel", "add", "--grid", "4,x"], "expected X, X,Y or X,Y,Z");
    says(&["--gpu", "missing.so"], "no library that can be read");
    let kernel = "__global__ void launch(int *x) { *x = 1; }\n";
    let operation = "// wait for launch\n__device__ void operation_add(Thread &me) { me.launch(); }\n";
    let host =
        "static void wait(int *) {}\nextern \"C\" {\nint launch(void *stream) { wait(0); return 0; } // operation\n}\n";
    for (file, text) in [("k.cu", kernel), ("o.cu", operation), ("h.cu", host)] {
        fs::write(folder.path().join(file), text).unwrap();
    }
    fs::write(folder.path().join("both.cu"), [kernel, operation, host].concat()).unwrap();
    let of_host = "a launch has no --threads";
    says(&["--gpu", "h.cu", "--threads", "32"], of_host);
    says(&["--gpu", "both.cu:launch", "--threads", "32"], of_host);
    says(&["--gpu", "h.cu", "--against", "o.cu"], "launches are compared with launches");
    says(&["--gpu", "h.cu", "--against", "k.cu"], "launches are compared with launches");
    says(&["--gpu", "h.cu", "--against", "both.cu:operation_add"], "launches are compared with launches");
    says(&["--gpu", "both.cu"], "name one, both.cu:launch or both.cu:operation_add");
}

/// The exit code for each outcome, alone and at a gate. Figures do not matter here: every comparison is with an operation that
/// has none.
#[test]
fn a_gate_passes_nothing_that_it_did_not_compare() {
    let folder = tempfile::tempdir().unwrap();
    let text = "void acquire_open(struct thread *me) { (void)me; }\nvoid release_open(struct thread *me) { (void)me; }\n\
        void acquire_fine(struct thread *me) { while (atomic_exchange(me->x, 1)) {} }\n\
        void release_fine(struct thread *me) { atomic_store(me->x, 0); }\n\
        void wait_open(struct thread *me) { (void)me; }\n\
        void operation_nothing(struct thread *me) { (void)me; }\n\
        void operation_endless(struct thread *me) { (void)me; for (;;); }\n\
        void operation_add(struct thread *me) { atomic_fetch_add(me->x, 1); }\n\
        void operation_twice(struct thread *me) { atomic_fetch_add(me->x, 1); atomic_fetch_add(me->x, 1); }\n";
    fs::write(folder.path().join("all.c"), text).unwrap();
    let gate = ["--fail-if-slower", "2%"];
    let against = |other: &'static str| [&["--against", other][..], &gate].concat();
    let table: [(&str, Vec<&str>, i32, &str); 8] = [
        ("all.c:nothing", vec![], 0, ""),
        ("all.c:nothing", against("all.c:add"), 1, "elided (cpu.own.all_nothing)"),
        ("all.c:add", against("all.c:nothing"), 1, "elided (cpu.own.all_nothing)"),
        (
            "all.c:twice",
            against("all.c:add"),
            3,
            "slower by more than 2 %: cpu.own.all_twice against cpu.own.all_add, i32 ",
        ),
        ("all.c:open", vec![], 3, "protects nothing"),
        ("all.c:acquire_open", against("all.c:fine"), 3, "protects nothing"),
        ("all.c:wait_open", vec![], 3, "no thread waits in it"),
        ("all.c:endless", vec![], 1, ""),
    ];
    for (code, more, expected, said) in table {
        let words = [&["--cpu", code][..], &more, &["--threads", "1"]].concat();
        let output = measure(folder.path(), &words);
        let (out, errors) = (stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(expected), "{words:?}: {out}{errors}");
        assert!(out.contains(said) || errors.contains(said), "{words:?}: {out}{errors}");
        assert!(code != "all.c:endless" || !out.contains("elided"), "{out}{errors}");
    }
}

#[test]
fn threads_that_wait_for_each_other_for_ever_end_their_own_case() {
    let folder = tempfile::tempdir().unwrap();
    let text = "void wait_twice(struct thread *me) { meet(me); if (me->number == 0) meet(me); }\n\
        void operation_fine(struct thread *me) { atomic_fetch_add(me->x, 1); }\n";
    fs::write(folder.path().join("waits.c"), text).unwrap();
    let output = measure(folder.path(), &["--cpu", "waits.c", "--threads", "2", "--out", "run"]);
    let rows = RunDirectory::open(&folder.path().join("run")).unwrap().read_rows().unwrap();
    let [twice, fine] = ["waits_twice", "waits_fine"]
        .map(|name| rows.iter().find(|row| row.case.primitive.ends_with(name)).unwrap_or_else(|| panic!("{rows:?}")));
    assert!(twice.ns.is_none() && !matches!(twice.verdict, Verdict::Resolved), "{twice:?}: {}", stderr(&output));
    assert!(fine.pairs.is_some() || matches!(fine.verdict, Verdict::Interfered(_)), "{fine:?}");
}

#[test]
fn what_the_machine_lacks_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let says = |side: &str, (variable, value): (&str, &str), text: &str| {
        let mut command = Command::new(program());
        command.args(["measure", side, "x++", "--threads", "1"]).env(variable, value);
        let output = command.current_dir(folder.path()).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(error_line(&output).contains(text), "{}", stderr(&output));
    };
    says("--cpu", ("CC", "no-such-compiler"), "there is no compiler `no-such-compiler`");
    says("--gpu", ("CUDA_VISIBLE_DEVICES", ""), "none of the selected primitives");
}

#[test]
fn a_statement_has_a_context() {
    let folder = tempfile::tempdir().unwrap();
    let line = ["--cpu", "atomic_thread_fence(memory_order_seq_cst)", "--baseline", "mine++", "--type", "u64"];
    let output = measure(folder.path(), &[&line[..], &["--threads", "1", "--stride", "8", "--out", "run"]].concat());
    let rows = RunDirectory::open(&folder.path().join("run")).unwrap().read_rows().unwrap();
    let evidence = rows[0].evidence.clone().unwrap_or_default();
    assert!(evidence.starts_with("lock or 0/16"), "{evidence}: {}", stderr(&output));
    let refused = measure(folder.path(), &["--cpu", "meet(me)", "--baseline", "mine++"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn locks_have_work_and_messages_have_data() {
    let folder = tempfile::tempdir().unwrap();
    let text = "void acquire(struct thread *me) { while (atomic_exchange(me->x, 1)) {} }\n\
        void release(struct thread *me) { atomic_store(me->x, 0); }\n\
        void send_early(struct thread *me) { (void)me; }\nvoid receive_early(struct thread *me) { (void)me; }\n";
    fs::write(folder.path().join("both.c"), text).unwrap();
    let run = |words: &[&str], out: &str| {
        let output = measure(folder.path(), &[words, &["--out", out]].concat());
        let rows = RunDirectory::open(&folder.path().join(out)).and_then(|run| run.read_rows());
        rows.unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)))
    };
    let rows =
        run(&["--cpu", "both.c:acquire", "--threads", "1", "--inside", "0,5us,4KiB", "--outside", "20us"], "work");
    // There is no figure if the machine was too busy.
    let cost = |inside| rows.iter().find(|row| row.case.inside == inside).unwrap().ns.map(Nanoseconds::value);
    let (outside, both) = (cost(None), cost(Some(Work::Time(5_000))));
    // The loop takes at least the requested time; a busy machine only adds to it.
    assert!(outside.is_none_or(|ns| ns > 10_000.0 && both.is_none_or(|both| both > ns)), "{rows:?}");
    let walked = rows.iter().find(|row| row.case.inside == Some(Work::Memory(4_096))).unwrap();
    assert!(walked.check == Some(true) && walked.case.to_string().ends_with("4KiB inside 20us outside"), "{walked:?}");
    let early = run(&["--cpu", "both.c:early", "--threads", "2"], "early");
    assert!(
        early.iter().all(|row| row.verdict.is_failure() || matches!(row.verdict, Verdict::Interfered(_))),
        "{early:?}"
    );
}
