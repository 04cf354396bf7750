//! `syncscope paper reductions` from the outside, without a GPU.

#![cfg(unix)]

use std::path::Path;
use std::process::{Command, Output, Stdio};

use syncscope_core::Run;
use syncscope_core::run::Status;
use syncscope_core::run_directory::RunDirectory;

fn reductions(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_syncscope"));
    command.args(["paper", "reductions"]).args(words).env("SYNCSCOPE_FAKE", "").stdin(Stdio::null()).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn without_a_gpu_it_says_what_it_needs_and_what_it_can_do_without() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let output = reductions(&["--out", out.to_str().unwrap()]);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("compute capability 7.5") && text.contains("`--on cpu`"), "{text}");
    assert!(!out.exists());
}

#[test]
fn wrong_sizes_and_runs_that_are_none_are_usage_errors() {
    let folder = tempfile::tempdir().unwrap();
    for words in [
        vec!["--sizes", "0"],
        vec!["--sizes", "536870912"],
        vec!["--on", "tpu"],
        vec!["--run", folder.path().to_str().unwrap()],
    ] {
        let output = reductions(&words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1, "{words:?}: {}", stderr(&output));
    }
}

/// A run of the fake, whose machine is as unknown as that of the fake reductions.
fn fake_run(out: &Path) -> RunDirectory {
    let mut command = Command::new(env!("CARGO_BIN_EXE_syncscope"));
    command.args(["run", "--only", "cpu.atomic.add", "--out"]).arg(out).env("SYNCSCOPE_FAKE", "");
    assert!(command.stdin(Stdio::null()).output().unwrap().status.success());
    RunDirectory::open(out).unwrap()
}

#[test]
fn costs_of_another_machine_are_refused_and_those_of_an_unfinished_run_named() {
    let folder = tempfile::tempdir().unwrap();
    let of_run = folder.path().join("run");
    let directory = fake_run(&of_run);
    let run = directory.read_run().unwrap();
    let with = |name: &str, run: &Run| {
        directory.write_run(run).unwrap();
        let out = folder.path().join(name);
        let words =
            ["--on", "cpu", "--sizes", "1024", "--run", of_run.to_str().unwrap(), "--out", out.to_str().unwrap()];
        (reductions(&words), out)
    };
    let warnings = |out: &Path| RunDirectory::open(out).unwrap().read_run().unwrap().warnings;
    let (complete, out) = with("complete", &run);
    assert_eq!((complete.status.code(), warnings(&out)), (Some(0), Vec::new()), "{}", stderr(&complete));

    let (unfinished, out) = with("unfinished", &Run { status: Status::Interrupted, ..run.clone() });
    assert_eq!(unfinished.status.code(), Some(0), "{}", stderr(&unfinished));
    assert!(stderr(&unfinished).contains("4 of its 4 cases have a row"), "{}", stderr(&unfinished));
    assert!(warnings(&out).iter().any(|text| text.contains("not complete")), "the page says it as well");

    let mut elsewhere = run;
    elsewhere.machine.cpu.model = "Abacus 9".into();
    let (refused, out) = with("elsewhere", &elsewhere);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("another machine (Abacus 9)") && !out.exists(), "{}", stderr(&refused));
}
