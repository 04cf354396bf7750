//! Nothing is left, no process, no file and no lock, whatever a compiler or measured code does and whoever is killed.

use std::time::{Duration, Instant};

use syncscope_core::Form;
use syncscope_core::run::Status;

use crate::traces::{LONG, Place, code_within, is_there, parent_of, send, until};

/// Compilers that never end by themselves.
const COMPILERS: [(&str, &str); 5] = [
    ("hangs", "exec sleep 600"),
    ("starts another", "sleep 600 & wait"),
    ("has a session", "setsid sleep 600 & trap '' TERM INT; sleep 600"),
    ("ends before what it started", "(setsid sleep 600 >/dev/null 2>&1 &) ; sleep 600"),
    ("talks", "exec yes error >&2"),
];

#[test]
fn a_compiler_that_does_not_end_leaves_nothing() {
    for (what, script) in COMPILERS {
        let place = Place::new();
        let mut command = place.command(&["measure", "--cpu", "x++", "--threads", "1"]);
        command.env("CC", place.compiler(script)).env("SYNCSCOPE_STEP_LIMIT", "3s");
        let mut child = command.spawn().unwrap();
        let code = code_within(&mut child, LONG, &place);
        assert_eq!(code, Some(1), "{what}: {}", place.errors());
        assert!(place.errors().contains(if what == "talks" { "wrote messages without end" } else { "within 3s" }));
        place.assert_empty(what);
    }
}

/// The command is killed while its compiler runs: the command itself, the process that measures, or the whole group.
#[test]
fn a_compiler_ends_with_the_command() {
    for (what, script) in &COMPILERS[..4] {
        for whom in ["the command", "its child", "its grandchild", "the group"] {
            let place = Place::new();
            let mut command = place.command(&["measure", "--cpu", "x++", "--threads", "1"]);
            let mut child = command.env("CC", place.compiler(&format!("touch begun; {script}"))).spawn().unwrap();
            until("the compiler runs", || is_there(&place.path("begun")));
            let command = child.id().cast_signed();
            std::fs::remove_file(place.path("begun")).unwrap();
            let of = |parent: i32| {
                let all = place.processes();
                all.into_iter().map(|(process, _)| process).find(|process| parent_of(*process) == parent)
            };
            send(
                match whom {
                    "the command" => command,
                    "its child" => of(command).unwrap(),
                    "its grandchild" => of(of(command).unwrap()).unwrap(),
                    _ => -command,
                },
                libc::SIGKILL,
            );
            if whom.starts_with("its") {
                // Another process compiles the code again.
                until("the next compiler runs", || is_there(&place.path("begun")));
                send(command, libc::SIGKILL);
            }
            child.wait().unwrap();
            place.assert_empty(&format!("a compiler that {what}, {whom} killed"));
        }
    }
}

/// What measured code leaves behind neither outlives the run nor changes its files.
#[test]
fn measured_code_leaves_nothing_and_changes_nothing_that_is_written() {
    for (what, code) in codes_that_leave_something().into_iter().filter(|(what, _)| *what != STOPS) {
        assert_nothing_is_left(what, &code);
    }
}

/// The case takes as long as a step may.
#[test]
fn code_that_stops_its_parent_ends_its_own_case() {
    let (what, code) = codes_that_leave_something().into_iter().find(|(what, _)| *what == STOPS).unwrap();
    assert_nothing_is_left(what, &code);
}

const STOPS: &str = "its parent stopped";

fn codes_that_leave_something() -> [(&'static str, String); 7] {
    const FINE: &str = "void operation(struct thread *me) { atomic_fetch_add(me->x, 1); }";
    const ONCE: &str = "static volatile int n; if (n++ != 100) return;";
    [
        (
            "a destructor that aborts",
            format!("#include <stdlib.h>\n__attribute__((destructor)) static void d(void) {{ abort(); }}\n{FINE}"),
        ),
        (
            "an exit handler that loops",
            format!(
                "#include <stdlib.h>\nstatic void l(void) {{ for (;;); }}\n__attribute__((constructor)) static void c(void) {{ atexit(l); }}\n{FINE}"
            ),
        ),
        (
            "another working folder",
            format!(
                "#include <unistd.h>\nvoid operation(struct thread *me) {{ {ONCE} if (chdir(\"elsewhere\")) return; }}"
            ),
        ),
        (
            "a process",
            format!(
                "#include <unistd.h>\nvoid operation(struct thread *me) {{ {ONCE} if (fork() == 0) {{ sleep(600); _exit(0); }} }}"
            ),
        ),
        (
            "a process of its own session that ignores signals",
            format!(
                "#include <unistd.h>\n#include <signal.h>\nvoid operation(struct thread *me) {{ {ONCE} if (fork() == 0) {{ setsid(); \
                 for (int s = 1; s < 32; s++) signal(s, SIG_IGN); if (fork() == 0) sleep(600); _exit(0); }} }}"
            ),
        ),
        (
            STOPS,
            format!(
                "#include <unistd.h>\n#include <signal.h>\nvoid operation(struct thread *me) {{ {ONCE} kill(getppid(), SIGSTOP); }}"
            ),
        ),
        (
            "a file in the folder of temporary files",
            format!(
                "#include <stdio.h>\n#include <stdlib.h>\n__attribute__((constructor)) static void c(void) {{ char p[4096]; \
                 snprintf(p, sizeof p, \"%s/left\", getenv(\"TMPDIR\")); fclose(fopen(p, \"w\")); }}\n{FINE}"
            ),
        ),
    ]
}

fn assert_nothing_is_left(what: &str, code: &str) {
    let place = Place::new();
    place.write("code.c", code);
    std::fs::create_dir(place.path("elsewhere")).unwrap();
    let line = "measure --cpu code.c --threads 1 --type u64 --export-json x.json";
    let mut child = place.command(&line.split(' ').collect::<Vec<_>>()).spawn().unwrap();
    let code = code_within(&mut child, LONG, &place);
    place.assert_empty(what);
    let run = place.run();
    assert_eq!(run.read_run().unwrap().status, Status::Done, "{what}: {}", place.errors());
    assert!(run.report().is_file() && place.path("x.json").is_file(), "{what}");
    let rows = run.read_rows().unwrap();
    let (alone, usual): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.case.form == Some(Form::OneThreadProcess));
    assert!(usual.len() == 1 && rows.iter().all(|row| !row.provisional), "{what}: {rows:?}");
    assert!(usual[0].ns.is_some(), "{what}: {rows:?}");
    // Code that calls a library is measured in a process of one thread, too. The parent of that process measures: code that
    // stops its parent has ended its own case, at the limit of a step.
    let stops = what == STOPS;
    assert!(alone.iter().all(|row| row.ns.is_some() != stops), "{what}: {rows:?}");
    assert_eq!(code, Some(if stops { 3 } else { 0 }), "{what}: {}", place.errors());
    assert_eq!(std::fs::read_dir(place.path("elsewhere")).unwrap().count(), 0, "{what}");
}

/// Nothing is left either where the command itself is killed.
#[test]
fn what_measured_code_started_ends_with_the_command() {
    let place = Place::new();
    let code = "#include <unistd.h>\n#include <signal.h>\n\
                void operation(struct thread *me) { static volatile int n; if (n++ != 100) return; kill(getppid(), SIGSTOP); \
                if (fork() == 0) { setsid(); if (fork() == 0) { execlp(\"sleep\", \"sleep\", \"600\", (char *)0); } _exit(0); } }";
    place.write("code.c", code);
    let words = ["measure", "--cpu", "code.c", "--threads", "1", "--type", "u64"];
    let mut child = place.command(&words).spawn().unwrap();
    until("its child runs", || place.processes().iter().any(|(_, words)| words == "sleep 600 "));
    let started = Instant::now();
    child.kill().unwrap();
    child.wait().unwrap();
    place.assert_empty("the command killed");
    assert!(started.elapsed() < Duration::from_secs(60));
}
