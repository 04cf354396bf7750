//! Ctrl-C and SIGTERM: the first signal tells what is awaited, the second one ends the command at once, and the run can be
//! resumed.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use syncscope_core::run::Status;
use syncscope_core::run_directory::RunDirectory;

use crate::common::{program, stderr};
use crate::traces::{LONG, Place, code_within, is_there, send, until};

/// Sends a second signal once the first one is answered, for a worker at a step that does not end. (A signal right after the
/// first counts as part of it.) Returns how long the processes took to end; the exit code is the one of an interruption.
fn press_twice(place: &Place, child: &mut std::process::Child, signal: i32) -> Duration {
    // A terminal signals a process group, `kill` one process.
    let whom = child.id().cast_signed() * if signal == libc::SIGINT { -1 } else { 1 };
    send(whom, signal);
    until("the first is answered", || place.errors().contains("again ends at once"));
    assert!(child.try_wait().unwrap().is_none(), "it waits: {}", place.errors());
    let started = Instant::now();
    until("it ends", || {
        send(whom, signal);
        child.try_wait().unwrap().is_some()
    });
    assert_eq!(child.wait().unwrap().code(), Some(1), "{}", place.errors());
    started.elapsed()
}

#[test]
fn the_second_ends_a_case_that_hangs() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let place = Place::new();
        let words = ["run", "--only", "cpu.lock.*", "--only", "cpu.atomic.read", "--seed", "1"];
        let mut child = place.command(&words).env("SYNCSCOPE_FAKE", "fault=hangs").spawn().unwrap();
        until("a case hangs", || place.sleeps_at("cpu.lock."));
        // The limit of this step is two minutes.
        assert!(press_twice(&place, &mut child, signal) < Duration::from_secs(60));
        let errors = place.errors();
        assert!(errors.contains("cpu.lock.") && errors.contains("may take 2m"), "what is awaited: {errors}");
        assert!(errors.contains("run --resume"), "{errors}");
        place.assert_empty("the second press");
        let mut resumed = Command::new(program());
        resumed.args(["run", "--resume"]).arg(place.path("run")).env("SYNCSCOPE_FAKE", "");
        let resumed = resumed.output().unwrap();
        assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
    }
}

#[test]
fn a_hang_up_ends_no_run_of_nohup() {
    let place = Place::new();
    let mut nohup = Command::new("nohup");
    nohup.arg(program()).args(["run", "--only", "cpu.atomic.add", "--seed", "1", "--out"]).arg(place.path("run"));
    let quiet =
        nohup.env("SYNCSCOPE_FAKE", "dwell=5ms").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = quiet.spawn().unwrap();
    let status = || RunDirectory::open(&place.path("run")).and_then(|run| run.read_run()).map(|run| run.status);
    until("it measures", || {
        RunDirectory::open(&place.path("run")).and_then(|run| run.read_rows()).is_ok_and(|rows| !rows.is_empty())
    });
    assert_eq!(status().unwrap(), Status::Running);
    send(child.id().cast_signed(), libc::SIGHUP);
    assert_eq!((child.wait().unwrap().code(), status().unwrap()), (Some(0), Status::Done));
}

/// The first signal ends the compiler.
#[test]
fn the_first_ends_a_compiler_and_writes_no_verdict() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let place = Place::new();
        let mut command = place.command(&["measure", "--cpu", "x++", "--threads", "1"]);
        let mut child = command.env("CC", place.compiler("touch begun; sleep 600 & wait")).spawn().unwrap();
        until("the compiler runs", || is_there(&place.path("begun")));
        let whom = child.id().cast_signed() * if signal == libc::SIGINT { -1 } else { 1 };
        let started = Instant::now();
        send(whom, signal);
        assert_eq!(code_within(&mut child, LONG, &place), Some(1), "{}", place.errors());
        // The limit of the compiler is 20 s.
        assert!(
            started.elapsed() < Duration::from_secs(15) && place.errors().contains("interrupted"),
            "{}",
            place.errors()
        );
        place.assert_empty("a compiler that was interrupted");
        let rows = RunDirectory::open(&place.path("run")).and_then(|run| run.read_rows());
        assert!(rows.is_ok_and(|rows| rows.is_empty()) || !place.path("run").exists(), "no row is to blame");
    }
}

#[test]
fn code_that_keeps_signals_to_itself_ends_all_the_same() {
    const HEAD: &str = "#include <signal.h>\n#include <stdlib.h>\n#include <fcntl.h>\n\
        static void keep(int s) { (void)s; }\n\
        static void begin(void) { static volatile int n; if (n++) return; for (int s = 1; s < 32; s++) signal(s, HOW); \
        close(open(\"begun\", O_CREAT | O_WRONLY, 0600)); }\n#include <unistd.h>\n";
    for how in ["SIG_IGN", "keep"] {
        // Code that returns needs only the first signal; code that does not return needs both.
        for (rest, once) in [("atomic_fetch_add(me->x, 1);", true), ("for (;;);", false)] {
            let place = Place::new();
            let head =
                HEAD.replace("HOW", how).replace("#include <fcntl.h>", "#include <fcntl.h>\n#include <unistd.h>");
            place.write("code.c", &format!("{head}void operation(struct thread *me) {{ begin(); {rest} }}"));
            let words = ["measure", "--cpu", "code.c", "--threads", "1"];
            let mut child = place.command(&words).env("SYNCSCOPE_STEP_LIMIT", "5m").spawn().unwrap();
            until("it runs", || is_there(&place.path("begun")));
            if once {
                send(-child.id().cast_signed(), libc::SIGINT);
                assert_eq!(code_within(&mut child, LONG, &place), Some(1), "{}", place.errors());
            } else {
                press_twice(&place, &mut child, libc::SIGINT);
            }
            place.assert_empty(how);
            assert_ne!(place.run().read_run().unwrap().status, Status::Done);
        }
    }
}

#[test]
fn the_second_ends_runs_that_are_repeated() {
    let place = Place::new();
    let words = ["run", "--only", "cpu.lock.*", "--repeat", "2"];
    let mut child = place.command(&words).env("SYNCSCOPE_FAKE", "fault=hangs").spawn().unwrap();
    until("a case hangs", || place.sleeps_at("cpu.lock."));
    assert!(press_twice(&place, &mut child, libc::SIGINT) < Duration::from_secs(60));
    place.assert_empty("the second press");
}
