//! `syncscope gallery` over the stored runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn gallery(runs: &[&Path], options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_syncscope")).arg("gallery").args(runs).args(options).output().unwrap()
}

fn stored(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results").join(name)
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn runs_stand_on_one_page_and_what_is_no_run_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("index.html");
    fs::create_dir(folder.path().join("h200")).unwrap();
    fs::write(folder.path().join("h200/report.html"), "the page of the run").unwrap();
    let runs = ["h200", "evidence", "published-system3", "h200-crosscheck", "README.md"].map(stored);
    let runs: Vec<&Path> = runs.iter().map(PathBuf::as_path).collect();
    let output = gallery(&runs, &["-o", file.to_str().unwrap(), "--title", "Machines & <others>"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    for left_out in ["evidence is not a run", "README.md is not a run", "(3 runs)"] {
        assert!(errors(&output).contains(left_out), "{}", errors(&output));
    }
    let html = fs::read_to_string(&file).unwrap();
    assert!(html.contains("<title>Machines &amp; &lt;others&gt;</title>"));
    assert_eq!(html.matches("/report.html\"").count(), 1, "a link where the page stands beside it");
    assert!(html.contains("href=\"h200/report.html\"") && html.contains("published experiment: crosscheck"));
}

#[test]
fn without_a_run_there_is_no_page() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("index.html");
    let evidence = stored("evidence");
    let output = gallery(&[&evidence], &["-o", file.to_str().unwrap()]);
    assert!(output.status.code() == Some(2) && errors(&output).contains("none of these folders holds a run"));
    assert!(!file.exists());
    let output = gallery(&[&stored("h200")], &["-o", folder.path().to_str().unwrap()]);
    assert!(
        output.status.code() == Some(1) && errors(&output).contains("name another file with -o"),
        "{}",
        errors(&output)
    );
}
