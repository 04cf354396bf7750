//! `syncscope paper asynchrony` from the outside, without a GPU.

#![cfg(unix)]

use crate::common::{output, stderr};

#[test]
fn without_a_gpu_it_says_what_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let output = output(&["paper", "asynchrony", "--out", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("`syncscope paper asynchrony` measures a CUDA device"), "{}", stderr(&output));
    assert!(output.stdout.is_empty() && !out.exists());
}

#[test]
fn a_vector_that_no_grid_covers_is_wrong_usage() {
    for words in [["--components", "1000"], ["--components", "0"], ["--executions", "0"], ["--draws", "0"]] {
        let output = output(&[["paper", "asynchrony"].as_slice(), &words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1, "{words:?}: {}", stderr(&output));
    }
}
