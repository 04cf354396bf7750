//! `syncscope reductions` from the outside, without a GPU.

#![cfg(unix)]

use std::process::{Command, Output, Stdio};

fn reductions(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_syncscope"));
    command.arg("reductions").args(words).env("SYNCSCOPE_FAKE", "").stdin(Stdio::null()).output().unwrap()
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
