//! Limits of control groups: the kernel kills processes that take too much memory, and starts no more processes than allowed.

use std::process::Command;

use syncscope_core::Verdict;
use syncscope_core::run::Status;

use crate::common::cgroup::Quota;
use crate::common::{program, stderr};
use crate::traces::{LONG, Place, code_within};

/// The command of a place, run in a group.
fn in_group(group: &Quota, place: &Place, words: &[&str]) -> Command {
    let plain = place.command(words);
    let mut command = group.command(&program());
    command
        .args(plain.get_args())
        .current_dir(place.path(""))
        .envs(plain.get_envs().filter_map(|(k, v)| Some((k, v?))));
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
    command.stderr(std::fs::File::create(place.path("stderr")).unwrap());
    command
}

#[test]
fn memory_that_runs_out_is_named_where_a_counter_says_so() {
    let Some(group) = Quota::of_memory("400000000") else { return };
    let place = Place::new();
    let code = "#include <stdlib.h>\n#include <string.h>\n\
        void operation_fine(struct thread *me) { atomic_fetch_add(me->x, 1); }\n\
        void operation_fills(struct thread *me) { static char *all; if (!all) { all = malloc(800000000); memset(all, 1, 800000000); } \
        atomic_fetch_add(me->x, 1); }\n";
    place.write("code.c", code);
    let words = ["measure", "--cpu", "code.c", "--threads", "1", "--type", "u64"];
    let mut child = in_group(&group, &place, &words).spawn().unwrap();
    let code = code_within(&mut child, LONG, &place);
    let errors = place.errors();
    // After the second end the case is given up, but not finished: with more memory it may be measured.
    assert_eq!(code, Some(1), "{errors}");
    assert_eq!(errors.matches("because memory ran out").count(), 3, "{errors}");
    place.assert_empty(&errors);
    let rows = place.run().read_rows().unwrap();
    // One row of the usual process, and one of a process with one thread: both need more memory than there is.
    let of = |name: &str| rows.iter().filter(|row| row.case.primitive.ends_with(name)).collect::<Vec<_>>();
    assert_eq!(of("fills").len(), 2, "{errors}");
    for row in of("fills") {
        assert!(row.provisional, "{errors}: {row:?}");
        assert!(
            matches!(&row.verdict, Verdict::Failed(reason) if reason.contains("memory ran out")),
            "{errors}: {row:?}"
        );
    }
    assert!(of("fine").iter().all(|row| row.ns.is_some() && !row.provisional), "{errors}");
}

#[test]
fn a_thread_that_the_system_does_not_start_is_no_verdict_for_ever() {
    for count in ["5", "7", "9"] {
        let Some(group) = Quota::of_processes(count) else { return };
        let place = Place::new();
        let words = [
            "run",
            "--only",
            "cpu.atomic.[ar]*",
            "--only",
            "cpu.handoff.pipe",
            "--threads",
            "1,2",
            "--dtype",
            "u64",
            "--stride",
            "1",
        ];
        let mut child = in_group(&group, &place, &words).env("SYNCSCOPE_KEEP_AWAKE", "off").spawn().unwrap();
        code_within(&mut child, LONG, &place);
        let when = format!("{count} processes: {}", place.errors());
        place.assert_empty(&when);
        let Ok(directory) = syncscope_core::run_directory::RunDirectory::open(&place.path("run")) else { continue };
        let rows = directory.read_rows().unwrap();
        assert!(!rows.iter().any(|row| row.verdict.is_failure() && !row.provisional), "{when}");
        if rows.iter().any(|row| row.verdict.is_failure()) {
            assert_ne!(directory.read_run().unwrap().status, Status::Done, "{when}");
            let resumed = Command::new(program()).args(["run", "--resume"]).arg(place.path("run")).output().unwrap();
            let rows = directory.read_rows().unwrap();
            assert!(!rows.iter().any(|row| row.verdict.is_failure()), "{when}; {}", stderr(&resumed));
        }
    }
}
