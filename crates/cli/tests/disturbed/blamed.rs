//! Each kind of process that measures is ended from outside: the end is named and the case is measured again. If that does not
//! help, its row waits for `--resume`.

use std::fs;
use std::process::Command;

use syncscope_core::run::Status;
use syncscope_core::{Form, Row, Verdict};

use crate::common::{program, stderr};
use crate::traces::{LONG, Place, code_within, send};

/// Code that calls a library, so that a process of one thread measures it too. A process whose arguments have, or lack,
/// `--worker-process` ends itself by a signal for each `mark-N` that is left, as somebody from outside would.
fn code(place: &Place, is_alone: bool, signal: i32) -> String {
    format!(
        r#"#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int tried;
static void end_here(void) {{
    char words[4096] = "", mark[4096];
    int file = open("/proc/self/cmdline", O_RDONLY);
    long count = read(file, words, sizeof words - 1);
    close(file);
    for (long at = 0; at < count; at++) if (!words[at]) words[at] = ' ';
    if ((strstr(words, "--worker-process") != NULL) != {alone}) return;
    for (int number = 0; number < 4; number++) {{
        snprintf(mark, sizeof mark, "{folder}/mark-%d", number);
        if (!unlink(mark)) {{ kill(getpid(), {signal}); for (;;) pause(); }}
    }}
}}
void operation(struct thread *me) {{
    if (!tried) {{ tried = 1; end_here(); }}
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}}
"#,
        alone = i32::from(is_alone),
        folder = place.path("").display(),
    )
}

fn mark(place: &Place, count: usize) {
    (0..count).for_each(|number| place.write(&format!("mark-{number}"), ""));
}

const MEASURE: [&str; 9] =
    ["measure", "--cpu", "code.c", "--threads", "1", "--export-json", "rows.json", "--export-markdown", "rows.md"];

/// Measures, and returns how the command ended and its messages; then everything that ends processes is removed.
fn measured(place: &Place, compiler: Option<&str>) -> (Option<i32>, String) {
    let mut command = place.command(&MEASURE);
    if let Some(script) = compiler {
        command.env("CC", place.compiler(script));
    }
    let code = code_within(&mut command.spawn().unwrap(), LONG, place);
    let errors = place.errors();
    place.assert_empty(&errors);
    (0..4).for_each(|number| drop(fs::remove_file(place.path(&format!("mark-{number}")))));
    (code, errors)
}

fn assert_complete(place: &Place, when: &str) {
    let rows = place.run().read_rows().unwrap();
    assert!(rows.iter().any(|row| row.case.form == Some(Form::OneThreadProcess)), "{when}");
    // A neighbour may disturb all pairs of one thread, which is not the fault of the ended processes.
    let has_figure = |row: &Row| row.ns.is_some() || matches!(row.verdict, Verdict::Interfered(_));
    assert!(
        rows.iter().all(|row| !row.provisional && !row.verdict.is_failure() && has_figure(row)),
        "{when}: {rows:?}"
    );
    assert_eq!(place.run().read_run().unwrap().status, Status::Done, "{when}");
}

fn resume(place: &Place, when: &str) {
    let mut command = Command::new(program());
    command.args(["run", "--resume"]).arg(place.path("run")).env("XDG_STATE_HOME", place.path("state"));
    let resumed = command.arg("--trust-code").output().unwrap();
    assert_eq!(resumed.status.code(), Some(0), "{when}: {}", stderr(&resumed));
    assert_complete(place, when);
}

/// The exports of the command exist, whichever of its processes came to the end.
fn assert_exported(place: &Place, when: &str) {
    let [json, markdown] =
        ["rows.json", "rows.md"].map(|file| fs::read_to_string(place.path(file)).unwrap_or_default());
    assert!(json.contains("cpu.own.code") && markdown.contains("cpu.own.code"), "{when}: {json}{markdown}");
}

#[test]
fn a_process_that_is_ended_once_costs_nothing() {
    for (is_alone, signal) in
        [(true, libc::SIGKILL), (true, libc::SIGXCPU), (false, libc::SIGKILL), (false, libc::SIGUSR1)]
    {
        let place = Place::new();
        place.write("code.c", &code(&place, is_alone, signal));
        mark(&place, 1);
        let (code, errors) = measured(&place, None);
        let when = format!("alone {is_alone}, signal {signal}: {errors}");
        assert_eq!(code, Some(0), "{when}");
        assert_eq!(errors.matches("was ended by a signal from outside").count(), 1, "{when}");
        assert_complete(&place, &when);
        assert_exported(&place, &when);
    }
}

#[test]
fn a_process_that_is_ended_again_and_again_leaves_a_row_for_later() {
    for is_alone in [true, false] {
        let place = Place::new();
        place.write("code.c", &code(&place, is_alone, libc::SIGKILL));
        mark(&place, 2);
        let (code, errors) = measured(&place, None);
        let when = format!("alone {is_alone}: {errors}");
        assert_eq!(code, Some(1), "{when}");
        let rows = place.run().read_rows().unwrap();
        let of = |row: &&syncscope_core::Row| (row.case.form == Some(Form::OneThreadProcess)) == is_alone;
        let row = rows.iter().find(of).unwrap();
        assert!(row.provisional && row.verdict.reason().contains("from outside (SIGKILL)"), "{when}: {row:?}");
        assert!(rows.iter().filter(|row| !of(row)).all(|row| row.ns.is_some()), "{when}: {rows:?}");
        assert_exported(&place, &when);
        resume(&place, &when);
    }
}

/// The compiler itself is ended, or a program that it starts, which the compiler reports.
#[test]
fn a_compiler_that_is_ended_is_started_again() {
    let ends = ["kill -9 $$", "echo 'gcc: fatal error: Killed signal terminated program cc1' >&2; exit 1"];
    for (end, count) in [(ends[0], 1), (ends[1], 1), (ends[0], 4), (ends[1], 4)] {
        let place = Place::new();
        place.write("code.c", &code(&place, true, libc::SIGKILL));
        mark(&place, count);
        let folder = place.path("").display().to_string();
        let script = format!(
            "case \"$*\" in *-shared*) for n in 0 1 2 3; do if rm {folder}/mark-$n 2>/dev/null; then {end}; fi; \
             done;; esac\nexec gcc \"$@\""
        );
        let (code, errors) = measured(&place, Some(&script));
        let when = format!("{count} times {end}: {errors}");
        if count == 1 {
            assert_eq!(code, Some(0), "{when}");
            assert_complete(&place, &when);
        } else {
            assert_eq!(code, Some(1), "{when}");
            assert!(errors.contains("the compiler was ended by a signal from outside (SIGKILL), twice"), "{when}");
            resume(&place, &when);
        }
    }
}

/// The compiler hangs while it inspects the code, and while it compiles a case.
#[test]
fn a_budget_ends_the_wait_for_a_compiler() {
    for words in ["*", "*-shared*"] {
        let place = Place::new();
        place.write("code.c", "void operation(struct thread *me) { atomic_fetch_add(me->x, 1); }");
        let mut command = place.command(&MEASURE);
        let script = format!("case \"$*\" in {words}) exec sleep 1000;; esac\nexec gcc \"$@\"");
        command.args(["--budget", "8s"]).env("CC", place.compiler(&script));
        let code = code_within(&mut command.spawn().unwrap(), LONG, &place);
        let errors = place.errors();
        let says = errors.contains("the time budget is spent");
        assert!(code == Some(1) && says && !errors.contains("did not end within"), "{errors}");
        place.assert_empty(&errors);
    }
}

#[test]
fn a_fresh_process_that_is_ended_is_named_and_its_rows_wait() {
    for most in [1, usize::MAX] {
        let place = Place::new();
        let words = ["run", "--only", "cpu.atomic.read", "--threads", "1", "--dtype", "u64", "--no-history"];
        let mut child = place.command(&words).env("SYNCSCOPE_KEEP_AWAKE", "off").spawn().unwrap();
        let (mut ended, started) = (Vec::new(), std::time::Instant::now());
        while child.try_wait().unwrap().is_none() {
            assert!(started.elapsed() < LONG, "{:?}; {}", place.processes(), place.errors());
            let fresh = place.processes().into_iter().find(|(process, words)| {
                words.contains("--fresh-process") && !ended.contains(process) && ended.len() < most
            });
            match fresh {
                Some((process, _)) => {
                    send(process, libc::SIGKILL);
                    ended.push(process);
                }
                None => std::thread::sleep(std::time::Duration::from_millis(2)),
            }
        }
        let errors = place.errors();
        place.assert_empty(&errors);
        let rows = place.run().read_rows().unwrap();
        assert!(!ended.is_empty() && rows.iter().all(|row| !row.verdict.is_failure()), "{errors}: {rows:?}");
        assert!(errors.contains("a fresh process was ended by a signal from outside (SIGKILL)"), "{errors}");
        let is_done = place.run().read_run().unwrap().status == Status::Done;
        assert_eq!(is_done, most == 1, "{} ended: {errors}", ended.len());
        if !is_done {
            assert!(rows.iter().all(|row| row.provisional), "{errors}: {rows:?}");
            let note = "note: incomplete without fresh processes (a fresh process was ended";
            assert!(errors.contains(note) && !errors.contains("interrupted"), "{errors}");
            let resumed = Command::new(program()).args(["run", "--resume"]).arg(place.path("run")).output().unwrap();
            assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
        }
    }
}
